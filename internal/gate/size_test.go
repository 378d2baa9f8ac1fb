// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"
)

// TestSizesNotAccused holds what the checks of sizes say of servers that are
// right: those that say in their own way that a result is not all, those whose
// sizes vary, and those that would have to be sent too much.
func TestSizesNotAccused(t *testing.T) {
	t.Parallel()
	if underRace {
		t.Skip("frames of many MiB")
	}
	echo := tool("echo", `{"text":"x"}`)
	for _, tt := range []struct {
		name    string // of the server
		faults  string
		big     []Call
		only    string
		verdict Verdict
		says    string
	}{
		{"broken", "keeps-ends", echo, "huge-field bounded", Pass, "said to be"},
		{"broken", "keeps-ends", echo, "limit-over", NotTried, "says so"},
		{"broken", "says-truncated", echo, "bounded", Pass, "said to be"},
		{"broken", "links-rest", echo, "bounded", Pass, "said to be"},
		{"broken", "says-in-meta", echo, "bounded", Pass, "said to be"},
		{"broken", "says-oddly", echo, "huge-field bounded", Warning, "something else besides"},
		{"broken", "in-blocks,unbounded", echo, "huge-field", Pass, "came whole, in 42"},
		{"broken", "cuts-frame-oddly", tool("big", `{"bytes":1000}`), "limit-over", Warning, "something else besides"},
		{"broken", "varies", tool("big", `{"bytes":1000}`), "limit-over", NotTried, "its size is not the same each time"},
		// 4 MiB of result for 14 of argument, which is over the server's own
		// limit; then for 200, which the gate does not send.
		{"broken", "condenses", echo, "limit-under", NotTried, "the server refuses a call of 14,"},
		{"broken", "condenses", echo, "ids", Pass, "messages in"},
		{"broken", "condenses-more", echo, "limit-under huge-field bounded", NotTried, "the gate sends at most 16 MiB"},
		// Weir's own, with its default budget.
		{"hello", "", tool("hello", `{"name":"x"}`), "huge-field bounded", Pass, "said to be"},
		{"hello", "", tool("hello", `{"name":"x"}`), "unread-output", Pass, "responses waited to be read"},
	} {
		t.Run(tt.name+" "+tt.faults+" "+tt.only, func(t *testing.T) {
			t.Parallel()
			o := brokenOptions(t, tt.faults)
			if tt.name != "broken" {
				o.Command, o.Call, o.Slow, o.Noisy = []string{program(t, tt.name)}, nil, nil, nil
			}
			if strings.Contains(tt.faults, "unbounded") {
				o.Limit = 32 << 20
			}
			o.Big, o.Only = tt.big, strings.Fields(tt.only)
			if tt.only == "ids" {
				o.Only = append(o.Only, "limit-under")
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range strings.Fields(tt.only) {
				res := resultOf(t, report, name)
				all := strings.Join(res.Seen, "\n")
				for _, f := range res.Found {
					all += "\n" + f.Text
				}
				if res.Verdict != tt.verdict || !strings.Contains(all, tt.says) {
					t.Errorf("%s: %v, found %q, seen %q", name, res.Verdict, res.Found, res.Seen)
				}
			}
		})
	}
}

// TestSaysCut holds where a text says that it is not all, and where it only
// looks so.
func TestSaysCut(t *testing.T) {
	x, prose := strings.Repeat("x", 3000), strings.Repeat("Some words in a line.\n", 200)
	for _, tt := range []struct {
		text string
		want bool
	}{
		{x, false},
		{prose, false},
		{x + " (truncated) " + x, true},
		{x + "\n… 12 lines omitted …\n" + x, true},
		{prose + "[... 8368609 characters truncated ...]\n" + prose, true},
		{prose + "<1,024 bytes left out>\n" + prose, true},
		{prose + "The table was truncated in 1999.\n" + prose, false},
		{prose + "There is more [or less] here.\n" + prose, false},
		{"truncated to 10 lines\n" + prose, true},
	} {
		if got := saysCut(tt.text); got != tt.want {
			t.Errorf("%.30q…%.30q: %v", tt.text[min(2990, len(tt.text)):], tt.text[len(tt.text)/2:], got)
		}
	}
	for _, tt := range []struct {
		result string
		want   bool
	}{
		{`{"structuredContent":{"page":{"Has-More":true}}}`, true},
		{`{"structuredContent":{"page":{"has_more":false},"remaining":0,"nextCursor":null}}`, false},
		{`{"structuredContent":{"text":"abc","total_chars":4000}}`, true},
		{`{"structuredContent":{"text":"abc","total_chars":3}}`, false},
		{`{"structuredContent":{"items":[1,2,3,4,5,6,7,8,9,10],"total":11}}`, true},
		{`{"structuredContent":{"items":["aaaaaaaaaaa",2,3,4,5,6,7,8,9,10],"total":10}}`, false},
		{`{"content":[{"type":"resource_link","uri":"a:b","name":"all"}]}`, true},
		{`{"content":[{"type":"resource_link","uri":"a:b"},{"type":"resource_link","uri":"a:c"}]}`, false},
		{`{"structuredContent":{"complete":false}}`, true},
		{`{"_meta":{"omitted":{}}}`, false},
		{`{"_meta":{"omitted":[1]}}`, true},
	} {
		if got := surveyOf([]byte(tt.result)).marked; got != tt.want {
			t.Errorf("%s: %v", tt.result, got)
		}
	}
}

// TestAddsTo holds when a part of a text has something else besides.
func TestAddsTo(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"abcdef", false}, {"abc", false}, {"def", false}, {"abef", false}, {"", false}, {"ab…ef", true}, {"abc!", true}, {"!", true},
	} {
		if got := addsTo(tt.text, "abcdef"); got != tt.want {
			t.Errorf("%q: %v", tt.text, got)
		}
	}
}
