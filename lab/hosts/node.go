// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// nodePackages are what the scripts in node/ need.
var nodePackages = map[string]string{
	"typescript": "@modelcontextprotocol/client",
	"inspector":  "@modelcontextprotocol/inspector",
}

// runNode runs one script of node/. It prints a JSON line a check: {"name": …, "error": … where it failed}.
// Where Node.js or a package is missing, it says so, and that is an error only if the host was asked for by name.
func runNode(ctx context.Context, c *checks, w *peers.Workshop, s servers, name string, asked bool) error {
	dir := filepath.Join(w.Lab, "hosts", "node")
	node, _, err := w.Node(ctx, 22, 19)
	if err == nil {
		_, err = peers.NodePackage(dir, nodePackages[name])
	}
	if err != nil {
		if asked {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(c.out, "skip  %s: %v\n", name, err)
		return nil
	}
	want, err := json.Marshal(s.matches)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 5*patience, fmt.Errorf("%s: not done in %v", name, 5*patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, node, name+".mjs", s.fixture, s.grep, s.tree, s.git, s.repo, strconv.Itoa(len(s.commits)))
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(string(want))
	cmd.WaitDelay = time.Second
	stderr := drive.NewTail()
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := false
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Name  string `json:"name"`
			Error string `json:"error"`
			Done  bool   `json:"done"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			c.result(name, fmt.Errorf("the script printed %q", lines.Text()))
			continue
		}
		switch {
		case l.Done:
			done = true
		case l.Error != "":
			c.result(l.Name, errors.New(l.Error))
		default:
			c.result(l.Name, nil)
		}
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil || !done {
		c.result(name, fmt.Errorf("the script did not finish (%v); stderr: %q", err, stderr.Last()))
	}
	return nil
}
