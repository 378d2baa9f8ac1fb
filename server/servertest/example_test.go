// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

type greeting struct {
	Name string `json:"name" jsonschema:"description=whom to greet"`
}

func hello(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil }

func newServer() *server.Server {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "hello", Description: "Greets."}, hello)
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
func (t *exampleT) finish()                 { t.cleanup() }
