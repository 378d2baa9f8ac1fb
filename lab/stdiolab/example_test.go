// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab_test

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// Two frames woven into each other can leave one id on each line: no line is torn, and none is a frame.
func ExampleClassifier() {
	c := stdiolab.NewClassifier(100, 128, false, false)
	c.ReadFrom(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"xx` + "\n" +
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"xx"}]}}xxx"}]}}` + "\n"))
	fmt.Println(c.Torn, c.Merged, c.Mixed)
	// Output: 0 0 2
}
