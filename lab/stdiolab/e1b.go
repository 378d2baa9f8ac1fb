// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// What group E1B runs on this program: two writers under five settings of the environment.
var (
	e1bWriters  = []string{"println", "oneLock"}
	e1bSwitches = [][]string{{}, {"LC_ALL=C"}, {"LC_ALL=zh_CN.GB18030"}, {"LANG=zh_CN.GBK"}, {"GODEBUG=madvdontneed=1"}}
)

// optOf is what a child reports of its environment.
func optOf(env []string) string {
	if len(env) == 0 {
		return "none"
	}
	return strings.Join(env, " ")
}

// e1b runs the same cell under switches of the environment: for Go none may change a byte.
func (l *lab) e1b(ctx context.Context) error {
	plain := map[string]uint64{}
	for _, w := range e1bWriters {
		for _, env := range e1bSwitches {
			r, counts, err := l.push(ctx, "go", 0, Config{Writer: w, Threads: 4, Frames: 4000, Size: 2048, CJK: true}, startOptions{env: env})
			if err != nil {
				return err
			}
			if len(env) == 0 {
				plain[w] = counts.Digest
			}
			same := 0
			if counts.Digest == plain[w] {
				same = 1
			}
			r.set("value", same).set("unit", "same bytes as with none")
			if err := l.emit(r); err != nil {
				return err
			}
		}
	}
	if err := l.python(ctx); err != nil {
		return err
	}
	return l.jdk(ctx)
}

// python shows a switch that does matter.
func (l *lab) python(ctx context.Context) error {
	exe, err := exec.LookPath("python3")
	if err != nil {
		return l.emit(skippedRow("E1B", "control python", errors.New("python3 is absent")))
	}
	version := "Python " + versionOf(ctx, exe, "--version")
	for _, env := range [][]string{{}, {"PYTHONIOENCODING=gbk"}, {"PYTHONUTF8=1"}} {
		c := []string{exe, "-c", `print("\u4e2d")`}
		if err := l.printed(ctx, "control python", optOf(env), version, startOptions{env: env, command: c}); err != nil {
			return err
		}
	}
	return nil
}

const javaSource = `public class Print { public static void main(String[] a) { System.out.println("\u4e2d"); } }` + "\n"

func (l *lab) jdk(ctx context.Context) error {
	exe, err := exec.LookPath("java")
	if err != nil {
		return l.emit(skippedRow("E1B", "control jdk", errors.New("a JDK is absent")))
	}
	dir, err := os.MkdirTemp("", "weir-lab-java-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "Print.java")
	if err := os.WriteFile(source, []byte(javaSource), 0o600); err != nil {
		return err
	}
	version := "JDK " + versionOf(ctx, exe, "-version")
	for _, opt := range []string{"none", "-Dstdout.encoding=GBK", "-Dfile.encoding=GBK"} {
		c := []string{exe, source}
		if opt != "none" {
			c = []string{exe, opt, source}
		}
		if err := l.printed(ctx, "control jdk", opt, version, startOptions{env: []string{}, command: c}); err != nil {
			return err
		}
	}
	return nil
}

// printed runs a foreign program that prints one line, U+4E2D, and shows its bytes.
func (l *lab) printed(ctx context.Context, cell, opt, version string, o startOptions) error {
	o.conf = Config{Mode: "push", Writer: "print", Threads: 1, Frames: 1, Size: 3, CJK: true}
	p, err := l.start(ctx, Config{}, o)
	if err != nil {
		return l.emit(skippedRow("E1B", cell, err))
	}
	var got []byte
	count, bad, gbk := 0, 0, 0
	err = lines(p.out, func(line []byte, _ bool) {
		got = append(got, line...)
		count++
		if !utf8.Valid(line) {
			bad++
			if validGBK(line) {
				gbk++
			}
		}
	})
	if err := errors.Join(err, p.finish(ctx)); err != nil {
		return l.emit(skippedRow("E1B", cell, fmt.Errorf("%s: %w", version, err)))
	}
	l.count(count, int64(len(got)+count))
	r := newRow("E1B", cell, 0, o.conf).set("opt", opt).set("framesSent", 1).set("lines", count).set("bytes", len(got)+count).set("utf8Fail", bad)
	if count > 0 {
		r.set("utf8FailPct", float64(bad)/float64(count)*100).set("gbkOkPct", float64(gbk)/float64(count)*100)
	}
	return l.emit(r.set("note", fmt.Sprintf("%s; U+4E2D came as %X", version, got)))
}
