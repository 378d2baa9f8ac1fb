// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sshdtest starts a real OpenSSH server for tests, on a loopback port,
// with keys and a configuration of its own.
package sshdtest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// A Server is a running sshd. Its fields must not be changed.
type Server struct {
	Dir     string // for its files, and those of the test
	Addr    string // host:port
	Host    string
	Port    int
	User    string // the only account that can log in
	HostKey ssh.PublicKey
	KeyFile string // of the key that may log in
	Signer  ssh.Signer

	program string
	logged  Buffer
}

// Options are what a test needs to be different. Zero fields are the usual.
type Options struct {
	// Config are further lines of sshd_config. They come first, and the first
	// line for a keyword counts.
	Config string

	// KeyOptions stand before the key in authorized_keys.
	KeyOptions string

	// AuthorizedKeys are further lines of authorized_keys.
	AuthorizedKeys string

	// HostKeys are private keys, as PEM, to use instead of the one that is made.
	HostKeys [][]byte

	// Passphrase encrypts KeyFile.
	Passphrase string
}

// find returns where the program is; sshd wants to be started by its full path.
func find() string {
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/bin", "/sbin"} {
		path := filepath.Join(dir, "sshd")
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// Need returns the path of sshd. It skips the test where there is none, unless
// there has to be one: with WEIR_SSHD=required or CI=true in the environment.
func Need(t testing.TB) string {
	t.Helper()
	path := find()
	if path == "" || runtime.GOOS == "windows" {
		const why = "no sshd (Debian: openssh-server)"
		if os.Getenv("WEIR_SSHD") == "required" || os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return path
}

// Start starts a server that ends with the test, and also when this process is
// killed.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	path := Need(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // where it puts unprivileged processes
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &Server{Dir: t.TempDir(), User: me.Username, Host: "127.0.0.1", program: path}
	s.KeyFile = filepath.Join(s.Dir, "id_ed25519")
	var clientPEM []byte
	s.Signer, clientPEM = NewKey(t, o.Passphrase)
	write(t, s.KeyFile, clientPEM)
	keys := o.HostKeys
	if len(keys) == 0 {
		signer, private := NewKey(t, "")
		s.HostKey = signer.PublicKey()
		keys = [][]byte{private}
	}
	var config bytes.Buffer
	config.WriteString(o.Config + "\n")
	for i, k := range keys {
		name := filepath.Join(s.Dir, "host_key_"+strconv.Itoa(i))
		write(t, name, k)
		fmt.Fprintf(&config, "HostKey %s\n", name)
		if s.HostKey == nil {
			signer, err := ssh.ParsePrivateKey(k)
			if err != nil {
				t.Fatal(err)
			}
			s.HostKey = signer.PublicKey()
		}
	}
	options := o.KeyOptions
	if options != "" {
		options += " "
	}
	write(t, filepath.Join(s.Dir, "authorized_keys"), []byte(options+string(ssh.MarshalAuthorizedKey(s.Signer.PublicKey()))+o.AuthorizedKeys))
	fmt.Fprintf(&config, `AuthorizedKeysFile %s/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
PermitUserEnvironment no
SetEnv HOME=%s
AcceptEnv LC_* WEIR_TEST_*
MaxSessions 10
MaxStartups 200
LogLevel VERBOSE
PrintMotd no
UseDNS no
`, s.Dir, s.Dir)
	for try := 0; ; try++ {
		s.Port = FreePort(t)
		s.Addr = net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
		name := filepath.Join(s.Dir, "sshd_config")
		write(t, name, fmt.Appendf(nil, "Port %d\nListenAddress %s\n%s", s.Port, s.Host, config.Bytes()))
		if s.start(t, name) {
			return s
		}
		if try == 3 {
			t.Fatalf("sshd does not start: %s", s.Log())
		}
	}
}

// start starts the program and reports whether it answers.
func (s *Server) start(t testing.TB, config string) bool {
	// It ends with its input: also when this process is killed.
	cmd := exec.Command("sh", "-c", `exec 3<&0; "$0" -D -e -f "$1" 3<&- & p=$!; { read -r x <&3; kill $p; } & wait $p; kill $!`, s.program, config)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &s.logged
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	t.Cleanup(func() { stdin.Close(); <-exited })
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		select {
		case <-exited:
			return false
		default:
		}
		if c, err := net.DialTimeout("tcp", s.Addr, time.Second); err == nil {
			buf := make([]byte, 4)
			c.SetReadDeadline(time.Now().Add(2 * time.Second))
			n, _ := c.Read(buf)
			c.Close()
			if string(buf[:n]) == "SSH-" {
				return true
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// Log is what the server has written.
func (s *Server) Log() string { return s.logged.String() }

// FreePort is a TCP port that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// NewKey makes an Ed25519 key, and its private form as a key file holds it,
// encrypted where there is a passphrase.
func NewKey(t testing.TB, passphrase string) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
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
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func write(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A Buffer is one that may be read while it is written.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
