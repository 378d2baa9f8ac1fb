// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestSplitBatch(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"two", `[{"a":1}, 5 ]`, `{"a":1}|5`},
		{"one", ` [ {} ] `, `{}`},
		{"nested", `[[1,[2]],"]"]`, `[1,[2]]|"]"`},
		{"three, the limit", `[1,2,3]`, `1|2|3`},
		{"four", `[1,2,3,4]`, "error -32600"},
		{"none", `[]`, "error -32600"},
		{"none, blank", ` [ ] `, "error -32600"},
		{"an object", `{}`, "error -32600"},
		{"not JSON", `x`, "error -32700"},
		{"not ended", `[1`, "error -32700"},
		{"comma at the end", `[1,]`, "error -32700"},
		{"no comma", `[1 2]`, "error -32700"},
		{"more behind it", `[1] 2`, "error -32700"},
		{"syntax before number", `[1,2,3,4,x]`, "error -32700"},
		{"bad UTF-8", "[\"\xff\"]", "error -32700"},
		{"nothing", ``, "error -32700"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members, err := SplitBatch([]byte(tt.frame), 3)
			var parts []string
			for _, m := range members {
				parts = append(parts, string(m))
				if cap(m) != len(m) {
					t.Errorf("%s can grow into the next", m)
				}
			}
			got := strings.Join(parts, "|")
			if err != nil {
				got = fmt.Sprint("error ", err.Code)
			}
			if got != tt.want {
				t.Errorf("SplitBatch(%q) = %s, want %s", tt.frame, got, tt.want)
			}
		})
	}
}

func TestIsBatch(t *testing.T) {
	for frame, want := range map[string]bool{`[1]`: true, " \t\r[": true, `{}`: false, `"["`: false, ``: false, ` `: false} {
		if got := IsBatch([]byte(frame)); got != want {
			t.Errorf("IsBatch(%q) = %v", frame, got)
		}
	}
}

func TestParseMeta(t *testing.T) {
	const p = "io.modelcontextprotocol/"
	tests := []struct{ name, in, want string }{
		{"empty", `{}`, `token "" version "" false caps "" client "" "" level ""`},
		{"text token", `{"progressToken":"a\/b"}`, `token "\"a\\/b\"" version "" false caps "" client "" "" level ""`},
		{"number token", `{"progressToken":9007199254740993}`, `token "9007199254740993" version "" false caps "" client "" "" level ""`},
		{"modern", `{"` + p + `protocolVersion":"2026-07-28","` + p + `clientInfo":{"name":"h","version":"1","title":"T"},"` + p + `clientCapabilities":{"a":{}},"` + p + `logLevel":"info","other":5}`,
			`token "" version "2026-07-28" true caps "{\"a\":{}}" client "h" "1" level "info"`},
		{"empty version", `{"` + p + `protocolVersion":""}`, `token "" version "" true caps "" client "" "" level ""`},
		{"lone surrogate in a text", `{"` + p + `protocolVersion":"\ud800"}`, "token \"\" version \"\uFFFD\" true caps \"\" client \"\" \"\" level \"\""},
		{"client without a name", `{"` + p + `clientInfo":{}}`, `token "" version "" false caps "" client "" "" level ""`},
		{"case 51 other case", `{"ProgressToken":{},"` + p + `LogLevel":5}`, `token "" version "" false caps "" client "" "" level ""`},
		{"an integer as a float", `{"progressToken":1.0}`, `token "1.0" version "" false caps "" client "" "" level ""`},

		{"not an object", `5`, "error"},
		{"null", `null`, "error"},
		{"token is null", `{"progressToken":null}`, "error"},
		{"token is an object", `{"progressToken":{}}`, "error"},
		{"token is true", `{"progressToken":true}`, "error"},
		{"token is a fraction", `{"progressToken":1.5}`, "error"},
		{"token has a lone surrogate", `{"progressToken":"\udc00"}`, "error"},
		{"token is too long", `{"progressToken":"` + strings.Repeat("x", 1025) + `"}`, "error"},
		{"token has too many digits", `{"progressToken":` + strings.Repeat("1", 1025) + `}`, "error"},
		{"token twice", `{"progressToken":1,"progressToken":1}`, "error"},
		{"token twice, escaped", `{"progressToken":1,"\u0070rogressToken":1}`, "error"},
		{"version is a number", `{"` + p + `protocolVersion":2026}`, "error"},
		{"version twice", `{"` + p + `protocolVersion":"a","` + p + `protocolVersion":"a"}`, "error"},
		{"capabilities is an array", `{"` + p + `clientCapabilities":[]}`, "error"},
		{"client is a string", `{"` + p + `clientInfo":"h"}`, "error"},
		{"client's name is a number", `{"` + p + `clientInfo":{"name":1}}`, "error"},
		{"level is a number", `{"` + p + `logLevel":3}`, "error"},
		{"not JSON", `{"a":`, "error"},
		{"more behind it", `{} {}`, "error"},
		{"nothing", ``, "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ParseMeta(jsontext.Value(tt.in))
			got := fmt.Sprintf("token %q version %q %v caps %q client %q %q level %q", []byte(m.ProgressToken),
				m.ProtocolVersion, m.HasProtocolVersion, []byte(m.ClientCapabilities), m.ClientName, m.ClientVersion, m.LogLevel)
			if err != nil {
				got = "error"
				if err.Code != CodeInvalidParams {
					t.Errorf("code %d", err.Code)
				}
			} else if string(m.Raw) != tt.in {
				t.Errorf("Raw is %s", m.Raw)
			}
			if got != tt.want {
				t.Errorf("ParseMeta(%s)\n got %s\nwant %s", tt.in, got, tt.want)
			}
		})
	}
	if m, err := ParseMeta(nil); err != nil || m.Raw != nil {
		t.Errorf("ParseMeta(nil) = %v, %v", m, err)
	}
}

