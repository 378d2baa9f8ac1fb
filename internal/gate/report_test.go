// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

var sampleReport = &Report{
	Command: []string{"./server", "-x"}, Server: "sample 1.0", Eras: []string{"2025-11-25"}, Limit: 4194304, Deadline: 5, Sessions: 3, Bytes: 1234, Seconds: 1.25,
	Results: []Result{
		{Name: "utf8", What: "writes strict UTF-8", Why: "because", Verdict: Pass, Seen: []string{"7 messages"}, Seconds: 0.5},
		{Name: "ids", What: "echoes ids", Why: "the id is all that a host has", Verdict: Fault, Found: []Finding{{Fault, "<1> & \"1\""}, {Warning, strings.Repeat("word ", 40)}}},
		{Name: "idle", What: "rests", Why: "dozens of them", Verdict: Warning, Found: []Finding{{Warning, "2 % of a core"}}},
		{Name: "bounded", What: "bounds", Why: "silence", Verdict: NotTried, Needs: "give -big", Seen: []string{"no tool"}},
	},
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := sampleReport.Text(&b); err != nil {
		t.Fatal(err)
	}
	const want = `sample 1.0 (2025-11-25)
./server -x

pass       utf8     writes strict UTF-8
           seen     7 messages
FAULT      ids      echoes ids
           fault    <1> & "1"
           warning  word word word word word word word word word word word word word word word word word word
                    word word word word word word word word word word word word word word word word word word
                    word word word word
           why      the id is all that a host has
warning    idle     rests
           warning  2 % of a core
           why      dozens of them
not tried  bounded  bounds
           seen     no tool
           needs    give -big
           why      silence

1 passed, 1 fault, 1 warning, 1 not tried; 3 sessions, 1,234 bytes of output, in 1.3s
`
	if b.String() != want {
		t.Errorf("have:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestJUnit(t *testing.T) {
	for strict, want := range map[bool][2]int{false: {1, 1}, true: {3, 0}} { // failures, skipped
		var b strings.Builder
		if err := sampleReport.JUnit(&b, strict); err != nil {
			t.Fatal(err)
		}
		var back junitSuites
		if err := xml.Unmarshal([]byte(b.String()), &back); err != nil {
			t.Fatal(err)
		}
		s := back.Suites[0]
		if back.Tests != 4 || s.Tests != 4 || s.Failures != want[0] || s.Skipped != want[1] || len(s.Cases) != 4 {
			t.Errorf("strict %t: %+v", strict, s)
		}
		failed, skipped := 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failed++
			}
			if c.Skipped != nil {
				skipped++
			}
		}
		if failed != want[0] || skipped != want[1] {
			t.Errorf("strict %t: %d failures, %d skipped", strict, failed, skipped)
		}
		if s.Cases[1].Failure == nil || !strings.Contains(s.Cases[1].Failure.Text, `fault: <1> & "1"`) {
			t.Errorf("strict %t: %+v", strict, s.Cases[1])
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(sampleReport)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"verdict":"fault"`, `"verdict":"not tried"`, `"needs":"give -big"`, `"limit":4194304`, `"found":[{"verdict":"fault","text":`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
}

func TestFailed(t *testing.T) {
	for v, want := range map[Verdict][2]bool{Pass: {false, false}, NotTried: {false, true}, Warning: {false, true}, Fault: {true, true}} {
		r := &Report{Results: []Result{{Verdict: v}}}
		if r.Failed(false) != want[0] || r.Failed(true) != want[1] {
			t.Errorf("%v: %t, strict %t", v, r.Failed(false), r.Failed(true))
		}
	}
}
