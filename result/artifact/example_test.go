// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/tool"
)

// A tool returns its output as it is. What is over the budget goes into the
// store, and the model reads it with read_artifact.
func Example() {
	var store artifact.Store
	defer store.Close()

	var tools tool.Registry
	if err := tools.Register(artifact.ReadTool(&store)); err != nil {
		fmt.Println(err)
	}
	// With a server: srv := &server.Server{…, Tools: &tools, Artifacts: &store}

	handle, _, err := store.Put(context.Background(), "make test", "text/plain", strings.NewReader(output()))
	if err != nil {
		fmt.Println(err)
	}
	show := func(args map[string]any) {
		res, err := tools.Call(context.Background(), artifact.ToolName, args)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Content[0].(result.TextContent).Text)
	}
	show(map[string]any{"handle": handle, "pattern": "^FAIL"})
	show(map[string]any{"handle": handle, "tail": 2})
	show(map[string]any{"handle": "4ll6dlvq5oaxpqqwt3gm7yx2srw5ycte"})
	// Output:
	// Returned 2 of 2 matching lines.
	// 700:FAIL package/700
	// 720:FAIL package/720
	// Returned 2 of 2 lines.
	// ok package/999
	// ok package/1000
	// artifact: the handle is from another process of this server, whose outputs are gone, or was not copied exactly; call the tool that made it again
}

func output() string {
	var b strings.Builder
	for i := 1; i <= 1000; i++ {
		word := "ok"
		if i == 700 || i == 720 {
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s package/%d\n", word, i)
	}
	return b.String()
}

// A stream of unknown length goes through a Writer.
func ExampleWriter() {
	store := &artifact.Store{MaxBytes: 1 << 10}
	defer store.Close()

	w, err := store.Create("log", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()                  // drops what was not committed
	io.WriteString(w, "it begins\n") // such as the Sink of an exec.Cmd
	io.WriteString(w, strings.Repeat(".", 5000))
	info, err := w.Commit()
	fmt.Println(info.Name, info.MIMEType, info.Size, info.Lines, info.Dropped, err)
	// Output:
	// log text/plain 1024 2 3986 <nil>
}

// What a child writes is kept where its output does not hold it. A store that
// has no room is no reason not to run: the previews are there all the same.
func ExampleWriter_sink() {
	var store artifact.Store
	defer store.Close()

	cmd := exec.Shell("seq 100000")
	w, err := store.Create("seq", "text/plain")
	if err != nil {
		log.Print(err) // for the operator; the model is told what is left out
	} else {
		defer w.Close() // drops what was not kept
		cmd.Sink = w
	}
	out, err := exec.Run(context.Background(), cmd)
	if err != nil {
		fmt.Println(err)
		return
	}
	how, _, _ := strings.Cut(out.Full, `{"handle":`)
	fmt.Println(out.Stdout.Truncated, how)
	// Output:
	// true read it with read_artifact
}
