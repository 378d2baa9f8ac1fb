// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// sniffed is how many bytes of a body are looked at to tell what it is.
const sniffed = 1024

// A form is what a body is.
type form struct {
	mediaType string // as declared, else as found
	looksLike string // for a body that is not what it is declared to be
	binary    bool
	html      bool
	charset   string // "utf-8"; "" for a binary body
	guess     bool   // the charset is neither declared nor seen
	declared  string // the charset that was declared, if it is another one
	encoding  encoding.Encoding
}

// xmlCharset finds the charset in the first line of an XML document.
var xmlCharset = regexp.MustCompile(`^\s*<\?xml\s[^>]{0,200}encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// formOf tells what a body is by its header and its first bytes. The charset is
// the one that was chosen, where that is not "".
func formOf(contentType string, start []byte, chosen string) form {
	mediaType, params, _ := mime.ParseMediaType(contentType)
	found := http.DetectContentType(start)
	f := form{mediaType: mediaType}
	declared := params["charset"]
	if m := xmlCharset.FindSubmatch(start); m != nil && declared == "" && (mediaType == "" || mediaType == "text/xml" || mediaType == "application/xml" || strings.HasSuffix(mediaType, "+xml")) {
		declared = string(m[1])
		contentType = "text/xml; charset=" + declared
	}
	var certain bool
	f.encoding, f.charset, certain = charset.DetermineEncoding(start, contentType)
	switch {
	case chosen != "":
		f.encoding, f.charset = charset.Lookup(chosen)
	case bytes.HasPrefix(start, []byte("\xff\xfe\x00\x00")):
		f.encoding, f.charset = utf32.UTF32(utf32.LittleEndian, utf32.ExpectBOM), "utf-32le"
	case bytes.HasPrefix(start, []byte("\x00\x00\xfe\xff")):
		f.encoding, f.charset = utf32.UTF32(utf32.BigEndian, utf32.ExpectBOM), "utf-32be"
	default:
		f.guess = !certain && !inMeta(start)
	}
	wide := strings.HasPrefix(f.charset, "utf-16") || strings.HasPrefix(f.charset, "utf-32")
	foundText := strings.HasPrefix(found, "text/") || wide || chosen != "" && found == "application/octet-stream"
	switch {
	case len(start) == 0:
	case mediaType == "" || mediaType == "application/octet-stream" || mediaType == "binary/octet-stream":
		if strings.HasPrefix(found, "text/") {
			f.mediaType, _, _ = mime.ParseMediaType(found)
		} else if mediaType == "" {
			f.mediaType = found
		}
		f.binary = !foundText
	case !textual(mediaType):
		f.binary = true
	case !foundText && (found != "application/octet-stream" || bytes.IndexByte(start, 0) >= 0):
		f.binary, f.looksLike = true, found
	}
	if f.binary {
		f.charset, f.encoding, f.guess = "", nil, false
		return f
	}
	f.html = f.mediaType == "text/html" || f.mediaType == "application/xhtml+xml"
	if chosen == "" {
		f.settle(start)
	}
	if f.charset == "utf-8" {
		f.encoding = unicode.UTF8
	}
	if _, name := charset.Lookup(declared); declared != "" && name != f.charset {
		f.declared = declared
	}
	return f
}

// settle finds UTF-8 where another charset was found. A text that is UTF-8 and
// says that it is Latin is a common lie; bytes beyond ASCII that happen to be
// UTF-8 are rare, and so they are in another charset that has no such text.
func (f *form) settle(start []byte) {
	valid, beyond := isUTF8(start)
	if f.charset == "utf-8" || !valid {
		return
	}
	yes := beyond || f.guess
	if f.charset != "windows-1252" && !strings.HasPrefix(f.charset, "iso-8859-") && f.charset != "replacement" {
		decoded, err := f.encoding.NewDecoder().Bytes(start)
		if len(start) >= sniffed { // it may end within a character
			decoded = decoded[:max(len(decoded)-16, 0)]
		}
		yes = beyond && (err != nil || bytes.Contains(decoded, replacement))
	}
	if yes {
		f.charset, f.guess = "utf-8", !beyond
	}
}

// inMeta tells whether HTML names its charset.
func inMeta(start []byte) bool {
	ascii := slices.DeleteFunc(bytes.Clone(start[:min(len(start), sniffed-4)]), func(c byte) bool { return c >= utf8.RuneSelf })
	// Where it does not, what is beyond ASCII decides.
	_, without, _ := charset.DetermineEncoding(ascii, "")
	_, with, _ := charset.DetermineEncoding(append(ascii, "é "...), "")
	return without != "windows-1252" || with != "utf-8"
}

// A counter decodes, and counts what is not of the charset.
type counter struct {
	transform.Transformer
	utf8 bool
	n    int64
}

var replacement = []byte("\uFFFD")

func (c *counter) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	nDst, nSrc, err = c.Transformer.Transform(dst, src, atEOF)
	c.n += int64(bytes.Count(dst[:nDst], replacement))
	if c.utf8 { // some stood there before
		c.n -= int64(bytes.Count(src[:nSrc], replacement))
	}
	return nDst, nSrc, err
}

// isUTF8 tells whether b, which may end within a character, is UTF-8, and
// whether that has characters beyond ASCII.
func isUTF8(b []byte) (valid, beyond bool) {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return len(b) < utf8.UTFMax && !utf8.FullRune(b), beyond
		}
		beyond = beyond || n > 1
		b = b[n:]
	}
	return true, beyond
}

// textual media types are shown as text.
func textual(t string) bool {
	if strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+yaml") {
		return true
	}
	switch t {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql", "application/x-sh",
		"application/x-ndjson", "application/jsonl", "application/json-seq", "application/x-www-form-urlencoded", "application/xml-dtd",
		"application/rtf", "message/rfc822", "message/http", "multipart/form-data":
		return true
	}
	return false
}
