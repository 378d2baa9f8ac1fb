// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/binary"
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
	"unicode/utf16"

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

// escapeAll writes each byte of s as in a URL.
func escapeAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
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
	var entities, units, wide strings.Builder
	for i := range len(secret) {
		fmt.Fprintf(&entities, "&#%d;", secret[i])
		fmt.Fprintf(&units, `\u%04X`, secret[i])
		wide.WriteString(secret[i:i+1] + "\x00\x00\x00") // UTF-32 read as something else
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte(secret))
	forms = append(forms,
		`P%61ss/%3cword>%20"o%66"%20 bob?`, "Pass/%3Cword%3E%20%22of%22%20%20bob?", "Pass%2F<word>+%22of%22++bob%3F", // in part
		url.QueryEscape(url.QueryEscape(secret)), url.QueryEscape(url.QueryEscape(url.QueryEscape(secret))), url.QueryEscape(string(inJSON)), url.PathEscape(string(inJSON[1:len(inJSON)-1])),
		entities.String(), strings.ReplaceAll(entities.String(), ";", ""), "Pass&sol;&#x3c;word&gt;&nbsp;&QUOT;of&quot; \n bob&quest;", "Pass/&amp;lt;word&amp;gt; &amp;amp;quot;of&amp;quot; bob?",
		units.String(), strings.ReplaceAll(units.String(), `\`, `\\`), `Pass\x2f<word> \\\"of\\\"  bob?`,
		wrapped[:10]+"\r\n"+wrapped[10:20]+"\n"+wrapped[20:], wrapped[:10]+`\n`+wrapped[10:], url.QueryEscape(wrapped[:10]+"\n"+wrapped[10:]), wide.String(),
	)
	for _, form := range forms {
		for n := range 8 { // whole, and in parts
			var out hiddenText
			r := redactor{secrets: s, to: &out}
			for rest := "before " + form + " after"; rest != ""; {
				k := len(rest)
				if n > 0 {
					k = min(n, k)
				}
				r.write([]byte(rest[:k]))
				rest = rest[k:]
			}
			r.flush()
			got := out.String()
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, hidden) || len(got) > len("before [hidden] after")+6 {
				t.Errorf("%s in parts of %d is shown as %s", form, n, got)
			}
		}
	}
	for _, text := range []string{"%50ass/<word>", "100% & more \\ of %zz &nothing; \\u12", "%", "&#", `\u00`, "Pass/<word> \n\n \"of\" b", "%25%25%25", "&amp;&amp;", `\\\\`} {
		if got := s.hide(text); got != text {
			t.Errorf("%s is shown as %s", text, got)
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

// Where a text is cut makes no difference, and what was hidden stays so.
func FuzzRedactor(f *testing.F) {
	var s secrets
	s.add(`a "b"  %&\c`)
	s.add("aabaabaac")
	f.Add(`x a%20%22b&quot; %2525&amp;\\c aabaabaabaac`, 3)
	f.Add("a\na\x00b%61%2561b\\u0061ac&#97", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 {
			return
		}
		var out hiddenText
		r := redactor{secrets: s, to: &out}
		for rest := text; rest != ""; {
			k := min(n, len(rest))
			r.write([]byte(rest[:k]))
			rest = rest[k:]
		}
		r.flush()
		if got := s.hide(text); got != out.String() {
			t.Errorf("%q in parts of %d: %q, want %q", text, n, out.String(), got)
		}
	})
}

// A text of which each character can be read in many ways costs no more than its length.
func TestSpellingSteps(t *testing.T) {
	const secret = `a b c d e f "g" %%`
	for _, unit := range []string{"\n", " ", "+", `\n`, "%0a", " b\n"} {
		steps := 1000
		text := "a" + strings.Repeat(unit, 2000)
		if n, more := spelling([]byte(text), secret, -1, &steps); n > 0 || more && steps < 0 {
			t.Errorf("%q: %d, %v", unit, n, more)
		}
		if steps < 500 {
			t.Errorf("%q took %d steps", unit, 1000-steps)
		}
	}
}

// No charset, chosen or declared, makes a text of a secret from which that can
// be had again; nor does a link's URL, which is escaped anew.
func TestSecretInAnotherText(t *testing.T) {
	t.Setenv("TEST_HTTP_TOKEN", token)
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		switch text := "one: " + r.Header.Get("X-Key") + " and more text around it."; r.URL.Path {
		case "/wide":
			for _, c := range utf16.Encode([]rune(text)) {
				w.Write([]byte{byte(c), byte(c >> 8)})
			}
		case "/html":
			io.WriteString(w, "<a href='/a/"+token+"'>.</a><a href='/login?next="+url.QueryEscape("/b?k="+url.QueryEscape(token))+"'>.</a>")
		case "/moved":
			w.Header().Set("Location", "/a/"+token)
			w.WriteHeader(http.StatusFound)
		default:
			io.WriteString(w, text)
		}
	})
	p := &Policy{Hosts: []Host{{Host: hostOf(at), Credentials: []Credential{{Header: "X-Key", Env: "TEST_HTTP_TOKEN"}}}}}
	tl := newTools(ready(t, p, nil))
	for path, types := range map[string][]string{
		"/": {"text/plain", "text/plain; charset=utf-16le", "text/html; charset=utf-16be"}, "/html": {"text/html"}, "/moved": {"text/plain"},
		"/wide": {"text/plain", "text/plain; charset=utf-16le", "text/plain; charset=utf-8", "text/html; charset=windows-1252"},
	} {
		for _, declared := range types {
			for _, chosen := range []string{"", "utf-16le", "utf-16be", "utf-8", "windows-1252", "gbk", "iso-2022-jp"} {
				for _, format := range []string{"text", "raw"} {
					in := args{"format": format, "charset": chosen, "headers": []string{"*"}}
					f, text := fetchPage(t, tl, at+path+"?type="+url.QueryEscape(declared), in)
					all := text
					for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
						var units []byte
						for _, c := range utf16.Encode([]rune(f.Text)) {
							units = order.AppendUint16(units, c)
						}
						all += "\n" + string(units)
					}
					all = strings.ReplaceAll(all, "\x00", "")
					for range 3 {
						if strings.Contains(all, token) {
							t.Fatalf("%s as %s %v: %s", path, declared, in, text)
						}
						if plain, err := url.PathUnescape(all); err == nil {
							all = plain
						}
					}
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
