// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"
)

// A tagItem is one keyword of a jsonschema struct tag.
type tagItem struct{ key, value string }

// tagKeys are the keywords that a tag may have, and tagFlags those without a
// value.
var (
	tagKeys = []string{
		"title", "description", "enum", "default", "example", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "minItems",
		"maxItems", "uniqueItems",
	}
	tagFlags = []string{"required", "uniqueItems", "deprecated"}
)

// parseTag splits a jsonschema tag, in which keywords stand between commas:
//
//	description=Where to look, as a path,default=.,enum=.,enum=/
//
// A comma belongs to the value when no keyword follows it, or when it is
// written as \, (a backslash before it); what follows = is never cut at
// another =. Blanks around keywords are left out. A tag that is a sentence
// without keywords, as other SDKs have it, is the description.
//
// A word before = that is no keyword is an error, unless a blank precedes it
// inside a description: there it is text.
func parseTag(tag string) ([]tagItem, error) {
	var items []tagItem
	if tag == "" {
		return nil, nil
	}
	for i, part := range splitCommas(tag) {
		word := strings.TrimSpace(part)
		key := keyOf(word)
		var last *tagItem
		if len(items) > 0 {
			last = &items[len(items)-1]
		}
		isText := last != nil && (last.key == "description" || last.key == "title")
		switch {
		case slices.Contains(tagKeys, key):
			items = append(items, tagItem{key, word[len(key)+1:]})
		case slices.Contains(tagFlags, word):
			items = append(items, tagItem{word, ""})
		case key != "" && isText && part != word: // ", x=1" inside a sentence
			last.value += "," + part
		case key != "":
			return nil, fmt.Errorf("unknown keyword %q in the jsonschema tag%s", key, meant(key))
		case i == 0 && strings.Contains(word, " "):
			items = append(items, tagItem{"description", word})
		case last == nil:
			return nil, fmt.Errorf("unknown word %q in the jsonschema tag%s", word, meant(word))
		case last.key == "enum":
			return nil, fmt.Errorf("%q after enum in the jsonschema tag: write enum=a,enum=b", word)
		case slices.Contains(tagFlags, last.key) && last.value == "":
			return nil, fmt.Errorf("unknown word %q in the jsonschema tag%s", word, meant(word))
		default:
			last.value += "," + part
		}
	}
	for i := range items {
		items[i].value = strings.ReplaceAll(items[i].value, escapedComma, ",")
		if k := items[i].key; k == "enum" || k == "description" || k == "title" {
			items[i].value = strings.TrimSpace(items[i].value)
		}
	}
	return items, nil
}

// keyOf is what stands before = in word, when it looks like a keyword.
func keyOf(word string) string {
	key, _, ok := strings.Cut(word, "=")
	if !ok || key == "" {
		return ""
	}
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '$' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return ""
		}
	}
	return key
}

