// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
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
	declared  string // the charset that was declared, if it is another one
	encoding  encoding.Encoding
}

// formOf tells what a body is by its header and its first bytes.
func formOf(contentType string, start []byte) form {
	mediaType, params, _ := mime.ParseMediaType(contentType)
	found := http.DetectContentType(start)
	f := form{mediaType: mediaType}
	f.encoding, f.charset, _ = charset.DetermineEncoding(start, contentType)
	wide := strings.HasPrefix(f.charset, "utf-16")
	foundText := strings.HasPrefix(found, "text/")
	switch {
	case len(start) == 0:
		f.mediaType = mediaType
	case mediaType == "" || mediaType == "application/octet-stream" || mediaType == "binary/octet-stream":
		if foundText {
			f.mediaType, _, _ = mime.ParseMediaType(found)
		} else if mediaType == "" {
			f.mediaType = found
		}
		f.binary = !foundText
	case !textual(mediaType):
		f.binary = true
	case !foundText && (found != "application/octet-stream" || bytes.IndexByte(start, 0) >= 0) && !wide:
		f.binary, f.looksLike = true, found
	}
	if f.binary {
		f.charset, f.encoding = "", nil
		return f
	}
	f.html = f.mediaType == "text/html" || f.mediaType == "application/xhtml+xml"
	f.declare(params["charset"], start)
	return f
}

// declare settles the charset of a text. A text that is UTF-8 and says that it
// is Latin is a common lie; bytes beyond ASCII that happen to be UTF-8 are rare.
func (f *form) declare(declared string, start []byte) {
	_, name := charset.Lookup(declared)
	if f.charset == "windows-1252" || strings.HasPrefix(f.charset, "iso-8859-") || f.charset == "replacement" {
		if valid, beyond := isUTF8(start); valid && (beyond || name == "") {
			f.charset, f.encoding = "utf-8", unicode.UTF8
		}
	}
	if declared != "" && name != f.charset {
		f.declared = declared
	}
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
