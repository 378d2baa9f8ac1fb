// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type mcpGo struct{ c *client.Client }

func dialMCPGo(ctx context.Context, p program, revision string) (session, error) {
	t := transport.NewStdioWithOptions(p.path, nil, p.args,
		transport.WithCommandStderrWriter(p.stderr),
		transport.WithCommandLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	c := client.NewClient(t, client.WithProtocolVersion(revision))
	// The context given to Start ends the server when it ends, so it is not this check's.
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "weir-lab", Version: "0"}
	if _, err := c.Initialize(ctx, req); err != nil {
		c.Close()
		return nil, err
	}
	return mcpGo{c}, nil
}

func (m mcpGo) revision() string { return m.c.ProtocolVersion() }

func (m mcpGo) close() { m.c.Close() }

func (m mcpGo) tools(ctx context.Context) ([]string, error) {
	res, err := m.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range res.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

func (m mcpGo) call(ctx context.Context, tool string, arguments map[string]any) (reply, error) {
	var req mcp.CallToolRequest
	req.Params.Name = tool
	req.Params.Arguments = arguments
	res, err := m.c.CallTool(ctx, req)
	if err != nil {
		return reply{}, err
	}
	r := reply{isError: res.IsError}
	for _, c := range res.Content {
		if t, ok := c.(mcp.TextContent); ok {
			r.text += t.Text
		}
	}
	if res.StructuredContent != nil {
		r.structured, err = json.Marshal(res.StructuredContent)
	}
	return r, err
}

func (m mcpGo) resources(ctx context.Context) ([]string, error) {
	res, err := m.c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return nil, err
	}
	var uris []string
	for _, r := range res.Resources {
		uris = append(uris, r.URI)
	}
	return uris, nil
}

func (m mcpGo) read(ctx context.Context, uri string) (string, error) {
	var req mcp.ReadResourceRequest
	req.Params.URI = uri
	res, err := m.c.ReadResource(ctx, req)
	if err != nil {
		return "", err
	}
	text := ""
	for _, c := range res.Contents {
		if t, ok := c.(mcp.TextResourceContents); ok {
			text += t.Text
		}
	}
	return text, nil
}
