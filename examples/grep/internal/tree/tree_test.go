// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/examples/grep/internal/glob"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes files below dir; a name that ends in a slash is a directory.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func named(names ...string) map[string]string {
	m := make(map[string]string)
	for _, n := range names {
		m[n] = n
	}
	return m
}

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func walked(t testing.TB, tr *Tree, start, from string) []string {
	t.Helper()
	var got []string
	for f, err := range tr.Files(t.Context(), start, from) {
		if err != nil {
			t.Fatalf("%s: %v", f.Path, err)
		}
		got = append(got, f.Path)
	}
	return got
}

func globs(t testing.TB, list ...string) glob.List {
	t.Helper()
	l, err := glob.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The order is that of the bytes of whole paths, and a walk can begin anywhere.
func TestOrderAndResume(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 8))
	parts := []string{"a", "b", "a.go", "a-b", "ab", "a0", "中", "é", "-", "z", "A"}
	var names []string
	for len(names) < 150 {
		var p []string
		for range 1 + r.IntN(4) {
			p = append(p, parts[r.IntN(len(parts))])
		}
		name := strings.Join(p, "/")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
			continue // a file stands where a directory should
		}
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		write(t, dir, named(name))
		names = append(names, name)
	}
	slices.Sort(names)
	tr := &Tree{Root: openRoot(t, dir)}
	if got := walked(t, tr, ".", ""); !slices.Equal(got, names) {
		t.Fatalf("got  %q\nwant %q", got, names)
	}
	for _, from := range append(slices.Clone(names), "", "a", "a/", "a.go/zzz", "b\x00", "~", "中") {
		i, _ := slices.BinarySearch(names, from)
		if got := walked(t, tr, ".", from); !slices.Equal(got, names[i:]) {
			t.Fatalf("from %q: got %q\nwant %q", from, got, names[i:])
		}
	}
	for _, start := range []string{"a", "b", "中"} {
		var want []string
		for _, n := range names {
			if strings.HasPrefix(n, start+"/") {
				want = append(want, n)
			}
		}
		if got := walked(t, tr, start, ""); want != nil && !slices.Equal(got, want) {
			t.Errorf("below %q: got %q\nwant %q", start, got, want)
		}
	}
}

