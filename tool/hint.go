// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "github.com/go-json-experiment/json/jsontext"

// maxHint bounds a hint, as result.Page does.
const maxHint = 128

// hintOf says how to get less of a tool with the input schema given, for
// result.Page.Hint and result.Result.Hint. It is empty when the schema does not
// say what the arguments are.
func hintOf(schema jsontext.Value, pages bool) string {
	var names, flags []string
	members(lookup(schema, "properties"), func(m member) bool {
		name := string(m.name)
		switch {
		case pages && (name == "cursor" || name == "maxBytes"):
		case string(lookup(m.value, "type")) == `"boolean"`:
			flags = append(flags, join("", name))
		default:
			names = append(names, join("", name))
		}
		return true
	})
	if len(names) == 0 {
		names = flags // which cannot be narrowed as well as others
	}
	switch {
	case len(names) > 0 && len(names[0]) > maxHint/2:
		return "" // a name that would not help
	case len(names) == 1:
		return "narrow the argument " + names[0]
	case len(names) > 0:
		return "narrow the arguments (" + listUpTo(names, maxHint-len("narrow the arguments ()")) + ")"
	case string(lookup(schema, "additionalProperties")) != "false":
		return ""
	case pages:
		return "set maxBytes for a smaller page"
	}
	return "use another tool; this one has no arguments"
}

// listUpTo puts commas between names, and an ellipsis for those that would take
// it past max bytes.
func listUpTo(names []string, max int) string {
	const more = ", …"
	list := ""
	for i, name := range names {
		longer, rest := name, more
		if i > 0 {
			longer = list + ", " + name
		}
		if i == len(names)-1 {
			rest = ""
		}
		if len(longer)+len(rest) > max {
			return list + more
		}
		list = longer
	}
	return list
}
