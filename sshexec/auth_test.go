// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// TestAuthKeyFiles holds that a real server is logged in to with each kind of
// key file that ssh-keygen writes, encrypted or not.
func TestAuthKeyFiles(t *testing.T) {
	const passphrase = "correct horse"
	dir := t.TempDir()
	type row struct {
		name      string
		args      []string
		encrypted bool
		noPublic  bool // without the .pub beside it
	}
	rows := []row{
		{name: "ed25519", args: []string{"-t", "ed25519"}},
		{name: "ed25519 encrypted", args: []string{"-t", "ed25519", "-a", "2"}, encrypted: true},
		{name: "ed25519 encrypted, no public half", args: []string{"-t", "ed25519", "-a", "2"}, encrypted: true, noPublic: true},
		{name: "ecdsa", args: []string{"-t", "ecdsa", "-b", "384"}},
		{name: "ecdsa PEM", args: []string{"-t", "ecdsa", "-m", "PEM"}},
		{name: "ecdsa PKCS8", args: []string{"-t", "ecdsa", "-m", "PKCS8"}, noPublic: true},
		{name: "rsa", args: []string{"-t", "rsa", "-b", "1024"}},
		{name: "rsa PEM", args: []string{"-t", "rsa", "-b", "1024", "-m", "PEM"}, noPublic: true},
		{name: "rsa PEM encrypted", args: []string{"-t", "rsa", "-b", "1024", "-m", "PEM"}, encrypted: true},
		{name: "rsa PEM encrypted, no public half", args: []string{"-t", "rsa", "-b", "1024", "-m", "PEM"}, encrypted: true, noPublic: true},
	}
	var authorized strings.Builder
	file := func(r row) string { return filepath.Join(dir, strings.NewReplacer(" ", "_", ",", "").Replace(r.name)) }
	for _, r := range rows {
		secret := ""
		if r.encrypted {
			secret = passphrase
		}
		keygen(t, append([]string{"-q", "-f", file(r), "-N", secret}, r.args...)...)
		public, err := os.ReadFile(file(r) + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		authorized.Write(public)
		if r.noPublic {
			os.Remove(file(r) + ".pub")
		}
	}
	s := sshdtest.Start(t, sshdtest.Options{AuthorizedKeys: authorized.String()})
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			a := Auth{Agent: "none", KeyFiles: []string{file(r)}, Passphrase: func(_ context.Context, name string) (string, error) {
				asked++
				if name != file(r) {
					t.Errorf("asked for %s", name)
				}
				return passphrase, nil
			}}
			if err := login(t.Context(), s.Addr, s.User, a, testHostKeys(s)); err != nil {
				t.Error(err)
			}
			if want := map[bool]int{true: 1}[r.encrypted]; asked != want {
				t.Errorf("asked %d times for the passphrase, want %d", asked, want)
			}
		})
	}
}

// TestAuthCertificates holds that a certificate lets in where the key alone does
// not, whether it stands beside the key, is named, or the agent has the key.
func TestAuthCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	keygen(t, "-q", "-t", "ed25519", "-f", name("ca"), "-N", "")
	for _, kind := range []string{"ed25519", "rsa"} {
		keygen(t, "-q", "-t", kind, "-b", "1024", "-f", name(kind), "-N", "")
	}
	s := sshdtest.Start(t, sshdtest.Options{Config: "TrustedUserCAKeys " + name("ca.pub")})
	keygen(t, "-q", "-s", name("ca"), "-I", "test", "-n", s.User, name("ed25519.pub"), name("rsa.pub"))
	elsewhere := name("elsewhere")
	data, err := os.ReadFile(name("ed25519-cert.pub"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, elsewhere, data)
	keygen(t, "-q", "-s", name("ca"), "-I", "test", "-n", s.User, "-V", "20200101:20210101", name("ca.pub"))
	bare := name("bare")
	key, err := os.ReadFile(name("ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, bare, key)
	agent := startAgent(t, bare)
	for _, test := range []struct {
		name string
		auth Auth
		text string // of the error; empty when it is let in
	}{
		{"beside the key", Auth{Agent: "none", KeyFiles: []string{name("ed25519")}}, ""},
		{"beside an RSA key", Auth{Agent: "none", KeyFiles: []string{name("rsa")}}, ""},
		{"the key alone", Auth{Agent: "none", KeyFiles: []string{bare}}, "(refused)"},
		{"named", Auth{Agent: "none", KeyFiles: []string{bare}, CertFiles: []string{elsewhere}}, ""},
		{"named, the agent has the key", Auth{Agent: agent, KeyFiles: []string{}, CertFiles: []string{elsewhere}, IdentitiesOnly: true}, ""},
		{"expired", Auth{Agent: "none", KeyFiles: []string{name("ca")}}, ", expired)"},
		{"of another key", Auth{Agent: "none", KeyFiles: []string{name("rsa")}, CertFiles: []string{elsewhere}, Methods: []string{"publickey"}, Algorithms: []string{"ssh-ed25519"}}, "not allowed here"},
		{"not a certificate", Auth{Agent: "none", KeyFiles: []string{bare}, CertFiles: []string{bare}}, "it is not a certificate of a user"},
		{"not there", Auth{Agent: "none", KeyFiles: []string{bare}, CertFiles: []string{name("none")}}, "no such file"},
	} {
		err := login(t.Context(), s.Addr, s.User, test.auth, testHostKeys(s))
		if test.text == "" && err != nil || test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.text)
		}
	}
}

