// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// aliases are the types whose documentation stands here alone: what they are
// aliases of is internal, and nobody's manual shows it.
var aliases = map[string]reflect.Type{
	"Result":          reflect.TypeFor[Result](),
	"Progress":        reflect.TypeFor[Progress](),
	"Request":         reflect.TypeFor[Request](),
	"Pending":         reflect.TypeFor[Pending](),
	"Error":           reflect.TypeFor[Error](),
	"OversizeError":   reflect.TypeFor[OversizeError](),
	"NoResponseError": reflect.TypeFor[NoResponseError](),
	"Frame":           reflect.TypeFor[Frame](),
	"Pace":            reflect.TypeFor[Pace](),
	"Metrics":         reflect.TypeFor[Metrics](),
	"Overload":        reflect.TypeFor[Overload](),
}

// TestContracts: every exported name says what it does, the comment of an alias
// names every field and method, and every field of Config ends with what false,
// nil, zero or empty means.
func TestContracts(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 2 {
		t.Fatal(names, err)
	}
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				documented(t, d.Name, d.Doc)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						doc := s.Doc
						if doc == nil {
							doc = d.Doc
						}
						documented(t, s.Name, doc)
						if s.Assign != token.NoPos {
							namesAll(t, s.Name.Name, doc.Text())
						}
						if st, ok := s.Type.(*ast.StructType); ok && s.Name.Name == "Config" {
							zeroMeans(t, st)
						}
					case *ast.ValueSpec:
						documented(t, s.Names[0], s.Doc)
					}
				}
			}
		}
	}
}

func documented(t *testing.T, name *ast.Ident, doc *ast.CommentGroup) {
	if name.IsExported() && doc.Text() == "" {
		t.Errorf("%s has no comment", name.Name)
	}
}

func namesAll(t *testing.T, name, doc string) {
	typ := aliases[name]
	if typ == nil {
		t.Errorf("%s is an alias that this test does not know", name)
		return
	}
	var want []string
	if typ.Kind() == reflect.Struct {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				want = append(want, `\b`+f.Name+`\b`)
			}
		}
	}
	for i := range reflect.PointerTo(typ).NumMethod() {
		want = append(want, `\b`+reflect.PointerTo(typ).Method(i).Name+`\(`)
	}
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(doc) {
			t.Errorf("the comment of %s does not say what %s is", name, strings.Trim(w, `\b(`))
		}
	}
}

var zero = regexp.MustCompile(`\b(Zero|Nil|Empty|False) means\b`)

func zeroMeans(t *testing.T, st *ast.StructType) {
	for _, f := range st.Fields.List {
		if !zero.MatchString(strings.ReplaceAll(f.Doc.Text(), "\n", " ")) {
			t.Errorf("Config.%s does not say what its zero value means", f.Names[0].Name)
		}
	}
}
