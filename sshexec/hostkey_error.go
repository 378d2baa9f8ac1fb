// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A KnownKey is a host key, or the key of an authority, that a known_hosts file
// holds.
type KnownKey struct {
	// Type is the key's type, such as "ssh-ed25519".
	Type string

	// Fingerprint is "SHA256:" and the hash of the key, as ssh-keygen -l shows it.
	Fingerprint string

	// File and Line are where it stands. File is "HostKeys.Known" for a key
	// that was given there.
	File string
	Line int
}

func (k KnownKey) String() string {
	return fmt.Sprintf("%s %s (%s:%d)", k.Type, k.Fingerprint, k.File, k.Line)
}

// An UnknownHostError says that no known_hosts file holds a key for the host.
// Nothing was sent to it.
type UnknownHostError struct {
	// Address is the host and port that were asked for, and Name what
	// known_hosts would have to call it.
	Address, Name string

	// KeyType and Fingerprint are the key that the server offered.
	KeyType, Fingerprint string

	// Files are the files that were searched, in their order; the first one is
	// where a line may be added.
	Files []string
}

func (e *UnknownHostError) Error() string {
	to := "known_hosts"
	if len(e.Files) > 0 {
		to = e.Files[0]
	}
	return fmt.Sprintf("sshexec: the host key of %s is not known: it offers %s %s, and no known_hosts file has a key for %s. "+
		"A person has to compare this fingerprint with the server's own (ssh-keygen -lf on the server's .pub file) and then add the key to %s, for example with ssh-keyscan",
		e.Address, e.KeyType, e.Fingerprint, e.Name, to)
}

// A ChangedHostKeyError says that the server's key is not the one that is
// known: the server was set up anew, or somebody else answers in its place.
// Nothing was sent to it.
type ChangedHostKeyError struct {
	// Address is the host and port that were asked for, and Name what
	// known_hosts calls it.
	Address, Name string

	// KeyType and Fingerprint are the key that the server offered; both are
	// empty when it has none of a type that is known for it.
	KeyType, Fingerprint string

	// ServerTypes are the types that the server has, when it has none of those
	// that are known.
	ServerTypes []string

	// Known are the keys that are known for the host. There is at least one.
	Known []KnownKey
}

func (e *ChangedHostKeyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sshexec: the host key of %s has changed: ", e.Address)
	if e.Fingerprint != "" {
		fmt.Fprintf(&b, "it offers %s %s", e.KeyType, e.Fingerprint)
	} else {
		fmt.Fprintf(&b, "it has only keys of other types (%s)", quotedList(e.ServerTypes))
	}
	b.WriteString(", known is ")
	for i, k := range e.Known {
		if i == 4 {
			fmt.Fprintf(&b, " and %d more", len(e.Known)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.String())
	}
	b.WriteString(". Somebody may be answering in the server's place: do not connect. If its administrator confirms the new key, a person has to replace the known line")
	return b.String()
}

// A RevokedHostKeyError says that the server offers a key that a known_hosts
// file marks as @revoked, or a certificate of an authority that is. A revoked
// key is refused for every host, whichever the line names.
type RevokedHostKeyError struct {
	// Address is the host and port that were asked for.
	Address string

	// Revoked is the key and where it is revoked.
	Revoked KnownKey
}

func (e *RevokedHostKeyError) Error() string {
	return fmt.Sprintf("sshexec: the host key of %s is revoked: %s %s, by %s:%d. Whoever holds this key must not be trusted: do not connect, and tell the server's administrator",
		e.Address, e.Revoked.Type, e.Revoked.Fingerprint, e.Revoked.File, e.Revoked.Line)
}

// A HostCertificateError says that an authority is known for the host, and that
// the server has no valid certificate of it, nor a key that is known itself.
type HostCertificateError struct {
	// Address is the host and port that were asked for, and Name what the
	// certificate has to be made out to.
	Address, Name string

	// KeyType and Fingerprint are the server's key, without its certificate;
	// both are empty when it has no certificate.
	KeyType, Fingerprint string

	// Reason says what is wrong.
	Reason string

	// Authorities are the keys of the authorities that are known for the host.
	Authorities []KnownKey
}

func (e *HostCertificateError) Error() string {
	key := ""
	if e.Fingerprint != "" {
		key = fmt.Sprintf(" for %s %s", e.KeyType, e.Fingerprint)
	}
	from := ""
	if len(e.Authorities) > 0 {
		from = " of " + e.Authorities[0].String()
		if n := len(e.Authorities) - 1; n > 0 {
			from += fmt.Sprintf(" or %d more", n)
		}
	}
	return fmt.Sprintf("sshexec: %s has no valid host certificate%s: %s. The server needs a certificate%s that names %s; its administrator has to renew it",
		e.Address, key, e.Reason, from, e.Name)
}

// quoted is text from elsewhere as a short quoted string.
func quoted(s string) string { return strconv.QuoteToGraphic(bounded(s, 100)) }

// quotedList is what a server lists, as a short text.
func quotedList(list []string) string {
	var b strings.Builder
	for i, s := range list {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(plain(s, 60))
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}

// plain is text from elsewhere without what a terminal or a reader could take
// for more than text, and not longer than limit bytes.
func plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	return bounded(s, limit)
}

// bounded is the beginning of s, of at most limit bytes and a sign that it goes on.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
