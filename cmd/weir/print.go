// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"unicode"

	"github.com/weir-mcp/weir/internal/host"
)

// print writes one result: an error's text to stderr, all else to stdout.
func (c *call) print(r *host.Result) error {
	if c.json {
		_, err := fmt.Fprintf(c.env.stdout, "%s\n", r.Raw)
		return err
	}
	w, terminal := c.env.stdout, c.env.outTerminal
	if r.IsError {
		w, terminal = c.env.stderr, c.env.errTerminal
	}
	text := readable(r)
	if terminal {
		text = harmless(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// readable is a result as text: its text blocks, a line for each block that is
// none, and the structured content when there is nothing else.
func readable(r *host.Result) string {
	var parts []string
	for _, b := range r.Content {
		size := len(b.Data) / 4 * 3 // base64
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "image", "audio":
			parts = append(parts, fmt.Sprintf("[%s %s, about %d bytes]", b.Type, b.MIMEType, size))
		case "resource_link":
			parts = append(parts, "[link "+strings.TrimSpace(b.URI+" "+b.Description)+"]")
		case "resource":
			if b.Resource.Text != "" {
				parts = append(parts, b.Resource.Text)
				break
			}
			parts = append(parts, fmt.Sprintf("[resource %s %s, about %d bytes]", b.Resource.URI, b.Resource.MIMEType, len(b.Resource.Blob)/4*3))
		default:
			parts = append(parts, fmt.Sprintf("[content of type %q]", b.Type))
		}
	}
	if len(parts) == 0 && r.Structured != nil {
		parts = append(parts, string(r.Structured))
	}
	return strings.Join(parts, "\n")
}

// harmless replaces what could steer a terminal.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// status is one line on a terminal that the next one replaces. It also passes
// the server's stderr through, so that the two do not mix.
type status struct {
	w    io.Writer
	next io.Writer
	on   bool

	mu    sync.Mutex // guards shown, and held while writing
	shown bool
}

const statusWidth = 78 // columns

func (s *status) set(text string) {
	if !s.on {
		return
	}
	text = strings.ReplaceAll(harmless(text), "\n", " ")
	if runes := []rune(text); len(runes) > statusWidth {
		text = string(runes[:statusWidth-1]) + "…"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "\r\x1b[K%s", text)
	s.shown = true
}

func (s *status) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

func (s *status) clearLocked() {
	if s.shown {
		io.WriteString(s.w, "\r\x1b[K")
		s.shown = false
	}
}

func (s *status) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	return s.next.Write(p)
}

// faultLog takes note of the lines that are not as the protocol wants them.
type faultLog struct {
	mu    sync.Mutex // guards all below
	n     int
	first host.Frame
}

func (l *faultLog) see(f host.Frame) {
	if f.Faults == 0 || f.Kind == host.Oversize {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.first = f
	}
	l.n++
}

func (l *faultLog) report(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		return
	}
	line := l.first.Raw
	more := ""
	if len(line) > 100 {
		line, more = line[:100], "…"
	}
	fmt.Fprintf(w, "weir call: warning: %d lines of the server's stdout break the protocol, first line %d (%s): %q%s\n",
		l.n, l.first.Seq+1, l.first.Faults, line, more)
}

// version is the version of this program as the Go tool recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "0"
}
