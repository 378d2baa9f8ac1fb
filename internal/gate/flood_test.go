// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestTapBound: what waits to be looked at is bounded in memory, also when it
// is many short lines, and so is what is copied.
func TestTapBound(t *testing.T) {
	for _, tt := range []struct {
		name, part, says string
		writes           int
		noEnd            bool
	}{
		{"short lines", strings.Repeat("tick\n", 1000), "the server writes on and on: ", 400, false},
		{"blank lines", strings.Repeat("\n", 1000), "the server writes on and on: ", 400, false},
		{"no line end", strings.Repeat("x", 1000), "a frame without end, 1,049,000 bytes so far", 2000, true},
		{"long lines", strings.Repeat("x", 1<<20) + "\n", "", 60, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var raw bytes.Buffer
			s := newTap(&raw)
			s.maxHeld, s.endless, s.maxRaw = 1<<20, 1<<20, 1<<20
			if tt.says == "" {
				s.endless = 2 << 20
			}
			var kept int64
			for range tt.writes {
				fmt.Fprint(s, tt.part)
				held := int64(0)
				for _, l := range s.lines {
					held += int64(len(l.data)+len(l.end)) + lineCost
				}
				kept = max(kept, held)
			}
			if most := s.maxHeld + maxEnds + int64(len(tt.part))*lineCost; kept > most {
				t.Errorf("%d bytes were kept, at most %d may be", kept, most)
			}
			if why, noEnd := s.givenUp(); !strings.HasPrefix(why, tt.says) || (why == "") != (tt.says == "") || noEnd != tt.noEnd {
				t.Errorf("given up for %q, %v; want %q, %v", why, noEnd, tt.says, tt.noEnd)
			}
			if n := int64(tt.writes * len(tt.part)); s.received() != n {
				t.Errorf("received %d, want %d", s.received(), n)
			}
			if int64(raw.Len()) > s.maxRaw {
				t.Errorf("%d bytes were copied", raw.Len())
			}
		})
	}
}

// TestFlood: a server that writes for ever is a fault, soon; and a run over
// one can be interrupted.
func TestFlood(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	t.Parallel()
	for _, tt := range []struct{ name, script, check, says string }{
		{"lines", "yes tick", "messages", "the server writes on and on"},
		{"blank", "yes ''", "handshake", "the server writes on and on"},
		{"notifications", `yes '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'`, "handshake", "the server writes on and on"},
		{"requests", `yes '{"jsonrpc":"2.0","id":1,"method":"ping"}'`, "handshake", "the server writes on and on"},
		{"no line end", `yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | tr -d '\n'`, "one-object", "a frame without end, "},
		{"slow without end", `while :; do printf xxxx; sleep 0.05; done`, "handshake", "a frame without end, "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Command: []string{"/bin/sh", "-c", tt.script}, Only: []string{tt.check}, Patience: 20 * time.Second}
			if tt.name == "slow without end" {
				o.Patience = 300 * time.Millisecond
			}
			began := time.Now()
			r, err := Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			res := resultOf(t, r, tt.check)
			if len(res.Found) == 0 || res.Verdict != Fault || !strings.Contains(fmt.Sprint(res.Found), tt.says) {
				t.Errorf("%v %v, want a fault with %q", res.Verdict, res.Found, tt.says)
			}
			t.Logf("%v in %v", res.Found, time.Since(began))
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		if r, err := Run(ctx, Options{Command: []string{"/bin/sh", "-c", "yes tick"}}); err == nil && r.Count(Fault) == 0 {
			t.Errorf("%v, %v", r, err)
		}
	})
}
