// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/weir-mcp/weir/internal/document"
)

// shape is what a schema says of the properties of an object.
type shape struct {
	props    document.Object
	patterns document.Object
	required map[string]bool
	more     any  // the schema of all others: false, true, or an object that is not empty
	rest     bool // more comes from unevaluatedProperties
}

func shapeOf(s document.Object) shape {
	o := shape{required: map[string]bool{}, more: true}
	o.props, _ = s["properties"].(document.Object)
	o.patterns, _ = s["patternProperties"].(document.Object)
	if list, ok := s["required"].([]any); ok {
		for _, v := range list {
			if name, ok := v.(string); ok {
				o.required[name] = true
			}
		}
	}
	if more, has := s["additionalProperties"]; has {
		o.more = more
	} else if s["unevaluatedProperties"] == false && s["allOf"] == nil && s["anyOf"] == nil && s["oneOf"] == nil && s["if"] == nil {
		o.more, o.rest = false, true
	}
	if o.more != false {
		if m, ok := o.more.(document.Object); !ok || len(m) == 0 {
			o.more = true
		}
	}
	return o
}

// other is the schema that applies to a name that is no property: false, or
// true where nothing is said of such names, or a schema.
func (o *shape) other(name string) any {
	var found any
	for _, p := range document.Names(o.patterns) {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(name) {
			if found != nil {
				return document.Object{"allOf": []any{found, o.patterns[p]}}
			}
			if found = o.patterns[p]; found == true {
				found = anything
			}
		}
	}
	if found != nil {
		return found
	}
	return o.more
}

// noun is what a property is called: an argument, or a field of a result.
func (d *differ) noun() string {
	if d.dir == input {
		return "argument"
	}
	return "field"
}

// objects compares what is said of objects.
func (d *differ) objects(place string, old, new document.Object, common types) {
	if common&objects == 0 {
		return
	}
	was, is := shapeOf(old), shapeOf(new)
	var gone, come []string
	for _, name := range names(was, is) {
		_, had := was.props[name]
		_, has := is.props[name]
		switch {
		case had && !has:
			gone = append(gone, name)
		case has && !had:
			come = append(come, name)
		default:
			if had {
				d.member(d.property(place, name), was.props[name], is.props[name], member{!was.required[name], !is.required[name]})
			}
			d.required(place, name, &was, &is)
		}
	}
	for _, name := range gone {
		i := slices.IndexFunc(come, func(n string) bool { return sameProperty(was.props[name], is.props[n], name, n) })
		if i < 0 {
			d.removed(place, name, &was, &is)
			continue
		}
		why := "calls that give it under the old name are refused, or go without it"
		if d.dir == output {
			why = "callers that read it find nothing"
		}
		d.add(d.property(place, name), Breaks, fmt.Sprintf("%s renamed to %s", d.noun(), come[i]), why)
		d.member(d.property(place, come[i]), was.props[name], is.props[come[i]], member{!was.required[name], !is.required[come[i]]})
		if was.required[name] != is.required[come[i]] {
			d.obligation(d.property(place, come[i]), is.required[come[i]])
		}
		come = slices.Delete(come, i, i+1)
	}
	for _, name := range come {
		d.added(place, name, &was, &is)
	}
	d.rest(place, &was, &is)
	d.patterns(place, &was, &is)
	d.count(place, "minProperties", old, new)
	d.count(place, "maxProperties", old, new)
	d.below(place, "propertyNames", old, new)
	d.dependent(place, old, new)
	if !was.rest && !is.rest {
		d.keyword(place, "unevaluatedProperties", old, new, narrower, wider)
	}
}

// names are all names that either side knows, sorted.
func names(a, b shape) []string {
	all := document.Object{}
	for _, m := range []map[string]bool{a.required, b.required} {
		for name := range m {
			all[name] = nil
		}
	}
	for _, m := range []document.Object{a.props, b.props} {
		for name := range m {
			all[name] = nil
		}
	}
	return document.Names(all)
}

func (d *differ) property(place, name string) string {
	return place + "/properties/" + document.Escape(name)
}

// sameProperty tells whether a property of another name is the old one.
func sameProperty(old, new any, oldName, newName string) bool {
	a, _ := old.(document.Object)
	b, _ := new.(document.Object)
	if a == nil || b == nil || !same(bare(a), bare(b)) {
		return false
	}
	return said(a) != "" && said(a) == said(b) || similar(oldName, newName)
}

// required compares whether a property has to be there.
func (d *differ) required(place, name string, was, is *shape) {
	if was.required[name] != is.required[name] {
		d.obligation(d.property(place, name), is.required[name])
	}
}

