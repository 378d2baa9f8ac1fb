// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/weir-mcp/weir/exec"
)

func Example() {
	out, err := exec.Run(context.Background(), exec.Cmd{
		Path:    "sort",
		Args:    []string{"--numeric-sort"},
		Stdin:   strings.NewReader("10\n9\n"),
		Timeout: time.Minute,
	})
	if err != nil {
		log.Fatal(err) // it was not started
	}
	fmt.Println(out.Success(), out.Stdout.Lines)
	fmt.Print(out.Stdout.Text())
	// Output:
	// true 2
	// 9
	// 10
}

// A status other than 0 is no error, and neither is a time-out: both are in
// the Output, with what the child had written.
func ExampleRun() {
	cmd := exec.Shell("echo step 1; echo careful >&2; exit 3")
	out, err := exec.Run(context.Background(), cmd)
	fmt.Println(err, out.End, out.ExitCode)
	fmt.Println(out)
	// Output:
	// <nil> exited 3
	// [sh exited with status 3]
	// step 1
	// [standard error]
	// careful
}

// Only so much is kept of what a child writes; all of it is counted.
func ExamplePreview() {
	cmd := exec.Cmd{
		Path:   "seq",
		Args:   []string{"1000000"},
		Stdout: exec.Preview{Head: 8, Tail: 8},
	}
	out, err := exec.Run(context.Background(), cmd)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out)
	// Output:
	// 1
	// 2
	// 3
	// 4
	//
	// [… 6,888,880 of 6,888,896 bytes left out here …]
	// 1000000
	// [6,888,896 bytes, 1,000,000 lines in all]
}

// Leaving the loop ends the child and what it has started.
func ExampleLines() {
	for line, err := range exec.Lines(context.Background(), exec.Cmd{Path: "yes"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(line)
		break
	}
	// Output: y
}
