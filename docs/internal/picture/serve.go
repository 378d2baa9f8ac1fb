// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

const (
	step       = 20 * time.Millisecond // between samples
	resultSize = 64 << 10
)

// serve is the server of the run. On stderr it says every step how much waits
// for stdout, and when the slow tool was stopped.
func serve(ctx context.Context) error {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "rows", Description: "Returns 64 KiB.", Budget: result.Budget{Bytes: 2 * resultSize}},
		func(ctx context.Context, in struct{}) (string, error) { return strings.Repeat("x", resultSize), nil })
	tool.AddFunc(&tools, tool.Info{Name: "slow", Description: "Waits for its end."},
		func(ctx context.Context, in struct{}) (string, error) {
			<-ctx.Done()
			say("stopped", 0)
			return "", context.Cause(ctx)
		})
	srv := &server.Server{Name: "picture", Version: "1.0.0", Tools: &tools}
	go func() {
		for range time.Tick(step) {
			say("waiting", srv.Metrics().WaitingBytes)
		}
	}()
	return srv.ServeStdio(ctx)
}

func say(what string, n int64) { fmt.Fprintln(os.Stderr, what, time.Now().UnixNano(), n) }
