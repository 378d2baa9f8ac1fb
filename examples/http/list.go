// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/transform"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// ListInput are the arguments of fetch_json.
type ListInput struct {
	URL     string   `json:"url" jsonschema:"description=Where to ask\\, with https:// or http://,maxLength=4096"`
	Pointer string   `json:"pointer,omitempty" jsonschema:"description=JSON Pointer to what is wanted of the document\\, such as /items or /items/0/name. Of a list each element is an item. Leave out for the whole document\\, or where the API is known to have its list.,maxLength=1000"`
	Fields  []string `json:"fields,omitempty" jsonschema:"description=Show only these members of each item\\, as name or user.login or /user/login.,maxItems=100"`
	Limit   int      `json:"limit,omitempty" jsonschema:"description=How many items a page has at most,minimum=1,maximum=1000"`
	tool.PageInput
}

// ListSummary stands beside the items of fetch_json.
type ListSummary struct {
	URL      string `json:"url" jsonschema:"description=What answered last"`
	Status   int    `json:"status"`
	Requests int    `json:"requests" jsonschema:"description=How many pages of the API were asked for"`
	Note     string `json:"note,omitempty" jsonschema:"description=Why nothing more follows\\, where there may be more"`
}

var spots cursor.Codec[spot]

const (
	maxRequests = 10 // pages of an API for one call
	maxNote     = 200
)

// A list is a call of fetch_json.
type list struct {
	*fetcher
	req     *tool.Request
	in      ListInput
	asked   *url.URL
	host    *Host // nil: no settings
	want    *selector
	pointer []string
	page    result.Page[jsontext.Value]
	summary ListSummary
	names   []string // of members that were not asked for
	unended bool     // there may be more, and it cannot be gone on with
}

func (f *fetcher) fetchJSON(ctx context.Context, req *tool.Request, in ListInput) (result.Result, error) {
	l := &list{fetcher: f, req: req, in: in, page: result.Page[jsontext.Value]{Budget: req.Budget(), Noun: "items", Hint: "name fields, or a pointer", Shrink: outline}}
	at, err := l.prepare()
	if err != nil {
		return result.Result{}, err
	}
	outer := ctx
	ctx, stop := f.begin(ctx)
	defer stop()
	err = l.fill(ctx, at)
	if outer.Err() != nil {
		err = context.Cause(outer)
	}
	if err != nil && l.page.Len() == 0 {
		return result.Result{}, err
	}
	if err != nil {
		return l.page.Result(), err
	}
	return l.noted(outer)
}

func (l *list) prepare() (at spot, err error) {
	if at, err = spots.Decode(l.req, l.in.Cursor); err != nil {
		return at, err
	}
	if at, err = l.open(at); err != nil {
		return at, err
	}
	if l.asked, err = l.policy.check(l.in.URL, nil); err != nil {
		return at, err
	}
	if l.want, err = parseFields(l.in.Fields); err != nil {
		return at, err
	}
	l.host = l.policy.host(l.asked)
	pointer := l.in.Pointer
	if pointer == "" {
		pointer = l.api().Items
	}
	if l.pointer, err = parsePointer(pointer); err != nil {
		return at, fmt.Errorf("pointer: %w", err)
	}
	// Room for what is known only at the end.
	l.summary = ListSummary{URL: strings.Repeat("x", min(500, l.page.Budget.Bytes/8)), Status: 200, Requests: 10, Note: strings.Repeat("x", l.noteRoom())}
	l.page.Extra = &l.summary
	return at, nil
}

// api is how the host pages through its lists: by the header Link (RFC 8288)
// where the policy does not know better.
func (l *list) api() *API {
	if l.host == nil || l.host.API == nil {
		return &API{Next: &Next{Link: true}}
	}
	return l.host.API
}

