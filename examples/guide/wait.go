// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type waitInput struct {
	Text string `json:"text" jsonschema:"description=what the line contains,minLength=1"`
}

func (l *logFile) wait(ctx context.Context, req *tool.Request, in waitInput) (result.Result, error) {
	began := time.Now()
	var from position
	for line, err := range l.lines(ctx, from) { // what is there already does not count
		if err != nil {
			return result.Result{}, err
		}
		from = line.next
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return result.Result{}, stopped(ctx)
		case <-look.C:
		}
		for line, err := range l.lines(ctx, from) {
			if err != nil {
				return result.Result{}, err
			}
			from = line.next
			if strings.Contains(line.text, in.Text) {
				return result.Textf("line %d: %s", line.next.Lines, line.text), nil
			}
		}
		waited := time.Since(began).Truncate(time.Second) // one report a second: what is not greater is dropped
		req.Progress(waited.Seconds(), 0, fmt.Sprintf("%v, %d lines, none with that text", waited, from.Lines))
	}
}

// stopped says why a call has to end.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	var cancelled *tool.Cancelled
	var timedOut *tool.TimedOut
	var shutdown *tool.Shutdown
	switch {
	case errors.As(cause, &cancelled):
		return cause // nobody will read it: a cancelled call is not answered
	case errors.As(cause, &timedOut):
		return fmt.Errorf("no such line within %v; call again to go on waiting", timedOut.After)
	case errors.As(cause, &shutdown):
		return fmt.Errorf("%s, and no such line until then", shutdown.Why)
	}
	return cause // *tool.HostGone: nobody is there
}
