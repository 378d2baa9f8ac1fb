// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commit writes the pieces and commits.
func commit(t *testing.T, s *Store, pieces ...string) Info {
	t.Helper()
	w, err := s.Create("stream", "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
	}
	info, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestWriter(t *testing.T) {
	s := testStore(t, &Store{})
	w, err := s.Create("stream", "text/x-log")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "one\ntw")
	if all, _ := s.List(); len(all) != 0 {
		t.Error("it is listed before Commit")
	}
	if err := openErr(s, w.info.Handle); !errors.Is(err, ErrExpired) {
		t.Errorf("Open before Commit: %v", err)
	}
	io.WriteString(w, "o")
	info, err := w.Commit()
	if err != nil || info.Size != 7 || info.Lines != 2 || info.MIMEType != "text/x-log" {
		t.Errorf("Commit: %+v, %v", info, err)
	}
	if again, err := w.Commit(); again != info || err != nil {
		t.Errorf("second Commit: %+v, %v", again, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("x")); err != errCommitted {
		t.Errorf("Write after Commit: %v", err)
	}
	if got := get(t, s, info.Handle); got != "one\ntwo" {
		t.Errorf("there is %q", got)
	}

	w, _ = s.Create("dropped", "")
	io.WriteString(w, "text")
	w.Close()
	if _, err := w.Commit(); err != errDropped {
		t.Errorf("Commit after Close: %v", err)
	}
	if n := len(files(t, s.Dir)); n != 2 {
		t.Errorf("there are %d files", n)
	}
}

func TestCounts(t *testing.T) {
	s := testStore(t, &Store{})
	for _, c := range []struct {
		in             string
		lines, longest int64
		binary         bool
	}{
		{"", 0, 0, false},
		{"\n", 1, 0, false},
		{"a", 1, 1, false},
		{"a\nbcd\n\n", 3, 3, false},
		{"ab\nc", 2, 2, false},
		{strings.Repeat("中文 und Übermut\n", 1000), 1000, 19, false},
		{"Gr\xfc\xdfe aus K\xf6ln, und sonst ist es Text in Latin-1", 1, 48, false},
		{"\x1f\x8b\x08\x00\x01", 1, 5, true},
		{"\xff\xfe\xfd", 1, 3, true},
		{strings.Repeat("text\n", 2000) + "\x00", 2001, 4, false}, // past what is looked at
	} {
		for name, pieces := range map[string][]string{"whole": {c.in}, "bytes": strings.Split(c.in, "")} {
			if name == "bytes" {
				pieces = nil
				for i := range len(c.in) {
					pieces = append(pieces, c.in[i:i+1])
				}
			}
			info := commit(t, s, pieces...)
			if info.Lines != c.lines || info.Longest != c.longest || info.Binary != c.binary || info.Size != int64(len(c.in)) {
				t.Errorf("%.20q (%s): %+v", c.in, name, info)
			}
		}
	}
}

// Past MaxBytes a writer keeps the first bytes, whole characters, and counts
// the rest.
func TestDropped(t *testing.T) {
	s := testStore(t, &Store{MaxBytes: 10})
	for _, c := range []struct {
		pieces  []string
		want    string
		dropped int64
	}{
		{[]string{"0123456789"}, "0123456789", 0},
		{[]string{"0123456789", "a", "bc"}, "0123456789", 3},
		{[]string{"01234", "56789abc"}, "0123456789", 3},
		{[]string{"12345678中文"}, "12345678", 6},
		{[]string{"12345678", "\xe4", "\xb8", "\xad"}, "12345678", 3},
		{[]string{"1234567中文"}, "1234567中", 3},
		{[]string{"12345678\xff\xff\xff"}, "12345678\xff\xff", 1},
	} {
		info := commit(t, s, c.pieces...)
		if got := get(t, s, info.Handle); got != c.want || info.Dropped != c.dropped || info.Size != int64(len(c.want)) {
			t.Errorf("%q: kept %q of %+v", c.pieces, got, info)
		}
		if d := info.Link().Description; (c.dropped > 0) != strings.Contains(d, "first") {
			t.Errorf("%q: %s", c.pieces, d)
		}
	}
	var sum int64
	for _, info := range s.order {
		sum += info.Size
	}
	if s.size != sum || s.writing != 0 {
		t.Errorf("%d bytes kept, counted as %d, and %d being written", sum, s.size, s.writing)
	}
}

// What is being written counts too: it makes the oldest go, and when nothing is
// left to go, writing fails.
func TestFull(t *testing.T) {
	s := testStore(t, &Store{MaxTotal: 100})
	old := put(t, s, strings.Repeat("o", 50))
	a, _ := s.Create("a", "")
	b, _ := s.Create("b", "")
	defer a.Close()
	if _, err := a.Write(make([]byte, 50)); err != nil {
		t.Fatal(err)
	}
	if err := openErr(s, old); err != nil {
		t.Errorf("the old one, while there is room: %v", err)
	}
	if _, err := b.Write(make([]byte, 20)); err != nil {
		t.Fatal(err)
	}
	if err := openErr(s, old); !errors.Is(err, ErrExpired) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := b.Write(make([]byte, 31)); err != ErrFull {
		t.Errorf("Write: %v", err)
	}
	if _, err := b.Commit(); err != ErrFull {
		t.Errorf("Commit: %v", err)
	}
	if _, err := a.Write(make([]byte, 50)); err != nil {
		t.Errorf("after the other one has failed: %v", err)
	}
	if info, err := a.Commit(); err != nil || info.Size != 100 {
		t.Errorf("Commit: %+v, %v", info, err)
	}
	b.Close()
	if s.writing != 0 || s.size != 100 {
		t.Errorf("%d bytes kept, %d being written", s.size, s.writing)
	}
}

// A Commit that is under way when the store is closed fails.
func TestCommitWhileClosing(t *testing.T) {
	s := testStore(t, &Store{})
	w, err := s.Create("", "")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "text")
	s.mu.Lock()
	s.closed = true // as Close does first
	s.mu.Unlock()
	if _, err := w.Commit(); err != ErrClosed {
		t.Errorf("Commit: %v", err)
	}
	s.closed = false
	if names := files(t, s.Dir); len(names) != 1 || s.writing != 0 {
		t.Errorf("there are %q, and %d bytes being written", names, s.writing)
	}
}

