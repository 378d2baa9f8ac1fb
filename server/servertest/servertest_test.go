// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

const childEnv = "WEIR_SERVERTEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		goleak.VerifyTestMain(m)
		return
	case "sleep":
		time.Sleep(time.Minute)
		return
	case "orphan":
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=sleep")
		if cmd.Start() != nil {
			os.Exit(2)
		}
	}
	if err := (answers{}).Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
}

// answers is a server that answers by a table: from method, or tool, to the
// lines to write, with $ID for the id. What it has no line for it answers well.
type answers map[string]string

var good = answers{
	"initialize":      `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":$VERSION,"capabilities":{},"serverInfo":{"name":"a","version":"1"}}}`,
	"server/discover": `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}`,
	"ping":            `{"jsonrpc":"2.0","id":$ID,"result":{}}`,
	"tools/list":      `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}}`,
	"hello":           `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"hello"}]}}`,
	"modern":          `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}`,
	"silent":          "",
	"big":             `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat("b", 2000) + `"}]}}`,
}

func (a answers) Serve(_ context.Context, r io.ReadCloser, w io.WriteCloser) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				Name    string         `json:"name"`
				Version jsontext.Value `json:"protocolVersion"`
			} `json:"params"`
		}
		var line string
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			line = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"unreadable: line 1"}}`
		} else if m.ID == nil {
			continue
		} else {
			key := m.Method
			if key == "tools/call" {
				key = m.Params.Name
			}
			var ok bool
			if line, ok = a[key]; !ok {
				if line, ok = good[key]; !ok {
					line = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"nothing is known of ` + key + `"}}`
				}
			}
		}
		if line == "" {
			continue
		}
		line = strings.NewReplacer("$ID", string(m.ID), "$VERSION", string(m.Params.Version)).Replace(line)
		if !strings.HasSuffix(line, "\n") {
			line += "\n"
		}
		io.WriteString(w, line)
	}
	return nil
}

// recorder is a test that takes note of what it is told.
type recorder struct {
	testing.TB
	cleanups []func()

	mu     sync.Mutex // guards failed and log
	failed []string
	log    []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Name() string      { return "recorder" }
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failed) > 0
}

// watch runs fn as a test of its own, cleanups included, and returns what
// that test was told.
func watch(fn func(t testing.TB)) (failed, log string) {
	r := new(recorder)
	func() {
		defer func() {
			if v := recover(); v != nil && v != r {
				panic(v)
			}
		}()
		fn(r)
	}()
	for _, fn := range r.cleanups {
		fn()
	}
	return strings.Join(r.failed, "\n"), strings.Join(r.log, "\n")
}

// TestGood: a good server passes, in each way of connecting and each era.
func TestGood(t *testing.T) {
	for _, protocol := range []string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28"} {
		tool := "hello"
		if protocol == "2026-07-28" {
			tool = "modern"
		}
		use := func(t testing.TB, c *Client) {
			if _, err := c.Call(context.Background(), tool, nil); err != nil {
				t.Error(err)
			}
			var rpc *Error
			if _, err := c.Request(context.Background(), "no/such", nil); !errors.As(err, &rpc) || rpc.Code != -32601 {
				t.Errorf("an unknown method: %v", err)
			}
		}
		cfg := Config{Protocol: protocol}
		t.Run("New/"+protocol, func(t *testing.T) {
			t.Parallel()
			use(t, cfg.New(t, answers{}))
		})
		t.Run("Start/"+protocol, func(t *testing.T) {
			t.Parallel()
			use(t, cfg.StartCmd(t, childCmd("serve")))
		})
		t.Run("NewInMemory/"+protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { use(t, cfg.NewInMemory(t, answers{})) })
		})
	}
}

