// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// e7Fill is what damages a text where bytes are not minded: U+4E2D, quotes, a line separator, an emoji.
const e7Fill = "中\"'\u2028😀\\"

// e7 has other people's clients read 200 results of Weir's fixture, and compares every text by its hash.
func (l *lab) e7(ctx context.Context) error {
	if l.workshop == nil {
		return l.emit(skippedRow("E7", "all", l.noShop))
	}
	fixture, err := l.workshop.Build(ctx, l.workshop.Root, "./examples/fixture")
	if err != nil {
		return err
	}
	sizes := []struct{ size, calls int }{{64 << 10, 180}, {1 << 20, 20}}
	for _, k := range clients {
		for _, s := range sizes {
			l.progress("E7  %s, %d bytes", k.name, s.size)
			cell := fmt.Sprintf("%s %d", k.name, s.size)
			calls := make([]toolCall, s.calls)
			for i := range calls {
				calls[i] = toolCall{Tool: "big", Args: map[string]any{"bytes": s.size, "fill": e7Fill}}
			}
			began := time.Now()
			answers, err := k.run(ctx, l, []string{fixture}, calls, io.Discard)
			took := time.Since(began)
			var missing *missingError
			if errors.As(err, &missing) {
				if err := l.emit(skippedRow("E7", cell, err)); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", cell, err)
			}
			want := textAnswer(fixtureText(s.size))
			equal, bytes := 0, int64(0)
			for _, a := range answers {
				bytes += int64(a.Bytes)
				if a == want {
					equal++
				}
			}
			l.count(len(answers), bytes)
			r := Row{"group": "E7", "cell": cell, "writer": "weir", "note": strings.TrimSpace(k.version(l))}
			r.set("framesSent", s.calls).set("lines", len(answers)).set("size", s.size).set("bytes", bytes).set("bad", len(answers)-equal).set("mbps", mbps(bytes, took))
			if err := l.emit(r.set("value", equal).set("unit", fmt.Sprintf("texts of %d equal by SHA-256", s.calls))); err != nil {
				return err
			}
		}
	}
	return nil
}

// fixtureText is what the fixture's tool big returns for e7Fill: whole characters, and x where the last does not fit.
func fixtureText(size int) string {
	text := strings.Repeat(e7Fill, size/len(e7Fill))
	rest, cut := size-len(text), 0
	for i := range e7Fill {
		if i <= rest {
			cut = i
		}
	}
	if rest == 0 {
		return text
	}
	return text + e7Fill[:cut] + strings.Repeat("x", rest-cut)
}
