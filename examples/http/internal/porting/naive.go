// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package porting holds the steps of docs/porting.md from an HTTP request to a
// tool with bounded answers.
package porting

import (
	"context"
	"io"
	"net/http"

	"github.com/weir-mcp/weir/tool"
)

type naiveInput struct {
	URL string `json:"url"`
}

// naive returns whatever comes. Do not keep it like this.
func naive(ctx context.Context, in naiveInput) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", in.URL, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func addNaive(tools *tool.Registry) {
	tool.AddFunc(tools, tool.Info{Name: "fetch", Description: "Fetches a URL."}, naive)
}
