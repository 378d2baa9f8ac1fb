// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command prints claims stdio, sends a frame, prints N bytes in one WAY, and sends another frame. A test runs it for every
// row of the table "where each print goes".
package main

import (
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/stdio"
)

// Made before stdio is claimed, as packages do in their initialisation.
var (
	logToStdout  = log.New(os.Stdout, "", log.LstdFlags)
	slogToStdout = slog.New(slog.NewTextHandler(os.Stdout, nil))
	slogToStderr = slog.New(slog.NewTextHandler(os.Stderr, nil))
)

var ways = map[string]func(text string){
	"fmt.Print":     func(text string) { fmt.Print(text) },
	"log":           func(text string) { log.Print(text) },
	"log-stdout":    func(text string) { logToStdout.Print(text) },
	"slog":          func(text string) { slog.Info(text) },
	"slog-stdout":   func(text string) { slogToStdout.Info(text) },
	"slog-stderr":   func(text string) { slogToStderr.Info(text) },
	"println":       func(text string) { println(text) },
	"panic":         func(text string) { go panic(text); select {} },
	"child":         func(text string) { child("cat >&1; cat <&3", text) },
	"child-stderr":  func(text string) { child("cat; cat <&3 >&2", text) },
	"printf":        nil, // C's, where there is cgo
	"printf-unsent": nil,
}

// child runs script with the process's stdio and text on descriptor 3. Its stdin is at its end.
func child(script, text string) {
	r, w, err := os.Pipe()
	check(err)
	go func() {
		_, _ = w.WriteString(text)
		_ = w.Close()
	}()
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{r}
	check(cmd.Run())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	n, err := strconv.Atoi(os.Args[2])
	check(err)
	g, err := stdio.Claim()
	check(err)
	defer g.Release()
	_, err = g.Out().Write([]byte("{\"frame\":1}\n"))
	check(err)
	ways[os.Args[1]](strings.Repeat("stray", n/5))
	_, err = g.Out().Write([]byte("{\"frame\":2}\n"))
	check(err)
	_, _ = g.In().Read(make([]byte, 1)) // until the test has looked
}
