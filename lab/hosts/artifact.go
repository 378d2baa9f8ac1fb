// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/lab/drive"
)

// artifactArgs make the fixture keep what is over a small budget.
var artifactArgs = []string{"-artifacts", "-budget", "8192"}

// kept is a text that the fixture keeps and a host reads back in several parts.
const kept = "第 1 行 of what is kept \"引号\" \\ <&>\n"

// artifactChecks need a server that keeps outputs and serves them as resources.
var artifactChecks = []namedCheck{
	{"what is over the budget is listed and read back whole", func(ctx context.Context, s session, _ *drive.Tail) error {
		want := strings.Repeat(kept, 3000)
		r, err := s.call(ctx, "big", map[string]any{"bytes": len(want), "fill": kept})
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(r.text, `read_artifact {"handle":"`)
		handle, _, ok := strings.Cut(rest, `"`)
		if !ok || len(r.text) > 8192 {
			return fmt.Errorf("a text of %d bytes that does not say how to read on: %.200q", len(r.text), r.text)
		}
		uris, err := s.resources(ctx)
		if err != nil {
			return err
		}
		uri := "artifact:" + handle
		if !slices.Contains(uris, uri) {
			return fmt.Errorf("%s is not among the resources %v", uri, uris)
		}
		var got strings.Builder
		for parts := 1; uri != ""; parts++ {
			text, err := s.read(ctx, uri)
			if err != nil {
				return fmt.Errorf("part %d, %s: %w", parts, uri, err)
			}
			if parts > 50 {
				return fmt.Errorf("no end after %d parts", parts)
			}
			text, says, _ := strings.Cut(text, "\n[… ")
			got.WriteString(text)
			_, says, _ = strings.Cut(says, "begin at ")
			uri, _, _ = strings.Cut(says, ", ")
		}
		if got.String() != want {
			return fmt.Errorf("%d bytes came back of %d", got.Len(), len(want))
		}
		return nil
	}},
	{"a resource that is not there says why", func(ctx context.Context, s session, _ *drive.Tail) error {
		for uri, why := range map[string]string{
			"artifact:" + strings.Repeat("a", 32): "another process",
			"file:///etc/hostname":                "not a handle",
		} {
			text, err := s.read(ctx, uri)
			if err == nil {
				return fmt.Errorf("%s is %.100q", uri, text)
			}
			if !strings.Contains(err.Error(), why) {
				return fmt.Errorf("the error for %s does not say %q: %w", uri, why, err)
			}
		}
		return nil
	}},
}
