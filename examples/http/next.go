// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
)

// A spot is where fetch_json goes on: at an item of a page of an API.
type spot struct {
	URI   string `json:"u,omitempty"` // path and query of the page, at the host of the call's URL
	Token string `json:"t,omitempty"` // or the token of the page
	Key   string `json:"k,omitempty"` // or the key of one of them in places
	Skip  int64  `json:"n,omitzero"`  // items of the page that were seen
	Trail trail  `json:"c,omitzero"`
}

// A trail finds pages that go in a circle, however many there are in it, by
// what it knows of one of them (Brent's algorithm).
type trail struct {
	Mark  string `json:"m,omitempty"` // of that page
	Steps int    `json:"s,omitzero"`  // since then
	Power int    `json:"p,omitzero"`  // how many steps until another one is marked
}

// step goes on to a page, and tells whether it was there before.
func (t trail) step(from, to spot) (next trail, circle bool) {
	if t.Power == 0 {
		t = trail{Mark: from.mark(), Power: 1}
	}
	if to.mark() == t.Mark {
		return t, true
	}
	if t.Steps++; t.Steps == t.Power {
		t = trail{Mark: to.mark(), Power: 2 * t.Power}
	}
	return t, false
}

func (s spot) mark() string {
	sum := sha256.Sum256([]byte(s.URI + "\x00" + s.Token))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

const (
	maxPlace  = 200  // bytes of a URI or a token in a cursor
	maxPlaces = 1000 // kept in memory
)

// places keeps what does not fit a cursor, or must not stand in one: the oldest
// make room for new ones.
type places struct {
	mu    sync.Mutex // guards byKey and keys
	byKey map[string]spot
	keys  []string // the oldest first
}

func (p *places) put(s spot) string {
	key := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = make(map[string]spot)
	}
	p.byKey[key] = s
	p.keys = append(p.keys, key)
	if len(p.keys) > maxPlaces {
		delete(p.byKey, p.keys[0])
		p.keys = p.keys[1:]
	}
	return key
}

func (p *places) get(key string) (spot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.byKey[key]
	return s, ok
}

// seal makes of s what may stand in a cursor.
func (f *fetcher) seal(s spot) spot {
	if has := f.policy.secrets.has; len(s.URI)+len(s.Token) <= maxPlace && !has(s.URI) && !has(s.Token) {
		return s
	}
	return spot{Key: f.places.put(spot{URI: s.URI, Token: s.Token}), Skip: s.Skip, Trail: s.Trail}
}

// open is the reverse of seal.
func (f *fetcher) open(s spot) (spot, error) {
	if s.Key == "" {
		return s, nil
	}
	kept, ok := f.places.get(s.Key)
	if !ok {
		return s, errors.New("cursor: the place in the API's list was kept in memory and is gone; start again without cursor")
	}
	kept.Skip, kept.Trail = s.Skip, s.Trail
	return kept, nil
}

// linkNext is the target of the link with rel=next in headers Link (RFC 8288),
// or "".
func linkNext(headers []string) string {
	for _, s := range headers {
		for s != "" {
			_, after, ok := strings.Cut(s, "<")
			if !ok {
				break
			}
			target, params, ok := strings.Cut(after, ">")
			if !ok {
				break
			}
			var next bool
			next, s = relNext(params)
			if next {
				return target
			}
		}
	}
	return ""
}

// relNext reads the parameters of a link, tells whether rel has next among its
// words, and returns what follows the link.
func relNext(s string) (next bool, after string) {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == ',' {
			return next, strings.TrimPrefix(s, ",")
		}
		s = strings.TrimLeft(s, "; \t")
		end := strings.IndexAny(s, "=;,")
		if end < 0 || s[end] != '=' {
			if end < 0 {
				return next, ""
			}
			s = s[end:]
			continue
		}
		name := strings.TrimSpace(s[:end])
		s = strings.TrimLeft(s[end+1:], " \t")
		var value string
		if strings.HasPrefix(s, `"`) {
			i := 1
			for i < len(s) && s[i] != '"' {
				if s[i] == '\\' {
					i++
				}
				i++
			}
			value, s = s[1:min(i, len(s))], s[min(i+1, len(s)):]
		} else {
			end := strings.IndexAny(s, ";,")
			if end < 0 {
				end = len(s)
			}
			value, s = strings.TrimSpace(s[:end]), s[end:]
		}
		if strings.EqualFold(name, "rel") {
			for word := range strings.FieldsSeq(value) {
				next = next || strings.EqualFold(word, "next")
			}
		}
	}
}

// spotOf makes a spot of where an API says that its next page is: it has to be
// at the host that the call asked, and is asked for by the same scheme. (APIs
// behind a proxy that does their TLS often write http.)
func (f *fetcher) spotOf(asked *url.URL, a *answer, target string) (spot, error) {
	u, err := f.policy.check(target, a.url)
	if err != nil {
		return spot{}, fmt.Errorf("the API's next page is not followed: %w", err)
	}
	if u.Host != asked.Host {
		return spot{}, elsewhere(u)
	}
	query := u.RawQuery
	if h := f.policy.host(u); h != nil {
		for _, c := range h.Credentials {
			if c.Query != "" { // it is added to each request
				query = withoutParam(query, c.Query)
			}
		}
	}
	u.RawQuery = query
	return spot{URI: u.RequestURI()}, nil
}

// elsewhere says that a page of a list is at another host than the list.
func elsewhere(u *url.URL) error {
	return fmt.Errorf("the API's next page is at another host, %s, and is not followed; ask for it by its own URL", cut(u.Scheme+"://"+u.Host, 60))
}

// param adds a parameter to a query that does not have it.
func param(u *url.URL, name, value string) {
	if !u.Query().Has(name) {
		u.RawQuery = withParam(u.RawQuery, name, value)
	}
}

// withParam sets a parameter of a query, and leaves the others as they stand.
func withParam(query, name, value string) string {
	if query = withoutParam(query, name); query != "" {
		query += "&"
	}
	return query + url.QueryEscape(name) + "=" + url.QueryEscape(value)
}

func withoutParam(query, name string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(key); part != "" && (err != nil || plain != name) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}
