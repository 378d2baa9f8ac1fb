// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Ssh serves other machines to an MCP host over stdin and stdout, as far as a
// policy allows:
//
//	ssh -policy FILE [-check] [-destructive] [-allow-any-command]
//
// The policy is a JSON file. It says which hosts may be reached, which commands
// may be run there and which directories may be read, and nothing else is
// possible:
//
//	{
//	  "hosts": [
//	    {"name": "web1", "description": "front end"},
//	    {"name": "build", "address": "10.0.0.7", "user": "ci", "keyFiles": ["~/.ssh/ci"], "passphraseEnv": "CI_PASSPHRASE"}
//	  ],
//	  "commands": [
//	    {"argv": ["uptime"]},
//	    {"argv": ["systemctl", "status", "*"]},
//	    {"argv": ["systemctl", "restart", "app-?"], "hosts": ["web1"], "destructive": true}
//	  ],
//	  "paths": [{"path": "/var/log"}]
//	}
//
// A host with a name alone is what ~/.ssh/config says about that name. Host keys
// have to be known. In a command, "*" and "?" stand for text in one argument,
// which then neither begins with "-" nor has a part "..", and a last "..." for
// any number of such arguments. A command that is not marked as destructive is
// one that the policy's author knows to change nothing. One that is marked runs
// only with -destructive; with -allow-any-command anything runs.
//
// The tools are hosts, run, read_file, tail_log, and read_artifact for outputs
// that are too long for a result. Nothing of the credentials reaches the host:
// keys stay in their files and in the agent, and passphrases and passwords come
// from variables that are taken out of the environment at the start.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

const usage = `usage: ssh -policy FILE [-check] [-destructive] [-allow-any-command]

Serves other machines to an MCP host over stdin and stdout, as far as the policy
allows: which hosts, which commands, which directories. See docs/ssh.md for the
policy. -check reads it, prints what it allows, and ends.

`

func main() {
	log.SetFlags(0)
	log.SetPrefix("ssh: ")
	s, err := start(os.Args[1:], os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if s == nil {
		return
	}
	if err := s.serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A service is the server and what it needs.
type service struct {
	fleet *fleet
	store artifact.Store
	srv   *server.Server
}

// start reads the command line and the policy. It returns nil when there is
// nothing to serve.
func start(args []string, stdout io.Writer) (*service, error) {
	flags := flag.NewFlagSet("ssh", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	file := flags.String("policy", "", "the policy, a JSON `FILE`")
	check := flags.Bool("check", false, "check the policy, print what it allows, and end")
	var may permission
	flags.BoolVar(&may.destructive, "destructive", false, "run the commands too that the policy marks as destructive")
	flags.BoolVar(&may.any, "allow-any-command", false, "run any command on the hosts of the policy, shells included")
	flags.Parse(args)
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; the policy is given with -policy", flags.Arg(0))
	case *file == "":
		return nil, fmt.Errorf("-policy is missing: it names the file that says which hosts may be reached")
	}
	p, err := readPolicy(*file)
	if err != nil {
		return nil, err
	}
	f, err := newFleet(p, may)
	if err != nil {
		return nil, err
	}
	if *check {
		_, err := io.WriteString(stdout, f.describe())
		return nil, err
	}
	s := &service{fleet: f}
	tools, err := newTools(f, &s.store)
	if err != nil {
		return nil, err
	}
	s.srv = &server.Server{Name: "ssh", Version: "1.0.0", Tools: tools, Artifacts: &s.store}
	f.logTo(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	return s, nil
}

// serve serves until the host is gone.
func (s *service) serve(ctx context.Context) error {
	defer s.store.Close()
	defer s.fleet.close()
	return s.srv.ServeStdio(ctx)
}

// newTools are the tools that the policy leaves room for.
func newTools(f *fleet, store *artifact.Store) (*tool.Registry, error) {
	var tools tool.Registry
	f.addHosts(&tools)
	f.addRun(&tools, store)
	f.addFiles(&tools)
	return &tools, tools.Register(artifact.ReadTool(store))
}
