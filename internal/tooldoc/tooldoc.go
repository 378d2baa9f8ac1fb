// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tooldoc is for tests that make the page of a server's tools from a
// run, and hold that the page is as the run makes it.
package tooldoc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// A Sample is one call whose answer is shown.
type Sample struct {
	Tool       string
	In         any  // the arguments
	Structured bool // show the structured content too
}

// Describe writes what a host shows of a tool.
func Describe(t testing.TB, b *strings.Builder, tools *tool.Registry, name string) {
	tl, ok := tools.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	var def struct {
		Description string
		InputSchema struct {
			Properties jsontext.Value
			Required   []string
		} `json:"inputSchema"`
	}
	if err := json.Unmarshal(tl.Definition("2025-11-25"), &def, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "### %s\n\n%s\n\n| argument | type | meaning |\n| --- | --- | --- |\n", name, def.Description)
	dec := jsontext.NewDecoder(bytes.NewReader(def.InputSchema.Properties))
	if _, err := dec.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		argument := key.String()
		var p struct {
			Type        string
			Description string
			Default     jsontext.Value
			Enum        []string
		}
		if err := json.UnmarshalDecode(dec, &p, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		about := p.Description
		if len(p.Enum) > 0 {
			about += " One of `" + strings.Join(p.Enum, "`, `") + "`."
		}
		if p.Default != nil {
			about += " Default: `" + string(p.Default) + "`."
		}
		if slices.Contains(def.InputSchema.Required, argument) {
			about += " Required."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", argument, p.Type, strings.ReplaceAll(about, "|", `\|`))
	}
	b.WriteString("\n")
}

// Answer makes the call of s and writes the answer, in which steady has replaced
// what is another thing in each run.
func Answer(t testing.TB, b *strings.Builder, tools *tool.Registry, s Sample, steady func(string) string) {
	r, err := tools.Call(t.Context(), s.Tool, s.In)
	text := textOf(r)
	if err != nil || r.IsError {
		t.Fatalf("%s: %v, %s", s.Tool, err, text)
	}
	in, err := result.Marshal(t.Context(), s.In, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "Asked with `%s` it answers:\n\n```text\n%s\n```\n\n", in, steady(text))
	if !s.Structured {
		return
	}
	v := jsontext.Value(bytes.Clone(r.Structured.(jsontext.Value)))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "and for programs, as structured content:\n\n```json\n%s\n```\n\n", steady(string(v)))
}

func textOf(r result.Result) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(result.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Hold fails the test unless made stands in the page between the lines that
// "go generate ./PROGRAM" leaves around it. With update it is put there. It
// returns what follows on the page.
func Hold(t testing.TB, file, program, made string, update bool) (after string) {
	t.Helper()
	begin, end := "<!-- from here on made by: go generate ./"+program+" -->\n", "<!-- to here -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has not both marks", file)
	}
	made = "\n" + made
	switch {
	case have == made:
	case update:
		if err := os.WriteFile(file, []byte(before+begin+made+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		was, is := strings.Split(have, "\n"), strings.Split(made, "\n")
		i := 0
		for i < min(len(was), len(is))-1 && was[i] == is[i] {
			i++
		}
		t.Errorf("%s is not what a run gives (go generate ./%s makes it anew); line %d of that part:\n%q\nis now\n%q", file, program, i+1, was[i], is[i])
	}
	return after
}