func TestIsInteger(t *testing.T) {
	for number, want := range map[string]bool{
		"0": true, "-0": true, "7": true, "-7": true, "1.0": true, "1.50": false, "1.5": false, "0.1": false,
		"1e3": true, "1E+3": true, "1.5e1": true, "1.5e0": false, "1.25e1": false, "1e-1": false, "1e99999999999": false,
	} {
		if got := isInteger(number); got != want {
			t.Errorf("isInteger(%s) = %v", number, got)
		}
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(`{"progressToken":"\ud800","io.modelcontextprotocol/clientInfo":{"name":"a"}}`))
	f.Add([]byte(`{"progressToken":1e3,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`))
	f.Fuzz(func(t *testing.T, v []byte) {
		m, err := ParseMeta(v)
		if err == nil && v != nil && !validElsewhere(v) {
			t.Fatalf("ParseMeta takes %q", v)
		}
		if err != nil && (m.Raw != nil || m.ProgressToken != nil) {
			t.Fatalf("an error with a Meta: %q", v)
		}
	})
}

func TestAppendResult(t *testing.T) {
	got := string(AppendResult([]byte("x"), ID{Raw: `"a\/b"`}, []byte(`{"content":[]}`)))
	if want := `x{"jsonrpc":"2.0","id":"a\/b","result":{"content":[]}}` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppendError(t *testing.T) {
	one := ID{Raw: "1"}
	tests := []struct {
		name string
		id   ID
		null bool
		err  Error
		want string
	}{
		{"with an id", one, true, Error{Code: CodeInvalidParams, Message: "a\n\u2028<b>"}, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"a\n\u2028<b>"}}`},
		{"without, null", ID{}, true, Error{Code: CodeParse, Message: "m"}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`},
		{"without, left out", ID{}, false, Error{Code: CodeParse, Message: "m"}, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`},
		{"data is made compact", one, true, Error{Code: 1, Message: "m", Data: []byte("{\n \"a\": \"\u2028\"\r\n}")}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"a":"\u2028"}}}`},
		{"bad data is left out", one, true, Error{Code: 1, Message: "m", Data: []byte("{\n")}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"bad UTF-8: case 04", one, true, Error{Code: 1, Message: "\xff"}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"` + "\uFFFD" + `"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendError([]byte("x"), tt.id, tt.null, &tt.err)); got != "x"+tt.want+"\n" {
				t.Errorf("got %q\nwant %q", got, "x"+tt.want+"\n")
			}
		})
	}
}

func TestAppendScalar(t *testing.T) {
	for in, want := range map[string]string{
		`1.50`: `1.50`, `"a\u2028"`: `"a\u2028"`, "\"a\u2028b\u2029\"": `"a\u2028b\u2029"`, "\"\u2027\u202a€中\"": "\"\u2027\u202a€中\"", "": "", "\"\xe2": "\"\xe2",
	} {
		if got := string(AppendScalar([]byte("x"), in)); got != "x"+want {
			t.Errorf("AppendScalar(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := &Error{Code: CodeMethodNotFound, Message: "no such method"}
	if got, want := err.Error(), "no such method (code -32601)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
