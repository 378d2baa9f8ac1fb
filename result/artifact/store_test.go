// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestPutAndOpen(t *testing.T) {
	s := testStore(t, &Store{})
	handle, how, err := s.Put(t.Context(), "make\ttest", "", strings.NewReader("one\ntwo\nthree"))
	if err != nil {
		t.Fatal(err)
	}
	if len(handle) != 32 || !strings.Contains(how, fmt.Sprintf("%s {%q:%q}", ToolName, "handle", handle)) {
		t.Errorf("handle %q, how %q", handle, how)
	}
	for _, name := range []string{handle, "artifact:" + handle, " " + handle + "\n"} {
		if got := get(t, s, name); got != "one\ntwo\nthree" {
			t.Errorf("Open(%q) gave %q", name, got)
		}
	}
	all, err := s.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("List: %v, %v", all, err)
	}
	got := all[0]
	if got.Handle != handle || got.Name != "make\ttest" || got.MIMEType != "text/plain" || got.Size != 13 ||
		got.Lines != 3 || got.Longest != 5 || got.Binary || got.Dropped != 0 || time.Since(got.Created) > time.Minute {
		t.Errorf("List has %+v", got)
	}
	link := got.Link()
	if link.URI != "artifact:"+handle || *link.Size != 13 || link.Name != got.Name || !strings.Contains(link.Description, "3 lines") {
		t.Errorf("Link is %+v", link)
	}
}

// What a store writes is for its user alone, and gone when it is closed.
func TestDirectory(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	var s Store
	if all, err := s.List(); len(all) > 0 || err != nil {
		t.Errorf("List of a new store: %v, %v", all, err)
	}
	if err := openErr(&s, strings.Repeat("a", handleSize)); !errors.Is(err, ErrForeign) {
		t.Errorf("Open in a new store: %v", err)
	}
	if len(files(t, tmp)) != 0 {
		t.Fatal("an unused store has a directory")
	}
	handle := put(t, &s, "text")
	names := files(t, tmp)
	if len(names) != 1 {
		t.Fatalf("there are %q", names)
	}
	for _, path := range []string{names[0], filepath.Join(names[0], handle), filepath.Join(names[0], lockName)} {
		fi, err := os.Stat(filepath.Join(tmp, path))
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
	}
	w, err := s.Create("", "")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "not committed")
	r, err := s.Open(handle)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if names := files(t, tmp); len(names) != 0 {
		t.Errorf("after Close there are %q", names)
	}
	if text, err := io.ReadAll(r); string(text) != "text" || err != nil {
		t.Errorf("a reader that was open read %q, %v", text, err)
	}
	if err := openErr(&s, handle); !errors.Is(err, ErrClosed) {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.List(); !errors.Is(err, ErrClosed) {
		t.Errorf("List: %v", err)
	}
	if _, err := s.Create("", ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Create: %v", err)
	}
	if _, err := w.Write([]byte("more")); !errors.Is(err, ErrClosed) {
		t.Errorf("Write: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit: %v", err)
	}
	if _, _, err := s.Put(t.Context(), "", "", strings.NewReader("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Put: %v", err)
	}
}

// A reader is told why: expired is not unknown.
func TestReasons(t *testing.T) {
	s := testStore(t, &Store{MaxCount: 1})
	old := put(t, s, "old")
	mine := put(t, s, "new")
	other := put(t, testStore(t, &Store{}), "of another process")
	changed := "a" + mine[1:]
	if changed == mine {
		changed = "b" + mine[1:]
	}
	for name, c := range map[string]struct {
		handle string
		want   error
	}{
		"expired":         {old, ErrExpired},
		"other store":     {other, ErrForeign},
		"changed":         {changed, ErrForeign},
		"cut short":       {mine[:31], ErrMalformed},
		"empty":           {"", ErrMalformed},
		"a path":          {"../../etc/passwd", ErrMalformed},
		"a file of ours":  {lockName, ErrMalformed},
		"a part":          {mine + partSuffix, ErrMalformed},
		"upper case":      {strings.ToUpper(mine), ErrMalformed},
		"upper case URI":  {strings.ToUpper(scheme + mine), ErrMalformed},
		"no offset":       {scheme + mine + "?line=3", ErrOffset},
		"past the end":    {mine + "?offset=4", ErrOffset},
		"another scheme":  {"file:" + mine, ErrMalformed},
		"very long":       {strings.Repeat("é", 1<<20), ErrMalformed},
		"not even a name": {"\x00/", ErrMalformed},
	} {
		err := openErr(s, c.handle)
		if !errors.Is(err, c.want) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if got := strings.Contains(err.Error(), "lower case"); got != (name == "upper case" || name == "upper case URI") {
			t.Errorf("%s: %v", name, err)
		}
		if len(err.Error()) > 250 {
			t.Errorf("%s: a text of %d bytes", name, len(err.Error()))
		}
	}
	if get(t, s, mine) != "new" {
		t.Error("the newest is not there")
	}
}

