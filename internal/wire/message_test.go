// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// show writes a parsed message, or the error, as one line.
func show(m Message, err *Error) string {
	if err != nil {
		return fmt.Sprintf("error %d id %s", err.Code, m.ID.Raw)
	}
	kind := map[Kind]string{Request: "request", Notification: "notification", Response: "response"}[m.Kind]
	s := fmt.Sprintf("%s id %s method %q", kind, m.ID.Raw, m.Method)
	if m.Params.Present {
		s += fmt.Sprintf(" params %s", m.Params.Raw)
	}
	return s
}

func TestParse(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `request id 1 method "ping"`},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`, `notification id  method "notifications/initialized" params {}`},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, `response id 1 method ""`},
		{"an error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, `response id  method ""`},
		{"a method and a result", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, `request id 1 method "m"`},
		{"any order, blanks: case 01", " {\t\"params\" : { } ,\"method\":\"m\", \"id\" : \"x\" , \"jsonrpc\":\"2.0\" } \t\r", `request id "x" method "m" params { }`},
		{"unknown members are ignored", `{"jsonrpc":"2.0","x":[1,{"id":2}],"id":1,"method":"m","x":2}`, `request id 1 method "m"`},
		{"escaped names", `{"jsonrpc":"2.0","\u0069d":1,"met\u0068od":"m","p\u0061rams":{"x":1}}`, `request id 1 method "m" params {"x":1}`},
		{"escaped method and version", `{"jsonrpc":"\u0032.0","id":1,"method":"tools\/list"}`, `request id 1 method "tools/list"`},
		{"raw U+2028: case 04", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\u2028\"}", "request id 1 method \"m\\u2028\""},
		{"lone surrogate in params: case 04", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"t":"\ud800"}}`, `request id 1 method "m" params {"t":"\ud800"}`},

		{"case 01 bad", `{bad`, "error -32700 id "},
		{"case 01 cut short", `{"jsonrpc":"2.0","id":1,`, "error -32700 id "},
		{"case 01 a number", `5`, "error -32600 id "},
		{"case 01 an array", `[1,2]`, "error -32600 id "},
		{"case 01 not a message", `{"a":1}`, "error -32600 id "},
		{"case 01 trailing comma", `{"jsonrpc":"2.0","id":2,"method":"ping"},`, "error -32700 id "},
		{"case 01 two frames in a line", `{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}`, "error -32700 id "},
		{"case 10 ended by CR alone", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}", "error -32700 id "},
		{"case 09 a late byte order mark", "\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", "error -32700 id "},
		{"case 04 bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xff\xfe\"}}", "error -32700 id "},
		{"case 04 bad UTF-8 in what is ignored", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x\":\"\xb0\xa1\"}", "error -32700 id "},
		{"syntax before meaning", `{"jsonrpc":"1.0","id":[],"id":1,`, "error -32700 id "},
		{"empty", ``, "error -32700 id "},

		{"case 51 other case is another name", `{"jsonrpc":"2.0","id":1,"method":"safe","Method":"other","ID":2,"Params":1}`, `request id 1 method "safe"`},
		{"case 51 only other case", `{"jsonrpc":"2.0","id":1,"Method":"m"}`, "error -32600 id 1"},
		{"case 51 folding", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"param\u017f\":{}}", `request id 1 method "m"`},
		{"case 51 method twice", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, "error -32600 id "},
		{"case 51 id twice", `{"jsonrpc":"2.0","id":1,"id":1,"method":"b"}`, "error -32600 id "},
		{"case 51 id twice, escaped", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"b"}`, "error -32600 id "},
		{"case 51 params twice", `{"jsonrpc":"2.0","id":1,"method":"b","params":{},"params":{"a":1}}`, "error -32600 id "},
		{"case 51 version twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"b"}`, "error -32600 id "},

		{"no version", `{"id":1,"method":"m"}`, "error -32600 id 1"},
		{"other version", `{"jsonrpc":"1.0","id":1,"method":"m"}`, "error -32600 id 1"},
		{"version is a number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, "error -32600 id 1"},
		{"version of a response", `{"id":1,"result":{}}`, "error -32600 id 1"},

		{"case 14 empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, `request id 1 method ""`},
		{"case 14 nothing", `{"jsonrpc":"2.0","id":1}`, "error -32600 id 1"},
		{"case 14 method is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, "error -32600 id 1"},
		{"case 14 method is null", `{"jsonrpc":"2.0","id":1,"method":null}`, "error -32600 id 1"},
		{"method has a lone surrogate", `{"jsonrpc":"2.0","id":1,"method":"m\ud800"}`, "error -32600 id 1"},
		{"case 14 params is a string", `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, `request id 1 method "m" params "x"`},
		{"case 14 params is an array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, `request id 1 method "m" params [1]`},

		{"case 12 null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, "error -32600 id "},
		{"case 12 object", `{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`, "error -32600 id "},
		{"case 12 array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, "error -32600 id "},
		{"case 12 true", `{"jsonrpc":"2.0","id":true,"method":"m"}`, "error -32600 id "},
		{"case 12 null, with a result beside the method", `{"jsonrpc":"2.0","id":null,"method":"m","result":1}`, "error -32600 id "},
		{"id too long", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1025) + `","method":"m"}`, "error -32600 id "},
		{"id has a lone surrogate", `{"jsonrpc":"2.0","id":"\udfff","method":"m"}`, "error -32600 id "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(Parse([]byte(tt.frame))); got != tt.want {
				t.Errorf("Parse(%q)\n got %s\nwant %s", tt.frame, got, tt.want)
			}
		})
	}
}

func TestParseKeepsIDs(t *testing.T) { // case 12
	for _, id := range []string{`"1"`, `"init-1"`, `0`, `-1`, `1774232524389`, `9007199254740993`, `1.5`, `1e3`, `-0`, `1E+2`, `""`, `"\u0041\/"`, "\"中\u2028\"", `"` + strings.Repeat("x", 1024) + `"`, strings.Repeat("9", 1024)} {
		m, err := Parse([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`))
		if err != nil || m.ID.Raw != id {
			t.Errorf("id %.40s comes back as %.40s, %v", id, m.ID.Raw, err)
		}
		// A cancel finds it by the same text.
		c, err := Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := ParseID(c.Params.RequestID); !ok || got != m.ID {
			t.Errorf("requestId %.40s is %v, want %v", id, got, m.ID)
		}
	}
}

func TestParseIDKey(t *testing.T) {
	tests := []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true},
		{`1`, `"1"`, false},
		{`1`, `1.0`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`"a"`, `"\u0061"`, true},
		{`"/"`, `"\/"`, true},
		{`"\u00e9"`, `"é"`, true},
		{`"é"`, `"É"`, false},
		{"\"\u2028\"", `"\u2028"`, true},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"\\u0061"`, `"\u0061"`, false},
		{`"\n"`, `"\u000a"`, true},
	}
	for _, tt := range tests {
		a, ok := ParseID(jsontext.Value(tt.a))
		b, ok2 := ParseID(jsontext.Value(tt.b))
		if !ok || !ok2 || (a.Key == b.Key) != tt.same {
			t.Errorf("%s and %s: keys %s and %s, same should be %v", tt.a, tt.b, a.Key, b.Key, tt.same)
		}
	}
	for _, bad := range []string{``, ` 1`, `1 `, `"a" `, `"a`, `null`, `{}`, `[]`, `true`, `01`, `-`, `"\ud800"`, `"` + strings.Repeat("x", 1025) + `"`, strings.Repeat("9", 1025)} {
		if id, ok := ParseID(jsontext.Value(bad)); ok || id != (ID{}) {
			t.Errorf("ParseID(%.40s) = %v", bad, id)
		}
	}
}

func TestParseParams(t *testing.T) {
	m, err := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"x":1},"cursor":"a","arguments":{"name":2},"requestId":7,"cursor":"b","Name":"other","a\u0062":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := m.Params
	for _, part := range []struct{ name, got, want string }{
		{"name", string(p.Name), `"t"`},
		{"_meta", string(p.Meta), `{"x":1}`},
		{"arguments", string(p.Arguments), `{"name":2}`},
		{"requestId", string(p.RequestID), `7`},
	} {
		if part.got != part.want {
			t.Errorf("%s is %s, want %s", part.name, part.got, part.want)
		}
	}
	if !p.Present || !p.Object || p.Duplicate != "" {
		t.Errorf("present %v, object %v, duplicate %q", p.Present, p.Object, p.Duplicate)
	}
	for _, member := range []struct {
		name, want string
		ok         bool
	}{
		{"cursor", `"b"`, true}, // the last one
		{"ab", `null`, true},
		{"name", `"t"`, true},
		{"Cursor", ``, false},
		{"x", ``, false},
	} {
		if v, ok := p.Member(member.name); string(v) != member.want || ok != member.ok {
			t.Errorf("Member(%q) = %s, %v, want %s, %v", member.name, v, ok, member.want, member.ok)
		}
	}
	for _, none := range []Params{{}, {Object: true}, {Present: true, Raw: []byte(`[1]`)}, {Object: true, Raw: []byte(`{"a":1,`)}} {
		if v, ok := none.Member("a"); ok {
			t.Errorf("Member of %s = %s", none.Raw, v)
		}
	}
}

func TestParseParamsTwice(t *testing.T) { // case 51
	tests := []struct{ params, want string }{
		{`{"name":"safe","Name":"other"}`, ``},
		{`{"name":"safe","name":"other"}`, `name`},
		{`{"name":"safe","n\u0061me":"other"}`, `name`},
		{`{"arguments":{},"arguments":null}`, `arguments`},
		{`{"_meta":{},"x":1,"_meta":{}}`, `_meta`},
		{`{"requestId":1,"requestId":2}`, `requestId`},
		{`{"arguments":{"name":1},"name":"a"}`, ``},
	}
	for _, tt := range tests {
		m, err := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":` + tt.params + `}`))
		if err != nil || m.Params.Duplicate != tt.want {
			t.Errorf("%s: duplicate %q, %v, want %q", tt.params, m.Params.Duplicate, err, tt.want)
		}
	}
}

func TestParsePartsCannotGrowIntoOthers(t *testing.T) {
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","arguments":{},"_meta":{},"requestId":1},"more":"text"}`)
	before := string(frame)
	m, err := Parse(frame)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []jsontext.Value{m.Params.Raw, m.Params.Name, m.Params.Arguments, m.Params.Meta, m.Params.RequestID} {
		_ = append(v, "xxxx"...)
	}
	if string(frame) != before {
		t.Errorf("the frame has become %s", frame)
	}
}

func TestParseAllocates(t *testing.T) {
	frame := callFrame(250)
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse(frame) }); n > 1 {
		t.Errorf("%v allocations, want one, for the id", n)
	}
}

