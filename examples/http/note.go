// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

// noted is the page with its note, in the first lines of the text as well. Where
// a list is unended it does not say that there are no more.
func (l *list) noted(ctx context.Context) (result.Result, error) {
	if l.summary.Note == "" {
		l.note(l.unmet())
	}
	res := l.page.Result()
	if l.page.Err() != nil || res.IsError {
		return res, nil
	}
	text, ok := res.Content[0].(result.TextContent)
	if note := l.summary.Note; note != "" && ok {
		first, rest, lines := strings.Cut(text.Text, "\n")
		if l.unended {
			first = strings.TrimSuffix(first, " There are no more.")
		}
		if first += " Note: " + note + "."; lines {
			first += "\n" + rest
		}
		if encoded(first) <= l.page.Budget.Bytes { // without a cursor there is its room
			text.Text = first
			res.Content[0] = text
		}
	}
	if l.unended {
		data, err := result.Marshal(ctx, res.Structured, l.page.Budget.Bytes)
		if err != nil {
			return res, err
		}
		res.Structured = jsontext.Value(bytes.Replace(data, []byte(`{"truncated":false`), []byte(`{"truncated":true`), 1))
	}
	return res, nil
}

// note sets the note, as far as it has room.
func (l *list) note(s string) {
	s = l.policy.secrets.show(clean(s), maxNote)
	for n := len(s); encoded(s) > l.noteRoom(); n -= 8 {
		s = cut(s, n)
	}
	l.summary.Note = s
}

func (l *list) noteRoom() int { return min(maxNote, l.page.Budget.Bytes/8) }

// unmet tells of fields that no item has.
func (l *list) unmet() string {
	unmet := l.want.unmet()
	if l.page.Len() == 0 || len(l.in.Fields) == 0 || len(unmet) == 0 {
		return ""
	}
	s := "no item here has " + strings.Join(unmet, ", ")
	if len(l.names) > 0 {
		s += "; there are " + strings.Join(l.names, ", ")
	}
	return s
}
