// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/tool"
)

// api is a server of 250 items in pages, which counts what it is asked for and
// what it sends.
type api struct {
	mu    sync.Mutex
	asked []string
	sent  int
	kind  string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	a.asked = append(a.asked, r.URL.RequestURI())
	a.mu.Unlock()
	size, _ := strconv.Atoi(q.Get("per_page"))
	if size == 0 {
		size = 30
	}
	from, _ := strconv.Atoi(q.Get("after"))
	to := min(from+size, 250)
	var b strings.Builder
	for i := from; i < to; i++ {
		item := fmt.Sprintf(`{"id":%d,"name":"item %d","text":%q}`, i, i, strings.Repeat("long ", 100))
		if q.Get("fields") == "id,name" {
			item = fmt.Sprintf(`{"id":%d,"name":"item %d"}`, i, i)
		}
		b.WriteString("," + item)
	}
	items := "[" + strings.TrimPrefix(b.String(), ",") + "]"
	more := to < 250
	w.Header().Set("Content-Type", "application/json")
	next := *r.URL
	q.Set("after", strconv.Itoa(to))
	if a.kind == "long link" {
		q.Set("state", strings.Repeat("s", 600))
	}
	next.RawQuery = q.Encode()
	var body string
	switch {
	case strings.HasSuffix(a.kind, "link"):
		if more {
			w.Header().Add("Link", `</first>; rel="first", <`+next.String()+`>; title="a, \"b\" <c>"; rel="prev next"`)
		}
		body = items
	case a.kind == "token":
		token := "null"
		if more {
			token = fmt.Sprintf("%q", strconv.Itoa(to))
		}
		body = `{"data":{"items":` + items + `},"meta":{"x":[1,2],"next":` + token + `}}`
	case a.kind == "token before":
		token := ""
		if more {
			token = fmt.Sprintf(`"next":%d,`, to)
		}
		body = `{` + token + `"data":{"items":` + items + `}}`
	case a.kind == "url":
		u := `null`
		if more {
			u = fmt.Sprintf("%q", "http://"+r.Host+next.String())
		}
		body = `{"data":{"items":` + items + `},"links":{"next":` + u + `}}`
	}
	n, _ := io.WriteString(w, body)
	a.mu.Lock()
	a.sent += n
	a.mu.Unlock()
}

// Page size, fields and the place of the next page are passed on, in each way
// that APIs have; the union is the list; and nothing is asked for that no page
// needs. Cases 26 and 71.
func TestPassesOn(t *testing.T) {
	for _, tt := range []struct {
		kind string
		next Next
	}{
		{"link", Next{Link: true}}, {"long link", Next{Link: true}}, {"token", Next{Pointer: "/meta/next", Param: "after"}},
		{"token before", Next{Pointer: "/next", Param: "after"}}, {"url", Next{Pointer: "/links/next"}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			a := &api{kind: tt.kind}
			at := web(t, a.ServeHTTP)
			items := "/data/items"
			if strings.HasSuffix(tt.kind, "link") {
				items = ""
			}
			settings := func() *Policy {
				return &Policy{Hosts: []Host{{Host: hostOf(at), API: &API{
					Items: items, PageSize: &PageSize{Param: "per_page", Max: 100}, Fields: &Fields{Param: "fields"}, Next: &tt.next,
				}}}}
			}
			// 40 at a time, with two fields: seven requests, for seven pages.
			got, calls := pages(t, settings(), args{"url": at + "/list?sort=up", "limit": 40, "fields": []string{"id", "/name"}})
			if len(got) != 250 || got[249] != `{"id":249,"name":"item 249"}` || calls != 7 || len(a.asked) != 7 {
				t.Errorf("%d items in %d calls and %d requests", len(got), calls, len(a.asked))
			}
			for _, uri := range a.asked {
				u, _ := url.Parse(uri)
				if q := u.Query(); q.Get("per_page") != "40" || q.Get("fields") != "id,name" || q.Get("sort") != "up" || len(q["per_page"]) != 1 {
					t.Errorf("asked for %s", uri)
				}
			}
			if a.sent > 250*60 {
				t.Errorf("%d bytes were sent", a.sent)
			}
			// One page of at most 10: one request for 10, and no further one.
			a.asked, a.sent = nil, 0
			tl := newTools(ready(t, settings(), nil))
			l, _ := call[listed](t, tl, "fetch_json", args{"url": at, "limit": 10})
			if len(l.Items) != 10 || l.Requests != 1 || len(a.asked) != 1 || !strings.Contains(a.asked[0], "per_page=10") || a.sent > 10*700 {
				t.Errorf("%d items by %v, %d bytes", len(l.Items), a.asked, a.sent)
			}
			// More than the API gives at once.
			a.asked = nil
			l, _ = call[listed](t, tl, "fetch_json", args{"url": at, "limit": 150, "fields": []string{"id", "name"}})
			if len(l.Items) != 150 || len(a.asked) != 2 {
				t.Errorf("%d items by %v", len(l.Items), a.asked)
			}
			// Pages that end within a page of the API: the union is the list.
			got, _ = pages(t, settings(), args{"url": at, "maxBytes": 4096})
			if len(got) != 250 || !strings.HasPrefix(got[100], `{"id":100,`) {
				t.Errorf("%d items", len(got))
			}
		})
	}
}

