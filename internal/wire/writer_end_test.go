// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
		w.Send(d.frame("c"))
		g.next()
		go func() { flushed <- w.Flush(t.Context()) }() // nothing waits behind the write
		synctest.Wait()
		if len(flushed) != 0 {
			t.Error("Flush has returned while a frame was written")
		}
		g.pass()
		if err := <-flushed; err != nil {
			t.Error(err)
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
		want.Pause = time.Second
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
