// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package toollist

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/internal/document"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const written = `{
  "tools": [
    {
      "name": "a",
      "title": "A",
      "description": "é \u2028",
      "annotations": {
        "readOnlyHint": true
      },
      "inputSchema": {
        "type": "object",
        "properties": {
          "name": {
            "type": ["null", "string"],
            "default": {
              "properties": 1.50,
              "type": "x"
            },
            "maxLength": 3
          },
          "type": {
            "type": "array",
            "items": {
              "type": "string",
              "enum": ["b", "a"]
            }
          }
        },
        "required": ["name", "type"],
        "additionalProperties": false
      },
      "_meta": {
        "name": [
          {},
          []
        ],
        "annotations": 1
      }
    },
    {
      "name": "b",
      "inputSchema": {
        "anyOf": [
          {
            "type": "string",
            "description": "d"
          }
        ]
      }
    }
  ]
}
`

const given = `{"nextCursor":"x","ttlMs":5,"tools":[{"inputSchema":{"anyOf":[{"description":"d","type":"string"}]},"name":"b"},
{"_meta":{"annotations":1,"name":[{},[]]},"annotations":{"readOnlyHint":true},"description":"é \u2028","title":"A","name":"a","inputSchema":{"required":["type","name"],"additionalProperties":false,
"properties":{"type":{"items":{"enum":["b","a"],"type":"string"},"type":"array"},"name":{"maxLength":3,"default":{"type":"x","properties":1.50},"type":["string","null"]}},"type":"object"}}]}`

// TestAppend: names stand in the order that a reader looks for them, what is in
// a default or _meta in that of the alphabet, and numbers keep their digits.
func TestAppend(t *testing.T) {
	want := strings.Replace(written, `"name": [
          {},
          []
        ],
        "annotations": 1`, `"annotations": 1,
        "name": [
          {},
          []
        ]`, 1)
	for _, text := range []string{given, want, `{"jsonrpc":"2.0","id":1,"result":` + given + `}`} {
		l, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(l.Append(nil)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestPages: pages one after the other are one list.
func TestPages(t *testing.T) {
	l, err := Parse([]byte(`{"tools":[{"name":"b"}],"nextCursor":"x"}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}` + "\n"))
	if err != nil || len(l.Tools) != 2 || Name(l.Tools[0]) != "a" || Name(l.Tools[1]) != "b" {
		t.Errorf("%v, %v", l, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "it is empty",
		" \n":                      "it is empty",
		"{":                        "it is no JSON: ",
		"[]":                       "it is an array, and no object with the member tools",
		`{"tools":{}}`:             "its member tools is an object and has to be an array",
		`{}`:                       "its member tools is null",
		`{"tools":[]} x`:           "it is no JSON: ",
		`{"tools":[],"tools":[]}`:  "it is no JSON: ",
		`{"tools":[{"a":1e9999}]}`: "it is no JSON: number is out of range",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", text, err, want)
		}
	}
}

// FuzzAppend: what is written is JSON, holds the same, and is written the same
// again; and the order in which tools come says nothing.
func FuzzAppend(f *testing.F) {
	f.Add([]byte(given), uint64(1))
	f.Add([]byte(`{"tools":[5,null,{"name":5},{"name":"a"},{"name":"a","x":[[1,2],{"required":["b","a"]}]}]}`), uint64(2))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		l, err := Parse(text)
		if err != nil {
			return
		}
		first := l.Append(nil)
		if !json.Valid(first) {
			t.Fatalf("no JSON: %s", first)
		}
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(l.Tools), func(i, j int) { l.Tools[i], l.Tools[j] = l.Tools[j], l.Tools[i] })
		shuffled := append(append([]byte(`{"tools":`), document.Append(nil, l.Tools)...), '}')
		for _, again := range [][]byte{first, shuffled} {
			l, err := Parse(again)
			if err != nil {
				t.Fatalf("%v: %s", err, again)
			}
			if second := l.Append(nil); !bytes.Equal(second, first) {
				t.Fatalf("first\n%s\nthen\n%s", first, second)
			}
		}
	})
}
