// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// What a revision does not know of a resource is left out of lists and of what
// is read.
func TestAppendResource(t *testing.T) {
	size := int64(5)
	link := LinkContent{URI: "a:1", Name: "one", Title: "One", Description: "the first", MIMEType: "text/plain", Size: &size,
		Annotations: &Annotations{LastModified: "2025-01-12T15:00:58Z"}, Meta: map[string]any{"x": 1}}
	fitted := bound(t, Link(link), Budget{}, nil).Content[0].(LinkContent)
	text := bound(t, Embed(EmbeddedContent{Resource: Resource{URI: "a:1", MIMEType: "text/plain", Text: "\u2028<", Meta: map[string]any{"x": 1}}}), Budget{}, nil).Content[0].(EmbeddedContent)
	blob := Resource{URI: "a:2", Blob: []byte{1, 2, 3, 4}}
	for _, protocol := range protocols {
		var title, lastModified, meta string
		if protocol >= "2025-06-18" {
			title, lastModified, meta = `,"title":"One"`, `,"annotations":{"lastModified":"2025-01-12T15:00:58Z"}`, `,"_meta":{"x":1}`
		}
		e := Encoding{Protocol: protocol, Limit: 1000}
		for what, tt := range map[string]struct {
			append func(context.Context, []byte) ([]byte, error)
			want   string
		}{
			"listed": {func(ctx context.Context, dst []byte) ([]byte, error) { return e.AppendListed(ctx, dst, fitted) },
				`{"uri":"a:1","name":"one"` + title + `,"description":"the first","mimeType":"text/plain","size":5` + lastModified + meta + `}`},
			"text": {func(ctx context.Context, dst []byte) ([]byte, error) {
				return e.AppendResource(ctx, dst, text.Resource)
			},
				`{"uri":"a:1","mimeType":"text/plain","text":"\u2028<"` + meta + `}`},
			"blob": {func(ctx context.Context, dst []byte) ([]byte, error) { return e.AppendResource(ctx, dst, blob) },
				`{"uri":"a:2","blob":"AQIDBA=="}`},
		} {
			if got, err := tt.append(t.Context(), []byte("[")); err != nil || string(got) != "["+tt.want {
				t.Errorf("%s, %s:\n got %s, %v\nwant [%s", protocol, what, got, err, tt.want)
			}
		}
	}
	var large *TooLargeError
	if got, err := (Encoding{Limit: 1000}).AppendResource(t.Context(), []byte("["), Resource{Text: strings.Repeat("x", 1000)}); !errors.As(err, &large) || string(got) != "[" {
		t.Errorf("over the limit: %.10s, %v", got, err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if got, err := (Encoding{}).AppendResource(ctx, []byte("["), Resource{Text: strings.Repeat("x", 1<<20)}); !errors.Is(err, gone) || string(got) != "[" {
		t.Errorf("after a cancel: %.10s, %v", got, err)
	}
	if _, err := (Encoding{Protocol: "2025-06-18"}).AppendListed(t.Context(), nil, link); err == nil {
		t.Error("a link that did not pass Bound is taken")
	}
}
