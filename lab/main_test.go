// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		err  string // part of it; "" means none
		out  string // part of what is printed
	}{
		{nil, "which command?", "setup"},
		{[]string{"help"}, "", "compare"},
		{[]string{"nonesuch"}, `no command "nonesuch"`, "hosts"},
		{[]string{"setup", "more"}, `unexpected argument "more"`, "setup"},
		{[]string{"compare", "more"}, `unexpected argument "more"`, ""},
		{[]string{"compare", "-rounds", "-1"}, "not a number of rounds", ""},
		{[]string{"compare", "-only", "nonesuch"}, "there are echo", ""},
		{[]string{"hosts", "more"}, `unexpected argument "more"`, ""},
		{[]string{"hosts", "-only", "nonesuch"}, "there are go-sdk", ""},
		{[]string{"gate", "more"}, `unexpected argument "more"`, ""},
		{[]string{"gate", "-only", "nonesuch"}, "there are go-sdk", ""},
		{[]string{"run", "more"}, `unexpected argument "more"`, ""},
		{[]string{"run", "-only", "e9"}, "there are e1, e1b", ""},
		{[]string{"run", "--rounds", "0"}, "-rounds 0", ""},
		{[]string{"run", "-only="}, "which groups?", ""},
		{[]string{"run", "-nonesuch"}, "flag provided but not defined: -nonesuch (run -h)", ""},
		{[]string{"server", "-threads=x"}, "invalid value", ""},
		{[]string{"server", "push"}, `unexpected argument "push"`, ""},
		{[]string{"verify"}, "which FILE?", ""},
		{[]string{"verify", "stdiolab/testdata/good.csv"}, "", "4 tearing"},
		{[]string{"verify", "nonesuch.csv"}, "no such file", ""},
		{[]string{"verify", "a", "b"}, `unexpected argument "b"`, ""},
		{[]string{"report", "main.go"}, "not the header", ""},
		{[]string{"report", "nonesuch.csv"}, "no such file", ""},
	} {
		var out bytes.Buffer
		err := run(t.Context(), tt.args, &out, &out)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: error %v, want %q", tt.args, err, tt.err)
		}
		if !strings.Contains(out.String(), tt.out) {
			t.Errorf("%q printed %q, without %q", tt.args, out.String(), tt.out)
		}
		own := len(tt.args) == 0 || tt.args[len(tt.args)-1] != "nonesuch" // the other packages have errors of their own
		if own && err != nil && !errors.As(err, new(*stdiolab.UsageError)) {
			t.Errorf("%q: %T, and the exit status would not say that the command line is at fault", tt.args, err)
		}
		if strings.HasPrefix(tt.err, "flag provided") && strings.Contains(out.String(), "flag provided") {
			t.Errorf("%q: said twice: %q", tt.args, out.String())
		}
	}
}

func TestHelpNamesRowsAndServers(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"compare", "-h"}, &out, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("-h returned %v", err)
	}
	for _, want := range []string{"echo of 128 B", "stuck", "typescript", "-json file", "-quick", "-rounds"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("-h does not tell of %q", want)
		}
	}
}

func TestList(t *testing.T) {
	if got := list(" a, b,,c "); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("list = %q", got)
	}
}
