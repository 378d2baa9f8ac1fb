// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a stream whose every write waits until the test lets it through.
type gate struct {
	writes chan []byte    // a copy of what is to be written
	answer chan gateReply // what the write returns
}

type gateReply struct {
	n   int // -1: all
	err error
}

func newGate() *gate { return &gate{make(chan []byte, 1), make(chan gateReply)} }

func (g *gate) Write(p []byte) (int, error) {
	g.writes <- append([]byte{}, p...)
	reply := <-g.answer
	if reply.n < 0 {
		reply.n = len(p)
	}
	return reply.n, reply.err
}

// partialGate is a gate that tells how much was taken.
type partialGate struct{ *gate }

func (g partialGate) WritePartial(p []byte) (int, error) { return g.Write(p) }

// next returns the write that waits at the gate, or "" if there is none.
func (g *gate) next() string {
	synctest.Wait()
	select {
	case p := <-g.writes:
		return string(p)
	default:
		return ""
	}
}

func (g *gate) pass() { g.reply(-1, nil) }

func (g *gate) reply(n int, err error) {
	g.answer <- gateReply{n, err}
	synctest.Wait()
}

// diary is a Source that writes down what it is told.
type diary struct {
	mu      sync.Mutex
	entries []string
	begin   func(f *Frame) bool // nil: true
	done    func(f *Frame, err error)
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf(format, args...))
}

func (d *diary) Begin(f *Frame) bool {
	ok := d.begin == nil || d.begin(f)
	d.note("begin %s %v", name(f), ok)
	return ok
}

func (d *diary) Done(f *Frame, err error) {
	d.note("done %s %v", name(f), err)
	if d.done != nil {
		d.done(f, err)
	}
}

// name is a frame's first word.
func name(f *Frame) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(string(f.Data), "\n"), " ")
	return word
}

// read returns the entries so far and forgets them.
func (d *diary) read() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := strings.Join(d.entries, ", ")
	d.entries = nil
	return s
}

func (d *diary) frame(data string) *Frame { return &Frame{Data: []byte(data + "\n"), Source: d} }

// sized is a frame of n bytes with a name.
func (d *diary) sized(name string, n int) *Frame {
	return d.frame(name + " " + strings.Repeat("x", n-len(name)-2))
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %.200q\nwant %.200q", what, got, want)
	}
}

func TestWriterOrderAndBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		w.Send(d.frame("a"))
		check(t, "first write", g.next(), "a\n")
		for _, s := range []string{"b", "c", "d", "e"} {
			w.Send(d.frame(s)) // while a is being written
		}
		check(t, "told while a is written", d.read(), "begin a true")
		g.pass()
		check(t, "all that became ready leave together", g.next(), "b\nc\nd\ne\n")
		check(t, "told", d.read(), "done a <nil>, begin b true, begin c true, begin d true, begin e true")
		g.pass()
		check(t, "told", d.read(), "done b <nil>, done c <nil>, done d <nil>, done e <nil>")
		check(t, "no more writes", g.next(), "")
		w.Send(d.frame("f")) // after it slept
		check(t, "next write", g.next(), "f\n")
		g.pass()
	})
}

// TestWriterYields: frames that are sent before the writer comes to run leave
// in one write.
func TestWriterYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		w.Send(d.frame("a"))
		w.Send(d.frame("b"))
		check(t, "first write", g.next(), "a\nb\n")
		g.pass()
	})
}

func TestWriterBatchSize(t *testing.T) { // case 07
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(partialGate{g})
		defer w.Close(nil)
		w.Send(d.frame("first"))
		g.next()
		sizes := []int{batchSize / 2, batchSize / 2, 100, batchSize, 100, batchSize + 1, 100, 100}
		var all string
		for i, n := range sizes {
			f := d.sized(fmt.Sprint(i), n)
			all += string(f.Data)
			w.Send(f)
		}
		g.pass()
		for _, want := range []int{batchSize, 100, batchSize, 100, batchSize + 1, 200} {
			got := g.next()
			if len(got) != want || !strings.HasPrefix(all, got) {
				t.Fatalf("a write of %d bytes, want %d", len(got), want)
			}
			all = all[len(got):]
			g.pass()
		}
		check(t, "not written", all, "")
	})
}

