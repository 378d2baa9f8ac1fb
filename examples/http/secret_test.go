// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	t.Setenv("TEST_HTTP_NUMBER", "12345678901")
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("pass-word-of-bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var elsewhere []http.Header
	other := web(t, func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Clone())
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
			http.Redirect(w, r, other+"/?q=1", http.StatusFound)
		case "/away-with-it":
			http.Redirect(w, r, other+"/?q="+url.QueryEscape(token), http.StatusFound)
		case "/host": // the name would be looked up
			w.Header().Set("Location", "http://pass-word-of-bob/")
			w.WriteHeader(http.StatusFound)
		case "/name":
			w.Header()["Pass-Word-Of-Bob"] = []string{"x"}
			w.Header().Set("Content-Encoding", "pass-word-of-bob")
			w.Header().Set("Content-Type", "text/Pass-Word-Of-Bob")
			io.WriteString(w, "[1]")
		case "/long":
			w.Header().Set("X-Long", strings.Repeat("x", maxValue-16)+" pass-word-of-bob")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(500)
			io.WriteString(w, strings.Repeat(" ", 2<<10-13)+"pass-word-of-bob")
		case "/cut", "/cut-long":
			c, b, _ := w.(http.Hijacker).Hijack()
			n := map[string]int{"/cut": 1, "/cut-long": 5000}[r.URL.Path]
			b.WriteString(plainHead + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("pass-word-of-bob ", n) + "pass-word-of")
			b.Flush()
			c.Close()
		case "/number":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"items":[12345678901,{"a":"PASS-word-of-BOB","b":"`+strings.ToUpper(hex.EncodeToString([]byte("pass-word-of-bob")))+`"},"`+
				base64.StdEncoding.EncodeToString([]byte("1pass-word-of-bob"))+base64.URLEncoding.EncodeToString([]byte("12pass-word-of-bob?"))+escapeAll("pass-word-of-bob")+`"]}`)
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
		{Header: "X-Number", Env: "TEST_HTTP_NUMBER"},
	}}}}
	tl := newTools(ready(t, p, store))
	calls := 0
	// These have nothing that they could hide.
	quiet := []string{"fetch /circle", "fetch_json /circle", "head /circle", "fetch_json /broken", "fetch /away", "fetch_json /away", "head /away", "fetch_json /away-with-it", "fetch /away-with-it", "head /away-with-it",
		"fetch /host", "fetch_json /host", "head /host", "fetch_json /long", "head /cut", "fetch_json /cut", "head /cut-long", "fetch_json /cut-long"}
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
		for _, secret := range append(p.secrets, "pass-word-of") {
			if strings.Contains(strings.ToLower(whole.String()), secret) {
				t.Errorf("%s %v shows %q:\n%.2000s", name, in, secret, whole.String())
			}
		}
		if !strings.Contains(whole.String(), hidden) && !slices.Contains(quiet, name+" "+strings.TrimPrefix(in["url"].(string), at)) {
			t.Errorf("%s %v: nothing hidden: %.500s", name, in, whole.String())
		}
	}
	for _, path := range []string{"/", "/html", "/away", "/json", "/error", "/broken", "/circle", "/away-with-it", "/host", "/name", "/long", "/cut", "/cut-long", "/number"} {
		for _, format := range []string{"text", "raw"} {
			look("fetch", args{"url": at + path, "headers": []string{"*"}, "format": format})
		}
		if path != "/" && path != "/html" && path != "/away" {
			look("fetch_json", args{"url": at + path, "limit": 1})
			look("fetch_json", args{"url": at + path})
		}
		look("head", args{"url": at + path})
	}
	if text := refused(t, tl, "fetch", args{"url": at + "/host"}); !strings.Contains(text, "a credential stands in the host's name") {
		t.Error(text) // it was looked up, then
	}
	if got < calls {
		t.Errorf("%d of %d requests had the credentials", got, calls)
	}
	if len(elsewhere) != 3 { // for /away, and not for /away-with-it
		t.Errorf("another host was asked %d times", len(elsewhere))
	}
	for _, h := range elsewhere {
		if h.Get("X-Key") != "" || h.Get("Authorization") != "" {
			t.Errorf("another host was sent %v", h)
		}
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
		for _, secret := range append(p.secrets, "pass-word-of") {
			if strings.Contains(strings.ToLower(info.Name+info.MIMEType+string(data)), secret) {
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

// The forms that a secret is known in; no more than three bytes of it are left.
func TestSecretForms(t *testing.T) {
	const secret = `Pass/<word> "of"  bob?`
	var s secrets
	s.add(secret)
	inJSON, _ := json.Marshal(secret) // with \u003c
	forms := []string{
		secret, strings.ToUpper(secret), `Pass/<word> "of" bob?`, url.QueryEscape(secret), url.PathEscape(secret), escapeAll(secret), strings.ToUpper(escapeAll(secret)),
		string(inJSON), strings.ReplaceAll(string(inJSON), "/", `\/`), `Pass/<word> \"of\"  bob?`, `Pass\/<word> \"of\"  bob?`, fmt.Sprintf("%q", secret),
		"Pass/&lt;word&gt; &#34;of&#34;  bob?", "Pass/&lt;word&gt; &quot;of&quot;  bob?", hex.EncodeToString([]byte(secret)), fmt.Sprintf("%X", secret),
	}
	for _, form := range forms {
		if got := s.hide("before " + form + " after"); !strings.Contains(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, hidden) || len(got) > len("before [hidden] after")+2 {
			t.Errorf("%s is shown as %s", form, got)
		}
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for before := range 6 {
			for after := range 3 {
				form := e.EncodeToString([]byte(strings.Repeat("?", before) + secret + strings.Repeat(">", after)))
				got := s.hide(form)
				if rest := len(got) - len(hidden); !strings.Contains(got, hidden) || rest > (before+after)*4/3+5 {
					t.Errorf("%s is shown as %s", form, got)
				}
			}
		}
	}
}

func TestRedactor(t *testing.T) {
	s := secrets{"basic abcabcabd!", "overlap-lapse", "abcabcabd"} // the longest first, as add keeps them
	for in, want := range map[string]string{
		"":                             "",
		"nothing":                      "nothing",
		"abcabcabd":                    hidden,
		"AbcabCABD xABCx":              hidden + " xABCx",
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
		`{`:                             "not JSON at byte 1",
		`{"maxbody":1}`:                 "/maxbody: there is no such field",
		`{"maxBody":1,"maxBody":2}`:     "/maxBody",
		`{"maxBody":"big"}`:             "/maxBody: not a whole number",
		`{"maxBody":-1}`:                "/maxBody: less than zero",
		`{"timeout":"fast"}`:            "/timeout",
		`{"timeout":30}`:                "/timeout",
		`{"schemes":["ftp"]}`:           "/schemes/0",
		`{"ports":[80,0]}`:              "/ports/1",
		`{"allow":["10.0.0.0/8","x"]}`:  "/allow/1",
		`{"proxy":"http://u:p@proxy/"}`: "/proxy",
		`{"redirects":-1}`:              "/redirects",
		`[]`:                            "a policy is a JSON object",
		`null`:                          "a policy is a JSON object",
		`{"maxBody":1.5}`:               "/maxBody: not a whole number",
		`{"maxBody":1e30}`:              "/maxBody: not a whole number",
		`{"maxBody":0}`:                 "/maxBody: there is no way to have none",
		`{"maxRatio":-0}`:               "/maxRatio: there is no way to have none",
		`{"timeout":"0s"}`:              "/timeout: there is no way to have none",
		`{"ports":[]}`:                  "/ports: there is no way to have none",
		`{"schemes":[]}`:                "/schemes: there is no way to have none",
		`{"allow":["10.1.2.3/8"]}`:      "/allow/0: \"10.1.2.3/8\" is an address within a range: write 10.0.0.0/8",
		`{"hosts":[{"host":"127.1"}]}`:  "/hosts/0/host",
		host(`"credentials":[{"header":"A","query":"B"}]`):                              "/hosts/0/credentials/0: header and query are both set",
		host(`"credentials":[{"header":"A","env":"B","file":"C"}]`):                     "/hosts/0/credentials/0: env and file are both set",
		host(`"api":{"pageSize":{"param":"n","max":0}}`):                                "/hosts/0/api/pageSize/max: there is no way to have none",
		`{"userAgent":"a\nb"}`:                                                          "/userAgent",
		`{"hosts":[{"host":""}]}`:                                                       "/hosts/0/host",
		`{"hosts":[{"host":"*.a.com"}]}`:                                                "/hosts/0/host",
		`{"hosts":[{"host":"https://a"}]}`:                                              "/hosts/0/host",
		`{"hosts":[{"host":"a.com"},{"host":"A.com"}]}`:                                 "/hosts/1/host: a.com is there twice",
		host(`"token":"x"`):                                                             "/hosts/0/token: there is no such field",
		host(`"credentials":[{"env":"X"}]`):                                             "/hosts/0/credentials/0: either header or query",
		host(`"credentials":[{"header":"A","value":"x"}]`):                              "/hosts/0/credentials/0/value: there is no such field",
		host(`"credentials":[{"header":"A"}]`):                                          "/hosts/0/credentials/0: either env or file",
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
		_, err := parsePolicy([]byte(text), "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "line break\"") || strings.Contains(err.Error(), "\"short") {
			t.Errorf("%s\nhas error %v\nwant       %s", text, err, want)
		}
	}
}

// No redirects is something that a policy can ask for; files are named from the
// policy on.
func TestPolicyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("a secret of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(file, []byte(`{"redirects":0,"hosts":[{"host":"a.example","credentials":[{"header":"A","file":"secret"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := readPolicy(file)
	if err != nil || *p.Redirects != 0 || p.Hosts[0].Credentials[0].value != "a secret of a file" {
		t.Errorf("%+v, %v", p, err)
	}
}

// What net/http logs has no secrets, and cannot fill a disk.
func TestHidingLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := &hidingLog{secrets: secrets{"pass-word"}, to: &out}
		for range 100 {
			l.Write([]byte("a PASS-word " + strings.Repeat("x", 5000) + "\n"))
		}
		if n := strings.Count(out.String(), "a [hidden] xxx"); n != linesPerMinute || out.Len() > linesPerMinute*(1<<10+1) {
			t.Errorf("%d lines, %d bytes", n, out.Len())
		}
		time.Sleep(61 * time.Second)
		out.Reset()
		l.Write([]byte("later\n"))
		if out.String() != "http: 80 lines were dropped\nlater\n" {
			t.Errorf("%q", out.String())
		}
	})
}
