// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// A policy is what the file says. All that it does not name is refused.
type policy struct {
	file string

	// SSHConfig are the files that say how to reach hosts without Address.
	// Nil means what the ssh program reads.
	SSHConfig []string `json:"sshConfig,omitempty"`

	// Hosts are the machines that may be reached. There is at least one.
	Hosts []hostEntry `json:"hosts"`

	// Commands are what may be run. Empty means nothing.
	Commands []commandEntry `json:"commands,omitempty"`

	// Paths are the directories and files that may be read. Empty means none.
	Paths []pathEntry `json:"paths,omitempty"`

	// TimeoutSeconds bounds each call. Zero means 60.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`

	// ConnectSeconds bounds making a connection. Zero means 15.
	ConnectSeconds int `json:"connectSeconds,omitempty"`
}

// A hostEntry is a machine. With Address it is described here; without, by
// ssh_config.
type hostEntry struct {
	// Name is what the model calls it.
	Name string `json:"name"`

	// Description tells the model what it is. Empty means nothing.
	Description string `json:"description,omitempty"`

	// Alias is its name in ssh_config. Empty means Name.
	Alias string `json:"alias,omitempty"`

	// Address is "host" or "host:port", for a host that ssh_config does not
	// describe. What follows, down to Via, belongs to such hosts only.
	Address string `json:"address,omitempty"`

	// User is the account there. Empty means the name of this process's user.
	User string `json:"user,omitempty"`

	// KeyFiles are private keys. Nil means those of ~/.ssh.
	KeyFiles []string `json:"keyFiles,omitempty"`

	// Agent is the socket of the agent; "none" means that there is none. Empty
	// means that of SSH_AUTH_SOCK.
	Agent string `json:"agent,omitempty"`

	// KnownHosts are the files with its host key. Nil means those of ssh.
	KnownHosts []string `json:"knownHosts,omitempty"`

	// Via is the name of another entry through which it is reached. Empty means
	// directly.
	Via string `json:"via,omitempty"`

	// JumpOnly says that the entry is for the Via of others, and that the model
	// does not see it.
	JumpOnly bool `json:"jumpOnly,omitempty"`

	// PassphraseEnv and PasswordEnv are the variables that hold the passphrase
	// of the key files and the account's password. Empty means that there is
	// none.
	PassphraseEnv string `json:"passphraseEnv,omitempty"`
	PasswordEnv   string `json:"passwordEnv,omitempty"`
}

// A commandEntry allows the commands that Argv matches.
type commandEntry struct {
	// Argv is the program and patterns for its arguments.
	Argv []string `json:"argv"`

	// Hosts are the names of the hosts where it may run. Nil means all.
	Hosts []string `json:"hosts,omitempty"`

	// Destructive says that it changes something there.
	Destructive bool `json:"destructive,omitempty"`
}

// A pathEntry allows to read a file, or a directory and all below it.
type pathEntry struct {
	// Path is absolute.
	Path string `json:"path"`

	// Hosts are the names of the hosts where it may be read. Nil means all.
	Hosts []string `json:"hosts,omitempty"`
}

func (p *policy) timeout() time.Duration {
	return time.Duration(p.TimeoutSeconds) * time.Second
}

// problems collects what is wrong with a policy, so that all of it is said at
// once.
type problems struct {
	file string
	all  []error
}

func (l *problems) add(field, format string, a ...any) {
	l.all = append(l.all, fmt.Errorf("%s: %s: %s", l.file, field, fmt.Sprintf(format, a...)))
}

func (l *problems) err() error { return errors.Join(l.all...) }

// maxPolicy is the most bytes of a policy.
const maxPolicy = 1 << 20

// readPolicy reads and checks a policy.
func readPolicy(file string) (*policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-policy: %w", err)
	}
	if len(data) > maxPolicy {
		return nil, fmt.Errorf("%s: %d bytes; a policy has at most %d", file, len(data), maxPolicy)
	}
	return parsePolicy(file, data)
}

// parsePolicy reads a policy strictly: a name that is not known, or that stands
// twice, is refused.
func parsePolicy(file string, data []byte) (*policy, error) {
	p := policy{file: file}
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return nil, decodeError(file, data, err)
	}
	if err := checkForm(file, data); err != nil {
		return nil, err
	}
	l := &problems{file: file}
	if p.TimeoutSeconds == 0 {
		p.TimeoutSeconds = 60
	}
	if p.TimeoutSeconds < 0 || p.TimeoutSeconds > 600 {
		l.add("timeoutSeconds", "has to be 1 to 600")
	}
	if p.ConnectSeconds < 0 || p.ConnectSeconds > 600 {
		l.add("connectSeconds", "has to be 1 to 600")
	}
	p.checkHosts(l)
	for i, c := range p.Commands {
		field := fmt.Sprintf("commands[%d]", i)
		p.checkNames(l, field, c.Hosts)
		if reason := checkArgv(c.Argv); reason != "" {
			l.add(field+".argv", "%s", reason)
		}
	}
	for i, e := range p.Paths {
		field := fmt.Sprintf("paths[%d]", i)
		p.checkNames(l, field, e.Hosts)
		switch {
		case !path.IsAbs(e.Path):
			l.add(field+".path", "%q is not absolute", e.Path)
		case climbs(e.Path) || strings.IndexByte(e.Path, 0) >= 0:
			l.add(field+".path", "%q has a part \"..\", or a NUL", e.Path)
		case strings.ContainsAny(e.Path, "*?["):
			l.add(field+".path", "%q: there are no wildcards in paths; a directory stands for all below it", e.Path)
		default:
			p.Paths[i].Path = path.Clean(e.Path)
		}
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return &p, nil
}

