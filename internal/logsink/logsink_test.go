// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package logsink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weir-mcp/weir/internal/logsink"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	// A server logs to stderr, and to a file beside it: each has its own queue, so that one which is stuck does not hold
	// up the other.
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	sink := logsink.New(text)
	log := slog.New(sink)
	log.With("tool", "grep").Info("call ended", "pages", 3)
	if err := sink.Flush(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg="call ended" tool=grep pages=3
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// gate is a writer whose every write waits for a value of open, or for its end.
type gate struct {
	open chan struct{}

	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *gate) lines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Split(strings.TrimSuffix(g.buf.String(), "\n"), "\n")
}

// I11: a log that is stuck holds up nobody; what is missing is counted, and said once.
func TestStuck(t *testing.T) {
	tests := []struct {
		name    string
		message string
		send    int
		kept    int
	}{
		{"all fit", "x", 1024, 1024},
		{"too many", "x", 5000, 1024},
		{"too long", strings.Repeat("x", 16<<10), 200, 64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &gate{open: make(chan struct{})}
				h := logsink.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
				log := slog.New(h)
				for range tt.send {
					log.Info(tt.message)
				}
				dropped := int64(tt.send - tt.kept)
				if s := h.Stats(); s.Waiting != tt.kept || s.Dropped != dropped {
					t.Errorf("%+v, want %d waiting", s, tt.kept)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := h.Flush(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("flush: %v", err)
				}

				w.open <- struct{}{}
				synctest.Wait()
				if dropped > 0 { // still until all is written: one line for the whole gap
					log.Info("x")
					dropped++
				}

				close(w.open)
				if err := h.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				lines := w.lines()
				want := tt.kept
				if dropped > 0 {
					want++
					said := fmt.Sprintf(`level=WARN msg="log records were dropped, because the log was not written in time" dropped=%d`, dropped)
					if last := lines[len(lines)-1]; last != said {
						t.Errorf("last line %q", last)
					}
				}
				if len(lines) != want {
					t.Errorf("%d lines, want %d", len(lines), want)
				}
				log.Info("back")
				if err := h.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s := h.Stats(); s.Written != int64(want)+1 || s.Waiting != 0 || s.Dropped != dropped {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// What was written makes room again.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gate{open: make(chan struct{})}
		h := logsink.New(slog.NewTextHandler(w, nil))
		for range 100 { // 3.2 MiB in all
			slog.New(h).Info(strings.Repeat("x", 16<<10))
			slog.New(h).Info(strings.Repeat("x", 16<<10))
			w.open <- struct{}{}
			w.open <- struct{}{}
			synctest.Wait()
		}
		if s := h.Stats(); s != (logsink.Stats{Written: 200}) {
			t.Errorf("%+v", s)
		}
	})
}

// failing is a handler that fails or panics.
type failing struct{ slog.Handler }

func (f failing) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		panic("handler")
	}
	return io.ErrShortWrite
}

func (failing) Enabled(context.Context, slog.Level) bool { return true }

// asked counts how often Enabled is asked, and panics when it may not be.
type asked struct {
	slog.Handler
	level  slog.Leveler
	closed atomic.Bool
}

func (a *asked) Enabled(_ context.Context, l slog.Level) bool {
	if a.closed.Load() {
		panic("asked while it may not be")
	}
	return l >= a.level.Level()
}

