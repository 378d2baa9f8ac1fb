// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/internal/toollist"
)

// findingReport is a finding as -json prints it.
type findingReport struct {
	Tool    string `json:"tool"`    // empty for the list as a whole
	Place   string `json:"place"`   // JSON pointer in the definition
	Verdict string `json:"verdict"` // "rejected" or "warning"
	Text    string `json:"text"`
	Change  string `json:"change"`
}

// linted reports what hosts reject in the list.
func (s *schema) linted(list *toollist.List, where string) error {
	findings := lint.Tools(list.Append(nil))
	rejected := 0
	var r report
	out := []findingReport{}
	for _, f := range findings {
		verdict := "warning"
		if f.Rejected {
			verdict = "rejected"
			rejected++
		}
		out = append(out, findingReport{f.Tool, f.Place, verdict, f.Text, f.Change})
		r.add(f.Tool, verdict, label(f.Place), keyword(f.Place)+f.Text, "→ "+f.Change)
	}
	var err error
	if s.json {
		err = s.printJSON(struct {
			Server   string          `json:"server"` // or the file that was read
			Tools    int             `json:"tools"`
			Findings []findingReport `json:"findings"`
		}{where, len(list.Tools), out})
	} else {
		tools := count(int64(len(list.Tools)), "tool")
		sum := fmt.Sprintf("%s, %s: no host is known to mind.", where, tools)
		if len(findings) > 0 {
			sum = fmt.Sprintf("%s, %s: %s that hosts reject, %s.", where, tools, count(int64(rejected), "thing"), count(int64(len(findings)-rejected), "warning"))
		}
		err = s.printText(r.String() + sum + "\n")
	}
	if err == nil && (rejected > 0 || s.strict && len(findings) > 0) {
		err = errNo
	}
	return err
}

// printText prints text that a person may look at.
func (s *schema) printText(text string) error {
	if s.env.outTerminal {
		text = harmless(text)
	}
	_, err := fmt.Fprint(s.env.stdout, text)
	return err
}

// label is a place in a definition as people write it: "argument
// filter.paths[]" for "/inputSchema/properties/filter/properties/paths/items".
// A keyword at its end is left out: see keyword.
func label(place string) string {
	head, rest, _ := strings.Cut(strings.TrimPrefix(place, "/"), "/")
	what := ""
	switch head {
	case "inputSchema":
		what = "argument"
	case "outputSchema":
		what = "output"
	default:
		return unescapePointer(strings.ReplaceAll(strings.TrimPrefix(place, "/"), "/", "."))
	}
	path, tokens := "", strings.Split(rest, "/")
	for i := 0; i < len(tokens); i++ {
		switch token := tokens[i]; {
		case (token == "properties" || token == "patternProperties") && i+1 < len(tokens):
			i++
			path += "." + unescapePointer(tokens[i])
		case token == "items":
			path += "[]"
		case token == "prefixItems" && i+1 < len(tokens):
			i++
			path += "[" + tokens[i] + "]"
		case token == "additionalProperties" && i+1 < len(tokens):
			path += ".*"
		}
	}
	path = strings.TrimPrefix(path, ".")
	switch {
	case path == "" && what == "argument":
		return "arguments"
	case path == "":
		return what
	}
	return what + " " + path
}

// keyword is the keyword at the end of a place in a schema, and a space; "" for
// the place of a schema.
func keyword(place string) string {
	tokens := strings.Split(strings.TrimPrefix(place, "/"), "/")
	if tokens[0] != "inputSchema" && tokens[0] != "outputSchema" {
		return ""
	}
	name := ""
	for i := 1; i < len(tokens); i++ {
		switch name = unescapePointer(tokens[i]); name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "prefixItems", "anyOf", "oneOf", "allOf":
			if i+1 < len(tokens) {
				i++
				name = ""
			}
		case "enum", "required":
			i = len(tokens)
		case "items":
			name = ""
		}
	}
	if name == "" {
		return ""
	}
	return name + " "
}

func unescapePointer(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}