// FuzzParse holds Parse against the same rules written with jsontext.
func FuzzParse(f *testing.F) {
	f.Add(callFrame(250))
	f.Add([]byte(modernFrame))
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":"\u0041","method":"m\/","params":[1]}`,
		`{"jsonrpc":"2.0","id":1.5,"\u0069d":"\ud800","result":null}`,
		`{"jsonrpc":"2.0","id":null,"error":{}}`,
		`{"jsonrpc":"1.0","method":5}`,
		`{"params":{"name":1,"n\u0061me":2,"_meta":{"a":[]},"x":1,"x":2}}`,
		" [\n1]\r", "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := Parse(frame)
		if got, want := show(m, err), reference(frame); got != want {
			t.Fatalf("Parse(%q)\n got %s\nwant %s", frame, got, want)
		}
		if err != nil {
			return
		}
		for _, name := range []string{"name", "arguments", "_meta", "requestId", "x"} {
			values := members(m.Params.Raw, m.Params.Object)[name]
			v, ok := m.Params.Member(name)
			if ok != (len(values) > 0) || ok && string(v) != values[len(values)-1] {
				t.Fatalf("Member(%q) of %s = %s, %v, want %q", name, m.Params.Raw, v, ok, values)
			}
		}
	})
}

// members are the members of an object by name, in order.
func members(object []byte, is bool) map[string][]string {
	found := map[string][]string{}
	if !is {
		return found
	}
	d := jsontext.NewDecoder(strings.NewReader(string(object)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		panic(err)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			panic(err)
		}
		key := name.String()
		v, err := d.ReadValue()
		if err != nil {
			panic(err)
		}
		found[key] = append(found[key], string(v))
	}
	return found
}

