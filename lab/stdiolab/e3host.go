// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/weir-mcp/weir/server/servertest"
)

// readingHost gives the server of part f, which froze the other host, to servertest, which always reads: once with room for the
// answer, and once with a limit below it.
func (l *lab) readingHost(ctx context.Context) error {
	for _, limit := range []int{0, 4 << 20} {
		for _, payload := range Payloads {
			r, err := l.readingCell(ctx, payload, limit)
			if err != nil {
				return fmt.Errorf("payload %s, limit %d: %w", payload, limit, err)
			}
			if err := l.emit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lab) readingCell(ctx context.Context, payload string, limit int) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := append(slices.Clone(l.command), Config{Mode: "chunks8", Payload: payload}.withDefaults().Args()...)
	cell, word := "f 8 MiB, a reader", "complete"
	if limit > 0 {
		cell, word = "f 8 MiB, a reader with a limit", "refused: over the host's limit of 4 MiB"
	}
	var r Row
	err := inTest(func(t *hostTest) error {
		// An answer over the limit is a fault of the server's, which a test would fail for: here it is what is looked for.
		c := servertest.Config{Limit: limit, AllowFaults: limit > 0}.StartCmd(t, exec.CommandContext(ctx, args[0], args[1:]...))
		call := map[string]any{"name": "big", "arguments": map[string]any{}}
		_, err := c.Request(ctx, "tools/call", call)
		var tooBig *servertest.OversizeError
		if good := err == nil; limit > 0 && !errors.As(err, &tooBig) || limit == 0 && !good {
			return fmt.Errorf("the large answer: %v", err)
		}
		call["name"] = "small"
		if _, err := c.Request(ctx, "tools/call", call); err != nil {
			return fmt.Errorf("the second request: %w", err)
		}
		said, _ := c.Stderr()
		conf, err := parseReport(said)
		if err != nil {
			return err
		}
		received := c.Metrics().Received
		l.count(2, received)
		r = newRow("E3", cell, 0, conf).set("opt", "payload="+conf.Payload).set("framesSent", 2).set("bytes", received)
		r.set("value", 1).set("unit", "1 as expected, 0 not").set("note", word+"; the second request was answered")
		return nil
	})
	return r, err
}
