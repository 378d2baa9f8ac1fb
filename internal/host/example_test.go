// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weir-mcp/weir/internal/host"
)

// oneAnswer answers initialize, then prints a line that is no message, and
// stops in the middle of its next frame.
func oneAnswer(_ context.Context, in io.ReadCloser, out io.WriteCloser) error {
	in.Read(make([]byte, 1<<10))
	io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`+"\n")
	io.WriteString(out, "Server ready\n")
	io.WriteString(out, `{"jsonrpc":"2.0","method":"notifications/`)
	io.Copy(io.Discard, in)
	return nil
}

func Example() {
	ctx := context.Background()
	h, err := host.Run(host.Config{}, oneAnswer)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	if _, err := h.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	f, err := h.Find(ctx, func(f host.Frame) bool { return f.Faults != 0 })
	fmt.Printf("line %d is %v: %s (%v)\n", f.Seq, f.Faults, f.Raw, err)

	const lines = len(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}` + "\nServer ready\n")
	err = h.AwaitReceived(ctx, int64(lines+1))
	said, _, _ := strings.Cut(h.Diagnose(), " of a frame")
	fmt.Println(strings.HasPrefix(said, "under way: ") || strings.HasPrefix(said, "the server's write side is stuck: "), err)
	// Output:
	// line 1 is not JSON: Server ready (<nil>)
	// true <nil>
}
