// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	jsonv1 "encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// Options returns Weir's rules for turning Go values into JSON and back. They
// are those of JSON v2 (github.com/go-json-experiment/json), and:
//
//   - int64 and uint64 keep every digit, both ways. A json.Number is a number,
//     and so is what a number becomes when it is decoded into an any. For hosts
//     that round numbers themselves, tag the field `json:",string"`.
//   - A nil slice is [], a nil map {}; map members are sorted by name.
//   - time.Duration is a string such as "1m30s", time.Time one in RFC 3339,
//     url.URL one such as "https://example.com/", []byte one in base64.
//   - Invalid UTF-8 in a Go string becomes U+FFFD, and so does an escaped lone
//     surrogate that is decoded; U+2028 and U+2029 are escaped; <, > and & are
//     not.
//   - Raw JSON (json.RawMessage, jsontext.Value, what MarshalJSON returns) is
//     compacted and checked. Syntax errors and duplicate names are refused;
//     invalid UTF-8 is refused too, or, from MarshalJSON, becomes U+FFFD.
//
// An integer written as 1.0 or 1e3 is refused by JSON v2 for a Go integer;
// package tool, which knows the schema, rewrites such numbers first.
//
// The returned Options may be shared by any number of goroutines.
func Options() json.Options { return fullOptions }

// plainOptions are the rules for types in which nothing needs a function of
// ours; looking for one costs time at every value. See [shapeOf].
var (
	plainOptions = json.JoinOptions(
		json.DefaultOptionsV2(),
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true),
		jsontext.EscapeForJS(true),
	)
	fullOptions = json.JoinOptions(
		plainOptions,
		json.WithMarshalers(json.JoinMarshalers(
			json.MarshalToFunc(marshalNumber),
			json.MarshalToFunc(marshalDuration),
			json.MarshalToFunc(marshalURL),
			json.MarshalToFunc(marshalRaw[jsonv1.RawMessage]),
			json.MarshalToFunc(marshalRaw[jsontext.Value]),
		)),
		json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFromFunc(unmarshalAny),
			json.UnmarshalFromFunc(unmarshalNumber),
			json.UnmarshalFromFunc(unmarshalDuration),
			json.UnmarshalFromFunc(unmarshalURL),
		)),
	)
)

func marshalNumber(e *jsontext.Encoder, n jsonv1.Number) error {
	if n == "" {
		n = "0" // as encoding/json has it
	}
	v := jsontext.Value(n)
	if v.Kind() != '0' {
		return errors.New("a json.Number that is not a number")
	}
	return e.WriteValue(v)
}

func unmarshalNumber(d *jsontext.Decoder, n *jsonv1.Number) error {
	switch d.PeekKind() {
	case '0':
		v, err := d.ReadValue()
		*n = jsonv1.Number(v)
		return err
	case 'n':
		*n = ""
		return d.SkipValue()
	}
	return errors.New("want a number")
}

// unmarshalAny leaves all but numbers to JSON v2, which would make a float64 of
// them.
func unmarshalAny(d *jsontext.Decoder, p *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	v, err := d.ReadValue()
	*p = jsonv1.Number(v)
	return err
}

func marshalDuration(e *jsontext.Encoder, d time.Duration) error {
	return e.WriteToken(jsontext.String(d.String()))
}

func unmarshalDuration(d *jsontext.Decoder, p *time.Duration) error {
	return unmarshalText(d, p, `want a duration such as "1m30s"`, time.ParseDuration)
}

func marshalURL(e *jsontext.Encoder, u url.URL) error {
	return e.WriteToken(jsontext.String(u.String()))
}

func unmarshalURL(d *jsontext.Decoder, p *url.URL) error {
	return unmarshalText(d, p, "want a URL as a string", func(s string) (url.URL, error) {
		u, err := url.Parse(s)
		if err != nil {
			return url.URL{}, err
		}
		return *u, nil
	})
}

// unmarshalText reads a string and parses it; null is the zero T.
func unmarshalText[T any](d *jsontext.Decoder, p *T, want string, parse func(string) (T, error)) error {
	switch d.PeekKind() {
	case '"':
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		*p, err = parse(t.String())
		return err
	case 'n':
		var zero T
		*p = zero
		return d.SkipValue()
	}
	return errors.New(want)
}

func marshalRaw[T ~[]byte](e *jsontext.Encoder, raw T) error {
	if len(raw) == 0 {
		return e.WriteToken(jsontext.Null)
	}
	v, err := quote.Raw(nil, raw)
	if err != nil {
		return err
	}
	return e.WriteValue(v)
}