func (d *differ) obligation(place string, now bool) {
	e, text := wider, d.noun()+" is optional now"
	if now {
		e, text = narrower, d.noun()+" is required now"
	}
	switch v := d.dir.verdict(e); {
	case v == Compatible:
		d.add(place, v, text, "")
	case d.dir == input:
		d.add(place, v, text, "calls without it are refused")
	default:
		d.add(place, v, text, "callers that read it may find nothing")
	}
}

// removed reports a property that is none any more.
func (d *differ) removed(place, name string, was, is *shape) {
	at := d.property(place, name)
	text := d.noun() + " removed"
	other := is.other(name)
	switch {
	case d.dir == output && was.required[name]:
		d.add(at, Breaks, text, "callers that read it find nothing")
	case d.dir == output:
		d.add(at, Review, text, "it could be missing before; callers that read it never find it now")
	case other == false:
		d.add(at, Breaks, text, "calls that give it are refused")
	case other == true:
		d.add(at, Review, text, "calls that give it are taken, and it may do nothing")
	}
	if is.required[name] {
		d.required(place, name, was, is)
	}
	if other == false || other == true {
		return
	}
	if d.dir == input {
		d.add(at, Review, text+", and is one of those with any name now", "calls that give it are taken, and it may do something else")
	}
	d.schema(at, was.props[name], other)
}

// added reports a new property.
func (d *differ) added(place, name string, was, is *shape) {
	at := d.property(place, name)
	other := was.other(name)
	need := is.required[name] && !was.required[name]
	switch {
	case d.dir == input && need:
		d.add(at, Breaks, "required argument added", "calls without it are refused")
	case d.dir == input:
		d.add(at, Compatible, "optional argument added", "")
	case other == false:
		d.add(at, Review, "field added", "a caller that checks results against the saved schema refuses it")
	default:
		d.add(at, Compatible, "field added", "")
	}
	if d.dir == output && was.required[name] {
		d.required(place, name, was, is)
	}
	if other != false && other != true { // values under that name were described
		d.member(at, other, is.props[name], member{!was.required[name], !is.required[name]})
	}
}

// rest compares what other names may hold.
func (d *differ) rest(place string, was, is *shape) {
	at := place + "/additionalProperties"
	unknown := "unknown " + d.noun() + "s"
	_, oldBool := was.more.(bool)
	_, newBool := is.more.(bool)
	switch {
	case !oldBool || !newBool:
		d.schema(at, was.more, is.more)
	case was.more == is.more:
	case is.more == false && d.dir == input:
		d.add(at, Breaks, unknown+" are refused now", "calls with more than is known were taken, and are refused")
	case is.more == false:
		d.add(at, Compatible, "there are no "+unknown+" any more", "")
	case d.dir == input:
		d.add(at, Compatible, unknown+" are taken now", "")
	default:
		d.add(at, Review, "there may be "+unknown+" now", "a caller that checks results against the saved schema refuses them")
	}
}

// patterns compares patternProperties.
func (d *differ) patterns(place string, was, is *shape) {
	for _, p := range union(was.patterns, is.patterns) {
		a, had := was.patterns[p]
		b, has := is.patterns[p]
		at := place + "/patternProperties/" + document.Escape(p)
		switch {
		case had && has:
			d.schema(at, a, b)
		case has:
			d.found(at, unclear, fmt.Sprintf("pattern of names added: %s", document.Show(p)))
		default:
			d.found(at, unclear, fmt.Sprintf("pattern of names removed: %s", document.Show(p)))
		}
	}
}

// below compares a keyword that holds a schema and, where it is missing, takes
// everything.
func (d *differ) below(place, key string, old, new document.Object) {
	a, had := old[key]
	b, has := new[key]
	switch {
	case had && has:
		d.schema(place+"/"+key, a, b)
	case has:
		d.found(place+"/"+key, narrower, edited(key, nil, b))
	case had:
		d.found(place+"/"+key, wider, edited(key, a, nil))
	}
}

// dependent compares what has to be there, or hold, when a property is there.
func (d *differ) dependent(place string, old, new document.Object) {
	a, _ := old["dependentRequired"].(document.Object)
	b, _ := new["dependentRequired"].(document.Object)
	for _, name := range union(a, b) {
		at := place + "/dependentRequired/" + document.Escape(name)
		was, _ := a[name].([]any)
		is, _ := b[name].([]any)
		if gone := minus(was, is); len(gone) > 0 {
			d.found(at, wider, fmt.Sprintf("%s does not need %s any more", name, shown(gone)))
		}
		if come := minus(is, was); len(come) > 0 {
			d.found(at, narrower, fmt.Sprintf("%s needs %s now", name, shown(come)))
		}
	}
	a, _ = old["dependentSchemas"].(document.Object)
	b, _ = new["dependentSchemas"].(document.Object)
	for _, name := range union(a, b) {
		d.below(place+"/dependentSchemas", name, a, b)
	}
}
