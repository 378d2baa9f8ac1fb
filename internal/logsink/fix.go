// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package logsink

import (
	"fmt"
	"log/slog"
	"reflect"
	"unicode/utf8"
)

// maxText bounds one text in bytes. A stack is the longest that a server logs.
const maxText = 16 << 10

// errPanicked is a handler's panic as an error.
type errPanicked struct{ value any }

func (e errPanicked) Error() string { return fmt.Sprint("logsink: the handler panicked: ", e.value) }

// deliver hands e over. A panic costs the record, not the process.
func deliver(e entry) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errPanicked{v}
		}
	}()
	if !e.to.Enabled(e.ctx, e.record.Level) {
		return nil // Enabled of ours is a little laxer
	}
	return e.to.Handle(e.ctx, e.record)
}

// fix returns a in a form that nobody else can change, and about how many bytes it takes.
func fix(a slog.Attr) (slog.Attr, int) {
	size := len(a.Key) + 8
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(cut(v.String()))
		size += len(a.Value.String())
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, member := range v.Group() {
			var n int
			group[i], n = fix(member)
			size += n
		}
		a.Value = slog.GroupValue(group...)
	case slog.KindAny:
		switch x := v.Any().(type) {
		case nil, *slog.Source, slog.Level:
			a.Value = v
		default:
			a.Value = slog.StringValue(cut(text(x)))
			size += len(a.Value.String())
		}
	default:
		a.Value = v
	}
	return a, size
}

// text is x as a text handler of slog would write it.
func text(x any) string {
	if v := reflect.ValueOf(x); v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return string(v.Bytes()) // also json.RawMessage
	}
	if _, ok := x.(error); ok {
		return fmt.Sprint(x) // which survives an error that panics
	}
	return fmt.Sprintf("%+v", x)
}

// cut shortens s to maxText bytes, at a character's border, and says so.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > maxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:n], len(s)-n)
}
