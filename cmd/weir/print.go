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
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/host"
)

// print writes one result, of which text is what a person reads: an error's
// text to stderr, all else to stdout.
func (c *call) print(r *host.Result, text string) error {
	if c.json {
		return c.printRaw(r.Raw)
	}
	w, terminal := c.env.stdout, c.env.outTerminal
	if r.IsError {
		w, terminal = c.env.stderr, c.env.errTerminal
	}
	if terminal {
		text = harmless(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// printRaw writes one line of JSON as it came. On a terminal what could steer
// that, which can only stand in strings, is escaped.
func (c *call) printRaw(v []byte) error {
	text := string(v)
	if c.env.outTerminal {
		var b strings.Builder
		for _, r := range text {
			if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		text = strings.ReplaceAll(b.String(), "\r", "\n") // white space
	}
	_, err := io.WriteString(c.env.stdout, text+"\n")
	return err
}

// readable is a result as text: its text blocks, a line for each block that is
// none, and the structured content when there is nothing else.
func readable(r *host.Result) string {
	var parts []string
	for _, b := range r.Content {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "image", "audio":
			parts = append(parts, fmt.Sprintf("[%s %s, %s]", b.Type, b.MIMEType, decoded(b.Data)))
		case "resource_link":
			parts = append(parts, "[link "+strings.TrimSpace(b.URI+" "+b.Description)+"]")
		case "resource":
			if b.Resource.Text != "" {
				parts = append(parts, b.Resource.Text)
				break
			}
			parts = append(parts, fmt.Sprintf("[resource %s %s, %s]", b.Resource.URI, b.Resource.MIMEType, decoded(b.Resource.Blob)))
		default:
			parts = append(parts, fmt.Sprintf("[content of type %q]", b.Type))
		}
	}
	if len(parts) == 0 && r.Structured != nil {
		parts = append(parts, string(r.Structured))
	}
	return strings.Join(parts, "\n")
}

// decoded is the size of what base64 holds.
func decoded(base64 string) string {
	return count(int64(len(strings.TrimRight(base64, "="))*3/4), "byte")
}

// harmless replaces what could steer a terminal. A line end of Windows becomes
// a line feed.
func harmless(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// status is one line on a terminal that the next one replaces. It also passes
// the server's stderr through, so that the two do not mix; to a terminal without
// what could steer that.
type status struct {
	w    io.Writer
	next io.Writer
	on   bool

	mu    sync.Mutex // guards shown and held, and held while writing
	shown bool
	held  []byte // the beginning of a character, or a CR, at the end of what came
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
	if !s.on {
		return s.next.Write(p)
	}
	b := append(s.held, p...)
	n := whole(b)
	_, err := io.WriteString(s.next, harmless(string(b[:n])))
	s.held = append([]byte(nil), b[n:]...)
	return len(p), err
}

// flush passes on what Write has held back: nothing more comes.
func (s *status) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 {
		s.clearLocked()
		io.WriteString(s.next, harmless(string(s.held)))
		s.held = nil
	}
}

// whole is the length of b without a last character that may go on, which may be
// a line end.
func whole(b []byte) int {
	for n := len(b) - 1; n >= 0 && n > len(b)-utf8.UTFMax; n-- {
		if utf8.RuneStart(b[n]) {
			if b[n] == '\r' || !utf8.FullRune(b[n:]) {
				return n
			}
			break
		}
	}
	return len(b)
}

// version is the version of this program as the Go tool recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "0"
}
