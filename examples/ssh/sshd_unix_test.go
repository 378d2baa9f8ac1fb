// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// An sshd is a real OpenSSH server on a loopback port, with keys and a
// configuration of its own.
type sshd struct {
	dir        string
	addr       string
	user       string
	keyFile    string // of the key that may log in
	knownHosts string
	logged     locked
}

// locked is a buffer that may be read while it is written.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// sshdPath is where the program is; it wants to be started by its full path.
func sshdPath(t testing.TB) string {
	t.Helper()
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/bin", "/sbin"} {
		if info, err := os.Stat(filepath.Join(dir, "sshd")); err == nil && !info.IsDir() {
			return filepath.Join(dir, "sshd")
		}
	}
	const why = "no sshd (Debian: openssh-server)"
	if os.Getenv("WEIR_SSHD") == "required" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// startSSHD starts a server that ends with the test. The lines come first in
// its configuration. With a passphrase the key file is encrypted.
func startSSHD(t testing.TB, lines, passphrase string) *sshd {
	t.Helper()
	program := sshdPath(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // where it puts unprivileged processes
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &sshd{dir: t.TempDir(), user: me.Username}
	file := func(name string, data []byte) string {
		name = filepath.Join(s.dir, name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	login, private := newKey(t, passphrase)
	s.keyFile = file("id_ed25519", private)
	hostKey, hostPrivate := newKey(t, "")
	authorized := file("authorized_keys", ssh.MarshalAuthorizedKey(login))
	config := fmt.Sprintf(`%s
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
LogLevel VERBOSE
PrintMotd no
UseDNS no
`, lines, file("host_key", hostPrivate), authorized)
	for try := 0; ; try++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.addr = l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(s.addr)
		name := file("sshd_config", fmt.Appendf(nil, "Port %s\nListenAddress 127.0.0.1\n%s", port, config))
		if s.start(t, program, name) {
			s.knownHosts = file("known_hosts", fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, ssh.MarshalAuthorizedKey(hostKey)))
			return s
		}
		if try == 3 {
			t.Fatalf("sshd does not start: %s", s.logged.String())
		}
	}
}

// start starts the program and reports whether it answers.
func (s *sshd) start(t testing.TB, program, config string) bool {
	cmd := osexec.Command(program, "-D", "-e", "-f", config)
	cmd.Stderr = &s.logged
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-exited })
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		select {
		case <-exited:
			return false
		default:
		}
		if c, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
			greeting := make([]byte, 4)
			c.SetReadDeadline(time.Now().Add(2 * time.Second))
			n, _ := c.Read(greeting)
			c.Close()
			if string(greeting[:n]) == "SSH-" {
				return true
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// newKey makes a key, and its private half as a key file holds it.
func newKey(t testing.TB, passphrase string) (ssh.PublicKey, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	} else {
		block, err = ssh.MarshalPrivateKey(private, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key, pem.EncodeToMemory(block)
}

// entry is the server as a host of a policy.
func (s *sshd) entry(name string) hosted {
	return hosted{"name": name, "address": s.addr, "user": s.user, "keyFiles": []string{s.keyFile}, "knownHosts": []string{s.knownHosts}, "agent": "none"}
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

// knownLine is a line of known_hosts that gives the server another key.
func knownLine(s *sshd, key ssh.PublicKey) []byte {
	host, port, _ := net.SplitHostPort(s.addr)
	return fmt.Appendf(nil, "[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key))
}
