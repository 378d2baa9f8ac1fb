// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/weir-mcp/weir/internal/quote"
)

// maxProblems is how many problems one text names.
const maxProblems = 10

// maxFound is how many problems are looked for.
const maxFound = 100

// A problem is one thing that is wrong with a value: where, and what was found
// and wanted.
type problem struct{ place, text string }

type problems []problem

// String is one short line a problem, each with a dash in front.
func (ps problems) String() string { return ps.text("arguments") }

// text is String with a word for the value as a whole.
func (ps problems) text(whole string) string {
	var b strings.Builder
	for i, p := range ps {
		if i == maxProblems && len(ps) >= maxFound {
			b.WriteString("\n- and many more")
			break
		}
		if i == maxProblems {
			fmt.Fprintf(&b, "\n- and %d more", len(ps)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + cmp.Or(p.place, whole) + ": " + p.text)
	}
	return b.String()
}

// in tells whether one of them is at the place or below it.
func (ps problems) in(place string) bool {
	return slices.ContainsFunc(ps, func(p problem) bool {
		rest, ok := strings.CutPrefix(p.place, place)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// sorted returns the problems in the order of their places, each once.
func (ps problems) sorted() problems {
	slices.SortFunc(ps, func(a, b problem) int {
		if c := strings.Compare(a.place, b.place); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	return slices.Compact(ps)
}

// A reporter turns what the validator says into problems.
type reporter struct {
	schema any // the schema's document
	doc    any // the value
	found  problems
}

func (r *reporter) add(place, format string, a ...any) {
	if len(r.found) < maxFound {
		r.found = append(r.found, problem{place, fmt.Sprintf(format, a...)})
	}
}

// report adds what e, a node of the validator's tree of errors, says.
func (r *reporter) report(e *jsonschema.ValidationError) {
	_, pointer, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	path := slices.Collect(tokens(pointerOf(pointer)))
	keyword := ""
	if len(path) > 0 {
		keyword = path[len(path)-1]
	}
	branches := false
	switch keyword {
	case "anyOf", "oneOf", "minContains":
		branches = e.Message != "" // else a property of that name
	}
	if len(e.Causes) > 0 && !branches { // why each branch did not fit is more than helps
		for _, c := range e.Causes {
			r.report(c)
		}
		return
	}
	var rules object
	if n := len(path); n > 0 {
		parent := ""
		for _, t := range path[:n-1] {
			parent += "/" + escapePointer(t)
		}
		s, _ := resolve(r.schema, parent)
		rules, _ = s.(object)
	}
	instance := pointerOf(e.InstanceLocation)
	value, _ := resolve(r.doc, instance)
	if n := len(path); n > 1 && path[n-2] == "propertyNames" {
		value = lastToken(instance) // the name itself
	}
	r.explain(placeOf(instance), keyword, rules, value, e.Message)
}

// explain adds the problem that value has with a keyword of the schema rules.
func (r *reporter) explain(place, keyword string, rules object, value any, message string) {
	arg := rules[keyword]
	switch keyword {
	case "type":
		hint := ""
		if s, ok := value.(string); ok && looksLikeJSON(s) && !slices.Contains(typesOf(arg), "string") {
			hint = "; send it as JSON, not as text"
		}
		r.add(place, "found %s, wanted %s%s", foundWord(value), wantedWord(rules), hint)
	case "required":
		obj, _ := value.(object)
		props, _ := rules["properties"].(object)
		list, _ := arg.([]any)
		for _, e := range list {
			name, _ := e.(string)
			if _, ok := obj[name]; ok {
				continue
			}
			wanted := ""
			if p, ok := props[name].(object); ok && p["type"] != nil {
				wanted = ", wanted " + wantedWord(p)
			}
			r.add(join(place, name), "missing%s", wanted)
		}
	case "additionalProperties", "unevaluatedProperties":
		r.unknown(place, rules, value)
	case "enum":
		list, _ := arg.([]any)
		r.add(place, "found %s, wanted one of %s", foundWord(value), listWords(list))
	case "const":
		r.add(place, "found %s, wanted %s", foundWord(value), show(arg))
	case "minimum":
		r.add(place, "found %s, wanted at least %s", show(value), show(arg))
	case "maximum":
		r.add(place, "found %s, wanted at most %s", show(value), show(arg))
	case "exclusiveMinimum":
		r.add(place, "found %s, wanted more than %s", show(value), show(arg))
	case "exclusiveMaximum":
		r.add(place, "found %s, wanted less than %s", show(value), show(arg))
	case "multipleOf":
		r.add(place, "found %s, wanted a multiple of %s", show(value), show(arg))
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		r.size(place, keyword, arg, value)
	case "pattern":
		r.add(place, "found %s, wanted a match of %s", show(value), clip(fmt.Sprint(arg), 80))
	case "format":
		r.add(place, "found %s, wanted %s", show(value), formatWord(arg))
	case "minContains", "maxContains":
		r.add(place, "found too few or too many of the items that it has to contain")
	case "uniqueItems":
		r.add(place, "found equal items, wanted each once")
	case "anyOf", "oneOf":
		r.add(place, "found %s, which fits none (or too many) of the forms that are allowed here", foundWord(value))
	case "not":
		r.add(place, "found %s, which is excluded here", foundWord(value))
	default:
		r.add(place, "%s", clip(message, 120))
	}
}

// unknown names each property that the schema does not know, and the nearest
// one that it does.
func (r *reporter) unknown(place string, rules object, value any) {
	obj, _ := value.(object)
	props, _ := rules["properties"].(object)
	patterns, _ := rules["patternProperties"].(object)
	known := sortedNames(props)
	for _, name := range sortedNames(obj) {
		if _, ok := props[name]; ok || matchesAny(patterns, name) {
			continue
		}
		switch near := nearest(name, known); {
		case near != "":
			r.add(join(place, name), "unknown; did you mean %s?", show(near))
		case len(known) == 0:
			r.add(join(place, name), "unknown; nothing is expected here")
		default:
			r.add(join(place, name), "unknown; known are %s", nameList(known))
		}
	}
}

func matchesAny(patterns object, name string) bool {
	for p := range patterns {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

func (r *reporter) size(place, keyword string, arg, value any) {
	n, unit := 0, "items"
	switch v := value.(type) {
	case string:
		n, unit = len([]rune(v)), "characters"
	case []any:
		n = len(v)
	case object:
		n, unit = len(v), "properties"
	}
	r.sized(place, keyword, arg, n, unit)
}

// sized adds that there are n units of something, which keyword forbids.
func (r *reporter) sized(place, keyword string, arg any, n int, unit string) {
	wanted := "at least"
	if strings.HasPrefix(keyword, "max") {
		wanted = "at most"
	}
	r.add(place, "found %d %s, wanted %s %s", n, unit, wanted, show(arg))
}

// placeOf writes a JSON pointer as people write paths: items[2].name. The value
// as a whole is "".
func placeOf(pointer string) string {
	place := ""
	for t := range tokens(pointer) {
		if len(place) > maxPlace {
			break
		}
		if _, err := strconv.Atoi(t); err == nil && place != "" {
			place += "[" + t + "]"
			continue
		}
		place = join(place, t)
	}
	return clip(place, maxPlace)
}

// maxPlace bounds a place in bytes.
const maxPlace = 120

// simpleName tells whether a name needs no quotes in a place.
func simpleName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '$' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
			(i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// join adds a property's name to a place.
func join(place, name string) string {
	if !simpleName(name) {
		name = show(name)
	}
	if place == "" {
		return name
	}
	return place + "." + name
}

// foundWord is show with the type where it is not plain to see.
func foundWord(v any) string {
	if _, ok := v.(string); ok {
		return show(v) + " (string)"
	}
	return show(v)
}

// durationWord names what time.Duration is written as.
const durationWord = `a duration such as "1m30s"`

func formatWord(arg any) string {
	if arg == "date-time" {
		return `a date-time such as "2026-07-28T12:00:00Z"`
	}
	return fmt.Sprintf("the format %v", arg)
}

func lastToken(pointer string) string {
	last := ""
	for t := range tokens(pointer) {
		last = t
	}
	return last
}

func typesOf(arg any) []string {
	switch t := arg.(type) {
	case string:
		return []string{t}
	case []any:
		var all []string
		for _, e := range t {
			s, _ := e.(string)
			all = append(all, s)
		}
		return all
	}
	return nil
}

// wantedWord names what a schema with a type wants.
func wantedWord(schema object) string {
	if description, _ := schema["description"].(string); strings.Contains(description, durationWord) {
		return durationWord
	}
	types := typesOf(schema["type"])
	if slices.Contains(types, "string") {
		switch {
		case schema["format"] == "date-time":
			types[slices.Index(types, "string")] = formatWord("date-time")
		case schema["contentEncoding"] == "base64":
			types[slices.Index(types, "string")] = "base64"
		}
	}
	return strings.Join(types, " or ")
}

func looksLikeJSON(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && json.Valid([]byte(s))
}

func listWords(list []any) string {
	words := make([]string, 0, len(list))
	for _, e := range list {
		if len(words) == 12 {
			words = append(words, "…")
			break
		}
		words = append(words, show(e))
	}
	return strings.Join(words, ", ")
}

func nameList(names []string) string {
	if len(names) > 8 {
		return strings.Join(names[:8], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// clip cuts text that is no string of the caller to at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return quote.Cut(s, n) + "…"
}
