// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weir

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the code that the documents quote")

// documents calls fn for every document of the tree.
func documents(t *testing.T, fn func(name, text string)) {
	sources(t, func(path string, data []byte) { fn(path, string(data)) }, ".md")
}

// quotation matches a marker and the Go code below it:
//
//	<!-- from FILE -->                      all of the file but its licence
//	<!-- from FILE: func f, type t -->      these declarations, in this order
var (
	quotation = regexp.MustCompile("(?m)^<!-- from ([^\\s:]+)(?:: ([^>]*))? -->\n```go\n((?s:.*?))^```$")
	goBlock   = regexp.MustCompile("(?m)^```go\n")
	// table matches a marker and the table below it, which a test has made.
	table = regexp.MustCompile(`(?m)^<!-- table from (\S+) -->\n((?:\|.*\n)*)`)
)

// TestQuotes holds that the Go code in documents is compiled code, and that
// tables are what a test has made: each says where it comes from and is equal
// to that. With -update it is made equal.
func TestQuotes(t *testing.T) {
	documents(t, func(name, text string) {
		if blocks, quotes := len(goBlock.FindAllString(text, -1)), len(quotation.FindAllString(text, -1)); blocks != quotes {
			t.Errorf("%s has %d blocks of Go code, and %d of them say where they come from", name, blocks, quotes)
		}
		// same compares a group of each match with its source, and copies that.
		same := func(text string, re *regexp.Regexp, group int, source func(m []string) (string, error)) string {
			var out strings.Builder
			last := 0
			for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
				want, err := source(re.FindStringSubmatch(text[at[0]:at[1]]))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				from, to := at[2*group], at[2*group+1]
				if have := text[from:to]; have != want && !*update {
					t.Errorf("%s has what is not in its source (go test -run TestQuotes . -update copies it): %s\nhave:\n%s\nwant:\n%s", name, text[at[0]:from], have, want)
				}
				out.WriteString(text[last:from] + want)
				last = to
			}
			return out.String() + text[last:]
		}
		out := same(text, quotation, 3, func(m []string) (string, error) { return excerpt(m[1], m[2]) })
		out = same(out, table, 2, func(m []string) (string, error) {
			data, err := os.ReadFile(m[1])
			return string(data), err
		})
		if *update && out != text {
			if err := os.WriteFile(name, []byte(out), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
}

// excerpt is the declarations that names lists, as they stand in file.
func excerpt(file, names string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if names == "" {
		_, rest, _ := bytes.Cut(data, []byte("\n\n")) // the licence
		return string(rest), nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var parts []string
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, d := range tree.Decls {
			doc, is := declares(d, name)
			if !is {
				continue
			}
			from := d.Pos()
			if doc != nil {
				from = doc.Pos()
			}
			parts = append(parts, string(data[fset.Position(from).Offset:fset.Position(d.End()).Offset])+"\n")
			found = true
		}
		if !found {
			return "", fmt.Errorf("%s declares no %s", file, name)
		}
	}
	return strings.Join(parts, "\n"), nil
}

// declares tells whether d is what a marker calls name, such as "func f",
// "func t.m" or "type t", and returns its comment.
func declares(d ast.Decl, name string) (*ast.CommentGroup, bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		own := "func " + d.Name.Name
		if d.Recv != nil {
			recv := d.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			if id, ok := recv.(*ast.Ident); ok {
				own = "func " + id.Name + "." + d.Name.Name
			}
		}
		return d.Doc, own == name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if "type "+s.Name.Name == name {
					return d.Doc, true
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if d.Tok.String()+" "+id.Name == name {
						return d.Doc, true
					}
				}
			}
		}
	}
	return nil, false
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z_]\\w*)`")
)

// TestDocumentLinks holds that what a document points to is there: files,
// headings, and the tests that it names.
func TestDocumentLinks(t *testing.T) {
	tests := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (\w+)\(`)
	sources(t, func(path string, data []byte) {
		for _, m := range declared.FindAllSubmatch(data, -1) {
			tests[string(m[1])] = true
		}
	}, "_test.go")
	anchors := make(map[string]map[string]bool)
	documents(t, func(name, text string) {
		anchors[name] = make(map[string]bool)
		for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			anchors[name][slug(m[1])] = true
		}
	})
	documents(t, func(name, text string) {
		text = fenced.ReplaceAllString(text, "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s points to %s, which is not there", name, target)
				}
			}
			if anchor != "" && strings.HasSuffix(file, ".md") && !anchors[file][anchor] {
				t.Errorf("%s points to %s, which has no heading #%s", name, file, anchor)
			}
		}
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if !tests[m[1]] {
				t.Errorf("%s names %s, and there is no such test", name, m[1])
			}
		}
	})
}

// slug is what a heading is called in a link.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, heading)
}

// TestDependencies holds that docs/architecture.md gives a reason for every
// direct dependency.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := strings.Cut(string(text), "## Dependencies\n")
	for _, m := range regexp.MustCompile(`(?m)^\t(?:require )?(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		if !strings.Contains(reasons, m[1]) {
			t.Errorf("docs/architecture.md gives no reason for %s", m[1])
		}
	}
}
