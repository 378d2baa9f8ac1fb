// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// keyOf makes a signer of a key.
func keyOf(t testing.TB, key crypto.PrivateKey, err error) ssh.Signer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pemOf(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}

// hostCertificate certifies a host key.
func hostCertificate(t testing.TB, ca ssh.Signer, key ssh.PublicKey, change func(*ssh.Certificate)) *ssh.Certificate {
	t.Helper()
	c := &ssh.Certificate{Key: key, CertType: ssh.HostCert, ValidPrincipals: []string{"localhost", "127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if change != nil {
		change(c)
	}
	if err := c.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHostKeysAsOpenSSH holds, against a real server, that a known_hosts file
// lets a host in, or keeps it out, as it does for the ssh program, and that the
// error says why. It is case 62 of the field's cases.
func TestHostKeysAsOpenSSH(t *testing.T) {
	program := openSSH(t, "ssh")
	ed, edPEM := sshdtest.NewKey(t, "")
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ec := keyOf(t, ecKey, err)
	other, _ := sshdtest.NewKey(t, "")
	rsaKey := newRSA(t, 2048)
	otherRSA := keyOf(t, rsaKey, nil).PublicKey()
	ca, _ := sshdtest.NewKey(t, "")
	s := sshdtest.Start(t, sshdtest.Options{HostKeys: [][]byte{edPEM, pemOf(t, ecKey)}})
	certified := func(change func(*ssh.Certificate)) *sshdtest.Server {
		key, private := sshdtest.NewKey(t, "")
		cert := filepath.Join(t.TempDir(), "cert.pub")
		writeFile(t, cert, ssh.MarshalAuthorizedKey(hostCertificate(t, ca, key.PublicKey(), change)))
		return sshdtest.Start(t, sshdtest.Options{HostKeys: [][]byte{private}, Config: "HostCertificate " + cert})
	}
	good, expired, elsewhere := certified(nil), certified(func(c *ssh.Certificate) { c.ValidBefore = 1 }), certified(func(c *ssh.Certificate) { c.ValidPrincipals = []string{"other"} })
	rsaCA := keyOf(t, rsaKey, nil).(ssh.AlgorithmSigner)
	sha1CA, err := ssh.NewSignerWithAlgorithms(rsaCA, []string{ssh.KeyAlgoRSA})
	if err != nil {
		t.Fatal(err)
	}
	key, private := sshdtest.NewKey(t, "")
	sha1Cert := filepath.Join(t.TempDir(), "cert.pub")
	writeFile(t, sha1Cert, ssh.MarshalAuthorizedKey(hostCertificate(t, sha1CA, key.PublicKey(), nil)))
	sha1 := sshdtest.Start(t, sshdtest.Options{HostKeys: [][]byte{private}, Config: "HostCertificate " + sha1Cert})

	line := func(hosts string, key ssh.PublicKey) string {
		return hosts + " " + string(ssh.MarshalAuthorizedKey(key))
	}
	hash := func(name string) string { return knownhosts.HashHostname(name) }
	const unknown, changed, revoked, certificate = "unknown", "changed", "revoked", "certificate"
	for _, test := range []struct {
		name   string
		server *sshdtest.Server // nil for s
		known  string
		want   string // "" when it is let in
	}{
		{name: "empty", want: unknown},
		{name: "plain", known: line("[127.0.0.1]:PORT", ed.PublicKey())},
		{name: "the second key of the server", known: line("[127.0.0.1]:PORT", ec.PublicKey())},
		{name: "both types, one wrong", known: line("[127.0.0.1]:PORT", other.PublicKey()) + line("[127.0.0.1]:PORT", ec.PublicKey()), want: changed},
		{name: "both types", known: line("[127.0.0.1]:PORT", ec.PublicKey()) + line("[127.0.0.1]:PORT", ed.PublicKey())},
		{name: "two keys of a type", known: line("[127.0.0.1]:PORT", other.PublicKey()) + line("[127.0.0.1]:PORT", ed.PublicKey())},
		{name: "changed", known: line("[127.0.0.1]:PORT", other.PublicKey()), want: changed},
		{name: "no key of that type", known: line("[127.0.0.1]:PORT", otherRSA), want: changed},
		{name: "without the port", known: line("127.0.0.1", ed.PublicKey())},
		{name: "another without the port", known: line("127.0.0.1", other.PublicKey()), want: unknown},
		{name: "another type without the port", known: line("127.0.0.1", otherRSA), want: unknown},
		{name: "another port", known: line("[127.0.0.1]:1", ed.PublicKey()), want: unknown},
		{name: "port 22 by its number", known: line("[127.0.0.1]:22", ed.PublicKey()), want: unknown},
		{name: "hashed", known: line(hash("[127.0.0.1]:PORT"), ed.PublicKey())},
		{name: "hashed without the port", known: line(hash("127.0.0.1"), ed.PublicKey())},
		{name: "hashed, changed", known: line(hash("[127.0.0.1]:PORT"), other.PublicKey()), want: changed},
		{name: "hashed, another", known: line(hash("[127.0.0.2]:PORT"), ed.PublicKey()), want: unknown},
		{name: "list", known: line("a,b,[127.0.0.1]:PORT", ed.PublicKey())},
		{name: "pattern", known: line("[127.0.0.*]:PORT", ed.PublicKey())},
		{name: "pattern for a byte", known: line("[127.0.0.?]:PORT", ed.PublicKey())},
		{name: "pattern for one byte too many", known: line("[127.0.0.1?]:PORT", ed.PublicKey()), want: unknown},
		{name: "all", known: line("*", ed.PublicKey())},
		{name: "negated", known: line("*,![127.0.0.1]:PORT,!127.0.0.1", ed.PublicKey()), want: unknown},
		{name: "negated alone", known: line("!other", ed.PublicKey()), want: unknown},
		{name: "comments and noise", known: "# x\n\nnonsense\na b\n[127.0.0.1]:PORT ssh-ed25519 AAAA\n" + line("[127.0.0.1]:PORT", ed.PublicKey())},
		{name: "CR LF", known: strings.ReplaceAll(line("[127.0.0.1]:PORT", ed.PublicKey()), "\n", "\r\n")},
		{name: "revoked", known: line("[127.0.0.1]:PORT", ed.PublicKey()) + "@revoked " + line("*", ed.PublicKey()), want: revoked},
		{name: "revoked, the other key is good", known: line("[127.0.0.1]:PORT", ec.PublicKey()) + "@revoked " + line("*", ed.PublicKey())},
		{name: "revoked and not known", known: "@revoked " + line("*", ed.PublicKey()), want: revoked},
		{name: "an authority's key as a host's", known: "@cert-authority " + line("*", ed.PublicKey()), want: certificate},
		{name: "certificate", server: good, known: "@cert-authority " + line("[127.0.0.1]:PORT", ca.PublicKey())},
		{name: "certificate, pattern", server: good, known: "@cert-authority " + line("*", ca.PublicKey())},
		{name: "certificate, without the port", server: good, known: "@cert-authority " + line("127.0.0.1", ca.PublicKey())},
		{name: "certificate, another host", server: good, known: "@cert-authority " + line("other", ca.PublicKey()), want: unknown},
		{name: "certificate of another authority", server: good, known: "@cert-authority " + line("*", other.PublicKey()), want: certificate},
		{name: "certificate, its key is known", server: good, known: line("[127.0.0.1]:PORT", good.HostKey)},
		{name: "certificate of another authority, its key is known", server: good, known: "@cert-authority " + line("*", other.PublicKey()) + line("[127.0.0.1]:PORT", good.HostKey)},
		{name: "certificate, its authority is revoked", server: good, known: "@cert-authority " + line("*", ca.PublicKey()) + "@revoked " + line("*", ca.PublicKey()), want: revoked},
		{name: "expired certificate", server: expired, known: "@cert-authority " + line("*", ca.PublicKey()), want: certificate},
		{name: "expired certificate, its key is known", server: expired, known: "@cert-authority " + line("*", ca.PublicKey()) + line("[127.0.0.1]:PORT", expired.HostKey)},
		{name: "certificate for others", server: elsewhere, known: "@cert-authority " + line("*", ca.PublicKey()), want: certificate},
		{name: "certificate by SHA-1", server: sha1, known: "@cert-authority " + line("*", otherRSA), want: certificate},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := test.server
			if server == nil {
				server = s
			}
			known := strings.ReplaceAll(test.known, "PORT", strconv.Itoa(server.Port))
			if strings.HasPrefix(known, "|1|") && strings.Contains(test.name, "hashed") {
				// The port is inside the hash.
				for _, name := range []string{"[127.0.0.1]:", "[127.0.0.2]:"} {
					if strings.HasPrefix(test.name, "hashed, another") != (name == "[127.0.0.2]:") || test.name == "hashed without the port" {
						continue
					}
					_, key, _ := strings.Cut(known, " ")
					known = hash(name+strconv.Itoa(server.Port)) + " " + key
				}
			}
			file := filepath.Join(t.TempDir(), "known_hosts")
			writeFile(t, file, []byte(known))
			// Both stop when the host is in: the server is shown no key of ours.
			out, _ := osexec.Command(program, "-F", "none", "-o", "PreferredAuthentications=none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=none",
				"-o", "UserKnownHostsFile="+file, "-o", "KexAlgorithms=curve25519-sha256", "-p", strconv.Itoa(server.Port), server.User+"@127.0.0.1", "true").CombinedOutput()
			sshIn, sshOut := strings.Contains(string(out), "Permission denied"), strings.Contains(string(out), "Host key verification failed")
			err := login(t.Context(), server.Addr, server.User, Auth{Agent: "none", KeyFiles: []string{}}, HostKeys{Files: []string{file}, GlobalFiles: []string{}})
			var in *AuthError
			if errors.As(err, &in) {
				err = nil
			}
			if (sshIn == sshOut || (err == nil) != sshIn) && test.name != "no key of that type" {
				t.Errorf("error %v; ssh: %s", err, out)
			}
			var asUnknown *UnknownHostError
			var asChanged *ChangedHostKeyError
			var asRevoked *RevokedHostKeyError
			var asCertificate *HostCertificateError
			got := ""
			switch {
			case errors.As(err, &asUnknown):
				got = unknown
				if asUnknown.Name != "[127.0.0.1]:"+strconv.Itoa(server.Port) || !slices.Contains(asUnknown.Files, file) {
					t.Errorf("%#v", asUnknown)
				}
			case errors.As(err, &asChanged):
				got = changed
				if k := asChanged.Known[0]; k.File != file || k.Line != 1 || !strings.Contains(err.Error(), k.Fingerprint) || !strings.Contains(err.Error(), file+":1") {
					t.Errorf("%#v", asChanged)
				}
			case errors.As(err, &asRevoked):
				got = revoked
				if k := asRevoked.Revoked; k.File != file || k.Line == 0 {
					t.Errorf("%#v", asRevoked)
				}
			case errors.As(err, &asCertificate):
				got = certificate
				if asCertificate.Reason == "" || len(asCertificate.Authorities) == 0 {
					t.Errorf("%#v", asCertificate)
				}
			case err != nil:
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%q, want %q: %v", got, test.want, err)
			}
			if err != nil && asCertificate == nil && !strings.Contains(test.name, "authority is revoked") && test.name != "no key of that type" {
				if print := ssh.FingerprintSHA256(server.HostKey); !strings.Contains(err.Error(), print) {
					t.Errorf("the error does not show %s: %v", print, err)
				}
			}
		})
	}
}

