// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"
)

// tally is a Source that counts, and waits for all of its frames.
type tally struct {
	sync.WaitGroup
	failed atomic.Int64
}

func (s *tally) Begin(*Frame) bool { return true }

func (s *tally) Done(_ *Frame, err error) {
	if err != nil {
		s.failed.Add(1)
	}
	s.WaitGroup.Done()
}

// TestWriterManySenders has 200 goroutines send frames of 5 to 200 KiB, with
// small ones in between, and withdraw some (case 07). Whatever arrives is whole
// and in its sender's order, and exactly what was not withdrawn arrives.
func TestWriterManySenders(t *testing.T) {
	const senders, each = 200, 12
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	w := NewWriter(pw)
	defer w.Close(nil)
	var (
		sent      tally
		withdrawn atomic.Int64
		running   sync.WaitGroup
	)
	for s := range senders {
		running.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(s)))
			for i := range each {
				size := 20 + rnd.IntN(200)
				if i%6 == 0 {
					size = 5<<10 + rnd.IntN(195<<10)
				}
				head := fmt.Sprintf(`{"sender":%d,"n":%d,"text":"`, s, i)
				data := head + strings.Repeat(string(rune('a'+s%26)), size) + "\"}\n"
				f := &Frame{Data: []byte(data), Source: &sent}
				sent.Add(1)
				w.Send(f)
				if rnd.IntN(4) == 0 && w.Withdraw(f) {
					withdrawn.Add(1)
					sent.WaitGroup.Done()
				}
				if rnd.IntN(8) == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	go func() {
		running.Wait()
		sent.Wait()
		_ = pw.Close()
	}()
	r := NewReader(pr, 0)
	next := make([]int, senders)
	got := 0
	for {
		frame, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var s, n int
		if _, err := fmt.Sscanf(string(frame[:min(len(frame), 40)]), `{"sender":%d,"n":%d,`, &s, &n); err != nil {
			t.Fatalf("a torn frame: %.60q", frame)
		}
		_, text, _ := bytes.Cut(frame, []byte(`"text":"`))
		letter := string(rune('a' + s%26))
		if string(bytes.TrimLeft(text, letter)) != `"}` {
			t.Fatalf("frames are mixed: %.60q", frame)
		}
		if n < next[s] {
			t.Fatalf("sender %d: frame %d after %d", s, n, next[s]-1)
		}
		next[s] = n + 1
		got++
	}
	if want := senders*each - int(withdrawn.Load()); got != want || sent.failed.Load() != 0 {
		t.Errorf("%d frames arrived, want %d; %d failed", got, want, sent.failed.Load())
	}
	if st := w.Stats(); st.Frames != int64(got) || st.WaitingFrames != 0 || st.WaitingBytes != 0 {
		t.Errorf("stats %+v", st)
	}
}

// TestWriterSlowHost reads 1 KiB at a time, and nothing is lost or out of order
// (case 07).
func TestWriterSlowHost(t *testing.T) {
	pr, pw := io.Pipe()
	w := NewWriter(pw)
	defer w.Close(nil)
	var sent tally
	for i := range 300 {
		sent.Add(1)
		w.Send(&Frame{Data: fmt.Appendf(nil, "%d %s\n", i, strings.Repeat("x", i*7)), Source: &sent})
	}
	go func() {
		sent.Wait()
		_ = pw.Close()
	}()
	for i, f := range frames(t, NewReader(&chunkReader{pr, 1 << 10}, 0)) {
		if want := fmt.Sprintf("%d %s", i, strings.Repeat("x", i*7)); f != want {
			t.Fatalf("frame %d is %.20q of %d bytes", i, f, len(f))
		}
	}
}

