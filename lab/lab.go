// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/weir-mcp/weir/lab/report"
	"github.com/weir-mcp/weir/lab/stdiolab"
)

func runLab(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "run only these `GROUPS`, comma-separated; a part of E3 is e3a to e3f")
	rounds := fs.Int("rounds", 5, "rounds of E6")
	seed := fs.Uint64("seed", 1, "of the order in which cells run; not 0")
	fs.Usage = func() {
		fmt.Fprint(stderr, `run starts two real processes a cell, joined by real pipes, and prints a row a cell as CSV; the first row is the environment.
A cell that cannot run here is a row that says why. All groups take about two minutes; frames and bytes are summed up on stderr.

  go run . run > run.csv && go run . verify run.csv && go run . report run.csv > run.html

`)
		fs.PrintDefaults()
		fmt.Fprintln(stderr, "\nGroups:")
		for _, g := range stdiolab.Groups() {
			fmt.Fprintf(stderr, "  %-4s %s\n", g[0], g[1])
		}
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds %d: at least 1 is needed", *rounds)
	}
	if *seed == 0 {
		return fmt.Errorf("-seed 0: any other number")
	}
	return stdiolab.Run(ctx, stdiolab.Options{Only: list(*only), Rounds: *rounds, Seed: *seed, Out: stdout, Progress: terminal(), Totals: stderr})
}

// fileFlags parses the flags of a command that reads one file, and opens it; - is stdin.
func fileFlags(fs *flag.FlagSet, args []string, stderr io.Writer, what string) (io.ReadCloser, error) {
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintf(stderr, "%s FILE %s FILE is what run printed; - is stdin.\n", fs.Name(), what)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() == 0:
		return nil, fmt.Errorf("%s: which FILE? (- is stdin)", fs.Name())
	case fs.NArg() > 1:
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(1))
	case fs.Arg(0) == "-":
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(fs.Arg(0))
}

func runVerify(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("verify", flag.ContinueOnError)
	in, err := fileFlags(fs, args, stderr, "applies the four criteria to a run and prints a line for each; the exit status is 1 when one is not met.")
	if err != nil {
		return err
	}
	defer in.Close()
	return stdiolab.Verify(ctx, in, stdout)
}

func runReport(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	svg := fs.String("svg", "", "write each chart as an SVG file into this `FOLDER` instead")
	md := fs.Bool("md", false, "print the conclusions alone, as a Markdown table")
	in, err := fileFlags(fs, args, stderr, "prints one HTML page, which needs no network: conclusions, charts, all rows.")
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := stdiolab.ReadTable(in)
	if err != nil {
		return err
	}
	if *svg != "" {
		return report.Files(*svg, t)
	}
	if *md {
		return report.Markdown(stdout, t)
	}
	return report.HTML(stdout, t)
}
