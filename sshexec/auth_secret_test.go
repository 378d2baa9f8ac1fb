// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
)

// The secrets that TestNoSecretLeaves plants.
const (
	plantedPassphrase = "planted-passphrase"
	plantedPassword   = "planted-password"
	plantedAnswer     = "planted-answer"
	plantedPanic      = "planted-panic"
	plantedVariable   = "planted-variable"
	plantedOption     = "planted-option"
	plantedSocket     = "planted-socket"
)

// An outlet collects what leaves the package.
type outlet struct {
	bytes.Buffer
}

// show prints a value in each way that one may be printed.
func (o *outlet) show(v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(o, verb+"\n", v)
	}
	if data, err := json.Marshal(v); err == nil {
		o.Write(data)
	}
	slog.New(slog.NewTextHandler(o, nil)).Info("value", "v", v)
	slog.New(slog.NewJSONHandler(o, nil)).Info("value", "v", v)
	if err, ok := v.(error); ok {
		o.showChain(err)
	}
}

// showChain prints the errors inside an error.
func (o *outlet) showChain(err error) {
	fmt.Fprintf(o, "%T %v %+v %#v\n", err, err, err, err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			o.showChain(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			o.showChain(inner)
		}
	}
}

// TestNoSecretLeaves plants a secret in every place one may come from, makes
// logins, runs and configurations succeed and fail with them, and looks for the
// secrets in all that comes out.
func TestNoSecretLeaves(t *testing.T) {
	var out outlet
	dir := t.TempDir()
	files, signers := keyFiles(t, 3)
	secrets := []string{plantedPassphrase, plantedPassword, plantedAnswer, plantedPanic, plantedVariable, plantedOption, plantedSocket}
	for i, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[2:] { // past what all keys begin with
			if len(line) > 16 && !strings.HasPrefix(line, "-----") {
				secrets = append(secrets, line[:16], line[len(line)-16:])
			}
		}
		if i == 2 {
			keygen(t, "-q", "-p", "-f", f, "-N", plantedPassphrase, "-a", "2")
		}
	}
	junk := filepath.Join(dir, "junk")
	writeFile(t, junk, []byte("-----BEGIN "+plantedPassphrase+"-----\n"+plantedPassword+"\n-----END "+plantedPassphrase+"-----\n"))
	t.Setenv("WEIR_TEST_SECRET", plantedVariable)
	t.Setenv("WEIR_TEST_PASSWORD", plantedVariable)
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, plantedSocket))
	logs := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))

	s := startAuthServer(t, &ssh.ServerConfig{
		PublicKeyCallback: onlyKey(signers[2].PublicKey()),
		PasswordCallback: func(_ ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) {
			if string(p) == plantedPassword {
				return nil, nil
			}
			return nil, errors.New("no")
		},
		KeyboardInteractiveCallback: func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			ask("", "", []string{"?"}, []bool{false})
			return nil, errors.New("no")
		},
	})
	passphrase := func(text string) func(context.Context, string) (string, error) {
		return func(context.Context, string) (string, error) { return text, nil }
	}
	answers := func(context.Context, Challenge) ([]string, error) { return []string{plantedAnswer, plantedAnswer}, nil }
	answer := func(context.Context, Challenge) ([]string, error) { return []string{plantedAnswer}, nil }
	for _, a := range []Auth{
		{},
		{KeyFiles: files},
		{KeyFiles: files, Passphrase: passphrase(plantedPassphrase)},
		{KeyFiles: files, Passphrase: passphrase(plantedPassword)},
		{KeyFiles: append([]string{junk}, files[:2]...), Passphrase: passphrase(plantedPassphrase)},
		{KeyFiles: []string{}, Password: Secret(plantedPassword)},
		{KeyFiles: []string{}, Password: Secret(plantedPassword + "x")},
		{KeyFiles: []string{}, Password: func(context.Context) (string, error) { panic(plantedPanic) }},
		{KeyFiles: []string{}, KeyboardInteractive: answer},
		{KeyFiles: []string{}, KeyboardInteractive: answers, Passphrase: passphrase(plantedPassphrase)},
		{KeyFiles: []string{}, CertFiles: []string{junk, files[0]}},
	} {
		h := &Host{Address: s.addr, User: "joe", Auth: a, HostKeys: s.keys, Log: logs}
		still := &Host{Address: s.addr, Auth: a, HostKeys: s.keys} // a bad verb prints the inside of a pointer
		still.Auth.Agent = "none"
		out.show(struct{ h *Host }{still})
		_, err := h.Run(t.Context(), exec.Cmd{Path: "true"})
		if err == nil {
			t.Error("a server without sessions ran a command")
		}
		out.show(err)
		h.Auth.Agent = "none" // a setting of its own, which names no secret
		for _, v := range []any{h, h.Auth, &h.Auth, h.HostKeys, struct{ a Auth }{h.Auth}, []any{h.Auth}, map[string]Auth{"x": h.Auth}} {
			out.show(v)
		}
		if data, err := json.Marshal(h.Auth); err != nil || !bytes.Contains(data, []byte(`"KeyFiles"`)) {
			t.Errorf("JSON: %s, %v", data, err)
		}
		h.Close()
		err = login(t.Context(), s.addr, "joe", a, s.keys)
		if err != nil {
			out.show(err)
		}
	}

	real := sshdtest.Start(t, sshdtest.Options{})
	h := testHost(t, real)
	h.Log = logs
	sealed := filepath.Join(dir, "sealed")
	data, err := os.ReadFile(real.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, sealed, data)
	keygen(t, "-q", "-p", "-f", sealed, "-N", plantedPassphrase, "-a", "2")
	h.Auth = Auth{Agent: "none", KeyFiles: []string{sealed}, Passphrase: passphrase(plantedPassphrase), Password: Secret(plantedPassword)}
	result, err := h.Run(t.Context(), exec.Cmd{Path: "env"})
	if err != nil {
		t.Fatal(err)
	}
	out.show(result)
	out.show(h)

	file := filepath.Join(dir, "config")
	for _, line := range []string{
		"Password " + plantedOption, "IdentityFile ${WEIR_TEST_NOTHING}", "ProxyCommand sshpass -p " + plantedOption + " ssh %h", "KnownHostsCommand " + plantedOption,
		"ProxyJump joe:" + plantedOption + "@one", "ProxyJump joe:" + plantedOption + "@one:0", "ProxyJump ssh://joe:" + plantedOption + "@one:x", "SetEnv TOKEN=" + plantedOption,
		"LocalCommand " + plantedOption, "PKCS11Provider " + plantedOption, "Match exec \"curl " + plantedOption + "\"", "\"" + plantedOption, "RemoteCommand x " + plantedOption,
		"Foo=" + plantedOption + " bar", "User \"" + plantedOption,
	} {
		writeFile(t, file, []byte(line+"\n"))
		h, err := (&Config{Files: []string{file}}).Host("a")
		if err == nil {
			out.show(h)
		} else {
			out.show(err)
		}
	}
	shown := out.String()
	for _, secret := range secrets {
		for _, form := range []string{secret, fmt.Sprintf("%x", secret)} {
			if i := strings.Index(shown, form); i >= 0 {
				t.Errorf("%q came out: …%s…", secret, shown[max(i-300, 0):min(i+100, len(shown))])
			}
		}
	}
	for _, want := range []string{sealed, "Passphrase", "the passphrase is wrong", "ProxyCommand", "cannot be reached"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the test does not see what comes out: no %q", want)
		}
	}
	if len(shown) < 10_000 {
		t.Errorf("only %d bytes came out", len(shown))
	}
}
