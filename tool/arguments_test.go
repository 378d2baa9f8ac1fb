// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"flag"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

var update = flag.Bool("update", false, "rewrite testdata")

type (
	optional struct {
		S string   `json:"s,omitempty"`
		P *string  `json:"p,omitempty"`
		L []string `json:"l,omitempty"`
		R string   `json:"r"`
		Q []string `json:"q"`
		A any      `json:"a,omitempty"`
	}
	numbers struct {
		I   int64         `json:"i,omitempty"`
		U   uint64        `json:"u,omitempty"`
		I8  int8          `json:"i8,omitempty"`
		N   jsonv1.Number `json:"n,omitempty"`
		F   float64       `json:"f,omitempty"`
		Big *big.Int      `json:"big,omitempty"`
		Any any           `json:"any,omitempty"`
		S   int64         `json:"s,string,omitempty"`
		In  []int         `json:"in,omitempty"`
	}
	query struct {
		Pattern string   `json:"pattern" jsonschema:"minLength=1"`
		Path    string   `json:"path,omitempty" jsonschema:"default=."`
		Mode    string   `json:"mode,omitempty" jsonschema:"enum=files,enum=lines"`
		Context int      `json:"context,omitempty" jsonschema:"minimum=0,maximum=10"`
		Globs   []string `json:"globs,omitempty" jsonschema:"minItems=1,maxItems=3"`
		Where   *place   `json:"where,omitempty"`
		PageInput
	}
	place struct {
		Dir   string `json:"dir" jsonschema:"pattern=^/"`
		Depth int    `json:"depth,omitempty" jsonschema:"default=3"`
	}
	texts struct {
		IDs  []int             `json:"ids,omitempty"`
		Obj  place             `json:"obj,omitempty"`
		N    int               `json:"n,omitempty"`
		F    float64           `json:"f,omitempty"`
		B    bool              `json:"b,omitempty"`
		S    string            `json:"s,omitempty"`
		Deep [][]bool          `json:"deep,omitempty"`
		M    map[string]uint16 `json:"m,omitempty"`
	}
	textForms struct {
		Addr netip.Addr    `json:"addr,omitempty"`
		When time.Time     `json:"when,omitempty"`
		Wait time.Duration `json:"wait,omitempty"`
		Data []byte        `json:"data,omitempty"`
		H    *hooked       `json:"h,omitempty"`
	}
)

// argumentTools are the tools that the transcripts call. Each answers with the
// arguments as its handler found them.
func argumentTools() *Registry {
	var r Registry
	addEcho[optional](&r, Info{Name: "optional"})
	addEcho[numbers](&r, Info{Name: "numbers"})
	addEcho[query](&r, Info{Name: "query"})
	addEcho[query](&r, Info{Name: "query_open", AllowUnknown: true})
	addEcho[texts](&r, Info{Name: "texts"})
	addEcho[texts](&r, Info{Name: "texts_accepted", AcceptText: true})
	addEcho[textForms](&r, Info{Name: "forms"})
	addEcho[struct{}](&r, Info{Name: "none"})
	addEcho[tree](&r, Info{Name: "tree"})
	return &r
}

func addEcho[In any](r *Registry, info Info) {
	Add(r, info, func(_ context.Context, req *Request, in In) (result.Result, error) {
		again, err := result.Marshal(context.Background(), in, 1<<20)
		if err != nil {
			return result.Result{}, err
		}
		return result.Text(string(req.Arguments) + "\n" + string(again)), nil
	})
}

func echoRaw(_ context.Context, req *Request) (result.Result, error) {
	return result.Text(string(req.Arguments)), nil
}

