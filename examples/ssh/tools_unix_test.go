// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

func textOf(r result.Result) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(result.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// call calls a tool that must succeed, and decodes its structured result.
func call[T any](t testing.TB, tools *tool.Registry, name string, in args) (v T, text string) {
	t.Helper()
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		t.Fatalf("%s %v: %s", name, in, textOf(r))
	}
	data, err := json.Marshal(r.Structured, result.Options())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v, result.Options()); err != nil {
		t.Fatal(err)
	}
	return v, textOf(r)
}

// refused calls a tool that must fail, and returns the text that a model reads.
func refused(t testing.TB, tools *tool.Registry, name string, in args) string {
	t.Helper()
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError {
		t.Errorf("%s %v: not an error: %s", name, in, textOf(r))
	}
	return textOf(r)
}

// A filePage is what read_file and tail_log answer.
type filePage struct {
	Items      []Line `json:"items"`
	Truncated  bool   `json:"truncated"`
	NextCursor string `json:"nextCursor"`
	Omitted    int    `json:"omitted"`
	Size       int64  `json:"size"`
	Offset     int64  `json:"offset"`
	Earlier    bool   `json:"earlier"`
}

func (p filePage) texts() []string {
	var all []string
	for _, l := range p.Items {
		all = append(all, l.Text)
	}
	return all
}