// fill fills the page, from as many pages of the API as that takes.
func (l *list) fill(ctx context.Context, at spot) error {
	l.page.Extra = &l.summary
	first := at == spot{}
	for requests := 1; ; requests++ {
		w, a, err := l.one(ctx, at, requests)
		if w == nil && l.page.Len() > 0 {
			return cmp.Or(l.page.Err(), l.cursor(at), err)
		} else if w == nil {
			return err
		}
		goOn := at
		goOn.Skip = w.n
		switch {
		case err != nil: // what there is stands, and can be gone on with
			if l.page.Len() > 0 {
				return cmp.Or(l.page.Err(), l.cursor(goOn), err)
			}
			return err
		case !w.found && w.skip == 0:
			return fmt.Errorf("pointer: there is nothing at %q in that document%s", cmp.Or(l.in.Pointer, "/"+strings.Join(l.pointer, "/")), l.missing())
		case w.full:
			return cmp.Or(l.page.Err(), l.cursor(goOn))
		case w.trailing:
			l.unended = true
			l.note("more follows in that document, which is not shown here; fetch shows it")
			return nil
		}
		next, err := l.next(w, a, at)
		switch {
		case err != nil:
			l.unended = true
			l.note(err.Error())
			return nil
		case next == nil:
			if first && requests == 1 && w.list {
				l.page.Total(w.n)
			}
			return nil
		case requests < maxRequests && l.page.Len() < max(l.in.Limit, 1):
			at = *next
			continue
		}
		return cmp.Or(l.page.Err(), l.cursor(*next))
	}
}

func (l *list) missing() string {
	if l.in.Pointer == "" {
		return ", where the server's policy says that its list is; give a pointer"
	}
	return "; leave it out to see the document"
}

func (l *list) cursor(s spot) (err error) {
	l.page.NextCursor, err = spots.Encode(l.req, l.seal(s))
	return err
}

// target is the URL of the page of the API at s.
func (l *list) target(s spot) (*url.URL, error) {
	u := *l.asked
	if s.URI != "" {
		at, err := url.Parse(s.URI)
		if err != nil {
			return nil, err
		}
		u.Path, u.RawPath, u.RawQuery = at.Path, at.RawPath, at.RawQuery
	}
	api := l.api()
	if size := api.PageSize; size != nil {
		param(&u, size.Param, fmt.Sprint(min(cmp.Or(l.in.Limit, size.Default), size.Max)))
	}
	if fields := api.Fields; fields != nil && len(l.in.Fields) > 0 {
		var names []string
		for _, f := range l.in.Fields {
			names = append(names, dotted(f))
		}
		param(&u, fields.Param, strings.Join(names, fields.Separator))
	}
	if s.Token != "" {
		q := u.Query()
		q.Set(api.Next.Param, s.Token)
		u.RawQuery = q.Encode()
	}
	return &u, nil
}

// one asks for one page of the API and reads it as far as there is room. The
// walk is nil where there was nothing to read.
func (l *list) one(ctx context.Context, at spot, requests int) (*walk, *answer, error) {
	u, err := l.target(at)
	if err != nil {
		return nil, nil, err
	}
	a, err := l.ask(ctx, http.MethodGet, u.String(), http.Header{"Accept": {"application/json, application/*+json;q=0.9, */*;q=0.1"}, "Accept-Encoding": {encodings}})
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	l.summary = ListSummary{URL: l.policy.secrets.show(a.url.String(), min(500, l.page.Budget.Bytes/8)), Status: a.StatusCode, Requests: requests}
	if at.URI != "" && a.url.Host != l.asked.Host {
		return nil, nil, elsewhere(a.url)
	}
	if a.StatusCode >= 300 {
		return nil, nil, l.refusal(a)
	} else if a.StatusCode == http.StatusPartialContent {
		return nil, nil, fmt.Errorf("%s sent a part of the document, which was not asked for; fetch shows it", l.summary.URL)
	}
	r, lines, err := l.documentOf(a)
	if err != nil {
		return nil, nil, err
	}
	w := newWalk(r)
	w.secrets, w.items, w.want, w.skip = l.policy.secrets, l.pointer, l.want, at.Skip
	if api := l.api(); !api.Next.Link {
		w.wantNext = true
		w.next, _ = parsePointer(api.Next.Pointer)
	}
	w.item = func(v jsontext.Value) bool {
		if l.in.Limit > 0 && l.page.Len() >= l.in.Limit {
			return false
		}
		return l.page.Add(bytes.Clone(v))
	}
	if lines && len(l.pointer) == 0 {
		w.wantNext = false
		err = w.lines()
	} else {
		err = w.document()
	}
	l.names = w.names
	if err == nil {
		return w, a, nil
	}
	if why := a.body.why(a.ContentLength); why != "" {
		return w, a, fmt.Errorf("the document is incomplete: %s", l.policy.secrets.hide(why))
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return w, a, fmt.Errorf("the document is not JSON: %s (fetch shows it as it is)", l.policy.secrets.show(strings.TrimPrefix(err.Error(), "jsontext: "), 300))
	}
	return w, a, err
}

