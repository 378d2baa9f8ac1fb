// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/tooldoc"
)

var update = flag.Bool("update", false, "rewrite the part of docs/http.md that is made from a run")

// example answers for https://example.com, as the document shows it.
func example(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil
	switch r.URL.Path {
	case "/old":
		http.Redirect(w, r, "/dam", http.StatusMovedPermanently)
	case "/dam":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Last-Modified", "Wed, 01 May 2024 09:30:00 GMT")
		io.WriteString(w, `<!doctype html><title>The dam</title><nav><a href="/">Home</a> <a href="/gates">Gates</a></nav>
<h1>The dam</h1><p>The stream <em>never</em> stops, and its level stays below the <a href="/crest">crest</a>; see the <a href="/gates">gates</a>.</p>
<table><tr><th>gate<th>open<tr><td>1<td>yes<tr><td>2<td>no</table><script>count()</script>`)
	case "/levels.txt":
		w.Header().Set("ETag", `"levels-7"`)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		var b strings.Builder
		for day := 1; day <= 31; day++ {
			for hour := range 24 {
				fmt.Fprintf(&b, "2024-05-%02d %02d:00 %d cm\n", day, hour, 40+(day*7+hour)%13)
			}
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(b.String()))
	case "/dam.png":
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, "\x89PNG\r\n\x1a\n"+strings.Repeat("\x00", 2000))
	case "/api/gates":
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Link", `</api/gates?per_page=3&fields=id,name&page=2>; rel="next"`)
		io.WriteString(w, `[{"id":1,"name":"north"},{"id":2,"name":"south"},{"id":3,"name":"鱼道"}]`)
	default:
		http.NotFound(w, r)
	}
}

// samples are the calls that the document shows.
var samples = []tooldoc.Sample{
	{Tool: "fetch", In: args{"url": "https://example.com/old"}, Structured: true},
	{Tool: "fetch", In: args{"url": "https://example.com/levels.txt", "maxBytes": 1024}},
	{Tool: "fetch", In: args{"url": "https://example.com/dam.png"}},
	{Tool: "fetch_json", In: args{"url": "https://example.com/api/gates", "fields": []string{"id", "name"}, "limit": 3}, Structured: true},
	{Tool: "head", In: args{"url": "https://example.com/levels.txt"}},
}

// TestDocument holds that docs/http.md shows each tool as it is: its description,
// its arguments, and what a call of it answers; and the policy file. With
// -update it is rewritten.
func TestDocument(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(example))
	defer srv.Close()
	p := &Policy{Hosts: []Host{{Host: "example.com", API: &API{PageSize: &PageSize{Param: "per_page"}, Fields: &Fields{Param: "fields"}, Next: &Next{Link: true}}}}}
	f := ready(t, p, newStore(t))
	f.transport.TLSClientConfig = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	f.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", srv.Listener.Addr().String())
	}
	defer f.close()
	tools := newTools(f)

	var b strings.Builder
	described := ""
	for _, s := range samples {
		if s.Tool != described {
			tooldoc.Describe(t, &b, tools, s.Tool)
			described = s.Tool
		}
		tooldoc.Answer(t, &b, tools, s, steady)
	}
	t.Setenv("EXAMPLE_TOKEN", "not-a-real-token")
	if _, err := readPolicy("testdata/policy.json"); err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("## A policy file\n\n```json\n" + string(sample) + "```\n\n")

	after := tooldoc.Hold(t, "../../docs/http.md", "examples/http", b.String(), *update)
	for _, field := range fields(reflect.TypeFor[Policy]()) {
		if !strings.Contains(after, "`"+field+"`") {
			t.Errorf("docs/http.md does not explain the field %s", field)
		}
	}
}

// fields are the names in the policy file.
func fields(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
			names = append(names, fields(t.Field(i).Type)...)
		}
	}
	return names
}

var (
	cursorText = regexp.MustCompile(`(cursor "|"nextCursor": ")[A-Za-z0-9_-]{20,}"`)
	handleText = regexp.MustCompile(`("handle":"|"artifact": ")[a-z0-9]{32}"`)
)

// steady replaces what is another thing in each run.
func steady(s string) string {
	s = cursorText.ReplaceAllString(s, `${1}AZTl…mck"`)
	return handleText.ReplaceAllString(s, `${1}uec4…jiaa"`)
}
