// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/gate"
)

// parse reads the command line.
func (r *gateRun) parse(args []string) error {
	fs := flag.NewFlagSet("weir gate", flag.ContinueOnError)
	fs.Func("only", "run only these `CHECKS`, comma-separated", func(s string) error {
		for name := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == ',' || c == ' ' }) {
			if _, ok := gate.Find(name); !ok {
				return noCheck(name)
			}
			r.o.Only = append(r.o.Only, name)
		}
		if len(r.o.Only) == 0 {
			return fmt.Errorf("names no check")
		}
		return nil
	})
	fs.BoolVar(&r.json, "json", false, "print the report as JSON")
	fs.Func("junit", "also write the report to `FILE`, as JUnit has it", func(s string) error {
		r.junit = s
		return notEmpty(s)
	})
	fs.BoolVar(&r.strict, "strict", false, "end with 1 on a warning too, and on what was not tried")
	fs.Func("limit", fmt.Sprintf("the frame limit to try, in `BYTES` of a frame without its line end (default %d)", gate.DefaultLimit), func(s string) (err error) {
		r.o.Limit, err = parseLimit(s)
		if err == nil && r.o.Limit < minLimit {
			err = fmt.Errorf("less than %d bytes: no server can keep to that", minLimit)
		}
		return err
	})
	fs.Func("deadline", fmt.Sprintf("how `LONG` an answer may take after a cancel or a fault (default %v)", gate.DefaultDeadline), func(s string) (err error) {
		r.o.Deadline, err = parseTimeout(s)
		if err == nil && r.o.Deadline == 0 {
			err = fmt.Errorf("no time at all")
		}
		return err
	})
	fs.Func("patience", fmt.Sprintf("how `LONG` a session may take to open (default %v): for a server that is built or downloaded first", gate.DefaultPatience), func(s string) (err error) {
		r.o.Patience, err = parseTimeout(s)
		if err == nil && r.o.Patience == 0 {
			err = fmt.Errorf("no time at all")
		}
		return err
	})
	fs.Func("parallel", fmt.Sprintf("how `MANY` processes of the server may run at once (default %d); 1 for a server that cannot stand another", gate.DefaultParallel), func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("not a number of processes such as 2")
		}
		r.o.Parallel = n
		return nil
	})
	fs.Func("stopped", "`TEXT` that the server writes to stderr each time when a cancelled call of the first -slow has ended; it is then waited for", func(s string) error {
		if r.o.Stopped = s; strings.TrimSpace(s) == "" {
			return fmt.Errorf("the text is empty: there would be nothing to wait for")
		}
		return nil
	})
	fs.Func("raw", "keep the server's stdout in `FILE`, byte for byte: that of the plain conversation; that of the session NAME in FILE.NAME", func(s string) error {
		r.raw = s
		return notEmpty(s)
	})
	own, command, missing := splitCommand(args)
	own, err := r.tools(own)
	if err != nil {
		return err
	}
	if err := parseFlags(r.env, fs, gateHelp+listChecks()+"\nFlags:\n", "--", own); err != nil {
		return err
	}
	switch {
	case missing != nil:
		return missing
	case fs.NArg() > 0:
		return usagef("%s: weir gate takes flags, and the command after --", quoted(fs.Arg(0)))
	case r.o.Stopped != "" && len(r.o.Slow) == 0:
		return usagef("-stopped: it is what the server writes when a call of -slow has ended: give -slow too")
	case r.junit == "-":
		return usagef("-junit: - is no file: stdout has the report for people, or with -json; give the name of a file (./- if it is to be that)")
	case r.raw == "-":
		return usagef("-raw: - is no file: stdout has the report; give the name of a file (./- if it is to be that)")
	case r.raw != "" && r.junit != "" && sameFile(r.raw, r.junit):
		return usagef("-raw and -junit: both are to be written to %s: give each a file of its own", quoted(r.raw))
	}
	r.o.Command = command
	return nil
}

// minLimit is the smallest frame limit that makes sense.
const minLimit = 16 << 10

func notEmpty(name string) error {
	if name == "" {
		return fmt.Errorf("the name of a file is empty")
	}
	return nil
}

// tools takes the flags that have a NAME and arguments out of args.
func (r *gateRun) tools(args []string) (rest []string, err error) {
	lists := map[string]*[]gate.Call{"call": &r.o.Call, "slow": &r.o.Slow, "big": &r.o.Big, "noisy": &r.o.Noisy}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		list := lists[name]
		if list == nil || !strings.HasPrefix(args[i], "-") {
			rest = append(rest, args[i])
			continue
		}
		if !joined {
			if i++; i < len(args) {
				value = args[i]
			}
		}
		switch {
		case strings.TrimSpace(value) == "" || value[0] == '-':
			return nil, usagef("-%s: the NAME of a tool is missing", name)
		case value[0] == '{':
			return nil, usagef("-%s: the NAME of a tool comes before the arguments %s", name, quoted(value))
		}
		c := gate.Call{Tool: value}
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			if c.Arguments, err = parseArguments(args[i]); err != nil {
				return nil, usagef("-%s: %v", name, err)
			}
		}
		*list = append(*list, c)
	}
	return rest, nil
}

// noCheck says that there is no such check, and which was probably meant.
func noCheck(name string) error {
	var names []string
	for _, c := range gate.Checks() {
		names = append(names, c.Name)
	}
	if near := nearest(name, names); len(near) > 0 {
		return fmt.Errorf("there is no check %q; the nearest name is %q", name, near[0])
	}
	return fmt.Errorf("there is no check %q; -h lists them", name)
}

// listChecks is the table of the checks.
func listChecks() string {
	var b strings.Builder
	for _, c := range gate.Checks() {
		number := " "
		if c.Case > 0 {
			number = strconv.Itoa(c.Case)
		}
		fmt.Fprintf(&b, "  %s %-20s %s\n", number, c.Name, c.What)
	}
	return b.String()
}
