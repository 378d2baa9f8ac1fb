// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weir

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weir-mcp/weir"

// sources calls fn for every file of the tree with one of the suffixes.
func sources(t *testing.T, fn func(path string, data []byte), suffixes ...string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fn(filepath.ToSlash(path), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLicenceHeader(t *testing.T) {
	header := []byte("// Copyright (c) The Weir Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n")
	sources(t, func(path string, data []byte) {
		if !bytes.HasPrefix(data, header) {
			t.Errorf("%s does not begin with the two-line header", path)
		}
	}, ".go")
}

// TestImports holds the direction of imports: what a package of the module
// may reach, itself aside, through any number of steps.
func TestImports(t *testing.T) {
	may := map[string][]string{
		"cursor":              {"internal/quote"},
		"internal/quote":      {},
		"internal/document":   {"internal/quote"},
		"internal/lint":       {"internal/document", "internal/quote"},
		"internal/toollist":   {"internal/document", "internal/quote"},
		"internal/schemadiff": {"internal/toollist", "internal/document", "internal/quote"},
		"internal/owner":      {},
		"internal/stdio":      {},
		"internal/logsink":    {},
		"internal/wire":       {"internal/quote"},
		"internal/host":       {"internal/wire", "internal/quote"},
		"internal/gate":       {"internal/host", "internal/lint", "internal/document", "internal/quote", "internal/wire"},
		"result":              {"internal/quote"},
		"result/artifact":     {"tool", "result", "cursor", "internal/quote", "internal/owner", "internal/document", "internal/lint"},
		"tool":                {"result", "cursor", "internal/quote", "internal/owner", "internal/document", "internal/lint"},
		"internal/capture":    {"result", "internal/quote"},
		"exec":                {"result", "internal/quote", "internal/owner", "internal/capture"},
		"sshexec":             {"exec", "result", "internal/quote", "internal/owner", "internal/capture"},
		"server":              {"tool", "result", "cursor", "internal/wire", "internal/quote", "internal/owner", "internal/stdio", "internal/logsink", "internal/document", "internal/lint"},
		// not cursor, which takes WEIR_CURSOR_KEY out of the environment that a server is to get
		"cmd/weir": {"internal/host", "internal/gate", "internal/lint", "internal/toollist", "internal/schemadiff", "internal/wire", "internal/document", "internal/quote"},
	}
	for pkg, allowed := range may {
		out, err := exec.Command("go", "list", "-deps", "./"+pkg).Output()
		if err != nil {
			t.Fatalf("go list -deps ./%s: %v", pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			rel, ours := strings.CutPrefix(dep, module+"/")
			if ours && rel != pkg && !slices.Contains(allowed, rel) {
				t.Errorf("%s must not depend on %s", pkg, rel)
			}
			if dep == "testing" || strings.HasPrefix(dep, "go.uber.org/goleak") {
				t.Errorf("%s must not depend on %s", pkg, dep)
			}
		}
	}
}

// TestCases holds that every case of the core's areas has a test that names
// it, as "case 17". The numbers are those of the field's cases that the
// project collects; the areas that a later part builds are not listed.
func TestCases(t *testing.T) {
	numbers := []string{
		"01", "02", "03", "04", "05", "07", "08", "09", "10", "11", "12", "13", "14", "15", // framing
		"17", "18", "19", "20", "22", // cancel
		"24", "25", "26", "27", "28", "29", "30", "32", "33", // result
		"52", "53", "54", "55", "56", "58", // exec
		"59", "60", "62", // ssh
		"35", "36", "37", "38", "39", "40", "41", "42", "43", "45", "47", "48", "49", "50", "51", // schema
		"63", "64", "65", "66", "67", "76", // lifecycle
		"68", "69", // concurrency
		"71", // cursor
	}
	seen := make(map[string]bool)
	name := regexp.MustCompile(`(?i)\bcases?[ _]\d\d(?:\b|_)(?:(?:, | and |, and )(?:case )?\d\d\b)*`)
	number := regexp.MustCompile(`\d\d`)
	branch := regexp.MustCompile(`^\s*case \d`) // of a switch
	sources(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata/") || path == "house_test.go" {
			return
		}
		for line := range strings.Lines(string(data)) {
			if branch.MatchString(line) {
				continue
			}
			for _, m := range name.FindAllString(line, -1) {
				for _, n := range number.FindAllString(m, -1) {
					seen[n] = true
				}
			}
		}
	}, ".go", ".txtar", ".txt")
	for _, n := range numbers {
		if !seen[n] {
			t.Errorf("no test names case %s", n)
		}
	}
}
