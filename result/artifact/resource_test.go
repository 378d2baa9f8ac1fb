// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// nextOf is where a resource says to go on.
func nextOf(r result.Resource) string {
	m, _ := r.Meta[result.TruncatedKey].(map[string]any)
	next, _ := m["next"].(string)
	return next
}

func TestReadResource(t *testing.T) {
	s := testStore(t, &Store{})
	uri := "artifact:" + put(t, s, "short \xff text\n")
	r, err := s.Read(t.Context(), uri, result.Budget{})
	if err != nil || r.Text != "short \xff text\n" || r.URI != uri || r.MIMEType != "text/plain" || r.Meta != nil || r.Blob != nil {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = s.Read(t.Context(), "artifact:"+put(t, s, ""), result.Budget{})
	if err != nil || r.Text != "" || r.Blob != nil || r.Meta != nil {
		t.Errorf("empty: %+v, %v", r, err)
	}
	fits := strings.Repeat("\"", 1024/2)
	if r, err = s.Read(t.Context(), "artifact:"+put(t, s, fits), result.Budget{Bytes: 1024}); r.Text != fits || r.Meta != nil {
		t.Errorf("what just fits: %+v, %v", r, err)
	}
}

func TestResources(t *testing.T) {
	s := testStore(t, &Store{MaxCount: 2})
	put(t, s, "gone")
	one, two := put(t, s, "one"), commit(t, s, "\x00\x01")
	links, err := s.Resources()
	if err != nil || len(links) != 2 || links[0].URI != "artifact:"+two.Handle || links[1].URI != "artifact:"+one {
		t.Fatalf("%+v, %v", links, err)
	}
	if l := links[0]; l.Name != "stream" || l.MIMEType != "application/octet-stream" || *l.Size != 2 || l.Description != "2 bytes of output, binary" {
		t.Errorf("%+v", l)
	}
	s.Close()
	if _, err := s.Resources(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

// A long text comes in parts that are within the budget and lead from one to
// the next, with nothing lost.
func TestReadResourceParts(t *testing.T) {
	s := testStore(t, &Store{})
	for name, text := range map[string]string{
		"ascii":   strings.Repeat("a line\n", 1000),
		"wide":    strings.Repeat("中文😀\n", 1000),
		"escapes": strings.Repeat("\x01\"\n", 1000),
		"over":    strings.Repeat("\"", 513),
	} {
		uri := "artifact:" + put(t, s, text)
		var whole strings.Builder
		for parts := 0; uri != ""; parts++ {
			r, err := s.Read(t.Context(), uri, result.Budget{Bytes: 1024})
			if err != nil || parts > len(text) || r.URI != uri {
				t.Fatalf("%s: part %d: %v", name, parts, err)
			}
			if n := quote.Len(r.Text) - 2; n > 1024 || n < 900 && nextOf(r) != "" && name == "ascii" {
				t.Fatalf("%s: a part of %d bytes", name, n)
			}
			uri = nextOf(r)
			part, marker, cut := strings.Cut(r.Text, "\n[… ")
			if cut != (uri != "") || cut && !strings.Contains(marker, "begin at "+uri+", or read it with read_artifact {") {
				t.Fatalf("%s: next %q, marker %q", name, uri, marker)
			}
			whole.WriteString(part)
		}
		if whole.String() != text {
			t.Errorf("%s: the parts are not the whole", name)
		}
	}
}

func TestReadResourceInside(t *testing.T) {
	s := testStore(t, &Store{MaxBytes: 10})
	info := commit(t, s, "a中bcdefghijk")
	for offset, want := range map[string]string{"0": "a中bcdefg", "1": "中bcdefg", "2": "中bcdefg", "4": "bcdefg", "10": ""} {
		r, err := s.Read(t.Context(), info.URI()+"?offset="+offset, result.Budget{})
		if err != nil || r.Text != want+"\n[… the artifact ends here; 4 bytes more came and were not kept …]" || r.Meta == nil || nextOf(r) != "" {
			t.Errorf("offset %s: %+v, %v", offset, r, err)
		}
	}
}

func TestReadResourceBinary(t *testing.T) {
	s := testStore(t, &Store{})
	content := bytes.Repeat([]byte("\x00\x01binary"), 1000)
	info := commit(t, s, string(content))
	r, err := s.Read(t.Context(), info.URI(), result.Budget{})
	if err != nil || !bytes.Equal(r.Blob, content) || r.Meta != nil || r.MIMEType != "application/octet-stream" {
		t.Errorf("whole: %d bytes, %v, %v", len(r.Blob), r.Meta, err)
	}
	small := result.Budget{Media: 4000}
	r, err = s.Read(t.Context(), info.URI(), small)
	if err != nil || r.Blob != nil || !strings.Contains(r.Text, "8,000 bytes left out") || nextOf(r) != info.URI()+"?offset=0" {
		t.Errorf("larger than the limit: %+v, %v", r, err)
	}
	var whole []byte
	for uri := nextOf(r); uri != ""; uri = nextOf(r) {
		if r, err = s.Read(t.Context(), uri, small); err != nil || len(r.Blob) == 0 || base64.StdEncoding.EncodedLen(len(r.Blob)) > 4000 {
			t.Fatalf("%s: %d bytes, %v", uri, len(r.Blob), err)
		}
		whole = append(whole, r.Blob...)
	}
	if !bytes.Equal(whole, content) {
		t.Error("the parts are not the whole")
	}
}

func TestReadResourceRefuses(t *testing.T) {
	s := testStore(t, &Store{MaxCount: 1})
	old := put(t, s, "old")
	h := put(t, s, "text")
	for uri, want := range map[string]error{
		"artifact:" + old:                     ErrExpired,
		"artifact:" + strings.Repeat("a", 32): ErrForeign,
		"artifact:":                           ErrMalformed,
		"artifact:../" + h:                    ErrMalformed,
		"artifact://" + h:                     ErrMalformed,
		h:                                     ErrMalformed,
		"file:///etc/passwd":                  ErrMalformed,
		"artifact:" + h + "?":                 ErrOffset,
		"artifact:" + h + "?offset=":          ErrOffset,
		"artifact:" + h + "?offset=-1":        ErrOffset,
		"artifact:" + h + "?offset=5":         ErrOffset,
		"artifact:" + h + "?offset=9e9":       ErrOffset,
		"artifact:" + h + "?length=1":         ErrOffset,
		"artifact:" + h + "?offset=99999999999999999999": ErrOffset,
	} {
		_, err := s.Read(t.Context(), uri, result.Budget{})
		if !errors.Is(err, want) || !errors.Is(err, fs.ErrNotExist) || want == ErrOffset && strings.Contains(err.Error(), "handle: copy") {
			t.Errorf("%s: %v, want %v", uri, err, want)
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := s.Read(ctx, "artifact:"+h, result.Budget{}); err != cause {
		t.Errorf("after a cancel: %v", err)
	}
	s.Close()
	if _, err := s.Read(t.Context(), "artifact:"+h, result.Budget{}); !errors.Is(err, ErrClosed) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a closed store: %v", err)
	}
}

// The URI of a part leads to it in every way: as a resource, opened, and given
// to the tool.
func TestPartURI(t *testing.T) {
	s := testStore(t, &Store{})
	tools := registry(t, s)
	uri := "artifact:" + put(t, s, "one\ntwo\n")
	for offset, want := range map[string]string{"?offset=0": "one\ntwo\n", "?offset=4": "two\n", "?offset=8": ""} {
		res, err := s.Read(t.Context(), uri+offset, result.Budget{})
		if err != nil || res.Text != want {
			t.Errorf("%s as a resource: %q, %v", offset, res.Text, err)
		}
		r, err := s.Open(uri + offset)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); string(text) != want || err != nil {
			t.Errorf("%s opened: %q, %v", offset, text, err)
		}
		r.Close()
		if page, text, isError := call(t, tools, args{"handle": uri + offset}); isError || join(page.Items) != strings.TrimSuffix(want, "\n") {
			t.Errorf("%s: %s", offset, text)
		}
	}
	for _, in := range []args{
		{"handle": uri + "?offset=4", "line": 1},
		{"handle": uri + "?offset=4", "tail": 1},
		{"handle": uri + "?offset=4", "offset": 4},
		{"handle": uri + "?offset=9"},
		{"handle": uri + "?line=1"},
	} {
		if _, text, isError := call(t, tools, in); !isError || !strings.Contains(text, "offset") {
			t.Errorf("%v: %s", in, text)
		}
	}
}
