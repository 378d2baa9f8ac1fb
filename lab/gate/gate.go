// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate runs Weir's release gate on servers that others wrote, and keeps what it found. A finding that is not true there is a fault
// of the gate, so that each new one has to be looked at by a person: findings.md holds those that were.
package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/peers"
)

// Options says which servers to run the gate on.
type Options struct {
	Only  []string  // names; none means all, those on Node.js only where it is installed
	Write bool      // rewrite findings.md instead of comparing with it; only with all servers
	Out   io.Writer // what was found; nil means discard it
}

// Names lists the servers.
func Names() (names []string) {
	for _, s := range servers {
		names = append(names, s.name)
	}
	return names
}

// ErrNew is returned when the gate found a fault that findings.md does not have.
var ErrNew = errors.New("a fault that is not among the kept findings: look whether it is true, then keep it with -write")

// patience bounds the gate's run on one server. It is a fail-safe and measures nothing.
const patience = 4 * time.Minute

// server is one server to run the gate on.
type server struct {
	name    string
	prepare func(ctx context.Context, w *peers.Workshop, s *server) error
	flags   []string // of the gate: the tools

	title   string // with its version
	command []string
}

// peerTools are the tools of the lab's own servers.
var peerTools = []string{"-call", "echo", `{"text":"汉字"}`, "-slow", "slow", `{"ms":3000}`, "-big", "big", `{"bytes":1000}`}

var servers = []*server{
	{name: "go-sdk", prepare: peer, flags: peerTools},
	{name: "mcp-go", prepare: peer, flags: peerTools},
	{name: "typescript", prepare: peer, flags: peerTools},
	{name: "everything", prepare: npm, flags: []string{
		"-call", "echo", `{"message":"汉字"}`, "-slow", "trigger-long-running-operation", `{"duration":3,"steps":6}`, "-big", "echo", `{"message":"x"}`}},
	{name: "filesystem", prepare: npm, flags: []string{
		"-call", "read_text_file", `{"path":"FILES/small.txt"}`, "-big", "read_text_file", `{"path":"FILES/large.txt","head":10}`}},
}

// peer prepares a server of the comparison.
func peer(ctx context.Context, w *peers.Workshop, s *server) error {
	for _, p := range peers.All() {
		if p.Name != s.name {
			continue
		}
		if err := p.Prepare(ctx, w); err != nil {
			return err
		}
		c := p.Command(peers.Flags{}, 0)
		s.title = p.Title + " " + p.Version
		s.command = append([]string{c.Path}, c.Args...)
		return nil
	}
	return fmt.Errorf("no server %q", s.name)
}

// npm prepares a server of the packages in servers/.
func npm(ctx context.Context, w *peers.Workshop, s *server) error {
	dir := filepath.Join(w.Lab, "gate", "servers")
	name := "@modelcontextprotocol/server-" + s.name
	version, err := peers.NodePackage(dir, name)
	if err != nil {
		return err
	}
	node, nodeVersion, err := w.Node(ctx, 20, 0)
	if err != nil {
		return err
	}
	s.title = name + " " + version + " on Node.js " + nodeVersion
	s.command = []string{node, filepath.Join(dir, "node_modules", filepath.FromSlash(name), "dist", "index.js")}
	if s.name == "everything" {
		s.command = append(s.command, "stdio")
		return nil
	}
	files := filepath.Join(w.Bin, "files")
	if err := plant(files); err != nil {
		return err
	}
	s.command = append(s.command, files)
	s.flags = slices.Clone(s.flags)
	for i, f := range s.flags {
		s.flags[i] = strings.ReplaceAll(f, "FILES", filepath.ToSlash(files))
	}
	return nil
}

// plant writes what the file server serves: 12 MB of lines, more than any limit that is tried.
func plant(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var large bytes.Buffer
	for i := 0; large.Len() < 12_345_678; i++ {
		fmt.Fprintf(&large, "line %d of a file with 汉字 in it\n", i)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "small.txt"), []byte("汉字\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "large.txt"), large.Bytes(), 0o644))
}

// report is what "weir gate -json" prints, as far as it is kept.
type report struct {
	Server  string   `json:"server"`
	Eras    []string `json:"eras"`
	Results []result `json:"results"`
}

type result struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Found   []struct {
		Verdict string `json:"verdict"`
		Text    string `json:"text"`
	} `json:"found"`
	Seen  []string `json:"seen"`
	Needs string   `json:"needs"`
}

