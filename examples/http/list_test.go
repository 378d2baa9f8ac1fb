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
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

type listed struct {
	Items         []jsontext.Value `json:"items"`
	Truncated     bool             `json:"truncated"`
	NextCursor    string           `json:"nextCursor"`
	TotalEstimate *int64           `json:"totalEstimate"`
	Omitted       int              `json:"omitted"`
	ListSummary   `json:",inline"`
}

func (l *listed) String() string {
	var all []string
	for _, v := range l.Items {
		all = append(all, string(v))
	}
	return strings.Join(all, " ")
}

func TestPointersAndFields(t *testing.T) {
	const doc = `{"a":{"b/c":[{"id":1,"user":{"login":"ada","mail":"x"},"big":9007199254740993},{"id":2,"user":null}],"~":true},"list":[[{"id":3}],[]],"n":1.50e3,"":"empty","s":"\ud800 水"}`
	for _, tt := range []struct {
		body, pointer string
		fields        []string
		want          string
	}{
		{doc, "/a/b~1c", nil, `{"id":1,"user":{"login":"ada","mail":"x"},"big":9007199254740993} {"id":2,"user":null}`},
		{doc, "/a/b~1c", []string{"id", "user.login"}, `{"id":1,"user":{"login":"ada"}} {"id":2,"user":null}`},
		{doc, "/a/b~1c", []string{"/user/login", "user"}, `{"user":{"login":"ada","mail":"x"}} {"user":null}`},
		{doc, "/a/b~1c/0/user/login", nil, `"ada"`},
		{doc, "/a/b~1c/1", []string{"nothing"}, `{}`},
		{doc, "/a/~0", nil, `true`},
		{doc, "/list", []string{"id"}, `[{"id":3}] []`},
		{doc, "/list/1", nil, ``},
		{doc, "/n", nil, `1.50e3`},
		{doc, "/", nil, `"empty"`},
		{doc, "/s", nil, `"` + "\uFFFD 水" + `"`},
		{doc, "", []string{"n"}, `{"n":1.50e3}`},
		{"\xef\xbb\xbf[1]", "", nil, `1`},
		{`"a text"`, "", nil, `"a text"`},
	} {
		in := args{"url": page(t, "application/json", tt.body), "pointer": tt.pointer}
		if tt.fields != nil {
			in["fields"] = tt.fields
		}
		l, text := call[listed](t, tools(t), "fetch_json", in)
		if l.String() != tt.want || l.NextCursor != "" {
			t.Errorf("%q %v: %s\n%s", tt.pointer, tt.fields, &l, text)
		}
	}
	for body, want := range map[string]string{
		`{"items":[1,`:           "not JSON",
		`{"items":[1,2,{]}`:      "not JSON",
		``:                       "not JSON",
		`{"items":1} trailing`:   "",
		`<html><p>no</p></html>`: "not JSON",
	} {
		r, err := tools(t).Call(t.Context(), "fetch_json", args{"url": page(t, "application/json", body), "pointer": "/items"})
		if err != nil || r.IsError != (want != "") || !strings.Contains(textOf(r), want) {
			t.Errorf("%s: %v, %s", body, err, textOf(r))
		}
	}
	at := page(t, "application/json", doc)
	for pointer, want := range map[string]string{"/not/there": "nothing at", "a": "no JSON Pointer", "/~2": "no JSON Pointer"} {
		if text := refused(t, tools(t), "fetch_json", args{"url": at, "pointer": pointer}); !strings.Contains(text, want) {
			t.Errorf("%s: %s", pointer, text)
		}
	}
	if text := refused(t, tools(t), "fetch_json", args{"url": page(t, "text/html", "<p>")}); !strings.Contains(text, "use fetch") {
		t.Error(text)
	}
	l, _ := call[listed](t, tools(t), "fetch_json", args{"url": page(t, "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n")})
	if l.String() != `{"a":1} {"a":2}` {
		t.Error(&l)
	}
}

// An answer that is no success is an error with what it says. Case 47.
func TestStatusOfJSON(t *testing.T) {
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(429)
		io.WriteString(w, `{"message":"slow\u0020down"}`)
	})
	if text := refused(t, tools(t), "fetch_json", args{"url": at}); !strings.Contains(text, `429 Too Many Requests (try again after 30 s): {"message"`) {
		t.Error(text)
	}
}

// pages reads a list to its end by cursors.
func pages(t *testing.T, p *Policy, in args) (items []string, calls int) {
	t.Helper()
	tl := newTools(ready(t, p, nil))
	for {
		l, text := call[listed](t, tl, "fetch_json", in)
		for _, v := range l.Items {
			items = append(items, string(v))
		}
		calls++
		if l.NextCursor == "" {
			return items, calls
		}
		if !strings.Contains(text[:min(len(text), 2048)], l.NextCursor) {
			t.Fatalf("the cursor is not at the beginning:\n%s", text)
		}
		if calls > 1000 {
			t.Fatal("there is no end")
		}
		in["cursor"] = l.NextCursor
	}
}