func TestGlobs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, named("a.go", "a_test.go", "src/b.go", "src/b.txt", "src/testdata/c.go", "docs/d.md", "docs/e/f.go", "docs.go"))
	root := openRoot(t, dir)
	for _, tt := range []struct {
		name             string
		include, exclude []string
		start            string
		want             []string
	}{
		{"all", nil, nil, ".", []string{"a.go", "a_test.go", "docs.go", "docs/d.md", "docs/e/f.go", "src/b.go", "src/b.txt", "src/testdata/c.go"}},
		{"name", []string{"*.go"}, nil, ".", []string{"a.go", "a_test.go", "docs.go", "docs/e/f.go", "src/b.go", "src/testdata/c.go"}},
		{"anchored", []string{"src/*.go"}, nil, ".", []string{"src/b.go"}},
		{"deep", []string{"src/**/*.{go,txt}"}, nil, ".", []string{"src/b.go", "src/b.txt", "src/testdata/c.go"}},
		{"a directory needs its slash", []string{"docs"}, nil, ".", nil},
		{"directory", []string{"docs/"}, nil, ".", []string{"docs/d.md", "docs/e/f.go"}},
		{"directory above start", []string{"docs/"}, nil, "docs/e", []string{"docs/e/f.go"}},
		{"exclude name", nil, []string{"*.go"}, ".", []string{"docs/d.md", "src/b.txt"}},
		{"exclude directory", nil, []string{"testdata", "/docs"}, ".", []string{"a.go", "a_test.go", "docs.go", "src/b.go", "src/b.txt"}},
		{"both", []string{"*.go"}, []string{"*_test.go", "docs/**"}, ".", []string{"a.go", "docs.go", "src/b.go", "src/testdata/c.go"}},
		{"named file", []string{"*.go"}, []string{"src"}, "src/b.txt", []string{"src/b.txt"}},
	} {
		tr := &Tree{Root: root, Include: globs(t, tt.include...), Exclude: globs(t, tt.exclude...)}
		if got := walked(t, tr, tt.start, ""); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestIgnoreFiles(t *testing.T) {
	dir := t.TempDir()
	files := named("a.o", "keep.o", "b.txt", "sub/a.o", "sub/keep.o", "sub/b.txt", "sub/deep/c.txt", "sub/deep/d.log", "sub/deep/x.o",
		"build/x", "sub/build/x", "sub/deep/build/x", ".git/config", "sub/.git", "other/.hidden")
	files[".gitignore"] = "*.o\n/build/\n!keep.o\n"
	files["sub/.gitignore"] = "keep.o\n!a.o\n/build\ndeep/*.log\n"
	files["sub/deep/.gitignore"] = "!d.log\n"
	write(t, dir, files)
	root := openRoot(t, dir)
	want := []string{".gitignore", "b.txt", "keep.o", "other/.hidden", "sub/.gitignore", "sub/a.o", "sub/b.txt",
		"sub/deep/.gitignore", "sub/deep/build/x", "sub/deep/c.txt", "sub/deep/d.log"}
	if got := walked(t, &Tree{Root: root}, ".", ""); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// The rules above the start hold below it, but not for the start itself.
	for start, want := range map[string][]string{
		"sub":       {"sub/.gitignore", "sub/a.o", "sub/b.txt", "sub/deep/.gitignore", "sub/deep/build/x", "sub/deep/c.txt", "sub/deep/d.log"},
		"sub/deep":  {"sub/deep/.gitignore", "sub/deep/build/x", "sub/deep/c.txt", "sub/deep/d.log"},
		"build":     {"build/x"},
		"sub/build": {"sub/build/x"},
		"a.o":       {"a.o"},
	} {
		if got := walked(t, &Tree{Root: root}, start, ""); !slices.Equal(got, want) {
			t.Errorf("%s: got %q\nwant %q", start, got, want)
		}
	}
	if got := walked(t, &Tree{Root: root, NoIgnore: true}, ".", ""); len(got) != len(files)-2 {
		t.Errorf("NoIgnore: %d files of %d but for .git", len(got), len(files)-2)
	}
}

// A tree with many .gitignore files, against git's own list.
func TestIgnoreFilesLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := rand.New(rand.NewPCG(9, 10))
	names := []string{"a", "b", "c", "a.x", "b.x", "c.y", "x"}
	rules := []string{"a", "b/", "/c", "*.x", "!b.x", "a/b", "**/c.y", "a/**", "!a/", "x", "*", "!*/", "!x"}
	for range 8 {
		dir := t.TempDir()
		for range 200 {
			var p []string
			for range 1 + r.IntN(4) {
				p = append(p, names[r.IntN(len(names))])
			}
			path := filepath.Join(dir, filepath.Join(p...))
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				_ = os.WriteFile(path, nil, 0o644) // it may be a directory
			}
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && r.IntN(2) == 0 {
				text := ""
				for range 1 + r.IntN(3) {
					text += rules[r.IntN(len(rules))] + "\n"
				}
				return os.WriteFile(filepath.Join(path, ".gitignore"), []byte(text), 0o644)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := exec.Command("git", "-C", dir, "-c", "core.ignoreCase=false", "ls-files", "-o", "-z", "--exclude-per-directory=.gitignore").Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
		slices.Sort(want)
		if got := walked(t, &Tree{Root: openRoot(t, dir)}, ".", ""); !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}

// Nothing leads out of the root, and links are not followed by a walk.
func TestConfined(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, named("in/a", "in/d/b", "out/secret"))
	for name, target := range map[string]string{
		"in/link": "a", "in/dirlink": "d", "in/up": "../out/secret", "in/updir": "../out", "in/abs": filepath.Join(dir, "out"), "in/self": ".",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	root := openRoot(t, filepath.Join(dir, "in"))
	tr := &Tree{Root: root}
	if got := walked(t, tr, ".", ""); !slices.Equal(got, []string{"a", "d/b"}) {
		t.Errorf("%q", got)
	}
	if got := walked(t, tr, "dirlink", ""); !slices.Equal(got, []string{"dirlink/b"}) {
		t.Errorf("a link inside, by name: %q", got)
	}
	if f, err := Open(root, "link"); err != nil {
		t.Errorf("a link inside, by name: %v", err)
	} else {
		f.Close()
	}
	for _, name := range []string{"up", "updir", "updir/secret", "abs", "abs/secret", "..", "../out", "d/../../out/secret", "/etc/passwd"} {
		for f, err := range tr.Files(t.Context(), name, "") {
			if err == nil {
				t.Errorf("%s: yielded %s", name, f.Path)
			}
		}
		if f, err := Open(root, name); err == nil {
			f.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

func TestStartIsGone(t *testing.T) {
	tr := &Tree{Root: openRoot(t, t.TempDir())}
	n := 0
	for f, err := range tr.Files(t.Context(), "nope", "") {
		if n++; f.Path != "" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q, %v", f.Path, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

func TestCancelledWalk(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, named("a", "b", "c", "d/e"))
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	n := 0
	for _, err := range (&Tree{Root: openRoot(t, dir)}).Files(ctx, ".", "") {
		if n++; n == 2 {
			cancel(cause)
		}
		last = err
	}
	if n != 3 || !errors.Is(last, cause) {
		t.Errorf("%d, %v", n, last)
	}
}

// A directory that becomes deeper than the walk goes is told, not followed.
func TestDepth(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	sub := root
	for range maxDepth + 1 {
		if err := sub.Mkdir("d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := sub.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		if sub != root {
			sub.Close()
		}
		sub = next
	}
	if err := sub.WriteFile("f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sub.Close()
	var errs []error
	for f, err := range (&Tree{Root: root}).Files(t.Context(), ".", "") {
		if err == nil {
			t.Errorf("yielded %d bytes of path", len(f.Path))
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), fmt.Sprint(maxDepth)) {
		t.Errorf("%v", errs)
	}
}

// A file that can be opened only through its own directory's handle.
func TestOpenYielded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, named("a/b/c", "d"))
	for f, err := range (&Tree{Root: openRoot(t, dir)}).Files(t.Context(), ".", "") {
		if err != nil {
			t.Fatal(err)
		}
		file, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(file)
		file.Close()
		if err != nil || string(text) != f.Path {
			t.Errorf("%s: %q, %v", f.Path, text, err)
		}
	}
}

// Breaking the loop leaves no directory open.
func TestNoDescriptorLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts descriptors in /proc")
	}
	dir := t.TempDir()
	write(t, dir, named("a/b/c/d", "a/b/c/e", "f"))
	root := openRoot(t, dir)
	count := func() int {
		e, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(e)
	}
	before := count()
	for range 20 {
		for range (&Tree{Root: root}).Files(t.Context(), ".", "") {
			break
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
