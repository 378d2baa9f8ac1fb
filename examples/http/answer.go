// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
)

// A Header is one header of a response.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Status is how a server answered: what every result begins with.
type Status struct {
	URL        string     `json:"url" jsonschema:"description=What answered\\, after redirects"`
	Status     int        `json:"status"`
	StatusText string     `json:"statusText,omitempty"`
	Redirects  []Redirect `json:"redirects,omitempty" jsonschema:"description=What was asked before"`
	Headers    []Header   `json:"headers,omitempty"`
	LeftOut    int        `json:"headersLeftOut,omitzero" jsonschema:"description=How many of the headers asked for had no room"`
}

// usual are the headers that are shown unless others are asked for.
var usual = []string{"Content-Type", "Content-Length", "Content-Language", "Content-Disposition", "Content-Range", "Last-Modified", "Etag", "Location", "Link", "Retry-After", "Www-Authenticate"}

const (
	maxHeaders = 200 // shown
	maxValue   = 500 // bytes shown of one
)

// status tells how a was answered, with these headers (none: the usual ones;
// "*": all) as far as they have room.
func (f *fetcher) status(a *answer, names []string, room int) Status {
	show := f.policy.secrets.show
	s := Status{
		URL: show(a.url.String(), max(room/2, 100)), Status: a.StatusCode, StatusText: show(strings.TrimSpace(strings.TrimPrefix(a.Response.Status, strconv.Itoa(a.StatusCode))), 100),
	}
	room -= encoded(s.URL)
	for _, r := range a.redirects {
		if room -= encoded(r.URL) + len(`{"status":301,"url":""},`); room < 0 {
			break
		}
		s.Redirects = append(s.Redirects, r)
	}
	if len(names) == 0 {
		names = usual
	}
	all := slices.Contains(names, "*")
	var keys []string
	for key := range a.Header {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if !all && !slices.ContainsFunc(names, func(n string) bool { return textproto.CanonicalMIMEHeaderKey(n) == key }) {
			continue
		}
		for _, value := range a.Header[key] {
			if key == "Set-Cookie" {
				pair, _, _ := strings.Cut(value, ";")
				name, _, ok := strings.Cut(pair, "=")
				if value = hidden; ok { // it may let somebody in
					value = name + "=" + hidden
				}
			}
			h := Header{strings.ToLower(show(key, 100)), show(value, maxValue)}
			size := encoded(h.Name) + encoded(h.Value) + len(`{"name":"","value":""},`)
			if size > room || len(s.Headers) >= maxHeaders {
				s.LeftOut++
				continue
			}
			room -= size
			s.Headers = append(s.Headers, h)
		}
	}
	return s
}

// line is the first line of a text form.
func (s *Status) line() string {
	return strings.TrimSpace(strconv.Itoa(s.Status)+" "+s.StatusText) + " " + s.URL
}

// lines are the others that tell of s.
func (s *Status) lines(b *strings.Builder) {
	for _, r := range s.Redirects {
		fmt.Fprintf(b, "Redirected by %s (%d).\n", r.URL, r.Status)
	}
	for _, h := range s.Headers {
		fmt.Fprintf(b, "%s: %s\n", h.Name, h.Value)
	}
	if s.LeftOut > 0 {
		fmt.Fprintf(b, "%d further headers had no room; ask for some by name.\n", s.LeftOut)
	}
}

// tag identifies the version of what was answered: the ETag or the time of the
// last change as they came, or something made from it where that is long; ""
// where the server tells neither.
func (f *fetcher) tag(h http.Header) string {
	tag := cmp.Or(h.Get("Etag"), h.Get("Last-Modified"))
	if len(tag) > 80 || f.policy.secrets.has(tag) || strings.ToValidUTF8(tag, "") != tag {
		sum := sha256.Sum256([]byte(tag))
		return "#" + hex.EncodeToString(sum[:12])
	}
	return tag
}

// ifRange tells whether tag can stand in the header If-Range.
func ifRange(tag string) bool {
	return tag != "" && !strings.HasPrefix(tag, "#") && !strings.HasPrefix(tag, "W/")
}

// contentRange reads the header of a part: where it begins and ends, and the
// size of the whole, which is -1 where it is not told.
func contentRange(s string) (start, end, size int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, whole, ok2 := strings.Cut(s, "/")
	first, last, ok3 := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	if !ok || !ok2 || !ok3 || err != nil || err2 != nil {
		return 0, 0, 0, false
	}
	size, err = strconv.ParseInt(whole, 10, 64)
	if err != nil {
		size = -1
	}
	return start, end + 1, size, true
}

// number writes n with commas.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func textResult(text string, structured any) result.Result {
	return result.Result{Content: []result.Content{result.TextContent{Text: text}}, Structured: structured}
}
