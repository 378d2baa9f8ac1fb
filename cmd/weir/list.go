// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Columns of the table that are longer are cut; but names, of a tool and of its
// arguments, are not, as they have to be typed: longer ones move the rest of
// their row.
const (
	nameWidth        = 24
	argumentsWidth   = 48
	descriptionWidth = 72
)

// list prints the tools, following the pages of tools/list.
func (c *call) list(ctx context.Context, opened jsontext.Value) error {
	var rows [][3]string
	_, err := within(ctx, &c.session, "tools/list", func(ctx context.Context) (struct{}, error) {
		for page, err := range c.h.Pages(ctx, "tools/list") {
			if err != nil {
				return struct{}{}, err
			}
			if c.json {
				if err := c.printRaw(page); err != nil {
					return struct{}{}, err
				}
				continue
			}
			tools, err := readTools(page)
			if err != nil {
				return struct{}{}, err
			}
			for _, t := range tools {
				rows = append(rows, [3]string{oneLine(t.Name, 0), oneLine(t.arguments(), 0), oneLine(t.what(), descriptionWidth)})
			}
		}
		return struct{}{}, nil
	})
	if err != nil || c.json {
		return err
	}
	_, err = fmt.Fprintf(c.env.stdout, "%s\n%s, %s, revision %s\n",
		table(append([][3]string{{"TOOL", "ARGUMENTS", "WHAT IT DOES"}}, rows...)),
		count(int64(len(rows)), "tool"), serverName(opened), c.h.Protocol())
	return err
}

// table sets rows in columns, with two blanks between them.
func table(rows [][3]string) string {
	names, args := 0, 0
	for _, r := range rows {
		names, args = max(names, utf8.RuneCountInString(r[0])), max(args, utf8.RuneCountInString(r[1]))
	}
	var b strings.Builder
	for _, r := range rows {
		line := fmt.Sprintf("%-*s  %-*s  %s", min(names, nameWidth), r[0], min(args, argumentsWidth), r[1], r[2])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// tool is a tool as tools/list describes it.
type tool struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Annotations struct {
		Title string `json:"title"`
	} `json:"annotations"`
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

// what is the title and the description, of which either may be missing.
func (t *tool) what() string {
	title, description := strings.TrimSpace(cmp.Or(t.Title, t.Annotations.Title)), strings.TrimSpace(t.Description)
	switch {
	case title == "" || title == t.Name || strings.HasPrefix(description, title):
		return cmp.Or(description, title)
	case description == "":
		return title
	}
	return title + ": " + description
}

// oneLine makes s fit a cell: its first line, at most width characters (0: as
// many as it has).
func oneLine(s string, width int) string {
	s, _, cut := strings.Cut(harmless(strings.TrimSpace(s)), "\n")
	s = strings.ReplaceAll(s, "\t", " ")
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