// A failed write is the end of the artifact, and its texts name no file.
func TestWriteFails(t *testing.T) {
	s := testStore(t, &Store{})
	w, err := s.Create("", "")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "some")
	w.file.Close() // stands for a disk that is gone
	_, err = io.WriteString(w, "text")
	if err == nil || strings.Contains(err.Error(), filepath.Base(s.Dir)+string(os.PathSeparator)) {
		t.Errorf("Write: %v", err)
	}
	if _, cerr := w.Commit(); cerr != err {
		t.Errorf("Commit: %v", cerr)
	}
	if n := len(files(t, s.Dir)); n != 1 || s.writing != 0 {
		t.Errorf("there are %d files, %d bytes being written", n, s.writing)
	}
}

// A binary content is not given out as text, whatever its maker thought.
func TestBinaryType(t *testing.T) {
	s := testStore(t, &Store{})
	for _, tt := range []struct{ given, content, want string }{
		{"text/plain", "a\x00b", "application/octet-stream"},
		{"TEXT/csv; charset=utf-8", "\xff\xfe\xfd", "application/octet-stream"},
		{"", "a\x00b", "application/octet-stream"},
		{"image/png", "a\x00b", "image/png"},
		{"text/csv", "a,b", "text/csv"},
	} {
		w, err := s.Create("x", tt.given)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, tt.content)
		if info, err := w.Commit(); err != nil || info.MIMEType != tt.want {
			t.Errorf("%q given for %q: %q, %v", tt.given, tt.content, info.MIMEType, err)
		}
	}
}
