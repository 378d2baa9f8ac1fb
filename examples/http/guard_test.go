// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/weir-mcp/weir/tool"
)

func TestRefusedAddresses(t *testing.T) {
	p := &Policy{Allow: []string{"10.9.0.0/16", "fd00::7"}}
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.192", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "fc00::1", "fd00:ec2::254", "fe80::1%eth0",
		"fec0::1", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "100::1", "3fff::1", "5f00::1", "4000::1",
	} {
		if p.refuses(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s may be reached", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "10.9.1.2", "::ffff:10.9.1.2", "fd00::7"} {
		if why := p.refuses(netip.MustParseAddr(s)); why != "" {
			t.Errorf("%s is refused as %s", s, why)
		}
	}
}

// What a URL may not be, and that no error repeats a password.
func TestRefusedURLs(t *testing.T) {
	tl := tools(t)
	for url, want := range map[string]string{
		"ftp://example.com/":                    "scheme",
		"file:///etc/passwd":                    "scheme",
		"gopher://127.0.0.1:6379/_x":            "scheme",
		"example.com":                           "https://",
		"https://bob:pa55word-hush@example.com": "user or a password",
		"http://%zz:pa55word-hush@h/":           "not a URL",
		"http://":                               "no host",
		"http://[::1]/":                         "loopback",
		"http://[::ffff:169.254.169.254]/":      "link-local",
		"http://10.0.0.1/":                      "private",
		"http://[fe80::1%25eth0]/":              "link-local",
		"https://example.com:25/":               "port",
		"https://example.com:0/":                "port",
		"https://ex\u2028ample.com/":            "looked up",
		"https://example.com/a\nHost: x":        "not a URL",
	} {
		for _, name := range []string{"fetch", "fetch_json", "head"} {
			text := refused(t, tl, name, args{"url": url})
			if !strings.Contains(text, want) || strings.Contains(text, "pa55word") {
				t.Errorf("%s %q: %s", name, url, text)
			}
		}
	}
	only := newTools(ready(t, &Policy{OnlyHosts: true, Hosts: []Host{{Host: "api.example.com"}}}, nil))
	if text := refused(t, only, "fetch", args{"url": "https://example.com/"}); !strings.Contains(text, "not one that this server may ask, which are api.example.com") {
		t.Error(text)
	}
	if text := refused(t, tl, "fetch", args{"url": "https://example.com:25/"}); !strings.Contains(text, "only 80, 443, and those from 1024 on") {
		t.Error(text)
	}
}

// Addresses are refused in each way that they can be written, before a name is
// looked up, and before a proxy is asked: it may take them for addresses.
func TestOddAddresses(t *testing.T) {
	asked := 0
	proxy := web(t, func(w http.ResponseWriter, r *http.Request) { asked++ })
	resolver, questions := names(t, "127.0.0.1")
	direct := new(Policy)
	if err := direct.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(direct, nil, resolver)
	defer f.close()
	by := newTools(ready(t, &Policy{Proxy: proxy, Allow: []string{"10.9.9.9"}}, nil))
	for _, host := range []string{
		"2130706433", "0x7f000001", "0x7f.1", "0X7F.0.0.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "127.0.0.1..", "0", "0x", "1.2.3.4.5", "256.1.1.1", "169.254.43518", "a.b.1",
		"１２７.0.0.1", "127。0。0。1", "①27.0.0.1", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "%31.0.0.1", "..", "a..b", "127.0.0.1%00.example.com",
	} {
		for _, tl := range []*tool.Registry{newTools(f), by} {
			refused(t, tl, "fetch", args{"url": "http://" + host + "/"})
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST.", "a.localhost:8080"} {
		if text := refused(t, by, "fetch", args{"url": "http://" + host}); !strings.Contains(text, "loopback") {
			t.Error(text)
		}
	}
	if asked > 0 || questions.Load() > 0 {
		t.Errorf("the proxy was asked %d times, the resolver %d times", asked, questions.Load())
	}
	if f, _ := fetchPage(t, by, "http://example.com./x", nil); f.URL != "http://example.com/x" || asked != 1 {
		t.Errorf("%+v", f)
	}
	if f, _ := fetchPage(t, by, "http://example.com:0080/x", nil); f.URL != "http://example.com/x" || asked != 2 {
		t.Errorf("%+v", f) // its settings are those of port 80
	}
	// A credential that needs no TLS to this machine does to a proxy.
	t.Setenv("TEST_HTTP_TOKEN", token)
	own := newTools(ready(t, &Policy{Proxy: proxy, Hosts: []Host{{Host: "127.0.0.1:8080", Credentials: []Credential{{Header: "X-Key", Env: "TEST_HTTP_TOKEN"}}}}}, nil))
	if text := refused(t, own, "fetch", args{"url": "http://127.0.0.1:8080/"}); !strings.Contains(text, "was not asked: the credentials for this host are not sent without TLS") || asked != 2 {
		t.Error(text)
	}
}

// names is a DNS server that answers each question for an IPv4 address with the
// next one of these, the last one again and again.
func names(t *testing.T, answers ...string) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
			if q.Type == dnsmessage.TypeA {
				i := int(asked.Add(1)) - 1
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(answers[min(i, len(answers)-1)]).As4()},
				}}
			}
			if b, err := m.Pack(); err == nil {
				c.WriteTo(b, from)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}, asked
}

