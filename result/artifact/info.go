// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-mcp/weir/result"
)

// An Info describes an artifact. It does not change.
type Info struct {
	// Handle identifies the artifact: 32 letters and digits, of which 128 bits
	// are random.
	Handle string `json:"handle"`

	// Name is what its maker called it, at most 128 bytes; it need not be
	// unique.
	Name string `json:"name"`

	// MIMEType is as its maker gave it; where that was empty, or one of text for
	// a content that is Binary, text/plain or application/octet-stream.
	MIMEType string `json:"mimeType"`

	// Size is how many bytes are kept, and Lines how many lines: a last one
	// without line feed counts.
	Size  int64 `json:"size"`
	Lines int64 `json:"lines"`

	// Longest is the length of the longest line in bytes, without line feed.
	Longest int64 `json:"longest"`

	// Dropped is how many bytes a Writer was given after Size, and did not keep
	// because of Store.MaxBytes. Zero means that the artifact is all of it.
	Dropped int64 `json:"dropped"`

	// Binary says that the content does not look like text: there is a zero
	// byte in its first 8,000 bytes, or more than a tenth of them is not UTF-8.
	Binary bool `json:"binary"`

	// Created is when it was complete.
	Created time.Time `json:"created"`
}

// URI is the artifact as a resource: "artifact:" and the handle.
func (i Info) URI() string { return scheme + i.Handle }

// Link is a content block that names the artifact, for a result or a list of
// resources.
func (i Info) Link() result.LinkContent {
	size := i.Size
	return result.LinkContent{
		URI: i.URI(), Name: i.Name, MIMEType: i.MIMEType, Size: &size,
		Description: i.description(),
		Annotations: &result.Annotations{LastModified: i.Created.UTC().Format(time.RFC3339)},
	}
}

func (i Info) description() string {
	text := count(i.Size, "byte") + " of output"
	if i.Dropped > 0 {
		text = fmt.Sprintf("the first %s of %s bytes of output", comma(i.Size), comma(i.Size+i.Dropped))
	}
	if i.Binary {
		return text + ", binary"
	}
	return text + ", in " + count(i.Lines, "line") + "; " + i.how()
}

// how tells a model how to read the artifact.
func (i Info) how() string {
	return fmt.Sprintf(`read it with %s {"handle":%q}, and "line", "tail", "offset" or "pattern" for a part`, ToolName, i.Handle)
}

// comma writes n with a comma between thousands.
func comma(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return comma(n) + " " + what
}
