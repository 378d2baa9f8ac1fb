// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
)

// What was kept is there for the next store, under its handle, and what expired
// is known as such.
func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := &Store{Dir: dir, Keep: true, MaxCount: 2}
	gone := put(t, s, "gone")
	one := put(t, s, "one\n")
	two := put(t, s, "two\n")
	before, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = &Store{Dir: dir, Keep: true}
	after, err := s.List()
	if err != nil || len(after) != 2 {
		t.Fatalf("List: %v, %v", after, err)
	}
	for i, info := range before {
		info.Created = info.Created.Round(0) // without the monotonic clock
		if after[i].Created = after[i].Created.Local(); !after[i].Created.Equal(info.Created) {
			t.Errorf("created %v, was %v", after[i].Created, info.Created)
		}
		if after[i].Created = info.Created; after[i] != info {
			t.Errorf("there is %+v, and was %+v", after[i], info)
		}
	}
	if get(t, s, one) != "one\n" || get(t, s, two) != "two\n" {
		t.Error("the contents have changed")
	}
	if err := openErr(s, gone); !errors.Is(err, ErrExpired) {
		t.Errorf("the expired one: %v", err)
	}
	if err := openErr(&Store{Dir: dir, Keep: true}, one); !errors.Is(err, ErrInUse) {
		t.Errorf("a second store: %v", err)
	}
	s.Close()
	s = testStore(t, &Store{Dir: dir, Keep: true, MaxCount: 1})
	if w, err := s.Create("", ""); err != nil {
		t.Error(err)
	} else {
		w.Write([]byte("a part"))
	}
	if err := openErr(s, one); !errors.Is(err, ErrExpired) || get(t, s, two) != "two\n" {
		t.Errorf("limits of a later store: %v", err)
	}
	s.Close()
	if names := files(t, dir); len(names) != 3 {
		t.Errorf("closed with a writer it left %q", names)
	}

	s = &Store{Dir: dir}
	if err := openErr(s, two); !errors.Is(err, ErrExpired) {
		t.Errorf("a store that does not keep: %v", err)
	}
	if names := files(t, dir); len(names) != 1 {
		t.Errorf("it has %q", names)
	}
	s.Close()
	if names := files(t, dir); len(names) != 0 {
		t.Errorf("it left %q", names)
	}
}

// A process that is being started has all files of this one until it runs its
// program; the directory is free at Close nevertheless.
func TestLockIsGivenUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a handle belongs to one process")
	}
	s := testStore(t, &Store{Keep: true})
	put(t, s, "x")
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{s.home.lock} // as between fork and exec
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	s.Close()
	if _, err := testStore(t, &Store{Dir: s.Dir}).Create("", ""); err != nil {
		t.Error(err)
	}
}

func TestKeepNeedsDir(t *testing.T) {
	s := &Store{Keep: true}
	if _, err := s.Create("", ""); err == nil || !strings.Contains(err.Error(), "Dir") {
		t.Errorf("Create: %v", err)
	}
}

// What is not whole is not served: cut, grown, without its description, with a
// broken one, or from another store.
func TestNotWhole(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir, handle string) error{
		"cut":        func(_ *testing.T, dir, h string) error { return os.Truncate(filepath.Join(dir, h), 3) },
		"empty":      func(_ *testing.T, dir, h string) error { return os.Truncate(filepath.Join(dir, h), 0) },
		"grown":      func(_ *testing.T, dir, h string) error { return os.Truncate(filepath.Join(dir, h), 30) },
		"no content": func(_ *testing.T, dir, h string) error { return os.Remove(filepath.Join(dir, h)) },
		"no info":    func(_ *testing.T, dir, h string) error { return os.Remove(filepath.Join(dir, h+infoSuffix)) },
		"half info":  func(_ *testing.T, dir, h string) error { return os.Truncate(filepath.Join(dir, h+infoSuffix), 20) },
		"less info": func(t *testing.T, dir, h string) error {
			fi, err := os.Stat(filepath.Join(dir, h+infoSuffix))
			if err != nil {
				return err
			}
			return os.Truncate(filepath.Join(dir, h+infoSuffix), fi.Size()-1)
		},
		"a link": func(t *testing.T, dir, h string) error { // as long as the content
			os.Remove(filepath.Join(dir, h))
			if err := os.Symlink("0123456789", filepath.Join(dir, h)); err != nil {
				t.Skip(err)
			}
			return nil
		},
		"still a part": func(_ *testing.T, dir, h string) error {
			return os.Rename(filepath.Join(dir, h), filepath.Join(dir, h+partSuffix))
		},
		"no key": func(_ *testing.T, dir, h string) error { return os.Truncate(filepath.Join(dir, lockName), 0) },
		"a directory": func(_ *testing.T, dir, h string) error {
			os.Remove(filepath.Join(dir, h))
			return os.Mkdir(filepath.Join(dir, h), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testStore(t, &Store{Keep: true})
			h := put(t, s, "0123456789")
			s.Close()
			if err := damage(t, s.Dir, h); err != nil {
				t.Fatal(err)
			}
			s = &Store{Dir: s.Dir, Keep: true}
			if err := openErr(s, h); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Open: %v", err)
			}
			if names := files(t, s.Dir); len(names) != 1 {
				t.Errorf("there are %q", names)
			}
			s.Close()
		})
	}
}