// Run runs the gate on the servers, one after the other, and prints what it found. Unless it writes them, it compares the faults with
// the kept findings.
func Run(ctx context.Context, o Options) error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	for _, n := range o.Only {
		if !slices.Contains(Names(), n) {
			return fmt.Errorf("no server %q; there are %s", n, strings.Join(Names(), ", "))
		}
	}
	if o.Write && len(o.Only) > 0 {
		return errors.New("-write keeps the findings of all servers: leave -only out")
	}
	w, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	weir, err := w.Build(ctx, w.Root, "./cmd/weir")
	if err != nil {
		return err
	}
	file := filepath.Join(w.Lab, "gate", "findings.md")
	kept, err := os.ReadFile(file)
	if err != nil && !o.Write {
		return err
	}
	var all strings.Builder
	all.WriteString(head)
	var unknown []string
	for _, s := range servers {
		if len(o.Only) > 0 && !slices.Contains(o.Only, s.name) {
			continue
		}
		if err := s.prepare(ctx, w, s); err != nil {
			if len(o.Only) > 0 || o.Write {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(o.Out, "skip  %s: %v\n\n", s.name, err)
			continue
		}
		r, err := s.gate(ctx, weir)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		text := s.summary(r, w.Bin)
		all.WriteString(text)
		io.WriteString(o.Out, text)
		for _, name := range news(r, keptFaults(string(kept), s.name)) {
			unknown = append(unknown, s.name+": "+name)
		}
	}
	if o.Write {
		return os.WriteFile(file, []byte(all.String()), 0o644)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: %s", ErrNew, strings.Join(unknown, ", "))
	}
	return nil
}

// gate runs the gate on s.
func (s *server) gate(ctx context.Context, weir string) (*report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not done in %v", patience))
	defer cancel()
	args := append(append([]string{"gate", "-json"}, s.flags...), "--")
	cmd := exec.CommandContext(ctx, weir, append(args, s.command...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it leaves no process then
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1): // 1 is a fault of the server
		return nil, fmt.Errorf("weir gate: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	r := new(report)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("weir gate -json: %w", err)
	}
	return r, nil
}

const head = `# What the release gate finds on other people's servers

Kept by ` + "`cd lab && go run . gate -write`" + `; each fault was read through before it was kept. A pass is not listed. Times and sizes are those of one run.
What the verdicts mean, and why each check is there: [docs/gate.md](../../docs/gate.md).
`

// summary is a section of findings.md. Folders that a run has made for itself are left out.
func (s *server) summary(r *report, bin string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s; %s.", s.name, s.title, strings.Join(r.Eras, " and "))
	counts := map[string]int{}
	for _, res := range r.Results {
		counts[res.Verdict]++
	}
	fmt.Fprintf(&b, " %d passed, %d faults, %d warnings, %d not tried.\n\n| check | verdict | found |\n| --- | --- | --- |\n",
		counts["pass"], counts["fault"], counts["warning"], counts["not tried"])
	clean := strings.NewReplacer(bin, "…", filepath.ToSlash(bin), "…", "|", "\\|", "<", "&lt;", "\n", " ")
	for _, res := range r.Results {
		switch res.Verdict {
		case "pass":
		case "not tried":
			fmt.Fprintf(&b, "| %s | not tried | %s |\n", res.Name, clean.Replace(res.Needs))
		default:
			for _, f := range res.Found {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", res.Name, f.Verdict, clean.Replace(f.Text))
			}
		}
	}
	return b.String()
}

// keptFaults are the checks that came to a fault in the section of a server.
func keptFaults(findings, server string) (names []string) {
	_, section, _ := strings.Cut(findings, "\n## "+server+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if f := strings.SplitN(line, "|", 4); len(f) == 4 && strings.TrimSpace(f[2]) == "fault" {
			names = append(names, strings.TrimSpace(f[1]))
		}
	}
	return names
}

// news are the checks that came to a fault and are not among known.
func news(r *report, known []string) (names []string) {
	for _, res := range r.Results {
		if res.Verdict == "fault" && !slices.Contains(known, res.Name) {
			names = append(names, res.Name)
		}
	}
	return names
}
