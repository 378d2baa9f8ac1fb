// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import "fmt"

// Content is one block of a result: [TextContent], [ImageContent],
// [AudioContent], [LinkContent] or [EmbeddedContent]. No other package can add
// a kind. The shapes are those of ContentBlock in the protocol's schema.
type Content interface {
	content()
}

// Annotations tell a host how to use a block. They are hints; hosts may ignore
// them. The zero value says nothing.
type Annotations struct {
	// Audience holds "user", "assistant" or both; [Bound] refuses others. Empty
	// means not stated.
	Audience []string

	// Priority is from 0 (entirely optional) to 1 (required); [Bound] refuses
	// what is not. Nil means not stated.
	Priority *float64

	// LastModified is an ISO 8601 time such as "2025-01-12T15:00:58Z". Empty
	// means not stated.
	LastModified string
}

// check returns what the protocol's schema has against a.
func (a *Annotations) check() error {
	if a == nil {
		return nil
	}
	for _, role := range a.Audience {
		if role != "user" && role != "assistant" {
			return fmt.Errorf(`result: the audience %q is neither "user" nor "assistant"`, role)
		}
	}
	if p := a.Priority; p != nil && !(*p >= 0 && *p <= 1) { // nor is NaN
		return fmt.Errorf("result: the priority %v is not from 0 to 1", *p)
	}
	return nil
}

// annotations returns those of a block. Nil means none.
func annotations(c Content) *Annotations {
	switch c := c.(type) {
	case TextContent:
		return c.Annotations
	case ImageContent:
		return c.Annotations
	case AudioContent:
		return c.Annotations
	case LinkContent:
		return c.Annotations
	case EmbeddedContent:
		return c.Annotations
	}
	return nil
}

// TextContent is plain text. Invalid UTF-8 in it is sent as U+FFFD.
type TextContent struct {
	Text        string
	Annotations *Annotations   // nil means none
	Meta        map[string]any // the block's _meta; nil means none
}

// ImageContent is an image. It counts against [Budget.Media].
type ImageContent struct {
	Data        []byte         // raw, not base64
	MIMEType    string         // such as "image/png"; required
	Annotations *Annotations   // nil means none
	Meta        map[string]any // the block's _meta; nil means none
}

// AudioContent is a sound. It counts against [Budget.Media]. Revision
// 2024-11-05 does not know it and gets a short text.
type AudioContent struct {
	Data        []byte         // raw, not base64
	MIMEType    string         // such as "audio/wav"; required
	Annotations *Annotations   // nil means none
	Meta        map[string]any // the block's _meta; nil means none
}

// LinkContent names a resource that can be read (resource_link). Revisions
// before 2025-06-18 do not know it and get its URI as text.
type LinkContent struct {
	URI         string         // required
	Name        string         // required by the schema
	Title       string         // for display; empty means Name
	Description string         // for the model; empty means none
	MIMEType    string         // empty means unknown
	Size        *int64         // of the raw resource in bytes; nil means unknown
	Annotations *Annotations   // nil means none
	Meta        map[string]any // the block's _meta; nil means none
}

// EmbeddedContent is a resource whose content stands in the result.
type EmbeddedContent struct {
	Resource    Resource
	Annotations *Annotations   // nil means none
	Meta        map[string]any // the block's _meta; nil means none
}

// A Resource is the content of an [EmbeddedContent]: Text, or Blob where Blob
// is not nil. A Blob counts against [Budget.Media].
type Resource struct {
	URI      string         // required
	MIMEType string         // empty means unknown
	Text     string         // sent unless Blob is set
	Blob     []byte         // raw, not base64; nil means Text is sent
	Meta     map[string]any // the resource's _meta; nil means none
}

func (TextContent) content()     {}
func (ImageContent) content()    {}
func (AudioContent) content()    {}
func (LinkContent) content()     {}
func (EmbeddedContent) content() {}
