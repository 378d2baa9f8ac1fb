// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
)

// A page stops its producer, and says so in both of its forms.
func Example() {
	type match struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	}
	page := result.Page[match]{
		Budget: result.Budget{Items: 2},
		Noun:   "matches",
		Line:   func(m match) string { return m.Path + ":" + strconv.Itoa(m.Line) },
	}
	for line := 10; ; line += 10 { // a producer without end
		if !page.Add(match{"a.go", line}) {
			page.NextCursor = "line-" + strconv.Itoa(line)
			break
		}
	}
	r := page.Result()
	fmt.Println(r.Content[0].(result.TextContent).Text)
	fmt.Println(r.Structured)
	// Output:
	// Returned 2 matches. Use cursor "line-30" to continue, or narrow the arguments.
	// a.go:10
	// a.go:20
	// {"truncated":true,"nextCursor":"line-30","items":[{"path":"a.go","line":10},{"path":"a.go","line":20}]}
}

func ExampleBound() {
	ctx := context.Background()
	long := result.Text(strings.Repeat("one line\n", 1000))
	r, err := result.Bound(ctx, long, result.Budget{Bytes: 1024}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(r.Content[0].(result.TextContent).Text) {
		if strings.HasPrefix(line, "[") {
			fmt.Print(line)
		}
	}
	fmt.Println(r.Meta[result.TruncatedKey])
	// Output:
	// [… 8,172 of 9,000 bytes (908 lines) left out here; to see it, narrow the arguments …]
	// {"textBytes":8172,"textTotal":9000}
}

func ExampleEncoding_Append() {
	ctx := context.Background()
	r, err := result.Bound(ctx, result.JSON(map[string]int{"sum": 3}), result.Budget{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, protocol := range []string{"2025-03-26", "2025-11-25"} {
		b, err := result.Encoding{Protocol: protocol}.Append(ctx, nil, r)
		fmt.Println(string(b), err)
	}
	// Output:
	// {"content":[{"type":"text","text":"{\"sum\":3}"}]} <nil>
	// {"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}} <nil>
}

func ExamplePreview() {
	p := result.Preview{Head: 8, Tail: 8}
	for i := range 1000 {
		fmt.Fprintln(&p, i)
	}
	io.WriteString(&p, "end\n")
	s := p.Snapshot()
	fmt.Printf("%q … %q\n", s.Head, s.Tail)
	fmt.Println(s.Lines, "lines,", s.Bytes, "bytes,", s.Dropped, "dropped")
	// Output:
	// "0\n1\n2\n3\n" … "999\nend\n"
	// 1001 lines, 3894 bytes, 3878 dropped
}