// TestArguments plays the transcripts in testdata/arguments: what a caller
// sends (>) and what becomes of it (<), which is the arguments in normal form
// and, for a Go type, what they are decoded to; or why they were refused. They
// are about case 41, case 42, case 45, case 47, case 48, case 49, case 51 and
// case 71.
func TestArguments(t *testing.T) {
	files, err := filepath.Glob("testdata/arguments/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// A txtar file: a comment, then sections under "-- name --".
			sections := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n-- ")
			for i, section := range sections[1:] {
				r := argumentTools()
				name, body, _ := strings.Cut(section, " --\n")
				lines := strings.Split(strings.TrimSpace(body), "\n")
				info := Info{Name: "raw"}
				for len(lines) > 0 && !strings.HasPrefix(lines[0], ">") {
					switch head, rest, _ := strings.Cut(lines[0], " "); head {
					case "schema":
						info.InputSchema, name = []byte(rest), "raw"
					case "AcceptText":
						info.AcceptText = true
					}
					lines = lines[1:]
				}
				if name == "raw" {
					if err := r.Register(info, echoRaw); err != nil {
						t.Fatal(err)
					}
				}
				got := transcript(t, r, name, lines)
				head, _, _ := strings.Cut(section, "> ")
				if head+got != section+"\n" {
					sections[i+1] = strings.TrimSuffix(head+got, "\n")
					if !*update {
						t.Errorf("%s: got\n%s\nwant\n%s", name, head+got, section)
					}
				}
			}
			if *update {
				text := strings.TrimSuffix(strings.Join(sections, "\n-- "), "\n") + "\n"
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// transcript calls the tool with each line that begins with > and returns the
// calls with their answers.
func transcript(t *testing.T, r *Registry, name string, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		args, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		b.WriteString(line + "\n")
		res, err := r.Call(t.Context(), name, args)
		var refused *Error
		switch {
		case errors.As(err, &refused):
			b.WriteString("< " + refused.Error() + "\n")
			continue
		case err != nil:
			t.Fatalf("%s: %v", line, err)
		}
		text := res.Content[0].(result.TextContent).Text
		if res.IsError {
			_, text, _ = strings.Cut(text, "\n") // the sentence is the same in all
		}
		for l := range strings.SplitSeq(text, "\n") {
			b.WriteString("< " + l + "\n")
		}
	}
	return b.String()
}

// TestDuration checks that a duration has one form, on the wire and as a Go
// value given to Call, both ways.
func TestDuration(t *testing.T) {
	type input struct {
		Wait time.Duration `json:"wait" jsonschema:"description=How long to wait"`
	}
	var r Registry
	AddFunc(&r, Info{Name: "t"}, func(_ context.Context, in input) (input, error) { return in, nil })
	for _, in := range []any{
		input{90 * time.Second},
		map[string]any{"wait": 90 * time.Second},
		map[string]string{"wait": "90s"},
		`{"wait":"1m30s"}`,
		jsontext.Value(`{"wait":"1.5m"}`),
	} {
		res, err := r.Call(t.Context(), "t", in)
		if err != nil || res.IsError || textOf(t, res) != `{"wait":"1m30s"}` {
			t.Errorf("%v: got %v, %v", in, res, err)
		}
	}
	tool, _ := r.Lookup("t")
	if wait := string(lookup(lookup(tool.in.text, "properties"), "wait")); !strings.Contains(wait, `"type":"string"`) || !strings.Contains(wait, `"How long to wait (a duration such as \"1m30s\")"`) {
		t.Errorf("the schema is %s", wait)
	}
	for args, want := range map[string]string{
		`{"wait":90}`:     `- wait: found 90, wanted a duration such as "1m30s"`,
		`{"wait":"soon"}`: `- wait: found "soon", wanted a duration such as "1m30s"`,
		`{}`:              `- wait: missing, wanted a duration such as "1m30s"`,
	} {
		res, err := r.Call(t.Context(), "t", args)
		if err != nil || !res.IsError || !strings.HasSuffix(textOf(t, res), "\n"+want) {
			t.Errorf("%s: %v, %v", args, res, err)
		}
	}
}

// TestNameOfMap checks that a name which the type of a map cannot hold is
// blamed, and not the value beside it.
func TestNameOfMap(t *testing.T) {
	type input struct {
		Small map[int8]int         `json:"small,omitempty"`
		Words map[int]string       `json:"words,omitempty"`
		Addrs map[netip.Addr]int   `json:"addrs,omitempty"`
		Deep  []map[string][]uint8 `json:"deep,omitempty"`
		Same  map[int8]int8        `json:"same,omitempty"`
	}
	var r Registry
	addEcho[input](&r, Info{Name: "t"})
	for args, want := range map[string]string{
		`{"small":{"1":1,"300":1}}`:   `- small[300]: the name has to be an integer within the range of int8`,
		`{"words":{ "x" : "a"}}`:      `- words.x: the name has to be an integer within the range of int`,
		`{"words":{"5":"a","":"a"}}`:  `- words."": the name has to be an integer within the range of int`,
		`{"addrs":{"10.0.0":1}}`:      `- addrs."10.0.0": the name cannot be used: ParseAddr("10.0.0"): IPv4 address too short`,
		`{"same":{"3":300}}`:          `- same[3]: found 300, wanted at most 127`,
		`{"deep":[{},{"a":"***"}]}`:   `- deep[1].a: found "***", wanted base64`,
		`{"small":{"1":{"300":[1]}}}`: `- small[1]: found an object, wanted integer`,
	} {
		if got, _ := refuse(t, &r, "t", args); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}

// TestNamedBytes checks that only []byte and byte arrays are base64: a list of
// another type of that kind is a list of integers, in both directions.
func TestNamedBytes(t *testing.T) {
	type level byte
	type plain []byte
	type input struct {
		X []level  `json:"x,omitempty"`
		Y [2]level `json:"y,omitzero"`
		B plain    `json:"b,omitempty"`
		A [2]byte  `json:"a,omitzero"`
	}
	var r Registry
	AddFunc(&r, Info{Name: "t"}, func(_ context.Context, in input) (input, error) { return in, nil })
	const args = `{"x":[1,255],"y":[0,7],"b":"AQI=","a":"AQI="}`
	res, err := r.Call(t.Context(), "t", args)
	if err != nil || res.IsError || textOf(t, res) != args {
		t.Errorf("got %v, %v", res, err)
	}
	for args, want := range map[string]string{
		`{"x":"AQI="}`:     `- x: found "AQI=" (string), wanted array`,
		`{"x":[256]}`:      `- x[0]: found 256, wanted at most 255`,
		`{"y":[1]}`:        `- y: found 1 items, wanted at least 2`,
		`{"b":[1,2]}`:      `- b: found an array, wanted base64`,
		`{"a":"AQIDBA=="}`: `- a: found "AQIDBA==", wanted base64`,
	} {
		if got, _ := refuse(t, &r, "t", args); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}
