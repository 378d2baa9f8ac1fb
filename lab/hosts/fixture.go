// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/lab/drive"
)

// hard is a text that gets damaged where a frame's bytes are not minded: Chinese, an emoji, a line separator, quotes,
// backslashes, control characters, markup.
const hard = "水位不过坝顶，流过的都有计量。😀\u2028\u2029 \"引号\" \\反斜杠\\ <b>&amp;</b> \t\r\n\u0001 末"

var fixtureChecks = []namedCheck{
	{"lists the tools", func(ctx context.Context, s session, _ *drive.Tail) error {
		names, err := s.tools(ctx)
		if err != nil {
			return err
		}
		for _, n := range []string{"echo", "add", "big", "slow", "stubborn", "print", "panic", "progress"} {
			if !slices.Contains(names, n) {
				return fmt.Errorf("%q is not among %v", n, names)
			}
		}
		return nil
	}},
	{"a typed call has its structured result", func(ctx context.Context, s session, _ *drive.Tail) error {
		r, err := s.call(ctx, "add", map[string]any{"a": 20, "b": 22})
		if err != nil {
			return err
		}
		var out struct{ Sum int }
		if err := json.Unmarshal(r.structured, &out); err != nil || out.Sum != 42 {
			return fmt.Errorf("20 + 22 is %s (isError %v, text %q)", r.structured, r.isError, r.text)
		}
		return nil
	}},
	{"integers beyond 2^53 are exact", func(ctx context.Context, s session, _ *drive.Tail) error {
		r, err := s.call(ctx, "add", map[string]any{"a": int64(9007199254740992), "b": 1})
		if err != nil {
			return err
		}
		if !strings.Contains(r.text, "9007199254740993") {
			return fmt.Errorf("2^53 + 1 is %q", r.text)
		}
		return nil
	}},
	{"Chinese text and every awkward character come back", func(ctx context.Context, s session, _ *drive.Tail) error {
		return wantEcho(ctx, s, hard)
	}},
	{"a big result of Chinese text comes back whole", func(ctx context.Context, s session, _ *drive.Tail) error {
		const runes = 1 << 20
		r, err := s.call(ctx, "big", map[string]any{"bytes": runes * len("坝"), "fill": "坝"})
		if err != nil {
			return err
		}
		if r.text != strings.Repeat("坝", runes) {
			return fmt.Errorf("a text of %d bytes instead of %d, beginning %.40q", len(r.text), runes*len("坝"), r.text)
		}
		return nil
	}},
	{"wrong arguments are told to the model", func(ctx context.Context, s session, _ *drive.Tail) error {
		r, err := s.call(ctx, "add", map[string]any{"a": "twenty", "b": 22})
		if err != nil {
			return err
		}
		if !r.isError || !strings.Contains(r.text, "a") || r.structured != nil {
			return fmt.Errorf("isError is %v, the text %q, structured %s", r.isError, r.text, r.structured)
		}
		return nil
	}},
	{"an unknown tool is an error of the protocol", func(ctx context.Context, s session, _ *drive.Tail) error {
		r, err := s.call(ctx, "nonesuch", nil)
		if err == nil {
			return fmt.Errorf("the call returned %q", r.text)
		}
		if !strings.Contains(err.Error(), "nonesuch") {
			return fmt.Errorf("the error does not name the tool: %w", err)
		}
		return nil
	}},
	{"a print in a tool does not reach the protocol", func(ctx context.Context, s session, _ *drive.Tail) error {
		if _, err := s.call(ctx, "print", map[string]any{"text": `{"jsonrpc":"2.0","id":1,"result":{}}`}); err != nil {
			return err
		}
		return wantEcho(ctx, s, "after the print")
	}},
	{"a panic in a tool is one error", func(ctx context.Context, s session, _ *drive.Tail) error {
		r, err := s.call(ctx, "panic", nil)
		if err != nil {
			return err
		}
		if !r.isError || !strings.Contains(r.text, "internal error") {
			return fmt.Errorf("isError is %v, the text %q", r.isError, r.text)
		}
		return wantEcho(ctx, s, "after the panic")
	}},
	{"two hundred calls at once get their own answers", func(ctx context.Context, s session, _ *drive.Tail) error {
		errs := make([]error, 200)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = wantEcho(ctx, s, fmt.Sprintf("%d 号", i)) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}},
	{"a cancel reaches the tool, and the session goes on", func(ctx context.Context, s session, stderr *drive.Tail) error {
		call, cancel := context.WithCancel(ctx)
		defer cancel()
		returned := make(chan error, 1)
		go func() {
			_, err := s.call(call, "slow", map[string]any{"ms": 600_000})
			returned <- err
		}()
		if err := stderr.Wait(ctx, "slow started"); err != nil {
			return errors.New("the tool did not start")
		}
		cancel()
		if err := stderr.Wait(ctx, "slow cancelled"); err != nil {
			return errors.New("the tool was not told")
		}
		if err := <-returned; err == nil {
			return errors.New("the cancelled call returned a result")
		}
		return wantEcho(ctx, s, "after the cancel")
	}},
}

// longListChecks need a list of more than one page.
var longListChecks = []namedCheck{
	{"lists 6,000 tools, page after page", func(ctx context.Context, s session, _ *drive.Tail) error {
		names, err := s.tools(ctx)
		if err != nil {
			return err
		}
		slices.Sort(names)
		if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
			return fmt.Errorf("%d tools are listed twice", len(names)-n)
		}
		for i := range 6000 {
			if n := fmt.Sprintf("tool_%04d", i+1); !slices.Contains(names, n) {
				return fmt.Errorf("%d tools, but no %s", len(names), n)
			}
		}
		return nil
	}},
}

func wantEcho(ctx context.Context, s session, text string) error {
	r, err := s.call(ctx, "echo", map[string]any{"text": text})
	if err != nil {
		return err
	}
	if r.isError || r.text != text {
		return fmt.Errorf("echo of %.60q came back as %.60q (isError %v)", text, r.text, r.isError)
	}
	return nil
}