// Handles do not repeat, and differ in all of their bits.
func TestHandle(t *testing.T) {
	seen := make(map[string]bool)
	var at [handleSize]map[byte]bool
	key := make([]byte, keySize)
	for range 2000 {
		h := newHandle(key)
		if seen[h] || !isHandle(h) || !isOwn(key, h) {
			t.Fatalf("handle %q", h)
		}
		seen[h] = true
		for i := range at {
			if at[i] == nil {
				at[i] = make(map[byte]bool)
			}
			at[i][h[i]] = true
		}
	}
	for i := range at {
		if len(at[i]) != 32 {
			t.Errorf("character %d of handles has %d values, want 32", i, len(at[i]))
		}
	}
}

// The oldest make room, by bytes and by count, and their files go.
func TestLimits(t *testing.T) {
	for name, s := range map[string]*Store{
		"bytes": {MaxTotal: 1000},
		"count": {MaxCount: 4},
	} {
		testStore(t, s)
		var handles []string
		for i := range 10 {
			handles = append(handles, put(t, s, strings.Repeat(fmt.Sprint(i), 240)))
		}
		for i, h := range handles {
			err := openErr(s, h)
			if i < 6 && !errors.Is(err, ErrExpired) || i >= 6 && err != nil {
				t.Errorf("%s: artifact %d: %v", name, i, err)
			}
		}
		if n := len(files(t, s.Dir)); n != 4+1 {
			t.Errorf("%s: there are %d files", name, n)
		}
	}
}

func TestTooLarge(t *testing.T) {
	s := testStore(t, &Store{MaxBytes: 100_000})
	if _, _, err := s.Put(t.Context(), "", "", endless{}); err != ErrTooLarge {
		t.Errorf("Put of an endless reader: %v", err)
	}
	if _, _, err := s.Put(t.Context(), "", "", io.LimitReader(endless{}, 100_000)); err != nil {
		t.Errorf("Put of the largest: %v", err)
	}
	if n := len(files(t, s.Dir)); n != 2 {
		t.Errorf("there are %d files, want the lock and one artifact", n)
	}
	if s.size != 100_000 || s.writing != 0 {
		t.Errorf("%d bytes kept, %d being written", s.size, s.writing)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// Put stops when its context has ended, and leaves nothing.
func TestPutCancelled(t *testing.T) {
	s := testStore(t, &Store{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("cancelled by the peer")
	n := 0
	_, _, err := s.Put(ctx, "", "", readerFunc(func(b []byte) (int, error) {
		if n++; n == 3 {
			cancel(cause)
		}
		return len(b), nil
	}))
	if err != cause || n != 3 {
		t.Errorf("Put returned %v after %d reads", err, n)
	}
	broken := errors.New("broken")
	if _, _, err := s.Put(t.Context(), "", "", readerFunc(func(b []byte) (int, error) { return 5, broken })); err != broken {
		t.Errorf("Put returned %v", err)
	}
	if names := files(t, s.Dir); len(names) != 1 || s.writing != 0 {
		t.Errorf("there are %q, and %d bytes being written", names, s.writing)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// Age is counted when nobody asks, too.
func TestAge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	synctest.Test(t, func(t *testing.T) {
		s := &Store{Dir: dir, MaxAge: time.Hour}
		put(t, s, "alone")
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(files(t, dir)); n != 1 {
			t.Errorf("after an hour there are %d files", n)
		}
		s.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		s := &Store{Dir: dir, MaxAge: time.Hour}
		defer s.Close()
		first := put(t, s, "first")
		time.Sleep(40 * time.Minute)
		second := put(t, s, "second")
		time.Sleep(19*time.Minute + 59*time.Second)
		if err := openErr(s, first); err != nil {
			t.Errorf("after 59:59: %v", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(files(t, dir)); n != 2 {
			t.Errorf("after an hour there are %d files", n)
		}
		if err := openErr(s, first); !errors.Is(err, ErrExpired) {
			t.Errorf("after an hour: %v", err)
		}
		if err := openErr(s, second); err != nil {
			t.Errorf("the second: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(files(t, dir)); n != 1 {
			t.Errorf("after two hours there are %d files", n)
		}
	})
}

func TestConcurrency(t *testing.T) {
	s := testStore(t, &Store{MaxTotal: 1 << 20, MaxCount: 20})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				text := strings.Repeat(fmt.Sprintf("%d/%d\n", g, i), 2000)
				h, _, err := s.Put(context.Background(), "x", "", strings.NewReader(text))
				if err != nil {
					t.Error(err)
					return
				}
				r, err := s.Open(h)
				if errors.Is(err, ErrExpired) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := io.ReadAll(r); string(got) != text || err != nil {
					t.Errorf("read %d bytes, %v", len(got), err)
				}
				r.Close()
				s.List()
			}
		})
	}
	wg.Wait()
	var sum int64
	for _, info := range s.order {
		sum += info.Size
	}
	if s.size != sum || s.writing != 0 || sum > 1<<20 || len(s.order) > 20 {
		t.Errorf("size %d of %d, writing %d, %d artifacts", s.size, sum, s.writing, len(s.order))
	}
}

// Close while others write and read.
func TestCloseConcurrent(t *testing.T) {
	s := testStore(t, &Store{})
	put(t, s, "x")
	var wg sync.WaitGroup
	begun := make(chan bool, 4)
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				_, _, err := s.Put(context.Background(), "x", "", strings.NewReader("some text"))
				if i == 0 {
					begun <- true
				}
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	for range 4 {
		<-begun
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", files(t, s.Dir))
	}
}
