// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
)

func batchClient(t *testing.T, limits server.Limits) (*stage, *servertest.Client) {
	t.Helper()
	s := newStage()
	c := servertest.Config{Protocol: "2025-03-26"}.NewInMemory(t, s.server(limits, new(logBuffer)))
	if _, err := c.Initialize(t.Context(), "2025-03-26"); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// arrays returns how many responses each array held.
func arrays(c *servertest.Client) (out []int) {
	for _, f := range c.Frames() {
		if strings.HasPrefix(string(f.Raw), "[") {
			out = append(out, strings.Count(string(f.Raw), `"jsonrpc"`))
		}
	}
	return out
}

// TestBatchLimits holds that a batch is answered in more than one array when
// it reaches the frame limit, and that 101 members are one error.
func TestBatchLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := batchClient(t, server.Limits{MaxFrameOut: 50_000})
		var members []string
		for i := range 10 {
			members = append(members, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big","arguments":{"bytes":20000}}}`, 9000+i))
		}
		c.Send([]byte("[" + strings.Join(members, ",") + "]\n"))
		synctest.Wait()
		if got := fmt.Sprint(arrays(c)); got != "[2 2 2 2 2]" {
			t.Errorf("arrays of %s responses", got)
		}
		c.Send([]byte("[" + strings.Repeat("1,", 100) + "1]\n"))
		synctest.Wait()
		frames := c.Frames()
		if last := string(frames[len(frames)-1].Raw); !strings.Contains(last, "-32600") || strings.HasPrefix(last, "[") {
			t.Errorf("101 members: %s", last)
		}
	})
}

// TestBatchMemory holds that a batch does not keep the memory that another of
// its calls waits for.
func TestBatchMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := batchClient(t, server.Limits{MaxResultMemory: 300_000, MaxFrameOut: 200_000})
		var members []string
		for i := range 6 {
			members = append(members, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big","arguments":{"bytes":60000}}}`, 9000+i))
		}
		c.Send([]byte("[" + strings.Join(members, ",") + "]\n"))
		synctest.Wait()
		sum := 0
		for _, n := range arrays(c) {
			sum += n
		}
		if sum != 6 {
			t.Errorf("%d of 6 responses: %v", sum, arrays(c))
		}
	})
}
