// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// fileScript reads files on the other machine, with what POSIX has. It follows
// symbolic links by itself, and reads nothing whose real place is not allowed.
// What a model says reaches it as arguments only.
//
//go:embed file.sh
var fileScript string

func (f *fleet) addFiles(tools *tool.Registry) {
	some := false
	for i := range f.machines {
		some = some || len(f.machines[i].paths) > 0
	}
	if !some {
		return
	}
	tool.AddPage(tools, tool.Info{
		Name: "read_file", Title: "Read a file",
		Description: "Returns the lines of a text file on a machine, or a range of them, with their numbers. Long lines come in parts. The answer is a page: pass nextCursor as cursor, with the other arguments unchanged, to go on. Which files may be read, the tool hosts lists.",
		ReadOnly:    tool.Yes, OpenWorld: tool.Yes, Timeout: f.timeout + 10*time.Second,
	}, f.readFile)
	tool.AddPage(tools, tool.Info{
		Name: "tail_log", Title: "End of a log",
		Description: "Returns the last lines of a file on a machine, or the last ones that match a pattern, oldest first. Its cursor returns what has been added since. Which files may be read, the tool hosts lists.",
		ReadOnly:    tool.Yes, OpenWorld: tool.Yes, Timeout: f.timeout + 10*time.Second,
	}, f.tailLog)
}

// climbs tells whether a path has a part "..".
func climbs(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// maxPath is the longest path, as on Linux.
const maxPath = 4096

// cleanPath is a path that a model gave, if it may be read as far as its text
// tells. Where its links lead is looked at over there.
func (f *fleet) cleanPath(m *machine, p string) (string, error) {
	switch {
	case len(m.paths) == 0:
		return "", fmt.Errorf("path: no file may be read on %s", m.name)
	case strings.IndexByte(p, 0) >= 0 || len(p) > maxPath:
		return "", fmt.Errorf("path: has a NUL, or is longer than %d bytes", maxPath)
	case !path.IsAbs(p):
		return "", fmt.Errorf("path: %s is not absolute. What may be read on %s: %s", quote(p), m.name, list(m.paths, ", ", 1500))
	case climbs(p):
		return "", fmt.Errorf("path: %s has a part \"..\"; say where the file is without it", quote(p))
	}
	p = path.Clean(p)
	for _, root := range m.paths {
		if p == root || root == "/" || strings.HasPrefix(p, root+"/") {
			return p, nil
		}
	}
	return "", fmt.Errorf("path: %s may not be read on %s. What may be: %s", quote(p), m.name, list(m.paths, ", ", 1500))
}

// A piece of a file is what the script returns.
type piece struct {
	inode  int64
	size   int64 // of the file
	offset int64 // of data in it
	data   []byte
}

// A bucket keeps the first bytes that it is given.
type bucket struct {
	data []byte
	room int
}

func (b *bucket) Write(p []byte) (int, error) {
	n := min(len(p), b.room-len(b.data))
	b.data = append(b.data, p[:n]...)
	return len(p), nil
}

// headRoom is more than the first line of an answer takes.
const headRoom = 1 << 10

// blockSize is that of the script: its bytes begin and end with whole blocks.
const blockSize = 4096

// fetch runs the script for at most count bytes.
func (f *fleet) fetch(ctx context.Context, m *machine, name string, count int, args ...string) (*piece, error) {
	host, err := f.reach(m)
	if err != nil {
		return nil, err
	}
	got := &bucket{room: headRoom + count + 2*blockSize}
	out, err := host.Run(ctx, exec.Cmd{
		Path: "sh", Args: append(append([]string{"-c", fileScript, "sh"}, args...), m.paths...),
		Stdout: exec.Preview{Head: -1}, Stderr: exec.Preview{Head: 400},
		Sink:    got,
		Timeout: f.timeout,
		// Nothing is to write more than it was asked for.
		KillAfter: int64(got.room) + 64<<10,
	})
	if err != nil {
		return nil, f.explain(m, err)
	}
	switch out.End {
	case exec.Cancelled:
		return nil, context.Cause(ctx)
	case exec.TimedOut:
		return nil, fmt.Errorf("%s: %s was not read within %v; ask for less, or for another part of it", m.name, quote(name), f.timeout)
	case exec.Unknown:
		return nil, f.explain(m, out.Err)
	}
	head, data, ok := bytes.Cut(got.data, []byte("\n"))
	word, rest, _ := strings.Cut(string(head), " ")
	if !ok {
		word, rest = "", strings.TrimSpace(out.Stderr.Text())
	}
	if word != "ok" {
		return nil, refusal(m, name, word, f.hide(rest))
	}
	var p piece
	if _, err := fmt.Sscan(rest, &p.inode, &p.size, &p.offset); err != nil {
		return nil, refusal(m, name, "", rest)
	}
	p.data = data
	return &p, nil
}

// refusal is what a model reads for a word of the script.
func refusal(m *machine, name, word, rest string) error {
	switch word {
	case "missing":
		return fmt.Errorf("path: there is no %s on %s, or the account there may not go to it", quote(name), m.name)
	case "outside":
		return fmt.Errorf("path: a symbolic link leads from %s to a place that may not be read on %s. What may be: %s", quote(name), m.name, list(m.paths, ", ", 1500))
	case "directory":
		return fmt.Errorf("path: %s is a directory; give a file in it", quote(name))
	case "special":
		return fmt.Errorf("path: %s is no regular file (a device, a pipe or a socket)", quote(name))
	case "denied":
		return fmt.Errorf("path: the account on %s may not read %s", m.name, quote(name))
	case "pattern":
		return fmt.Errorf("pattern: %s; it is a POSIX extended regular expression, or with fixed a plain text", quote(rest))
	}
	return fmt.Errorf("%s: its shell does not do what is needed to read files: %s", m.name, quote(rest))
}

// whole cuts a piece that came in whole blocks to what was asked for.
func (p *piece) whole(count int) {
	p.data = p.data[min(int(p.offset%blockSize), len(p.data)):]
	p.data = p.data[:min(count, len(p.data))]
}

// binary tells whether it does not look like text: there is a zero byte in the
// first 8,000, or more than a tenth of them is not UTF-8.
func (p *piece) binary() bool {
	b := p.data[:min(8000, len(p.data))]
	if bytes.IndexByte(b, 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		// The first and the last character may be cut.
		if r == utf8.RuneError && n == 1 && i >= utf8.UTFMax && i < len(b)-utf8.UTFMax {
			bad++
		}
		i += n
	}
	return bad > len(b)/10
}

func (p *piece) binaryError(tool, name string) error {
	return fmt.Errorf("path: %s is a binary file of %d bytes; %s shows text only", quote(name), p.size, tool)
}

// errReplaced is for a cursor whose file is not what it was.
var errReplaced = errors.New("the file was replaced or cut since that cursor was made, as when a log is rotated; start again without cursor")

// same refuses a piece that is not of the file that a cursor was made for.
func (p *piece) same(inode, offset int64) error {
	if p.inode != inode || p.size < offset {
		return errReplaced
	}
	return nil
}

// A Line is a line of a file, or a part of one.
type Line struct {
	Line int64  `json:"line,omitzero" jsonschema_description:"its number from 1, where it is known"`
	Text string `json:"text" jsonschema_description:"its text without the line end"`
	Part bool   `json:"part,omitzero" jsonschema_description:"the line goes on with the text of the next item"`
}

func (l Line) line() string {
	s := l.Text
	if l.Line > 0 {
		s = strconv.FormatInt(l.Line, 10) + "\t" + s
	}
	if l.Part {
		s += " …"
	}
	return s
}

// shrink is a line of at most so many bytes, which says what is missing.
func (l Line) shrink(limit int) (Line, bool) {
	n := max(0, limit-80)
	if n >= len(l.Text) {
		n = len(l.Text) / 2
	}
	for n > 0 && !utf8.RuneStart(l.Text[n]) {
		n--
	}
	if n == 0 {
		return l, false
	}
	l.Text = fmt.Sprintf("%s[%d bytes cut]", l.Text[:n], len(l.Text)-n)
	return l, true
}

// FileSummary stands beside the lines of a page.
type FileSummary struct {
	Size   int64 `json:"size" jsonschema_description:"bytes of the file"`
	Offset int64 `json:"offset" jsonschema_description:"byte of the file where the page begins"`
}

// text is how a line's bytes are shown.
func (f *fleet) text(b []byte) string {
	return f.hide(strings.ToValidUTF8(string(bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))), "\uFFFD"))
}

