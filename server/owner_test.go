// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// owning adds a tool that owns a thing which takes a second to end.
func owning(s *stage, returns bool) (killed *atomic.Int32) {
	killed = new(atomic.Int32)
	tool.Add(&s.tools, tool.Info{Name: "own", Description: "owns a thing"}, func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
		var gone func()
		gone = owner.FromContext(ctx).Add(owner.Thing{Kind: "process", Name: "sleep 60", ID: "4711", Kill: func() {
			if killed.Add(1) == 1 {
				time.AfterFunc(time.Second, func() { gone() })
			}
		}})
		s.started <- req
		if !returns {
			<-s.release // like a Wait that a survivor holds up
		}
		return result.Text("done"), nil
	})
	return killed
}

// TestOwns holds that Calls shows what a call owns, and that a call whose
// handler returned keeps its slot until that is gone.
func TestOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		killed := owning(s, true)
		log := new(logBuffer)
		srv := s.server(server.Limits{MaxCalls: 1}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begun := time.Now()
		text(t, begin(t, c, "9001", "own", nil))
		p := begin(t, c, "9002", "echo", textInput{"x"})
		synctest.Wait()
		calls := srv.Calls()
		if len(calls) != 2 || calls[0].State != "lingering" || len(calls[0].Owns) != 1 || calls[0].Owns[0] != (server.Owned{Kind: "process", Name: "sleep 60", ID: "4711"}) {
			t.Errorf("calls %+v", calls)
		}
		if got := calls[0].String(); !strings.Contains(got, "own") || !strings.Contains(got, "process 4711 (sleep 60)") {
			t.Errorf("printed: %s", got)
		}
		text(t, p)
		if d := time.Since(begun); d != time.Second || killed.Load() != 1 {
			t.Errorf("the slot was free after %v, killed %d times", d, killed.Load())
		}
		if !strings.Contains(log.String(), "left things behind") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestEndKills holds that at the end of a session what calls own is killed
// after the second Grace.
func TestEndKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		killed := owning(s, false)
		c := servertest.Config{NoLeakCheck: true}.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
		initialize(t, c)
		p := begin(t, c, "9001", "own", nil)
		<-s.started
		c.CloseInput()
		time.Sleep(2*server.DefaultGrace - time.Millisecond)
		if killed.Load() != 0 {
			t.Error("killed before the second Grace was over")
		}
		text(t, p)
		if err := c.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if killed.Load() == 0 {
			t.Error("not killed")
		}
		close(s.release)
	})
}