func meant(word string) string {
	if near := nearest(word, append(tagKeys[:len(tagKeys):len(tagKeys)], tagFlags...)); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// escapedComma stands for a comma that does not split, while a tag is parsed.
const escapedComma = "\x00"

func splitCommas(tag string) []string {
	return strings.Split(strings.ReplaceAll(tag, `\,`, escapedComma), ",")
}

// apply sets what the tag of a field says. Keywords about single values apply
// to the items of an array.
func apply(s *jsonschema.Schema, items []tagItem) error {
	if s.Type == "array" && s.Items != nil {
		copied := *s.Items
		s.Items = &copied
	}
	for _, it := range items {
		target := s
		switch it.key {
		case "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
			"minLength", "maxLength", "pattern", "format":
			for target.Type == "array" && target.Items != nil {
				target = target.Items
			}
		}
		if err := applyOne(target, it); err != nil {
			return fmt.Errorf("%s=%s in the jsonschema tag: %w", it.key, it.value, err)
		}
	}
	return nil
}

func applyOne(s *jsonschema.Schema, it tagItem) error {
	numeric := s.Type == "integer" || s.Type == "number"
	switch it.key {
	case "required":
		return nil // of the parent
	case "title":
		s.Title = it.value
	case "description":
		if s.Description == durationWord { // which the type alone does not tell
			s.Description = it.value + " (" + durationWord + ")"
		} else {
			s.Description = it.value
		}
	case "deprecated":
		s.Deprecated = true
	case "enum":
		v, err := tagValue(s, it.value)
		if err != nil {
			return err
		}
		s.Enum = append(s.Enum, v)
	case "example":
		v, err := tagValue(s, it.value)
		if err != nil {
			return err
		}
		s.Examples = append(s.Examples, v)
	case "default":
		return applyDefault(s, it.value)
	case "minimum":
		return setNumber(&s.Minimum, it.value, numeric)
	case "maximum":
		return setNumber(&s.Maximum, it.value, numeric)
	case "exclusiveMinimum":
		return setNumber(&s.ExclusiveMinimum, it.value, numeric)
	case "exclusiveMaximum":
		return setNumber(&s.ExclusiveMaximum, it.value, numeric)
	case "multipleOf":
		if err := setNumber(&s.MultipleOf, it.value, numeric); err != nil {
			return err
		}
		if !positive([]byte(it.value)) {
			return errors.New("want a number above zero")
		}
	case "minLength":
		return setCount(&s.MinLength, it.value, s.Type == "string")
	case "maxLength":
		return setCount(&s.MaxLength, it.value, s.Type == "string")
	case "minItems":
		return setCount(&s.MinItems, it.value, s.Type == "array")
	case "maxItems":
		return setCount(&s.MaxItems, it.value, s.Type == "array")
	case "uniqueItems":
		if s.Type != "array" || it.value != "" && it.value != "true" {
			return errApplies
		}
		s.UniqueItems = true
	case "pattern":
		if s.Type != "string" {
			return errApplies
		}
		if _, err := regexp.Compile(it.value); err != nil {
			return err
		}
		s.Pattern = it.value
	case "format":
		if s.Type != "string" {
			return errApplies
		}
		s.Format = it.value
	}
	return nil
}

var errApplies = errors.New("the keyword does not apply to this type")

// tagValue reads text as a value of the type of s.
func tagValue(s *jsonschema.Schema, text string) (any, error) {
	switch s.Type {
	case "string":
		return text, nil
	case "integer":
		n, err := numberText(text)
		if err != nil || strings.ContainsAny(text, ".eE") {
			return nil, errors.New("want an integer")
		}
		return n, nil
	case "number":
		return numberText(text)
	case "boolean":
		if text != "true" && text != "false" {
			return nil, errors.New("want true or false")
		}
		return text == "true", nil
	}
	doc, err := decodeDocument([]byte(text))
	if err != nil {
		return nil, errors.New("want JSON")
	}
	return doc, nil
}

// applyDefault sets a default. For an array it is a JSON array, or one
// element, to which further ones are added.
func applyDefault(s *jsonschema.Schema, text string) error {
	if s.Type != "array" {
		if s.Default != nil {
			return errors.New("given twice")
		}
		v, err := tagValue(s, text)
		s.Default = v
		return err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if s.Default != nil {
			return errors.New("given twice")
		}
		v, err := tagValue(s, text)
		s.Default = v
		return err
	}
	v, err := tagValue(s.Items, text)
	if err != nil {
		return err
	}
	list, _ := s.Default.([]any)
	s.Default = append(list, v)
	return nil
}

func numberText(text string) (json.Number, error) {
	if !jsontext.Value(text).IsValid() || jsontext.Value(text).Kind() != '0' || strings.TrimSpace(text) != text {
		return "", errors.New("want a number")
	}
	return json.Number(text), nil
}

func setNumber(dst *json.Number, text string, applies bool) (err error) {
	if !applies {
		return errApplies
	}
	*dst, err = numberText(text)
	return err
}

func setCount(dst **uint64, text string, applies bool) error {
	if !applies {
		return errApplies
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("want a count")
	}
	*dst = &n
	return nil
}
