// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Config is what one child runs: what its flags said, and what it found where it runs. Rows are built from the Config that a
// child reports, never from the one that it was asked for.
type Config struct {
	Mode    string `json:"mode"`   // see Modes
	Writer  string `json:"writer"` // see Writers
	Threads int    `json:"threads"`
	Frames  int    `json:"frames"`
	Size    int    `json:"size"` // bytes of a frame in UTF-8 without the line end
	CJK     bool   `json:"cjk"`
	First   int    `json:"first"`   // the first id
	End     bool   `json:"end"`     // whether the end marker follows
	Banner  int    `json:"banner"`  // lines that are not JSON, printed first
	Payload string `json:"payload"` // of mode chunks8
	Budget  int    `json:"budget"`  // of mode forms
	Store   bool   `json:"store"`   // of mode forms
	Wait    bool   `json:"wait"`    // of mode push: ready, and then a line of stdin is awaited

	// What the child sees of its surroundings. Not flags.
	Env  string `json:"env"`  // those of Switches that are set, separated by spaces; "none"
	Pipe int    `json:"pipe"` // capacity of its stdout in bytes; 0 where that cannot be known
}

// Modes are what a child can do.
var Modes = []string{"push", "reply", "stuck", "chunk", "chunks8", "mcp", "forms"}

// Writers are the ways to write a frame.
var Writers = []string{"println", "printlnGBK", "printNL", "rawSplit", "rawOne", "oneLock", "batch512", "weir", "twoProcs"}

// Payloads are the texts of mode chunks8.
var Payloads = []string{"x", "escapes", "cjk", "run"}

// Switches are the environment variables of group E1B that a Go child reports.
var Switches = []string{"LC_ALL", "LANG", "GODEBUG"}

// A UsageError is a command line that cannot be understood.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

// Usage makes a *UsageError.
func Usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// ParseFlags parses args: -h prints the usage to stderr and returns flag.ErrHelp; what cannot be understood is a *UsageError, of one
// line, and prints nothing.
func ParseFlags(fs *flag.FlagSet, args []string, stderr io.Writer) error {
	help := fs.Usage
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	fs.SetOutput(stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help()
		return err
	case err != nil:
		return Usage("%v (%s -h)", err, fs.Name())
	}
	return nil
}

// ParseConfig reads the flags of a child.
func ParseConfig(args []string, stderr io.Writer) (Config, error) {
	var c Config
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.StringVar(&c.Mode, "mode", "push", "what to do: "+strings.Join(Modes, ", "))
	fs.StringVar(&c.Writer, "writer", "oneLock", "how frames are written: "+strings.Join(Writers, ", ")+"; oneLock is the article's utf8Lock")
	fs.IntVar(&c.Threads, "threads", 8, "goroutines that write")
	fs.IntVar(&c.Frames, "frames", 1000, "frames in all")
	fs.IntVar(&c.Size, "size", 1024, "`BYTES` of one frame in UTF-8, without its line end; of mode stuck, of one write; of mode forms, the frame limit, from 1024 on")
	fs.BoolVar(&c.CJK, "cjk", false, "fill with U+4E2D instead of x")
	fs.IntVar(&c.First, "first", 0, "the first id")
	fs.BoolVar(&c.End, "end", true, "end with the marker line")
	fs.IntVar(&c.Banner, "banner", 0, "print so many lines that are not JSON first (modes reply and mcp)")
	fs.StringVar(&c.Payload, "payload", "x", "text of mode chunks8: "+strings.Join(Payloads, ", "))
	fs.IntVar(&c.Budget, "budget", 0, "result budget of mode forms in `BYTES`; 0 means the default")
	fs.BoolVar(&c.Store, "store", false, "keep what is over the budget (mode forms)")
	fs.BoolVar(&c.Wait, "wait", false, "write nothing before a line has come on stdin (mode push)")
	fs.Usage = func() {
		fmt.Fprint(stderr, `server is the child of one cell alone. It reports its configuration on stderr, then writes to stdout:

  go run . server -mode=push -writer=rawSplit -threads=8 -frames=100 -size=1024 -cjk=true | head -c 400
  go run . server -mode=push -writer=printlnGBK -frames=10 -cjk=true | xxd | head

  push     writes frames, then the end marker
  reply    answers each line of stdin that has an id, such as {"id":7}, with the frame of that id; with -writer=weir it is an MCP
           server, whose tool is "reply"
  stuck    writes -frames times -size bytes, one write each, and then says "written" on stderr
  chunk    writes frames in chunks of 1,024 bytes with 0.2 ms between them
  chunks8  answers each line of stdin that has an id with 8 MiB in chunks of 16 KiB, and says when one was held up for 50 ms
  mcp      prints -banner lines to stdout, then is an MCP server on Weir
  forms    an MCP server on Weir, whose tools return one text of 1 MiB whole, over the budget, or as pages

`)
		fs.PrintDefaults()
	}
	if err := ParseFlags(fs, args, stderr); err != nil {
		return c, err
	}
	if fs.NArg() > 0 {
		return c, Usage("unexpected argument %q", fs.Arg(0))
	}
	for _, f := range []struct {
		flag, value string
		known       []string
	}{{"mode", c.Mode, Modes}, {"writer", c.Writer, Writers}, {"payload", c.Payload, Payloads}} {
		if !slices.Contains(f.known, f.value) {
			return c, Usage("-%s %q: there are %s", f.flag, f.value, strings.Join(f.known, ", "))
		}
	}
	for _, f := range []struct {
		flag  string
		value int
		least int
		most  int
	}{
		{"threads", c.Threads, 1, 1024}, {"frames", c.Frames, 1, 9_999_999}, {"first", c.First, 0, 9_999_999 - c.Frames},
		{"banner", c.Banner, 0, 1000}, {"budget", c.Budget, 0, 1 << 30}, {"size", c.Size, c.leastSize(), 1 << 30},
	} {
		if f.value < f.least || f.value > f.most {
			return c, Usage("-%s %d: it must be from %d to %d", f.flag, f.value, f.least, f.most)
		}
	}
	return c, nil
}

