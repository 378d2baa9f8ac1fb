// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("ARTIFACT_TEST_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// testStore returns a store in a directory of the test, closed at its end.
func testStore(t *testing.T, s *Store) *Store {
	t.Helper()
	if s.Dir == "" {
		s.Dir = filepath.Join(t.TempDir(), "store")
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// put stores a text and returns its handle.
func put(t *testing.T, s *Store, text string) string {
	t.Helper()
	handle, _, err := s.Put(t.Context(), "text", "text/plain", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// get reads a whole artifact.
func get(t *testing.T, s *Store, handle string) string {
	t.Helper()
	r, err := s.Open(handle)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// openErr is the error of Open.
func openErr(s *Store, handle string) error {
	r, err := s.Open(handle)
	if err == nil {
		r.Close()
	}
	return err
}

// files lists what is in a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// startChild starts this binary as a process that writes into a store, waits
// for the first line that it prints, and returns it.
func startChild(t *testing.T, env ...string) (cmd *exec.Cmd, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(append(os.Environ(), "ARTIFACT_TEST_CHILD=1"), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	buf := make([]byte, 256)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(string(buf[:n]))
}

// child keeps one artifact, says its handle, and writes another one until it is
// killed.
func child() {
	s := &Store{Dir: os.Getenv("ARTIFACT_TEST_DIR"), Keep: os.Getenv("ARTIFACT_TEST_DIR") != ""}
	whole, err := s.Create("whole", "")
	if err != nil {
		panic(err)
	}
	io.WriteString(whole, "all of it\n")
	info, err := whole.Commit()
	if err != nil {
		panic(err)
	}
	part, err := s.Create("part", "")
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		if _, err := part.Write(make([]byte, 1000)); err != nil {
			panic(err)
		}
		if i == 10 {
			os.Stdout.WriteString(info.Handle + " " + part.info.Handle + " " + s.home.path + "\n")
		}
	}
}
