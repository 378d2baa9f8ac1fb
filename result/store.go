// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"io"
)

// A Store keeps full outputs outside of results, so that a text that is over
// its budget can still be read, part by part. Package result/artifact has one.
//
// Methods are called from many goroutines at once.
type Store interface {
	// Put keeps everything that r yields, up to io.EOF, under a new handle. It
	// stops soon after ctx is done. The name and the MIME type describe the
	// content to a reader; the handle identifies it.
	//
	// how is one sentence for the model that tells how to read on, such as
	// "Read it with read_artifact {\"id\":\"a7\"}."
	Put(ctx context.Context, name, mimeType string, r io.Reader) (handle, how string, err error)
}