// Enabled answers without the inner handler, which is asked only on the log's
// own goroutine, and has the last word there.
func TestEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		var level slog.LevelVar
		level.Set(slog.LevelInfo + 2) // between two of slog's
		in := &asked{Handler: slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}), level: &level}
		h := logsink.New(in)
		log := slog.New(h)
		in.closed.Store(true)
		if log.Enabled(t.Context(), slog.LevelDebug) || !log.Enabled(t.Context(), slog.LevelInfo+2) || !log.Enabled(t.Context(), slog.LevelWarn) {
			t.Error("levels are not those that the inner handler takes")
		}
		in.closed.Store(false)
		log.Log(t.Context(), slog.LevelInfo+1, "too low")
		log.Log(t.Context(), slog.LevelInfo+2, "just right")
		synctest.Wait()
		if got := b.String(); strings.Contains(got, "too low") || !strings.Contains(got, "just right") {
			t.Errorf("log: %s", got)
		}
		level.Set(slog.LevelDebug)
		log.Warn("one record later the new level counts")
		synctest.Wait()
		if !log.Enabled(t.Context(), slog.LevelDebug) {
			t.Error("a level that was lowered is not seen")
		}
		in.closed.Store(true) // a panic there is the log's own trouble
		log.Warn("again")
		synctest.Wait()
	})
}

// Attributes given beforehand count in the queue's size.
func TestWithAttrsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gate{open: make(chan struct{})}
		h := logsink.New(slog.NewTextHandler(w, nil))
		log := slog.New(h).With("a", strings.Repeat("x", 15<<10)).WithGroup("g").With("b", strings.Repeat("x", 15<<10))
		for range 1000 {
			log.Info("short")
		}
		if s := h.Stats(); s.Dropped < 900 {
			t.Errorf("%+v: 1,000 records of 30 KiB fit 1 MiB", s)
		}
		close(w.open)
		synctest.Wait()
	})
}

func TestFailure(t *testing.T) {
	h := logsink.New(failing{slog.DiscardHandler})
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelError, slog.LevelWarn} {
		if err := h.Handle(t.Context(), slog.Record{Level: level}); err != nil {
			t.Error(err)
		}
	}
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s != (logsink.Stats{Failed: 3}) {
		t.Errorf("%+v", s)
	}
}

// valuer resolves to what it holds.
type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

// badError panics when asked for its text, as a nil pointer in an error interface does.
type badError struct{ msg *string }

func (e badError) Error() string { return *e.msg }

// A caller may change what it logged; its values are fixed when it logs them.
func TestValues(t *testing.T) {
	list := []int{1, 2}
	raw := json.RawMessage(`{"a":1}`)
	var b bytes.Buffer
	w := &gate{open: make(chan struct{})}
	h := logsink.New(slog.NewJSONHandler(io.MultiWriter(w, &b), &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	log := slog.New(h).With("with", &list).WithGroup("g")
	log.Info("m", "list", &list, "raw", raw, "valuer", valuer{&list}, "error", badError{}, "wrapped", fmt.Errorf("a: %w", io.EOF),
		"n", 1, "level", slog.LevelWarn, "nil", nil, slog.Group("in", "list", &list), "long", "x"+strings.Repeat("é", 9000))
	list[0], raw[5] = 9, '9'
	close(w.open)
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `{"level":"INFO","msg":"m","with":"&[1 2]","g":{"list":"&[1 2]","raw":"{\"a\":1}","valuer":"&[1 2]",` +
		`"error":"%!v(PANIC=Error method: runtime error: invalid memory address or nil pointer dereference)","wrapped":"a: EOF",` +
		`"n":1,"level":"WARN","nil":null,"in":{"list":"&[1 2]"},"long":"x` + strings.Repeat("é", 8191) + `… (1618 bytes more)"}}` + "\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// All callers at once, with what they derive, on one queue.
func TestConcurrent(t *testing.T) {
	w := &gate{open: make(chan struct{})}
	close(w.open)
	h := logsink.New(slog.NewTextHandler(w, nil))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			log := slog.New(h).With("goroutine", i)
			for n := range 100 {
				log.Info("line", "n", n)
				h.Stats()
			}
		})
	}
	wg.Wait()
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Stats(); s.Written != 800 || len(w.lines()) != 800 {
		t.Errorf("%+v, %d lines", s, len(w.lines()))
	}
}

func BenchmarkHandle(b *testing.B) {
	h := logsink.New(slog.NewTextHandler(io.Discard, nil))
	log := slog.New(h)
	b.ReportAllocs()
	for b.Loop() {
		log.Info("call ended", "tool", "grep", "ms", 12)
	}
}