// leastSize is the least -size that the mode can make.
func (c Config) leastSize() int {
	if c.Mode == "stuck" {
		return 1
	}
	return MinSize
}

// limited says whether -size sets the frame limit of mode forms.
func (c Config) limited() bool { return c.Size >= 1024 }

// Args are the flags that ask for c.
func (c Config) Args() []string {
	return []string{
		"-mode=" + c.Mode, "-writer=" + c.Writer, fmt.Sprint("-threads=", c.Threads), fmt.Sprint("-frames=", c.Frames),
		fmt.Sprint("-size=", c.Size), fmt.Sprint("-cjk=", c.CJK), fmt.Sprint("-first=", c.First), fmt.Sprint("-end=", c.End),
		fmt.Sprint("-banner=", c.Banner), "-payload=" + c.Payload, fmt.Sprint("-budget=", c.Budget),
		fmt.Sprint("-store=", c.Store), fmt.Sprint("-wait=", c.Wait),
	}
}

// withDefaults fills what a cell does not say, as ParseConfig would.
func (c Config) withDefaults() Config {
	c.End = true
	if c.Mode == "" {
		c.Mode = "push"
	}
	if c.Writer == "" {
		c.Writer = "oneLock"
	}
	if c.Payload == "" {
		c.Payload = "x"
	}
	c.Threads, c.Frames, c.Size = max(c.Threads, 1), max(c.Frames, 1), max(c.Size, c.leastSize())
	return c
}

// sameFlags says whether two configurations came of the same flags.
func (c Config) sameFlags(d Config) bool {
	c.Env, d.Env, c.Pipe, d.Pipe = "", "", 0, 0
	return c == d
}

// The lines of a child on stderr that its host reads.
const (
	reportPrefix = "stdiolab config "
	sentPrefix   = "stdiolab sent "
	wrotePrefix  = "stdiolab longest-write-us "
	waitedPrefix = "stdiolab longest-wait-us "
	writtenWord  = "written"
	cancelWord   = "stdiolab cancelled "
	readyWord    = "stdiolab ready"
)

// report says on stderr what this child runs.
func (c Config) report(stderr io.Writer) error {
	var set []string
	for _, name := range Switches {
		if v, ok := os.LookupEnv(name); ok {
			set = append(set, name+"="+v)
		}
	}
	c.Env = optOf(set)
	c.Pipe = pipeSize(os.Stdout)
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "%s%s\n", reportPrefix, line)
	return err
}

// parseReport finds the first report in what a child said.
func parseReport(said string) (Config, error) {
	var c Config
	_, rest, ok := strings.Cut(said, reportPrefix)
	line, _, ended := strings.Cut(rest, "\n")
	if !ok || !ended {
		return c, fmt.Errorf("the child did not report its configuration; it said %q", said)
	}
	return c, json.Unmarshal([]byte(line), &c)
}
