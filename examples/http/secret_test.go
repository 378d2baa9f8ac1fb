// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server/servertest"
)

const token = `hush/hush "42"+token`

func hostOf(at string) string {
	u, _ := url.Parse(at)
	return u.Host
}

// A server that gives back all it was told shows nobody the credentials:
// neither in a text, a link, a header, an error, a redirect, JSON, a cursor, nor
// in what is kept. Another host never gets them.
func TestCredentials(t *testing.T) {
	t.Setenv("TEST_HTTP_TOKEN", token)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("pass-word-of-bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var elsewhere http.Header
	other := web(t, func(w http.ResponseWriter, r *http.Request) {
		elsewhere = r.Header.Clone()
		io.WriteString(w, r.URL.RawQuery)
	})
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("bob:pass-word-of-bob"))
	got := 0
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "Key "+token && r.Header.Get("Authorization") == basic && r.URL.Query().Get("api_key") == token {
			got++
		}
		all := r.Header.Get("X-Key") + " " + r.Header.Get("Authorization") + " " + r.URL.String() + " pass-word-of-bob " + base64.StdEncoding.EncodeToString([]byte(token))
		w.Header().Set("X-Echo", all)
		w.Header().Set("ETag", `"`+r.URL.Query().Get("api_key")+`"`)
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<a href="/?`+r.URL.RawQuery+`">`+strings.ReplaceAll(token, `"`, "&quot;")+`</a> <b>hush/</b>hush "42"+token`+strings.Repeat(" "+all, 500))
		case "/json", "/error":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Link", "<"+r.URL.String()+`&page=2>; rel="next"`)
			if r.URL.Path == "/error" {
				w.WriteHeader(403)
			}
			data, _ := json.Marshal(map[string]any{"items": []any{all, map[string]any{token: all, token + "2": 1}}})
			w.Write(data)
		case "/broken":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"items":[1,`+all)
		case "/away":
			http.Redirect(w, r, other+"/?q="+url.QueryEscape(token), http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle?api_key="+url.QueryEscape(r.URL.Query().Get("api_key")+"x"), http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, strings.Repeat(all+"\n", 2000))
		}
	})
	store := newStore(t)
	p := &Policy{Hosts: []Host{{Host: hostOf(at), API: &API{Items: "/items", Next: &Next{Link: true}}, Credentials: []Credential{
		{Header: "X-Key", Env: "TEST_HTTP_TOKEN", Prefix: "Key "}, {Header: "Authorization", File: file, BasicUser: "bob"}, {Query: "api_key", Env: "TEST_HTTP_TOKEN"},
	}}}}
	tl := newTools(ready(t, p, store))
	calls := 0
	look := func(name string, in args) {
		r, err := tl.Call(t.Context(), name, in)
		if err != nil {
			t.Fatal(err)
		}
		calls++
		var whole strings.Builder
		whole.WriteString(textOf(r))
		data, _ := result.Marshal(t.Context(), r.Structured, 1<<20)
		whole.Write(data)
		// A cursor is signed and not encrypted.
		for word := range strings.FieldsFuncSeq(whole.String(), func(c rune) bool { return c == '"' || c == ' ' }) {
			if plain, err := base64.RawURLEncoding.DecodeString(word); err == nil {
				whole.Write(plain)
			}
		}
		for _, secret := range p.secrets {
			if strings.Contains(whole.String(), secret) {
				t.Errorf("%s %v shows %q:\n%.2000s", name, in, secret, whole.String())
			}
		}
		if !strings.Contains(whole.String(), hidden) && in["url"] != at+"/circle" && (name != "fetch_json" || in["url"] != at+"/broken") {
			t.Errorf("%s %v: nothing hidden: %.500s", name, in, whole.String())
		}
	}
	for _, path := range []string{"/", "/html", "/away", "/json", "/error", "/broken", "/circle"} {
		for _, format := range []string{"text", "raw"} {
			look("fetch", args{"url": at + path, "headers": []string{"*"}, "format": format})
		}
		if path != "/" && path != "/html" && path != "/away" {
			look("fetch_json", args{"url": at + path, "limit": 1})
			look("fetch_json", args{"url": at + path})
		}
		look("head", args{"url": at + path})
	}
	if got < calls {
		t.Errorf("%d of %d requests had the credentials", got, calls)
	}
	if elsewhere == nil || elsewhere.Get("X-Key") != "" || elsewhere.Get("Authorization") != "" {
		t.Errorf("another host was sent %v", elsewhere)
	}
	kept, err := store.List()
	if err != nil || len(kept) < 2 {
		t.Fatalf("%d artifacts, %v", len(kept), err)
	}
	for _, info := range kept {
		r, err := store.Open(info.Handle)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r)
		r.Close()
		for _, secret := range p.secrets {
			if strings.Contains(info.Name+string(data), secret) {
				t.Errorf("%s has %q", info.Name, secret)
			}
		}
	}
}

// Without TLS credentials are sent to this machine only.
func TestCredentialsWithoutTLS(t *testing.T) {
	t.Setenv("TEST_HTTP_TOKEN", token)
	credentials := []Credential{{Header: "X-Key", Env: "TEST_HTTP_TOKEN"}}
	tl := newTools(ready(t, &Policy{Hosts: []Host{{Host: "api.example.com", Credentials: credentials}}}, nil))
	if text := refused(t, tl, "fetch", args{"url": "http://api.example.com/"}); !strings.Contains(text, "use https") {
		t.Error(text)
	}
}

// The server takes the variables out of its environment, and pages over a list
// whose links hold the secret.
func TestCredentialsOfTheServer(t *testing.T) {
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("page") == "" {
			w.Header().Set("Link", "</list?page=2&sig="+url.QueryEscape(r.Header.Get("X-Key"))+`>; rel="next"`)
			io.WriteString(w, "[1]")
			return
		}
		if r.URL.Query().Get("sig") != r.Header.Get("X-Key") {
			w.WriteHeader(400)
		}
		io.WriteString(w, "[2]")
	})
	policy := filepath.Join(t.TempDir(), "policy.json")
	text := `{"allow":["127.0.0.1"],"hosts":[{"host":"` + hostOf(at) + `","credentials":[{"header":"X-Key","env":"TEST_HTTP_TOKEN"}],"api":{"next":{"link":true}}}]}`
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startHTTP(t, servertest.Config{}, []string{"TEST_HTTP_TOKEN=" + token}, "-policy", policy)
	in := args{"url": at + "/list"}
	for _, want := range []string{"\n1", "\n2"} {
		r, err := c.Call(t.Context(), "fetch_json", in)
		if err != nil || r.IsError || !strings.Contains(r.Text(), want) {
			t.Fatalf("%v, %v", r, err)
		}
		var page struct {
			NextCursor string `json:"nextCursor"`
		}
		json.Unmarshal(r.Structured, &page)
		in["cursor"] = page.NextCursor
	}
}

func TestRedactor(t *testing.T) {
	s := secrets{"Basic abcabcabd!", "overlap-lapse", "abcabcabd"} // the longest first, as add keeps them
	for in, want := range map[string]string{
		"":                             "",
		"nothing":                      "nothing",
		"abcabcabd":                    hidden,
		"xabcabcabcabdy":               "xabc" + hidden + "y",
		"Basic abcabcabd!":             hidden,
		"Basic abcabcabd?":             "Basic " + hidden + "?",
		"Basic abcabcab":               "Basic abcabcab",
		"abcabcabdabcabcabd":           hidden + hidden,
		"an overlap-overlap-lapse, ab": "an overlap-" + hidden + ", ab",
	} {
		for n := 1; n <= max(len(in), 1); n++ { // cut everywhere
			var out hiddenText
			r := redactor{secrets: s, to: &out}
			for rest := in; rest != ""; {
				k := min(n, len(rest))
				r.write([]byte(rest[:k]))
				rest = rest[k:]
			}
			r.flush()
			if out.String() != want {
				t.Errorf("%q in parts of %d: %q, want %q", in, n, out.String(), want)
			}
		}
	}
}

func TestPolicyErrors(t *testing.T) {
	t.Setenv("TEST_HTTP_SHORT", "short")
	t.Setenv("TEST_HTTP_LINES", "with a\nline break")
	t.Setenv("TEST_HTTP_TOKEN", token)
	host := func(s string) string { return `{"hosts":[{"host":"a.example",` + s + `}]}` }
	for text, want := range map[string]string{
		`{`:                                                "not JSON at byte 1",
		`{"maxbody":1}`:                                    "/maxbody: there is no such field",
		`{"maxBody":1,"maxBody":2}`:                        "/maxBody",
		`{"maxBody":"big"}`:                                "/maxBody: a string",
		`{"maxBody":-1}`:                                   "/maxBody: less than zero",
		`{"timeout":"fast"}`:                               "/timeout",
		`{"timeout":30}`:                                   "/timeout",
		`{"schemes":["ftp"]}`:                              "/schemes/0",
		`{"ports":[80,0]}`:                                 "/ports/1",
		`{"allow":["10.0.0.0/8","x"]}`:                     "/allow/1",
		`{"proxy":"http://u:p@proxy/"}`:                    "/proxy",
		`{"redirects":-1}`:                                 "/redirects",
		`{"userAgent":"a\nb"}`:                             "/userAgent",
		`{"hosts":[{"host":""}]}`:                          "/hosts/0/host",
		`{"hosts":[{"host":"*.a.com"}]}`:                   "/hosts/0/host",
		`{"hosts":[{"host":"https://a"}]}`:                 "/hosts/0/host",
		`{"hosts":[{"host":"a.com"},{"host":"A.com"}]}`:    "/hosts/1/host: a.com is there twice",
		host(`"token":"x"`):                                "/hosts/0/token: there is no such field",
		host(`"credentials":[{"env":"X"}]`):                "/hosts/0/credentials/0: either header or query",
		host(`"credentials":[{"header":"A","value":"x"}]`): "/hosts/0/credentials/0/value: there is no such field",
		host(`"credentials":[{"header":"A"}]`):             "/hosts/0/credentials/0: either env or file",
		host(`"credentials":[{"header":"Host","env":"TEST_HTTP_TOKEN"}]`):               "/hosts/0/credentials/0/header",
		host(`"credentials":[{"header":"A B","env":"TEST_HTTP_TOKEN"}]`):                "/hosts/0/credentials/0/header",
		host(`"credentials":[{"header":"A","env":"TEST_HTTP_NOT_THERE"}]`):              "/hosts/0/credentials/0/env: the environment variable TEST_HTTP_NOT_THERE",
		host(`"credentials":[{"header":"A","env":"TEST_HTTP_SHORT"}]`):                  "/hosts/0/credentials/0/env: the secret has less than 8",
		host(`"credentials":[{"header":"A","env":"TEST_HTTP_LINES"}]`):                  "/hosts/0/credentials/0/env: the secret has characters",
		host(`"credentials":[{"header":"A","file":"/not/there"}]`):                      "/hosts/0/credentials/0/file",
		host(`"credentials":[{"query":"A","env":"TEST_HTTP_TOKEN","basicUser":"bob"}]`): "/hosts/0/credentials/0/basicUser",
		host(`"api":{"items":"items"}`):                                                 "/hosts/0/api/items",
		host(`"api":{"pageSize":{"param":""}}`):                                         "/hosts/0/api/pageSize/param",
		host(`"api":{"pageSize":{"param":"n","max":10,"default":20}}`):                  "/hosts/0/api/pageSize/default",
		host(`"api":{"next":{}}`):                                                       "/hosts/0/api/next",
		host(`"api":{"next":{"link":true,"pointer":"/x"}}`):                             "/hosts/0/api/next",
		host(`"api":{"next":{"link":true,"param":"x"}}`):                                "/hosts/0/api/next/param",
		host(`"api":{"next":{"pointer":"/a~2"}}`):                                       "/hosts/0/api/next/pointer",
		host(`"api":{"fields":{}}`):                                                     "/hosts/0/api/fields/param",
	} {
		_, err := parsePolicy([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "line break\"") || strings.Contains(err.Error(), "\"short") {
			t.Errorf("%s\nhas error %v\nwant       %s", text, err, want)
		}
	}
}