// reference is show of what Parse should make of a frame.
func reference(frame []byte) string {
	if !validElsewhere(frame) {
		return "error -32700 id "
	}
	if jsontext.Value(frame).Kind() != '{' {
		return "error -32600 id "
	}
	all := members(frame, true)
	get := func(name string) string {
		if v := all[name]; v != nil {
			return v[0]
		}
		return ""
	}
	for _, name := range []string{"jsonrpc", "id", "method", "params", "result", "error"} {
		if len(all[name]) > 1 {
			return "error -32600 id "
		}
	}
	response := all["method"] == nil && (all["result"] != nil || all["error"] != nil)
	id := get("id")
	usable := false
	switch {
	case id == "":
	case id[0] == '"':
		usable = len(id) <= 1026 && jsontext.Value(id).IsValid()
	default:
		usable = jsontext.Value(id).Kind() == '0' && len(id) <= 1024
	}
	if !usable {
		if id != "" && !response {
			return "error -32600 id "
		}
		id = ""
	}
	version, _ := jsontext.AppendUnquote(nil, get("jsonrpc"))
	if string(version) != "2.0" {
		return "error -32600 id " + id
	}
	var kind string
	var name []byte
	switch method := get("method"); {
	case response:
		kind = "response"
	case method == "", method[0] != '"', !jsontext.Value(method).IsValid():
		return "error -32600 id " + id
	case all["id"] == nil:
		kind = "notification"
		name, _ = jsontext.AppendUnquote(nil, method)
	default:
		kind = "request"
		name, _ = jsontext.AppendUnquote(nil, method)
	}
	if !utf8.Valid(name) {
		panic("a method that is not valid UTF-8")
	}
	s := fmt.Sprintf("%s id %s method %q", kind, id, name)
	if all["params"] != nil {
		s += " params " + get("params")
	}
	return s
}
