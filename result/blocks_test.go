// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/quote"
)

// Blocks that are too many to be cut each stay whole, as far as they fit, and
// one text tells of the others.
func TestBoundManyBlocks(t *testing.T) {
	word := strings.Repeat("word ", 40)
	hint := strings.Repeat("h", 2*maxHint)
	for _, tt := range []struct {
		name   string
		n      int
		block  func(i int) Content
		budget Budget
		hint   string
		least  int // so many stay
	}{
		{"texts", 300, func(i int) Content { return TextContent{Text: fmt.Sprintf("file %d: %s", i, word)} }, Budget{}, "", 152},
		{"short texts", 600, func(i int) Content { return TextContent{Text: fmt.Sprintf("%070d", i)} }, Budget{}, "", 460},
		{"a link too much", 400, func(i int) Content {
			return LinkContent{URI: fmt.Sprintf("file:///%02000d", i)[:80], Name: fmt.Sprintf("file%d.go", i)}
		}, Budget{}, "", 360},
		{"resources", 300, func(i int) Content {
			return EmbeddedContent{Resource: Resource{URI: fmt.Sprintf("file:///%d", i), Text: word}}
		}, Budget{}, "", 150},
		{"links of half the limit", 3, func(int) Content { return LinkContent{URI: strings.Repeat("u", 15<<10)} }, Budget{}, "", 2},
		{"the smallest limit", 50, func(int) Content { return TextContent{Text: word} }, Budget{Bytes: 1}, "", 4},
		{"a long hint", 50, func(int) Content { return TextContent{Text: word} }, Budget{Bytes: 1}, hint, 3},
		{"items, and no room for the note", 1500, func(i int) Content { return TextContent{Text: fmt.Sprintf("%032d", i)} }, Budget{Bytes: 999*32 + 10}, "", 990},
		{"items too", 2000, func(int) Content { return TextContent{Text: word} }, Budget{}, "", 160},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in Result
			for i := range tt.n {
				in.Content = append(in.Content, tt.block(i))
			}
			in.Hint = tt.hint
			out := bound(t, in, tt.budget, nil)
			n := len(out.Content) - 1
			if n < tt.least || n >= tt.n {
				t.Fatalf("%d blocks stay", n)
			}
			for i, c := range out.Content[:n] {
				if !reflect.DeepEqual(c, in.Content[i]) {
					t.Fatalf("block %d became %q", i, texts(Result{Content: []Content{c}}))
				}
			}
			missing := 0
			for _, s := range texts(Result{Content: in.Content[n:]}) {
				missing += len(s)
			}
			advice := generalHint
			if tt.hint != "" {
				advice = hint[:maxHint]
			}
			them := "them"
			if tt.n-n == 1 {
				them = "it"
			}
			want := fmt.Sprintf("[%s, %s, left out; to see %s, %s]", count(int64(tt.n-n), "more content block"), count(int64(missing), "byte"), them, advice)
			if got := texts(out)[n]; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			if cut := cutMeta(t, out); cut.Blocks != int64(tt.n-n) || cut.TextBytes != int64(missing) || cut.TextTotal != int64(missing) {
				t.Errorf("_meta %+v", cut)
			}
			budget := tt.budget.WithDefaults(Budget{})
			left := budget.Bytes - encodedLen(texts(out))
			if next := quote.Len(texts(in)[n]) - 2; left < 0 || left > next+64 {
				t.Errorf("%d bytes of the budget are left, the next block has %d", left, next)
			}
		})
	}
}

