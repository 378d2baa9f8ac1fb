// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"errors"
	"fmt"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
)

// TestConfigReaches holds that a host of a file is reached, through two others
// that are real servers, as the ssh program reaches it with the same file, and
// that each of the three is checked by its own host key and logs in by its own
// key.
func TestConfigReaches(t *testing.T) {
	t.Parallel()
	program := openSSH(t, "ssh")
	servers := []*sshdtest.Server{sshdtest.Start(t, sshdtest.Options{}), sshdtest.Start(t, sshdtest.Options{}), sharedSSHD(t)}
	dir := t.TempDir()
	known := filepath.Join(dir, "known hosts")
	var lines, config strings.Builder
	config.WriteString("Host target\n  ProxyJump outer,inner\nHost lost\n  ProxyJump outer,inner\n  HostKeyAlias nobody\n")
	names := []string{"outer", "inner", "target"}
	for i, s := range servers {
		lines.WriteString(strings.Replace(knownLine("", s.Addr, s), "["+s.Host+"]:"+fmt.Sprint(s.Port), "key-of-"+names[i], 1))
		also := ""
		if names[i] == "target" {
			also = " lost"
		}
		fmt.Fprintf(&config, "Host %s%s\n  HostName %s\n  Port %d\n  User %s\n  IdentityFile \"%s\"\n  HostKeyAlias key-of-%s\n", names[i], also, s.Host, s.Port, s.User, s.KeyFile, names[i])
	}
	fmt.Fprintf(&config, "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile \"%s\"\n  GlobalKnownHostsFile none\n  BatchMode yes\n  ConnectTimeout 30\n", known)
	writeFile(t, known, []byte(lines.String()))
	file := filepath.Join(dir, "config")
	writeFile(t, file, []byte(config.String()))

	out, err := osexec.Command(program, "-F", file, "target", "echo $SSH_CONNECTION").Output()
	if err != nil {
		t.Fatalf("ssh: %v, %s", err, out)
	}
	c := &Config{Files: []string{file}}
	h, err := c.Host("target")
	if err != nil {
		t.Fatal(err)
	}
	for at := h; at != nil; at = at.Via {
		defer at.Close()
	}
	ours, err := h.Run(t.Context(), exec.Cmd{Path: "sh", Args: []string{"-c", "echo $SSH_CONNECTION"}})
	if err != nil {
		t.Fatal(err)
	}
	from := func(s string) string { // without the port of the client
		f := strings.Fields(s)
		if len(f) != 4 {
			t.Fatalf("%q is not a connection", s)
		}
		return f[0] + " " + f[2] + " " + f[3]
	}
	if got, want := from(ours.Stdout.Text()), from(string(out)); got != want {
		t.Errorf("it came to %s, and ssh to %s", got, want)
	}
	for i, s := range servers[:2] {
		if n := strings.Count(s.Log(), "Accepted publickey"); n != 2 {
			t.Errorf("%s let in %d times, want once for each", names[i], n)
		}
	}

	lost, err := c.Host("lost")
	if err != nil {
		t.Fatal(err)
	}
	defer lost.Close()
	_, err = lost.Run(t.Context(), exec.Cmd{Path: "true"})
	var unknown *UnknownHostError
	var at *Error
	if !errors.As(err, &unknown) || unknown.Name != "nobody" || !errors.As(err, &at) || at.Stage != StageHandshake || at.Host != "lost" {
		t.Errorf("a key that is not known behind two hosts: %v", err)
	}
	if n := strings.Count(servers[0].Log(), "Accepted publickey"); n != 2 {
		t.Errorf("the first host let in %d times; its connection is not shared", n)
	}
}

// TestStages holds that the errors of host keys and of authentication come with
// their stage.
func TestStages(t *testing.T) {
	s := sharedSSHD(t)
	h := testHost(t, s)
	defer h.Close()
	h.Auth = Auth{Agent: "none", KeyFiles: []string{}}
	_, err := h.Run(t.Context(), exec.Cmd{Path: "true"})
	var at *Error
	var refused *AuthError
	if !errors.As(err, &at) || at.Stage != StageAuthentication || !errors.As(err, &refused) || refused.User != s.User {
		t.Errorf("%v", err)
	}
	if strings.Count(err.Error(), "sshexec") != 1 {
		t.Errorf("the error says over and over who it is from: %v", err)
	}
	h = testHost(t, s)
	defer h.Close()
	h.HostKeys.Known = ""
	_, err = h.Run(t.Context(), exec.Cmd{Path: "true"})
	var unknown *UnknownHostError
	if !errors.As(err, &at) || at.Stage != StageHandshake || !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}
