// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

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
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// An sshd is a real OpenSSH server on a loopback port, with keys and a
// configuration of its own.
type sshd struct {
	dir      string
	addr     string // host:port
	host     string
	port     int
	user     string // the only account that can log in
	hostKey  ssh.PublicKey
	keyFile  string // of the key that may log in
	signer   ssh.Signer
	cmd      *osexec.Cmd
	logged   lockedBuffer
	exited   chan struct{}
	sshdPath string
}

// sshdOptions are what a test needs to be different.
type sshdOptions struct {
	// Config are further lines of sshd_config. They come first, and the first
	// line for a keyword counts.
	Config string

	// KeyOptions stand before the key in authorized_keys.
	KeyOptions string

	// AuthorizedKeys are further lines of authorized_keys.
	AuthorizedKeys string

	// HostKeys are private keys, as PEM, to use instead of the one that is made.
	HostKeys [][]byte
}

// sshdPath is where the program is; sshd wants to be started by its full path.
func sshdPath() string {
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/bin", "/sbin"} {
		path := filepath.Join(dir, "sshd")
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// needSSHD skips the test where there is no OpenSSH server, unless there has to
// be one.
func needSSHD(t testing.TB) string {
	t.Helper()
	path := sshdPath()
	if path == "" || runtime.GOOS == "windows" {
		const why = "no sshd (Debian: openssh-server)"
		if os.Getenv("WEIR_SSHD") == "required" || os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return path
}

// startSSHD starts a server that ends with the test.
func startSSHD(t testing.TB, o sshdOptions) *sshd {
	t.Helper()
	path := needSSHD(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // where it puts unprivileged processes
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &sshd{dir: t.TempDir(), user: me.Username, host: "127.0.0.1", sshdPath: path}
	s.keyFile = filepath.Join(s.dir, "id_ed25519")
	var clientPEM []byte
	s.signer, clientPEM = newKey(t)
	writeFile(t, s.keyFile, clientPEM)
	keys := o.HostKeys
	if len(keys) == 0 {
		signer, private := newKey(t)
		s.hostKey = signer.PublicKey()
		keys = [][]byte{private}
	}
	var config bytes.Buffer
	config.WriteString(o.Config + "\n")
	for i, k := range keys {
		name := filepath.Join(s.dir, "host_key_"+strconv.Itoa(i))
		writeFile(t, name, k)
		fmt.Fprintf(&config, "HostKey %s\n", name)
		if s.hostKey == nil {
			signer, err := ssh.ParsePrivateKey(k)
			if err != nil {
				t.Fatal(err)
			}
			s.hostKey = signer.PublicKey()
		}
	}
	options := o.KeyOptions
	if options != "" {
		options += " "
	}
	writeFile(t, filepath.Join(s.dir, "authorized_keys"), []byte(options+string(ssh.MarshalAuthorizedKey(s.signer.PublicKey()))+o.AuthorizedKeys))
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
`, s.dir, s.dir)
	for try := 0; ; try++ {
		s.port = freePort(t)
		s.addr = net.JoinHostPort(s.host, strconv.Itoa(s.port))
		name := filepath.Join(s.dir, "sshd_config")
		writeFile(t, name, fmt.Appendf(nil, "Port %d\nListenAddress %s\n%s", s.port, s.host, config.Bytes()))
		if s.start(t, name) {
			return s
		}
		if try == 3 {
			t.Fatalf("sshd does not start: %s", s.log())
		}
	}
}

// start starts the program and reports whether it answers.
func (s *sshd) start(t testing.TB, config string) bool {
	// It ends with its input: also when this process is killed.
	s.cmd = osexec.Command("sh", "-c", `exec 3<&0; "$0" -D -e -f "$1" 3<&- & p=$!; { read -r x <&3; kill $p; } & wait $p; kill $!`, s.sshdPath, config)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = &s.logged
	s.cmd.WaitDelay = 5 * time.Second
	s.cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	cmd := s.cmd
	go func() { cmd.Wait(); close(exited) }()
	s.exited = exited
	t.Cleanup(func() { stdin.Close(); <-exited })
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		select {
		case <-exited:
			return false
		default:
		}
		if c, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
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

// log is what the server has written.
func (s *sshd) log() string { return s.logged.String() }

// freePort is a TCP port that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// newKey makes an Ed25519 key, and its private form as a key file holds it.
func newKey(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
