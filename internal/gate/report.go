// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// width is the width of a report for a person, in characters.
const width = 110

// Text writes the report for a person: a verdict for each check, what was
// found and seen, and, where it is not a pass, why it matters.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	name := r.Server
	if name == "" {
		name = "the server gave no name"
	}
	eras := "no session could be opened"
	if len(r.Eras) > 0 {
		eras = strings.Join(r.Eras, " and ")
	}
	fmt.Fprintf(&b, "%s (%s)\n%s\n\n", name, eras, strings.Join(r.Command, " "))
	column := 0
	for _, res := range r.Results {
		column = max(column, len(res.Name))
	}
	indent := strings.Repeat(" ", 11)
	for _, res := range r.Results {
		verdict := res.Verdict.String()
		if res.Verdict == Fault {
			verdict = strings.ToUpper(verdict)
		}
		fmt.Fprintf(&b, "%-9s  %-*s  %s\n", verdict, column, res.Name, res.What)
		entry := func(label, text string) {
			wrap(&b, indent+fmt.Sprintf("%-9s", label), indent+strings.Repeat(" ", 9), text)
		}
		for _, f := range res.Found {
			entry(f.Verdict.String(), f.Text)
		}
		for _, text := range res.Seen {
			entry("seen", text)
		}
		if res.Verdict == NotTried {
			entry("needs", res.Needs)
		}
		if res.Verdict != Pass {
			entry("why", res.Why)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary is the report in one line.
func (r *Report) Summary() string {
	return fmt.Sprintf("%d passed, %s, %s, %d not tried; %s, %s of output, in %v",
		r.Count(Pass), count(r.Count(Fault), "fault"), count(r.Count(Warning), "warning"), r.Count(NotTried),
		count(r.Sessions, "session"), size(r.Bytes), round(time.Duration(r.Seconds*float64(time.Second))))
}

// wrap writes text in lines of at most width characters; the first begins
// with first, the others with next.
func wrap(b *strings.Builder, first, next, text string) {
	b.WriteString(first)
	n := len(first)
	for i, word := range strings.Fields(text) {
		size := len([]rune(word))
		switch {
		case i > 0 && n+1+size > width:
			b.WriteString("\n" + next)
			n = len(next)
		case i > 0:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += size
	}
	b.WriteByte('\n')
}

// The form of JUnit, as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitResult `xml:"failure,omitempty"`
		Skipped *junitResult `xml:"skipped,omitempty"`
		Out     string       `xml:"system-out,omitempty"`
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit has it: a fault is a failure, what was not
// tried is skipped, a warning passes and stands in system-out. When strict,
// all three are failures.
func (r *Report) JUnit(w io.Writer, strict bool) error {
	suite := junitSuite{Name: "weir gate", Tests: len(r.Results), Time: fmt.Sprintf("%.3f", r.Seconds)}
	for _, res := range r.Results {
		c := junitCase{Name: res.Name, Class: "weir.gate", Time: fmt.Sprintf("%.3f", res.Seconds)}
		first, lines := res.Needs, []string(nil)
		for _, f := range res.Found {
			lines = append(lines, f.Verdict.String()+": "+f.Text)
		}
		if len(res.Found) > 0 {
			first = res.Found[0].Text
		}
		seen := strings.Join(append(lines, res.Seen...), "\n")
		failed := &junitResult{Message: first, Type: res.Verdict.String(), Text: seen + "\n" + res.Why}
		switch {
		case res.Verdict == Fault, strict && res.Verdict != Pass:
			c.Failure = failed
			suite.Failures++
		case res.Verdict == NotTried:
			c.Skipped = &junitResult{Message: res.Needs}
			c.Out = seen
			suite.Skipped++
		case res.Verdict == Warning:
			c.Out = seen
		default:
			c.Out = seen
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite.write(w)
}

// JUnitFailure writes, as JUnit has it, that there is no report because of
// err: one testcase that failed.
func JUnitFailure(w io.Writer, err error) error {
	text := strings.TrimPrefix(err.Error(), "gate: ")
	suite := junitSuite{Name: "weir gate", Tests: 1, Failures: 1, Time: "0.000", Cases: []junitCase{{
		Name: "start", Class: "weir.gate", Time: "0.000", Failure: &junitResult{Message: text, Type: Fault.String(), Text: text},
	}}}
	return suite.write(w)
}

func (suite junitSuite) write(w io.Writer) error {
	out := junitSuites{Tests: suite.Tests, Failures: suite.Failures, Skipped: suite.Skipped, Time: suite.Time, Suites: []junitSuite{suite}}
	b, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(b)+"\n")
	return err
}
