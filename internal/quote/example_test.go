// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quote_test

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/quote"
)

func Example() {
	const text = "a<b\n水位\xff"
	fmt.Printf("%s\n", quote.Append(nil, text))
	fmt.Println(quote.Len(text))
	fmt.Printf("%q\n", quote.Cut(text, 9)) // a line feed takes two, 水 three
	// Output:
	// "a<b\n水位�"
	// 16
	// "a<b\n水"
}
