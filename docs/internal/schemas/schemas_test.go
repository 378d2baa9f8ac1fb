// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFresh: the document holds what the types give now.
func TestFresh(t *testing.T) {
	root = filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "schemas.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := fill(string(text))
	if err != nil {
		t.Fatal(err)
	}
	have, lines := strings.Split(string(text), "\n"), strings.Split(want, "\n")
	for i := range min(len(have), len(lines)) {
		if have[i] != lines[i] {
			t.Fatalf("docs/schemas.md is stale from line %d on (go generate ./docs/internal/schemas):\nhave %s\nwant %s", i+1, have[i], lines[i])
		}
	}
	if len(have) != len(lines) {
		t.Fatal("docs/schemas.md is stale (go generate ./docs/internal/schemas)")
	}
	for name := range parts {
		if !strings.Contains(want, "<!-- schemas "+name+" -->") {
			t.Errorf("docs/schemas.md has no place for the part %q", name)
		}
	}
}

// TestFill: a part of another name is an error.
func TestFill(t *testing.T) {
	if _, err := fill("<!-- schemas other -->\n<!-- end schemas -->"); err == nil {
		t.Error("an unknown part is no error")
	}
}

// TestKeywords: the type keywords has each keyword that a tag may have.
func TestKeywords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "tool", "schema_tag.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var accepted []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "tagKeys" && v.Names[0].Name != "tagFlags" {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			key, err := strconv.Unquote(e.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			accepted = append(accepted, key)
		}
		return false
	})
	if len(accepted) < 18 {
		t.Fatalf("found only %q in schema_tag.go", accepted)
	}
	var shown []string
	for f := range reflect.TypeFor[keywords]().Fields() {
		for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
			key, _, _ := strings.Cut(part, "=")
			shown = append(shown, key)
		}
	}
	for _, key := range accepted {
		if !slices.Contains(shown, key) {
			t.Errorf("docs/schemas.md does not show the keyword %q", key)
		}
	}
}
