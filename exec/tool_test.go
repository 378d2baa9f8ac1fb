// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type line struct {
	Line string `json:"line" jsonschema:"description=what the shell runs"`
}

// TestTool holds that a tool may return an Output as it is, whatever is in it:
// the text is for reading, and the structured content fits its schema and the
// budget.
func TestTool(t *testing.T) {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "sh", Description: "runs a line"}, func(ctx context.Context, in line) (*exec.Output, error) {
		return exec.Run(ctx, exec.Shell(in.Line))
	})
	tool.AddFunc(&tools, tool.Info{Name: "missing", Description: "runs nothing"}, func(ctx context.Context, in line) (*exec.Output, error) {
		return exec.Run(ctx, exec.Cmd{Path: "no-such-program"})
	})
	for _, tt := range []struct {
		line      string
		text      string
		code      float64
		truncated bool
	}{
		{"echo hi", "hi", 0, false},
		{"echo bad >&2; exit 3", "[sh exited with status 3]\n[standard error]\nbad", 3, false},
		{"seq 1 100000; seq 1 100000 >&2", "", 0, true},
		{`head -c 1000000 /dev/zero | tr "\\0" "\\1"`, "", 0, true},
		{"head -c 4096 /dev/zero", "[4,096 bytes of binary output, not shown]", 0, false},
		{"kill -9 $$", "[sh was ended by SIGKILL]\n[no output]", -1, false},
	} {
		res, err := tools.Call(t.Context(), "sh", line{tt.line})
		if err != nil || res.IsError {
			t.Errorf("%s: %v, %v", tt.line, res.Content, err)
			continue
		}
		text := res.Content[0].(result.TextContent).Text
		if tt.text != "" && text != tt.text {
			t.Errorf("%s: %q", tt.line, text)
		}
		v := res.Structured.(jsontext.Value)
		var got struct {
			ExitCode       float64
			Stdout, Stderr struct {
				Head, Tail string
				Bytes      int64
				Truncated  bool
			}
		}
		if err := json.Unmarshal(v, &got, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if got.ExitCode != tt.code || got.Stdout.Truncated != tt.truncated || len(v) > result.DefaultBytes {
			t.Errorf("%s: %d bytes, %.300s", tt.line, len(v), v)
		}
		if tt.truncated && (len(v) < result.DefaultBytes*2/3 || !strings.Contains(text, "left out")) {
			t.Errorf("%s: %d bytes, and %.200q", tt.line, len(v), text)
		}
	}
	// Whatever a result of the default budget has no room for was kept.
	for _, size := range []string{"5000", "5120", "5500", "16000", "20000", "40000"} {
		cmd := exec.Shell("head -c " + size + ` /dev/zero | tr "\\0" "\\1"`)
		cmd.Sink = &keeper{}
		out := run(t, t.Context(), cmd)
		if text := out.Result(result.Budget{}).Content[0].(result.TextContent).Text; strings.Contains(text, "left out") != strings.Contains(text, "to see more, ask") {
			t.Errorf("%s bytes: %.200q", size, text)
		}
	}
	res, err := tools.Call(t.Context(), "missing", line{""})
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(result.TextContent).Text, "not found in PATH") {
		t.Errorf("%v, %v", res, err)
	}
}