// TestAuthAgent holds how an agent's keys are used: a server that counts what it
// is offered is not tried in vain.
func TestAuthAgent(t *testing.T) {
	files, _ := keyFiles(t, 10)
	s := sshdtest.Start(t, sshdtest.Options{})
	crowd := startAgent(t, files...)
	own := startAgent(t, s.KeyFile)
	dir := t.TempDir()
	public := filepath.Join(dir, "id")
	writeFile(t, public+".pub", ssh.MarshalAuthorizedKey(s.Signer.PublicKey()))
	sealed := filepath.Join(dir, "sealed")
	data, err := os.ReadFile(s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, sealed, data)
	keygen(t, "-q", "-p", "-f", sealed, "-N", "secret", "-a", "2")
	for _, test := range []struct {
		name string
		auth Auth
		text string
	}{
		{"the key", Auth{Agent: own, KeyFiles: []string{}}, ""},
		{"by its public half", Auth{Agent: own, KeyFiles: []string{public}, IdentitiesOnly: true}, ""},
		{"by its public half as the file", Auth{Agent: own, KeyFiles: []string{public + ".pub"}, IdentitiesOnly: true}, ""},
		{"by an encrypted file", Auth{Agent: own, KeyFiles: []string{sealed}, IdentitiesOnly: true}, ""},
		{"not named", Auth{Agent: own, KeyFiles: []string{}, IdentitiesOnly: true}, "there was nothing to try"},
		{"another is named", Auth{Agent: own, KeyFiles: files[:1], IdentitiesOnly: true}, "(refused)"},
		{"public half only", Auth{Agent: "none", KeyFiles: []string{public}}, "no such file"},
		{"public half as the file", Auth{Agent: "none", KeyFiles: []string{public + ".pub"}}, "the agent does not have its private half"},
		{"many others and the right file", Auth{Agent: crowd, KeyFiles: []string{s.KeyFile}}, ""},
		{"many others, only the file", Auth{Agent: crowd, KeyFiles: []string{s.KeyFile}, IdentitiesOnly: true}, ""},
		{"many others", Auth{Agent: crowd, KeyFiles: []string{}}, "4 more keys were not offered"},
		{"more than the server bears", Auth{Agent: crowd, KeyFiles: []string{}, MaxTries: 20}, "Too many authentication failures"},
		{"none there", Auth{Agent: filepath.Join(dir, "nobody"), KeyFiles: []string{}}, "cannot be reached"},
		{"none there, a file", Auth{Agent: filepath.Join(dir, "nobody"), KeyFiles: []string{s.KeyFile}}, ""},
	} {
		err := login(t.Context(), s.Addr, s.User, test.auth, testHostKeys(s))
		if test.text == "" && err != nil || test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.text)
		}
		if err != nil && strings.Contains(err.Error(), dir+"/nobody") {
			t.Errorf("%s: the error names the socket: %v", test.name, err)
		}
	}
	t.Setenv("SSH_AUTH_SOCK", own)
	t.Setenv("WEIR_TEST_AGENT", own)
	for _, a := range []string{"", "SSH_AUTH_SOCK", "$WEIR_TEST_AGENT"} {
		if err := login(t.Context(), s.Addr, s.User, Auth{Agent: a, KeyFiles: []string{}}, testHostKeys(s)); err != nil {
			t.Errorf("agent %q: %v", a, err)
		}
	}
	for _, a := range []string{"none", "NONE", "$WEIR_TEST_NOTHING"} {
		if err := login(t.Context(), s.Addr, s.User, Auth{Agent: a, KeyFiles: []string{}}, testHostKeys(s)); err == nil {
			t.Errorf("agent %q lets in", a)
		}
	}
}

