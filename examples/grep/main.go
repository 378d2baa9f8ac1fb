// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Grep serves two tools over one directory tree, grep and read_file, to an MCP
// host over stdin and stdout:
//
//	grep -root DIR
//
// No path and no symbolic link leads out of DIR. Answers are pages: a search
// stops where its page is full, and the cursor of the page goes on from there,
// also when files were added or removed meanwhile.
//
// Files with a NUL byte in their first 8 KiB are binary and not searched. .git
// is never entered, what .gitignore files name is left out (those of DIR and
// below; not .git/info/exclude and the user's own), and symbolic links, FIFOs
// and devices are not opened. What could not be read is counted in the answer.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/weir-mcp/weir/server"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("grep: ")
	dir := flag.String("root", ".", "the `DIR` to serve; nothing outside of it can be read")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	}
	root, err := os.OpenRoot(*dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	srv := &server.Server{Name: "grep", Version: "1.0.0", Tools: newTools(&files{root: root})}
	if err := srv.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
