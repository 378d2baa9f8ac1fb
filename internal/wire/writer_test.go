// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

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

// TestWriterYields: goroutines that are ready to send do so before the writer
// picks, and their frames leave together.
func TestWriterYields(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	together := 0
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			g, d := newGate(), &diary{}
			w := NewWriter(g)
			defer w.Close(nil)
			for range 10 {
				go w.Send(d.frame("a"))
			}
			if n := strings.Count(g.next(), "\n"); n > 5 {
				together++
			}
			g.pass()
			if g.next() != "" {
				g.pass()
			}
		})
	}
	// The scheduler is free to run the writer first now and then.
	if together < 10 {
		t.Errorf("frames left together in %d rounds of 20", together)
	}
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

// TestWriterWithdrawKeepsTheQueue withdraws each pair of five waiting frames,
// in both orders, and the other three are written.
func TestWriterWithdrawKeepsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		for i := range 5 {
			for j := range 5 {
				if i == j {
					continue
				}
				w.Send(d.frame("first"))
				g.next()
				want := ""
				waiting := make([]*Frame, 5)
				for k := range waiting {
					waiting[k] = d.frame(fmt.Sprint(k))
					w.Send(waiting[k])
					if k != i && k != j {
						want += fmt.Sprintln(k)
					}
				}
				if !w.Withdraw(waiting[i]) || !w.Withdraw(waiting[j]) {
					t.Error("not withdrawn")
				}
				g.pass()
				check(t, fmt.Sprintf("without %d and %d", i, j), g.next(), want)
				g.pass()
			}
		}
	})
}

// TestWriterPicksOneBatch: what does not leave in the next write can still be
// withdrawn.
func TestWriterPicksOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newGate(), &diary{}
		w := NewWriter(g)
		defer w.Close(nil)
		w.Send(d.frame("first"))
		g.next()
		a, b, c := d.sized("a", 40<<10), d.sized("b", 40<<10), d.sized("c", 10)
		for _, f := range []*Frame{a, b, c} {
			w.Send(f)
		}
		g.pass()
		if got := g.next(); got != string(a.Data) {
			t.Errorf("a write of %d bytes", len(got))
		}
		if w.Withdraw(a) || !w.Withdraw(b) || !w.Withdraw(c) {
			t.Error("the first of the three is written, the others wait")
		}
		g.pass()
		check(t, "written", g.next(), "")
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
