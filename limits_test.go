// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weir

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/cursor"
	childexec "github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server"
)

// TestLimitsTable holds that docs/limits.md lists every field of
// server.Limits with its default, and the fixed limits with their values.
func TestLimitsTable(t *testing.T) {
	data, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]any{
		"MaxFrameIn":      server.DefaultMaxFrameIn,
		"MaxFrameOut":     server.DefaultMaxFrameOut,
		"Budget.Bytes":    result.DefaultBytes,
		"Budget.Items":    result.DefaultItems,
		"Budget.Media":    result.DefaultMedia,
		"MaxCalls":        server.DefaultMaxCalls,
		"MaxQueue":        server.DefaultMaxQueue,
		"MaxQueueBytes":   server.DefaultMaxQueueBytes,
		"ControlMemory":   server.DefaultControlMemory,
		"MaxResultMemory": server.DefaultMaxResultMemory,
		"MaxListPage":     server.DefaultMaxListPage,
		"CallTimeout":     server.DefaultCallTimeout,
		"Grace":           server.DefaultGrace,
		"StallWarning":    server.DefaultStallWarning,
		"cursor age":      cursor.DefaultMaxAge,
		"cursor length":   cursor.MaxLen,

		"least Budget.Bytes": result.MinBytes,

		"exec.Cmd.Stdout":         childexec.DefaultStdout,
		"exec.Cmd.Stderr":         childexec.DefaultStderr,
		"exec.Cmd.Grace":          childexec.DefaultGrace,
		"artifact.Store.MaxBytes": artifact.DefaultMaxBytes,
		"artifact.Store.MaxTotal": artifact.DefaultMaxTotal,
		"artifact.Store.MaxCount": artifact.DefaultMaxCount,
		"artifact.Store.MaxAge":   artifact.DefaultMaxAge,
	}
	rows := make(map[string][]string)
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) == 4 {
			rows[strings.TrimSpace(strings.ReplaceAll(cells[0], "`", ""))] = cells
		}
	}
	if len(rows) == 0 {
		t.Fatal("docs/limits.md has no table")
	}
	limits := fields(reflect.TypeFor[server.Limits](), "")
	for f := range reflect.TypeFor[artifact.Store]().Fields() {
		if strings.HasPrefix(f.Name, "Max") {
			limits = append(limits, "artifact.Store."+f.Name)
		}
	}
	for _, name := range limits {
		if _, ok := defaults[name]; !ok {
			t.Errorf("this test knows no default of %s", name)
		}
	}
	fixed := regexp.MustCompile("^fixed \\(`([^`]+\\.go)` `(\\w+)`\\)$")
	for name, want := range defaults {
		switch cells, ok := rows[name]; {
		case !ok:
			t.Errorf("docs/limits.md has no row for %s", name)
		case !strings.HasPrefix(cells[1]+" ", human(want)+" "):
			t.Errorf("docs/limits.md says that %s is %s by default; it is %s", name, cells[1], human(want))
		}
	}
	for name, cells := range rows {
		if _, ok := defaults[name]; ok || name == "limit" || strings.HasPrefix(name, "---") {
			continue
		}
		m := fixed.FindStringSubmatch(strings.TrimSpace(cells[3]))
		if m == nil {
			t.Errorf("docs/limits.md: %s is neither a field with a default nor a fixed value that names its constant", name)
			continue
		}
		v, err := constantOf(m[1], m[2])
		if err != nil {
			t.Errorf("docs/limits.md, %s: %v", name, err)
		} else if human(v) != cells[1] {
			t.Errorf("docs/limits.md says that %s is %s; %s is %s", name, cells[1], m[2], human(v))
		}
	}

	const sum = server.DefaultMaxFrameIn + server.DefaultMaxQueueBytes + server.DefaultControlMemory + server.DefaultMaxResultMemory
	if want := "`MaxFrameIn + MaxQueueBytes + ControlMemory + MaxResultMemory` | " + human(sum) + " |"; !strings.Contains(string(data), want) {
		t.Errorf("docs/limits.md does not say that the memory adds up to %s", human(sum))
	}
}

// fields lists the fields of a struct of limits, those of structs in it too.
func fields(typ reflect.Type, prefix string) (names []string) {
	for f := range typ.Fields() {
		if f.Type.Kind() == reflect.Struct {
			names = append(names, fields(f.Type, f.Name+".")...)
		} else {
			names = append(names, prefix+f.Name)
		}
	}
	return names
}

// human writes a limit as the document does.
func human(v any) string {
	n, ok := v.(int)
	switch {
	case !ok:
		return v.(time.Duration).String()
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0 && n != 4096: // 4,096 is a count
		return fmt.Sprintf("%d KiB", n>>10)
	case n >= 1000:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return strconv.Itoa(n)
}

// constantOf is the value of an untyped integer constant of a file.
func constantOf(file, name string) (int, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	value := ast.Expr(nil)
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok {
			for i, id := range s.Names {
				if id.Name == name && i < len(s.Values) {
					value = s.Values[i]
				}
			}
		}
		return true
	})
	if value == nil {
		return 0, fmt.Errorf("%s has no constant %s", file, name)
	}
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(value))
	if err != nil || tv.Value == nil {
		return 0, fmt.Errorf("%s: the value of %s is not a constant", file, name)
	}
	n, _ := constant.Int64Val(constant.ToInt(tv.Value))
	return int(n), nil
}
