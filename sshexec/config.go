// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Config makes hosts from files in the format of ssh_config(5), as the ssh
// program would reach them. The zero Config reads ~/.ssh/config and the
// system's ssh_config. Files are read anew for each host.
//
// Of the options these are followed: Host, Match (all, final, canonical, host,
// originalhost, user, localuser, tagged), Include; HostName, Port, User,
// AddressFamily, ConnectTimeout, ServerAliveInterval, ServerAliveCountMax,
// ProxyJump; IdentityFile, CertificateFile, IdentityAgent, IdentitiesOnly,
// PubkeyAuthentication, PasswordAuthentication, KbdInteractiveAuthentication,
// PreferredAuthentications, BatchMode; UserKnownHostsFile,
// GlobalKnownHostsFile, HostKeyAlias; Ciphers, MACs, KexAlgorithms,
// HostKeyAlgorithms, PubkeyAcceptedAlgorithms, CASignatureAlgorithms,
// RequiredRSASize; Tag, IgnoreUnknown. Options that make no difference to where
// a connection leads and by what rules are ignored. All others, and values that
// cannot be followed (ProxyCommand, StrictHostKeyChecking no), are a
// [*ConfigError], if they are about the host that is asked for.
//
// A Config may be used by many goroutines at once, and must not be copied after
// its first use.
type Config struct {
	// Files are read in their order, and the first value of an option counts;
	// a leading "~/" is the home directory. Each has to be there. Nil means
	// ~/.ssh/config, which must belong to the user, and the system's, as far
	// as they are there.
	Files []string

	// Passphrase becomes Auth.Passphrase of each host. Nil means none. A
	// password is never taken from a file: set Auth.Password of the one host
	// that it is for.
	Passphrase func(ctx context.Context, file string) (string, error)

	mu    sync.Mutex // guards jumps
	jumps []*Host    // the hosts that others are reached through
}

// Host makes the host that the files describe for a name. It is new each time;
// the hosts that it is reached through (ProxyJump) are shared among the hosts of
// one Config, as long as the files say the same about them.
//
// Host.Name is the name. A name that no file mentions is an address, as for
// ssh, see [Config.Mentions]; who takes names from a model should look them up in
// a list first.
func (c *Config) Host(alias string) (*Host, error) {
	return c.host(hop{alias: alias}, nil)
}

// Mentions reports whether the files have something to say about a name: whether
// it matches a Host line, or a Match line by host or originalhost, with a pattern
// that is not just "*".
func (c *Config) Mentions(alias string) (bool, error) {
	if reason := badName(alias); reason != "" {
		return false, &ConfigError{Host: alias, Reason: reason}
	}
	u, err := c.lookup(hop{alias: alias})
	if err != nil {
		return false, err
	}
	return u.named, nil
}

