// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/text/transform"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// FetchInput are the arguments of fetch.
type FetchInput struct {
	URL     string   `json:"url" jsonschema:"description=Where to ask\\, with https:// or http://,maxLength=4096"`
	Format  string   `json:"format,omitempty" jsonschema:"description=text makes plain text of HTML\\, with its links as [n]; raw shows the source.,enum=text,enum=raw,default=text"`
	Accept  string   `json:"accept,omitempty" jsonschema:"description=Media types to ask for\\, such as text/markdown. Leave out for any.,maxLength=200"`
	Charset string   `json:"charset,omitempty" jsonschema:"description=Read the text in this charset\\, such as gbk\\, where the one that was found is wrong. Leave out to find it.,maxLength=40"`
	Headers []string `json:"headers,omitempty" jsonschema:"description=Names of the response's headers to show\\, * for all. Leave out for the usual ones.,maxItems=50"`
	tool.PageInput
}

// Fetched is what fetch answers.
type Fetched struct {
	Status
	MediaType  string `json:"mediaType,omitempty"`
	LooksLike  string `json:"looksLike,omitempty" jsonschema:"description=The media type that the body seems to have\\, where it is not as declared"`
	Charset    string `json:"charset,omitempty" jsonschema:"description=That the text came in; it is shown as UTF-8"`
	Guess      bool   `json:"charsetGuessed,omitzero" jsonschema:"description=No charset was declared\\, and the text does not tell"`
	Declared   string `json:"declaredCharset,omitempty" jsonschema:"description=The charset that was declared\\, where the text is not in it"`
	Encoding   string `json:"contentEncoding,omitempty" jsonschema:"description=How the body came compressed"`
	Binary     bool   `json:"binary,omitzero" jsonschema:"description=The body is no text and is not shown"`
	Size       *int64 `json:"size,omitempty" jsonschema:"description=Bytes of the whole body\\, where known"`
	From       int64  `json:"from" jsonschema:"description=Byte of the text at which this part begins"`
	Text       string `json:"text"`
	Links      []Link `json:"links,omitempty" jsonschema:"description=What each [n] in the text leads to"`
	NoNumber   bool   `json:"linksLeftOut,omitzero" jsonschema:"description=The page has more links than can have a number"`
	Invalid    int64  `json:"invalid,omitzero" jsonschema:"description=How many U+FFFD of this part stand for what is not of the charset"`
	Incomplete string `json:"incomplete,omitempty" jsonschema:"description=Why the body could not be read to its end"`
	Artifact   string `json:"artifact,omitempty" jsonschema:"description=Handle of the whole body for read_artifact"`
	Kept       string `json:"kept,omitempty" jsonschema:"description=What of the body the artifact has\\, or why there is none"`
	Truncated  bool   `json:"truncated"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// A place is where a text goes on.
type place struct {
	At    int64  `json:"a"`
	Range bool   `json:"r,omitzero"` // it is a byte of the body as it comes
	Tag   string `json:"e,omitempty"`
	Size  int64  `json:"s,omitzero"`
}

var textCursors cursor.Codec[place]

var errChanged = errors.New("cursor: what is there has changed since the page before; start again without cursor")

func (f *fetcher) fetch(ctx context.Context, req *tool.Request, in FetchInput) (result.Result, error) {
	from, err := textCursors.Decode(req, in.Cursor)
	if err != nil {
		return result.Result{}, err
	}
	if in.Charset != "" {
		if e, _ := charset.Lookup(in.Charset); e == nil {
			return result.Result{}, fmt.Errorf("charset: there is no charset %q; write it like utf-8, gbk, shift_jis or iso-8859-2", in.Charset)
		}
	}
	if !httpguts.ValidHeaderFieldValue(in.Accept) {
		return result.Result{}, errors.New("accept: it has characters that a header may not have")
	}
	header := http.Header{"Accept-Encoding": {encodings}}
	if in.Accept != "" {
		header.Set("Accept", in.Accept)
	}
	if from.Range {
		header.Set("Accept-Encoding", "identity")
		header.Set("Range", fmt.Sprintf("bytes=%d-", from.At))
		if ifRange(from.Tag) {
			header.Set("If-Range", from.Tag)
		}
	}
	outer := ctx
	ctx, stop := f.begin(ctx)
	defer stop()
	a, err := f.ask(ctx, http.MethodGet, in.URL, header)
	if err != nil {
		return result.Result{}, err
	}
	defer a.close()
	r := reading{fetcher: f, answer: a, in: in, from: from, budget: req.Budget().Bytes}
	if err := r.part(); err != nil {
		return result.Result{}, err
	}
	if err := r.read(); err != nil {
		return result.Result{}, err
	}
	res, err := r.result(req)
	if err == nil && outer.Err() != nil {
		err = context.Cause(outer)
	}
	return res, err
}

// A reading is a body that is read for fetch.
type reading struct {
	*fetcher
	*answer
	in     FetchInput
	from   place
	budget int

	out     Fetched
	preview preview
	html    htmlText
	keep    *keeper
	decoded *counter // nil: the text is shown as it came
	unasked bool     // a part came that nobody asked for
	skipped int64    // of the body, before what was sent
	short   bool     // what was asked for was sent in part
	ranged  bool     // offsets of the text are those of the body
	size    int64    // of the whole; -1: unknown
}

// part looks whether the answer is what the cursor goes on with.
func (r *reading) part() error {
	r.size = -1
	switch {
	case r.in.Cursor == "" && r.StatusCode == http.StatusPartialContent:
		r.unasked = true
		if _, _, size, ok := contentRange(r.Header.Get("Content-Range")); ok {
			r.size = size
		}
	case r.in.Cursor == "":
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return errChanged
	case r.StatusCode == http.StatusPartialContent && r.from.Range:
		start, end, size, ok := contentRange(r.Header.Get("Content-Range"))
		if !ok || start != r.from.At {
			return fmt.Errorf("%s was asked for byte %d and sent another part; start again without cursor", r.url.Host, r.from.At)
		}
		if r.body.encoding != "" {
			return errChanged
		}
		r.skipped, r.size = start, size
		if size < 0 && r.from.Size > 0 {
			r.size = r.from.Size
		}
		r.short = end < r.size
	case r.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s this time: try again later with the same cursor", r.url.Host, r.policy.secrets.show(r.Response.Status, 100))
	}
	if r.in.Cursor != "" && r.from.Tag != "" && r.tag(r.Header) != r.from.Tag {
		return errChanged
	}
	if r.size < 0 && !r.unasked && r.body.encoding == "" && r.ContentLength >= 0 && r.skipped == 0 {
		r.size = r.ContentLength
	}
	if r.resized() {
		return errChanged
	}
	return nil
}

// resized tells whether the whole has another size than it had for the page before.
func (r *reading) resized() bool {
	return r.in.Cursor != "" && r.from.Size > 0 && r.size >= 0 && r.size != r.from.Size
}

// read reads as much of the body as is shown, and all of it where it is kept.
func (r *reading) read() error {
	buffered := bufio.NewReaderSize(r.body, 4<<10)
	start, _ := buffered.Peek(sniffed)
	var form form
	if r.skipped > 0 { // a part of what was seen to be UTF-8
		form = formOf("text/plain; charset=utf-8", nil, "")
		form.mediaType, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	} else if r.body.unknown {
		form.binary = true
		form.mediaType, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	} else {
		form = formOf(r.Header.Get("Content-Type"), start, r.in.Charset)
	}
	show := r.policy.secrets.show
	r.out = Fetched{
		Status:    r.status(r.answer, r.in.Headers, r.budget/4),
		MediaType: show(form.mediaType, 100), LooksLike: form.looksLike, Charset: form.charset, Guess: form.guess, Declared: show(form.declared, 40),
		Encoding: show(r.body.encoding, 40), Binary: form.binary, From: r.from.At,
	}
	if r.store != nil && r.in.Cursor == "" {
		r.keep = newKeeper(r.store, r.policy.secrets, r.out.URL, r.out.MediaType, form.binary)
		defer r.keep.close()
	}
	if form.binary {
		if r.keep != nil {
			io.Copy(r.keep, buffered)
			r.keep.commit(r.body)
		}
		return nil
	}
	base, err := result.Marshal(context.Background(), r.out, r.budget)
	if err != nil {
		return fmt.Errorf("maxBytes: too small for this answer: %w", err)
	}
	r.preview = preview{from: r.from.At, at: r.skipped, room: max(r.budget-len(base)-reserve, 64)}
	var text io.Reader = buffered
	isHTML := form.html && r.in.Format != "raw"
	if form.charset != "utf-8" || isHTML {
		r.decoded = &counter{Transformer: form.encoding.NewDecoder(), utf8: form.charset == "utf-8"}
		text = transform.NewReader(newRedactedReader(buffered, r.policy.secrets), r.decoded)
	} else {
		r.ranged = r.body.encoding == ""
	}
	if isHTML {
		b := bufio.NewReaderSize(text, 4<<10)
		if start, _ := b.Peek(3); string(start) == "\ufeff" {
			b.Discard(3)
		}
		text = b
	}
	if r.keep != nil {
		text = io.TeeReader(text, r.keep)
	}
	r.show(text, isHTML)
	if r.keep != nil && (r.preview.full || r.out.Incomplete != "") {
		io.Copy(io.Discard, text) // into the store
		r.keep.commit(r.body)
	}
	return nil
}

// reserve is what cursor, artifact and sentences may take of a result.
const reserve = 600

// show reads text until the preview is full.
func (r *reading) show(text io.Reader, isHTML bool) {
	p := &r.preview
	redact := redactor{secrets: r.policy.secrets, to: p}
	if isHTML {
		r.html = htmlText{base: r.url, write: redact.write}
		p.links = func(n int) string { return r.policy.secrets.hide(r.html.url(n)) }
		if err := r.html.read(text, func() bool { return p.full }); err != nil && r.body.err == nil {
			r.out.Incomplete = err.Error()
		}
	} else {
		buf := make([]byte, 4<<10)
		for first := true; !p.full; first = false {
			n, err := io.ReadAtLeast(text, buf, 3)
			b := buf[:n]
			if first && r.skipped == 0 && bytes.HasPrefix(b, []byte("\ufeff")) {
				p.at += 3
				b = b[3:]
			}
			redact.write(b)
			if err != nil {
				break
			}
		}
	}
	if !p.full && r.body.err == nil && !r.short { // else it may have broken off within a secret or a character
		redact.flush()
		p.finish()
	}
}

// result makes the result of what was read.
func (r *reading) result(req *tool.Request) (result.Result, error) {
	out, p := &r.out, &r.preview
	out.Text, out.Links, out.Invalid, out.NoNumber = p.text.String(), p.shown, p.invalid, r.html.more
	if r.decoded != nil {
		out.Invalid += min(p.odd, r.decoded.n)
	}
	out.Guess = out.Guess && (out.Charset != "utf-8" || out.Invalid > 0)
	switch {
	case r.unasked:
		out.Incomplete = "the server sent a part of it, which was not asked for"
	case r.body.unknown:
		out.Incomplete = "it is compressed with " + out.Encoding + ", which was not asked for and cannot be read here"
	}
	if why := r.body.why(r.ContentLength); why != "" {
		out.Incomplete = r.policy.secrets.hide(why)
	}
	if r.body.ended && !r.unasked && !r.short {
		r.size = r.body.n + r.skipped
	}
	if r.resized() {
		return result.Result{}, errChanged
	}
	if r.size >= 0 {
		out.Size = &r.size
	}
	if k := r.keep; k != nil && k.done {
		out.Artifact, out.Kept = k.info.Handle, k.kept
	}
	// What a body broke off can be asked for again where its bytes can be named.
	broken := out.Incomplete != "" && r.ranged && r.Header.Get("Accept-Ranges") == "bytes" || r.short
	if p.full || broken && p.at > r.from.At {
		next := place{At: p.at, Range: r.ranged, Tag: r.tag(r.Header), Size: max(r.size, 0)}
		var err error
		if out.NextCursor, err = textCursors.Encode(req, next); err != nil {
			return result.Result{}, err
		}
	}
	if r.short && out.NextCursor == "" {
		out.Incomplete = "the server sends parts that are too small to go on with"
	}
	out.Truncated = p.full || r.short || out.Incomplete != ""
	return textResult(out.text(), out), nil
}

// text is the form that most models see: what it is and how to go on first.
func (o *Fetched) text() string {
	var b strings.Builder
	b.WriteString(o.line() + "\n")
	var what []string
	add := func(s string, yes bool) {
		if yes {
			what = append(what, s)
		}
	}
	add(o.MediaType, o.MediaType != "")
	add("which looks like "+o.LooksLike, o.LooksLike != "")
	if o.Guess {
		add(o.Charset+" by guess (charset sets another one)", true)
	} else {
		add(o.Charset, o.Charset != "")
	}
	add("declared as "+o.Declared, o.Declared != "")
	add(o.Encoding, o.Encoding != "")
	if o.Size != nil {
		add(number(*o.Size)+" bytes", true)
	}
	if len(what) > 0 {
		b.WriteString(strings.Join(what, ", ") + ".")
	}
	if o.Binary {
		b.WriteString(" Binary: not shown.")
	}
	if o.From > 0 {
		fmt.Fprintf(&b, " Goes on at byte %s of the text.", number(o.From))
	}
	if o.Incomplete != "" {
		b.WriteString(" Incomplete: " + o.Incomplete + ".")
	}
	if o.Invalid > 0 {
		fmt.Fprintf(&b, " %s characters are not of that charset, shown as U+FFFD.", number(o.Invalid))
	}
	if o.NoNumber {
		fmt.Fprintf(&b, " Only the first %s links have a number.", number(maxLinks))
	}
	if o.NextCursor != "" {
		fmt.Fprintf(&b, " There is more: use cursor %q to continue", o.NextCursor)
		if o.Artifact != "" {
			fmt.Fprintf(&b, `, or read_artifact {"handle":%q} for %s`, o.Artifact, o.Kept)
		}
		b.WriteString(".")
	} else if o.Artifact != "" {
		fmt.Fprintf(&b, ` Kept: read_artifact {"handle":%q} has %s.`, o.Artifact, o.Kept)
	}
	if o.Artifact == "" && o.Kept != "" {
		b.WriteString(" Not kept: " + o.Kept + ".")
	}
	b.WriteString("\n")
	o.lines(&b)
	if o.Text != "" {
		b.WriteString("\n" + o.Text)
	}
	if len(o.Links) > 0 {
		b.WriteString("\n\nLinks:")
		for _, l := range o.Links {
			fmt.Fprintf(&b, "\n[%d] %s", l.N, l.URL)
		}
	}
	if o.Text == "" {
		return strings.TrimRight(b.String(), "\n")
	}
	return b.String()
}
