// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/weir-mcp/weir/result"
)

// A Policy is what may be asked for, and how much of it: the file of -config.
// The zero Policy lets everything public be read, without credentials.
type Policy struct {
	// Schemes that a URL may have. Empty means https and http.
	Schemes []string `json:"schemes,omitempty"`
	// Ports that a URL may have. Empty means 80, 443 and those from 1024 on.
	// Those of Hosts are always allowed.
	Ports []int `json:"ports,omitempty"`
	// Allow lists addresses that may be reached although they are not public:
	// "127.0.0.1", "10.1.0.0/16". Empty means none.
	Allow []string `json:"allow,omitempty"`
	// OnlyHosts refuses every host that is not in Hosts. False means that all
	// may be asked.
	OnlyHosts bool `json:"onlyHosts,omitempty"`
	// Hosts have settings of their own. Empty means none.
	Hosts []Host `json:"hosts,omitempty"`
	// Proxy is the URL of an HTTP proxy. Empty means none: the environment is
	// not looked at.
	Proxy string `json:"proxy,omitempty"`
	// UserAgent is the header of that name. Empty means "weir-http/1.0".
	UserAgent string `json:"userAgent,omitempty"`
	// Redirects bounds the redirects of one request. Zero means 10.
	Redirects int `json:"redirects,omitempty"`
	// MaxBody bounds one body in bytes, both as it comes and decompressed. Zero
	// means 16 MiB.
	MaxBody int64 `json:"maxBody,omitempty"`
	// MaxHeader bounds the headers of one response in bytes. Zero means 64 KiB.
	MaxHeader int64 `json:"maxHeader,omitempty"`
	// MaxRatio bounds how much larger than it came a body may be, once that is
	// more than 1 MiB. Zero means 100.
	MaxRatio int64 `json:"maxRatio,omitempty"`
	// ConnectTimeout bounds finding the address and connecting. Zero means 10 s.
	ConnectTimeout time.Duration `json:"connectTimeout,omitempty"`
	// TLSTimeout bounds the handshake. Zero means 10 s.
	TLSTimeout time.Duration `json:"tlsTimeout,omitempty"`
	// HeaderTimeout bounds the wait for all of a response's headers. Zero means
	// 30 s.
	HeaderTimeout time.Duration `json:"headerTimeout,omitempty"`
	// IdleTimeout bounds the wait for the next byte of a body. Zero means 15 s.
	IdleTimeout time.Duration `json:"idleTimeout,omitempty"`
	// Timeout bounds a call, redirects and further pages of an API included.
	// Zero means 60 s.
	Timeout time.Duration `json:"timeout,omitempty"`

	allow   []netip.Prefix
	secrets secrets
}

// A Host has settings for the requests to one host.
type Host struct {
	// Host is a name or an address, with a port where it is not that of the
	// scheme: "api.example.com", "localhost:8080". It has to be set.
	Host string `json:"host"`
	// Credentials are added to each request, and shown to nobody. Empty means
	// none.
	Credentials []Credential `json:"credentials,omitempty"`
	// PlainHTTP sends the credentials without TLS too. False means that such a
	// request is refused, but for one to a loopback address.
	PlainHTTP bool `json:"plainHTTP,omitempty"`
	// API says how fetch_json pages through what the host answers. Nil means
	// that it passes nothing on.
	API *API `json:"api,omitempty"`
}

// A Credential is a header or a query parameter whose value comes from outside
// of the policy: exactly one of Header and Query is set, and one of Env and File.
type Credential struct {
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
	// Env names an environment variable, which is taken out of the environment.
	Env string `json:"env,omitempty"`
	// File names a file, whose last line break does not count.
	File string `json:"file,omitempty"`
	// Prefix stands before the secret, as "Bearer " does. Empty means nothing.
	Prefix string `json:"prefix,omitempty"`
	// BasicUser makes it basic authentication, with the secret as password.
	// Empty means that the value is the secret.
	BasicUser string `json:"basicUser,omitempty"`

	value string
}

// An API tells how one pages through lists.
type API struct {
	// Items is a JSON Pointer to the list, for calls that name none. Empty means
	// the whole document.
	Items string `json:"items,omitempty"`
	// PageSize names the query parameter for the number of items. Nil means that
	// none is passed.
	PageSize *PageSize `json:"pageSize,omitempty"`
	// Fields names the query parameter for the names of members. Nil means that
	// members are selected here.
	Fields *Fields `json:"fields,omitempty"`
	// Next says where the next page is. Nil means that there is one page.
	Next *Next `json:"next,omitempty"`
}

// A PageSize is the parameter for the number of items.
type PageSize struct {
	Param string `json:"param"`
	// Max is the most that the API gives. Zero means 100.
	Max int `json:"max,omitempty"`
	// Default is asked for where a call names no limit. Zero means 50, or Max
	// where that is less.
	Default int `json:"default,omitempty"`
}

// Fields is the parameter for the names of members, "a.b" for a member of one.
type Fields struct {
	Param string `json:"param"`
	// Separator stands between two. Empty means a comma.
	Separator string `json:"separator,omitempty"`
}

