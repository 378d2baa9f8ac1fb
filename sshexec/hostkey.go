// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// maxHostKeyFile bounds a known_hosts file, in bytes.
const maxHostKeyFile = 32 << 20

// HostKeys says which host keys are trusted. A key that none of its sources
// holds is refused, and there is no way to accept any key: the zero HostKeys
// trusts what the ssh program trusts, without asking. The files are read anew
// for each connection.
//
// The files have the format of known_hosts (sshd(8)): plain and hashed names,
// patterns, [host]:port, several keys of several types for a host, @revoked and
// @cert-authority. A line without a port counts for another port than 22 too,
// as long as no line names that port.
type HostKeys struct {
	// Files are known_hosts files; a leading "~/" is the home directory. One
	// that does not exist holds no keys. Nil means ~/.ssh/known_hosts and
	// ~/.ssh/known_hosts2.
	Files []string

	// GlobalFiles are searched after Files. Nil means the system's:
	// /etc/ssh/ssh_known_hosts and /etc/ssh/ssh_known_hosts2.
	GlobalFiles []string

	// Known are further lines of known_hosts, for keys that come from
	// elsewhere than a file. Empty means none.
	Known string

	// Alias is the name to look up, and that a host certificate must hold,
	// instead of the host's own name and port. Empty means the host's own.
	Alias string

	// Algorithms are the host key algorithms that may be used, as in
	// ssh_config's HostKeyAlgorithms, the preferred one first. Of these, those
	// are offered to the server for which there is a known key; all, when none
	// is known, so that the error can name a fingerprint. Nil means all that
	// are safe.
	Algorithms []string

	// AuthorityAlgorithms are the algorithms by which an authority may have
	// signed a host certificate. Nil means all that are safe: SHA-1 is not.
	AuthorityAlgorithms []string

	// MinRSABits is the least size of an RSA host key, in bits. Zero or less
	// means 1024, as for ssh.
	MinRSABits int
}

// hostKeyAlgorithms are the algorithms that are safe, the preferred one first:
// certificates, then as in OpenSSH.
var hostKeyAlgorithms = preferred(ssh.SupportedAlgorithms().HostKeys)