// TestWriterSlices: a plain stream never gets more than 64 KiB at a time, a
// PartialWriter all of a large frame.
func TestWriterSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, partial := range []bool{false, true} {
			g, d := newGate(), &diary{}
			var dst io.Writer = g
			want := []int{batchSize, batchSize, 1000}
			if partial {
				dst, want = partialGate{g}, []int{2*batchSize + 1000}
			}
			w := NewWriter(dst)
			w.Send(d.sized("big", 2*batchSize+1000))
			for _, n := range want {
				if got := len(g.next()); got != n {
					t.Errorf("partial %v: a write of %d bytes, want %d", partial, got, n)
				}
				check(t, "done too early", strings.TrimPrefix(d.read(), "begin big true"), "")
				g.pass()
			}
			check(t, "told", d.read(), "done big <nil>")
			w.Close(nil)
		}
	})
}

func TestWriterWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		a, b, c, e := d.frame("a"), d.frame("b"), d.frame("c"), d.frame("e")
		if w.Withdraw(a) {
			t.Error("a frame that was never sent was withdrawn")
		}
		w.Send(a)
		g.next()
		if w.Withdraw(a) {
			t.Error("a frame was withdrawn while it is written")
		}
		for _, f := range []*Frame{b, c, e} {
			w.Send(f)
		}
		for _, f := range []*Frame{b, e} { // the first and the last of the queue
			if !w.Withdraw(f) {
				t.Error("a waiting frame was not withdrawn")
			}
			if w.Withdraw(f) {
				t.Error("a frame was withdrawn twice")
			}
		}
		w.Send(b) // a second time, behind c
		if s := w.Stats(); s.WaitingFrames != 3 || s.WaitingBytes != 6 {
			t.Errorf("waiting: %d frames, %d bytes", s.WaitingFrames, s.WaitingBytes)
		}
		d.read()
		g.pass()
		check(t, "next write", g.next(), "c\nb\n")
		g.pass()
		check(t, "told", d.read(), "done a <nil>, begin c true, begin b true, done c <nil>, done b <nil>")
		if w.Withdraw(c) {
			t.Error("a frame was withdrawn after it was written")
		}
		if s := w.Stats(); s.WaitingFrames != 0 || s.WaitingBytes != 0 {
			t.Errorf("waiting at the end: %d frames, %d bytes", s.WaitingFrames, s.WaitingBytes)
		}
	})
}

// TestWriterWithdrawAll leaves the writer awake with nothing to pick.
func TestWriterWithdrawAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		f := d.frame("a")
		w.Send(f)
		if !w.Withdraw(f) { // no other goroutine ran since
			t.Fatal("not withdrawn")
		}
		check(t, "written", g.next(), "")
		if err := w.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		w.Send(f)
		check(t, "written", g.next(), "a\n")
		g.pass()
	})
}

func TestWriterBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		d := &diary{begin: func(f *Frame) bool {
			switch {
			case f.Data == nil:
				f.Data = []byte("late\n")
			case name(f) == "grow":
				f.Data = []byte("grown " + strings.Repeat("y", batchSize-100) + "\n")
			}
			return name(f) != "drop"
		}}
		w := NewWriter(g)
		defer w.Close(nil)
		w.Send(d.frame("a"))
		g.next()
		w.Send(d.frame("drop"))
		w.Send(d.frame("b"))
		w.Send(&Frame{Source: d}) // sets its data in Begin
		w.Send(d.frame("drop"))
		w.Send(d.frame("c"))
		d.read()
		g.pass()
		check(t, "next write", g.next(), "b\nlate\nc\n")
		check(t, "told", d.read(), "done a <nil>, begin drop false, begin b true, begin late true, begin drop false, begin c true")
		if s := w.Stats(); s.WaitingFrames != 3 || s.WaitingBytes != int64(len("b\nlate\nc\n")) {
			t.Errorf("waiting: %d frames, %d bytes", s.WaitingFrames, s.WaitingBytes)
		}
		g.pass()
		d.read()

		// What grows in Begin beyond the batch takes a write of its own.
		w.Send(d.frame("e"))
		g.next()
		w.Send(d.sized("f", 200))
		w.Send(d.frame("grow"))
		w.Send(d.sized("h", 200))
		g.pass()
		for _, want := range []int{200, batchSize - 100 + len("grown \n"), 200} {
			if got := len(g.next()); got != want {
				t.Errorf("a write of %d bytes, want %d", got, want)
			}
			g.pass()
		}
		check(t, "told", d.read(), "begin e true, done e <nil>, begin f true, begin grown true, done f <nil>, begin h true, done grown <nil>, done h <nil>")
		if s := w.Stats(); s.WaitingFrames != 0 || s.WaitingBytes != 0 {
			t.Errorf("waiting at the end: %d frames, %d bytes", s.WaitingFrames, s.WaitingBytes)
		}
		w.Send(d.frame("drop")) // all of a batch
		check(t, "written", g.next(), "")
		if err := w.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWriterError(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(partialGate{g})
		w.Send(d.frame("first"))
		g.next()
		for _, s := range []string{"aa", "bb", "cc"} {
			w.Send(d.frame(s))
		}
		g.pass()
		check(t, "write", g.next(), "aa\nbb\ncc\n")
		waiting := d.frame("dd")
		w.Send(waiting)
		d.read()
		g.reply(4, nil) // aa, and a byte of bb
		check(t, "the rest", g.next(), "b\ncc\n")
		g.reply(1, broken)
		check(t, "told", d.read(), "done aa <nil>, done bb broken, done cc broken, done dd broken")
		w.Send(d.frame("ee"))
		synctest.Wait()
		check(t, "told later", d.read(), "done ee broken")
		w.Send(&Frame{Data: []byte("no source\n")})
		if w.Withdraw(waiting) {
			t.Error("withdrawn after the end")
		}
		if err := w.Flush(t.Context()); err != broken {
			t.Errorf("Flush: %v", err)
		}
		w.Close(errors.New("later"))
		s := w.Stats()
		if s.Err != broken || s.Frames != 2 || s.Bytes != int64(len("first\naa\nbb")) || s.WaitingFrames != 0 || s.WaitingBytes != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestWriterErrorBetweenWrites fails the first of two writes that were picked
// together.
func TestWriterErrorBetweenWrites(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		d := &diary{begin: func(f *Frame) bool {
			f.Data = append(f.Data[:len(f.Data)-1], strings.Repeat(" x", batchSize/4)+"\n"...)
			return true
		}}
		w := NewWriter(g)
		for _, s := range []string{"a", "b", "c", "d"} {
			w.Send(d.frame(s))
		}
		g.next()
		g.reply(0, broken)
		check(t, "told", d.read(), "begin a true, begin b true, done a broken, done b broken, done c broken, done d broken")
		if s := w.Stats(); s.WaitingFrames != 0 || s.WaitingBytes != 0 {
			t.Errorf("waiting at the end: %d frames, %d bytes", s.WaitingFrames, s.WaitingBytes)
		}
	})
}