// Among many blocks only the long ones are cut, and each says so.
func TestBoundManyBlocksAndLongOnes(t *testing.T) {
	in := Result{Content: []Content{TextContent{Text: strings.Repeat("x\n", 50<<10)}}}
	for i := range 400 {
		in.Content = append(in.Content, LinkContent{URI: fmt.Sprintf("file:///home/user/project/some/directory/of/the/sources/file%d.go", i), Name: strings.Repeat("n", 30)})
	}
	in.Content[100] = ImageContent{Data: make([]byte, 9), MIMEType: "image/png"}
	in.Content = append(in.Content, ImageContent{Data: make([]byte, 99), MIMEType: "image/png"})
	out := bound(t, in, Budget{}, nil)
	got := texts(out)
	if n := encodedLen(got); n > DefaultBytes || n < DefaultBytes-200 {
		t.Errorf("%d bytes", n)
	}
	if n := quote.Len(got[0]) - 2; n < DefaultBytes/4-60 || n > DefaultBytes/4+200 || !strings.Contains(got[0], " left out here; ") {
		t.Errorf("the long text has %d bytes: %.100q", n, got[0])
	}
	n := len(out.Content)
	if n < 200 || !reflect.DeepEqual(out.Content[1:n-2], in.Content[1:n-2]) {
		t.Errorf("%d blocks stay, or not as they were", n)
	}
	// The image at the end is not text, and stays.
	if !reflect.DeepEqual(out.Content[n-1], in.Content[401]) {
		t.Errorf("the last block is %.100v", out.Content[n-1])
	}
	if note := got[len(got)-1]; !strings.HasPrefix(note, fmt.Sprintf("[%d more content blocks, ", 401-(n-2))) {
		t.Errorf("note %q, %d blocks", note, n)
	}
}

// What can never fit is said to be left out, with a way to go on, and takes
// nothing else with it.
func TestBoundGiantLink(t *testing.T) {
	giant := strings.Repeat("u", 40<<10)
	in := Result{Hint: "ask for less", Content: []Content{
		LinkContent{URI: giant}, TextContent{Text: "a"},
		EmbeddedContent{Resource: Resource{URI: giant, Text: "b"}}, EmbeddedContent{Resource: Resource{URI: giant, Blob: []byte{1}}},
		LinkContent{URI: "file:///c", Name: strings.Repeat("n", 20<<10)},
		TextContent{Text: strings.Repeat("d", 30<<10)},
	}}
	out := bound(t, in, Budget{}, nil)
	got := texts(out)
	const why = " left out: it takes 40,960 bytes, the limit is 32,768; to see it, ask for less]"
	if len(got) != 6 || got[0] != "[link"+why || got[1] != "a" || got[2] != "[resource left out: it takes 40,961 bytes, the limit is 32,768; to see it, ask for less]" ||
		got[3] != "[resource"+why || !reflect.DeepEqual(out.Content[4], in.Content[4]) || !strings.Contains(got[5], "left out here; to see it, ask for less") {
		t.Errorf("got %.200q", got)
	}
	if cut := cutMeta(t, out); cut.TextTotal != 3*40960+1+30<<10 || cut.Blocks != 0 {
		t.Errorf("_meta %+v", cut)
	}
}