// TestHostKeyAlgorithms holds that only algorithms are offered for which there
// is a key (case 62).
func TestHostKeyAlgorithms(t *testing.T) {
	ed, _ := sshdtest.NewKey(t, "")
	rsaSigner := keyOf(t, newRSA(t, 2048), nil)
	ca, _ := sshdtest.NewKey(t, "")
	line := func(hosts string, key ssh.PublicKey) string {
		return hosts + " " + string(ssh.MarshalAuthorizedKey(key))
	}
	certificates := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(a string) bool { return !isCertificate(a) })
	}
	keys := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), isCertificate)
	}
	for _, test := range []struct {
		name, known string
		allowed     []string
		want        []string
	}{
		{"nothing known", "", nil, keys(hostKeyAlgorithms)},
		{"ed25519", line("a", ed.PublicKey()), nil, []string{"ssh-ed25519"}},
		{"rsa, not by SHA-1", line("a", rsaSigner.PublicKey()), nil, []string{"rsa-sha2-512", "rsa-sha2-256"}},
		{"both", line("a", rsaSigner.PublicKey()) + line("a", ed.PublicKey()), nil, []string{"ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256"}},
		{"of another host", line("b", ed.PublicKey()), nil, keys(hostKeyAlgorithms)},
		{"authority", "@cert-authority " + line("a", ca.PublicKey()), nil, certificates(hostKeyAlgorithms)},
		{"authority and key", "@cert-authority " + line("a", ca.PublicKey()) + line("a", ed.PublicKey()), nil, append(certificates(hostKeyAlgorithms), "ssh-ed25519")},
		{"revoked", "@revoked " + line("a", ed.PublicKey()), nil, keys(hostKeyAlgorithms)},
		{"security key", line("a", securityKey(t)), nil, keys(hostKeyAlgorithms)},
		{"chosen", line("a", rsaSigner.PublicKey()), []string{"rsa-sha2-256", "ssh-ed25519"}, []string{"rsa-sha2-256"}},
		{"chosen, none known", line("a", rsaSigner.PublicKey()), []string{"ssh-ed25519"}, nil},
	} {
		c, err := (&HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: test.known, Algorithms: test.allowed}).check("a")
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), "ssh-rsa") {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if err != nil || !slices.Equal(c.algorithms, test.want) {
			t.Errorf("%s: %q, want %q (%v)", test.name, c.algorithms, test.want, err)
		}
	}
	if slices.Contains(hostKeyAlgorithms, ssh.KeyAlgoRSA) || slices.Contains(authorityAlgorithms, ssh.KeyAlgoRSA) || slices.Contains(hostKeyAlgorithms, ssh.CertAlgoRSAv01) {
		t.Error("SHA-1 is among the algorithms that are safe")
	}
	c, err := (&HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: line("a:2222", ed.PublicKey()) + line("a", ed.PublicKey())}).check("a:2222")
	if err != nil || c.algorithms[0] != "ssh-ed25519" || len(c.algorithms) != len(keys(hostKeyAlgorithms)) {
		t.Errorf("a key that is known without the port: %q, %v", c.algorithms, err)
	}
}

