// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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

// What follows a document is neither lost nor taken for nothing.
func TestAfterDocument(t *testing.T) {
	for _, tt := range []struct {
		body, pointer, want string
		trailing            bool
	}{
		{`[1,2] x`, "", "1 2", true},
		{`[1,2] [3]`, "", "1 2", true},
		{`[1,2] ` + strings.Repeat(" ", 20_000), "", "1 2", false},
		{`[1,2] ` + strings.Repeat(" ", 20_000) + "{", "", "1 2", true},
		{`{"a":1} x`, "", `{"a":1}`, true},
		{"{\"a\":1}\n{\"a\":2}\n", "", `{"a":1} {"a":2}`, false},
		{"{\"a\":1}\n{\"a\":2}\n{\"a\":", "", `{"a":1} {"a":2}`, true},
		{`{"a":[1,2]} x`, "/a", "1 2", false},
	} {
		l, text := call[listed](t, tools(t), "fetch_json", args{"url": page(t, "application/json", tt.body), "pointer": tt.pointer})
		if l.String() != tt.want || l.Truncated != tt.trailing || strings.Contains(l.Note, "more follows in that document") != tt.trailing || tt.trailing && strings.Contains(text, "no more") {
			t.Errorf("%.50s: %+v\n%s", tt.body, l, text)
		}
	}
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "{\"id\":%d}\n", i)
	}
	if items, calls := pages(t, new(Policy), args{"url": page(t, "application/json", b.String()), "maxBytes": 8192}); strings.Join(items, "\n")+"\n" != b.String() || calls < 3 {
		t.Errorf("%d items in %d pages", len(items), calls)
	}
	part := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Range", "bytes 0-4/500")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, "[1,2]")
	})
	if text := refused(t, tools(t), "fetch_json", args{"url": part}); !strings.Contains(text, "sent a part of the document") {
		t.Error(text)
	}
}

// A name that an object has twice does not make one of two values, nor a list
// longer; where nobody looks it does not matter.
func TestNamesTwice(t *testing.T) {
	at := page(t, "application/json", `{"items":[{"a":1}],"items":[{"b":1}],"x":{"c":1,"c":2}}`)
	for _, pointer := range []string{"", "/x"} {
		if text := refused(t, tools(t), "fetch_json", args{"url": at, "pointer": pointer}); !strings.Contains(text, "two members of the name") || !strings.Contains(text, "fetch") {
			t.Error(text)
		}
	}
	p := &Policy{Hosts: []Host{{Host: hostOf(at), API: &API{Next: &Next{Pointer: "/next"}}}}}
	if items, _ := pages(t, p, args{"url": at, "pointer": "/items"}); strings.Join(items, " ") != `{"a":1}` {
		t.Error(items)
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
