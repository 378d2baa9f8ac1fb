// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updateTable = flag.Bool("update", false, "rewrite the table of the checks")

// TestChecksTable holds that testdata/checks.md, which the documentation
// quotes, is the table of the checks.
func TestChecksTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| check | what it wants of the server | why it matters | needs | case |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range Checks() {
		number := ""
		if c.Case > 0 {
			number = fmt.Sprint(c.Case)
		}
		needs := ""
		if c.Needs != "" {
			needs = "`" + c.Needs + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Name, c.What, c.Why, needs, number)
	}
	const file = "testdata/checks.md"
	if *updateTable {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s is not the table of the checks; go test -run TestChecksTable ./internal/gate -update writes it", file)
	}
}
