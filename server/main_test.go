// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

// childVariable makes the test binary a tool server over stdio.
const childVariable = "WEIR_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

type none struct{}

type textInput struct {
	Text string `json:"text" jsonschema:"description=any text"`
}

type sizeInput struct {
	Bytes int `json:"bytes" jsonschema:"description=how many"`
}

type waitInput struct {
	MS int `json:"ms" jsonschema:"description=how long,minimum=0"`
}

// A stage is a set of tools that tests hold, watch and release.
type stage struct {
	tools   tool.Registry
	started chan *tool.Request // hold and stubborn were entered
	causes  chan error         // the cause that ended a hold
	release chan struct{}      // closing it lets hold and stubborn return

	mu  sync.Mutex // guards ran
	ran []string   // text of each note, in the order they ran
}

func newStage() *stage {
	s := &stage{
		started: make(chan *tool.Request, 10_000),
		causes:  make(chan error, 10_000),
		release: make(chan struct{}),
	}
	tool.AddFunc(&s.tools, tool.Info{Name: "echo", Description: "returns the text"},
		func(_ context.Context, in textInput) (string, error) { return in.Text, nil })
	tool.AddFunc(&s.tools, tool.Info{Name: "note", Description: "records that it ran"},
		func(_ context.Context, in textInput) (string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ran = append(s.ran, in.Text)
			return in.Text, nil
		})
	tool.Add(&s.tools, tool.Info{Name: "hold", Description: "waits for its release or its context"},
		func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
			s.started <- req
			select {
			case <-s.release:
				return result.Text("released"), nil
			case <-ctx.Done():
				s.causes <- context.Cause(ctx)
				return result.Text("so far"), ctx.Err()
			}
		})
	tool.Add(&s.tools, tool.Info{Name: "stubborn", Description: "waits for its release whatever happens"},
		func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
			s.started <- req
			<-s.release
			s.causes <- context.Cause(ctx)
			return result.Text("too late"), nil
		})
	tool.Add(&s.tools, tool.Info{Name: "wait", Description: "waits for a time or its context"},
		func(ctx context.Context, req *tool.Request, in waitInput) (result.Result, error) {
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
				return result.Text("waited"), nil
			case <-ctx.Done():
				s.causes <- context.Cause(ctx)
				return result.Text("so far"), ctx.Err()
			}
		})
	tool.AddFunc(&s.tools, tool.Info{Name: "big", Description: "returns a long text", Budget: result.Budget{Bytes: 16 << 20}},
		func(_ context.Context, in sizeInput) (string, error) { return strings.Repeat("x", in.Bytes), nil })
	tool.Add(&s.tools, tool.Info{Name: "fail", Description: "fails in the way that is asked for"}, fail)
	return s
}

type failInput struct {
	How string `json:"how" jsonschema:"description=the way to fail"`
}

type panicsInMarshal struct{}

func (panicsInMarshal) MarshalJSON() ([]byte, error) { panic("secret-in-marshal") }

func fail(ctx context.Context, req *tool.Request, in failInput) (result.Result, error) {
	switch in.How {
	case "error":
		return result.Text("partial"), errors.New("no such thing")
	case "host":
		return result.Result{}, fmt.Errorf("wrapped: %w", &tool.Error{Code: -31999, Message: "for the host", Data: map[string]int{"n": 1}})
	case "panic":
		panic("secret-in-panic")
	case "nil":
		panic(nil) //nolint: the case that is tested
	case "goexit":
		runtime.Goexit()
	case "marshal":
		return result.JSON(panicsInMarshal{}), nil
	case "unmarshalable":
		return result.JSON(func() {}), nil
	case "go":
		req.Go(func() { panic("secret-in-go") })
		return result.Text("never seen"), nil
	case "gogoexit":
		req.Go(runtime.Goexit)
		return result.Text("never seen"), nil
	}
	return result.Text("fine"), nil
}

// server returns a server of the stage's tools that logs to log.
func (s *stage) server(limits server.Limits, log io.Writer) *server.Server {
	return &server.Server{Name: "stage", Version: "1", Tools: &s.tools, Limits: limits,
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// A logBuffer is a log that tests read while it is written.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// child serves the stage's tools, and some that only make sense in a process
// of their own, over stdio.
func child() {
	s := newStage()
	addChildTools(&s.tools)
	srv := &server.Server{Name: "child", Version: "1", Tools: &s.tools}
	switch os.Getenv(childVariable) {
	case "raised":
		srv.Limits = server.Limits{MaxFrameOut: 80 << 20, MaxResultMemory: 200 << 20, Budget: result.Budget{Bytes: 80 << 20}}
	case "one":
		srv.Limits = server.Limits{MaxCalls: 1}
	}
	if err := srv.ServeStdio(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(3)
	}
	if os.Getenv(childVariable) == "then print" {
		fmt.Println("stdout is mine again")
	}
}

// withValues serves with a value in the context.
type withValues struct {
	*server.Server
	key any
}

func (w withValues) Serve(ctx context.Context, r io.ReadCloser, wr io.WriteCloser) error {
	return w.Server.Serve(context.WithValue(ctx, w.key, "from Serve"), r, wr)
}
