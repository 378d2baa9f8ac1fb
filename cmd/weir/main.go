// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Weir is a host for MCP tool servers at the command line. It starts a server
// over stdio, in any language, calls its tools, and judges it:
//
//	weir call -- COMMAND…                   lists the tools
//	weir call TOOL '{"arg":…}' -- COMMAND…  calls one
//	weir schema -- COMMAND…                 prints the tools for version control
//	weir schema -lint -- COMMAND…           reports what hosts reject
//	weir schema -diff FILE -- COMMAND…      reports what changed, and what it breaks
//	weir gate -- COMMAND…                   runs the release gate
//
// weir -h lists the subcommands; weir SUBCOMMAND -h explains one.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit codes of every subcommand; its help says what they mean there.
const (
	exitOK          = 0
	exitFault       = 1 // the answer was no
	exitUsage       = 2
	exitServer      = 3   // the server could not be used
	exitTimeout     = 4   // -timeout passed
	exitInterrupted = 130 // by a signal
)

// command is one subcommand.
type command struct {
	name, short string
	run         func(*environment, []string) int
}

var commands = []command{
	{"call", "call a tool of a server, or list its tools", runCall},
	{"schema", "print a server's tools for review, and judge them and their changes", runSchema},
	{"gate", "run the release gate against a server", runGate},
}

// environment is what a subcommand has of the world.
type environment struct {
	stdout, stderr io.Writer
	// outTerminal and errTerminal say that a person is looking.
	outTerminal, errTerminal bool
	// signals delivers requests to stop.
	signals <-chan os.Signal
	// grace is how long a server may take to end. Zero means the host's
	// default.
	grace time.Duration
	// patience is how long the handshake may take before a hint. Zero means
	// 10 s.
	patience time.Duration
}

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(&environment{
		stdout: os.Stdout, stderr: os.Stderr,
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		signals: signals,
	}, os.Args[1:]))
}

func run(env *environment, args []string) int {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(env, args[1:])
			}
		}
		switch args[0] {
		case "-h", "-help", "--help", "help":
			usage(env.stdout)
			return exitOK
		}
		fmt.Fprintf(env.stderr, "weir: there is no subcommand %q\n\n", args[0])
	}
	usage(env.stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Weir is a host for MCP tool servers at the command line.\n\nUsage: weir SUBCOMMAND …\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\nweir SUBCOMMAND -h explains one.\n")
}

// isTerminal reports whether f is a character device other than the null one.
func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(fi, null)
}