// childCmd is this test binary as a server.
func childCmd(mode string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func TestTools(t *testing.T) {
	tools, err := New(t, answers{}).Tools(t.Context())
	if err != nil || len(tools) != 1 || !strings.Contains(string(tools[0]), "hello") {
		t.Errorf("tools are %s, %v", tools, err)
	}
}

// TestOpensOnce: calls that begin at the same time do one handshake.
func TestOpensOnce(t *testing.T) {
	c := New(t, answers{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Call(t.Context(), "hello", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, f := range c.Frames() {
		if f.Answers == "initialize" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d handshakes, want 1", n)
	}
}

// faulty are servers that each break one rule, and what a test must say.
var faulty = []struct {
	name   string
	server answers
	schema bool // found by the schema only
	want   string
}{
	{"stray line", answers{"hello": "Hello, world\n" + good["hello"]}, false, `frame 1: not JSON: Hello, world`},
	{"CRLF", answers{"hello": good["hello"] + "\r\n"}, false, "ended by CRLF"},
	{"charset", answers{"hello": strings.Replace(good["hello"], `"hello"`, "\"\xb0\xa1\"", 1)}, false, "not UTF-8"},
	{"answered twice", answers{"hello": good["hello"] + "\n" + good["hello"]}, false, "belongs to no open request"},
	{"no content", answers{"hello": `{"jsonrpc":"2.0","id":$ID,"result":{}}`}, true, "not a valid CallToolResult"},
	{"null in structure", answers{"hello": `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":null}}`}, true, `at "/structuredContent": expected object, but got null`},
	{"error without code", answers{"hello": `{"jsonrpc":"2.0","id":$ID,"error":{"message":"x"}}`}, true, "not a valid JSONRPCErrorResponse"},
	{"unknown notification", answers{"hello": `{"jsonrpc":"2.0","method":"notifications/x"}` + "\n" + good["hello"]}, true, `has no notification "notifications/x"`},
	{"bad notification", answers{"hello": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}` + "\n" + good["hello"]}, true, "not a valid LoggingMessageNotification"},
}

// TestFaulty: a test fails that sees a server break a rule, and not when it
// allows that.
func TestFaulty(t *testing.T) {
	for _, tt := range faulty {
		t.Run(tt.name, func(t *testing.T) {
			if tt.schema && specDir() == "" {
				t.Skip("no schemas here")
			}
			use := func(cfg Config) string {
				failed, _ := watch(func(t testing.TB) {
					c := cfg.New(t, tt.server)
					c.Call(context.Background(), "hello", nil)
					c.Request(context.Background(), "ping", nil)
				})
				return failed
			}
			if got := use(Config{}); !strings.Contains(got, tt.want) || strings.Contains(got, "\nservertest") {
				t.Errorf("the test was told %q, want one message with %q", got, tt.want)
			}
			if got := use(Config{AllowFaults: true, NoSchema: true}); got != "" {
				t.Errorf("with faults allowed, the test was told %q", got)
			}
		})
	}
}

// TestModernSchemas: the rules that only 2026-07-28 has.
func TestModernSchemas(t *testing.T) {
	if specDir() == "" {
		t.Skip("no schemas here")
	}
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`:                                            "resultType",
		`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"m","data":{"supported":["x"]}}}`:   "requested",
		`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[{"type":"telegram"}]}}`: "not a valid CallToolResult",
	} {
		failed, _ := watch(func(t testing.TB) {
			Config{Protocol: "2026-07-28"}.New(t, answers{"hello": line}).Request(context.Background(), "tools/call", map[string]string{"name": "hello"})
		})
		if !strings.Contains(failed, want) {
			t.Errorf("%s: the test was told %q, want %q", line, failed, want)
		}
	}
}

// serveFunc is a Server of one function.
type serveFunc func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error

func (f serveFunc) Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	return f(ctx, r, w)
}

// leak starts goroutines that wait for release.
func leak(release chan struct{}, n int) {
	for range n {
		go func() { <-release }()
	}
}

// TestEndings: a test fails when its server ends badly or leaves something
// behind.
func TestEndings(t *testing.T) {
	release := make(chan struct{})
	ended := errors.New("could not go on")
	tests := []struct {
		name  string
		serve serveFunc
		use   func(c *Client)
		want  string
	}{
		{name: "error", want: "the server ended with: could not go on",
			serve: func(context.Context, io.ReadCloser, io.WriteCloser) error { return ended }},
		{name: "error that the test asked for", want: "",
			serve: func(context.Context, io.ReadCloser, io.WriteCloser) error { return ended },
			use:   func(c *Client) { c.Wait(context.Background()) }},
		{name: "goroutine", want: "created by github.com/weir-mcp/weir/server/servertest.leak in goroutine ",
			serve: func(context.Context, io.ReadCloser, io.WriteCloser) error { leak(release, 1); return nil }},
		{name: "goroutines", want: "the server left goroutines behind:\n3 goroutines such as goroutine ",
			serve: func(context.Context, io.ReadCloser, io.WriteCloser) error { leak(release, 3); return nil }},
		{name: "never ends", want: "did not end although it was killed",
			serve: func(context.Context, io.ReadCloser, io.WriteCloser) error { <-release; return nil }},
	}
	for _, tt := range tests {
		failed, _ := watch(func(t testing.TB) {
			c := Config{Grace: 20 * time.Millisecond}.New(t, tt.serve)
			if tt.use != nil {
				tt.use(c)
			}
		})
		if tt.want == "" && failed != "" || !strings.Contains(failed, tt.want) {
			t.Errorf("%s: the test was told %q, want %q", tt.name, failed, tt.want)
		}
	}
	close(release)
}

// TestOrphan: a process that the server leaves behind fails the test.
func TestOrphan(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes of a group are not listed here")
	}
	failed, _ := watch(func(t testing.TB) {
		c := Config{Grace: 500 * time.Millisecond}.StartCmd(t, childCmd("orphan"))
		if _, err := c.Call(context.Background(), "hello", nil); err != nil {
			t.Errorf("%v", err)
		}
	})
	if !strings.HasPrefix(failed, "servertest: the server left processes behind: [") {
		t.Errorf("the test was told %q", failed)
	}
}

// TestTellsWhoIsStuck: a failing test says which side is stuck.
func TestTellsWhoIsStuck(t *testing.T) {
	failed, log := watch(func(t testing.TB) {
		c := New(t, answers{})
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		if _, err := c.Call(ctx, "silent", nil); err != nil {
			t.Errorf("%v", err)
		}
	})
	if !strings.Contains(failed, "no response to tools/call: context deadline exceeded; idle: nothing is stuck, no frame half received") || !strings.Contains(log, "idle") {
		t.Errorf("the test was told %q and %q", failed, log)
	}
}
