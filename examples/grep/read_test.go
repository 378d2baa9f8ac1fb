// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"f":     "one\ntwo\r\n三\nfour",
		"empty": "",
		"bad":   "a\xffb\n",
		"long":  "x\n" + strings.Repeat("é", 2000) + "\n",
	})
	tools, _ := serve(t, dir)
	one, two, three, four := Line{1, "one"}, Line{2, "two"}, Line{3, "三"}, Line{4, "four"}
	for _, tt := range []struct {
		name  string
		in    args
		want  []Line
		lines int
	}{
		{"all", args{"path": "f"}, []Line{one, two, three, four}, 4},
		{"path with dots", args{"path": "./x/../f"}, []Line{one, two, three, four}, 4},
		{"range", args{"path": "f", "startLine": 2, "endLine": 3}, []Line{two, three}, 4},
		{"numbers as text", args{"path": "f", "startLine": "2", "endLine": "3"}, []Line{two, three}, 4},
		{"one", args{"path": "f", "startLine": 4, "endLine": 4}, []Line{four}, 4},
		{"past the end", args{"path": "f", "startLine": 3, "endLine": 99}, []Line{three, four}, 4},
		{"null", args{"path": "f", "startLine": nil, "endLine": 1}, []Line{one}, 4},
		{"empty", args{"path": "empty"}, []Line{}, 0},
		{"not UTF-8", args{"path": "bad"}, []Line{{1, "a\ufffdb"}}, 1},
		{"long line", args{"path": "long", "startLine": 2}, []Line{{2, strings.Repeat("é", 968) + "[2064 bytes cut]"}}, 2},
	} {
		p, _ := call[linePage](t, tools, "read_file", tt.in)
		if !slices.Equal(p.Items, tt.want) || p.Lines != tt.lines || p.Truncated {
			t.Errorf("%s: %+v", tt.name, p)
		}
		if p.TotalEstimate == nil || *p.TotalEstimate != int64(len(tt.want)) {
			t.Errorf("%s: total %v, want %d", tt.name, p.TotalEstimate, len(tt.want))
		}
	}
	_, text := call[linePage](t, tools, "read_file", args{"path": "f", "endLine": 2})
	if want := "Returned 2 of 2 lines.\n1\tone\n2\ttwo"; text != want {
		t.Errorf("text %q, want %q", text, want)
	}
}

func TestReadFilePages(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "this is line %d\n", i+1)
	}
	write(t, dir, map[string]string{"f": b.String()})
	tools, _ := serve(t, dir)
	in := args{"path": "f", "startLine": 100, "endLine": 4900, "maxBytes": 8192}
	next, pages := 100, 0
	for {
		p, _ := call[linePage](t, tools, "read_file", in)
		pages++
		for _, l := range p.Items {
			if l.Line != next || l.Text != fmt.Sprintf("this is line %d", next) {
				t.Fatalf("got %+v, want line %d", l, next)
			}
			next++
		}
		if p.TotalEstimate == nil || *p.TotalEstimate != 4801 {
			t.Fatalf("total %v", p.TotalEstimate)
		}
		if p.NextCursor == "" {
			break
		}
		in["cursor"] = p.NextCursor
	}
	if next != 4901 || pages < 10 {
		t.Errorf("ended before line %d after %d pages", next, pages)
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"bin": "PNG\x00\x01", "d/f": "x\n", "empty": ""})
	tools, _ := serve(t, dir)
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{}, "path"},
		{args{"path": "bin"}, `"bin" is a binary file of 5 bytes`},
		{args{"path": "d"}, "directory"},
		{args{"path": "nope"}, "no \"nope\" below the root"},
		{args{"path": "../x"}, "out of the root"},
		{args{"path": "d/f", "startLine": 3, "endLine": 2}, "before startLine"},
		{args{"path": "d/f", "startLine": 0}, "startLine"},
		{args{"path": "d/f", "startLine": 2}, `"d/f" has 1 line; startLine 2 is past its end`},
		{args{"path": "empty", "startLine": 2}, `"empty" has 0 lines; startLine 2 is past its end`},
		{args{"path": "d/f", "cursor": "x"}, "start again without cursor"},
	} {
		if got := refused(t, tools, "read_file", tt.in); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q in it", tt.in, got, tt.want)
		}
	}
}
