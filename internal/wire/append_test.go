// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"
)

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