// TestRun holds what the tool run returns, and that a command that is not
// allowed says which are.
func TestRun(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "", "")
	policy := args{
		"hosts": []hosted{s.entry("web1").with("description", "front end"), s.entry("db")},
		"commands": []args{
			{"argv": []string{"echo", "..."}},
			{"argv": []string{"sh", "-c", `echo out; echo err >\&2; exit 7`}},
			{"argv": []string{"seq", "*"}, "hosts": []string{"web1"}},
			{"argv": []string{"no-such-program"}},
			{"argv": []string{"sleep", "*"}},
			{"argv": []string{"printf", `\\377`}},
			{"argv": []string{"touch", s.Dir + "/touched"}, "destructive": true},
		},
	}
	tools := serve(t, policy, permission{})
	type output = exec.Output

	t.Run("quoted", func(t *testing.T) {
		o, text := call[output](t, tools, "run", args{"host": "web1", "command": "echo", "args": []string{"a b", "$HOME", "`id`", "'", "*", ";reboot"}})
		if want := "a b $HOME `id` ' * ;reboot\n"; o.Stdout.Head != want || text != strings.TrimSuffix(want, "\n") || o.Host != "web1" || o.End != "exited" {
			t.Errorf("%+v, %q", o, text)
		}
	})
	t.Run("status", func(t *testing.T) {
		o, text := call[output](t, tools, "run", args{"host": "db", "command": "sh", "args": []string{"-c", "echo out; echo err >&2; exit 7"}})
		if o.ExitCode != 7 || o.Stdout.Head != "out\n" || o.Stderr.Head != "err\n" || !strings.Contains(text, "7") {
			t.Errorf("%+v, %q", o, text)
		}
	})
	t.Run("artifact", func(t *testing.T) {
		o, text := call[output](t, tools, "run", args{"host": "web1", "command": "seq", "args": []string{"100000"}})
		if !o.Stdout.Truncated || o.Stdout.Bytes != 588895 || !strings.HasSuffix(o.Stdout.Tail, "99999\n100000\n") || len(o.Stdout.Tail) < len(o.Stdout.Head) {
			t.Errorf("%+v", o)
		}
		if handleIn(o.Full) == "" || !strings.Contains(text, o.Full) {
			t.Fatalf("no handle: %q, %q", o.Full, text)
		}
		p, _ := call[filePage](t, tools, "read_artifact", args{"handle": handleIn(o.Full), "tail": 1})
		if len(p.Items) != 1 || p.Items[0].Text != "100000" {
			t.Errorf("the artifact ends in %+v", p.Items)
		}
		// What fits has none.
		if o, _ := call[output](t, tools, "run", args{"host": "web1", "command": "seq", "args": []string{"100"}}); o.Full != "" {
			t.Errorf("an artifact of %d bytes", o.Stdout.Bytes)
		}
		// It does when the caller wants less than that.
		if o, _ := call[output](t, tools, "run", args{"host": "web1", "command": "seq", "args": []string{"1000"}, "maxBytes": 2048}); o.Full == "" || !o.Stdout.Truncated {
			t.Errorf("%+v", o)
		}
	})
	t.Run("binary", func(t *testing.T) {
		if o, _ := call[output](t, tools, "run", args{"host": "web1", "command": "printf", "args": []string{`\377`}}); o.Full == "" || o.Stdout.Head != "\uFFFD" {
			t.Errorf("%+v", o)
		}
	})
	t.Run("time-out", func(t *testing.T) {
		if o, _ := call[output](t, tools, "run", args{"host": "web1", "command": "sleep", "args": []string{uniqueSeconds()}, "timeoutSeconds": 1}); o.End != "timedOut" {
			t.Errorf("%+v", o)
		}
	})
	for _, tt := range []struct {
		name  string
		in    args
		wants []string
	}{
		{"another host", args{"host": "web9", "command": "echo"}, []string{`"web9" may not be reached`, "web1, db"}},
		{"an address", args{"host": s.Addr, "command": "echo"}, []string{"may not be reached"}},
		{"another command", args{"host": "web1", "command": "reboot"}, []string{`"reboot" is not allowed on web1`, "Allowed there: echo ...; "}},
		{"a line", args{"host": "web1", "command": "echo a; reboot"}, []string{`command: "echo a; reboot" is not allowed`, "command is the program alone"}},
		{"other arguments", args{"host": "web1", "command": "seq", "args": []string{"1", "2"}}, []string{"seq may be run there as: seq *."}},
		{"an option", args{"host": "web1", "command": "seq", "args": []string{"--help"}}, []string{`does not begin with "-"`}},
		{"another script", args{"host": "web1", "command": "sh", "args": []string{"-c", "reboot"}}, []string{"is not allowed"}},
		{"of another host", args{"host": "db", "command": "seq", "args": []string{"1"}}, []string{"is not allowed on db"}},
		{"destructive", args{"host": "db", "command": "touch", "args": []string{s.Dir + "/touched"}}, []string{"started without -destructive"}},
		{"no program", args{"host": "web1", "command": "no-such-program"}, []string{"no such program there"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := refused(t, tools, "run", tt.in)
			for _, want := range tt.wants {
				if !strings.Contains(text, want) {
					t.Errorf("%q, want %q in it", text, want)
				}
			}
		})
	}
	if _, err := os.Stat(s.Dir + "/touched"); err == nil {
		t.Error("the destructive command was run")
	}
	call[output](t, serve(t, policy, permission{destructive: true}), "run", args{"host": "db", "command": "touch", "args": []string{s.Dir + "/touched"}})
	if _, err := os.Stat(s.Dir + "/touched"); err != nil {
		t.Error("the destructive command was not run with -destructive")
	}
	if o, _ := call[output](t, serve(t, policy, permission{any: true}), "run", args{"host": "db", "command": "sh", "args": []string{"-c", "echo $((6*7))"}}); o.Stdout.Head != "42\n" {
		t.Errorf("%+v", o)
	}
	page, text := call[struct {
		Items []HostItem `json:"items"`
	}](t, tools, "hosts", nil)
	if len(page.Items) != 2 || page.Items[0].Host != "web1" || !slices.Contains(page.Items[0].Commands, "seq *") || slices.Contains(page.Items[1].Commands, "seq *") || strings.Contains(text, s.Addr) || strings.Contains(text, s.KeyFile) || strings.Contains(text, "touch") {
		t.Errorf("%+v, %q", page, text)
	}
}

