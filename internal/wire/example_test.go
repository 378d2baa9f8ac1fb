// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weir-mcp/weir/internal/wire"
)

// A session reads frames, and answers them through the writer. A frame that is
// too long, or not a message, costs one error.
func Example() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"ping"}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","method":"ping","params":{"text":"more than is allowed"},"id":2}
{bad
`)
	r := wire.NewReader(in, 64)
	w := wire.NewWriter(os.Stdout)
	defer w.Close(nil)
	for {
		frame, err := r.Next()
		if err == io.EOF {
			break
		}
		var tooLong *wire.FrameTooLong
		if errors.As(err, &tooLong) {
			e := &wire.Error{Code: wire.CodeInvalidRequest, Message: err.Error()}
			w.Send(&wire.Frame{Data: wire.AppendError(nil, tooLong.ID, true, e)})
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		m, e := wire.Parse(frame)
		switch {
		case e != nil:
			w.Send(&wire.Frame{Data: wire.AppendError(nil, m.ID, true, e)})
		case m.Kind == wire.Request:
			w.Send(&wire.Frame{Data: wire.AppendResult(nil, m.ID, []byte(`{}`))})
		}
	}
	if err := w.Flush(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":"a","result":{}}
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"wire: a frame of 81 bytes, 64 are allowed"}}
	// {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not valid JSON at byte 1"}}
}
