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

// A ResourceReader is what a [Store] may be besides, so that a server can serve
// what it keeps as resources. *artifact.Store of package result/artifact is one.
//
// Methods are called from many goroutines at once, and may wait for files.
type ResourceReader interface {
	// Resources lists what can be read. What comes stands at the beginning and
	// what goes is taken from the end, so that a host that reads the list page
	// after page sees nothing twice and misses nothing that is still there.
	Resources() ([]LinkContent, error)

	// Read returns the content of a resource within b: Text of at most b.Bytes,
	// or a Blob of at most b.Media, both in bytes as encoded. What is larger
	// says so and how to read on. It stops soon after ctx is done.
	//
	// An error that matches fs.ErrNotExist means that there is no such
	// resource. A host is shown the text of an error; it should say why, and
	// name no file of this machine.
	Read(ctx context.Context, uri string, b Budget) (Resource, error)
}
