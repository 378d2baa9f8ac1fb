// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package toollist reads the answers to tools/list, and writes them in one form
// that is the same each time, for version control.
package toollist

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/document"
)

// A List is the tools of one server, sorted by their names. Most are
// [document.Object]; what else a server listed is kept for those who report it.
type List struct{ Tools []any }

// Parse reads a list: the result of tools/list, or a response with it, or
// several of either one after the other, as pages come. Whatever else stands in
// a result is left out, since it is of the page or the session and not of the
// tools.
func Parse(text []byte) (*List, error) {
	l := &List{Tools: []any{}}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	for n := 0; ; n++ {
		v, err := document.Next(d)
		switch {
		case err == io.EOF && n == 0:
			return nil, errors.New("it is empty")
		case err == io.EOF:
			l.sort()
			return l, nil
		case err != nil:
			return nil, fmt.Errorf("it is no JSON: %w", err)
		}
		if err := l.add(v); err != nil {
			return nil, err
		}
	}
}

func (l *List) add(v any) error {
	root, ok := v.(document.Object)
	if inner, has := root["result"].(document.Object); has {
		root = inner
	}
	tools, isList := root["tools"].([]any)
	switch {
	case !ok:
		return fmt.Errorf("it is %s, and no object with the member tools", document.Show(v))
	case !isList:
		return fmt.Errorf("its member tools is %s and has to be an array", document.Show(root["tools"]))
	}
	l.Tools = append(l.Tools, tools...)
	return nil
}

// sort orders the tools by name, and those of one name by their text.
func (l *List) sort() {
	slices.SortStableFunc(l.Tools, func(a, b any) int {
		return cmp.Or(cmp.Compare(Name(a), Name(b)), bytes.Compare(document.Append(nil, a), document.Append(nil, b)))
	})
}

// Name is the name of a tool, empty when it has none.
func Name(tool any) string {
	t, _ := tool.(document.Object)
	name, _ := t["name"].(string)
	return name
}