// handleIn is the handle of an artifact in a text that tells how to read it.
func handleIn(text string) string { return regexp.MustCompile(`\b[a-z2-7]{32}\b`).FindString(text) }

// TestNotLetIn holds what a model reads when a host cannot be used, and that it
// learns no file name of this machine from it.
func TestNotLetIn(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "", "")
	other := filepath.Join(s.Dir, "other")
	_, private := sshdtest.NewKey(t, "")
	empty := filepath.Join(s.Dir, "empty")
	changed := filepath.Join(s.Dir, "changed")
	signer, _ := sshdtest.NewKey(t, "")
	for name, data := range map[string][]byte{other: private, empty: nil, changed: knownLine(s, signer.PublicKey())} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	tools := serve(t, args{
		"hosts": []hosted{
			s.entry("key").with("keyFiles", []string{other}),
			s.entry("unknown").with("knownHosts", []string{empty}),
			s.entry("changed").with("knownHosts", []string{changed}),
			s.entry("nobody").with("address", nobody),
		},
		"commands": []args{{"argv": []string{"true"}}},
	}, permission{})
	for host, want := range map[string]string{
		"key":     "does not let this server in",
		"unknown": "the host key is not known, so the host was not trusted (it offers SHA256:",
		"changed": "another machine may answer in its place (it offers SHA256:",
		"nobody":  "connect",
	} {
		text := refused(t, tools, "run", args{"host": host, "command": "true"})
		if !strings.Contains(text, want) || strings.Contains(text, s.Dir) {
			t.Errorf("%s: %q, want %q", host, text, want)
		}
	}
}

