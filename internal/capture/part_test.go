// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"strings"
	"testing"
)

// TestSinkLines holds that two streams share a sink line by line, whatever the
// pieces that they are read in, and that a line over MaxLine is not waited for.
func TestSinkLines(t *testing.T) {
	type piece struct {
		stream int
		text   string
	}
	out, err := 0, 1
	long := strings.Repeat("x", MaxLine)
	for _, tt := range []struct {
		name   string
		secret string
		pieces []piece
		want   string // what the sink has before the end
		rest   string // and what comes with it: of out, then of err
	}{
		{"a line in pieces", "", []piece{{out, "one "}, {err, "E1\n"}, {out, "line\ntwo"}, {err, "E2\n"}, {out, "\n"}}, "E1\none line\nE2\ntwo\n", ""},
		{"lines and a part", "", []piece{{out, "1\n2\n3"}, {err, "E\n"}, {out, "3\n4\n"}}, "1\n2\nE\n33\n4\n", ""},
		{"both unfinished", "", []piece{{out, "1"}, {err, "E"}, {out, "2"}, {err, "F"}}, "", "12EF"},
		{"blank lines", "", []piece{{out, "\n"}, {err, "\n\n"}, {out, "a"}, {out, "\n"}}, "\n\n\na\n", ""},
		{"the longest that is held", "", []piece{{out, long}, {err, "E\n"}, {out, "\n"}}, "E\n" + long + "\n", ""},
		{"longer", "", []piece{{out, long}, {out, "y"}, {err, "E\n"}, {out, "z\nnext"}, {err, "F\n"}}, long + "yE\nz\nF\n", "next"},
		{"longer in one piece", "", []piece{{out, long + "y"}, {out, "z"}, {out, "\nn"}, {err, "E\n"}}, long + "yz\nE\n", "n"},
		{"a secret in pieces", "secret", []piece{{out, "a sec"}, {err, "E\n"}, {out, "ret b\nsecr"}, {err, "F\n"}}, "E\na [redacted] b\nF\n", "[redacted]"},
		{"a secret of two lines", "l1\nl2", []piece{{out, "l1\n"}, {err, "E\n"}, {out, "l2\n"}}, "E\n[redacted]\n", ""},
	} {
		var got bytes.Buffer
		var sink Sink
		sink.Init(&got)
		var streams [2]Stream
		for i := range streams {
			streams[i].Init(100, 0, NewSecrets([]string{tt.secret}), &sink)
		}
		for _, p := range tt.pieces {
			b := []byte(p.text)
			streams[p.stream].Take(b)
			clear(b) // Take does not hold on to it
		}
		if got.String() != tt.want {
			t.Errorf("%s: %.60q, want %.60q", tt.name, got.String(), tt.want)
		}
		got.Reset()
		for i := range streams {
			streams[i].End()
			streams[i].End() // once more brings nothing more
			if n := cap(streams[i].part.held); n > 2*MaxLine {
				t.Errorf("%s: %d bytes held", tt.name, n)
			}
		}
		if got.String() != tt.rest {
			t.Errorf("%s: at the end %q, want %q", tt.name, got.String(), tt.rest)
		}
	}
}

// A panic of the writer loses what it was given and nothing is passed on again.
func TestSinkPanics(t *testing.T) {
	writes := 0
	var sink Sink
	sink.Init(writerFunc(func([]byte) (int, error) { writes++; panic("enough") }))
	var s Stream
	s.Init(100, 0, nil, &sink)
	s.Take([]byte("a"))
	s.Take([]byte("b\nc"))
	s.End()
	if p := sink.Panicked(); writes != 1 || p == nil || p.Value != "enough" {
		t.Errorf("%d writes, %v", writes, p)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSinkShown holds that what somebody receives as it comes is not kept for
// nobody.
func TestSinkShown(t *testing.T) {
	for _, shown := range []bool{false, true} {
		var k keeper
		var sink Sink
		sink.Init(&k)
		var s Stream
		s.Init(100, 0, nil, &sink)
		if shown {
			s.Also(func([]byte) {})
			s.Also(nil)
		}
		s.Take(make([]byte, 1000))
		s.End()
		if how := sink.Keep(true, 1000); (how == "") != shown || (k.kept == 0) != shown || k.Len() != 1000 {
			t.Errorf("shown %v: %q, kept %d times, %d bytes", shown, how, k.kept, k.Len())
		}
	}
}

type keeper struct {
	bytes.Buffer
	kept int
}

func (k *keeper) Keep() (string, error) { k.kept++; return "ask", nil }