// The next page is never at another host, nor one that was there before; and a
// list that cannot be gone on with is not called complete.
func TestNextPage(t *testing.T) {
	other := page(t, "application/json", "[7]")
	for link, want := range map[string]string{
		"http://10.0.0.1/next": "not followed", "http://127.0.0.2:%s/next": "another host, http://127.0.0.2:", "http://localhost:%s/next": "another host", "http://bob:pa55word@127.0.0.1:%s/": "password",
		"file:///etc/passwd": "scheme", "/list": "in a circle", other + "/next": "another host", "/away": "another host",
		"https://127.0.0.1:%s/end": "", "/end": "", "end?x=1": "",
	} {
		var port string
		at := web(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Path {
			case "/away":
				http.Redirect(w, r, other, http.StatusFound)
			case "/end":
				io.WriteString(w, "[3]")
			default:
				w.Header().Set("Link", "<"+strings.Replace(link, "%s", port, 1)+">; rel=next")
				io.WriteString(w, "[1,2]")
			}
		})
		_, port, _ = net.SplitHostPort(hostOf(at))
		// A link needs no policy.
		tl := newTools(ready(t, &Policy{Allow: []string{"127.0.0.0/8"}, Hosts: []Host{{Host: hostOf(at), API: &API{Next: &Next{Link: true}}}}}, nil))
		without := newTools(ready(t, &Policy{Allow: []string{"127.0.0.0/8"}, Hosts: []Host{{Host: hostOf(at), API: &API{PageSize: &PageSize{Param: "n"}}}}}, nil))
		unknown := newTools(ready(t, &Policy{Allow: []string{"127.0.0.0/8"}}, nil))
		for i, tl := range []*tool.Registry{tl, without, unknown, tl} {
			size := 32 << 10
			if i == 3 {
				size = 1024
			}
			in := args{"url": at + "/list", "maxBytes": size}
			l, text := call[listed](t, tl, "fetch_json", in)
			if l.NextCursor != "" {
				in["cursor"] = l.NextCursor
				if link == "/away" {
					if text := refused(t, tl, "fetch_json", in); !strings.Contains(text, want) {
						t.Error(text)
					}
					continue
				}
				l, text = call[listed](t, tl, "fetch_json", in)
			}
			if want == "" {
				if l.String() != "3" || l.Truncated || l.Note != "" {
					t.Errorf("%s: %+v\n%s", link, l, text)
				}
				continue
			}
			first, _, _ := strings.Cut(text, "\n")
			if len(l.Items) != 2 || l.NextCursor != "" || !l.Truncated || size > 2000 && !strings.Contains(l.Note, want) || !strings.Contains(first, " Note: the API's next page is") ||
				strings.Contains(text, "no more") || strings.Contains(text, "pa55word") || encoded(text) > size {
				t.Errorf("%s: %+v\n%s", link, l, text)
			}
		}
	}
}

// Tokens that mean the end, that are none, and that go in a circle.
func TestNextToken(t *testing.T) {
	for next, want := range map[string]string{
		`null`: "", `""`: "", `0`: "", `"0"`: "", `false`: "", `true`: "true at /next", `{"a":1}`: "an object at /next", `[1]`: "a list at /next", "": "the document has nothing at /next",
		`"same"`: "in a circle", `"a"`: "in a circle",
	} {
		requests := 0
		at := web(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Content-Type", "application/json")
			token := next
			if next == `"a"` { // six pages in a circle, after five others
				n, _ := strconv.Atoi(r.URL.Query().Get("t"))
				if n++; n > 10 {
					n = 5
				}
				token = fmt.Sprint(n)
			}
			if token != "" {
				token = `,"next":` + token
			}
			io.WriteString(w, `{"items":[1]`+token+`}`)
		})
		tl := newTools(ready(t, &Policy{Hosts: []Host{{Host: hostOf(at), API: &API{Items: "/items", Next: &Next{Pointer: "/next", Param: "t"}}}}}, nil))
		in := args{"url": at}
		var l listed
		for range 50 {
			if l, _ = call[listed](t, tl, "fetch_json", in); l.NextCursor == "" {
				break
			}
			in["cursor"] = l.NextCursor
		}
		ended := want == "" || strings.HasPrefix(want, "the document")
		if l.NextCursor != "" || !strings.Contains(l.Note, want) || want == "" && l.Note != "" || l.Truncated == ended || requests > 40 {
			t.Errorf("%s: %+v after %d requests", next, l, requests)
		}
	}
}

func TestLinkNext(t *testing.T) {
	for header, want := range map[string]string{
		"":                                 "",
		`<a>; rel="next"`:                  "a",
		`<a>; rel=next`:                    "a",
		`<a>;rel=prev, <b>; REL="up Next"`: "b",
		`<a>; title="x; rel=next, <c>", <b>;rel=next`: "b",
		`<a>; rel`:                            "",
		`<a>; rel="nexting"`:                  "",
		`a; rel=next`:                         "",
		`<a`:                                  "",
		`<a>; title="unended`:                 "",
		`<a>; x="\`:                           "",
		`<https://h/?a=1,2;b>; rel="next"; x`: "https://h/?a=1,2;b",
	} {
		if got := linkNext([]string{header}); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

func FuzzLinkNext(f *testing.F) {
	f.Add(`<a>; title="x; rel=next, <c>", <b>;rel=next`)
	f.Add(`<a>; x="\`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := linkNext([]string{s}); got != "" && !strings.Contains(s, "<"+got+">") {
			t.Errorf("%q from %q", got, s)
		}
	})
}
