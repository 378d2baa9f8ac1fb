// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/gate"
)

// The checks can be listed, and each found by its name.
func Example() {
	c, ok := gate.Find("cancel-c4")
	fmt.Println(ok, c.Needs, c.Case)
	fmt.Println(c.What)
	// Output:
	// true -big 8
	// stays usable after a cancel while the response is being written
}
