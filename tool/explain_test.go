// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/result"
)

// refuse calls the tool and returns why it was refused, without the first
// line, and how many bytes that took.
func refuse(t *testing.T, r *Registry, name, args string) (text string, memory uint64) {
	t.Helper()
	tool, ok := r.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := tool.Serve(t.Context(), &Request{Arguments: []byte(args)})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatalf("%s %.60s: %v", name, args, err)
	}
	text = textOf(t, res)
	if !res.IsError {
		t.Fatalf("%s %.60s: ran: %.60s", name, args, text)
	}
	_, text, _ = strings.Cut(text, "\n")
	return text, after.TotalAlloc - before.TotalAlloc
}

// TestWrongCost checks that wrong arguments take a small multiple of their size
// to refuse, however many and deep the mistakes are, and whoever finds them.
func TestWrongCost(t *testing.T) {
	type ids struct {
		IDs []int64 `json:"ids"`
	}
	type unique struct {
		IDs []int64 `json:"ids" jsonschema:"uniqueItems"` // which the validator is asked about
	}
	type node struct {
		V    int    `json:"v,omitempty"`
		Kids []node `json:"kids,omitempty"`
	}
	r := new(Registry)
	addEcho[ids](r, Info{Name: "ids"})
	addEcho[unique](r, Info{Name: "unique"})
	addEcho[map[string]int](r, Info{Name: "map"})
	addEcho[map[string]time.Duration](r, Info{Name: "durations"})
	addEcho[node](r, Info{Name: "node"})
	addEcho[node](r, Info{Name: "node_open", AllowUnknown: true})
	asks := Info{Name: "asks", InputSchema: []byte(`{"properties":{"v":{"type":"integer","multipleOf":2},"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`)}
	if err := r.Register(asks, echoRaw); err != nil {
		t.Fatal(err)
	}
	list := func(item string, n int) string {
		return `{"ids":[` + strings.Repeat(item+",", n-1) + item + `]}`
	}
	names := func(n int) string {
		b := []byte(`{"a0":"x"`)
		for i := range n {
			b = append(b, `,"a`+strconv.Itoa(i+1)+`":"x"`...)
		}
		return string(append(b, '}'))
	}
	deep := func(leaf string, n int) string {
		return strings.Repeat(`{"kids":[`, n) + leaf + strings.Repeat(`]}`, n)
	}
	long := `kids[0]` + strings.Repeat(`.kids[0]`, 14) + `.…: `
	tests := []struct {
		name, tool, args string
		first, last      string // line
		times            uint64 // the size of the arguments
	}{
		{"many items", "ids", list(`"a"`, 100_000), `- ids[0]: found "a" (string), wanted integer`, "- and many more", 8},
		{"many exponents", "ids", list(`1e1000`, 100_000), `- ids[0]: found 1e1000, wanted an integer of fewer digits`, "- and many more", 8},
		{"one after many", "ids", list(`1`, 100_000)[:len(`{"ids":[`)+200_000-1] + `,"a"]}`, `- ids[100000]: found "a" (string), wanted integer`, ``, 60},
		{"many members", "map", names(50_000), `- a0: found "x" (string), wanted integer`, "- and many more", 30},
		{"many that the decoder refuses", "durations", names(50_000), `- a0: found "x", wanted a duration such as "1m30s"`, "- and many more", 30},
		{"many unknown", "node", names(50_000), `- a0: unknown; known are kids, v`, "- and many more", 24},
		{"many unknown, open", "node_open", `{"kids":[` + names(50_000) + `,{"v":"x"}]}`, `- kids[1].v: found "x" (string), wanted integer`, ``, 60},
		{"deep", "node", deep(`{"v":"x"}`, 4000), "- " + long + `found "x" (string), wanted integer`, ``, 60},
		{"deep and unknown", "node", deep(`{"w":1}`, 4000), "- " + strings.TrimSuffix(long, ": ") + `.w: unknown; known are kids, v`, ``, 60},
		{"too deep for a decoder", "node", deep(`{"v":"x"}`, 100_000), "- " + long + `exceeded max depth`, ``, 60},
		{"asked: many items", "unique", list(`"a"`, 300_000), "- arguments: more than 20000 values are too many to check: send less at once", ``, 20},
		{"asked: deep", "asks", deep(`{"v":1}`, 4000), "- " + long + `nested too deeply to check (more than 64 levels)`, ``, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, memory := refuse(t, r, tt.tool, tt.args)
			first, rest, _ := strings.Cut(text, "\n")
			if first != tt.first || !strings.HasSuffix(rest, tt.last) {
				t.Errorf("got %.1000s", text)
			}
			if len(text) > 2000 {
				t.Errorf("%d bytes of text", len(text))
			}
			if most := tt.times*uint64(len(tt.args)) + 1<<20; memory > most {
				t.Errorf("%d bytes of arguments took %d, want at most %d", len(tt.args), memory, most)
			}
		})
	}
	// What is within the bounds is checked.
	if text, _ := refuse(t, r, "asks", deep(`{"v":1}`, 31)); !strings.HasSuffix(text, "found 1, wanted a multiple of 2") {
		t.Errorf("got %s", text)
	}
	if text, memory := refuse(t, r, "unique", list(`"a"`, maxAskValues-2)); !strings.HasSuffix(text, "- and many more") || memory > 64<<20 {
		t.Errorf("%d bytes: %s", memory, text)
	}
	named := Info{Name: "named", InputSchema: []byte(`{"patternProperties":{"^a":{"type":"string"}}}`)}
	if err := r.Register(named, echoRaw); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{"asks": deep(`{"v":2}`, 31), "unique": `{"ids":[1,2]}`, "named": names(maxAskValues - 2)} {
		if res, err := r.Call(t.Context(), name, args); err != nil || res.IsError {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}

// TestOutputIsNotBounded checks that the bounds for what the validator is asked
// about are those of arguments: a result has its budget.
func TestOutputIsNotBounded(t *testing.T) {
	type list struct {
		L []int `json:"l" jsonschema:"uniqueItems"`
	}
	var r Registry
	AddFunc(&r, Info{Name: "t", Budget: result.Budget{Bytes: 1 << 20}}, func(_ context.Context, _ struct{}) (list, error) {
		l := make([]int, 2*maxAskValues)
		for i := range l {
			l[i] = i
		}
		return list{l}, nil
	})
	if res, err := r.Call(t.Context(), "t", nil); err != nil || res.IsError {
		t.Errorf("got %.200v, %v", res, err)
	}
}

// TestTwice checks that a name that is given twice is refused wherever it is,
// also beside a null that counts as absent.
func TestTwice(t *testing.T) {
	type inner struct {
		Q int `json:"q,omitempty"`
	}
	type in struct {
		P string  `json:"p,omitempty" jsonschema:"default=d"`
		O inner   `json:"o,omitempty"`
		L []inner `json:"l,omitempty"`
		A any     `json:"a,omitempty"`
	}
	var r Registry
	addEcho[in](&r, Info{Name: "typed"})
	addEcho[in](&r, Info{Name: "open", AllowUnknown: true, AcceptText: true})
	raw := []byte(`{"properties":{"p":{"type":"string"},"o":{"type":"object","properties":{"q":{"type":"integer"}}},"l":{"type":"array","items":{"type":"object","properties":{"q":{"type":"integer"}}}},"a":{}}}`)
	if err := r.Register(Info{Name: "raw", InputSchema: raw}, echoRaw); err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.Replace(string(raw), `"a":{}`, `"a":{},"m":{"type":"integer","multipleOf":2}`, 1))
	if err := r.Register(Info{Name: "asks", InputSchema: raw}, echoRaw); err != nil {
		t.Fatal(err)
	}
	for args, place := range map[string]string{
		`{"p":"x","p":"x"}`:              "p",
		`{"p":null,"p":"x"}`:             "p",
		`{"p":"x","p":null}`:             "p",
		`{"p":null,"p":null}`:            "p",
		`{"p":null,"p":null,"p":null}`:   "p",
		`{"\u0070":null,"p":"x"}`:        "p",
		`{"o":{"q":null,"q":1}}`:         "o.q",
		`{"o":null,"p":"x","o":{"q":1}}`: "o",
		`{"l":[{},{"q":1,"q":null}]}`:    "l[1].q",
		`{"a":{"b":[{"c":1,"c":null}]}}`: "a.b[0].c",
		`{"p":null,"a":{"b":1,"b":1}}`:   "a.b",
	} {
		for _, tool := range r.Tools() {
			if res, err := r.Call(t.Context(), tool.Info().Name, `{"p":"x","o":null,"l":[{"q":1.0}]}`); err != nil || res.IsError {
				t.Errorf("%s: %v, %v", tool.Info().Name, res, err)
			}
			if text, _ := refuse(t, &r, tool.Info().Name, args); text != "- "+place+": given twice" {
				t.Errorf("%s %s: got %s", tool.Info().Name, args, text)
			}
		}
	}
}
