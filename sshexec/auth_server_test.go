// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// testAuth logs in to the server with its key file, and with nothing else.
func testAuth(s *sshdtest.Server) Auth {
	return Auth{Agent: "none", KeyFiles: []string{s.KeyFile}}
}

// testHostKeys trusts the server's first host key, and no other.
func testHostKeys(s *sshdtest.Server) HostKeys {
	return HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: knownLine("", s.Addr, s)}
}

// knownLine is the line of known_hosts for a server's key, with a marker.
func knownLine(marker, address string, s *sshdtest.Server) string {
	return strings.TrimSpace(marker+" "+knownhosts.Line([]string{address}, s.HostKey)) + "\n"
}

// login connects and authenticates as a Host does.
func login(ctx context.Context, address, user string, a Auth, k HostKeys) error {
	keys, err := k.check(address)
	if err != nil {
		return err
	}
	at, err := a.start(ctx, user)
	if err != nil {
		return err
	}
	defer at.close()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c, channels, requests, err := ssh.NewClientConn(conn, address, &ssh.ClientConfig{User: user, AuthCallback: at.next, HostKeyCallback: keys.callback, HostKeyAlgorithms: keys.algorithms})
	if err != nil {
		return keys.failure(at.failure(err))
	}
	ssh.NewClient(c, channels, requests).Close()
	return nil
}

// An authServer is a server in this process that lets people in or not. It
// notes what it is asked.
type authServer struct {
	addr string
	keys HostKeys // that trust it

	mu   sync.Mutex // guards seen
	seen []string   // "publickey SHA256:…", "password", …
}

// startAuthServer starts a server with the callbacks of config. It ends with
// the test.
func startAuthServer(t testing.TB, config *ssh.ServerConfig) *authServer {
	t.Helper()
	signer, _ := sshdtest.NewKey(t, "")
	config.AddHostKey(signer)
	s := &authServer{}
	config.AuthLogCallback = func(c ssh.ConnMetadata, method string, err error) {
		if method != "none" {
			s.note(method)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.keys = HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: knownhosts.Line([]string{s.addr}, signer.PublicKey())}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				conn, channels, requests, err := ssh.NewServerConn(c, config)
				if err != nil {
					return
				}
				go ssh.DiscardRequests(requests)
				for ch := range channels {
					ch.Reject(ssh.Prohibited, "")
				}
				conn.Wait()
			})
		}
	})
	return s
}

func (s *authServer) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, what)
}

// asked is what the server was asked, and forgets it.
func (s *authServer) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.seen = nil }()
	return strings.Join(s.seen, " ")
}

// onlyKey takes one public key.
func onlyKey(key ssh.PublicKey) func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
	return func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
		if key == nil || string(offered.Marshal()) != string(key.Marshal()) {
			return nil, errors.New("no")
		}
		return nil, nil
	}
}

// startAgent starts a real ssh-agent that holds the key files, and returns its
// socket.
func startAgent(t testing.TB, files ...string) string {
	t.Helper()
	program, add := openSSH(t, "ssh-agent"), openSSH(t, "ssh-add")
	dir, err := os.MkdirTemp("", "agent") // a socket's name has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	cmd := osexec.Command(program, "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("ssh-agent does not start")
		}
	}
	if len(files) > 0 {
		cmd := osexec.Command(add, append([]string{"-q"}, files...)...)
		cmd.Env = []string{"SSH_AUTH_SOCK=" + socket}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v, %s", err, out)
		}
	}
	return socket
}

// keygen runs ssh-keygen.
func keygen(t testing.TB, args ...string) {
	t.Helper()
	if out, err := osexec.Command(openSSH(t, "ssh-keygen"), args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen %q: %v, %s", args, err, out)
	}
}

// silentSocket is an agent's socket where nobody answers.
func silentSocket(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no sockets in files")
	}
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait(); os.RemoveAll(dir) })
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	})
	return socket
}

// loginError is the *AuthError of a login that has to fail.
func loginError(t testing.TB, s *authServer, a Auth) *AuthError {
	t.Helper()
	err := login(t.Context(), s.addr, "joe", a, s.keys)
	var refused *AuthError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want an AuthError", err)
	}
	return refused
}

// keyFiles writes n new keys and returns their files and signers.
func keyFiles(t testing.TB, n int) (files []string, signers []ssh.Signer) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		signer, private := sshdtest.NewKey(t, "")
		file := filepath.Join(dir, fmt.Sprint("key", i))
		writeFile(t, file, private)
		files, signers = append(files, file), append(signers, signer)
	}
	return files, signers
}
