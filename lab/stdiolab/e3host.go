// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/weir-mcp/weir/internal/host"
)

// readingHost sends the server of part f what froze the other host, with a host that always reads: once with room for the
// answer, and once with a limit below it.
func (l *lab) readingHost(ctx context.Context) error {
	for _, limit := range []int{0, 4 << 20} {
		for _, payload := range Payloads {
			c := Config{Mode: "chunks8", Payload: payload}.withDefaults()
			h, err := host.Start(host.Config{Limit: limit}, exec.CommandContext(ctx, l.command[0], append(l.command[1:len(l.command):len(l.command)], c.Args()...)...))
			if err != nil {
				return err
			}
			r, err := readingCell(ctx, h, limit)
			if err := errors.Join(err, h.Close()); err != nil {
				return fmt.Errorf("payload %s, limit %d: %w", payload, limit, err)
			}
			l.count(2, h.Metrics().Received)
			said, _ := h.Stderr()
			conf, err := parseReport(said)
			if err != nil {
				return err
			}
			r["group"], r["writer"] = "E3", "chunks"
			r.set("opt", "payload="+conf.Payload).set("bytes", h.Metrics().Received)
			if err := l.emit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func readingCell(ctx context.Context, h *host.Host, limit int) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := h.Request(ctx, "tools/call", host.ToolParams("big", nil))
	var tooBig *host.OversizeError
	word, good := "complete", err == nil
	if limit > 0 {
		word, good = "refused: over the host's limit of 4 MiB", errors.As(err, &tooBig)
	}
	if !good {
		return nil, fmt.Errorf("the large answer: %w", err)
	}
	if _, err := h.Request(ctx, "tools/call", host.ToolParams("small", nil)); err != nil {
		return nil, fmt.Errorf("the second request: %w", err)
	}
	cell := "f 8 MiB, a reader"
	if limit > 0 {
		cell = "f 8 MiB, a reader with a limit"
	}
	return Row{"cell": cell, "note": word + "; the second request was answered"}.set("value", 1).set("unit", "1 as expected, 0 not"), nil
}
