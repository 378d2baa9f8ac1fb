// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/sshexec"
)

// A permission is what the command line allows beyond the policy's safe part.
type permission struct {
	destructive bool // commands that are marked as such
	any         bool // all commands
}

// A machine is a host with what may be done there.
type machine struct {
	name, description string
	commands          []command // in the order of the policy
	paths             []string  // absolute and clean
}

// A fleet is all that may be reached.
type fleet struct {
	may      permission
	machines []machine // in the order of the policy
	timeout  time.Duration
	pool     *sshexec.Pool
	hosts    map[string]*sshexec.Host // by name; those for jumps too
	secrets  []string                 // what must not be seen in outputs

	unmentioned map[string]bool // names that are addresses, since ssh_config has no line for them

	log *slog.Logger

	cursors
}

// newFleet makes the hosts of a policy. Nothing is connected yet.
func newFleet(p *policy, may permission) (*fleet, error) {
	f := &fleet{may: may, timeout: p.timeout(), hosts: make(map[string]*sshexec.Host), unmentioned: make(map[string]bool), log: slog.New(slog.DiscardHandler)}
	f.pool = &sshexec.Pool{Open: func(name string) (*sshexec.Host, error) { return f.hosts[name], nil }}
	l := &problems{file: p.file}
	config := &sshexec.Config{Files: p.SSHConfig}
	secrets := make(map[string]string) // by variable
	configured := checkConfigs(p, l)
	for i, e := range p.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if e.Address == "" && !configured {
			continue // what is wrong is said
		}
		h, err := f.host(&e, config)
		if err != nil {
			l.add(field, "%v", err)
			continue
		}
		h.Name = e.Name
		if p.ConnectSeconds > 0 {
			h.ConnectTimeout = time.Duration(p.ConnectSeconds) * time.Second
		}
		if s := f.secret(l, secrets, field+".passphraseEnv", e.PassphraseEnv); s != "" {
			h.Auth.Passphrase = func(context.Context, string) (string, error) { return s, nil }
		}
		if s := f.secret(l, secrets, field+".passwordEnv", e.PasswordEnv); s != "" {
			h.Auth.Password = sshexec.Secret(s)
		}
		if e.Address != "" {
			checkHost(h, l, field)
		}
		f.hosts[e.Name] = h
		if !e.JumpOnly {
			f.machines = append(f.machines, p.machine(e))
		}
	}
	for name := range secrets {
		os.Unsetenv(name) // nothing that is started inherits it
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	for _, e := range p.Hosts {
		f.hosts[e.Name].Pool = f.pool
		if e.Via != "" {
			f.hosts[e.Name].Via = f.hosts[e.Via]
		}
	}
	return f, nil
}

// checkConfigs reports whether the files of sshConfig are there.
func checkConfigs(p *policy, l *problems) bool {
	ok := true
	for i, file := range p.SSHConfig {
		if _, err := (&sshexec.Config{Files: []string{file}}).Mentions("any"); errors.Is(err, fs.ErrNotExist) {
			l.add(fmt.Sprintf("sshConfig[%d]", i), "%v", err)
			ok = false
		}
	}
	return ok
}

// host makes the host of an entry.
func (f *fleet) host(e *hostEntry, config *sshexec.Config) (*sshexec.Host, error) {
	if e.Address == "" {
		alias := e.Alias
		if alias == "" {
			alias = e.Name
		}
		known, err := config.Mentions(alias)
		switch {
		case err != nil:
			return nil, err
		case !known && e.Alias != "":
			return nil, fmt.Errorf("alias: no Host line of ssh_config is about %q", alias)
		case !known:
			f.unmentioned[e.Name] = true
		}
		return config.Host(alias)
	}
	h := &sshexec.Host{Address: e.Address, User: e.User}
	h.Auth = sshexec.Auth{Agent: e.Agent, KeyFiles: e.KeyFiles}
	h.HostKeys = sshexec.HostKeys{Files: e.KnownHosts}
	if e.KnownHosts != nil {
		h.HostKeys.GlobalFiles = []string{}
	}
	return h, nil
}

// checkTime is how long the agents and the key files of a host may take.
const checkTime = 5 * time.Second

// checkHost says what can be found wrong with a host without connecting to it,
// by the names of the policy's fields.
func checkHost(h *sshexec.Host, l *problems, field string) {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	joined, _ := h.Check(ctx).(interface{ Unwrap() []error })
	if joined == nil {
		return
	}
	for _, err := range joined.Unwrap() {
		name, reason := field, err
		if bad := new(sshexec.FieldError); errors.As(err, &bad) {
			name, reason = field+"."+fieldNames.Replace(bad.Field), bad.Err
		}
		l.add(name, "%s", strings.ReplaceAll(strings.TrimPrefix(reason.Error(), "sshexec: "), "Host.User", "user"))
	}
}

// fieldNames are the fields of a policy for those of an sshexec.Host.
var fieldNames = strings.NewReplacer("Auth.KeyFiles", "keyFiles", "Auth.Agent", "agent", "HostKeys", "knownHosts", "Address", "address")

// maxSecret is the most bytes of a secret.
const maxSecret = 1024

