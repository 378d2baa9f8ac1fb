// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A FieldError is what is wrong with a field of a [Host].
type FieldError struct {
	Field string // such as "Address" or "Auth.KeyFiles[0]"
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *FieldError) Unwrap() error { return e.Err }

// Check finds what is wrong with the host without connecting to it: an address
// that cannot be one, a key file that is not there or cannot be read, a
// passphrase that is wrong (Auth.Passphrase is asked for each encrypted file), an
// agent that does not answer, files with host keys of which none is there. Only
// what its fields name is looked at, not what they default to. It is for the
// start of a program; a call finds the same when it needs it. Via is checked by
// itself.
//
// The error joins all that was found, as errors.Join does; each is a
// [*FieldError].
func (h *Host) Check(ctx context.Context) error {
	var all []error
	add := func(field string, err error) {
		if err != nil {
			all = append(all, &FieldError{field, err})
		}
	}
	add("Address", checkAddress(h.Address))
	if !slices.Contains([]string{"", "tcp", "tcp4", "tcp6"}, h.Network) {
		add("Network", fmt.Errorf("%s is not tcp, tcp4 or tcp6", quoted(h.Network)))
	}
	a := &h.Auth
	if _, err := a.methods(); err != nil {
		add("Auth.Methods", errors.New(strings.TrimPrefix(err.Error(), "sshexec: Auth.Methods: ")))
	}
	link, err := a.checkAgent(ctx)
	if link != nil {
		defer link.close()
	}
	add("Auth.Agent", err)
	for i, name := range a.KeyFiles {
		add(fmt.Sprintf("Auth.KeyFiles[%d]", i), a.checkKeyFile(ctx, link, name))
	}
	for i, name := range a.CertFiles {
		file, err := expandHome(name)
		if err == nil {
			_, err = readCertificate(file)
		}
		add(fmt.Sprintf("Auth.CertFiles[%d]", i), err)
	}
	add("HostKeys", h.checkHostKeys())
	return errors.Join(all...)
}

// checkAddress refuses what is neither "host" nor "host:port".
func checkAddress(address string) error {
	host := address
	if h, port, err := net.SplitHostPort(address); err == nil {
		host = h
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("%s: a port is a number from 1 to 65535", quoted(address))
		}
	} else if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if strings.Contains(host, ":") {
		return fmt.Errorf("%s is neither \"host\" nor \"host:port\"", quoted(address))
	}
	if strings.Contains(host, "@") {
		return fmt.Errorf("%s: the account does not belong into the address; it is Host.User", quoted(address))
	}
	if reason := badName(host); reason != "" {
		return fmt.Errorf("%s: %s", quoted(address), reason)
	}
	return nil
}

// checkAgent asks the agent that Agent names. Without a name there may be none.
func (a *Auth) checkAgent(ctx context.Context) (*agentLink, error) {
	if strings.HasPrefix(a.Agent, "$") {
		if socket, _ := a.agentSocket(); socket == "" {
			return nil, errors.New("the environment variable that it names is not set, or empty")
		}
	}
	link, err := a.dial(ctx)
	if err != nil && (a.Agent == "" || a.Agent == "SSH_AUTH_SOCK") {
		return nil, nil
	}
	return link, err
}

// checkKeyFile says why a key file cannot be used.
func (a *Auth) checkKeyFile(ctx context.Context, link *agentLink, name string) error {
	k, err := openKeyFile(name)
	switch {
	case err != nil:
		return err
	case link.find(k.public) != nil, k.private != nil:
		return nil
	case k.err != nil:
		return &KeyFileError{File: k.file, Err: k.err}
	case a.Passphrase == nil:
		return &KeyFileError{File: k.file, Err: ErrEncrypted}
	}
	return k.unseal(ctx, a.Passphrase)
}

// checkHostKeys refuses sources of host keys that cannot be read, and those that
// name files of which none is there.
func (h *Host) checkHostKeys() error {
	c, err := h.HostKeys.check(h.address())
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "sshexec: "))
	}
	if len(h.HostKeys.Files) == 0 || h.HostKeys.Known != "" {
		return nil
	}
	for _, file := range c.files {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("none of %s is there, so that no key is trusted", quotedList(c.files))
}
