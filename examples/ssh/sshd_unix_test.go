// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// An sshd is a real OpenSSH server, with the known_hosts that a policy wants.
type sshd struct {
	*sshdtest.Server
	knownHosts string
}

// startSSHD starts a server that ends with the test. The lines come first in
// its configuration. With a passphrase the key file is encrypted.
func startSSHD(t testing.TB, lines, passphrase string) *sshd {
	t.Helper()
	s := &sshd{Server: sshdtest.Start(t, sshdtest.Options{Config: lines, Passphrase: passphrase})}
	s.knownHosts = filepath.Join(s.Dir, "known_hosts")
	if err := os.WriteFile(s.knownHosts, knownLine(s, s.HostKey), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// entry is the server as a host of a policy.
func (s *sshd) entry(name string) hosted {
	return hosted{"name": name, "address": s.Addr, "user": s.User, "keyFiles": []string{s.KeyFile}, "knownHosts": []string{s.knownHosts}, "agent": "none"}
}

// with is the entry with a further field.
func (h hosted) with(name string, value any) hosted {
	h[name] = value
	return h
}

// number makes words that no other process has.
var (
	numberMu sync.Mutex
	lastWord = 100000
)

// uniqueSeconds is how long no other process sleeps.
func uniqueSeconds() string {
	numberMu.Lock()
	defer numberMu.Unlock()
	lastWord++
	return strconv.Itoa(lastWord) + "." + strconv.Itoa(os.Getpid())
}

// knownLine is a line of known_hosts that gives the server a key.
func knownLine(s *sshd, key ssh.PublicKey) []byte {
	return fmt.Appendf(nil, "[%s]:%d %s", s.Host, s.Port, ssh.MarshalAuthorizedKey(key))
}
