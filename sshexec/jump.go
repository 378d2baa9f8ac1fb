// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// maxHops is how many hosts a host may be reached through.
const maxHops = 16

// A hop is a host as ProxyJump names it: what stands there comes before what
// the files say.
type hop struct {
	user, alias, port string
	via               *Host // the hop before it; nil for what the files say
}

// String is the hop as one would write it.
func (h hop) String() string {
	s := h.alias
	if h.port != "" {
		s = net.JoinHostPort(h.alias, h.port)
	}
	if h.user != "" {
		s = h.user + "@" + s
	}
	return s
}

// same tells whether two hops ask for the same thing.
func (h hop) same(other hop) bool {
	return h.user == other.user && h.alias == other.alias && h.port == other.port
}

// parseHops takes the value of ProxyJump apart: [user@]host[:port] or
// ssh://[user@]host[:port], several of them between commas, the nearest first.
func parseHops(l configLine) ([]hop, error) {
	if strings.EqualFold(l.args[0], "none") {
		return nil, nil
	}
	var hops []hop
	for _, text := range strings.Split(l.args[0], ",") {
		rest, isURI := strings.CutPrefix(text, "ssh://")
		if isURI {
			rest = strings.TrimSuffix(rest, "/")
		}
		var h hop
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			if h.user, rest = rest[:i], rest[i+1:]; h.user == "" {
				return nil, l.at("%s has an empty user", quoted("@"+rest))
			}
		}
		h.alias = rest
		if strings.ContainsAny(rest, ":[]") {
			host, port, err := net.SplitHostPort(rest)
			if err != nil && strings.HasPrefix(rest, "[") && strings.HasSuffix(rest, "]") {
				host, port, err = rest[1:len(rest)-1], "22", nil
			}
			n, bad := strconv.Atoi(port)
			if err != nil || bad != nil || n < 1 || n > 65535 {
				return nil, l.at("%s is not [user@]host[:port]; an IPv6 address stands in brackets", quoted(rest))
			}
			h.alias, h.port = host, strconv.Itoa(n)
		}
		if strings.ContainsAny(h.user, "%$:") || strings.HasPrefix(h.user, "-") {
			return nil, l.at("%s: tokens and passwords are not supported in a user's name, nor is a - in front", quoted(h.alias))
		}
		if reason := badName(h.alias); reason != "" {
			return nil, l.at("%s: %s", quoted(h.alias), reason)
		}
		hops = append(hops, h)
	}
	return hops, nil
}

// via makes the hosts that a ProxyJump names, and returns the last one. Only
// the first of them may have a ProxyJump of its own: how the others are reached
// is said already.
func (c *Config) via(l configLine, trail []hop) (*Host, error) {
	hops, err := parseHops(l)
	if err != nil {
		return nil, err
	}
	if len(trail)+len(hops) > maxHops {
		return nil, l.at("the host is reached through more than %d others", maxHops)
	}
	var via *Host
	for _, h := range hops {
		if i := slices.IndexFunc(trail, h.same); i >= 0 {
			return nil, l.at("the way leads in a circle, through %s again; give that host a block of its own before this line with ProxyJump none", quoted(h.String()))
		}
		trail = append(trail, h)
		h.via = via
		if via, err = c.host(h, trail[:len(trail)-1]); err != nil {
			return nil, err
		}
		via = c.shared(via)
	}
	return via, nil
}

// shared is a host that others are reached through, as it was made before if
// the files still say the same about it.
func (c *Config) shared(h *Host) *Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := sharedKey(h)
	if i := slices.IndexFunc(c.jumps, func(other *Host) bool { return other.Via == h.Via && sharedKey(other) == key }); i >= 0 {
		return c.jumps[i]
	}
	c.jumps = append(c.jumps, h)
	return h
}

// sharedKey is everything that a file can say about a host, but for Via.
func sharedKey(h *Host) string {
	return fmt.Sprintf("%q %q %q %q %v %v %v %q %q %q %#v %q %q %v %q %q %v %q %v %v", h.Name, h.Address, h.Network, h.User, h.ConnectTimeout, h.Keepalive, h.KeepaliveMisses,
		h.Ciphers, h.KeyExchanges, h.MACs, h.HostKeys, h.Auth.Agent, h.Auth.KeyFiles, h.Auth.KeyFiles == nil, h.Auth.CertFiles,
		h.Auth.Methods, h.Auth.Methods == nil, h.Auth.Algorithms, h.Auth.IdentitiesOnly, h.Auth.MinRSABits)
}