func preferred(supported []string) []string {
	order := []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	rank := func(algorithm string) int {
		if i := slices.Index(order, algorithm); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(supported, func(a, b string) int { return rank(a) - rank(b) })
	return supported
}

// isCertificate tells whether an algorithm is that of certificates.
func isCertificate(algorithm string) bool { return strings.Contains(algorithm, "-cert-v0") }

// keyType is the type of the keys that an algorithm signs with.
func keyType(algorithm string) string {
	switch algorithm {
	case ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512:
		return ssh.KeyAlgoRSA
	}
	return algorithm
}

// A hostKeyCheck is the rule for one connection.
type hostKeyCheck struct {
	keys       *HostKeys
	address    string
	name       string // in known_hosts
	principal  string // in a certificate
	files      []string
	plain      []hostLine // the known keys
	loose      []hostLine // those of the same host without its port
	authority  []hostLine // whose certificates are accepted
	revoked    []hostLine
	algorithms []string
}

// check reads the files and makes the rule for a connection to address, which
// is a host, or host:port, as it was asked for.
func (k *HostKeys) check(address string) (*hostKeyCheck, error) {
	host, port := splitAddress(address)
	c := &hostKeyCheck{keys: k, address: net.JoinHostPort(host, port), principal: strings.ToLower(host)}
	names := hostKeyNames(host, port)
	if k.Alias != "" {
		names = []string{strings.ToLower(k.Alias)}
		c.principal = names[0]
	}
	c.name = names[0]

	lines, err := k.lines(c)
	if err != nil {
		return nil, err
	}
	var looseAuthority []hostLine
	for _, l := range lines {
		switch {
		case l.marker == markerRevoked:
			c.revoked = append(c.revoked, l)
		case l.marker == "" && !slices.ContainsFunc(hostKeyAlgorithms, func(a string) bool { return keyType(a) == l.key.Type() }):
			// A security key, or another that no server can use with us.
		case l.matches(names[0]):
			if l.marker == markerAuthority {
				c.authority = append(c.authority, l)
			} else {
				c.plain = append(c.plain, l)
			}
		case len(names) > 1 && l.matches(names[1]):
			if l.marker == markerAuthority {
				looseAuthority = append(looseAuthority, l)
			} else {
				c.loose = append(c.loose, l)
			}
		}
	}
	if len(c.plain) > 0 || len(c.authority) > 0 {
		c.loose = nil
	} else {
		c.authority = looseAuthority
	}
	if c.algorithms = c.offer(); len(c.algorithms) == 0 {
		return nil, fmt.Errorf("sshexec: none of HostKeys.Algorithms (%s) can be used for %s; known are %s", quotedList(k.Algorithms), c.address, quotedList(c.types()))
	}
	return c, nil
}

// lines are the lines of all sources.
func (k *HostKeys) lines(c *hostKeyCheck) ([]hostLine, error) {
	lines, err := parseHostLines("HostKeys.Known", []byte(k.Known))
	if err != nil {
		return nil, fmt.Errorf("sshexec: %w", err)
	}
	user, global := k.Files, k.GlobalFiles
	if user == nil {
		user = []string{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}
	}
	if global == nil {
		global = systemHostKeyFiles()
	}
	for _, name := range slices.Concat(user, global) {
		file, err := expandHome(name)
		if err != nil {
			return nil, fmt.Errorf("sshexec: known_hosts file %s: %w", name, err)
		}
		c.files = append(c.files, file)
		data, err := readFile(file, maxHostKeyFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("sshexec: known_hosts file %w", err)
		}
		more, err := parseHostLines(file, data)
		if err != nil {
			return nil, fmt.Errorf("sshexec: known_hosts file %w", err)
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// offer is which algorithms the server may choose from. The transport stops at
// the first one that both sides have, so one more than is known would let a
// server that is known by one key be refused for another.
func (c *hostKeyCheck) offer() []string {
	allowed := c.keys.Algorithms
	if allowed == nil {
		allowed = hostKeyAlgorithms
	}
	held := func(lines []hostLine) (out []string) {
		for _, a := range allowed {
			if slices.ContainsFunc(lines, func(l hostLine) bool { return l.key.Type() == keyType(a) }) {
				out = append(out, a)
			}
		}
		return out
	}
	var out []string
	if len(c.authority) > 0 {
		for _, a := range allowed {
			if isCertificate(a) {
				out = append(out, a)
			}
		}
	}
	if len(c.plain) > 0 {
		return append(out, held(c.plain)...)
	}
	// Nothing is known for this port: what is known for the host comes first.
	out = append(out, held(c.loose)...)
	if len(c.authority) == 0 {
		for _, a := range allowed {
			if !isCertificate(a) && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// types are the types of the known keys.
func (c *hostKeyCheck) types() (types []string) {
	for _, l := range slices.Concat(c.plain, c.loose) {
		if t := l.key.Type(); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(c.authority) > 0 {
		types = append(types, "certificates")
	}
	return types
}

// callback is the ssh.HostKeyCallback. The address it is handed is that of the
// socket, which for a host behind another means nothing.
func (c *hostKeyCheck) callback(_ string, _ net.Addr, key ssh.PublicKey) error {
	bare := key
	cert, _ := key.(*ssh.Certificate)
	if cert != nil {
		bare = cert.Key
	}
	if err := c.checkRevoked(key, bare); err != nil {
		return err
	}
	if bits := rsaBits(bare); bits > 0 && bits < c.keys.MinRSABits {
		return fmt.Errorf("sshexec: the host key of %s is an RSA key of %d bits, and at least %d are asked for", c.address, bits, c.keys.MinRSABits)
	}
	reason := ""
	if cert != nil {
		if reason = c.checkCertificate(cert); reason == "" {
			return nil
		}
		// As ssh does: the key may be known without its certificate.
	}
	same := func(l hostLine) bool { return bytes.Equal(l.key.Marshal(), bare.Marshal()) }
	kind, print := bare.Type(), ssh.FingerprintSHA256(bare)
	switch {
	case slices.ContainsFunc(c.plain, same) || slices.ContainsFunc(c.loose, same):
		return nil
	case len(c.plain) > 0:
		return &ChangedHostKeyError{Address: c.address, Name: c.name, KeyType: kind, Fingerprint: print, Known: known(c.plain)}
	case reason != "":
		return &HostCertificateError{Address: c.address, Name: c.principal, KeyType: kind, Fingerprint: print, Reason: reason, Authorities: known(c.authority)}
	}
	return &UnknownHostError{Address: c.address, Name: c.name, KeyType: kind, Fingerprint: print, Files: c.files}
}

func known(lines []hostLine) (out []KnownKey) {
	for _, l := range lines {
		out = append(out, l.known())
	}
	return out
}

// checkRevoked refuses a key, or a certificate's key or authority, that any
// line revokes.
func (c *hostKeyCheck) checkRevoked(key, bare ssh.PublicKey) error {
	keys := []ssh.PublicKey{key, bare}
	if cert, ok := key.(*ssh.Certificate); ok {
		keys = append(keys, cert.SignatureKey)
	}
	for _, l := range c.revoked {
		revoked := l.key
		if cert, ok := revoked.(*ssh.Certificate); ok {
			revoked = cert.Key
		}
		for _, k := range keys {
			if bytes.Equal(k.Marshal(), revoked.Marshal()) {
				return &RevokedHostKeyError{Address: c.address, Revoked: l.known()}
			}
		}
	}
	return nil
}

// checkCertificate says what is wrong with a certificate; nothing when it is
// one of an authority that is known for the host.
func (c *hostKeyCheck) checkCertificate(cert *ssh.Certificate) string {
	if cert.CertType != ssh.HostCert {
		return "it is not a host certificate"
	}
	same := func(l hostLine) bool { return bytes.Equal(l.key.Marshal(), cert.SignatureKey.Marshal()) }
	if !slices.ContainsFunc(c.authority, same) {
		return "it is signed by another authority, " + ssh.FingerprintSHA256(cert.SignatureKey)
	}
	if bits := rsaBits(cert.SignatureKey); bits > 0 && bits < c.keys.MinRSABits {
		return fmt.Sprintf("its authority is an RSA key of only %d bits", bits)
	}
	allowed := c.keys.AuthorityAlgorithms
	if allowed == nil {
		allowed = authorityAlgorithms
	}
	if !slices.Contains(allowed, cert.Signature.Format) {
		return "it is signed by the algorithm " + plain(cert.Signature.Format, 40) + ", which is not allowed"
	}
	var checker ssh.CertChecker
	if err := checker.CheckCert(c.principal, cert); err != nil {
		return plain(strings.TrimPrefix(err.Error(), "ssh: "), 200)
	}
	return ""
}

// authorityAlgorithms are those by which an authority may sign, SHA-1 not among
// them.
var authorityAlgorithms = slices.DeleteFunc(append(ssh.SupportedAlgorithms().PublicKeyAuths, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256),
	func(a string) bool { return a == ssh.KeyAlgoRSA || isCertificate(a) })

// failure is the error of a handshake as what it means: that of the host key, or
// that the server has no key of a type that is known; else err.
func (c *hostKeyCheck) failure(err error) error {
	var unknown *UnknownHostError
	var changed *ChangedHostKeyError
	var revoked *RevokedHostKeyError
	var certificate *HostCertificateError
	switch {
	case errors.As(err, &unknown):
		return unknown
	case errors.As(err, &changed):
		return changed
	case errors.As(err, &revoked):
		return revoked
	case errors.As(err, &certificate):
		return certificate
	}
	var no *ssh.AlgorithmNegotiationError
	if !errors.As(err, &no) || !slices.Equal(no.SupportedAlgorithms, c.algorithms) {
		return err
	}
	if len(c.plain) == 0 {
		if len(c.authority) == 0 {
			return err
		}
		return &HostCertificateError{Address: c.address, Name: c.principal, Reason: "it offers none", Authorities: known(c.authority)}
	}
	var types []string
	for _, a := range no.RequestedAlgorithms {
		if t := keyType(a); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return &ChangedHostKeyError{Address: c.address, Name: c.name, ServerTypes: types, Known: known(c.plain)}
}