// checkForm checks a policy by the schema of its type, as a tool's arguments are
// checked, and says all that is wrong.
func checkForm(file string, data []byte) error {
	var form tool.Registry
	tool.AddFunc(&form, tool.Info{Name: "policy", Description: "Reads a policy."}, func(context.Context, policy) (string, error) { return "", nil })
	res, err := form.Call(context.Background(), "policy", data)
	if err != nil || !res.IsError {
		return err
	}
	var all []error
	for _, block := range res.Content {
		text, ok := block.(result.TextContent)
		if !ok {
			continue
		}
		for line := range strings.Lines(text.Text) {
			if fault, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "- "); ok {
				all = append(all, fmt.Errorf("%s: %s", file, fault))
			}
		}
	}
	return errors.Join(all...)
}

// decodeError says what is wrong with a file that cannot be decoded.
func decodeError(file string, data []byte, err error) error {
	if form := checkForm(file, data); form != nil {
		var code *tool.Error
		if !errors.As(form, &code) {
			return form
		}
	}
	// It is no JSON, or no object.
	offset := int64(-1)
	var bad *json.SemanticError
	var broken *jsontext.SyntacticError
	switch {
	case errors.As(err, &broken):
		offset, err = broken.ByteOffset, broken.Err
	case errors.As(err, &bad):
		return fmt.Errorf("%s: a policy is a JSON object, with \"hosts\" in it; see docs/ssh.md", file)
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset, err = int64(len(data)), errors.New("it ends too early")
	}
	if offset < 0 {
		return fmt.Errorf("%s: %w", file, err)
	}
	line := 1 + bytes.Count(data[:min(len(data), int(offset))], []byte("\n"))
	return fmt.Errorf("%s:%d: it is not JSON: %w", file, line, err)
}

// hostNames are what a model may call a host.
var hostNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// variables are names of environment variables.
var variables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *policy) checkHosts(l *problems) {
	seen := make(map[string]int)
	offered := 0
	for i, h := range p.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if !hostNames.MatchString(h.Name) {
			l.add(field+".name", "%q: a name has 1 to 63 letters, digits and . _ -, and begins with a letter or a digit", h.Name)
		} else if first, is := seen[h.Name]; is {
			l.add(field+".name", "%q is the name of hosts[%d] too", h.Name, first)
		} else {
			seen[h.Name] = i
		}
		if !h.JumpOnly {
			offered++
		}
		if len(h.Description) > 500 {
			l.add(field+".description", "has more than 500 bytes")
		}
		if h.Address == "" {
			for _, f := range []struct {
				name string
				set  bool
			}{{"user", h.User != ""}, {"keyFiles", h.KeyFiles != nil}, {"agent", h.Agent != ""}, {"knownHosts", h.KnownHosts != nil}, {"via", h.Via != ""}} {
				if f.set {
					l.add(field+"."+f.name, "belongs to a host with an address; for this one ssh_config says it")
				}
			}
		} else if h.Alias != "" {
			l.add(field+".alias", "a host has either an alias in ssh_config or an address")
		}
		for _, f := range []struct{ name, value string }{{"passphraseEnv", h.PassphraseEnv}, {"passwordEnv", h.PasswordEnv}} {
			if f.value != "" && !variables.MatchString(f.value) {
				// The value is not shown: it may be the secret itself.
				l.add(field+"."+f.name, "is not the name of an environment variable; the secret itself does not belong into this file")
			}
		}
	}
	if offered == 0 {
		l.add("hosts", "names no host that may be reached")
	}
	for i, h := range p.Hosts {
		if h.Via == "" {
			continue
		}
		field := fmt.Sprintf("hosts[%d].via", i)
		for at, steps := h.Via, 0; at != ""; steps++ {
			j, is := seen[at]
			if !is {
				l.add(field, "%q is not the name of a host in this file", at)
				break
			}
			if steps > len(p.Hosts) || j == i {
				l.add(field, "leads in a circle")
				break
			}
			at = p.Hosts[j].Via
		}
	}
}

// checkNames checks the hosts that an entry is for.
func (p *policy) checkNames(l *problems, field string, names []string) {
	if names != nil && len(names) == 0 {
		l.add(field+".hosts", "is empty; leave it out for all hosts")
	}
	for i, name := range names {
		at := slices.IndexFunc(p.Hosts, func(h hostEntry) bool { return h.Name == name })
		if at < 0 {
			l.add(fmt.Sprintf("%s.hosts[%d]", field, i), "%q is not the name of a host in this file", name)
		} else if p.Hosts[at].JumpOnly {
			l.add(fmt.Sprintf("%s.hosts[%d]", field, i), "%q is for jumps only", name)
		}
	}
}
