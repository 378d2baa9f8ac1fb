// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// parts makes each part of the document.
var parts = map[string]func() (string, error){
	"kinds":     fields[kinds],
	"forms":     fields[forms],
	"presence":  fields[presence],
	"keywords":  fields[keywords],
	"syntax":    fields[syntax],
	"none":      whole[noFields],
	"search":    whole[searchInput],
	"node":      whole[node],
	"page":      func() (string, error) { return pretty(tool.PageSchema[match, struct{}]()) },
	"sum":       results,
	"open":      open,
	"arguments": arguments,
	"refused":   refused,
	"lint":      func() (string, error) { return printed("bad.txt") },
	"diff":      func() (string, error) { return printed("changed.txt") },
}

// printed is a file of the script that tests weir schema.
func printed(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "cmd", "weir", "testdata", "script", "schema.txtar"))
	if err != nil {
		return "", err
	}
	_, file, ok := strings.Cut(string(text), "\n-- "+name+" --\n")
	if !ok {
		return "", fmt.Errorf("the script has no file %s", name)
	}
	file, _, _ = strings.Cut(file, "\n-- ")
	return "```\n" + file + "\n```\n", nil
}

// code is text as code in the cell of a table.
func code(s string) string {
	fence := "`"
	if strings.Contains(s, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}

// fields is a table of the fields of T and their schemas.
func fields[T any]() (string, error) {
	text, err := tool.SchemaOf[T]()
	if err != nil {
		return "", err
	}
	var s struct {
		Properties map[string]jsontext.Value `json:"properties"`
		Required   []string                  `json:"required"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| field | schema | required |\n| --- | --- | --- |\n")
	for f := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		schema, required := "no property", ""
		if p, ok := s.Properties[name]; ok {
			schema = code(string(p))
			if slices.Contains(s.Required, name) {
				required = "yes"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(declaration(f)), schema, required)
	}
	return b.String(), nil
}

// declaration is a field as it stands in Go, without the parts of its tag that
// only name it.
func declaration(f reflect.StructField) string {
	typ := strings.ReplaceAll(strings.ReplaceAll(f.Type.String(), "main.", ""), "interface {}", "any")
	typ = strings.ReplaceAll(typ, "]uint8", "]byte")
	tag := string(f.Tag)
	if j := f.Tag.Get("json"); strings.EqualFold(j, f.Name) && f.Tag.Get("jsonschema") != "" {
		tag = strings.TrimSpace(strings.TrimPrefix(tag, `json:"`+j+`"`))
	}
	text := f.Name + " " + typ
	if tag != "" {
		text += " `" + tag + "`"
	}
	return text
}

// whole is the schema of T.
func whole[T any]() (string, error) {
	text, err := tool.SchemaOf[T]()
	if err != nil {
		return "", err
	}
	return pretty(text)
}

func pretty(text jsontext.Value) (string, error) {
	text = slices.Clone(text)
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", err
	}
	return "```json\n" + string(text) + "\n```\n", nil
}

// results is the output schema of a handler that returns a sum.
func results() (string, error) {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "add"}, func(ctx context.Context, in noFields) (sum, error) { return sum{}, nil })
	return member(&tools, "outputSchema")
}

// open is the input schema of a tool that lets unknown arguments through.
func open() (string, error) {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "find", AllowUnknown: true}, func(ctx context.Context, in Range) (string, error) { return "", nil })
	return member(&tools, "inputSchema")
}

func member(tools *tool.Registry, name string) (string, error) {
	var definition map[string]jsontext.Value
	if err := json.Unmarshal(tools.Tools()[0].Definition("2025-11-25"), &definition); err != nil {
		return "", err
	}
	return pretty(definition[name])
}

// call shows what a tool with the arguments T gets of some, or what the caller
// is told.
func call[T any](b *strings.Builder, info tool.Info, args ...string) error {
	info.Name = "t"
	var tools tool.Registry
	var got T
	tool.AddFunc(&tools, info, func(ctx context.Context, in T) (string, error) {
		got = in
		return "", nil
	})
	t := reflect.TypeFor[T]()
	var field []string
	for f := range t.Fields() {
		field = append(field, declaration(f))
	}
	what := code(strings.Join(field, "; "))
	switch {
	case info.AcceptText:
		what += ", `AcceptText`"
	case info.AllowUnknown:
		what += ", `AllowUnknown`"
	}
	for _, a := range args {
		res, err := tools.Call(context.Background(), "t", a)
		if err != nil {
			return err
		}
		seen := code(strings.TrimPrefix(show(reflect.ValueOf(got)), "main."))
		if res.IsError {
			text := res.Content[0].(result.TextContent).Text
			_, problems, _ := strings.Cut(text, "\n- ")
			seen = "refused: " + code(strings.ReplaceAll(problems, "\n- ", "; "))
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", what, code(a), seen)
	}
	return nil
}

// show writes a struct as its fields.
func show(v reflect.Value) string {
	var parts []string
	for f, value := range v.Fields() {
		text := fmt.Sprintf("%v", value)
		switch value.Kind() {
		case reflect.Pointer:
			text = "nil"
			if !value.IsNil() {
				text = fmt.Sprintf("&%q", value.Elem())
			}
		case reflect.String:
			text = fmt.Sprintf("%q", value)
		case reflect.Slice:
			text = fmt.Sprintf("%#v", value)
			if value.Type() == reflect.TypeFor[[]byte]() {
				text = fmt.Sprintf("[]byte(%q)", value)
			}
		case reflect.Float64:
			text = fmt.Sprintf("%g", value.Float())
		}
		parts = append(parts, f.Name+" = "+text)
	}
	return strings.Join(parts, ", ")
}

// arguments is a table of what becomes of arguments.
func arguments() (string, error) {
	var b strings.Builder
	b.WriteString("| arguments of type | given | the handler gets |\n| --- | --- | --- |\n")
	none := tool.Info{}
	for _, err := range []error{
		call[struct{ N int }](&b, none, `{"N":9007199254740993}`, `{"N":1.0}`, `{"N":1e3}`, `{"N":1.5}`, `{"N":"5"}`, `{"N":null}`, `{}`),
		call[struct{ B int8 }](&b, none, `{"B":300}`),
		call[struct{ U uint64 }](&b, none, `{"U":18446744073709551615}`, `{"U":18446744073709551616}`),
		call[struct{ F float64 }](&b, none, `{"F":0.1}`, `{"F":1e400}`),
		call[struct{ J json64 }](&b, none, `{"J":0.10}`),
		call[struct {
			S int64 `json:",string"`
		}](&b, none, `{"S":"9007199254740993"}`, `{"S":9007199254740993}`),
		call[struct {
			O string `json:",omitempty"`
		}](&b, none, `{"O":null}`, `{"O":""}`, `{}`),
		call[struct{ P *string }](&b, none, `{"P":null}`, `{"P":""}`),
		call[struct {
			D string `jsonschema:"default=."`
		}](&b, none, `{}`, `{"D":null}`, `{"D":""}`),
		call[struct{ L []string }](&b, none, `{"L":[]}`, `{"L":null}`, `{"L":"[]"}`),
		call[struct{ L []string }](&b, tool.Info{AcceptText: true}, `{"L":"[\"a\"]"}`),
		call[struct{ W time.Duration }](&b, none, `{"W":"1m30s"}`, `{"W":90}`),
		call[struct{ T time.Time }](&b, none, `{"T":"2026-07-28T12:00:00Z"}`, `{"T":"2026-07-28"}`),
		call[struct{ B []byte }](&b, none, `{"B":"aGk="}`, `{"B":"hi!"}`),
		call[struct{ A netip.Addr }](&b, none, `{"A":"10.0.0.1"}`, `{"A":"10.0.0"}`),
		call[struct {
			E string `jsonschema:"enum=asc,enum=desc"`
		}](&b, none, `{"E":"descending"}`),
		call[struct{ Name string }](&b, none, `{"name":"a"}`, `{"Name":"a","Name":"b"}`),
		call[struct{ Name string }](&b, tool.Info{AllowUnknown: true}, `{"Name":"a","more":1}`),
	} {
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// refused is a table of what has no schema.
func refused() (string, error) {
	var b strings.Builder
	b.WriteString("| field | error |\n| --- | --- |\n")
	for _, err := range []error{
		refuse[struct{ C chan int }](&b),
		refuse[struct{ F func() }](&b),
		refuse[struct{ E error }](&b),
		refuse[struct{ C complex128 }](&b),
		refuse[struct{ M map[float64]int }](&b),
		refuse[struct{ M secret }](&b),
		refuse[struct {
			S string `jsonschema:"descriptoin=x"`
		}](&b),
		refuse[struct {
			S string `jsonschema:"required,default=x"`
		}](&b),
		refuse[struct {
			S string `jsonschema:"minimum=1"`
		}](&b),
		refuse[struct {
			S string `jsonschema:"pattern=(?=x)"`
		}](&b),
		refuse[struct {
			N int `jsonschema:"minimum=x"`
		}](&b),
		refuse[struct {
			S string `jsonschema:"enum=a,b"`
		}](&b),
		refuse[struct {
			S string `jsonschema_extras:"a=b"`
		}](&b),
	} {
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func refuse[T any](b *strings.Builder) error {
	_, err := tool.SchemaOf[T]()
	if err == nil {
		return fmt.Errorf("%s has a schema", reflect.TypeFor[T]())
	}
	_, text, _ := strings.Cut(err.Error(), ": ")
	_, text, _ = strings.Cut(text, "}: ") // of the type
	fmt.Fprintf(b, "| %s | %s |\n", code(declaration(reflect.TypeFor[T]().Field(0))), code(strings.ReplaceAll(text, "main.", "")))
	return nil
}
