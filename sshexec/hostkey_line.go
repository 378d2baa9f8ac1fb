// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// The markers of a line of known_hosts.
const (
	markerAuthority = "cert-authority"
	markerRevoked   = "revoked"
)

// A hostLine is one line of a known_hosts file.
type hostLine struct {
	marker string // "", markerAuthority or markerRevoked
	hosts  []string
	key    ssh.PublicKey
	file   string
	number int
}

func (l *hostLine) known() KnownKey {
	return KnownKey{Type: l.key.Type(), Fingerprint: ssh.FingerprintSHA256(l.key), File: l.file, Line: l.number}
}

// parseHostLines reads a known_hosts file. A line that cannot be read is
// skipped, as the ssh program does: it makes no host known. But a marker that
// cannot be read is an error, since the line may revoke a key.
func parseHostLines(file string, data []byte) ([]hostLine, error) {
	var lines []hostLine
	number := 0
	for text := range bytes.Lines(data) {
		number++
		text = bytes.Trim(text, " \t\r\n")
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(text)
		if text[0] == '@' {
			word, _, _ := strings.Cut(strings.ReplaceAll(string(text[1:]), "\t", " "), " ")
			switch {
			case word != markerAuthority && word != markerRevoked:
				return nil, fmt.Errorf("%s:%d: the marker %s is not known; a line may begin with @cert-authority or @revoked", file, number, quoted("@"+word))
			case err != nil && word == markerRevoked && !otherKey(text):
				return nil, fmt.Errorf("%s:%d: the revoked key cannot be read", file, number)
			}
		}
		if err != nil || key == nil {
			continue
		}
		lines = append(lines, hostLine{marker: marker, hosts: hosts, key: key, file: file, number: number})
	}
	return lines, nil
}

// otherKey tells whether a line with a marker holds a whole key of a kind that
// is never negotiated: no server can present it.
func otherKey(text []byte) bool {
	fields := bytes.Fields(text)
	if len(fields) < 4 {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(string(fields[3]))
	if err != nil {
		return false
	}
	var name struct {
		Name string
		Rest []byte `ssh:"rest"`
	}
	if ssh.Unmarshal(blob, &name) != nil || name.Name != string(fields[2]) {
		return false
	}
	algorithms := ssh.SupportedAlgorithms()
	return !slices.Contains(algorithms.HostKeys, name.Name) && name.Name != ssh.KeyAlgoRSA
}

// matches tells whether the line is about the host of that name, which is in
// lower case and, for another port than 22, has the form [host]:port.
func (l *hostLine) matches(name string) bool {
	if len(l.hosts) == 1 && strings.HasPrefix(l.hosts[0], "|") {
		return matchHashed(l.hosts[0], name)
	}
	return matchList(l.hosts, name, true)
}

// matchHashed tells whether |1|salt|hash is the hash of the name.
func matchHashed(pattern, name string) bool {
	parts := strings.Split(pattern, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(salt) == 0 {
		return false
	}
	hash, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return hmac.Equal(mac.Sum(nil), hash)
}

// hostKeyNames are the names under which known_hosts may hold an address: with
// its port, and, second, without.
func hostKeyNames(host, port string) []string {
	host = strings.ToLower(host)
	if port == "" || port == "22" {
		return []string{host}
	}
	return []string{"[" + host + "]:" + port, host}
}

// splitAddress is host and port of an address whose port may be left out.
func splitAddress(address string) (host, port string) {
	if host, port, err := net.SplitHostPort(address); err == nil {
		return host, port
	}
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), "22"
}

// matchList tells whether a name matches one of the patterns and none of those
// that are negated by "!".
func matchList(patterns []string, name string, fold bool) bool {
	found := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if fold {
			p = strings.ToLower(p)
		}
		if p == "" || !matchPattern(p, name) {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// matchPattern tells whether a name matches a pattern in which "*" stands for
// any bytes and "?" for one.
func matchPattern(pattern, name string) bool {
	star, from := -1, 0 // the last "*", and where what it stands for ends
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
