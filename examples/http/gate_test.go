// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestGate holds this server against the release gate, with calls that are
// quick, slow and large. It takes some twenty seconds, and is asked for by
// WEIR_TEST_GATE=1.
func TestGate(t *testing.T) {
	if os.Getenv("WEIR_TEST_GATE") == "" {
		t.Skip("WEIR_TEST_GATE is not set")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "../../cmd/weir", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch r.URL.Path {
		case "/slow": // a byte now and then, for ever
			for {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(50 * time.Millisecond):
					io.WriteString(w, "x")
					http.NewResponseController(w).Flush()
				}
			}
		case "/big":
			n, _ := strconv.Atoi(r.URL.Query().Get("bytes"))
			io.WriteString(w, strings.Repeat("水位 \"level\"\n", max(n, 1_000_000)/16))
		default:
			io.WriteString(w, "hello")
		}
	})
	arg := func(path string) string { return fmt.Sprintf(`{"url":%q}`, at+path) }
	gate := exec.Command(filepath.Join(dir, "weir"), "gate", "-call", "fetch", arg("/"), "-slow", "fetch", arg("/slow"), "-big", "fetch", arg("/big"),
		"--", filepath.Join(dir, "http"), "-allow", "127.0.0.1", "-no-store")
	out, err := gate.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
