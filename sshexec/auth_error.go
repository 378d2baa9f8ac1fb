// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"errors"
	"fmt"
	"strings"
)

// An AuthError says that a server let nobody in, and what was tried. It holds
// no secret: keys are named by file and fingerprint.
type AuthError struct {
	// User is the account that was asked for.
	User string

	// Methods are what the server would still take, by their names in SSH
	// ("publickey", "password", "keyboard-interactive", …).
	Methods []string

	// Tries are what was tried, and what could not be, in order.
	Tries []AuthTry

	// Left is how many keys were not offered, because a server ends the
	// connection after a few that it does not want; see Auth.MaxTries.
	Left int

	// Err is how the connection ended, when the server ended it. Nil when
	// nothing was left to try.
	Err error
}

// An AuthTry is one way to authenticate, and what became of it.
type AuthTry struct {
	// Method is "publickey", "password" or "keyboard-interactive"; it is
	// "agent" for an agent that gave no keys.
	Method string

	// Key names the key: its file, or "agent", and its fingerprint. It is
	// empty for other methods.
	Key string

	// Accepted is set when the server took it and asked for more.
	Accepted bool

	// Err says why it was not used. Nil when the server has seen it.
	Err error
}

func (t AuthTry) String() string {
	var b strings.Builder
	b.WriteString(t.Method)
	if t.Key != "" {
		b.WriteString(" " + t.Key)
	}
	switch {
	case t.Err != nil:
		text := strings.TrimPrefix(t.Err.Error(), "sshexec: ")
		b.WriteString(" (not used: " + strings.TrimPrefix(text, t.Key+": ") + ")")
	case t.Accepted:
		b.WriteString(" (accepted, but the server wants more)")
	default:
		b.WriteString(" (refused)")
	}
	return b.String()
}

func (e *AuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sshexec: the server does not let %s in: ", plain(e.User, 60))
	for i, t := range e.Tries {
		if i == 12 {
			fmt.Fprintf(&b, "; and %d more", len(e.Tries)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(t.String())
	}
	if len(e.Tries) == 0 {
		b.WriteString("there was nothing to try")
	}
	if len(e.Methods) > 0 {
		b.WriteString(". It takes " + quotedList(e.Methods))
	}
	if e.Left > 0 {
		fmt.Fprintf(&b, ". %d more keys were not offered, since a server counts them: name the right one in Auth.KeyFiles (IdentityFile), with IdentitiesOnly", e.Left)
	}
	if e.Err != nil {
		b.WriteString(". It ended the connection: " + plain(strings.TrimPrefix(strings.TrimPrefix(e.Err.Error(), "ssh: "), "handshake failed: "), 200))
	}
	return b.String()
}

// Unwrap returns the errors of the tries, and e.Err.
func (e *AuthError) Unwrap() []error {
	var out []error
	for _, t := range e.Tries {
		if t.Err != nil {
			out = append(out, t.Err)
		}
	}
	if e.Err != nil {
		out = append(out, e.Err)
	}
	return out
}

// A KeyFileError says why a file of a key or a certificate is not used. It holds
// nothing of what is in the file.
type KeyFileError struct {
	// File is the file.
	File string

	// Err is the reason: [ErrEncrypted], [ErrPassphrase], an error of the file
	// system, or one that says what is wrong.
	Err error
}

func (e *KeyFileError) Error() string {
	return "sshexec: " + e.File + ": " + strings.TrimPrefix(e.Err.Error(), e.File+": ")
}

// Unwrap returns e.Err.
func (e *KeyFileError) Unwrap() error { return e.Err }

// Errors that are found with errors.Is in a [*KeyFileError].
var (
	// ErrEncrypted says that a key is encrypted and that there is nobody to ask
	// for its passphrase.
	ErrEncrypted = errors.New("the key is encrypted: set Auth.Passphrase, or add the key to the agent")

	// ErrPassphrase says that the passphrase does not open the key.
	ErrPassphrase = errors.New("the passphrase is wrong")
)