// One long list comes in pages, without a gap, whatever their size; and no more
// of the body is read than a page takes.
func TestListIsReadAsItComes(t *testing.T) {
	endless := raw(t, func(c net.Conn) {
		trickle(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"items\":[", strings.Repeat(`{"id":1234567890,"text":"some text"},`, 300), time.Millisecond, func(int) {})
	})
	l, _ := call[listed](t, tools(t), "fetch_json", args{"url": endless, "pointer": "/items", "maxBytes": 4096})
	if len(l.Items) < 50 || l.NextCursor == "" {
		t.Errorf("%d items", len(l.Items))
	}
	// What follows the list is not waited for, unless the next page is told there.
	after := raw(t, func(c net.Conn) {
		trickle(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"items\":[1,2],\"more\":[", "3,", time.Millisecond, func(int) {})
	})
	l, _ = call[listed](t, tools(t), "fetch_json", args{"url": after, "pointer": "/items"})
	if l.String() != "1 2" || l.NextCursor != "" {
		t.Errorf("%+v", l)
	}
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `,{"id":%d,"name":"水位 %d"}`, i, i)
	}
	at := page(t, "application/json", `{"count":2000,"items":[`+b.String()[1:]+`],"after":[1]}`)
	for _, in := range []args{{"maxBytes": 2048}, {"limit": 300}, {"maxBytes": 5000, "limit": 77}} {
		in["url"], in["pointer"] = at, "/items"
		items, calls := pages(t, new(Policy), in)
		if strings.Join(items, ",") != b.String()[1:] {
			t.Errorf("%v: %d items in %d pages", in, len(items), calls)
		}
	}
}

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
		tl := newTools(ready(t, &Policy{Allow: []string{"127.0.0.0/8"}, Hosts: []Host{{Host: hostOf(at), API: &API{Next: &Next{Link: true}}}}}, nil))
		for _, size := range []int{32 << 10, 1024} {
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

// Fields that no item has are told, with those that there are.
func TestUnmetFields(t *testing.T) {
	at := page(t, "application/json", `[{"id":1,"user":{"login":"ada"}},{"id":2,"mail":"x"}]`)
	for fields, want := range map[string]string{
		"nope":            "no item here has nope; there are id, user, mail",
		"id":              "",
		"mail":            "",
		"user.nope id":    "no item here has user.nope; there are mail",
		"user user.login": "",
	} {
		l, text := call[listed](t, tools(t), "fetch_json", args{"url": at, "fields": strings.Fields(fields)})
		if l.Note != want || !strings.Contains(text, want) {
			t.Errorf("%s: %q\n%s", fields, l.Note, text)
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

// An item that is too large is told of by its members.
func TestLargeItem(t *testing.T) {
	body := `{"name":"dam","list":[` + strings.Repeat("1,", 50_000) + `1],"text":"` + strings.Repeat("x", 50_000) + `"}`
	l, text := call[listed](t, tools(t), "fetch_json", args{"url": page(t, "application/json", body)})
	if l.String() != `{"[too large; name fields, or a pointer]":{"name":"dam","list":"a list of 100003 bytes","text":"a text of 50002 bytes"}}` {
		t.Errorf("%s\n%s", &l, text)
	}
	for pointer, want := range map[string]string{"/text": `xxx[… of 50000 bytes: fetch shows all of the document]"`, "": `"list":"a list of 100003 bytes"`} {
		in := args{"url": page(t, "application/json", body), "pointer": pointer, "maxBytes": 4096}
		l, text := call[listed](t, tools(t), "fetch_json", in)
		if !strings.Contains(l.String(), want) || !strings.Contains(text, want) || encoded(text) > 4096 || !l.Truncated {
			t.Errorf("%s\n%s", &l, text)
		}
	}
	l, text = call[listed](t, tools(t), "fetch_json", args{"url": page(t, "application/json", "[["+strings.Repeat("1,", 50_000)+"1]]")})
	if l.String() != `"[a list of 100003 bytes: a pointer to it shows its elements]"` {
		t.Errorf("%s\n%s", &l, text)
	}
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[{"id":1},[2,3],"x"]},"next":"t"}`), "/a/b", "id")
	f.Add([]byte(`[1,2,{"id":[]}]`), "", "x.y")
	f.Add([]byte(`[`), "/0", "")
	f.Fuzz(func(t *testing.T, doc []byte, pointer, field string) {
		items, err := parsePointer(pointer)
		want, err2 := parseFields([]string{field})
		if err != nil || err2 != nil {
			return
		}
		w := newWalk(strings.NewReader(string(doc)))
		w.items, w.want, w.next, w.wantNext = items, want, []string{"next"}, true
		w.secrets = secrets{"secret-to-hide"}
		w.item = func(v jsontext.Value) bool {
			if !v.IsValid() {
				t.Errorf("item %q of %q", v, doc)
			}
			return true
		}
		w.document()
	})
}
