// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// Nothing that a peer gets names the directory of the store, neither what is
// fine nor what fails because a file or the directory is gone.
func TestNoPathLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "quagga")
	s := &Store{Dir: dir}
	defer s.Close()
	var tools tool.Registry
	if err := tools.Register(ReadTool(s)); err != nil {
		t.Fatal(err)
	}
	handle := put(t, s, strings.Repeat("a line\n", 1000))
	said := func(what string, v any, err error) {
		t.Helper()
		text, jerr := json.Marshal(v)
		if jerr != nil {
			t.Fatal(jerr)
		}
		all := string(text)
		if err != nil {
			all += err.Error()
		}
		if strings.Contains(all, "quagga") || strings.Contains(all, filepath.Dir(dir)) {
			t.Errorf("%s: %s", what, all)
		}
	}
	ask := func(what string) (failed bool) {
		t.Helper()
		res, err := tools.Call(t.Context(), ToolName, map[string]any{"handle": handle})
		said(what+": read_artifact", res, err)
		r, err := s.Read(t.Context(), "artifact:"+handle, result.Budget{})
		said(what+": resources/read", r, err)
		list, lerr := s.Resources()
		said(what+": resources/list", list, lerr)
		return res.IsError && err != nil
	}
	if ask("fine") {
		t.Fatal("it cannot be read")
	}
	for _, name := range files(t, dir) {
		if strings.HasPrefix(name, handle) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !ask("without its file") {
		t.Error("it can be read without its file")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w, err := s.Create("x", "text/plain")
	said("create", nil, err)
	if err == nil {
		_, err = w.Write([]byte("x"))
		said("write", nil, err)
		_, err = w.Keep()
		said("keep", nil, err)
	}
	if err == nil {
		t.Error("an artifact is kept without a directory")
	}
	_, how, err := s.Put(t.Context(), "x", "", strings.NewReader("x"))
	said("put", how, err)
	if err == nil {
		t.Error("a text is kept without a directory")
	}
	blocked := filepath.Join(t.TempDir(), "quagga")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = (&Store{Dir: filepath.Join(blocked, "below")}).Create("x", "")
	if err == nil || strings.Contains(err.Error(), "quagga") {
		t.Errorf("a directory below a file: %v", err)
	}
}
