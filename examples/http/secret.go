// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// hidden stands for a secret, wherever one would be shown.
const hidden = "[hidden]"

// minSecret is the shortest secret, in bytes: to hide a shorter one would hide
// half of what is read.
const minSecret = 8

// reserved headers are those that this server sets by itself.
var reserved = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "If-Range", "Range", "Transfer-Encoding", "Upgrade"}

// read checks c and gets its value. An error begins with the field's name, and
// never holds the value.
func (c *Credential) read(s *secrets) error {
	switch {
	case (c.Header == "") == (c.Query == ""):
		return errors.New(": either header or query has to be set")
	case (c.Env == "") == (c.File == ""):
		return errors.New(": either env or file has to be set; the secret itself does not belong into the policy")
	case c.Header != "" && (!httpguts.ValidHeaderFieldName(c.Header) || slices.Contains(reserved, http.CanonicalHeaderKey(c.Header))):
		return fmt.Errorf("/header: %q is not a header that can be set", c.Header)
	case c.BasicUser != "" && (c.Prefix != "" || c.Query != "" || strings.Contains(c.BasicUser, ":")):
		return errors.New("/basicUser: it goes with a header, without prefix, and has no colon")
	case !httpguts.ValidHeaderFieldValue(c.Prefix):
		return errors.New("/prefix: not a value that a header may have")
	}
	field, secret := "/env", ""
	if c.Env != "" {
		secret = os.Getenv(c.Env)
		if secret == "" {
			return fmt.Errorf("/env: the environment variable %s is not set", c.Env)
		}
	} else {
		data, err := os.ReadFile(c.File)
		if err != nil {
			return fmt.Errorf("/file: %w", err)
		}
		field, secret = "/file", strings.TrimRight(string(data), "\r\n")
	}
	switch {
	case len(secret) < minSecret:
		return fmt.Errorf("%s: the secret has less than %d bytes: it could not be told from other text, to keep it out of results", field, minSecret)
	case len(secret) > maxURL:
		return fmt.Errorf("%s: the secret has more than %d bytes", field, maxURL)
	case !httpguts.ValidHeaderFieldValue(secret):
		return fmt.Errorf("%s: the secret has characters that a header may not have, such as a line break", field)
	}
	c.value = c.Prefix + secret
	if c.BasicUser != "" {
		encoded := base64.StdEncoding.EncodeToString([]byte(c.BasicUser + ":" + secret))
		c.value = "Basic " + encoded
		s.add(encoded)
	}
	s.add(secret)
	return nil
}

// forget takes the variables of all credentials out of the environment.
func (p *Policy) forget() {
	for _, h := range p.Hosts {
		for _, c := range h.Credentials {
			if c.Env != "" {
				os.Unsetenv(c.Env)
			}
		}
	}
}

// secrets are the texts that are never shown, the longest first.
type secrets []string

// add adds a secret, as it is and as it stands in URLs, JSON and base64.
func (s *secrets) add(secret string) {
	forms := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(fmt.Sprintf("%q", secret), `"`),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	for _, f := range forms {
		if len(f) >= minSecret && !slices.Contains(*s, f) {
			*s = append(*s, f)
		}
	}
	slices.SortStableFunc(*s, func(a, b string) int { return len(b) - len(a) })
}

// hide returns text without secrets.
func (s secrets) hide(text string) string {
	if len(s) == 0 {
		return text
	}
	var b hiddenText
	r := redactor{secrets: s, to: &b}
	r.write([]byte(text))
	r.flush()
	return b.String()
}

type hiddenText struct{ strings.Builder }

func (b *hiddenText) plain(p []byte) { b.Write(p) }
func (b *hiddenText) hidden(int)     { b.WriteString(hidden) }

// A redacted stream is given to a sink in parts that no secret crosses: text,
// and the number of bytes of a secret in its place.
type sink interface {
	plain(p []byte)
	hidden(n int)
}

// A redactor finds the secrets of a stream, wherever its parts are cut. It
// holds back what may be the beginning of one.
type redactor struct {
	secrets secrets
	to      sink
	held    []byte
}

func (r *redactor) write(p []byte) {
	if len(r.secrets) == 0 {
		r.to.plain(p)
		return
	}
	b := append(r.held, p...)
	var keep int
	for {
		keep = r.prefix(b)
		at, size := r.find(b)
		if at < 0 || at >= len(b)-keep { // a longer one may begin there
			break
		}
		if at > 0 {
			r.to.plain(b[:at])
		}
		r.to.hidden(size)
		b = b[at+size:]
	}
	if n := len(b) - keep; n > 0 {
		r.to.plain(b[:n])
	}
	r.held = append([]byte(nil), b[len(b)-keep:]...)
}

// find is the first secret in b, the longest of those that begin there.
func (r *redactor) find(b []byte) (at, size int) {
	at = -1
	for _, s := range r.secrets {
		if i := bytes.Index(b, []byte(s)); i >= 0 && (at < 0 || i < at) {
			at, size = i, len(s)
		}
	}
	return at, size
}

func (r *redactor) longest() int { return len(r.secrets[0]) }

// prefix is the length of the longest end of b with which a secret begins.
func (r *redactor) prefix(b []byte) int {
	for n := min(len(b), r.longest()-1); n > 0; n-- {
		end := b[len(b)-n:]
		for _, s := range r.secrets {
			if len(s) <= n {
				break
			}
			if s[0] == end[0] && strings.HasPrefix(s, string(end)) {
				return n
			}
		}
	}
	return 0
}

// flush passes on what was held back: the stream has ended.
func (r *redactor) flush() {
	b := r.held
	r.held = nil
	for len(b) > 0 {
		at, size := r.find(b)
		if at < 0 {
			r.to.plain(b)
			return
		}
		if at > 0 {
			r.to.plain(b[:at])
		}
		r.to.hidden(size)
		b = b[at+size:]
	}
}
