// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line of 50 MiB is found whole, shown in part, and counted to the byte.
func TestHugeLineOfAFile(t *testing.T) {
	dir := t.TempDir()
	size := 50 << 20
	if testing.Short() {
		size = 2 << 20
	}
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	block := []byte(strings.Repeat("汉", 1<<18))
	n, _ := f.WriteString("first\n")
	for n < size {
		k, err := f.Write(block)
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	long := n - len("first\n") + len("needle")
	if _, err := f.WriteString("needle\nlast needle\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tools, _ := serve(t, dir)
	for _, pattern := range []string{"needle", "汉ne+dle$"} {
		p := grepPage(t, tools, args{"pattern": pattern})
		if len(p.Items) == 0 || p.Items[0].Line != 2 || len(p.Items[0].Excerpt) > 400 {
			t.Fatalf("%q: %.500q", pattern, fmt.Sprint(p.Items))
		}
		if m := p.Items[0]; !strings.HasSuffix(m.Excerpt, "汉needle") || !strings.HasPrefix(m.Excerpt, fmt.Sprintf("[%d bytes cut]汉", long-255)) {
			t.Errorf("%q: a line of %d bytes: %q", pattern, long, m.Excerpt)
		}
	}
	page, _ := call[linePage](t, tools, "read_file", args{"path": "huge"})
	if len(page.Items) != 3 || page.Lines != 3 && page.Bytes <= maxCounted || !strings.HasSuffix(page.Items[1].Text, fmt.Sprintf("汉[%d bytes cut]", long-1935)) {
		t.Errorf("%d lines, the second ends in %q", len(page.Items), page.Items[1].Text[1900:])
	}
}

// A file that is replaced, shortened or emptied between two pages, and one that
// becomes a directory: no error, and nothing twice.
func TestFileChangesBetweenPages(t *testing.T) {
	text := strings.Repeat("match\n", 300)
	for name, change := range map[string]func(path string) error{
		"emptied":   func(p string) error { return os.Truncate(p, 0) },
		"shortened": func(p string) error { return os.Truncate(p, 600) },
		"binary":    func(p string) error { return os.WriteFile(p, []byte("\x00"), 0o644) },
		"directory": func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Mkdir(p, 0o755)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"a": text, "b": text, "c": text})
			tools, _ := serve(t, dir)
			changed := ""
			items, _ := grepAll(t, tools, args{"pattern": "match", "maxBytes": 4096}, func(p matchPage) {
				if last := p.Items[len(p.Items)-1]; last.Path == "b" && changed == "" {
					changed = fmt.Sprintf("%s:%d", last.Path, last.Line)
					if err := change(filepath.Join(dir, "b")); err != nil {
						t.Fatal(err)
					}
				}
			})
			count := make(map[string]int)
			for i, m := range items {
				count[m.Path]++
				if i > 0 && m.Path == items[i-1].Path && m.Line != items[i-1].Line+1 {
					t.Errorf("line %d of %s after line %d", m.Line, m.Path, items[i-1].Line)
				}
			}
			if changed == "" || count["a"] != 300 || count["c"] != 300 || count["b"] >= 300 || count["b"] == 0 {
				t.Errorf("changed at %s: %v", changed, count)
			}
		})
	}
}