// With a store nothing of what a model reads is lost: what is left out of many
// blocks stands there as one text, in their order.
func TestBoundManyBlocksStore(t *testing.T) {
	texts300 := Result{}
	for i := range 300 {
		texts300.Content = append(texts300.Content, TextContent{Text: fmt.Sprintf("file %d: %s\n", i, strings.Repeat("word ", 40))})
	}
	items := Result{Content: slices.Repeat([]Content{TextContent{Text: "x"}}, 1500)}
	mixed := Result{Content: append(slices.Clone(items.Content[:7]),
		LinkContent{URI: "a:1", Name: "one", Description: "the first"},
		EmbeddedContent{Resource: Resource{URI: "a:2", Text: "embedded"}},
		ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}},
		AudioContent{MIMEType: "audio/wav", Data: []byte{1}},
		EmbeddedContent{Resource: Resource{URI: "a:3", Blob: []byte{1, 2}}})}
	giant := Result{Content: []Content{LinkContent{URI: strings.Repeat("u", 40<<10), Name: "n"}, TextContent{Text: "a"}}}
	const how = `; read it with read_artifact {"id":"a7"}]`
	for _, tt := range []struct {
		name   string
		in     Result
		budget Budget
		at     int // of the note
		note   string
		kept   string // "" for the texts of the blocks that do not stay
	}{
		{"too many bytes", texts300, Budget{}, -1, "[147 more content blocks, 31,017 bytes, left out" + how, ""},
		{"too many items", items, Budget{}, -1, "[501 more content blocks, 501 bytes, left out" + how, strings.Repeat("x\n", 501)},
		{"one too many", Result{Content: items.Content[:2]}, Budget{Items: 1}, -1, "[2 more content blocks, 2 bytes, left out" + how, "x\nx\n"},
		{"other kinds", mixed, Budget{Items: 7}, -1, "[6 more content blocks, 36 bytes, left out (3 of them with media, which is not kept)" + how,
			"x\na:1 | one | the first\na:2\nembedded\n[image image/png of 3 bytes left out: media is not kept]\n" +
				"[audio audio/wav of 1 bytes left out: media is not kept]\na:3\n[resource of 2 bytes left out: media is not kept]\n"},
		{"a giant link", giant, Budget{}, 0, "[link left out: it takes 40,961 bytes, the limit is 32,768" + how, strings.Repeat("u", 40<<10) + " | n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s store
			out := bound(t, tt.in, tt.budget, &s)
			got := texts(out)
			at := tt.at
			if at < 0 {
				at = len(got) - 1
				if tt.kept == "" {
					tt.kept = strings.Join(texts(Result{Content: tt.in.Content[at:]}), "")
				}
			}
			if got[at] != tt.note {
				t.Errorf("\n got %s\nwant %s", got[at], tt.note)
			}
			if s.text != tt.kept || s.mime != "text/plain" {
				t.Errorf("kept %d bytes of %s, want %d: %.200q", len(s.text), s.mime, len(tt.kept), s.text)
			}
			if cut := cutMeta(t, out); !slices.Equal(cut.Artifacts, []string{"a7"}) {
				t.Errorf("_meta %+v", cut)
			}
			if n := encodedLen(got); n > tt.budget.WithDefaults(Budget{}).Bytes {
				t.Errorf("%d bytes", n)
			}
			// A store that fails, and one that says too much, is as none.
			noted := func(out Result) string {
				got := texts(out)
				if tt.at < 0 {
					return got[len(got)-1]
				}
				return got[tt.at]
			}
			_, want, _ := strings.Cut(noted(bound(t, tt.in, tt.budget, nil)), "; ")
			for what, s := range map[string]Store{"fails": &store{err: io.EOF}, "says too much": talkative(storeSays + 1)} {
				out := bound(t, tt.in, tt.budget, s)
				note := noted(out)
				if !strings.HasSuffix(note, "; "+want) || (len(cutMeta(t, out).Artifacts) == 1) != (what == "says too much") {
					t.Errorf("a store that %s: %s, _meta %+v", what, note, cutMeta(t, out))
				}
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	for _, in := range []Result{texts300, giant} {
		if _, err := Bound(ctx, in, Budget{}, new(store)); err != gone {
			t.Errorf("after a cancel: %v", err)
		}
	}
}

// What a store says may be too long for a text that is cut to little.
func TestBoundStoreSaysTooMuch(t *testing.T) {
	var in Result
	for range 8 {
		in.Content = append(in.Content, TextContent{Text: strings.Repeat("x", 5000)})
	}
	out := bound(t, in, Budget{Bytes: 3 << 10}, talkative(500))
	for i, s := range texts(out) {
		if n := len(s); n < 100 || n > 384 || !strings.HasPrefix(s, "xx") || !strings.Contains(s, " bytes left out here …]") || !strings.HasSuffix(s, "xx") {
			t.Errorf("block %d of %d bytes: %q", i, n, s)
		}
	}
	if cut := cutMeta(t, out); len(out.Content) != 8 || len(cut.Artifacts) != 8 {
		t.Errorf("%d blocks, _meta %+v", len(out.Content), cut)
	}
	// For a sentence of the usual length there is room, however many they are.
	for n := range 64 {
		in.Content = slices.Repeat([]Content{TextContent{Text: strings.Repeat("x", 5000)}}, n)
		for i, s := range texts(bound(t, in, Budget{Bytes: 4 << 10}, talkative(150))) {
			if strings.Contains(s, " bytes left out here") && !strings.Contains(s, "; sss") {
				t.Errorf("block %d of %d does not say how to read it: %q", i, n, s)
			}
		}
	}
}

// talkative keeps nothing, and says so much.
type talkative int

func (n talkative) Put(context.Context, string, string, io.Reader) (handle, how string, err error) {
	return "a", strings.Repeat("s", int(n)), nil
}
