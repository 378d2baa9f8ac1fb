// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command lab measures Weir beside other SDKs, and drives its servers with hosts that were written by others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/weir-mcp/weir/lab/compare"
	"github.com/weir-mcp/weir/lab/gate"
	"github.com/weir-mcp/weir/lab/hosts"
	"github.com/weir-mcp/weir/lab/peers"
	"github.com/weir-mcp/weir/lab/stdiolab"
)

const usage = `The laboratory of Weir: run it as "cd lab && go run . COMMAND".

  setup      install Node.js and the npm packages that the other commands use, exactly as locked (npm ci)
  compare    measure tool servers side by side: Weir, go-sdk, mcp-go, the TypeScript SDK, and a bare loop
  hosts      drive Weir's examples with other people's hosts: go-sdk, mcp-go, the TypeScript SDK, the MCP Inspector
  gate       run Weir's release gate on other people's servers: go-sdk, mcp-go, the TypeScript SDK, and two of MCP's own
  run        measure how frames are written and read over real pipes, group by group; prints CSV
  server     one child of such a measurement alone, to look at its bytes
  verify     judge the output of run by four criteria
  report     make one HTML page of it

"go run . COMMAND -h" tells more.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(*stdiolab.UsageError)):
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(2)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "lab: interrupted")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		io.WriteString(stderr, usage)
		return stdiolab.Usage("which command?")
	}
	switch args[0] {
	case "setup":
		return runSetup(ctx, args[1:], stderr)
	case "compare":
		return runCompare(ctx, args[1:], stdout, stderr)
	case "hosts":
		return runHosts(ctx, args[1:], stdout, stderr)
	case "gate":
		return runGate(ctx, args[1:], stdout, stderr)
	case "run":
		return runLab(ctx, args[1:], stdout, stderr)
	case "server":
		// A child that waits for its host ends by a signal as any program does; Weir's servers see to that themselves.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		return stdiolab.Serve(ctx, args[1:])
	case "verify":
		return runVerify(ctx, args[1:], stdout, stderr)
	case "report":
		return runReport(args[1:], stdout, stderr)
	case "-h", "-help", "--help", "help":
		io.WriteString(stdout, usage)
		return nil
	}
	io.WriteString(stderr, usage)
	return stdiolab.Usage("no command %q", args[0])
}

func runSetup(ctx context.Context, args []string, stderr io.Writer) error {
	if len(args) > 0 {
		io.WriteString(stderr, usage)
		return stdiolab.Usage("unexpected argument %q", args[0])
	}
	w, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Setup(ctx, stderr)
}

func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	quick := fs.Bool("quick", false, "one round, short loads: to see that it works, not to quote")
	only := fs.String("only", "", "measure only these rows, comma-separated")
	who := fs.String("peers", "", "measure only these servers, comma-separated; one that is missing is an error then")
	rounds := fs.Int("rounds", 0, "alternating rounds, of which the median counts (default 5; 1 with -quick)")
	file := fs.String("json", "", "write the figures, with all samples, to this `file`; - writes them to stdout instead of the table")
	fs.Usage = func() {
		fmt.Fprint(stderr, `compare starts each server anew for each measurement, the server on one CPU and this host on another, drives it over two
pipes with pre-encoded frames, checks every answer, and prints the medians beside the targets that Weir has set itself.
Nothing passes or fails by time.

`)
		fs.PrintDefaults()
		fmt.Fprintln(stderr, "\nRows:")
		for _, k := range compare.Keys() {
			fmt.Fprintf(stderr, "  %-10s %s\n", k[0], k[1])
		}
		fmt.Fprintln(stderr, "\nServers:")
		for _, p := range peers.All() {
			fmt.Fprintf(stderr, "  %-10s %s\n", p.Name, p.Title)
		}
	}
	if err := stdiolab.ParseFlags(fs, args, stderr); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return stdiolab.Usage("unexpected argument %q", fs.Arg(0))
	}
	if *rounds < 0 {
		return stdiolab.Usage("-rounds %d: not a number of rounds", *rounds)
	}
	return compare.Run(ctx, compare.Options{
		Quick: *quick, Only: list(*only), Peers: list(*who), Rounds: *rounds, JSON: *file,
		Out: stdout, Progress: terminal(),
	})
}

func runHosts(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("hosts", flag.ContinueOnError)
	only := fs.String("only", "", "run only these hosts, comma-separated; one that is not installed is an error then\n("+strings.Join(hosts.Names(), ", ")+")")
	fs.Usage = func() {
		fmt.Fprint(stderr, "hosts builds Weir's examples and drives them with hosts that were written by others: list, call, page to the end,\ncancel, big results, Chinese text. It prints a line a check, and fails when one fails.\n\n")
		fs.PrintDefaults()
	}
	if err := stdiolab.ParseFlags(fs, args, stderr); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return stdiolab.Usage("unexpected argument %q", fs.Arg(0))
	}
	return hosts.Run(ctx, hosts.Options{Only: list(*only), Out: stdout})
}

func runGate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("gate", flag.ContinueOnError)
	only := fs.String("only", "", "run on these servers, comma-separated; one that is not installed is an error then\n("+strings.Join(gate.Names(), ", ")+")")
	write := fs.Bool("write", false, "keep what was found in gate/findings.md, after a look at each fault")
	fs.Usage = func() {
		fmt.Fprint(stderr, "gate runs Weir's release gate on servers that others wrote, prints what it found, and fails when there is a fault that\ngate/findings.md does not have: a finding that is not true there is a fault of the gate.\n\n")
		fs.PrintDefaults()
	}
	if err := stdiolab.ParseFlags(fs, args, stderr); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return stdiolab.Usage("unexpected argument %q", fs.Arg(0))
	}
	return gate.Run(ctx, gate.Options{Only: list(*only), Write: *write, Out: stdout})
}

// list splits a comma-separated flag.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// terminal is stderr where a person sees it, nil elsewhere.
func terminal() io.Writer {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return os.Stderr
	}
	return nil
}
