// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// hidden stands for a secret, wherever one would be shown.
const hidden = "[hidden]"

// minSecret is the shortest secret, in bytes: to hide a shorter one would hide
// half of what is read.
const minSecret = 8

// reserved headers are those that this server sets by itself.
var reserved = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "If-Range", "Range", "Transfer-Encoding", "Upgrade"}

// read checks c and gets its value; dir is where its file is looked for. An error begins with the field's name, and
// never holds the value.
func (c *Credential) read(s *secrets, dir string) error {
	switch {
	case c.Header != "" && c.Query != "":
		return errors.New(": header and query are both set: choose one")
	case c.Header == "" && c.Query == "":
		return errors.New(": either header or query has to be set")
	case c.Env != "" && c.File != "":
		return errors.New(": env and file are both set: choose one")
	case c.Env == "" && c.File == "":
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
		name := c.File
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		data, err := os.ReadFile(name)
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

// secrets are the texts that are never shown, in small letters: some of what
// shows one, such as a host's name, has no others. A redactor finds them however
// their characters are escaped.
type secrets []string

// add adds a secret, as it is and as it stands in JSON, hexadecimal digits, and
// base64, there also as a part of something longer.
func (s *secrets) add(secret string) {
	inJSON, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(secret, "\uFFFD"))
	// Quoted, it may be escaped once more in a URL or in HTML.
	quoted := string(inJSON[1 : len(inJSON)-1])
	forms := []string{secret, quoted, inScript.Replace(quoted), hex.EncodeToString([]byte(secret))}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, e.EncodeToString([]byte(secret)))
		for before := range 3 {
			// The letters that are the secret's alone, whatever stands around it.
			text := e.EncodeToString(append(make([]byte, before), secret...))
			forms = append(forms, text[(before*8+5)/6:(before+len(secret))*8/6])
		}
	}
	for _, f := range forms {
		small := []byte(f)
		for i, c := range small {
			small[i] = lower(c)
		}
		if f = string(small); len(f) >= minSecret && !slices.Contains(*s, f) {
			*s = append(*s, f)
		}
	}
}

// inScript is how JSON is written that may stand within HTML.
var inScript = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// hide returns text without secrets. What is to be cut is hidden before: the
// beginning of a secret is not known for one.
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

// show returns at most limit bytes of text, without secrets.
func (s secrets) show(text string, limit int) string { return cut(s.hide(text), limit) }

// has tells whether text has a secret.
func (s secrets) has(text string) bool { return s.hide(text) != text }

// A hiddenError has no secrets in its text.
type hiddenError struct {
	error
	text string
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.error }

// hiding takes secrets out of the errors of a tool, wherever they are from.
func hiding[In any](s secrets, call func(context.Context, *tool.Request, In) (result.Result, error)) func(context.Context, *tool.Request, In) (result.Result, error) {
	return func(ctx context.Context, req *tool.Request, in In) (result.Result, error) {
		r, err := call(ctx, req, in)
		if err != nil && s.has(err.Error()) {
			err = &hiddenError{err, s.hide(err.Error())}
		}
		return r, err
	}
}
