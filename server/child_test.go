// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

// captured is what a library keeps that took os.Stdout before main ran.
var captured = log.New(os.Stdout, "captured: ", 0)

type printInput struct {
	How string `json:"how" jsonschema:"description=the way to print"`
}

type urlInput struct {
	URL string `json:"url" jsonschema:"description=what to fetch"`
}

// addChildTools adds tools for a process of its own. Those that go on until
// their context ends say so on stderr.
func addChildTools(tools *tool.Registry) {
	tool.AddFunc(tools, tool.Info{Name: "print", Description: "prints to stdout"}, func(_ context.Context, in printInput) (string, error) {
		switch in.How {
		case "fmt":
			fmt.Println("stray: fmt")
		case "stdout":
			os.Stdout.WriteString("stray: os.Stdout\n")
		case "captured":
			captured.Println("stray: captured")
		case "raw":
			rawPrint("stray: raw\n")
		case "builtin":
			println("stray: builtin")
		case "child":
			cmd := exec.Command("sh", "-c", "echo stray: child; cat")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			return "ran", cmd.Run()
		}
		return "printed", nil
	})
	tool.Add(tools, tool.Info{Name: "produce", Description: "produces until its context ends"},
		func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
			fmt.Fprintln(os.Stderr, "produce started")
			n := 0
			for ctx.Err() == nil {
				n++
			}
			fmt.Fprintln(os.Stderr, "produce ended:", context.Cause(ctx))
			return result.Text("too late"), nil
		})
	tool.Add(tools, tool.Info{Name: "fetch", Description: "reads a URL to its end"},
		func(ctx context.Context, req *tool.Request, in urlInput) (result.Result, error) {
			r, err := http.NewRequestWithContext(ctx, "GET", in.URL, nil)
			if err != nil {
				return result.Result{}, err
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return result.Result{}, err
			}
			defer resp.Body.Close()
			fmt.Fprintln(os.Stderr, "fetch started")
			_, err = io.Copy(io.Discard, resp.Body)
			fmt.Fprintln(os.Stderr, "fetch ended:", err)
			return result.Text("read"), err
		})
	tool.AddFunc(tools, tool.Info{Name: "serve_again", Description: "serves stdio a second time"}, func(ctx context.Context, _ none) (string, error) {
		return "served", (&server.Server{}).ServeStdio(ctx)
	})
	tool.AddFunc(tools, tool.Info{Name: "huge", Description: "returns a text of a size that takes a while to encode", Budget: result.Budget{Bytes: 80 << 20}},
		func(ctx context.Context, in sizeInput) (string, error) {
			s := strings.Repeat("\x01", in.Bytes) // six bytes each on the wire
			fmt.Fprintln(os.Stderr, "huge returns")
			return s, nil
		})
}
