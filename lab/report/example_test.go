// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"

	"github.com/weir-mcp/weir/lab/report"
	"github.com/weir-mcp/weir/lab/stdiolab"
)

// Without a row nothing is claimed.
func ExampleConclusions() {
	for _, c := range report.Conclusions(stdiolab.Table{})[:2] {
		fmt.Printf("%s %s: %s\n", c[0], c[1], c[2])
	}
	// Output:
	// A plain println sends frames that are not UTF-8 and end in CRLF. Not measured: this run has no such rows
	// A switch can do nothing without a word: -Dstdout.encoding on JDK 17. Not measured: this run has no such rows
}
