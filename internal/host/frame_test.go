// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzClassify: whatever a server writes, a line without a fault is strict
// JSON, and what was found in it stands in it.
func FuzzClassify(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[1,"x"]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0061","error":{"code":-1,"message":"m","data":null}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"a","params":{"x":"\ud800"}} {}`))
	f.Add([]byte("\xef\xbb\xbf[{}]\r"))
	f.Fuzz(func(t *testing.T, line []byte) {
		fr := Frame{Raw: line}
		classify(&fr)
		if (fr.Kind == Stray) != (fr.Faults&(FaultBlank|FaultSyntax|FaultSeveral) != 0 || fr.Kind == Stray && fr.Faults&FaultMessage != 0) {
			t.Errorf("kind %v with faults %v", fr.Kind, fr.Faults)
		}
		if (fr.Faults&FaultUTF8 != 0) == utf8.Valid(line) {
			t.Errorf("faults %v of a line that is UTF-8: %v", fr.Faults, utf8.Valid(line))
		}
		for _, part := range [][]byte{fr.ID, fr.Params, fr.Result} {
			if !bytes.Contains(line, part) {
				t.Errorf("%q was found in %q", part, line)
			}
		}
		if fr.Faults == 0 && fr.Kind != BatchResponse && !jsontext.Value(line).IsValid() {
			t.Errorf("no fault was found in %q", line)
		}
	})
}

func TestStrings(t *testing.T) {
	for k := Stray; k <= BatchResponse; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
	if got, want := (FaultUTF8 | FaultCRLF | FaultRequest).String(), "not UTF-8, ended by CRLF, a request from a modern server"; got != want {
		t.Errorf("faults are %q, want %q", got, want)
	}
}
