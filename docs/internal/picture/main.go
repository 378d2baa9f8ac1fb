// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Picture draws docs/backpressure.svg from docs/backpressure.csv. With -record
// it first makes the latter, in a real run (on Linux): a host and a server in
// two processes, joined by pipes.
//
//	go run ./docs/internal/picture [-record]
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	record := flag.Bool("record", false, "make the data in a real run first")
	serving := flag.Bool("serve", false, "be the server of that run")
	flag.Parse()
	var err error
	if *serving {
		err = serve(context.Background())
	} else {
		err = draw(*record)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(record bool) error {
	docs, err := docsFolder()
	if err != nil {
		return err
	}
	file := filepath.Join(docs, "backpressure.csv")
	if record {
		data, err := runHost()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		data.write(&b)
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(filepath.Join(docs, "backpressure.svg"), svg(data), 0o644)
}

// docsFolder finds docs/ from where go run and go generate start: the root of
// the module, or this folder.
func docsFolder() (string, error) {
	for _, dir := range []string{"docs", filepath.Join("..", "..")} {
		if _, err := os.Stat(filepath.Join(dir, "backpressure.md")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("run this at the root of the module: go run ./docs/internal/picture")
}
