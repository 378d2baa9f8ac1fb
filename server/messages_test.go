// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// logging returns a stage with a tool that logs at four levels.
func logging(on bool, limits server.Limits, log *logBuffer) (*stage, *server.Server) {
	s := newStage()
	tool.Add(&s.tools, tool.Info{Name: "talk", Description: "logs"}, func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
		l := req.Log().With("who", "me").WithGroup("g")
		l.Debug("d")
		l.Info("i", "n", 1)
		l.Warn("w")
		l.Error("e", "long", strings.Repeat("x", 20_000))
		l.Error("twice", "k", 1, "k", 2)
		return result.Text("said"), nil
	})
	tool.Add(&s.tools, tool.Info{Name: "chatter", Description: "logs without end"}, func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
		for i := range 5_000 {
			req.Log().Info(strings.Repeat("y", 500), "i", i)
		}
		return result.Text("said"), nil
	})
	srv := s.server(limits, log)
	srv.Logging = on
	return s, srv
}

func messages(c *servertest.Client) (levels []string, raw string) {
	for _, f := range c.Frames() {
		if f.Method == "notifications/message" {
			_, level, _ := strings.Cut(string(f.Raw), `"level":"`)
			level, _, _ = strings.Cut(level, `"`)
			levels = append(levels, level)
			raw += string(f.Raw)
		}
	}
	return levels, raw
}

// TestMessages holds that a host gets log messages only when it asked for
// them and the server opted in: for its session in the legacy era, for one
// request in the modern.
func TestMessages(t *testing.T) {
	t.Run("legacy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			log := new(logBuffer)
			_, srv := logging(true, server.Limits{}, log)
			c := servertest.NewInMemory(t, srv)
			initialize(t, c)
			text(t, begin(t, c, "9001", "talk", nil))
			if got, _ := messages(c); len(got) != 0 {
				t.Errorf("messages %q although none were asked for", got)
			}
			if _, err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "loud"}); err == nil {
				t.Error("an unknown level was accepted")
			}
			if _, err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "warning"}); err != nil {
				t.Fatal(err)
			}
			text(t, begin(t, c, "9002", "talk", nil))
			got, raw := messages(c)
			if fmt.Sprint(got) != "[warning error error]" {
				t.Errorf("messages %q", got)
			}
			for _, want := range []string{`"logger":"talk"`, `"data":{"msg":"w","who":"me"}`, `"data":"e"`, `"data":"twice"`} {
				if !strings.Contains(raw, want) {
					t.Errorf("no %s in %s", want, raw)
				}
			}
			synctest.Wait()
			if l := log.String(); !strings.Contains(l, "msg=i tool=talk id=9002 who=me g.n=1") {
				t.Errorf("the log of the server:\n%s", l)
			}
		})
	})
	t.Run("modern", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, srv := logging(true, server.Limits{}, new(logBuffer))
			c := servertest.Config{Protocol: "2026-07-28"}.NewInMemory(t, srv)
			if raw, err := c.Discover(t.Context()); err != nil || !strings.Contains(string(raw), `"logging":{}`) {
				t.Fatalf("discover: %s, %v", raw, err)
			}
			text(t, begin(t, c, "9001", "talk", nil))
			if got, _ := messages(c); len(got) != 0 {
				t.Errorf("messages %q although none were asked for", got)
			}
			p, err := c.Begin(servertest.Request{Method: "tools/call", Params: map[string]any{"name": "talk",
				"_meta": map[string]any{"io.modelcontextprotocol/logLevel": "info"}}})
			if err != nil {
				t.Fatal(err)
			}
			text(t, p)
			if got, _ := messages(c); fmt.Sprint(got) != "[info warning error error]" {
				t.Errorf("messages %q", got)
			}
		})
	})
	t.Run("not opted in", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, srv := logging(false, server.Limits{}, new(logBuffer))
			c := servertest.NewInMemory(t, srv)
			if raw, err := c.Initialize(t.Context(), ""); err != nil || strings.Contains(string(raw), "logging") {
				t.Errorf("initialize: %s, %v", raw, err)
			}
			if _, err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "debug"}); err == nil || !strings.Contains(err.Error(), "-32601") {
				t.Errorf("setLevel: %v", err)
			}
			text(t, begin(t, c, "9001", "talk", nil))
			if got, _ := messages(c); len(got) != 0 {
				t.Errorf("messages %q", got)
			}
		})
	})
}

// TestMessagesAreBounded holds that messages to a host that does not read
// stay within ControlMemory, and cost the call nothing.
func TestMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, srv := logging(true, server.Limits{ControlMemory: 64 << 10}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		if _, err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "debug"}); err != nil {
			t.Fatal(err)
		}
		c.Pause()
		p := begin(t, c, "9001", "chatter", nil)
		synctest.Wait()
		if m := srv.Metrics(); m.LogsDiscarded == 0 || m.PeakWaitingBytes > 70<<10 {
			t.Errorf("discarded %d, peak %d", m.LogsDiscarded, m.PeakWaitingBytes)
		}
		c.Resume()
		text(t, p)
	})
}

// TestLogFile holds that WEIR_LOG adds a file at debug level, and one that
// cannot be opened is a line in the log and nothing worse.
func TestLogFile(t *testing.T) {
	path := t.TempDir() + "/weir.log"
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=on", "WEIR_LOG="+path)
	c := servertest.Config{}.StartCmd(t, cmd)
	initialize(t, c)
	next(t, c)
	c.CloseInput()
	if err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "the session is over") || !strings.Contains(string(data), "metrics.ok=1") {
		t.Errorf("file: %s, %v", data, err)
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=on", "WEIR_LOG="+path+"/nowhere/x")
	c = servertest.Config{}.StartCmd(t, cmd)
	initialize(t, c)
	next(t, c)
	if err := c.AwaitStderr(within(t), "WEIR_LOG"); err != nil {
		t.Error("nothing on stderr about the file")
	}
}

// TestStuckLog is I11's last sentence: a log that is stuck delays no reply.
func TestStuckLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(stuckWriter)
		s := newStage()
		srv := s.server(server.Limits{}, stuck)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		for range 3000 { // each logs its cancel
			begin(t, c, "9001", "hold", nil)
			<-s.started
			c.Cancel([]byte("9001"), "")
			<-s.causes
		}
		text(t, begin(t, c, "9002", "fail", failInput{"panic"}))
		text(t, begin(t, c, "9003", "echo", textInput{"x"}))
		close(stuck)
	})
}

// A stuckWriter takes nothing until it is closed.
type stuckWriter chan struct{}

func (w stuckWriter) Write(p []byte) (int, error) {
	<-w
	return len(p), nil
}
