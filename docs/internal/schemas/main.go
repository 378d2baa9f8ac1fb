// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Schemas writes the tables and the JSON of docs/schemas.md from the Go types
// of this package: the schemas that package tool makes of them, and what it
// does to arguments. Each part stands between <!-- schemas NAME --> and
// <!-- end schemas -->.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

//go:generate go run .

// root is the folder of the module.
var root string

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run() error {
	for _, root = range []string{".", filepath.Join("..", "..", "..")} {
		file := filepath.Join(root, "docs", "schemas.md")
		old, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		text, err := fill(string(old))
		if err != nil {
			return err
		}
		if text == string(old) {
			return nil
		}
		return os.WriteFile(file, []byte(text), 0o644)
	}
	return fmt.Errorf("run this at the root of the module: go run ./docs/internal/schemas")
}

var slot = regexp.MustCompile(`(?s)<!-- schemas (\w+) -->\n.*?<!-- end schemas -->`)

// fill puts the parts into their slots.
func fill(text string) (string, error) {
	var fault error
	out := slot.ReplaceAllStringFunc(text, func(s string) string {
		name := slot.FindStringSubmatch(s)[1]
		part, ok := parts[name]
		if !ok {
			fault = fmt.Errorf("there is no part %q", name)
			return s
		}
		made, err := part()
		if err != nil {
			fault = fmt.Errorf("part %s: %w", name, err)
		}
		return "<!-- schemas " + name + " -->\n" + made + "<!-- end schemas -->"
	})
	return out, fault
}
