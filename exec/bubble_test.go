// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// TestBubble holds that children can be run inside synctest bubbles, several at
// once, and outside of them at the same time.
func TestBubble(t *testing.T) {
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for range 10 {
				run(t, context.Background(), child(t, "echo", "outside"))
			}
		})
		running.Go(func() {
			for range 10 {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if out := run(t, ctx, child(t, "echo", "inside")); out.Stdout.Head != "inside\n" {
						t.Error(out)
					}
					for _, err := range exec.Lines(ctx, child(t, "echo", "inside")) {
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
		})
	}
	running.Wait()
}