// documentOf is the body of a as UTF-8, if it may be JSON, and whether each of
// its lines is a document.
func (l *list) documentOf(a *answer) (r io.Reader, lines bool, err error) {
	if a.body.unknown {
		return nil, false, fmt.Errorf("the document came compressed with %q, which was not asked for and cannot be read here", a.body.encoding)
	}
	b := bufio.NewReaderSize(a.body, 4<<10)
	start, _ := b.Peek(sniffed)
	contentType := a.Header.Get("Content-Type")
	f := formOf(contentType, start, "")
	switch {
	case f.html || f.binary:
		return nil, false, fmt.Errorf("the answer is no JSON but %s: use fetch", cmp.Or(f.looksLike, f.mediaType))
	case f.charset != "utf-8" && (strings.HasPrefix(f.charset, "utf-16") || strings.Contains(strings.ToLower(contentType), "charset")):
		r = transform.NewReader(newRedactedReader(b, l.policy.secrets), f.encoding.NewDecoder())
	default:
		r = b
	}
	b = bufio.NewReaderSize(r, 4<<10)
	if start, _ := b.Peek(3); string(start) == "\ufeff" {
		b.Discard(3)
	}
	switch f.mediaType {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		lines = true
	}
	return b, lines, nil
}

// refusal is an answer that is no success, with the beginning of what it says.
func (l *list) refusal(a *answer) error {
	var text hiddenText
	r := redactor{secrets: l.policy.secrets, to: &text}
	if !a.body.unknown {
		b, _ := io.ReadAll(io.LimitReader(a.body, 2<<10))
		r.write(b)
		if a.body.ended { // else it may have been cut within a secret
			r.flush()
		}
	}
	says := cut(strings.Join(strings.Fields(clean(text.String())), " "), 1000)
	if says != "" {
		says = ": " + says
	}
	if after := l.policy.secrets.show(a.Header.Get("Retry-After"), 50); after != "" {
		if strings.Trim(after, "0123456789") == "" {
			after += " s"
		}
		says = " (try again after " + after + ")" + says
	}
	return fmt.Errorf("%s answered %s%s", l.summary.URL, l.policy.secrets.show(a.Response.Status, 100), says)
}

// next is the page of the API that follows, or nil.
func (l *list) next(w *walk, a *answer, at spot) (*spot, error) {
	api := l.api()
	target := w.token
	switch {
	case api.Next.Link:
		target = linkNext(a.Header.Values("Link"))
	case w.oddNext != "":
		return nil, fmt.Errorf("%s at %s, where the API's next page is to be told: see the server's policy", w.oddNext, api.Next.Pointer)
	case w.wantNext && !w.hasNext && at == (spot{}):
		l.note("the document has nothing at " + api.Next.Pointer + ", where the server's policy looks for the next page: taken as the last one")
	}
	if target == "" {
		return nil, nil
	}
	next := spot{Token: target}
	if api.Next.Param == "" {
		var err error
		if next, err = l.spotOf(l.asked, a, target); err != nil {
			return nil, err
		}
	}
	if len(next.Token) > maxURL {
		return nil, errors.New("the API's token of its next page is too long")
	}
	from := at
	if at.URI == "" && at.Token == "" && api.Next.Param == "" {
		from.URI = l.asked.RequestURI()
	}
	var circle bool
	if next.Trail, circle = at.Trail.step(from, next); circle {
		return nil, errors.New("the API's next page is one that was here before: its pages go in a circle")
	}
	return &next, nil
}