// A name that leads to an address that may be reached when it is first looked
// up, and to another one the next time, is refused by what is dialled.
func TestRebinding(t *testing.T) {
	var hits atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Connection", "close") // the next request dials anew
		io.WriteString(w, "inside")
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())

	// 127.0.0.1 stands for a public address; 10.0.0.1 is not tried at all.
	resolver, asked := names(t, "127.0.0.1", "10.0.0.1")
	p := &Policy{Allow: []string{"127.0.0.1"}}
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(p, nil, resolver)
	defer f.close()
	tl := newTools(f)
	url := "http://rebind.example:" + port + "/"
	if f, _ := fetchPage(t, tl, url, nil); f.Text != "inside" {
		t.Fatalf("%+v", f)
	}
	text := refused(t, tl, "fetch", args{"url": url})
	if !strings.Contains(text, "private address") || strings.Contains(text, "10.0.0.1") || hits.Load() != 1 || asked.Load() != 2 {
		t.Errorf("%s; %d hits, %d questions", text, hits.Load(), asked.Load())
	}
}

// The environment's proxy is not used, the policy's is.
func TestProxy(t *testing.T) {
	proxy := web(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "by way of the proxy: "+r.URL.String())
	})
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	resolver, _ := names(t, "10.0.0.1")
	p := new(Policy)
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(p, nil, resolver)
	defer f.close()
	if text := refused(t, newTools(f), "fetch", args{"url": "http://proxied.example/"}); !strings.Contains(text, "private") {
		t.Error(text)
	}
	tl := newTools(ready(t, &Policy{Proxy: proxy, Allow: []string{"10.9.9.9"}}, nil))
	if f, _ := fetchPage(t, tl, "http://proxied.example/x", nil); f.Text != "by way of the proxy: http://proxied.example/x" {
		t.Errorf("%+v", f)
	}
	if text := refused(t, tl, "fetch", args{"url": "http://127.0.0.1/"}); !strings.Contains(text, "loopback") {
		t.Error(text)
	}
}

func TestRedirects(t *testing.T) {
	other := web(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "other "+r.Header.Get("X-Key")) })
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/a": "/b#part", "/b": "/c", "/c": "/a", "/private": "http://10.0.0.1/", "/meta": "http://[::ffff:169.254.169.254]/", "/file": "file:///etc/passwd",
			"/user": "http://bob:pa55word@127.0.0.1/", "/other": other, "/rel": "end?x=1", "/long": "/long" + r.URL.RawQuery, "/bad": "http://%zz/", "/odd": "http://2130706433/", "/closed": "http://127.0.0.1:1/", "/head": "/end",
		}[r.URL.Path]
		switch {
		case strings.HasPrefix(r.URL.Path, "/long"):
			w.Header().Set("Location", r.URL.Path+"x")
			w.WriteHeader(302)
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(307)
		case r.URL.Path == "/none":
			w.WriteHeader(302)
		default:
			io.WriteString(w, "end "+r.URL.RawQuery)
		}
	})
	tl := tools(t)
	for path, want := range map[string]string{
		"/a": "in a circle", "/private": "private address", "/meta": "link-local", "/file": "scheme", "/user": "password", "/long": "after 10 others", "/bad": "not a URL", "/odd": "no name", "/closed": "port 1 is not allowed",
	} {
		for _, name := range []string{"fetch", "fetch_json", "head"} {
			if text := refused(t, tl, name, args{"url": at + path}); !strings.Contains(text, want) || !strings.Contains(text, " redirect") || strings.Contains(text, "pa55word") || strings.Contains(text, "10.0.0.1") && path != "/private" {
				t.Errorf("%s %s: %s", name, path, text)
			}
		}
	}
	f, text := fetchPage(t, tl, at+"/rel", nil)
	if f.Text != "end x=1" || f.URL != at+"/end?x=1" || len(f.Redirects) != 1 || f.Redirects[0] != (Redirect{307, at + "/rel"}) || !strings.Contains(text, "Redirected by "+at+"/rel (307).") {
		t.Errorf("%+v\n%s", f, text)
	}
	none := 0
	still := newTools(ready(t, &Policy{Redirects: &none}, nil))
	if text := refused(t, still, "fetch", args{"url": at + "/rel"}); !strings.Contains(text, "no more are followed") {
		t.Error(text)
	}
	if text := refused(t, newTools(ready(t, &Policy{Ports: []int{1}, Hosts: []Host{{Host: hostOf(at)}}}, nil)), "fetch", args{"url": at + "/closed"}); !strings.Contains(text, at+"/closed redirects to a URL without an answer: 127.0.0.1:1 cannot be reached") {
		t.Error(text)
	}
	if f, _ := fetchPage(t, tl, at+"/none", nil); f.Status.Status != 302 {
		t.Errorf("%+v", f)
	}
}

// What was asked for by https is not gone on with by http.
func TestRedirectToPlain(t *testing.T) {
	plain := 0
	to := web(t, func(w http.ResponseWriter, r *http.Request) { plain++ })
	srv := httptest.NewTLSServer(http.RedirectHandler(to, http.StatusFound))
	defer srv.Close()
	f := ready(t, new(Policy), nil)
	f.transport.TLSClientConfig = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	defer f.close()
	if text := refused(t, newTools(f), "fetch", args{"url": srv.URL}); !strings.Contains(text, "redirects from https to http, which is refused") || plain > 0 {
		t.Errorf("%s; asked %d times", text, plain)
	}
}
