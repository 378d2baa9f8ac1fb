// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

// fakeEnv makes the test binary a server: a child for the tests of Start.
const fakeEnv = "WEIR_HOST_FAKE"

// modes are the servers that not every system has.
var modes = map[string]func(){}

func TestMain(m *testing.M) {
	switch os.Getenv(fakeEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "end":
	case "shut":
		os.Stdin.Close()
		fmt.Fprintln(os.Stderr, "shut")
		time.Sleep(100 * time.Millisecond)
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
	case "deaf":
		fmt.Fprintln(os.Stderr, "deaf")
		time.Sleep(time.Minute)
	case "sleep":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "sleep")
		time.Sleep(time.Minute)
	case "wrapper": // starts the server as go run does, and hands its streams on
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fakeEnv+"=serve")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		fmt.Fprintln(os.Stderr, "wrapper", os.Getpid())
		if cmd.Run() != nil {
			os.Exit(1)
		}
	default:
		if fn := modes[os.Getenv(fakeEnv)]; fn != nil {
			fn()
			return
		}
		fmt.Fprintln(os.Stderr, "serving", os.Getpid())
		if err := (&fake{log: os.Stderr}).serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(3)
		}
	}
}

// fake is a tool server that does as it is told, good or bad. It shares no
// code with the host.
type fake struct {
	log   io.Writer
	out   io.Writer
	calls sync.WaitGroup

	mu      sync.Mutex // guards out's writes, and running
	running map[string]context.CancelCauseFunc
}

type fakeMessage struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Protocol  string         `json:"protocolVersion"`
		RequestID jsontext.Value `json:"requestId"`
		Cursor    string         `json:"cursor"`
		Name      string         `json:"name"`
		Arguments struct {
			N    int    `json:"n"`
			Text string `json:"text"`
		} `json:"arguments"`
		Meta struct {
			Token jsontext.Value `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

var errStopReading = errors.New("fake: told to stop reading")

func (s *fake) serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	s.out, s.running = out, make(map[string]context.CancelCauseFunc)
	if s.log == nil {
		s.log = io.Discard
	}
	ctx, stop := context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { in.Close() })
	defer s.calls.Wait()
	defer stop()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			fmt.Fprintln(s.log, "input ended")
			return nil
		}
		var m fakeMessage
		if err := json.Unmarshal(line, &m); err != nil {
			s.writef(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}` + "\n")
			continue
		}
		switch m.Method {
		case "loop/list":
			s.result(m.ID, `{"nextCursor":"same"}`)
		case "notifications/initialized":
			fmt.Fprintln(s.log, "initialized")
		case "initialize":
			if m.Params.Protocol < "2024" {
				m.Params.Protocol = "2025-06-18"
			}
			s.result(m.ID, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`, m.Params.Protocol)
		case "server/discover":
			s.result(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
		case "ping":
			s.result(m.ID, `{}`)
		case "tools/list":
			s.list(m)
		case "tools/call":
			if m.Params.Name == "stopreading" {
				fmt.Fprintln(s.log, "stopped reading")
				<-ctx.Done()
				return errStopReading
			}
			s.call(ctx, m)
		case "notifications/cancelled":
			s.mu.Lock()
			if cancel := s.running[string(m.Params.RequestID)]; cancel != nil {
				cancel(errors.New("cancelled"))
			}
			s.mu.Unlock()
		default:
			if m.ID != nil {
				s.writef(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			}
		}
	}
}

func (s *fake) writef(format string, args ...any) {
	b := fmt.Appendf(nil, format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(b)
}

func (s *fake) result(id jsontext.Value, format string, args ...any) {
	s.writef(`{"jsonrpc":"2.0","id":%s,"result":`+format+"}\n", append([]any{id}, args...)...)
}

func (s *fake) text(id jsontext.Value, text string) {
	quoted, _ := jsontext.AppendQuote(nil, text)
	s.result(id, `{"content":[{"type":"text","text":%s}]}`, quoted)
}

func (s *fake) list(m fakeMessage) {
	switch m.Params.Cursor {
	case "":
		s.result(m.ID, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"b"}`)
	case "b":
		s.result(m.ID, `{"tools":[{"name":"big","inputSchema":{"type":"object"}}]}`)
	}
}

func (s *fake) call(ctx context.Context, m fakeMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.running[string(m.ID)] = cancel
	s.mu.Unlock()
	args := m.Params.Arguments
	s.calls.Go(func() {
		defer cancel(nil)
		switch m.Params.Name {
		case "echo":
			s.text(m.ID, args.Text)
		case "big":
			s.text(m.ID, strings.Repeat("x", args.N))
		case "tail": // as other SDKs order it: the id comes last
			s.writef(`{"result":{"content":[{"type":"text","text":%q}]},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("t", args.N), m.ID)
		case "endless": // a frame that never ends
			s.writef(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			for ctx.Err() == nil {
				s.writef("%s", strings.Repeat("e", 4<<10))
			}
			fmt.Fprintln(s.log, "endless ended")
		case "half":
			s.writef(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			<-ctx.Done()
			s.writef(`"}]}}` + "\n")
		case "hang":
			fmt.Fprintln(s.log, "hanging")
			<-ctx.Done()
			fmt.Fprintln(s.log, "hang ended:", context.Cause(ctx))
		case "late":
			<-ctx.Done()
			s.text(m.ID, "all the same")
		case "progress":
			for i := range args.N {
				s.writef(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d}}`+"\n", m.Params.Meta.Token, i+1, args.N)
			}
			s.text(m.ID, "done")
		case "raw":
			s.writef("%s", args.Text)
		case "flood":
			for i := range args.N {
				s.writef(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`+"\n", i)
			}
			s.text(m.ID, "flooded")
		case "stderr":
			io.WriteString(s.log, "first line\n"+strings.Repeat("e", args.N)+"\nlast line\n")
			s.text(m.ID, "written")
		case "ask":
			s.writef(`{"jsonrpc":"2.0","id":"q1","method":%q}`+"\n", args.Text)
			s.text(m.ID, "asked")
		case "closestdout":
			os.Stdout.Close()
		case "exit":
			os.Exit(args.N)
		case "spawn": // a child that ignores SIGTERM and keeps stdout open
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fakeEnv+"=sleep")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.Start()
			s.text(m.ID, fmt.Sprint(cmd.Process.Pid))
		}
	})
}
