// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/weir-mcp/weir/result"
)

// A Policy is what may be asked for, and how much of it: the file of -policy. A
// zero in that file is refused where it would mean a default. The zero Policy lets everything public be read, without credentials.
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
	// Redirects bounds the redirects of one request; 0 follows none. Nil means 10.
	Redirects *int `json:"redirects,omitempty"`
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

	dir     string // of the file
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
	// File names a file, whose last line break does not count; from the folder
	// of the policy on.
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
	// Next says where the next page is. Nil means by the header Link.
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
	p, err := parsePolicy(data, filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// parsePolicy parses a policy whose files are named from dir on.
func parsePolicy(data []byte, dir string) (*Policy, error) {
	p := &Policy{dir: dir}
	if err := json.Unmarshal(data, p, result.Options(), json.RejectUnknownMembers(true)); err != nil {
		var s *json.SemanticError
		var y *jsontext.SyntacticError
		switch {
		case errors.As(err, &y):
			return nil, fmt.Errorf("not JSON at byte %d (%s): %w", y.ByteOffset, cmp.Or(string(y.JSONPointer), "the top"), y.Err)
		case !errors.As(err, &s):
			return nil, err
		case errors.Is(err, json.ErrUnknownName):
			return nil, fmt.Errorf("%s: there is no such field", s.JSONPointer)
		case s.JSONPointer == "":
			return nil, errors.New("a policy is a JSON object, such as {\"allow\":[\"10.1.0.0/16\"]}")
		case s.GoType != nil && s.GoType == reflect.TypeFor[time.Duration]():
			return nil, fmt.Errorf("%s: not a time such as \"30s\" or \"2m\"", s.JSONPointer)
		case s.GoType != nil && (s.GoType.Kind() == reflect.Int || s.GoType.Kind() == reflect.Int64):
			return nil, fmt.Errorf("%s: not a whole number", s.JSONPointer)
		case s.Err != nil:
			return nil, fmt.Errorf("%s: %w", s.JSONPointer, s.Err)
		}
		return nil, fmt.Errorf("%s: a %v does not belong there", s.JSONPointer, s.JSONKind)
	}
	if err := noZeros(data); err != nil {
		return nil, err
	}
	return p, p.complete()
}

// noZeros refuses what a policy's author may have meant for "none", and what
// would be the default: 0, a time of 0, an empty list of ports or schemes.
func noZeros(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil // io.EOF: it was parsed before
		}
		at := dec.StackPointer()
		var zero bool
		switch tok.Kind() {
		case '0':
			n, err := strconv.ParseFloat(tok.String(), 64)
			zero = err == nil && n == 0 && at != "/redirects"
		case '"':
			_, inner := dec.StackIndex(dec.StackDepth())
			d, err := time.ParseDuration(tok.String())
			zero = dec.StackDepth() == 1 && inner%2 == 0 && err == nil && d == 0 && at != "/proxy" && at != "/userAgent"
		case '[':
			zero = (at == "/ports" || at == "/schemes") && dec.PeekKind() == ']'
		case 'n':
			if at == "" {
				return errors.New("a policy is a JSON object, not null")
			}
		}
		if zero {
			return fmt.Errorf("%s: there is no way to have none of it; leave it out for the default", at)
		}
	}
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
	if p.Redirects == nil {
		p.Redirects = new(int)
		*p.Redirects = 10
	}
	if *p.Redirects < 0 {
		return errors.New("/redirects: less than zero; 0 follows none; leave it out for the default")
	}
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
			if err := h.Credentials[j].read(&p.secrets, p.dir); err != nil {
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
		switch {
		case err != nil || prefix.Addr().Is4In6() || prefix.Addr().Zone() != "":
			return &allowError{i, fmt.Sprintf("%q is neither an address nor a range of addresses such as 10.1.0.0/16", s)}
		case prefix != prefix.Masked():
			return &allowError{i, fmt.Sprintf("%q is an address within a range: write %s for the range", s, prefix.Masked())}
		}
		p.allow = append(p.allow, prefix)
	}
	return nil
}

type allowError struct {
	index int
	text  string
}

func (e *allowError) Error() string { return e.text }

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
	if a.Next == nil {
		a.Next = &Next{Link: true}
	} else {
		n := a.Next
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
