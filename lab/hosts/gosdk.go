// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type goSDK struct{ s *mcp.ClientSession }

func dialGoSDK(ctx context.Context, p program, revision string) (session, error) {
	cmd := exec.Command(p.path, p.args...)
	cmd.Stderr = p.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "weir-lab", Version: "0"}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	return goSDK{s}, nil
}

func (g goSDK) revision() string { return g.s.InitializeResult().ProtocolVersion }

func (g goSDK) close() { g.s.Close() }

func (g goSDK) tools(ctx context.Context) ([]string, error) {
	var names []string
	for t, err := range g.s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, t.Name)
	}
	return names, nil
}

func (g goSDK) call(ctx context.Context, tool string, arguments map[string]any) (reply, error) {
	res, err := g.s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return reply{}, err
	}
	r := reply{isError: res.IsError}
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			r.text += t.Text
		}
	}
	if res.StructuredContent != nil {
		r.structured, err = json.Marshal(res.StructuredContent)
	}
	return r, err
}

func (g goSDK) resources(ctx context.Context) ([]string, error) {
	var uris []string
	for r, err := range g.s.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		uris = append(uris, r.URI)
	}
	return uris, nil
}

func (g goSDK) read(ctx context.Context, uri string) (string, error) {
	res, err := g.s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	text := ""
	for _, c := range res.Contents {
		text += c.Text
	}
	return text, nil
}
