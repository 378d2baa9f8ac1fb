// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// TestCheck holds that what is wrong with a host is found without connecting to
// it, all at once and by the fields' names.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	_, open := sshdtest.NewKey(t, "")
	_, sealed := sshdtest.NewKey(t, "correct horse")
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, locked, text, none := file("key", string(open)), file("locked", string(sealed)), file("text", "hello"), filepath.Join(dir, "none")
	phrase := func(s string) func(context.Context, string) (string, error) {
		return func(context.Context, string) (string, error) { return s, nil }
	}
	for _, tt := range []struct {
		name string
		host *Host
		want []string
	}{
		{"good", &Host{Address: "web1.example.com", Auth: Auth{Agent: "none", KeyFiles: []string{key}}, HostKeys: HostKeys{Files: []string{text + "x", file("known", "")}, GlobalFiles: []string{}}}, nil},
		{"a passphrase", &Host{Address: "192.0.2.1:22", Auth: Auth{Agent: "none", KeyFiles: []string{locked}, Passphrase: phrase("correct horse")}}, nil},
		{"IPv6", &Host{Address: "[2001:db8::1]:2222", Auth: Auth{Agent: "none"}}, nil},
		{"IPv6 alone", &Host{Address: "2001:db8::1", Auth: Auth{Agent: "none"}}, nil},
		{"IPv6 in brackets", &Host{Address: "[2001:db8::1]", Auth: Auth{Agent: "none"}}, nil},
		{"nothing", &Host{Auth: Auth{Agent: "none"}}, []string{"Address: "}},
		{"all", &Host{
			Address:  "u@x",
			Network:  "udp",
			Auth:     Auth{Agent: "$WEIR_TEST_UNSET", KeyFiles: []string{none, text, locked}, CertFiles: []string{text}, Passphrase: phrase("wrong"), Methods: []string{"rhosts"}},
			HostKeys: HostKeys{Files: []string{none}, GlobalFiles: []string{}},
		}, []string{
			`Address: "u@x": the account`, "Network: ", "Auth.Methods: ", "Auth.Agent: the environment variable",
			"Auth.KeyFiles[0]: ", "Auth.KeyFiles[1]: ", "Auth.KeyFiles[2]: ", "Auth.CertFiles[0]: ", "HostKeys: none of ",
		}},
		{"no passphrase", &Host{Address: "x", Auth: Auth{Agent: "none", KeyFiles: []string{locked}}}, []string{"Auth.KeyFiles[0]: "}},
		{"no agent", &Host{Address: "x", Auth: Auth{Agent: none}}, []string{"Auth.Agent: it cannot be reached"}},
		{"a bad line", &Host{Address: "x", Auth: Auth{Agent: "none"}, HostKeys: HostKeys{Known: "@revoked x ssh-rsa AAAA"}}, []string{"HostKeys: "}},
		{"no port", &Host{Address: "x:", Auth: Auth{Agent: "none"}}, []string{"Address: "}},
		{"a port too high", &Host{Address: "x:65536", Auth: Auth{Agent: "none"}}, []string{"Address: "}},
		{"a port's name", &Host{Address: "x:ssh", Auth: Auth{Agent: "none"}}, []string{"Address: "}},
		{"a URL", &Host{Address: "ssh://x", Auth: Auth{Agent: "none"}}, []string{"Address: "}},
		{"a space", &Host{Address: "a b", Auth: Auth{Agent: "none"}}, []string{"Address: "}},
		{"colons", &Host{Address: "a:b:c", Auth: Auth{Agent: "none"}}, []string{"Address: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := tt.host.Check(ctx)
			var got []error
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				got = joined.Unwrap()
			}
			if len(got) != len(tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			for i, err := range got {
				var field *FieldError
				if !strings.HasPrefix(err.Error(), tt.want[i]) || !errors.As(err, &field) {
					t.Errorf("%v, want %q", err, tt.want[i])
				}
				if strings.Contains(err.Error(), "wrong\"") || strings.Contains(err.Error(), "hello") {
					t.Errorf("it shows what is in a file, or a passphrase: %v", err)
				}
			}
		})
	}
	if !errors.Is((&Host{Address: "x", Auth: Auth{Agent: "none", KeyFiles: []string{locked}, Passphrase: phrase("wrong")}}).Check(t.Context()), ErrPassphrase) {
		t.Error("a wrong passphrase is not ErrPassphrase")
	}
}

// TestAddressIsChecked holds that a call says what is wrong with an address,
// before a name server is asked.
func TestAddressIsChecked(t *testing.T) {
	for _, address := range []string{"u@127.0.0.1:22", "127.0.0.1:99999", "a b", "ssh://x"} {
		h := &Host{Address: address, User: "me", Auth: Auth{Agent: "none", KeyFiles: []string{}}}
		h.dialer = func(context.Context, string, string) (net.Conn, error) {
			t.Error("it is called")
			return nil, os.ErrInvalid
		}
		_, err := h.Run(t.Context(), sh("true"))
		var field *FieldError
		var stage *Error
		if !errors.As(err, &field) || field.Field != "Host.Address" || !errors.As(err, &stage) || stage.Stage != StageConnect {
			t.Errorf("%s: %v", address, err)
		}
		h.Close()
	}
}

// TestMentions holds which names a configuration has something to say about.
func TestMentions(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	writeFile(t, config, []byte("Host *\n\tUser me\nHost web* !webx\n\tPort 2222\nMatch originalhost db,db2\n\tPort 22\nHost ** *\n\tPort 24\nHost alias\n\tHostName 192.0.2.9\nMatch host 192.0.2.9\n\tPort 25\n"))
	c := &Config{Files: []string{config}}
	for name, want := range map[string]bool{"web1": true, "webx": false, "db": true, "db2": true, "db3": false, "alias": true, "192.0.2.9": true, "other": false} {
		if got, err := c.Mentions(name); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	if _, err := c.Mentions("-x"); err == nil {
		t.Error("an option is taken for a name")
	}
	if _, err := (&Config{Files: []string{config + "x"}}).Mentions("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