// securityKey is a public key of a kind that no server of ours can have.
func securityKey(t testing.TB) ssh.PublicKey {
	t.Helper()
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Name        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, make([]byte, 32), "ssh:"}))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestHostKeySources holds where keys are looked for, and that a source that
// cannot be read is an error.
func TestHostKeySources(t *testing.T) {
	home := t.TempDir()
	defer func(old func() (string, error)) { homeDir = old }(homeDir)
	homeDir = func() (string, error) { return home, nil }
	signer, _ := sshdtest.NewKey(t, "")
	key := string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 22}
	check := func(k HostKeys, address string) error {
		t.Helper()
		c, err := k.check(address)
		if err != nil {
			return err
		}
		return c.callback("ignored:22", addr, signer.PublicKey())
	}
	var unknown *UnknownHostError
	if err := check(HostKeys{}, "web1"); !errors.As(err, &unknown) || unknown.Files[0] != filepath.Join(home, ".ssh/known_hosts") {
		t.Fatalf("the zero HostKeys: %v", err)
	}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"known_hosts", "known_hosts2"} {
		file := filepath.Join(home, ".ssh", name)
		writeFile(t, file, []byte("web1,WEB3.example.com,2001:db8::1 "+key))
		for _, address := range []string{"web1", "web1:22", "Web1", "web3.example.com", "[2001:db8::1]:22", "2001:db8::1"} {
			if err := check(HostKeys{}, address); err != nil {
				t.Errorf("%s, %s: %v", name, address, err)
			}
		}
		if err := check(HostKeys{Alias: "WEB1"}, "elsewhere:99"); err != nil {
			t.Errorf("%s: alias: %v", name, err)
		}
		if err := check(HostKeys{Alias: "web2"}, "web1"); !errors.As(err, &unknown) {
			t.Errorf("%s: another alias: %v", name, err)
		}
		os.Remove(file)
	}
	file := filepath.Join(home, "more")
	writeFile(t, file, []byte("web1 "+key))
	for name, k := range map[string]HostKeys{
		"Files":       {Files: []string{"~/none", "~/more"}},
		"GlobalFiles": {GlobalFiles: []string{file}},
		"Known":       {Known: "web1 " + key},
		"null device": {Files: []string{os.DevNull}, Known: "web1 " + key},
	} {
		if err := check(k, "web1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"@revoke web1 " + key: "more:2: the marker", "@revoked web1 ssh-ed25519 AAA=": "cannot be read", "@revoked": "cannot be read",
		"@revoked * ssh-dss AAAAB3NzaC1kc3MAAAAB": "", "@cert-authority x": "", "@revoked @cert-authority * " + key: "cannot be read",
	} {
		writeFile(t, file, []byte("web1 "+key+name+"\n"))
		err := check(HostKeys{Files: []string{file}}, "web1")
		if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("%s: error %v, want %q", name, err, text)
		}
	}
	var revoked *RevokedHostKeyError
	if err := check(HostKeys{Known: "web1 " + key + "@revoked other " + key}, "web1"); !errors.As(err, &revoked) || revoked.Revoked.Line != 2 || !strings.Contains(err.Error(), revoked.Revoked.Fingerprint) {
		t.Errorf("a key that is revoked for another host: %v", err)
	}
	os.Remove(file)
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := check(HostKeys{Files: []string{file}}, "web1"); err == nil || errors.As(err, &unknown) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// TestHostKeyRSASize holds that MinRSABits counts.
func TestHostKeyRSASize(t *testing.T) {
	key := keyOf(t, newRSA(t, 1024), nil).PublicKey()
	for bits, ok := range map[int]bool{0: true, 1024: true, 2048: false} {
		c, err := (&HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: "a " + string(ssh.MarshalAuthorizedKey(key)), MinRSABits: bits}).check("a")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.callback("", nil, key); (err == nil) != ok {
			t.Errorf("%d: %v", bits, err)
		}
	}
}

