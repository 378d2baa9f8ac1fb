// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSummary holds that what is kept can be read back: a fault that is kept is known, another is new.
func TestSummary(t *testing.T) {
	const out = `{"server":"x 1","eras":["2025-11-25"],"results":[
		{"name":"utf8","verdict":"pass"},
		{"name":"ids","verdict":"fault","found":[{"verdict":"warning","text":"a | b <c> in /tmp/x/files"},{"verdict":"fault","text":"d"}]},
		{"name":"idle","verdict":"warning","found":[{"verdict":"warning","text":"e"}]},
		{"name":"bounded","verdict":"not tried","needs":"give -big"}]}`
	r := new(report)
	if err := json.Unmarshal([]byte(out), r); err != nil {
		t.Fatal(err)
	}
	s := &server{name: "one", title: "One 1.0"}
	text := s.summary(r, "/tmp/x")
	const want = `
## one

One 1.0; 2025-11-25. 1 passed, 1 faults, 1 warnings, 1 not tried.

| check | verdict | found |
| --- | --- | --- |
| ids | warning | a \| b &lt;c> in …/files |
| ids | fault | d |
| idle | warning | e |
| bounded | not tried | give -big |
`
	if text != want {
		t.Errorf("have:\n%s\nwant:\n%s", text, want)
	}
	findings := head + "\n## other\n\n| stray-first | fault | x |\n" + text + "\n## last\n\n| utf8 | fault | y |\n"
	if got := keptFaults(findings, "one"); !slices.Equal(got, []string{"ids"}) {
		t.Errorf("kept %q", got)
	}
	if got := news(r, []string{"ids"}); got != nil {
		t.Errorf("new: %q", got)
	}
	if got := news(r, []string{"utf8"}); !slices.Equal(got, []string{"ids"}) {
		t.Errorf("new: %q", got)
	}
}

// TestFindings holds that the kept findings have a section for each server.
func TestFindings(t *testing.T) {
	data, err := os.ReadFile("findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !bytes.Contains(data, []byte("\n## "+name+"\n")) {
			t.Errorf("findings.md has no section for %s", name)
		}
	}
}

func TestOptions(t *testing.T) {
	if err := Run(t.Context(), Options{Only: []string{"nonesuch"}}); err == nil || !strings.Contains(err.Error(), "there are go-sdk") {
		t.Errorf("%v", err)
	}
	if err := Run(t.Context(), Options{Only: []string{"go-sdk"}, Write: true}); err == nil {
		t.Error("-write with -only")
	}
}
