// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// HeadInput are the arguments of head.
type HeadInput struct {
	URL     string   `json:"url" jsonschema:"description=Where to ask\\, with https:// or http://,maxLength=4096"`
	Headers []string `json:"headers,omitempty" jsonschema:"description=Names of the headers to show. Leave out for all.,maxItems=50"`
}

// Head is what head answers.
type Head struct {
	Status
	Size *int64 `json:"size,omitempty" jsonschema:"description=Bytes of the body as the server would send it"`
}

// head asks for the headers alone.
func (f *fetcher) head(ctx context.Context, req *tool.Request, in HeadInput) (result.Result, error) {
	ctx, stop := f.begin(ctx)
	defer stop()
	a, err := f.ask(ctx, http.MethodHead, in.URL, http.Header{"Accept-Encoding": {"identity"}})
	if err != nil {
		return result.Result{}, err
	}
	defer a.close()
	names := in.Headers
	if len(names) == 0 {
		names = []string{"*"}
	}
	out := Head{Status: f.status(a, names, req.Budget().Bytes*2/3)}
	if a.ContentLength >= 0 && a.Header.Get("Content-Length") != "" {
		out.Size = &a.ContentLength
	}
	var b strings.Builder
	b.WriteString(out.line() + "\n")
	out.lines(&b)
	return textResult(strings.TrimRight(b.String(), "\n"), out), nil
}
