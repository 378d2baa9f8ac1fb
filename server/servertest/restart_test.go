// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestOversize: a frame over the limit costs its call only; or, by choice, the
// session, in place of which a new one begins. Both through a real process.
func TestOversize(t *testing.T) {
	for _, restart := range []bool{false, true} {
		cfg := Config{Limit: 1000, EndOnOversize: restart, Restart: restart, AllowFaults: true}
		c := cfg.StartCmd(t, childCmd("serve"))
		if _, err := c.Call(t.Context(), "hello", nil); err != nil {
			t.Fatal(err)
		}
		first := c.Pid()
		open, err := c.BeginCall(t.Context(), "silent", nil)
		if err != nil {
			t.Fatal(err)
		}
		var over *OversizeError
		if _, err := c.Call(t.Context(), "big", nil); !errors.As(err, &over) || over.Limit != 1000 {
			t.Errorf("restart %v: the call ended with %v", restart, err)
		}
		if _, err := c.Call(t.Context(), "hello", nil); err != nil {
			t.Errorf("restart %v: the next call: %v", restart, err)
		}
		if (c.Pid() != first) != restart {
			t.Errorf("restart %v: pid %d, then %d", restart, first, c.Pid())
		}
		all := c.Sessions()
		if !restart {
			if len(all) != 1 || all[0].Oversize != 1 || all[0].Open != 1 || len(c.Faulty()) != 1 {
				t.Errorf("the sessions are %+v", all)
			}
			continue
		}
		if _, err := open.Wait(t.Context()); !errors.Is(err, ErrEnded) || !errors.As(err, &over) {
			t.Errorf("the open call ended with %v", err)
		}
		if len(all) != 2 || all[0].Lost != 1 || all[0].Exit == nil || all[0].Exit.Err != nil || all[1].Restarts != 1 || all[1].Exit != nil {
			t.Errorf("the sessions are %+v", all)
		}
		answered := 0
		for _, f := range c.Frames() {
			if f.Answers == "initialize" {
				answered++
			}
		}
		if answered != 1 {
			t.Errorf("initialize was answered %d times in the new session", answered)
		}
	}
}

// TestOversizeFails: a test fails in which a frame was over the limit, however
// the session went on.
func TestOversizeFails(t *testing.T) {
	for _, cfg := range []Config{{}, {EndOnOversize: true}, {EndOnOversize: true, Restart: true}} {
		use := func(t testing.TB) {
			cfg.Limit = 1000
			cfg.New(t, answers{}).Call(context.Background(), "big", nil)
		}
		if failed, _ := watch(use); !strings.Contains(failed, "over the frame limit: {") {
			t.Errorf("%+v: the test was told %q", cfg, failed)
		}
		cfg.AllowFaults = true
		if failed, _ := watch(use); failed != "" {
			t.Errorf("%+v: the test was told %q", cfg, failed)
		}
	}
}

// TestRestart: by hand, in every way of connecting, in both eras, and after the
// server has crashed.
func TestRestart(t *testing.T) {
	use := func(t testing.TB, c *Client, tool string) {
		if err := c.Restart(context.Background()); err != nil { // nothing was opened
			t.Fatal(err)
		}
		if len(c.Frames()) != 0 {
			t.Errorf("a handshake was repeated that was not made")
		}
		for range 2 {
			if _, err := c.Call(context.Background(), tool, nil); err != nil {
				t.Error(err)
			}
			if err := c.Restart(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		c.Kill()
		<-c.Done()
		if _, err := c.Call(context.Background(), tool, nil); !errors.Is(err, ErrEnded) {
			t.Errorf("a call to a server that was killed: %v", err)
		}
		if err := c.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(context.Background(), tool, nil); err != nil {
			t.Error(err)
		}
		if n := len(c.Sessions()); n != 5 {
			t.Errorf("%d sessions", n)
		}
	}
	for protocol, tool := range map[string]string{"": "hello", "2026-07-28": "modern"} {
		cfg := Config{Protocol: protocol}
		t.Run("New/"+protocol, func(t *testing.T) { use(t, cfg.New(t, answers{}), tool) })
		t.Run("Start/"+protocol, func(t *testing.T) { use(t, cfg.StartCmd(t, childCmd("serve")), tool) })
		t.Run("NewInMemory/"+protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { use(t, cfg.NewInMemory(t, answers{}), tool) })
		})
	}
}

// TestLeakInEarlierSession: a goroutine that an earlier session left behind
// fails the test too, and so does one that ended badly.
func TestLeakInEarlierSession(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	bad := errors.New("ended badly")
	n := 0
	failed, _ := watch(func(t testing.TB) {
		c := New(t, serveFunc(func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
			if n++; n == 1 {
				leak(release, 1)
				answers{}.Serve(ctx, r, w)
				return bad
			}
			return answers{}.Serve(ctx, r, w)
		}))
		if err := c.Restart(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(failed, "the server ended with: ended badly") || !strings.Contains(failed, "left goroutines behind") {
		t.Errorf("the test was told %q", failed)
	}
}

// TestSlowHandshake: in a bubble, time passes for calls that wait for each
// other's handshake.
func TestSlowHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewInMemory(t, serveFunc(func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
			time.Sleep(time.Minute)
			return answers{}.Serve(ctx, r, w)
		}))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := c.Call(t.Context(), "hello", nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// flood reports progress once, then sends 100 log messages, then its result.
func flood(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if !strings.Contains(lines.Text(), `"flood"`) {
			answers{}.Serve(ctx, io.NopCloser(strings.NewReader(lines.Text()+"\n")), w)
			continue
		}
		var m struct {
			ID jsontext.Value `json:"id"` // which is the progress token too
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":`+string(m.ID)+"}}\n"+
			strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n", 100)+
			strings.Replace(good["hello"], "$ID", string(m.ID), 1)+"\n")
	}
	return nil
}

// TestOverload: what each action does to the call whose frames do not fit, to
// the others, and to the session. The reader has read all of it in any case.
func TestOverload(t *testing.T) {
	for _, tt := range []struct {
		overload Overload
		other    error // of another call
		ended    bool
	}{
		{OverloadRefuse, nil, false},
		{OverloadCancel, ErrOverload, false},
		{OverloadEnd, ErrEnded, true},
	} {
		c := Config{Queue: 10, Overload: tt.overload, Restart: true}.New(t, serveFunc(flood))
		if _, err := c.Call(t.Context(), "hello", nil); err != nil {
			t.Fatal(err)
		}
		other, err := c.BeginCall(t.Context(), "silent", nil)
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		if _, err := c.CallProgress(t.Context(), "flood", nil, func(Progress) { <-release }); !errors.Is(err, ErrOverload) {
			t.Errorf("overload %d: the call ended with %v", tt.overload, err)
		}
		if tt.other != nil {
			if _, err := other.Wait(t.Context()); !errors.Is(err, tt.other) || !errors.Is(err, ErrOverload) {
				t.Errorf("overload %d: the other call ended with %v", tt.overload, err)
			}
		}
		if tt.ended {
			if _, err := c.Call(t.Context(), "hello", nil); err != nil { // of the next session
				t.Error(err)
			}
		} else if err := c.AwaitReceived(t.Context(), 100*86); err != nil {
			t.Error(err)
		}
		close(release)
		m := c.Sessions()[0]
		if (m.Exit != nil) != tt.ended || len(c.Sessions()) != 1+map[bool]int{true: 1}[tt.ended] || (m.Cancels > 0) != (tt.overload == OverloadCancel) {
			t.Errorf("overload %d: the sessions are %+v", tt.overload, c.Sessions())
		}
	}
}
