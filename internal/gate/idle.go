// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/lint"
)

const (
	idleCPU = 0.01    // of one core
	idleRSS = 1 << 20 // bytes
)

// idle watches a server of which nothing is asked.
func idle(p *probe) {
	if !linux {
		p.cannot("run it on Linux", "CPU time and memory are looked up in /proc, which this system does not have")
		return
	}
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	if p.failed(s.second(), "before it was left alone") {
		return
	}
	// What the opening has set going may end first.
	for end := time.Now().Add(min(3*time.Second, p.o.Idle)); time.Now().Before(end); {
		before, _ := s.tree.usage()
		s.within(500*time.Millisecond, nil)
		if after, _ := s.tree.usage(); after == before || p.over() {
			break
		}
	}
	received := s.tap.received()
	cpu, rss := s.tree.usage()
	began := time.Now()
	s.within(p.o.Idle, s.h.Done())
	took := time.Since(began)
	cpuAfter, rssAfter := s.tree.usage()
	if p.over() {
		return
	}
	if s.h.Metrics().Exit != nil {
		p.fault("the server ended by itself while nothing was asked: %s", s.ending())
		return
	}
	share := float64(cpuAfter-cpu) / float64(took)
	grown := rssAfter - rss
	if share > idleCPU {
		p.warn("it used %.1f %% of a core in %v, in which nothing was asked", 100*share, round(took))
	}
	if grown > idleRSS {
		p.warn("its memory grew by %s (from %s) in %v, in which nothing was asked", size(grown), size(rss), round(took))
	}
	if more := s.tap.received() - received; more > 0 {
		p.note("it wrote %s to stdout meanwhile", bytesOf(more))
	}
	p.ok("%.1f %% of a core, memory %s, %+d KiB in %v", 100*share, size(rss), grown>>10, round(took))
	p.failed(s.second(), "after it was left alone")
}

// schemas looks at what tools/list returned.
func schemas(p *probe) {
	if p.list == nil {
		p.cannot("a server with tools", "tools/list gave no tools")
		return
	}
	if len(p.names) == 0 {
		p.cannot("a server with tools", "tools/list gave an empty list: a list that changes later is not looked at")
		return
	}
	// The same thing in many tools is said once.
	type group struct {
		verdict Verdict
		first   string
		text    string
		more    int
	}
	var groups []*group
	byText := make(map[string]*group)
	for _, f := range lint.Tools(p.list) {
		text := f.Text
		if f.Change != "" {
			text += " (" + f.Change + ")"
		}
		g := byText[text]
		if g == nil {
			g = &group{verdict: Warning, first: f.Tool + f.Place, text: text}
			byText[text] = g
			groups = append(groups, g)
		} else {
			g.more++
		}
		if f.Rejected {
			g.verdict = Fault
		}
	}
	for _, g := range groups {
		at := g.first
		if g.more > 0 {
			at += " and " + count(g.more, "other place")
		}
		p.add(g.verdict, "%s: %s", clip(at), g.text)
	}
	p.ok("%s", count(strings.Count(string(p.list), `"inputSchema"`), "schema"))
}