// secret takes a secret out of a variable.
func (f *fleet) secret(l *problems, seen map[string]string, field, variable string) string {
	if variable == "" {
		return ""
	}
	if s, ok := seen[variable]; ok {
		return s
	}
	s := os.Getenv(variable)
	switch {
	case s == "":
		// Its name is not shown: it may be the secret itself.
		l.add(field, "the environment variable that it names is not set, or empty")
	case len(s) > maxSecret || strings.ContainsAny(s, "\n\x00"):
		l.add(field, "what the environment variable holds that it names is longer than %d bytes, or has a line break", maxSecret)
	default:
		f.secrets = append(f.secrets, s)
	}
	seen[variable] = s
	return s
}

// machine is what the policy allows on a host.
func (p *policy) machine(e hostEntry) machine {
	m := machine{name: e.Name, description: e.Description}
	here := func(hosts []string) bool { return hosts == nil || slices.Contains(hosts, e.Name) }
	for _, c := range p.Commands {
		if here(c.Hosts) {
			m.commands = append(m.commands, command{c.Argv, c.Destructive})
		}
	}
	for _, r := range p.Paths {
		if here(r.Hosts) {
			m.paths = append(m.paths, r.Path)
		}
	}
	return m
}

// logTo has connections and refusals logged.
func (f *fleet) logTo(log *slog.Logger) {
	f.log = log
	for _, h := range f.hosts {
		h.Log = log
	}
}

// close closes all connections.
func (f *fleet) close() {
	f.pool.Close()
	for _, h := range f.hosts {
		for ; h != nil; h = h.Via {
			h.Close()
		}
	}
}

// machine finds a host that a model names.
func (f *fleet) machine(name string) (*machine, error) {
	for i := range f.machines {
		if f.machines[i].name == name {
			return &f.machines[i], nil
		}
	}
	names := make([]string, len(f.machines))
	for i, m := range f.machines {
		names[i] = m.name
	}
	return nil, fmt.Errorf("host: %s may not be reached from here. These may: %s", quote(name), list(names, ", ", 1500))
}

// reach returns the connection's end of a machine.
func (f *fleet) reach(m *machine) (*sshexec.Host, error) {
	return f.pool.Host(m.name)
}

// hide takes the secrets out of a text.
func (f *fleet) hide(text string) string {
	for _, s := range f.secrets {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	return text
}

// explain makes of an error of sshexec what a model can act on. What only the
// operator can is in the log.
func (f *fleet) explain(m *machine, err error) error {
	var (
		auth    *sshexec.AuthError
		unknown *sshexec.UnknownHostError
		changed *sshexec.ChangedHostKeyError
		revoked *sshexec.RevokedHostKeyError
		cert    *sshexec.HostCertificateError
	)
	who := m.name
	if hop := failedHop(err); hop != "" && hop != m.name {
		who += " is reached through another machine, and there it fails"
	}
	key := func(what, fingerprint string) error {
		f.log.Error("host key refused", "host", m.name, "error", err)
		if fingerprint != "" {
			what += " (it offers " + fingerprint + ")"
		}
		return fmt.Errorf("%s: %s. Nothing was sent to it. Only the operator of this server can put that right: tell them; do not try again", who, what)
	}
	switch {
	case errors.As(err, &auth):
		f.log.Error("not let in", "host", m.name, "error", err)
		return fmt.Errorf("%s: the host does not let this server in. Nothing that can be said here changes that: tell the operator, whose log says what was tried", who)
	case errors.As(err, &changed):
		return key("the host key is not the one that is known, so another machine may answer in its place", changed.Fingerprint)
	case errors.As(err, &unknown):
		return key("the host key is not known, so the host was not trusted", unknown.Fingerprint)
	case errors.As(err, &revoked):
		return key("the host key is revoked", "")
	case errors.As(err, &cert):
		return key("the host has no valid certificate", cert.Fingerprint)
	}
	return err
}

// failedHop is the machine on the way at which an error arose.
func failedHop(err error) (name string) {
	for e := new(sshexec.Error); errors.As(err, &e); err = e.Err {
		name = e.Host
	}
	return name
}

// describe is what -check prints.
func (f *fleet) describe() string {
	var b strings.Builder
	for i, m := range f.machines {
		h := f.hosts[m.name]
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s", m.name, h.Address)
		if h.User != "" {
			fmt.Fprintf(&b, ", as %s", h.User)
		}
		if f.unmentioned[m.name] {
			b.WriteString(" (an address: ssh_config does not mention it)")
		}
		for via := h.Via; via != nil; via = via.Via {
			fmt.Fprintf(&b, ", via %s", via.Name)
		}
		b.WriteString("\n")
		for _, c := range m.commands {
			note := ""
			if c.destructive && !f.may.destructive && !f.may.any {
				note = "   (only with -destructive)"
			} else if c.destructive {
				note = "   (destructive)"
			}
			fmt.Fprintf(&b, "  run   %s%s\n", c.String(), note)
		}
		if f.may.any {
			b.WriteString("  run   any command (-allow-any-command)\n")
		}
		for _, p := range m.paths {
			fmt.Fprintf(&b, "  read  %s\n", p)
		}
	}
	return b.String()
}