// files makes files to be read, and a policy with the host box that may read
// them.
func files(t *testing.T, content map[string]string) (dir string, tools *tool.Registry) {
	t.Helper()
	s := startSSHD(t, "", "")
	dir = t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for name, text := range content {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tools = serve(t, args{
		"hosts": []hosted{s.entry("box"), s.entry("shut")},
		"paths": []args{{"path": dir + "/open", "hosts": []string{"box"}}, {"path": dir + "/one", "hosts": []string{"box"}}, {"path": dir + "/away", "hosts": []string{"box"}}},
	}, permission{})
	return dir, tools
}

// numbered are lines from 1 to n.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// TestReadFile holds ranges, cursors and the paths that are refused.
func TestReadFile(t *testing.T) {
	t.Parallel()
	long, fewer := strings.Repeat("水x", 5000), strings.Repeat("水x", 300)
	odd := "open/it's $(odd) \"name\" -n *.txt"
	dir, tools := files(t, map[string]string{
		"open/a": numbered(6000), "open/empty": "", "open/long": "first\n" + long + "\r\nlast", "open/fewer": "first\n" + fewer + "\r\nlast", "open/binary": "ELF\x00\x01", "open/latin": strings.Repeat("gr\xfc\xdfe ", 100),
		"open/sub/b": "b\n", "one": "one\n", "two": "two\n", "secret/s": "secret\n", odd: "odd\n", "open/-n": "dash\n", "openly/x": "x\n", "target/t": "t\n",
	})
	for from, to := range map[string]string{
		"open/in": "sub/b", "open/out": "../secret/s", "open/dirout": "../secret", "open/far": dir + "/secret/s", "open/loop": "loop", "open/dangling": "nowhere",
		"open/chain": "in", "open/dirin": "sub/../sub", "open/alone": dir + "/one", "away": "target", "open/dash": "./-n",
	} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "open/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(t *testing.T, name string, more args) (filePage, string) {
		in := args{"host": "box", "path": dir + "/" + name}
		for k, v := range more {
			in[k] = v
		}
		return call[filePage](t, tools, "read_file", in)
	}
	for _, tt := range []struct {
		name string
		more args
		want []string
		line int64
	}{
		{"open/a", args{"startLine": 5, "endLine": 6}, []string{"line 5", "line 6"}, 5},
		{"open/a", args{"endLine": 1}, []string{"line 1"}, 1},
		{"open/a", args{"startLine": 6000}, []string{"line 6000"}, 6000},
		{"open/a", args{"offset": 7, "bytes": 9}, []string{"line 2", "li"}, 0},
		{"open/a", args{"offset": len(numbered(6000)) - 8}, []string{"ne 6000"}, 0},
		{"open/empty", nil, nil, 0},
		{"open/sub/b", nil, []string{"b"}, 1},
		{"open/in", nil, []string{"b"}, 1},
		{"open/chain", nil, []string{"b"}, 1},
		{"open/dirin/b", nil, []string{"b"}, 1},
		{"open/alone", nil, []string{"one"}, 1},
		{"open/dash", nil, []string{"dash"}, 1},
		{"open/-n", nil, []string{"dash"}, 1},
		{"one", nil, []string{"one"}, 1},
		{"away/t", nil, []string{"t"}, 1},
		{odd, nil, []string{"odd"}, 1},
	} {
		t.Run(fmt.Sprint(tt.name, tt.more), func(t *testing.T) {
			p, _ := read(t, tt.name, tt.more)
			if !slices.Equal(p.texts(), tt.want) || p.NextCursor != "" || len(p.Items) > 0 && p.Items[0].Line != tt.line {
				t.Errorf("%+v, want %q", p, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name string
		more args
		want string
	}{
		{"open/out", nil, "a symbolic link leads from"},
		{"open/far", nil, "a symbolic link leads from"},
		{"open/dirout/s", nil, "a symbolic link leads from"},
		{"open/dirout/none", nil, "a symbolic link leads from"},
		{"open/loop", nil, "there is no"},
		{"open/dangling", nil, "there is no"},
		{"open/none", nil, "there is no"},
		{"open/none/none", nil, "there is no"},
		{"open", nil, "is a directory"},
		{"open/fifo", nil, "is no regular file"},
		{"open/binary", nil, "is a binary file of 5 bytes"},
		{"open/latin", nil, "is a binary file"},
		{"openly/x", nil, "may not be read on box"},
		{"secret/s", nil, "may not be read on box"},
		{"open/../secret/s", nil, `has a part ".."`},
		{"open/a", args{"startLine": 6001}, "startLine 6001 is past the end"},
		{"open/a", args{"offset": 1 << 40}, "is past the end"},
		{"open/a", args{"startLine": 3, "endLine": 2}, "endLine 2 is before startLine 3"},
		{"open/a", args{"startLine": 3, "bytes": 2}, "not both"},
		{"open/a", args{"host": "shut"}, "no file may be read on shut"},
		{"open/a", args{"cursor": "nonsense"}, "cursor"},
	} {
		t.Run(fmt.Sprint(tt.name, tt.more), func(t *testing.T) {
			in := args{"host": "box", "path": dir + "/" + tt.name}
			for k, v := range tt.more {
				in[k] = v
			}
			if text := refused(t, tools, "read_file", in); !strings.Contains(text, tt.want) || strings.Contains(text, "secret\n") {
				t.Errorf("%q, want %q", text, tt.want)
			}
		})
	}
	t.Run("pages", func(t *testing.T) {
		var got strings.Builder
		more := args{}
		pages := 0
		for line := int64(1); ; pages++ {
			p, text := read(t, "open/a", more)
			for _, l := range p.Items {
				if l.Line != line || l.Part {
					t.Fatalf("%+v, want line %d", l, line)
				}
				line++
				got.WriteString(l.Text + "\n")
			}
			if p.NextCursor == "" {
				break
			}
			if !strings.Contains(text[:min(2048, len(text))], p.NextCursor) {
				t.Fatal("the text does not begin with the cursor")
			}
			more["cursor"] = p.NextCursor
		}
		if got.String() != numbered(6000) || pages < 2 {
			t.Errorf("%d bytes in %d pages", got.Len(), pages)
		}
	})
	// Long lines come in parts that are the line again when put together,
	// whatever the size of a page.
	for size, name := range map[int]string{0: "long", 1024: "fewer", 5000: "fewer"} {
		t.Run(fmt.Sprint("parts ", size), func(t *testing.T) {
			var got strings.Builder
			more := args{}
			if size > 0 {
				more["maxBytes"] = size
			}
			for {
				p, _ := read(t, "open/"+name, more)
				for _, l := range p.Items {
					got.WriteString(l.Text)
					if !l.Part {
						got.WriteString("\n")
					}
				}
				if p.Omitted > 0 {
					t.Fatalf("%d lines omitted", p.Omitted)
				}
				if more["cursor"] = p.NextCursor; p.NextCursor == "" {
					break
				}
			}
			if want := "first\n" + map[string]string{"long": long, "fewer": fewer}[name] + "\nlast\n"; got.String() != want {
				t.Errorf("%d bytes, want %d", got.Len(), len(want))
			}
		})
	}
	t.Run("replaced", func(t *testing.T) {
		p, _ := read(t, "open/a", nil)
		// The name of another file, as after a rotation.
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(numbered(7000)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "open/a")); err != nil {
			t.Fatal(err)
		}
		if text := refused(t, tools, "read_file", args{"host": "box", "path": dir + "/open/a", "cursor": p.NextCursor}); !strings.Contains(text, "start again without cursor") {
			t.Error(text)
		}
	})
}

// TestTailLog holds the last lines, patterns, and a cursor that follows a log as
// it grows.
func TestTailLog(t *testing.T) {
	t.Parallel()
	dir, tools := files(t, map[string]string{
		"open/log": numbered(20000), "open/short": "a\nb\r\nc", "open/wide": strings.Repeat("w", 200000) + "\n", "open/empty": "",
		"open/nul": "match 1\nx\x00y match 2\nno\n", "open/dash": "a\n-v b\nc\n",
	})
	tail := func(t *testing.T, name string, more args) (filePage, string) {
		in := args{"host": "box", "path": dir + "/open/" + name}
		for k, v := range more {
			in[k] = v
		}
		return call[filePage](t, tools, "tail_log", in)
	}
	for _, tt := range []struct {
		name    string
		more    args
		want    []string
		earlier bool
	}{
		{"log", args{"lines": 2}, []string{"line 19999", "line 20000"}, true},
		{"short", nil, []string{"a", "b", "c"}, false},
		{"short", args{"lines": 1}, []string{"c"}, true},
		{"empty", nil, nil, false},
		{"log", args{"pattern": "^line 1[0-9]7$"}, []string{"line 107", "line 117", "line 127", "line 137", "line 147", "line 157", "line 167", "line 177", "line 187", "line 197"}, false},
		{"log", args{"pattern": "7$", "lines": 2}, []string{"line 19987", "line 19997"}, true},
		{"log", args{"pattern": "LINE 20000", "ignoreCase": true}, []string{"line 20000"}, false},
		{"log", args{"pattern": "line 2000.", "fixed": true}, nil, false},
		{"nul", args{"pattern": "match"}, []string{"match 1", "xy match 2"}, false},
		{"dash", args{"pattern": "-v"}, []string{"-v b"}, false},
		{"dash", args{"pattern": "-v", "fixed": true}, []string{"-v b"}, false},
		{"dash", args{"pattern": "'; echo b; '"}, nil, false},
	} {
		t.Run(fmt.Sprint(tt.name, tt.more), func(t *testing.T) {
			p, _ := tail(t, tt.name, tt.more)
			if !slices.Equal(p.texts(), tt.want) || p.Earlier != tt.earlier || p.NextCursor == "" || p.Truncated {
				t.Errorf("%+v, want %q", p, tt.want)
			}
		})
	}
	t.Run("numbers", func(t *testing.T) {
		if p, _ := tail(t, "log", args{"pattern": "line 777$"}); len(p.Items) != 1 || p.Items[0].Line != 777 {
			t.Errorf("%+v", p)
		}
	})
	t.Run("what fits", func(t *testing.T) {
		// Not all of the lines that were asked for: the last ones then.
		p, _ := tail(t, "log", args{"lines": 1000, "maxBytes": 2000})
		if n := len(p.Items); n < 5 || n > 200 || p.Items[n-1].Text != "line 20000" || !p.Earlier {
			t.Errorf("%d lines, %+v", n, p)
		}
		p, _ = tail(t, "wide", nil)
		if len(p.Items) != 1 || !strings.Contains(p.Items[0].Text, "bytes cut]") {
			t.Errorf("%+v", p)
		}
		p, _ = tail(t, "wide", args{"pattern": "w"})
		if len(p.Items) != 1 || !strings.Contains(p.Items[0].Text, "bytes cut]") || !p.Earlier {
			t.Errorf("%+v", p)
		}
	})
	for _, tt := range []struct {
		more args
		want string
	}{
		{args{"pattern": "("}, "pattern: "},
		{args{"pattern": "a\nb"}, "pattern: it has no line breaks"},
		{args{"fixed": true}, "need a pattern"},
	} {
		in := args{"host": "box", "path": dir + "/open/log"}
		for k, v := range tt.more {
			in[k] = v
		}
		if text := refused(t, tools, "tail_log", in); !strings.Contains(text, tt.want) {
			t.Errorf("%v: %q, want %q", tt.more, text, tt.want)
		}
	}
	for _, pattern := range []string{"", "line .*[05]$"} {
		t.Run("follow "+pattern, func(t *testing.T) {
			name := filepath.Join(dir, "open", "grow")
			os.Remove(name)
			grow := func(text string) {
				f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteString(text); err != nil {
					t.Fatal(err)
				}
			}
			more := args{"lines": 3}
			if pattern != "" {
				more["pattern"] = pattern
			}
			next := func(want ...string) {
				t.Helper()
				p, _ := tail(t, "grow", more)
				if !slices.Equal(p.texts(), want) {
					t.Errorf("%q, want %q", p.texts(), want)
				}
				more["cursor"] = p.NextCursor
			}
			grow("line 5\nline 10\n")
			next("line 5", "line 10")
			next()
			grow("line 15\nline 20\n")
			next("line 15", "line 20")
			next()
			grow("line 25\n")
			next("line 25")
			// More than a page holds comes in pages, without a gap.
			if pattern == "" {
				grow(numbered(4000))
				n := 0
				for {
					p, _ := tail(t, "grow", more)
					for _, l := range p.Items {
						if n++; l.Text != fmt.Sprintf("line %d", n) {
							t.Fatalf("%+v, want line %d", l, n)
						}
					}
					more["cursor"] = p.NextCursor
					if !p.Truncated {
						break
					}
				}
				if n != 4000 {
					t.Errorf("%d lines, want 4000", n)
				}
			}
			if err := os.Truncate(name, 3); err != nil {
				t.Fatal(err)
			}
			in := args{"host": "box", "path": name}
			for k, v := range more {
				in[k] = v
			}
			if text := refused(t, tools, "tail_log", in); !strings.Contains(text, "start again without cursor") {
				t.Error(text)
			}
		})
	}
}

// TestSecrets plants secrets in every place that they may come from, and looks
// for them in all that leaves the process.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const passphrase, password, token = "planted-passphrase-81", "planted-password-82", "planted-token-83"
	s := startSSHD(t, "", passphrase)
	key, err := os.ReadFile(s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, strange := filepath.Join(dir, "log"), filepath.Join(dir, "strange")
	if _, private := sshdtest.NewKey(t, ""); os.WriteFile(strange, private, 0o600) != nil {
		t.Fatal("the key cannot be written")
	}
	// The other machine knows the password, and shows it.
	if err := os.WriteFile(log, []byte("a "+password+" b\n"+strings.Repeat("x", 4090)+passphrase+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var raw sshdtest.Buffer
	c := startServer(t, servertest.Config{Raw: &raw}, args{
		"hosts": []hosted{
			s.entry("good").with("passphraseEnv", "WEIR_TEST_PASSPHRASE").with("passwordEnv", "WEIR_TEST_PASSWORD"),
			s.entry("bad").with("keyFiles", []string{strange}).with("passwordEnv", "WEIR_TEST_PASSPHRASE"),
		},
		"paths": []args{{"path": dir}},
	}, []string{"WEIR_TEST_PASSPHRASE=" + passphrase, "WEIR_TEST_PASSWORD=" + password, "WEIR_TEST_TOKEN=" + token}, "-allow-any-command")
	var texts strings.Builder
	do := func(name string, in args) *servertest.Result {
		t.Helper()
		r, err := c.Call(t.Context(), name, in)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&texts, r.Text())
		return r
	}
	if _, err := c.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	do("hosts", args{})
	if r := do("run", args{"host": "good", "command": "env"}); r.IsError || !strings.Contains(r.Text(), "SSH_CONNECTION") {
		t.Fatalf("the key was not of use: %s", r.Text())
	}
	do("run", args{"host": "good", "command": "sh", "args": []string{"-c", "cat " + log + "; cat " + log + " >&2"}})
	r := do("run", args{"host": "good", "command": "sh", "args": []string{"-c", "yes $(cat " + log + ") | head -n 20000"}})
	if r := do("read_artifact", args{"handle": handleIn(r.Text())}); r.IsError || !strings.Contains(r.Text(), "[redacted]") {
		t.Errorf("the artifact: %s", r.Text())
	}
	do("read_file", args{"host": "good", "path": log})
	do("tail_log", args{"host": "good", "path": log})
	do("tail_log", args{"host": "good", "path": log, "pattern": "a|x"})
	do("run", args{"host": "good", "command": password})
	do("run", args{"host": "bad", "command": "true"})
	do("run", args{"host": "good", "command": "cat", "args": []string{"/proc/self/environ"}})
	if n := strings.Count(texts.String(), "[redacted]"); n < 8 {
		t.Errorf("%d secrets were there to be taken out: the test shows nothing", n)
	}
	stderr, _ := c.Stderr()
	if !strings.Contains(stderr, "ssh connection made") || !strings.Contains(stderr, "not let in") {
		t.Errorf("the log: %s", stderr)
	}
	lines := bytes.Split(bytes.TrimSpace(key), []byte("\n"))
	for where, all := range map[string]string{"stdout": raw.String(), "stderr": stderr, "sshd's log": s.Log()} {
		for what, secret := range map[string]string{"the passphrase": passphrase, "the password": password, "a token of the environment": token, "the key": string(lines[len(lines)/2])} {
			if i := strings.Index(all, secret); i >= 0 {
				t.Errorf("%s is in %s: %s", what, where, all[max(0, i-200):min(len(all), i+100)])
			}
		}
		if where == "stdout" && strings.Contains(all, s.KeyFile) {
			t.Errorf("the name of the key file is in %s", where)
		}
	}
	if runtime.GOOS == "linux" {
		// Whoever may list processes on the other machine sees command lines.
		for _, line := range commandLines(t) {
			if strings.Contains(line, passphrase) || strings.Contains(line, password) {
				t.Errorf("a secret is in a command line: %s", line)
			}
		}
	}
}

// commandLines are those of all processes.
func commandLines(t *testing.T) (all []string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil {
			all = append(all, string(bytes.ReplaceAll(data, []byte{0}, []byte(" "))))
		}
	}
	return all
}