func TestWriterBrokenStreams(t *testing.T) {
	for _, partial := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			n    int
			want error
		}{
			{"takes nothing", 0, map[bool]error{false: io.ErrShortWrite, true: io.ErrNoProgress}[partial]},
			{"takes less than nothing", -5, map[bool]error{false: io.ErrShortWrite, true: io.ErrNoProgress}[partial]},
			{"takes more than all", 99, nil},
		} {
			t.Run(fmt.Sprintf("%s, partial %v", tt.name, partial), func(t *testing.T) {
				d := &diary{}
				var dst io.Writer = liar{tt.n}
				if partial {
					dst = partialLiar{liar{tt.n}}
				}
				w := NewWriter(dst)
				defer w.Close(nil)
				w.Send(d.frame("a"))
				if err := w.Flush(t.Context()); err != tt.want {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if s := w.Stats(); s.WaitingBytes != 0 || s.Bytes < 0 || s.Bytes > 2 {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}

// liar takes n bytes of everything, it says.
type liar struct{ n int }

func (l liar) Write([]byte) (int, error) { return l.n, nil }

type partialLiar struct{ liar }

func (l partialLiar) WritePartial(p []byte) (int, error) { return l.Write(p) }

func TestWriterClose(t *testing.T) {
	gone := errors.New("gone")
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		w.Send(d.frame("a"))
		g.next()
		w.Send(d.frame("b"))
		w.Send(d.frame("c"))
		flushed := make(chan error, 1)
		go func() { flushed <- w.Flush(t.Context()) }()
		synctest.Wait()
		d.read()
		w.Close(gone)
		check(t, "told when Close returns", d.read(), "done b gone, done c gone")
		synctest.Wait()
		if err := <-flushed; err != gone {
			t.Errorf("Flush: %v", err)
		}
		g.pass() // the write under way ends as it will
		check(t, "told of that", d.read(), "done a <nil>")
		w.Send(d.frame("e"))
		synctest.Wait()
		check(t, "told later", d.read(), "done e gone")
		w.Close(nil)
		if err := w.Stats().Err; err != gone {
			t.Errorf("error %v", err)
		}

		unused := NewWriter(g)
		unused.Close(nil)
		if err := unused.Flush(t.Context()); err != ErrClosed {
			t.Errorf("Flush: %v", err)
		}
	})
}

// TestWriterSendAgain: a source sends its one frame again from Done, as progress
// does, and in vain while the frame is still waiting or written.
func TestWriterSendAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		value, written := 1, 0
		f := &Frame{Source: d}
		d.begin = func(f *Frame) bool {
			f.Data = append(f.Data[:0], fmt.Sprintf("v%d\n", value)...)
			written = value
			return true
		}
		d.done = func(f *Frame, _ error) {
			if written != value {
				w.Send(f)
			}
		}
		w.Send(f)
		w.Send(f)
		check(t, "first", g.next(), "v1\n")
		value = 3
		w.Send(f)
		if s := w.Stats(); s.WaitingFrames != 1 {
			t.Errorf("%d frames wait", s.WaitingFrames)
		}
		g.pass()
		check(t, "second", g.next(), "v3\n")
		g.pass()
		check(t, "no third", g.next(), "")
	})
}

func TestWriterFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		if err := w.Flush(t.Context()); err != nil {
			t.Errorf("with nothing to do: %v", err)
		}
		w.Send(d.frame("a"))
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		flushed := make(chan error, 2)
		go func() { flushed <- w.Flush(ctx) }()
		synctest.Wait()
		cancel(why)
		if err := <-flushed; err != why {
			t.Errorf("cancelled: %v", err)
		}
		if len(w.flushes) != 0 {
			t.Error("a cancelled Flush is remembered")
		}
		for range 2 {
			go func() { flushed <- w.Flush(t.Context()) }()
		}
		w.Send(d.frame("b"))
		g.next()
		g.pass()
		g.next()
		if len(flushed) != 0 {
			t.Error("Flush has returned while a frame was waiting")
		}
		g.pass()
		for range 2 {
			if err := <-flushed; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWriterStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(partialGate{g})
		defer w.Close(nil)
		if s := w.Stats(); s != (WriterStats{}) {
			t.Errorf("at first: %+v", s)
		}
		start := time.Now()
		w.Send(d.sized("a", 1000))
		g.next()
		time.Sleep(time.Second)
		w.Send(d.sized("b", 500)) // is not progress
		want := WriterStats{
			WaitingFrames: 2, WaitingBytes: 1500, PeakWaitingFrames: 2, PeakWaitingBytes: 1500,
			Blocked: time.Second, LastProgress: start,
		}
		if s := w.Stats(); s != want {
			t.Errorf("stuck:\n got %+v\nwant %+v", s, want)
		}
		g.reply(400, nil)
		g.next()
		time.Sleep(time.Second)
		want.Bytes, want.WaitingBytes = 400, 1100
		want.Blocked, want.LastProgress = 2*time.Second, start.Add(time.Second)
		if s := w.Stats(); s != want {
			t.Errorf("slow:\n got %+v\nwant %+v", s, want)
		}
		g.pass()
		g.next()
		g.pass()
		time.Sleep(time.Hour) // idle is not blocked
		want.Frames, want.Bytes, want.Largest = 2, 1500, 1000
		want.WaitingFrames, want.WaitingBytes = 0, 0
		want.LastProgress = start.Add(2 * time.Second)
		if s := w.Stats(); s != want {
			t.Errorf("idle:\n got %+v\nwant %+v", s, want)
		}
		w.Send(d.sized("c", 10))
		want.WaitingFrames, want.WaitingBytes, want.LastProgress = 1, 10, time.Now()
		if s := w.Stats(); s != want {
			t.Errorf("again:\n got %+v\nwant %+v", s, want)
		}
		g.next()
		g.pass()
	})
}
