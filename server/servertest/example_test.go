// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

type greeting struct {
	Name string `json:"name" jsonschema:"description=whom to greet"`
}

func hello(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil }

type size struct {
	Bytes int `json:"bytes"`
}

func big(_ context.Context, in size) (string, error) { return strings.Repeat("x", in.Bytes), nil }

func count(ctx context.Context, req *tool.Request, _ struct{}) (result.Result, error) {
	for i := range 3 {
		req.Progress(float64(i+1), 3, "counting")
	}
	return result.Text("counted"), nil
}

func newServer() *server.Server {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "hello", Description: "Greets."}, hello)
	tool.AddFunc(&tools, tool.Info{Name: "big", Description: "Returns many bytes.", Budget: result.Budget{Bytes: 2 << 20}}, big)
	tool.Add(&tools, tool.Info{Name: "count", Description: "Counts to three."}, count)
	return &server.Server{Name: "greeter", Version: "1", Tools: &tools}
}

// In a test, t is the test's own.
func ExampleNew() {
	t := new(exampleT)
	defer t.finish()

	c := servertest.New(t, newServer())
	res, err := c.Call(context.Background(), "hello", greeting{Name: "weir"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(res.Text())
	// Output: Hello, weir!
}

// A frame over the limit costs its call, and nothing else: it is discarded as
// it comes, to its line end.
func ExampleConfig() {
	t := new(exampleT)
	defer t.finish()

	c := servertest.Config{Limit: 64 << 10, AllowFaults: true}.New(t, newServer())
	_, err := c.Call(context.Background(), "big", size{Bytes: 1 << 20})
	var over *servertest.OversizeError
	fmt.Println(errors.As(err, &over), over.Size > 1<<20, over.Limit)

	res, err := c.Call(context.Background(), "hello", greeting{Name: "again"})
	fmt.Println(res.Text(), err, c.Metrics().Oversize)
	// Output:
	// true true 65536
	// Hello, again! <nil> 1
}

// A host that cannot trust the stream any more ends the session at such a
// frame, and begins a new one. What was open is lost, and not repeated.
func ExampleConfig_restart() {
	t := new(exampleT)
	defer t.finish()

	c := servertest.Config{Limit: 64 << 10, EndOnOversize: true, Restart: true, AllowFaults: true}.New(t, newServer())
	_, err := c.Call(context.Background(), "big", size{Bytes: 1 << 20})
	fmt.Println(errors.As(err, new(*servertest.OversizeError)))

	res, err := c.Call(context.Background(), "hello", greeting{Name: "again"})
	fmt.Println(res.Text(), err, len(c.Sessions()))
	// Output:
	// true
	// Hello, again! <nil> 2
}

// The host takes what the server reports while a call runs.
func ExampleClient_CallProgress() {
	t := new(exampleT)
	defer t.finish()

	c := servertest.New(t, newServer())
	last := 0.0
	res, err := c.CallProgress(context.Background(), "count", nil, func(p servertest.Progress) {
		last = p.Progress / p.Total // reports that come faster than they are read replace each other
	})
	fmt.Println(last, res.Text(), err)
	// Output: 1 counted <nil>
}

// A host that has stopped reading, and says so when it is asked who is stuck.
func ExampleClient_Pause() {
	t := new(exampleT)
	defer t.finish()

	c := servertest.New(t, newServer())
	if _, err := c.Tools(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.Pause()
	call, err := c.BeginCall(context.Background(), "big", size{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	said, _, _ := strings.Cut(c.Diagnose(), " for ")
	fmt.Println(said)
	c.Resume()
	_, err = call.Wait(context.Background())
	fmt.Println(err)
	// Output:
	// the host has paused reading
	// <nil>
}

// A transcript says what a host sends, and what must come back.
func ExampleClient_Play() {
	t := new(exampleT)
	defer t.finish()

	servertest.New(t, newServer()).Play(`
# An unknown method is refused, a malformed line costs one error, and the next call is served.
> (initialize)
> {"jsonrpc":"2.0","id":"a","method":"no/such"}
< {"jsonrpc":"2.0","id":"a","error":{"code":-32601,"*":"*"}}
> {"jsonrpc":"2.0",
< {"jsonrpc":"2.0","error":{"code":-32700,"*":"*"}}
> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello","arguments":{"name":"weir"}}}
< {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"Hello, weir!"}],"*":"*"}}
`)
	fmt.Println("as expected")
	// Output: as expected
}

// A new session with the same server: what has to survive it, such as a
// cursor, can be tried.
func ExampleClient_Restart() {
	t := new(exampleT)
	defer t.finish()

	c := servertest.New(t, newServer())
	for range 2 {
		res, err := c.Call(context.Background(), "hello", greeting{Name: "weir"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(res.Text(), c.Metrics().Restarts)
		if err := c.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	// Output:
	// Hello, weir! 0
	// Hello, weir! 1
}

// exampleT stands for the *testing.T that an example does not have.
type exampleT struct {
	testing.TB
	cleanup func()
}

func (*exampleT) Helper()                   {}
func (*exampleT) Failed() bool              { return false }
func (t *exampleT) Cleanup(fn func())       { t.cleanup = fn }
func (*exampleT) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (*exampleT) Fatal(a ...any)            { panic(fmt.Sprint(a...)) }
func (*exampleT) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (t *exampleT) finish()                 { t.cleanup() }
