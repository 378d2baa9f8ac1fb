// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// special are the addresses that are not public, by the registries of special
// purpose addresses, and public ones at which clouds keep credentials.
var special = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's shared address"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, as a cloud's metadata has"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a special address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay's address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("2001::/23"), "a special address"}, // Teredo and others
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "an address that tunnels to another one"}, // 6to4
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
}

var (
	global = netip.MustParsePrefix("2000::/3")     // all of IPv6 that is handed out
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // the last four bytes are an IPv4 address
)

// refuses says why a may not be reached, or "" if it may.
func (p *Policy) refuses(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, allowed := range p.allow {
		if allowed.Contains(a) {
			return ""
		}
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.why
		}
	}
	if a.Is6() && !global.Contains(a) {
		return "a special address"
	}
	return ""
}

// An addressError says that a host is not public. The address is not named: a
// name may be one of a private network.
type addressError struct{ host, why string }

func (e *addressError) Error() string {
	return fmt.Sprintf("%s is refused: it is at %s, which this server may not reach (the policy's allow lists those that it may)", e.host, e.why)
}

// control is asked for each address that is about to be connected to, after
// the name was looked up: a name that leads elsewhere the second time is of no use.
func (p *Policy) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if why := p.refuses(a); why != "" {
		return &addressError{why: why}
	}
	return nil
}