// A reader puts the lines of a piece on a page, from a position on.
type reader struct {
	f    *fleet
	page *result.Page[Line]
	part int   // most bytes of a line in one item
	stop int64 // byte where to end; 0 is the end of the file
	last int64 // line after which to end; 0 is the last one

	at   int64 // byte of the next item
	line int64 // its number; 0 is unknown
	full bool
}

// newReader is a reader for a page.
func (f *fleet) newReader(page *result.Page[Line]) *reader {
	return &reader{f: f, page: page, part: min(4096, max(64, (page.Budget.Bytes-1000)/6))}
}

// want is how many bytes are enough for a page.
func (r *reader) want() int { return r.page.Budget.Bytes + r.part + maxSecret }

// fill takes lines until the page is full, the range is over or the piece ends.
// It reports whether there is more to read.
func (r *reader) fill(data []byte, end bool) (more bool) {
	for len(data) > 0 {
		if r.stop > 0 && r.at >= r.stop || r.last > 0 && r.line > r.last {
			return false
		}
		n := bytes.IndexByte(data, '\n') + 1
		whole := n > 0
		if !whole {
			if n = len(data); !end && n < r.part+maxSecret {
				return true
			}
		}
		if n > r.part+1 {
			n, whole = r.cut(data), false
		}
		if r.stop > 0 && r.at+int64(n) > r.stop {
			n, whole = int(r.stop-r.at), false
		}
		item := Line{Line: r.line, Text: r.f.text(data[:n]), Part: !whole && !(end && n == len(data))}
		if !r.page.Add(item) {
			r.full = true
			return true
		}
		r.at += int64(n)
		if whole && r.line > 0 {
			r.line++
		}
		data = data[n:]
	}
	return !end
}

// cut is where a long line is cut: in no character and no secret.
func (r *reader) cut(data []byte) int {
	n := r.part
	for _, s := range r.f.secrets {
		from := max(0, n-len(s)+1)
		if i := bytes.Index(data[from:min(len(data), n+len(s)-1)], []byte(s)); i >= 0 && from+i > 0 {
			n = min(n, from+i)
		}
	}
	for back := 0; back < utf8.UTFMax && n > 1 && !utf8.RuneStart(data[n]); back++ {
		n--
	}
	return n
}
