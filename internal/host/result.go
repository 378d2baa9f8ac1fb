// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Result is what a tool returned.
type Result struct {
	// Raw is the result object as sent.
	Raw jsontext.Value `json:"-"`
	// Content are the content blocks.
	Content []Content `json:"content"`
	// Structured is structuredContent as sent, nil when absent.
	Structured jsontext.Value `json:"structuredContent"`
	// IsError says that the tool failed; the text says why.
	IsError bool `json:"isError"`
}

// Content is one content block; the fields that its type has not are empty.
type Content struct {
	Type        string   `json:"type"` // text, image, audio, resource_link, resource
	Text        string   `json:"text"`
	Data        string   `json:"data"` // base64
	MIMEType    string   `json:"mimeType"`
	URI         string   `json:"uri"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Resource    Resource `json:"resource"`
}

// Resource is an embedded resource: text, or base64 in Blob.
type Resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
	Blob     string `json:"blob"`
}

// NewResult reads the result of a tools/call.
func NewResult(raw jsontext.Value) (*Result, error) {
	r := &Result{Raw: raw}
	if err := json.Unmarshal(raw, r, lenient...); err != nil {
		return nil, fmt.Errorf("host: result of tools/call: %w", err)
	}
	return r, nil
}

// Text is the text of the result: its text blocks, joined by LF.
func (r *Result) Text() string {
	var texts []string
	for _, c := range r.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Page is what the structured content says about a page. More is the cursor
// to go on with: "" when there is none, or when the tool says that nothing
// more is there now (truncated is false).
type Page struct {
	Items   int
	Omitted int64 // items left out because they were too large
	Total   int64 // -1 when unknown
	More    string
}

// Page reads the page fields of the structured content, as far as there are any.
func (r *Result) Page() Page {
	page := Page{Total: -1}
	if r.Structured.Kind() != '{' {
		return page
	}
	var v struct {
		Items      []jsontext.Value `json:"items"`
		Truncated  *bool            `json:"truncated"`
		NextCursor *string          `json:"nextCursor"`
		Total      *int64           `json:"totalEstimate"`
		Omitted    int64            `json:"omitted"`
	}
	if json.Unmarshal(r.Structured, &v, lenient...) != nil {
		return page // some other structure with one of these names
	}
	page.Items, page.Omitted = len(v.Items), v.Omitted
	if v.Total != nil {
		page.Total = *v.Total
	}
	if v.NextCursor != nil && (v.Truncated == nil || *v.Truncated) {
		page.More = *v.NextCursor
	}
	return page
}
