// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weir

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestNoOutput holds that library code prints nothing: stdout belongs to the
// protocol, and a log belongs to whoever configures it. Commands (package
// main) and tests may print.
func TestNoOutput(t *testing.T) {
	// Where a standard stream is the subject itself.
	exempt := map[string]string{
		"internal/stdio/": "moves the standard streams",
		"server/log.go":   "os.Stderr is the default log",
	}
	sources(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "lab/") {
			return
		}
		for prefix := range exempt {
			if strings.HasPrefix(path, prefix) {
				return
			}
		}
		for _, what := range prints(t, path, data) {
			t.Error(what)
		}
	}, ".go")
}

// TestNoOutputFinds holds that the check finds what it looks for.
func TestNoOutputFinds(t *testing.T) {
	const bad = `package p
import (
	f "fmt"
	"log"
	"os"
)
func g() { f.Println(1); f.Fprintln(os.Stdout); log.Print(2); println(3); _ = os.Stderr }
`
	if found := prints(t, "bad.go", []byte(bad)); len(found) != 5 {
		t.Errorf("found %q, want 5 lines", found)
	}
	for _, good := range []string{strings.Replace(bad, "package p", "package main", 1), "package p\nvar fmt, os struct{ Print, Stdout int }\nvar _ = fmt.Print + os.Stdout\n"} {
		if found := prints(t, "good.go", []byte(good)); found != nil {
			t.Errorf("found %q in code that may", found)
		}
	}
}

// prints lists what in a file writes to a standard stream.
func prints(t *testing.T, path string, data []byte) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if file.Name.Name == "main" {
		return nil
	}
	report := func(n ast.Node, what string) {
		found = append(found, fset.Position(n.Pos()).String()+": "+what+" in library code")
	}
	names := make(map[string]string) // package paths by their name in this file
	for _, spec := range file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := p[strings.LastIndex(p, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
		if p == "log" {
			report(spec, "package log")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				report(n, "builtin "+id.Name)
			}
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			switch full := names[id.Name] + "." + n.Sel.Name; full {
			case "fmt.Print", "fmt.Printf", "fmt.Println", "os.Stdout", "os.Stderr":
				report(n, full)
			}
		}
		return true
	})
	return found
}