// TestAuthDefaultFiles holds that the zero Auth uses what is in ~/.ssh, and says
// nothing of what is not.
func TestAuthDefaultFiles(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	home := t.TempDir()
	defer func(old func() (string, error)) { homeDir = old }(homeDir)
	homeDir = func() (string, error) { return home, nil }
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	signer, private := sshdtest.NewKey(t, "")
	s := startAuthServer(t, &ssh.ServerConfig{PublicKeyCallback: onlyKey(signer.PublicKey())})
	if err := loginError(t, s, Auth{}); len(err.Tries) != 0 || !strings.Contains(err.Error(), "there was nothing to try") || !strings.Contains(err.Error(), "It takes publickey") {
		t.Errorf("without files: %v", err)
	}
	writeFile(t, filepath.Join(home, ".ssh", "id_ed25519"), private)
	if err := login(t.Context(), s.addr, "joe", Auth{}, s.keys); err != nil {
		t.Error(err)
	}
	if err := loginError(t, s, Auth{KeyFiles: []string{}}); len(err.Tries) != 0 {
		t.Errorf("an empty list: %v", err)
	}
}

// TestKeyFileErrors holds that a key that cannot be used is named, with the
// reason, and is no obstacle for the next one.
func TestKeyFileErrors(t *testing.T) {
	signer, private := sshdtest.NewKey(t, "")
	second, goodPrivate := sshdtest.NewKey(t, "")
	s := startAuthServer(t, &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if p, err := onlyKey(second.PublicKey())(c, key); err == nil {
			return p, nil
		}
		return onlyKey(signer.PublicKey())(c, key)
	}})
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	writeFile(t, good, goodPrivate)
	sealed := filepath.Join(dir, "sealed")
	writeFile(t, sealed, private)
	keygen(t, "-q", "-p", "-f", sealed, "-N", "secret", "-a", "2")
	open := filepath.Join(dir, "open")
	writeFile(t, open, private)
	os.Chmod(open, 0o640)
	junk := filepath.Join(dir, "junk")
	writeFile(t, junk, []byte("-----BEGIN HUNTER2 KEY-----\naHVudGVyMg==\n-----END HUNTER2 KEY-----\n"))
	big := filepath.Join(dir, "big")
	writeFile(t, big, make([]byte, maxKeyFile+1))
	stale := filepath.Join(dir, "stale")
	writeFile(t, stale, private)
	other, _ := sshdtest.NewKey(t, "")
	writeFile(t, stale+"-cert.pub", ssh.MarshalAuthorizedKey(userCertificate(t, other, other.PublicKey())))
	asked := 0
	wrong := func(context.Context, string) (string, error) { asked++; return "wrong", nil }
	none := func(context.Context, string) (string, error) { return "", errors.New("nobody is there") }
	panics := func(context.Context, string) (string, error) { panic("hunter2") }
	for _, test := range []struct {
		name, file string
		passphrase func(context.Context, string) (string, error)
		is         error
		text       string
	}{
		{"encrypted", sealed, nil, ErrEncrypted, "set Auth.Passphrase"},
		{"wrong passphrase", sealed, wrong, ErrPassphrase, "the passphrase is wrong"},
		{"no passphrase", sealed, none, nil, "nobody is there"},
		{"a callback that panics", sealed, panics, errPanic, "panicked"},
		{"open to others", open, nil, nil, "mode 0640"},
		{"not a key", junk, nil, nil, "not a private key"},
		{"too large", big, nil, nil, "larger than"},
		{"a directory", dir, nil, nil, "not a regular file"},
		{"not there", filepath.Join(dir, "nothing"), nil, os.ErrNotExist, "no such file"},
		{"no such user", "~nobody-of-that-name/id", nil, nil, "there is no user"},
	} {
		if test.name == "open to others" && runtime.GOOS == "windows" {
			continue
		}
		a := Auth{Agent: "none", KeyFiles: []string{test.file}, Passphrase: test.passphrase}
		err := loginError(t, s, a)
		var of *KeyFileError
		if !errors.As(err, &of) || of.File != test.file || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), test.file) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v", test.name, err)
		}
		for _, secret := range []string{"hunter2", "HUNTER2", "secret", "wrong\""} {
			if strings.Contains(strings.ReplaceAll(err.Error(), dir, ""), secret) {
				t.Errorf("%s: the error shows %q: %v", test.name, secret, err)
			}
		}
		if strings.Count(err.Error(), test.file) > 2 { // once, and in what to do
			t.Errorf("%s: the file is named over and over: %v", test.name, err)
		}
		s.asked()
		a.KeyFiles = append(a.KeyFiles, good)
		if err := login(t.Context(), s.addr, "joe", a, s.keys); err != nil {
			t.Errorf("%s, then a good one: %v", test.name, err)
		}
	}
	if asked != 2 {
		t.Errorf("the passphrase was asked for %d times, want once for a connection", asked)
	}
	if err := login(t.Context(), s.addr, "joe", Auth{Agent: "none", KeyFiles: []string{stale}}, s.keys); err != nil {
		t.Errorf("a certificate of another key beside a good one: %v", err)
	}
}