// TestWriterStuckGivesMemoryBack: while the host reads nothing, frames that are
// withdrawn are garbage.
func TestWriterStuckGivesMemoryBack(t *testing.T) {
	pr, pw := io.Pipe() // takes nothing until it is read
	w := NewWriter(pw)
	w.Send(&Frame{Data: []byte("stuck\n")})
	const n, size = 64, 1 << 20
	waiting := make([]*Frame, n)
	for i := range waiting {
		waiting[i] = &Frame{Data: append(bytes.Repeat([]byte("x"), size-1), '\n')}
		w.Send(waiting[i])
	}
	full := heap()
	// The writer may have picked the first of them, but no more.
	got := 0
	for i := len(waiting) - 1; i >= 0; i-- {
		if w.Withdraw(waiting[i]) {
			got++
		}
	}
	clear(waiting)
	if got < n-1 {
		t.Errorf("%d of %d frames could be withdrawn", got, n)
	}
	if freed := full - heap(); freed < (n-2)*size {
		t.Errorf("%d bytes came back of %d", freed, n*size)
	}
	if s := w.Stats(); s.WaitingBytes > size+100 || s.PeakWaitingBytes < n*size {
		t.Errorf("stats %+v", s)
	}
	w.Close(nil)
	_ = pr.Close()
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the first one leaves what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWriterForgetsWhatIsWritten: an idle writer holds on to no frame.
func TestWriterForgetsWhatIsWritten(t *testing.T) {
	w := NewWriter(discardWriter{})
	defer w.Close(nil)
	var written []weak.Pointer[Frame]
	for range 10 {
		f := &Frame{Data: []byte("x\n")}
		written = append(written, weak.Make(f))
		w.Send(f)
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	for i, p := range written {
		if p.Value() != nil {
			t.Errorf("frame %d is still held", i)
		}
	}
}

// TestWriterRaces sends, withdraws, flushes, asks and closes at the same time,
// on a stream that breaks now and then.
func TestWriterRaces(t *testing.T) {
	broken := errors.New("broken")
	for round := range 30 {
		var writes atomic.Int64
		w := NewWriter(writerFunc(func(p []byte) (int, error) {
			if round%3 == 0 && writes.Add(1) > 20 {
				return len(p) / 2, broken
			}
			return len(p), nil
		}))
		var running sync.WaitGroup
		var told, gone atomic.Int64
		src := &funcSource{
			begin: func(f *Frame) bool { return f.Data[0] != 'd' },
			done:  func(*Frame, error) { told.Add(1) },
		}
		for s := range 50 {
			running.Go(func() {
				for i := range 20 {
					f := &Frame{Data: fmt.Appendf(nil, "%c %d %d\n", "dw"[i%2], s, i), Source: src}
					w.Send(f)
					switch i % 5 {
					case 0:
						if w.Withdraw(f) {
							gone.Add(1)
						}
					case 1:
						_ = w.Stats()
					case 2:
						ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
						_ = w.Flush(ctx)
						cancel()
					}
				}
			})
		}
		if round%3 == 1 {
			running.Go(func() { w.Close(broken) })
		}
		running.Wait()
		_ = w.Flush(t.Context())
		w.Close(nil)
		if s := w.Stats(); s.WaitingFrames != 0 || s.WaitingBytes != 0 {
			t.Fatalf("round %d: stats %+v", round, s)
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

type funcSource struct {
	begin func(*Frame) bool
	done  func(*Frame, error)
}

func (s *funcSource) Begin(f *Frame) bool      { return s.begin(f) }
func (s *funcSource) Done(f *Frame, err error) { s.done(f, err) }

// TestWriterAllocates: sending a frame allocates nothing, alone or in a batch.
func TestWriterAllocates(t *testing.T) {
	w := NewWriter(discardWriter{})
	defer w.Close(nil)
	src := &tally{}
	batch := make([]*Frame, 40)
	for i := range batch {
		batch[i] = &Frame{Data: append(callFrame(250), '\n'), Source: src}
	}
	for _, n := range []int{1, len(batch)} {
		// A collection may empty the pool of batches now and then.
		if got := testing.AllocsPerRun(1000, func() {
			src.Add(n)
			for _, f := range batch[:n] {
				w.Send(f)
			}
			src.Wait()
		}); got > 0 {
			t.Errorf("%d frames: %v allocations", n, got)
		}
	}
}

// TestEcho is the smallest server on this package: one reader, a goroutine a
// request, one writer. 50 requests at once, twice, and then a ping (case 08);
// each id comes back byte for byte (case 12).
func TestEcho(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := NewWriter(outW)
	defer w.Close(nil)
	go func() {
		r := NewReader(inR, 1<<10)
		var running sync.WaitGroup
		for {
			frame, err := r.Next()
			var long *FrameTooLong
			switch {
			case errors.As(err, &long):
				w.Send(&Frame{Data: AppendError(nil, long.ID, true, &Error{Code: CodeInvalidRequest, Message: err.Error()})})
				continue
			case err != nil:
				running.Wait()
				_ = w.Flush(context.Background())
				_ = outW.Close()
				return
			}
			running.Go(func() {
				m, err := Parse(frame)
				switch {
				case err != nil:
					w.Send(&Frame{Data: AppendError(nil, m.ID, true, err)})
				case m.Kind == Request:
					w.Send(&Frame{Data: AppendResult(nil, m.ID, m.Params.Raw)})
				}
			})
		}
	}()
	want := map[string]int{}
	go func() {
		defer inW.Close()
		for range 2 {
			for i := range 50 {
				fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"n":%d}}`+"\r\n", i, i)
			}
			for _, id := range oddIDs {
				fmt.Fprintf(inW, `{"params":{},"method":"echo","id":%s,"jsonrpc":"2.0"}`+"\n\n", id)
			}
		}
		fmt.Fprintf(inW, "{bad\n"+`{"jsonrpc":"2.0","id":"long","method":"echo","params":{"x":"%s"}}`+"\n", strings.Repeat("x", 1<<10))
		fmt.Fprint(inW, `{"jsonrpc":"2.0","id":"ping","method":"ping","params":{}}`)
	}()
	for i := range 50 {
		want[fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, i, i)] = 2
	}
	for _, id := range oddIDs {
		want[`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`] = 2
	}
	want[`{"jsonrpc":"2.0","id":"ping","result":{}}`] = 1
	want[`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not valid JSON at byte 1"}}`] = 1
	want[`{"jsonrpc":"2.0","id":"long","error":{"code":-32600,"message":"wire: a frame of 1087 bytes, 1024 are allowed"}}`] = 1
	for _, f := range frames(t, NewReader(outR, 0)) {
		if want[f]--; want[f] < 0 {
			t.Errorf("unexpected: %s", f)
		}
	}
	for f, n := range want {
		if n > 0 {
			t.Errorf("missing %d times: %s", n, f)
		}
	}
}

var oddIDs = []string{`"1"`, `"init-1"`, `-1`, `1774232524389`, `9007199254740993`, `1.5`, `1e3`, `"\u0041"`}
