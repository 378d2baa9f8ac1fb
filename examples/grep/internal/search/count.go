// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"io"
)

// CountLines returns how many lines r has, as Scan numbers them. It looks at ctx
// every 256 KiB.
func CountLines(ctx context.Context, r io.ReaderAt) (int, error) {
	buf := buffers.Get().(*[bufSize]byte)
	defer buffers.Put(buf)
	lines, last := 0, byte('\n')
	for off := int64(0); ; {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := r.ReadAt(buf[:], off)
		if n > 0 {
			lines += bytes.Count(buf[:n], lf)
			last = buf[n-1]
			off += int64(n)
		}
		switch {
		case err == io.EOF && last != '\n':
			return lines + 1, nil
		case err == io.EOF:
			return lines, nil
		case err != nil:
			return 0, err
		}
	}
}