// userCertificate certifies a key for joe.
func userCertificate(t testing.TB, ca ssh.Signer, key ssh.PublicKey) *ssh.Certificate {
	t.Helper()
	return hostCertificate(t, ca, key, func(c *ssh.Certificate) { c.CertType = ssh.UserCert; c.ValidPrincipals = []string{"joe"} })
}

// TestPassphraseIsLate holds that a passphrase is asked for only when the server
// wants the key, and files are opened only when it wants one.
func TestPassphraseIsLate(t *testing.T) {
	dir := t.TempDir()
	sealed := filepath.Join(dir, "sealed")
	_, private := sshdtest.NewKey(t, "")
	writeFile(t, sealed, private)
	keygen(t, "-q", "-p", "-f", sealed, "-N", "secret", "-a", "2")
	a := Auth{Agent: "none", KeyFiles: []string{sealed}, Password: Secret("x"), Passphrase: func(context.Context, string) (string, error) {
		t.Error("asked for the passphrase")
		return "secret", nil
	}}
	s := startAuthServer(t, &ssh.ServerConfig{
		PublicKeyCallback: onlyKey(nil),
		PasswordCallback:  func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, nil },
	})
	if err := login(t.Context(), s.addr, "joe", a, s.keys); err != nil {
		t.Error(err)
	}
	a.Agent = silentSocket(t) // would hold it up
	s = startAuthServer(t, &ssh.ServerConfig{PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, nil }})
	if err := login(t.Context(), s.addr, "joe", a, s.keys); err != nil {
		t.Error(err)
	}
}

