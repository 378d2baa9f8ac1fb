// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// DefaultMaxTries is how often a server lets a client try: sshd's MaxAuthTries.
const DefaultMaxTries = 6

// The methods of authentication, in the order in which they are tried.
const (
	methodPublicKey   = "publickey"
	methodInteractive = "keyboard-interactive"
	methodPassword    = "password"
)

// Auth is how to authenticate to a server. The zero Auth does what the ssh
// program does when there is nobody to ask: it offers the keys of the agent and
// those of the user's key files that are not encrypted.
//
// Files and agent are looked at only when a server asks for a key. Keys that
// KeyFiles names come first, each with its certificates, and then the agent's
// other keys. Secrets come from code only, by the callbacks, and an Auth keeps
// none: it may be printed, logged and marshalled, and shows where keys come
// from.
//
// A callback is called when a connection is made, for some of them perhaps by
// several goroutines. It should return soon after its context ends; the
// connection does not wait for it longer than that.
type Auth struct {
	// Agent is the socket of the ssh-agent, a leading "~/" being the home
	// directory; "$NAME" takes it from the environment, "none" means no agent.
	// Empty means that of SSH_AUTH_SOCK, or none if that is not set (on
	// Windows, the system's).
	Agent string

	// KeyFiles are private keys, a leading "~/" being the home directory. For
	// a key that the agent has the agent signs; then its public half, in the
	// file or beside it (.pub), is enough. A certificate beside it (-cert.pub)
	// is offered first. Nil means those of ~/.ssh/id_rsa, id_ecdsa,
	// id_ecdsa_sk, id_ed25519 and id_ed25519_sk that exist; an empty list
	// means none.
	KeyFiles []string

	// CertFiles are further certificates, for any of the keys. Nil means none.
	CertFiles []string

	// IdentitiesOnly offers of the agent's keys only those that KeyFiles or
	// CertFiles name. False means that all are offered, as far as MaxTries
	// goes.
	IdentitiesOnly bool

	// Passphrase is asked for the passphrase of an encrypted key file: once
	// for a connection, and, where the file's public half is known, only when
	// the server wants that key. Nil means that encrypted files are not used.
	Passphrase func(ctx context.Context, file string) (string, error) `json:"-"`

	// KeyboardInteractive answers a server's questions, in their order. Nil
	// means that Password answers, if it is set and the server takes no
	// password otherwise, a single question whose answer is not to be shown.
	KeyboardInteractive func(ctx context.Context, c Challenge) ([]string, error) `json:"-"`

	// Password is asked for the account's password, once for a connection. Nil
	// means that there is none: no file and no variable gives one. See Secret.
	Password func(ctx context.Context) (string, error) `json:"-"`

	// Methods are the methods that may be used, in their order: "publickey",
	// "keyboard-interactive" and "password". Nil means these three.
	Methods []string

	// MaxTries is how often the server may be tried before it is given up;
	// each key that it does not want counts. What else there is to try keeps
	// its part of it. Zero or less means DefaultMaxTries.
	MaxTries int

	// Algorithms are the signature algorithms that may be used with a key, as
	// in ssh_config's PubkeyAcceptedAlgorithms. Nil means all that are safe;
	// SHA-1 is not.
	Algorithms []string

	// MinRSABits is the least size of an RSA key, in bits. Zero or less means
	// that the server decides.
	MinRSABits int
}

// A Challenge is what a server asks by keyboard-interactive. Its texts come from
// the server.
type Challenge struct {
	User              string
	Name, Instruction string
	Questions         []Question
}

// A Question is one of a [Challenge]. Echo is set when the answer may be shown
// while it is typed.
type Question struct {
	Text string
	Echo bool
}

// Secret is a callback for Auth.Password that returns value. Unlike a string it
// cannot be printed.
func Secret(value string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, nil }
}

// String says where keys come from, in one line.
func (a Auth) String() string {
	var parts []string
	if !strings.EqualFold(a.Agent, "none") {
		if a.IdentitiesOnly {
			parts = append(parts, "agent (named keys only)")
		} else {
			parts = append(parts, "agent")
		}
	}
	if a.KeyFiles == nil {
		parts = append(parts, "default key files")
	}
	for _, f := range slices.Concat(a.KeyFiles, a.CertFiles) {
		parts = append(parts, strconv.Quote(f))
	}
	for _, c := range []struct {
		name string
		set  bool
	}{{"Passphrase", a.Passphrase != nil}, {"KeyboardInteractive", a.KeyboardInteractive != nil}, {"Password", a.Password != nil}} {
		if c.set {
			parts = append(parts, c.name)
		}
	}
	return "sshexec.Auth{" + strings.Join(parts, ", ") + "}"
}

// GoString is String.
func (a Auth) GoString() string { return a.String() }

// LogValue is String, for slog.
func (a Auth) LogValue() slog.Value { return slog.StringValue(a.String()) }

// methods are the methods to use, in order.
func (a *Auth) methods() ([]string, error) {
	all := []string{methodPublicKey, methodInteractive, methodPassword}
	if a.Methods == nil {
		return all, nil
	}
	for _, m := range a.Methods {
		if !slices.Contains(all, m) {
			return nil, fmt.Errorf("sshexec: Auth.Methods: %s is not one of %s", quoted(m), strings.Join(all, ", "))
		}
	}
	return a.Methods, nil
}

// errPanic stands for a callback's panic, whose value may be anything.
var errPanic = errors.New("the callback panicked")

// ask calls a callback and waits for it until ctx ends.
func ask[T any](ctx context.Context, callback func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errPanic}
		defer func() {
			if a.err == errPanic {
				recover()
			}
			answers <- a
		}()
		a.value, a.err = callback(ctx)
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
