// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import "fmt"

// Verdict is what a check came to. Greater is worse.
type Verdict uint8

const (
	// Pass: what was looked at is as it should be.
	Pass Verdict = iota
	// NotTried: it could not be looked at; Result.Needs says what to give.
	NotTried
	// Warning: no rule is broken, or only one that a host can live with.
	Warning
	// Fault: a host will lose answers, or more.
	Fault
)

var verdicts = [...]string{"pass", "not tried", "warning", "fault"}

func (v Verdict) String() string { return verdicts[v] }

// MarshalText is String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Result is what one check came to.
type Result struct {
	// Name, What and Why are those of the Check.
	Name string `json:"name"`
	What string `json:"what"`
	Why  string `json:"why"`
	// Verdict is the worst of what was found.
	Verdict Verdict `json:"verdict"`
	// Found says what is wrong; empty for a pass.
	Found []Finding `json:"found,omitempty"`
	// Seen says what else was seen.
	Seen []string `json:"seen,omitempty"`
	// Needs says what to give, for NotTried; such as "give -big".
	Needs string `json:"needs,omitempty"`
	// Seconds is how long the check ran.
	Seconds float64 `json:"seconds"`
}

// Finding is one thing that is wrong.
type Finding struct {
	Verdict Verdict `json:"verdict"` // Fault or Warning
	Text    string  `json:"text"`    // a sentence
}

// Report is what a run came to.
type Report struct {
	// Command is the server's command line.
	Command []string `json:"command"`
	// Server is the name and version that it gave, "" when it gave none.
	Server string `json:"server"`
	// Eras are the revisions that it speaks: what initialize came to, and
	// 2026-07-28.
	Eras []string `json:"eras"`
	// Limit is that of the Options in bytes, Deadline in seconds.
	Limit    int     `json:"limit"`
	Deadline float64 `json:"deadline"`
	// Results are in the order of Checks.
	Results []Result `json:"results"`
	// Sessions counts the processes that were started, Bytes what they wrote
	// to stdout.
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	// Seconds is how long the run took.
	Seconds float64 `json:"seconds"`
}

// Count is how many checks came to v.
func (r *Report) Count(v Verdict) (n int) {
	for _, res := range r.Results {
		if res.Verdict == v {
			n++
		}
	}
	return n
}

// Failed reports whether a release must not go out: because of a fault, or,
// when strict, because of anything but a pass.
func (r *Report) Failed(strict bool) bool {
	return r.Count(Fault) > 0 || strict && r.Count(Warning)+r.Count(NotTried) > 0
}

// outcome gathers what a check finds. It belongs to one goroutine.
type outcome struct {
	verdict Verdict
	tried   bool // something was looked at
	hidden  bool // what it is about was not to be seen
	found   []Finding
	seen    []string
	needs   string
}

func (o *outcome) add(v Verdict, format string, args ...any) {
	o.tried = true
	o.verdict = max(o.verdict, v)
	o.found = append(o.found, Finding{v, fmt.Sprintf(format, args...)})
}

// fault says that a rule is broken which hosts rely on.
func (o *outcome) fault(format string, args ...any) { o.add(Fault, format, args...) }

// warn says what a host can live with, and would rather not.
func (o *outcome) warn(format string, args ...any) { o.add(Warning, format, args...) }

// ok says what was seen to be as it should.
func (o *outcome) ok(format string, args ...any) {
	o.tried = true
	o.seen = append(o.seen, fmt.Sprintf(format, args...))
}

// note says something beside the verdict.
func (o *outcome) note(format string, args ...any) {
	o.seen = append(o.seen, fmt.Sprintf(format, args...))
}

// cannot says that something could not be tried, and what to give. It does
// not outdo what was tried.
func (o *outcome) cannot(needs, format string, args ...any) {
	if o.needs == "" {
		o.needs = needs
	}
	o.seen = append(o.seen, fmt.Sprintf(format, args...))
}

// unseen says that what the check is about was not to be seen, whatever else
// was, and what to give: then it is no pass.
func (o *outcome) unseen(needs, format string, args ...any) {
	o.hidden = true
	o.cannot(needs, format, args...)
}

func (o *outcome) final() Verdict {
	if o.verdict == Pass && (!o.tried || o.hidden) {
		return NotTried
	}
	return o.verdict
}
