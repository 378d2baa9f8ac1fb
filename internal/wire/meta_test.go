// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

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
		{"token has a lone surrogate", `{"progressToken":"\udc00"}`, "refused"},
		{"token is too long", `{"progressToken":"` + strings.Repeat("x", 1025) + `"}`, "refused"},
		{"token has too many digits", `{"progressToken":` + strings.Repeat("1", 1025) + `}`, "refused"},
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
				got = map[int]string{CodeInvalidParams: "error", CodeInvalidRequest: "refused"}[err.Code]
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