// host makes the host of a hop; trail are the hops that lead to asking for it.
func (c *Config) host(at hop, trail []hop) (*Host, error) {
	h, err := c.describe(at, trail)
	var bad *ConfigError
	if errors.As(err, &bad) && bad.Host == "" {
		bad.Host = at.alias
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (c *Config) describe(at hop, trail []hop) (*Host, error) {
	if reason := badName(at.alias); reason != "" {
		return nil, &ConfigError{Reason: reason}
	}
	u, err := c.lookup(at)
	if err != nil {
		return nil, err
	}
	for _, l := range slices.Concat(u.keys, u.certs) {
		if err := u.judge(strings.ToLower(l.option), l); err != nil {
			return nil, err
		}
	}
	for option, l := range u.sorted() {
		if err := u.judge(option, l); err != nil {
			return nil, err
		}
	}
	h := &Host{Name: at.String()}
	if err := u.connection(h); err != nil {
		return nil, err
	}
	if err := u.algorithms(h); err != nil {
		return nil, err
	}
	host, port := splitAddress(h.Address)
	tokens := u.tokens(host, port)
	if err := u.hostKeys(h, tokens); err != nil {
		return nil, err
	}
	if err := u.auth(h, tokens); err != nil {
		return nil, err
	}
	h.Auth.Passphrase = c.Passphrase
	if at.via != nil {
		h.Via = at.via
	} else if l, ok := u.set["proxyjump"]; ok {
		if h.Via, err = c.via(l, append(trail, at)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// badName says why a name cannot be looked up.
func badName(alias string) string {
	switch {
	case alias == "" || len(alias) > 255:
		return "a host's name has 1 to 255 bytes"
	case strings.HasPrefix(alias, "-"):
		return "a host's name does not begin with -"
	case strings.ContainsFunc(alias, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("/\\@'\"`$;&<>|(){}*?!,%", r)
	}):
		return "a host's name has no spaces and none of / \\ @ ' \" ` $ ; & < > | ( ) { } * ? ! , %"
	}
	return ""
}

// connection follows what says where to connect, and how long to wait.
func (u *lookup) connection(h *Host) error {
	name, err := u.hostName()
	if err != nil {
		return err
	}
	if reason := badName(name); reason != "" {
		return u.set["hostname"].at("%s: %s", quoted(name), reason)
	}
	port, err := u.number("port", 1, 65535)
	if err != nil {
		return err
	}
	if port == 0 {
		port = 22
	}
	h.Address = net.JoinHostPort(strings.ToLower(strings.Trim(name, "[]")), strconv.Itoa(port))
	if l, ok := u.set["user"]; ok {
		if strings.ContainsAny(l.args[0], "%$") || strings.HasPrefix(l.args[0], "-") {
			return l.at("%s: tokens and variables are not supported in a user's name, nor is a - in front", quoted(l.args[0]))
		}
		h.User = l.args[0]
	}
	if l, ok := u.set["addressfamily"]; ok {
		network, ok := map[string]string{"any": "", "inet": "tcp4", "inet6": "tcp6"}[strings.ToLower(l.args[0])]
		if !ok {
			return l.at("%s is not any, inet or inet6", quoted(l.args[0]))
		}
		h.Network = network
	}
	if h.ConnectTimeout, err = u.seconds("connecttimeout"); err != nil {
		return err
	}
	if h.Keepalive, err = u.seconds("serveraliveinterval"); err != nil {
		return err
	}
	h.KeepaliveMisses, err = u.number("serveralivecountmax", 0, 1<<30)
	return err
}

// hostKeys follows what says which host keys are trusted.
func (u *lookup) hostKeys(h *Host, tokens map[byte]string) error {
	for _, o := range []struct {
		option string
		to     *[]string
	}{{"userknownhostsfile", &h.HostKeys.Files}, {"globalknownhostsfile", &h.HostKeys.GlobalFiles}} {
		l, ok := u.set[o.option]
		if !ok {
			continue
		}
		*o.to = []string{}
		for _, arg := range l.args {
			if strings.EqualFold(arg, "none") {
				continue
			}
			file, err := u.file(l, arg, tokens)
			if err != nil {
				return err
			}
			*o.to = append(*o.to, file)
		}
	}
	if l, ok := u.set["hostkeyalias"]; ok {
		h.HostKeys.Alias = l.args[0]
	}
	return nil
}

// auth follows what says how to authenticate.
func (u *lookup) auth(h *Host, tokens map[byte]string) (err error) {
	a := &h.Auth
	for _, o := range []struct {
		lines []configLine
		to    *[]string
	}{{u.keys, &a.KeyFiles}, {u.certs, &a.CertFiles}} {
		if o.lines != nil {
			*o.to = []string{}
		}
		for _, l := range o.lines {
			if strings.EqualFold(l.args[0], "none") {
				continue
			}
			file, err := u.file(l, l.args[0], tokens)
			if err != nil {
				return err
			}
			*o.to = append(*o.to, file)
		}
	}
	if a.IdentitiesOnly, err = u.flag("identitiesonly", false); err != nil {
		return err
	}
	if l, ok := u.set["identityagent"]; ok {
		a.Agent = l.args[0]
		plainVariable := strings.HasPrefix(a.Agent, "$") && !strings.HasPrefix(a.Agent, "${")
		if a.Agent != "SSH_AUTH_SOCK" && !strings.EqualFold(a.Agent, "none") && !plainVariable {
			if a.Agent, err = u.file(l, a.Agent, tokens); err != nil {
				return err
			}
		}
	}
	return u.authMethods(a)
}

// authMethods follows what says by which methods, and in which order.
func (u *lookup) authMethods(a *Auth) error {
	all, _ := new(Auth).methods()
	methods := all
	if l, ok := u.set["preferredauthentications"]; ok {
		methods = nil
		for _, m := range strings.Split(l.args[0], ",") {
			if slices.Contains(all, m) && !slices.Contains(methods, m) {
				methods = append(methods, m)
			}
		}
	}
	batch, err := u.flag("batchmode", false)
	if err != nil {
		return err
	}
	off := make(map[string]bool)
	for method, o := range map[string]struct {
		option string
		yes    []string
	}{
		methodPublicKey:   {"pubkeyauthentication", []string{"unbound", "host-bound"}},
		methodInteractive: {"kbdinteractiveauthentication", nil},
		methodPassword:    {"passwordauthentication", nil},
	} {
		on, err := u.flag(o.option, true, o.yes...)
		if err != nil {
			return err
		}
		off[method] = !on || batch && method != methodPublicKey
	}
	methods = slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return off[m] })
	if !slices.Equal(methods, all) {
		a.Methods = append([]string{}, methods...)
	}
	return nil
}
