// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// prepare validates req.Arguments and brings them into normal form.
func (t *Tool) prepare(req *Request) error {
	text := bytes.TrimSpace(req.Arguments)
	if len(text) == 0 || string(text) == "null" {
		text = []byte("{}")
	}
	n, err := t.in.node()
	if err != nil {
		return &InternalError{Tool: t.info.Name, Err: err}
	}
	a := acceptor{text: text, flat: t.in.flatForm()}
	if a.accept(n) && !a.rewrite {
		return t.accepted(req, &a)
	}
	z := normalizer{defaults: true, unwrap: t.info.AcceptText}
	normal := z.normalize(nil, text, n)
	if len(normal) == 0 || normal[0] != '{' {
		return &Error{Code: codeInvalidParams, Message: "arguments have to be an object"}
	}
	req.Arguments = normal
	a = acceptor{text: normal, flat: a.flat}
	if a.accept(n) && !a.rewrite {
		return t.accepted(req, &a)
	}
	if !t.in.certain() {
		if found := tooMuch(normal); len(found) > 0 {
			return &argumentError{found}
		}
	}
	found, err := t.in.problems(normal)
	switch {
	case err != nil:
		return &InternalError{Tool: t.info.Name, Err: err}
	case len(found) > 0:
		found = append(found, t.undecodable(normal, found)...).sorted()
		return &argumentError{t.restart(found)}
	}
	return nil
}

// restart says what to do about a cursor that is not even a string, as package
// cursor does about others.
func (t *Tool) restart(found problems) problems {
	for i := range found {
		if t.pages && found[i].place == "cursor" && strings.HasPrefix(found[i].text, "found ") {
			found[i].text += `; start again without "cursor"`
		}
	}
	return found
}

// accepted takes over what a has accepted. It refuses duplicate names in what a
// did not read, unless the decoder of a Go type does it.
func (t *Tool) accepted(req *Request, a *acceptor) error {
	req.Arguments = a.text
	if a.flat != nil && !a.unread {
		req.decoded, req.from = a.flat.decode(a.text, &a.spans), a.text
	}
	if t.input != nil || !a.unread {
		return nil
	}
	if err := newDecoder(a.text).SkipValue(); err != nil {
		return &argumentError{problems{syntaxProblem(err)}}
	}
	return nil
}

// problems says what is wrong with text. An error means that the schema itself
// is at fault.
func (s *schema) problems(text []byte) (problems, error) {
	if s.certain() {
		return s.explain(text)
	}
	return s.ask(text)
}

// ask is problems by the validator.
func (s *schema) ask(text []byte) (problems, error) {
	doc, err := decodeDocument(text)
	if err != nil {
		return problems{syntaxProblem(err)}, nil
	}
	v, err := s.deep()
	if err != nil {
		return nil, err
	}
	return v.check(doc)
}

// syntaxProblem says why JSON could not be read.
func syntaxProblem(err error) problem {
	var odd *decodeError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &odd):
		return problem{placeOf(string(odd.Place)), odd.Err.Error()}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return problem{placeOf(string(syntax.JSONPointer)), "given twice"}
	case errors.As(err, &syntax):
		return problem{placeOf(string(syntax.JSONPointer)), clip(syntax.Err.Error(), 120)}
	}
	return problem{"", clip(err.Error(), 120)}
}

// decodeOptions are the rules for arguments: those of results, and a lone
// surrogate, which a frame may hold, becomes U+FFFD. Types that need none of
// the functions in them are decoded by plainOptions, which spares looking for
// those at every value.
var (
	plainOptions  = json.JoinOptions(json.DefaultOptionsV2(), jsontext.AllowInvalidUTF8(true))
	decodeOptions = json.JoinOptions(result.Options(), jsontext.AllowInvalidUTF8(true))
)

// decode returns the validated arguments as a Go value. What a schema does not
// say, such as the range of int64 or the form of an address, is found here.
func decode[In any](t *Tool, req *Request) (In, error) {
	args := req.Arguments
	if in, ok := req.decoded.(*In); ok && len(args) == len(req.from) && &args[0] == &req.from[0] { // else a middleware has replaced them
		return *in, nil
	}
	in := new(In)
	err := json.Unmarshal(args, in, t.decodeRules())
	if err == nil {
		return *in, nil
	}
	found := t.undecodable(args, nil)
	if len(found) == 0 { // it is not the fault of one alone
		found = problems{decodeProblem(args, err)}
	}
	return *in, &argumentError{found.sorted()}
}

func (t *Tool) decodeRules() json.Options {
	if t.in.plain {
		return plainOptions
	}
	return decodeOptions
}

// undecodable says which arguments cannot be decoded, but for those that known
// has a problem with. A decoder stops at its first error, so each argument is
// decoded by itself.
func (t *Tool) undecodable(args jsontext.Value, known problems) (found problems) {
	if t.input == nil || len(known) >= maxProblems { // more would not be shown
		return nil
	}
	members(args, func(m member) bool {
		place := placeOf("/" + escapePointer(string(m.name)))
		if known.in(place) {
			return true
		}
		alone := append(quote.Append([]byte("{"), m.name), ':')
		alone = append(append(alone, m.value...), '}')
		if err := json.Unmarshal(alone, reflect.New(t.input).Interface(), t.decodeRules()); err != nil {
			if p := (problems{decodeProblem(alone, err)}); p.in(place) { // else the others are missed
				found = append(found, p...)
			}
		}
		return len(found) < maxFound
	})
	return found
}

// decodeProblem says which argument could not be decoded, and why.
func decodeProblem(args jsontext.Value, err error) problem {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return syntaxProblem(err)
	}
	place := placeOf(string(semantic.JSONPointer))
	found := "a value"
	if v := valueAt(args, string(semantic.JSONPointer)); v != nil {
		found = shown(v)
	}
	wanted := wantedType(semantic.GoType)
	if name := nameAt(args, semantic.ByteOffset); name != nil {
		text := "the name cannot be used"
		if semantic.Err != nil {
			text += ": " + clip(semantic.Err.Error(), 120)
		}
		if wanted != "" {
			text = "the name has to be " + wanted
		}
		return problem{place, text}
	}
	if wanted != "" {
		return problem{place, fmt.Sprintf("found %s, wanted %s", found, wanted)}
	}
	why := ""
	if semantic.Err != nil {
		why = ": " + clip(semantic.Err.Error(), 120)
	}
	return problem{place, fmt.Sprintf("found %s, which cannot be used%s", found, why)}
}

// wantedType says what a Go type takes, where its name would not help a model.
func wantedType(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return ""
	case t == reflect.TypeFor[time.Duration]():
		return durationWord
	case t == reflect.TypeFor[time.Time]():
		return formatWord("date-time")
	case t.PkgPath() != "":
		return ""
	}
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Uint64:
		return "an integer within the range of " + k.String()
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number within the range of " + k.String()
	case (k == reflect.Slice || k == reflect.Array) && t.Elem() == reflect.TypeFor[byte]():
		return "base64"
	}
	return ""
}