// TestAuthMethods holds which methods are used, in which order, and what they
// send.
func TestAuthMethods(t *testing.T) {
	files, signers := keyFiles(t, 8)
	password := func(_ ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) {
		if string(p) != "right" {
			return nil, errors.New("no")
		}
		return nil, nil
	}
	interactive := func(rounds int, questions ...string) func(ssh.ConnMetadata, ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
		return func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			for range rounds {
				echos := make([]bool, len(questions))
				for i, q := range questions {
					echos[i] = strings.HasSuffix(q, "(shown)")
				}
				answers, err := ask("name", "instruction", questions, echos)
				if err != nil {
					return nil, err
				}
				for i, a := range answers {
					if a != "answer to "+questions[i] && a != "right" {
						return nil, errors.New("no")
					}
				}
			}
			ask("", "goodbye", nil, nil)
			return nil, nil
		}
	}
	answer := func(_ context.Context, c Challenge) (out []string, err error) {
		for _, q := range c.Questions {
			out = append(out, "answer to "+q.Text)
		}
		return out, nil
	}
	partial := func(then ssh.ServerAuthCallbacks) func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(signers[1].PublicKey().Marshal()) {
				return nil, errors.New("no")
			}
			return nil, &ssh.PartialSuccessError{Next: then}
		}
	}
	nobody := onlyKey(nil)
	const cut = "cut off here, which the server may see or not"
	nothing := func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, errors.New("no") }
	for _, test := range []struct {
		name   string
		server ssh.ServerConfig
		auth   Auth
		asked  string
		text   string // of the error
	}{
		{"a key before a password", ssh.ServerConfig{PublicKeyCallback: onlyKey(signers[0].PublicKey()), PasswordCallback: password},
			Auth{KeyFiles: files[:1], Password: Secret("right")}, "publickey", ""},
		{"then the password", ssh.ServerConfig{PublicKeyCallback: nobody, PasswordCallback: password},
			Auth{KeyFiles: files[:1], Password: Secret("right")}, "publickey password", ""},
		{"the password first", ssh.ServerConfig{PublicKeyCallback: nobody, PasswordCallback: password},
			Auth{KeyFiles: files[:1], Password: Secret("right"), Methods: []string{"password", "publickey"}}, "password", ""},
		{"no passwords", ssh.ServerConfig{PublicKeyCallback: nobody, PasswordCallback: password},
			Auth{KeyFiles: files[:1], Password: Secret("right"), Methods: []string{"publickey"}}, "publickey", "(refused). It takes password, publickey"},
		{"a wrong password once", ssh.ServerConfig{PasswordCallback: password},
			Auth{Password: Secret("wrong")}, "password", "password (refused)"},
		{"no password", ssh.ServerConfig{PasswordCallback: password},
			Auth{}, "", "there was nothing to try. It takes password"},
		{"a password that cannot be had", ssh.ServerConfig{PasswordCallback: password},
			Auth{Password: func(context.Context) (string, error) { return "", errors.New("the vault is shut") }}, "", "password (not used: no password: the vault is shut)"},
		{"questions", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(2, "token?", "color? (shown)"), PasswordCallback: password},
			Auth{KeyboardInteractive: answer, Password: Secret("right")}, "keyboard-interactive", ""},
		{"questions without end", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(1000, "token?")},
			Auth{KeyboardInteractive: answer}, cut, "asked more than 10 times"},
		{"too few answers", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(1, "a", "b")},
			Auth{KeyboardInteractive: func(context.Context, Challenge) ([]string, error) { return []string{"secret"}, nil }}, cut, "gave 1 answers to 2 questions"},
		{"the question for a password", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(1, "Password: ")},
			Auth{Password: Secret("right")}, "keyboard-interactive", ""},
		{"not when passwords are taken", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(1, "Password: "), PasswordCallback: password},
			Auth{Password: Secret("right")}, "password", ""},
		{"not when the answer is shown", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(1, "Password: (shown)")},
			Auth{Password: Secret("right")}, cut, "more than a password"},
		{"not to several questions", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(1, "Password: ", "Token: ")},
			Auth{Password: Secret("right")}, cut, "more than a password"},
		{"not twice", ssh.ServerConfig{KeyboardInteractiveCallback: interactive(2, "Password: ")},
			Auth{Password: Secret("right")}, cut, "more than a password"},
		{"a key and a password", ssh.ServerConfig{PublicKeyCallback: partial(ssh.ServerAuthCallbacks{PasswordCallback: password})},
			Auth{KeyFiles: files[:2], Password: Secret("right")}, "publickey publickey password", ""},
		{"a key and a wrong password", ssh.ServerConfig{PublicKeyCallback: partial(ssh.ServerAuthCallbacks{PasswordCallback: password})},
			Auth{KeyFiles: files[1:2], Password: Secret("wrong")}, "publickey password", "(accepted, but the server wants more); password (refused)"},
		{"two keys", ssh.ServerConfig{PublicKeyCallback: partial(ssh.ServerAuthCallbacks{PublicKeyCallback: onlyKey(signers[2].PublicKey())})},
			Auth{KeyFiles: files[:3]}, "publickey publickey publickey", ""},
		{"keys leave room for a password", ssh.ServerConfig{PublicKeyCallback: nobody, PasswordCallback: password, MaxAuthTries: 6},
			Auth{KeyFiles: files, Password: Secret("right")}, strings.Repeat("publickey ", 5) + "password", ""},
		{"and for two methods", ssh.ServerConfig{PublicKeyCallback: nobody, PasswordCallback: nothing, KeyboardInteractiveCallback: interactive(1, "a"), MaxAuthTries: 6},
			Auth{KeyFiles: files, Password: Secret("wrong"), KeyboardInteractive: answer, Methods: []string{"publickey", "password", "keyboard-interactive"}},
			strings.Repeat("publickey ", 4) + "password keyboard-interactive", ""},
		{"keys only", ssh.ServerConfig{PublicKeyCallback: nobody, MaxAuthTries: 100},
			Auth{KeyFiles: files}, strings.TrimSpace(strings.Repeat("publickey ", 6)), "2 more keys were not offered"},
		{"fewer tries", ssh.ServerConfig{PublicKeyCallback: nobody, MaxAuthTries: 100},
			Auth{KeyFiles: files, MaxTries: 2}, "publickey publickey", "6 more keys were not offered"},
		{"more tries", ssh.ServerConfig{PublicKeyCallback: nobody, MaxAuthTries: 100},
			Auth{KeyFiles: files, MaxTries: 1000}, strings.TrimSpace(strings.Repeat("publickey ", 8)), "(refused)"},
		{"an algorithm that is not allowed", ssh.ServerConfig{PublicKeyCallback: onlyKey(signers[0].PublicKey())},
			Auth{KeyFiles: files[:1], Algorithms: []string{"rsa-sha2-512"}}, "", "not allowed here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := startAuthServer(t, &test.server)
			test.auth.Agent = "none"
			if test.auth.KeyFiles == nil {
				test.auth.KeyFiles = []string{}
			}
			err := login(t.Context(), s.addr, "joe", test.auth, s.keys)
			var refused *AuthError
			if test.text == "" && err != nil || test.text != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), test.text)) {
				t.Errorf("error %v, want %q", err, test.text)
			}
			if asked := s.asked(); asked != test.asked && test.asked != cut {
				t.Errorf("the server was asked %q, want %q", asked, test.asked)
			}
		})
	}
	if err := login(t.Context(), "127.0.0.1:1", "joe", Auth{Methods: []string{"hostbased"}}, HostKeys{Files: []string{}, GlobalFiles: []string{}}); err == nil || !strings.Contains(err.Error(), "Auth.Methods") {
		t.Errorf("a method that does not exist: %v", err)
	}
}