// A Next tells of the next page: by the header Link, or by what Pointer leads
// to, which is a token for the query parameter Param, or without that a URL.
type Next struct {
	Link    bool   `json:"link,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Param   string `json:"param,omitempty"`
}

// readPolicy reads the policy file, and the credentials that it names.
func readPolicy(name string) (*Policy, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p, err := parsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func parsePolicy(data []byte) (*Policy, error) {
	p := new(Policy)
	if err := json.Unmarshal(data, p, result.Options(), json.RejectUnknownMembers(true)); err != nil {
		var s *json.SemanticError
		var y *jsontext.SyntacticError
		switch {
		case errors.As(err, &s) && s.JSONPointer != "" && errors.Is(err, json.ErrUnknownName):
			return nil, fmt.Errorf("%s: there is no such field", s.JSONPointer)
		case errors.As(err, &s) && s.JSONPointer != "" && s.Err != nil:
			return nil, fmt.Errorf("%s: %w", s.JSONPointer, s.Err)
		case errors.As(err, &s) && s.JSONPointer != "":
			return nil, fmt.Errorf("%s: a %v does not belong there", s.JSONPointer, s.JSONKind)
		case errors.As(err, &y):
			return nil, fmt.Errorf("not JSON at byte %d (%s): %w", y.ByteOffset, cmp.Or(string(y.JSONPointer), "the top"), y.Err)
		}
		return nil, err
	}
	return p, p.complete()
}

// complete checks p, fills in the defaults and reads the credentials.
func (p *Policy) complete() error {
	if len(p.Schemes) == 0 {
		p.Schemes = []string{"https", "http"}
	}
	for i, s := range p.Schemes {
		if s != "https" && s != "http" {
			return fmt.Errorf("/schemes/%d: %q is neither \"https\" nor \"http\"", i, s)
		}
	}
	for i, n := range p.Ports {
		if n < 1 || n > 65535 {
			return fmt.Errorf("/ports/%d: %d is no port", i, n)
		}
	}
	if err := p.alsoAllow(p.Allow); err != nil {
		return fmt.Errorf("/allow/%d: %w", err.index, err)
	}
	if p.Proxy != "" {
		u, err := url.Parse(p.Proxy)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("/proxy: not a URL such as http://proxy.example.com:3128 (a user and a password cannot stand in it)")
		}
	}
	if p.UserAgent == "" {
		p.UserAgent = "weir-http/1.0"
	}
	if !httpguts.ValidHeaderFieldValue(p.UserAgent) {
		return errors.New("/userAgent: not a value that a header may have")
	}
	for _, n := range []struct {
		name  string
		value *int64
		zero  int64
	}{
		{"maxBody", &p.MaxBody, 16 << 20}, {"maxHeader", &p.MaxHeader, 64 << 10}, {"maxRatio", &p.MaxRatio, 100},
		{"connectTimeout", (*int64)(&p.ConnectTimeout), int64(10 * time.Second)}, {"tlsTimeout", (*int64)(&p.TLSTimeout), int64(10 * time.Second)},
		{"headerTimeout", (*int64)(&p.HeaderTimeout), int64(30 * time.Second)}, {"idleTimeout", (*int64)(&p.IdleTimeout), int64(15 * time.Second)},
		{"timeout", (*int64)(&p.Timeout), int64(time.Minute)},
	} {
		if *n.value < 0 {
			return fmt.Errorf("/%s: less than zero; leave it out for the default", n.name)
		}
		*n.value = cmp.Or(*n.value, n.zero)
	}
	if p.Redirects < 0 {
		return errors.New("/redirects: less than zero; leave it out for the default")
	}
	p.Redirects = cmp.Or(p.Redirects, 10)
	seen := make(map[string]bool)
	for i := range p.Hosts {
		h := &p.Hosts[i]
		name, err := hostName(h.Host)
		if err != nil {
			return fmt.Errorf("/hosts/%d/host: %w", i, err)
		}
		if seen[name] {
			return fmt.Errorf("/hosts/%d/host: %s is there twice", i, name)
		}
		seen[name], h.Host = true, name
		for j := range h.Credentials {
			if err := h.Credentials[j].read(&p.secrets); err != nil {
				return fmt.Errorf("/hosts/%d/credentials/%d%w", i, j, err)
			}
		}
		if err := h.API.check(); err != nil {
			return fmt.Errorf("/hosts/%d/api%w", i, err)
		}
	}
	return nil
}

// alsoAllow adds addresses, and ranges of addresses, that may be reached.
func (p *Policy) alsoAllow(list []string) *allowError {
	for i, s := range list {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(s); err == nil {
				prefix, err = a.Prefix(a.BitLen())
			}
		}
		if err != nil || prefix.Addr().Is4In6() || prefix.Addr().Zone() != "" {
			return &allowError{i, s}
		}
		p.allow = append(p.allow, prefix.Masked())
	}
	return nil
}

type allowError struct {
	index int
	text  string
}

func (e *allowError) Error() string {
	return fmt.Sprintf("%q is neither an address nor a range of addresses such as 10.1.0.0/16", e.text)
}

func (a *API) check() error {
	if a == nil {
		return nil
	}
	if _, err := parsePointer(a.Items); err != nil {
		return fmt.Errorf("/items: %w", err)
	}
	if s := a.PageSize; s != nil {
		s.Max = cmp.Or(s.Max, 100)
		s.Default = cmp.Or(s.Default, min(50, s.Max))
		switch {
		case s.Param == "":
			return errors.New("/pageSize/param: not set")
		case s.Max < 1:
			return errors.New("/pageSize/max: less than 1")
		case s.Default < 1 || s.Default > s.Max:
			return errors.New("/pageSize/default: not from 1 to max")
		}
	}
	if f := a.Fields; f != nil {
		f.Separator = cmp.Or(f.Separator, ",")
		if f.Param == "" {
			return errors.New("/fields/param: not set")
		}
	}
	if n := a.Next; n != nil {
		switch {
		case n.Link == (n.Pointer != ""):
			return errors.New("/next: either link or pointer has to be set")
		case n.Link && n.Param != "":
			return errors.New("/next/param: it goes with pointer; a link is a whole URL")
		}
		if _, err := parsePointer(n.Pointer); err != nil {
			return fmt.Errorf("/next/pointer: %w", err)
		}
	}
	return nil
}
