// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Columns of the table that are longer are cut.
const (
	argumentsWidth   = 48
	descriptionWidth = 72
)

// list prints the tools, following the pages of tools/list.
func (c *call) list(ctx context.Context, opened jsontext.Value) error {
	return c.listWithin(ctx, func(ctx context.Context) error {
		var b bytes.Buffer
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TOOL\tARGUMENTS\tWHAT IT DOES")
		n := 0
		for page, err := range c.h.Pages(ctx, "tools/list") {
			if err != nil {
				return err
			}
			if c.json {
				if _, err := fmt.Fprintf(c.env.stdout, "%s\n", page); err != nil {
					return err
				}
				continue
			}
			tools, err := readTools(page)
			if err != nil {
				return err
			}
			n += len(tools)
			for _, t := range tools {
				fmt.Fprintf(w, "%s\t%s\t%s\n", oneLine(t.Name, 0), oneLine(t.arguments(), argumentsWidth), oneLine(t.what(), descriptionWidth))
			}
		}
		if c.json {
			return nil
		}
		w.Flush()
		fmt.Fprintf(&b, "\n%d tools, %s, revision %s\n", n, serverName(opened), c.h.Protocol())
		_, err := c.env.stdout.Write(b.Bytes())
		return err
	})
}

func (c *call) listWithin(ctx context.Context, fn func(context.Context) error) error {
	_, err := within(ctx, c.timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// tool is a tool as tools/list describes it.
type tool struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	InputSchema struct {
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required"`
	} `json:"inputSchema"`
}

func readTools(page jsontext.Value) ([]tool, error) {
	var list struct {
		Tools []tool `json:"tools"`
	}
	if err := json.Unmarshal(page, &list); err != nil {
		return nil, fmt.Errorf("result of tools/list: %w", err)
	}
	return list.Tools, nil
}

// arguments are the names of the arguments in the schema's order, those that
// may be left out in brackets.
func (t *tool) arguments() string {
	var names []string
	dec := jsontext.NewDecoder(bytes.NewReader(t.InputSchema.Properties))
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		s := name.String()
		if !slices.Contains(t.InputSchema.Required, s) {
			s = "[" + s + "]"
		}
		names = append(names, s)
		if dec.SkipValue() != nil {
			break
		}
	}
	return strings.Join(names, " ")
}

func (t *tool) what() string {
	if t.Description == "" {
		return t.Title
	}
	return t.Description
}

// oneLine makes s fit a cell: its first line, at most width characters (0: as
// many as it has).
func oneLine(s string, width int) string {
	s, _, cut := strings.Cut(strings.TrimSpace(s), "\n")
	s = strings.ReplaceAll(harmless(s), "\t", " ")
	runes := []rune(s)
	switch {
	case width > 0 && len(runes) > width:
		return string(runes[:width-1]) + "…"
	case cut:
		return s + " …"
	}
	return s
}

// serverName is how the server introduced itself, in either era.
func serverName(opened jsontext.Value) string {
	type implementation struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	var v struct {
		Legacy implementation `json:"serverInfo"`
		Meta   struct {
			Modern implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if json.Unmarshal(opened, &v) != nil {
		return "a server without a name"
	}
	if v.Legacy.Name == "" {
		v.Legacy = v.Meta.Modern
	}
	return harmless(strings.TrimSpace(v.Legacy.Name + " " + v.Legacy.Version))
}
