// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxItem  = 1 << 20 // bytes of one item, before a page shortens it
	maxDepth = 1000
	maxNames = 12
)

// errEnough ends a walk before the end of its document.
var errEnough = errors.New("enough was read")

// A walk reads a JSON document as it comes, and no further than to what is
// wanted: the items of a list, and what tells of the next page.
type walk struct {
	dec     *jsontext.Decoder
	secrets secrets
	items   []string // where the list is
	next    []string // where the next page is told, if wantNext
	want    *selector
	skip    int64 // items that were seen before
	item    func(jsontext.Value) bool

	wantNext bool
	hasNext  bool
	token    string // what next leads to; "" where it tells that there is none
	oddNext  string // what next leads to, where that is neither

	found    bool  // the list, or the one value in its place
	list     bool  // it is a list
	n        int64 // items that were read, with those skipped
	full     bool  // the item with number n was not taken
	trailing bool  // the document has something after the list
	buf      []byte
	over     bool     // the item is larger than maxItem
	odd      int      // names that held a secret
	names    []string // of members of items: some that there are, where not all are wanted
}

// newWalk reads from r. Lone surrogates and invalid UTF-8 become U+FFFD. The
// names of an object are remembered only where it is copied: they may be many.
func newWalk(r io.Reader) *walk {
	return &walk{dec: jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)), want: new(selector)}
}

// document walks a document. Where that is one item, others may follow it: not
// all that have lines of JSON say so.
func (w *walk) document() error {
	err := w.value(w.items, true, w.next, w.wantNext)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if len(w.items) > 0 || w.full || w.ended() {
		return nil
	}
	if w.list || w.dec.PeekKind() == 0 || w.lines() != nil {
		w.trailing = true
	}
	return nil
}

// ended tells whether nothing follows.
func (w *walk) ended() bool {
	if w.dec.PeekKind() != 0 {
		return false
	}
	_, err := w.dec.ReadToken()
	return errors.Is(err, io.EOF)
}

// lines walks documents that follow each other: each is an item.
func (w *walk) lines() error {
	w.found, w.list = true, true
	for {
		if w.dec.PeekKind() == 0 {
			if _, err := w.dec.ReadToken(); err != io.EOF {
				return err
			}
			return nil
		}
		if err := w.element(); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
}

// value walks a value. items and next are what is left of their paths, if the
// value is on them.
func (w *walk) value(items []string, onItems bool, next []string, onNext bool) error {
	kind := w.dec.PeekKind()
	switch {
	case onItems && w.found: // in an object that has the name twice
		return w.dec.SkipValue()
	case onItems && len(items) == 0:
		if err := w.elements(); err != nil {
			return err
		}
		return w.enough()
	case onNext && len(next) == 0:
		w.hasNext = true
		if kind == '{' || kind == '[' {
			w.oddNext = map[jsontext.Kind]string{'{': "an object", '[': "a list"}[kind]
			if err := w.dec.SkipValue(); err != nil {
				return err
			}
			return w.enough()
		}
		tok, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		switch kind {
		case '"', '0':
			if w.token = tok.String(); w.token == "0" { // of a cursor: that is the end
				w.token = ""
			}
		case 't':
			w.oddNext = "true"
		}
		return w.enough()
	case kind != '{' && kind != '[':
		return w.dec.SkipValue()
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; w.dec.PeekKind() != kind+2; i++ { // } and ] are two after { and [
		name := strconv.Itoa(i)
		if kind == '{' {
			tok, err := w.dec.ReadToken()
			if err != nil {
				return err
			}
			name = tok.String()
		}
		itemsHere, nextHere := onItems && items[0] == name, onNext && next[0] == name
		var err error
		if itemsHere || nextHere {
			err = w.value(rest(items, itemsHere), itemsHere, rest(next, nextHere), nextHere)
		} else {
			err = w.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func rest(path []string, on bool) []string {
	if !on {
		return nil
	}
	return path[1:]
}

// enough ends the walk when nothing more is wanted.
func (w *walk) enough() error {
	if w.full || w.found && (w.hasNext || !w.wantNext) {
		return errEnough
	}
	return nil
}

// elements walks the list, or the one value in its place.
func (w *walk) elements() error {
	w.found = true
	if w.dec.PeekKind() != '[' {
		return w.element()
	}
	w.list = true
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := w.element(); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// element gives one element to item, unless it was seen before.
func (w *walk) element() error {
	if w.n < w.skip {
		w.n++
		return w.dec.SkipValue()
	}
	w.buf, w.over = w.buf[:0], false
	if err := w.copy(w.want); err != nil {
		return err
	}
	v := jsontext.Value(w.buf)
	if w.over {
		v, _ = jsontext.AppendQuote(nil, fmt.Sprintf("[an item of more than %d bytes: name fields of it, or a pointer into it]", maxItem))
	}
	if !w.item(v) {
		w.full = true
		return errEnough
	}
	w.n++
	return nil
}

// copy copies what is wanted of a value to buf. Past maxItem it reads on
// without copying.
func (w *walk) copy(want *selector) error {
	want.met = true
	if len(w.buf) > maxItem {
		w.over = true
	}
	if w.over {
		return w.dec.SkipValue()
	}
	kind := w.dec.PeekKind()
	switch kind {
	case '{', '[':
	case '"':
		tok, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		w.quote(w.secrets.hide(tok.String()))
		return nil
	default:
		v, err := w.dec.ReadValue()
		if kind == '0' && w.secrets.has(string(v)) {
			w.quote(hidden)
			return err
		}
		w.buf = append(w.buf, v...)
		return err
	}
	if w.dec.StackDepth() > maxDepth {
		return fmt.Errorf("the document is nested more than %d deep: read it with fetch", maxDepth)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	w.buf = append(w.buf, byte(kind))
	first := true
	var seen map[string]bool
	for w.dec.PeekKind() != kind+2 {
		inner := want
		var name string
		if kind == '{' {
			tok, err := w.dec.ReadToken()
			if err != nil {
				return err
			}
			name = tok.String()
			if !w.over && seen[name] {
				return fmt.Errorf("the document has an object with two members of the name %q: read it with fetch", cut(w.secrets.hide(name), 100))
			}
			if inner = want.member(name); inner == nil {
				if want == w.want && len(w.names) < maxNames && len(name) < 40 && !slices.Contains(w.names, name) {
					w.names = append(w.names, w.secrets.hide(name))
				}
				if err := w.dec.SkipValue(); err != nil {
					return err
				}
				continue
			}
		}
		if !first {
			w.buf = append(w.buf, ',')
		}
		first = false
		if kind == '{' {
			if seen == nil {
				seen = make(map[string]bool)
			}
			if !w.over {
				seen[name] = true
			}
			if safe := w.secrets.hide(name); safe != name {
				w.odd++ // two of them must not become the same
				name = safe + strconv.Itoa(w.odd)
			}
			w.quote(name)
			w.buf = append(w.buf, ':')
		}
		if err := w.copy(inner); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	w.buf = append(w.buf, byte(kind)+2)
	return err
}

func (w *walk) quote(s string) {
	if len(s) > maxItem {
		w.over = true
		return
	}
	w.buf, _ = jsontext.AppendQuote(w.buf, s)
}
