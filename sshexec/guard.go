// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/exec"
)

// guardScript is what a guard runs. It writes "up", and "null" after it where there
// is a null device. It reads lines: "a GROUP ID STEPS" adds a
// process group to its list, "d GROUP ID" takes it off, "k GROUP ID STEPS LIVE"
// ends it, and "l GROUP ID" lists what is there of it. It answers the last two with
// a line "ID PID NAME" for each process that is there, then "ID +" if it has
// ended somebody, or "ID -". At the end of its input, that is when the
// connection is gone, it ends what is on the list.
//
// The processes of a call are those whose environment has its ID, wherever they
// went, and the group, as far as it is known to be the call's: because one of
// those is in it, or because LIVE says that its leader has not ended. So an id
// that has become another's is never hit. To end is TERM, up to so many steps
// of 50 ms, then KILL.
//
//go:embed guard.sh
var guardScript string

// guardStep is the length of a step.
const guardStep = 50 * time.Millisecond

// A guard is a session of its own with a shell on the other machine that ends
// processes there, at our request or when the connection is gone. A connection
// gets one as soon as a shell there has shown that it runs what it is told.
type guard struct {
	c  *conn
	up chan struct{} // closed when it has answered

	mu      sync.Mutex // guards what follows
	lines   strings.Builder
	wake    chan struct{} // receives when there are lines
	dead    bool
	watched int                // how often watch was called
	orphans []orphan           // that it has to end first
	ch      ssh.Channel        // once it is open
	answers map[string]*answer // by call id
}

// An answer is what a guard says about one call.
type answer struct {
	done chan struct{} // closed when it is complete, or the guard is dead
	ok   bool          // it is complete
	did  bool          // somebody was ended
	left []exec.Survivor
}

// startGuard gives the connection its guard, if it has none.
func (c *conn) startGuard(kind shellKind) *guard {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.guard != nil || c.noGuard || kind == restrictedShell {
		return c.guard
	}
	g := &guard{c: c, up: make(chan struct{}), wake: make(chan struct{}, 1), answers: make(map[string]*answer)}
	c.guard = g
	g.orphans = c.h.takeOrphans()
	for _, o := range g.orphans {
		g.tell("k %d %s %d 0", o.pid, o.id, steps(exec.DefaultGrace))
	}
	c.run(func() {
		g.serve()
		g.die()
	})
	return g
}

// dropGuard ends the guard, whose session is needed, for as long as the
// connection lasts. It reports whether there was one.
func (c *conn) dropGuard() bool {
	g := c.currentGuard()
	c.mu.Lock()
	c.noGuard = true
	c.mu.Unlock()
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closeLocked()
	return true
}

// closeLocked ends the session, and waits for nobody.
func (g *guard) closeLocked() {
	if ch := g.ch; ch != nil {
		g.c.run(func() { ch.Close() })
	}
}

// currentGuard is the guard if there is one.
func (c *conn) currentGuard() *guard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guard
}

// serve opens the session and passes lines both ways until it ends.
func (g *guard) serve() {
	s, err := g.c.newSession(g.c.room.force())
	if err != nil {
		return
	}
	ch := s.ch
	defer ch.Close()
	g.mu.Lock()
	g.ch = ch
	g.mu.Unlock()
	g.c.run(func() {
		ssh.DiscardRequests(s.requests)
		g.c.room.ended()
	})
	g.c.run(func() { io.Copy(io.Discard, ch.Stderr()) })
	line := "exec sh -c " + quote(guardScript)
	if shellKind(g.c.h.link.shell.Load()) != posixShell {
		line = inSh(guardScript)
	}
	if ok, err := ch.SendRequest("exec", true, sshStrings(line)); !ok || err != nil {
		return
	}
	stop := make(chan struct{})
	defer close(stop)
	g.c.run(func() { g.write(ch, stop) })
	in := bufio.NewReaderSize(ch, 4096)
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		text := strings.TrimSuffix(string(line), "\n")
		if first {
			g.c.null.Store(text == "up null")
			close(g.up)
			continue
		}
		g.hear(text)
	}
}

// write passes on the lines that wait.
func (g *guard) write(ch ssh.Channel, stop <-chan struct{}) {
	for {
		select {
		case <-g.wake:
		case <-stop:
			return
		}
		g.mu.Lock()
		text := g.lines.String()
		g.lines.Reset()
		g.mu.Unlock()
		if _, err := io.WriteString(ch, text); err != nil {
			return
		}
	}
}

// tell has the guard read a line. It does not wait.
func (g *guard) tell(format string, a ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return
	}
	if g.lines.Len() > maxLines { // it does not read
		g.closeLocked()
		return
	}
	fmt.Fprintf(&g.lines, format+"\n", a...)
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// maxLines is how many bytes wait for a guard, at most about.
const maxLines = 64 << 10

// forget is for an answer that is not waited for any more.
func (g *guard) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.answers[id]; a != nil {
		close(a.done)
		delete(g.answers, id)
	}
}

// hear takes a line of the guard.
func (g *guard) hear(line string) {
	id, rest, _ := strings.Cut(line, " ")
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.answers[id]
	if a == nil {
		return
	}
	if rest == "+" || rest == "-" {
		a.ok, a.did = true, rest == "+"
		close(a.done)
		delete(g.answers, id)
		return
	}
	pid, name, _ := strings.Cut(rest, " ")
	if n, err := strconv.Atoi(pid); err == nil && len(a.left) < maxSurvivors {
		a.left = append(a.left, exec.Survivor{PID: n, Name: strings.ToValidUTF8(name, "\uFFFD")})
	}
}

// maxSurvivors is how many survivors an Output names, as in exec.
const maxSurvivors = 16

// ask is tell for a line about a call that is answered.
func (g *guard) ask(id, format string, a ...any) *answer {
	g.mu.Lock()
	w := g.answers[id]
	if w == nil {
		w = &answer{done: make(chan struct{})}
		if g.dead {
			close(w.done)
			g.mu.Unlock()
			return w
		}
		g.answers[id] = w
	}
	g.mu.Unlock()
	g.tell(format, a...)
	return w
}

// watch puts a process group on the list.
func (g *guard) watch(pid int, id string, grace time.Duration) {
	g.mu.Lock()
	g.watched++
	g.mu.Unlock()
	g.tell("a %d %s %d", pid, id, steps(grace))
}

// unwatch takes it off.
func (g *guard) unwatch(pid int, id string) { g.tell("d %d %s", pid, id) }

// end ends the processes of a call. Live means that the leader of the group has
// not ended as far as is known.
func (g *guard) end(pid int, id string, grace time.Duration, live bool) *answer {
	l := 0
	if live {
		l = 1
	}
	return g.ask(id, "k %d %s %d %d", pid, id, steps(grace), l)
}

// list lists the processes of a call.
func (g *guard) list(pid int, id string) *answer { return g.ask(id, "l %d %s", pid, id) }

func steps(grace time.Duration) int {
	return int(min((grace+guardStep-1)/guardStep, 1<<20))
}

// die is called once, when the session has ended.
func (g *guard) die() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = true
	if !g.isUp() {
		g.c.h.addOrphans(g.orphans...) // for the next one
	}
	for id, a := range g.answers {
		close(a.done)
		delete(g.answers, id)
	}
	g.c.mu.Lock()
	g.c.noGuard = true
	g.c.guard = nil
	g.c.mu.Unlock()
}

// isUp tells whether the guard has answered, so that it has the list.
func (g *guard) isUp() bool { return g != nil && isClosed(g.up) }

// ended tells whether the guard said that it has ended somebody.
func (a *answer) ended() bool { return isClosed(a.done) && a.did }
