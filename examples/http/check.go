// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostName is the form in which hosts are compared.
func hostName(s string) (string, error) {
	u, err := url.Parse("//" + s)
	if err != nil || u.Host == "" || u.Host != s || strings.Contains(s, "*") {
		return "", fmt.Errorf("%q is not a host such as api.example.com, localhost:8080 or [::1]:8080", s)
	}
	name, err := asciiHost(u)
	if err != nil {
		return "", err
	}
	if p := u.Port(); p != "" {
		return joinPort(name, p), nil
	}
	return name, nil
}

func joinPort(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// asciiHost is the host of u without port and final dot, in small letters.
func asciiHost(u *url.URL) (string, error) {
	name := strings.ToLower(u.Hostname())
	for _, c := range name {
		if c > 0x7f {
			ascii, err := idna.Lookup.ToASCII(name)
			if err != nil {
				return "", fmt.Errorf("the host's name %q is not one that can be looked up", cut(name, 100))
			}
			name = ascii
			break
		}
	}
	name = strings.TrimSuffix(name, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return name, nil
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || strings.ContainsAny(label, ":%") {
			return "", fmt.Errorf("the host's name %q is not one that can be looked up", cut(name, 100))
		}
	}
	if numeric(labels[len(labels)-1]) {
		return "", fmt.Errorf("the host %q is no name; an address is written like 192.0.2.1 or [2001:db8::1]", cut(name, 100))
	}
	return name, nil
}

// numeric tells whether a name that ends in label is taken for an IPv4 address
// by some: 2130706433, 0x7f000001 and 127.1 are 127.0.0.1 to curl, and to proxies.
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	digits, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(digits, "0123456789abcdef") == ""
}

// host finds the settings for u, which check has returned.
func (p *Policy) host(u *url.URL) *Host {
	name := u.Hostname()
	port := cmp.Or(u.Port(), defaultPort(u.Scheme))
	for i := range p.Hosts {
		if h := &p.Hosts[i]; h.Host == joinPort(name, port) || port == defaultPort(u.Scheme) && h.Host == name {
			return h
		}
	}
	return nil
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// maxURL bounds a URL, in bytes.
const maxURL = 4096

// check parses a URL, relative to base where that is not nil, and refuses what
// the policy does not allow. No error repeats what may hold a password.
func (p *Policy) check(text string, base *url.URL) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("url: longer than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("url: not a URL; write it like https://example.com/page")
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case u.User != nil:
		return nil, errors.New("url: a user or a password in a URL is refused; credentials are set in the server's policy")
	case u.Scheme == "":
		return nil, errors.New("url: begin it with https://")
	case !slices.Contains(p.Schemes, u.Scheme):
		return nil, fmt.Errorf("url: the scheme %q is not allowed here, only %s", p.secrets.show(u.Scheme, 40), strings.Join(p.Schemes, " and "))
	case u.Hostname() == "":
		return nil, errors.New("url: there is no host in it")
	}
	name, err := asciiHost(u)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if base != nil && p.secrets.has(name) { // to look it up would tell it to others
		return nil, errors.New("url: a credential stands in the host's name")
	}
	u.Fragment, u.RawFragment = "", ""
	port := u.Port()
	if n, err := strconv.Atoi(port); err == nil { // 0080 is 80
		port = strconv.Itoa(n)
	}
	if port != "" && port != defaultPort(u.Scheme) {
		u.Host = joinPort(name, port)
	} else if strings.Contains(name, ":") {
		u.Host = "[" + name + "]"
	} else {
		u.Host = name
	}
	known := p.host(u) != nil
	if p.OnlyHosts && !known {
		return nil, fmt.Errorf("url: the host %s is not one that this server may ask, which are %s", p.secrets.show(u.Host, 100), p.hostList())
	}
	if !known && !p.port(cmp.Or(u.Port(), defaultPort(u.Scheme))) {
		return nil, fmt.Errorf("url: the port %s is not allowed here, only %s", cut(u.Port(), 10), p.portList())
	}
	if a, err := netip.ParseAddr(name); err == nil {
		if why := p.refuses(a); why != "" { // the dialer looks again; a proxy would not
			return nil, &addressError{host: u.Hostname(), why: why}
		}
	} else if p.Proxy != "" && (name == "localhost" || strings.HasSuffix(name, ".localhost")) && p.refuses(netip.IPv6Loopback()) != "" && p.refuses(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != "" {
		return nil, &addressError{host: name, why: "a loopback address"}
	}
	return u, nil
}

func (p *Policy) port(s string) bool {
	n, err := strconv.Atoi(s)
	if err != nil {
		return false
	}
	if len(p.Ports) > 0 {
		return slices.Contains(p.Ports, n)
	}
	return n == 80 || n == 443 || n >= 1024 && n <= 65535
}

// portList and hostList say what is allowed, for whoever asked for something else.
func (p *Policy) portList() string {
	if len(p.Ports) == 0 {
		return "80, 443, and those from 1024 on"
	}
	return strings.Trim(fmt.Sprint(p.Ports), "[]")
}

func (p *Policy) hostList() string {
	var names []string
	for _, h := range p.Hosts {
		names = append(names, h.Host)
	}
	if len(names) == 0 {
		return "none"
	}
	return cut(strings.Join(names, ", "), 500)
}