// A process that is killed while it writes leaves what is whole, and nothing of
// the rest.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	cmd, said := startChild(t, "ARTIFACT_TEST_DIR="+dir)
	whole, part, _ := threeWords(said)
	if n := len(files(t, dir)); n != 4 {
		t.Errorf("there are %d files while it writes", n)
	}
	s := testStore(t, &Store{Dir: dir, Keep: true})
	if err := openErr(s, whole); !errors.Is(err, ErrInUse) {
		t.Errorf("while it runs: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := get(t, s, whole); got != "all of it\n" {
		t.Errorf("the whole one is %q", got)
	}
	if err := openErr(s, part); !errors.Is(err, ErrExpired) {
		t.Errorf("the part: %v", err)
	}
	if n := len(files(t, dir)); n != 3 {
		t.Errorf("there are %d files", n)
	}
}

func threeWords(s string) (a, b, c string) {
	a, s, _ = strings.Cut(s, " ")
	b, c, _ = strings.Cut(s, " ")
	return a, b, c
}

// What a killed process has left among the temporary files goes when the next
// store is opened; what a living one uses stays, and so does what is not a
// store's.
func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	dead, said := startChild(t)
	_, _, deadDir := threeWords(said)
	_, said = startChild(t)
	_, _, livingDir := threeWords(said)
	dead.Process.Kill()
	dead.Wait()
	strange := filepath.Join(tmp, tempPattern+"strange")
	if err := os.Mkdir(strange, 0o700); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(strange, "letter"), []byte("dear"), 0o600)
	aim := filepath.Join(tmp, "aim")
	os.Mkdir(aim, 0o700)
	os.WriteFile(filepath.Join(aim, lockName), nil, 0o600)
	linked := os.Symlink(aim, filepath.Join(tmp, tempPattern+"link")) == nil
	empty := filepath.Join(tmp, tempPattern+"empty")
	os.Mkdir(empty, 0o700)

	var s Store
	put(t, &s, "x")
	for path, there := range map[string]bool{
		deadDir: false, livingDir: true, s.home.path: true, empty: false,
		filepath.Join(strange, "letter"): true,
		filepath.Join(aim, lockName):     true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v, want there %v (links %v)", path, err, there, linked)
		}
	}
	s.Close()
}

// A directory that others can look into is refused, and one that a link leads
// to.
func TestNotPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Store{Dir: dir}
	if _, err := s.Create("", ""); err != errNotPrivate {
		t.Errorf("Create: %v", err)
	}
	private := filepath.Join(t.TempDir(), "private")
	os.Mkdir(private, 0o700)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(private, link); err != nil {
		t.Skip(err)
	}
	s = &Store{Dir: link}
	if _, err := s.Create("", ""); err != errNotPrivate {
		t.Errorf("Create through a link: %v", err)
	}
}

// What else is in Dir stays, and Dir with it.
func TestForeignFiles(t *testing.T) {
	s := testStore(t, &Store{})
	put(t, s, "x")
	mine := filepath.Join(s.Dir, "notes.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if names := files(t, s.Dir); len(names) != 1 || names[0] != "notes.txt" {
		t.Errorf("there are %q", names)
	}
}

// No text names a file of the machine.
func TestNoPath(t *testing.T) {
	var texts []string
	note := func(err error) {
		t.Helper()
		if err == nil {
			t.Error("no error")
			return
		}
		texts = append(texts, err.Error())
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o600)
	for _, bad := range []string{file, filepath.Join(file, "below"), filepath.Join(file, "further", "below"), dir + "\x00"} {
		_, err := (&Store{Dir: bad}).Create("", "")
		note(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "absent"))
	t.Setenv("TMP", filepath.Join(dir, "absent"))
	_, err := new(Store).Create("", "")
	note(err)

	s := &Store{Dir: filepath.Join(dir, "store"), Keep: true}
	h := put(t, s, "text")
	w, err := s.Create("", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, s.Dir) {
		os.Remove(filepath.Join(s.Dir, name))
	}
	note(openErr(s, h))
	_, err = w.Commit()
	note(err)
	_, err = s.Read(t.Context(), "artifact:"+h, result.Budget{})
	note(err)
	s.Close()
	for _, text := range texts {
		if strings.Contains(text, dir) || strings.Contains(text, partSuffix) || !strings.HasPrefix(text, "artifact: ") {
			t.Errorf("%s", text)
		}
	}
	t.Logf("%q", texts)
}

// Nobody else can read a file of a store, also if its directory were open.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access follows the directory")
	}
	dir := filepath.Join(t.TempDir(), "kept")
	s := testStore(t, &Store{Dir: dir, Keep: true})
	put(t, s, "text")
	w, err := s.Create("begun", "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 { // the lock, content, description, and a part
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if fi, err := f.Info(); err != nil || fi.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), fi.Mode(), err)
		}
	}
}
