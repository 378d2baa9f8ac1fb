// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"

	"github.com/weir-mcp/weir/internal/schemadiff"
	"github.com/weir-mcp/weir/internal/toollist"
)

// changeReport is a change as -json prints it.
type changeReport struct {
	Tool    string `json:"tool"`
	Place   string `json:"place"`   // JSON pointer in the definition; empty for the tool as a whole
	Verdict string `json:"verdict"` // "breaks callers", "review" or "compatible"
	Text    string `json:"text"`
	Why     string `json:"why,omitempty"`
}

// changed reports what changed between the saved list and list.
func (s *schema) changed(list *toollist.List, where string) error {
	changes := schemadiff.Compare(s.diff.list, list)
	var r report
	out := []changeReport{}
	counts := map[schemadiff.Verdict]int{}
	for _, c := range changes {
		counts[c.Verdict]++
		out = append(out, changeReport{c.Tool, c.Place, c.Verdict.String(), c.Text, c.Why})
		r.add(c.Tool, c.Verdict.String(), label(c.Place), c.Text, c.Why)
	}
	worst := schemadiff.Worst(changes)
	var err error
	if s.json {
		err = s.printJSON(struct {
			Verdict string         `json:"verdict"`
			Changes []changeReport `json:"changes"`
		}{worst.String(), out})
	} else {
		sum := fmt.Sprintf("%s: nothing changed since %s.", cmp.Or(where, "the server"), s.diff.name)
		if len(changes) > 0 {
			verb := "break"
			if counts[schemadiff.Breaks] == 1 {
				verb = "breaks"
			}
			sum = fmt.Sprintf("%s: %s since %s: %d %s callers, %d to review, %d compatible.", where, count(int64(len(changes)), "change"), s.diff.name,
				counts[schemadiff.Breaks], verb, counts[schemadiff.Review], counts[schemadiff.Compatible])
		}
		err = s.printText(r.String() + sum + "\n")
	}
	if err == nil && (worst == schemadiff.Breaks || s.strict && worst == schemadiff.Review) {
		err = errNo
	}
	return err
}
