// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// inner is the length of s inside a JSON string.
func inner(s string) int { return quote.Len(s) - len(`""`) }

// measure is inner for a text of any size. It stops once it knows that the text
// is over limit: its result is then only a lower bound.
func measure(ctx context.Context, s string, limit int) (int, error) {
	if len(s) > limit {
		return len(s), nil // no byte becomes less than one
	}
	n := 0
	for s != "" {
		k := runeStart(s, step)
		n += inner(s[:k])
		s = s[k:]
		if k >= step-3 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return n, nil
}

// how tells in a marker how to get at what is missing.
func (f *fitter) how() string {
	if f.whole {
		return "the structured content is whole; if you cannot see it, " + f.advice()
	}
	return "to see it, " + f.advice()
}

// put keeps what r yields in the store, and returns how to read it; "" where
// there is no store or it fails: then the rest is done as without one.
func (f *fitter) put(name, mimeType string, r io.Reader) (how string, err error) {
	if f.store == nil {
		return "", nil
	}
	handle, how, err := f.store.Put(f.ctx, name, mimeType, r)
	switch {
	case f.ctx.Err() != nil:
		return "", context.Cause(f.ctx)
	case err != nil:
		return "", nil
	}
	f.cut.Artifacts = append(f.cut.Artifacts, handle)
	return clause(how), nil
}

// shorten returns the head and the tail of a text that takes more than limit
// bytes encoded, with a marker between them, all within limit. There has to be
// room for a marker with how.
func (f *fitter) shorten(s, mimeType string, limit int) (string, error) {
	how := f.how()
	if !f.whole {
		read, err := f.put("text", mimeType, strings.NewReader(s))
		if err != nil {
			return "", err
		}
		how = cmp.Or(read, how)
	}
	size := int64(len(s))
	room := limit - inner(marker(size, size, size, how))
	if room < 0 { // no room for what the store says: _meta has the handle
		room = limit - inner(marker(size, size, size, ""))
		how = ""
	}
	head := toLine(quote.Cut(s, room/4*3))
	tail := fromLine(quote.CutTail(s[len(head):], room-inner(head)))
	missing := s[len(head) : len(s)-len(tail)]
	f.cut.TextBytes += int64(len(missing))
	f.cut.TextTotal += size
	lines, err := countLines(f.ctx, missing)
	if err != nil {
		return "", err
	}
	return head + marker(int64(len(missing)), size, lines, how) + tail, nil
}

// marker stands where text is missing. Its length grows with its numbers.
func marker(missing, total, lines int64, how string) string {
	in := ""
	if lines > 0 {
		in = " (" + count(lines, "line") + ")"
	}
	if how != "" {
		how = "; " + how
	}
	return fmt.Sprintf("\n[… %s of %s bytes%s left out here%s …]\n", comma(missing), comma(total), in, how)
}

// clause is a sentence such as a Store says as the end of another one.
func clause(s string) string {
	if len(s) > 1 && 'A' <= s[0] && s[0] <= 'Z' && 'a' <= s[1] && s[1] <= 'z' {
		s = strings.ToLower(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".")
}

// countLines counts the line feeds of s.
func countLines(ctx context.Context, s string) (int64, error) {
	var n int64
	for s != "" {
		k := min(len(s), step)
		n += int64(strings.Count(s[:k], "\n"))
		s = s[k:]
		if k == step && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return n, nil
}

// nearLine is how far a line border may be from where a cut would fall to be
// taken instead: at most this, and at most a quarter of what is cut.
const nearLine = 1 << 10

// toLine shortens the head of a text to its last line border, if that is near.
func toLine[S string | []byte](head S) S {
	for n := len(head); n > len(head)-min(nearLine, len(head)/4); n-- {
		if head[n-1] == '\n' {
			return head[:n]
		}
	}
	return head
}

// fromLine shortens the tail of a text to begin at its first line border, if
// that is near.
func fromLine[S string | []byte](tail S) S {
	for n := range min(nearLine, len(tail)/4) {
		if tail[n] == '\n' {
			return tail[n+1:]
		}
	}
	return tail
}