// TestHostKeyErrorsAreShort holds that a server's words are bounded and harmless
// where they are shown.
func TestHostKeyErrorsAreShort(t *testing.T) {
	signer, _ := sshdtest.NewKey(t, "")
	c, err := (&HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: "a " + string(ssh.MarshalAuthorizedKey(signer.PublicKey()))}).check("a")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for range 1000 {
		types = append(types, "x\x1b[31m\n"+strings.Repeat("é", 500))
	}
	text := c.failure(&ssh.AlgorithmNegotiationError{What: "host key", RequestedAlgorithms: types, SupportedAlgorithms: c.algorithms}).Error()
	if len(text) > 2000 || strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	if other := fmt.Errorf("x: %w", &ssh.AlgorithmNegotiationError{What: "cipher"}); c.failure(other) != other {
		t.Error("an error about ciphers became one about host keys")
	}
}

func FuzzHostLines(f *testing.F) {
	signer, _ := sshdtest.NewKey(f, "")
	key := string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	f.Add([]byte("a,!b*,[c]:22 " + key + "@revoked * " + key + "@cert-authority |1|YQ==|YQ== " + key))
	f.Add([]byte("@"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parseHostLines("f", data)
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Fatal(err)
		}
		for _, l := range lines {
			l.matches("a")
			l.matches("[a]:2222")
			_ = l.known().String()
		}
	})
}

func FuzzMatchPattern(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("**", "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 12 {
			return
		}
		if got, want := matchPattern(pattern, name), matchSlowly(pattern, name); got != want {
			t.Fatalf("matchPattern(%q, %q) is %v", pattern, name, got)
		}
	})
}

// matchSlowly is matchPattern as its definition reads.
func matchSlowly(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return matchSlowly(pattern[1:], name) || name != "" && matchSlowly(pattern, name[1:])
	case name == "":
		return false
	}
	return (pattern[0] == '?' || pattern[0] == name[0]) && matchSlowly(pattern[1:], name[1:])
}

// TestMatchPatternIsFast holds that no pattern takes long.
func TestMatchPatternIsFast(t *testing.T) {
	began := time.Now()
	if matchPattern(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 100_000)) {
		t.Error("it matches")
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}
