// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/weir-mcp/weir/lab/report"
	"github.com/weir-mcp/weir/lab/stdiolab"
)

func runLab(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
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
	if err := stdiolab.ParseFlags(fs, args, stderr); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return stdiolab.Usage("unexpected argument %q", fs.Arg(0))
	}
	if *rounds < 1 {
		return stdiolab.Usage("-rounds %d: at least 1 is needed", *rounds)
	}
	if *seed == 0 {
		return stdiolab.Usage("-seed 0: any other number")
	}
	var empty error
	fs.Visit(func(f *flag.Flag) {
		if f.Name == "only" && len(list(*only)) == 0 {
			empty = stdiolab.Usage("-only %q: which groups? Without -only all are run", *only)
		}
	})
	if empty != nil {
		return empty
	}
	return stdiolab.Run(ctx, stdiolab.Options{Only: list(*only), Rounds: *rounds, Seed: *seed, Out: stdout, Progress: terminal(), Totals: stderr})
}

// fileFlags parses the flags of a command that reads one file, and opens it; - is stdin.
func fileFlags(fs *flag.FlagSet, args []string, stderr io.Writer, what string) (io.ReadCloser, error) {
	fs.Usage = func() {
		fmt.Fprintf(stderr, "%s FILE %s FILE is what run printed; - is stdin.\n", fs.Name(), what)
		fs.PrintDefaults()
	}
	if err := stdiolab.ParseFlags(fs, args, stderr); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() == 0:
		return nil, stdiolab.Usage("%s: which FILE? (- is stdin)", fs.Name())
	case fs.NArg() > 1:
		return nil, stdiolab.Usage("unexpected argument %q", fs.Arg(1))
	case fs.Arg(0) == "-":
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(fs.Arg(0))
	if err != nil {
		return nil, stdiolab.Usage("%v", err)
	}
	return f, nil
}

// readRun reads what run printed; a file that is none is a usage error, so that the exit status tells it from a criterion that is
// not met.
func readRun(in io.Reader) (stdiolab.Table, error) {
	t, err := stdiolab.ReadTable(in)
	if err == nil && len(t.Rows) == 0 {
		err = errors.New("the run has no row")
	}
	if err != nil {
		return t, stdiolab.Usage("%v", err)
	}
	return t, nil
}

func runVerify(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("verify", flag.ContinueOnError)
	in, err := fileFlags(fs, args, stderr, "applies the four criteria to a run and prints a line for each.\n"+
		"They look at the groups E1, E1B and E6. The exit status is 1 when one is not met, 2 when there is nothing to judge.")
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := readRun(in)
	if err != nil {
		return err
	}
	if err = t.Verify(ctx, stdout); errors.Is(err, stdiolab.ErrNothing) {
		return stdiolab.Usage("%v", err)
	}
	return err
}

func runReport(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	svg := fs.String("svg", "", "write each chart as an SVG file into this `FOLDER` instead")
	doc := fs.String("doc", "", "instead, refresh the parts of this Markdown `DOCUMENT` that a run makes: <!-- run: NAME -->…<!-- end -->")
	in, err := fileFlags(fs, args, stderr, "prints one HTML page, which needs no network: conclusions, charts, all rows.")
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := readRun(in)
	if err != nil {
		return err
	}
	if *svg != "" {
		return report.Files(*svg, t)
	}
	if *doc != "" {
		old, err := os.ReadFile(*doc)
		if err != nil {
			return stdiolab.Usage("-doc: %v", err)
		}
		text, err := report.Document(old, t)
		if err != nil {
			return fmt.Errorf("%s: %w", *doc, err)
		}
		return os.WriteFile(*doc, text, 0o644)
	}
	return report.HTML(stdout, t)
}