// TestAuthObeysContext holds that nothing that somebody else does, or does not,
// holds up an authentication whose context has ended (case 59).
func TestAuthObeysContext(t *testing.T) {
	files, signers := keyFiles(t, 1)
	sealed := filepath.Join(t.TempDir(), "sealed")
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, sealed, data)
	keygen(t, "-q", "-p", "-f", sealed, "-N", "secret", "-a", "2")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s := startAuthServer(t, &ssh.ServerConfig{
		PublicKeyCallback: onlyKey(signers[0].PublicKey()),
		PasswordCallback:  func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, errors.New("no") },
		KeyboardInteractiveCallback: func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			ask("", "", []string{"?"}, []bool{false})
			return nil, errors.New("no")
		},
	})
	errGone := errors.New("the user left")
	for name, a := range map[string]Auth{
		"agent":       {Agent: silentSocket(t)},
		"passphrase":  {Agent: "none", KeyFiles: []string{sealed}, Passphrase: func(context.Context, string) (string, error) { <-release; return "", nil }},
		"password":    {Agent: "none", KeyFiles: []string{}, Password: func(context.Context) (string, error) { <-release; return "", nil }},
		"interactive": {Agent: "none", KeyFiles: []string{}, KeyboardInteractive: func(context.Context, Challenge) ([]string, error) { <-release; return nil, nil }},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { cancel(errGone) })
		at, err := a.start(ctx, "joe")
		if err != nil {
			t.Fatal(err)
		}
		_, err = at.next(&ssh.ClientAuthContext{AllowedMethods: []string{methodPublicKey}})
		if name == "agent" && !errors.Is(err, errGone) {
			t.Errorf("%s: %v, want the cause of the context", name, err)
		}
		at.close()
		err = login(ctx, s.addr, "joe", a, s.keys)
		if err == nil || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
		var refused *AuthError
		if errors.As(err, &refused) {
			t.Errorf("%s: a context that ended became a refusal: %v", name, err)
		}
	}
}

// TestAuthBegan holds that a failure before authentication is none of it.
func TestAuthBegan(t *testing.T) {
	at, err := new(Auth).start(t.Context(), "joe")
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	cause := errors.New("EOF")
	if at.failure(cause) != cause {
		t.Error("it has begun before the server was asked")
	}
	if _, err := at.next(&ssh.ClientAuthContext{AllowedMethods: []string{"hostbased\x1b[0m"}}); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error %q", err)
	}
	var refused *AuthError
	if !errors.As(at.failure(cause), &refused) || refused.Err != cause || !slices.Contains(refused.Unwrap(), cause) {
		t.Error("it has not begun")
	}
}
