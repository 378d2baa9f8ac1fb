// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// TestMain is also the server itself, when a test starts it as a child. Then it
// tells on stderr what its calls own, whenever that changes.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_SSH") == "" {
		goleak.VerifyTestMain(m)
		return
	}
	log.SetFlags(0)
	log.SetPrefix("ssh: ")
	s, err := start(os.Args[1:], os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if s == nil {
		return
	}
	go func() {
		last := ""
		for range time.Tick(5 * time.Millisecond) {
			now := "calls:"
			for _, c := range s.srv.Calls() {
				now += fmt.Sprintf(" [%s %s %s]", c.Tool, c.State, c.Owns)
			}
			if now += " end\n"; now != last {
				os.Stderr.WriteString(now)
				last = now
			}
		}
	}()
	if err := s.serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

type args map[string]any

// hosted is a host of a policy.
type hosted map[string]any

// policyFile writes a policy.
func policyFile(t testing.TB, policy args) string {
	t.Helper()
	data, err := json.Marshal(policy)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// startServer starts the whole server as a child process.
func startServer(t testing.TB, conf servertest.Config, policy args, env []string, flags ...string) *servertest.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"-policy", policyFile(t, policy)}, flags...)...)
	cmd.Env = append(append(os.Environ(), "WEIR_TEST_SSH=1"), env...)
	return conf.StartCmd(t, cmd)
}

// serve returns the tools of a policy, in this process.
func serve(t testing.TB, policy args, may permission) *tool.Registry {
	t.Helper()
	p, err := readPolicy(policyFile(t, policy))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFleet(p, may)
	if err != nil {
		t.Fatal(err)
	}
	store := &artifact.Store{}
	t.Cleanup(func() {
		f.close()
		store.Close()
	})
	tools, err := newTools(f, store)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestLint holds that no host is known to reject the tools.
func TestLint(t *testing.T) {
	tools := serve(t, args{
		"hosts":    []hosted{{"name": "a", "address": "192.0.2.1", "agent": "none"}},
		"commands": []args{{"argv": []string{"uptime"}}},
		"paths":    []args{{"path": "/var/log"}},
	}, permission{any: true})
	for _, f := range tools.Lint() {
		t.Errorf("%+v", f)
	}
}
