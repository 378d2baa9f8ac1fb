// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/result/artifact"
)

// A fetcher asks servers within a policy.
type fetcher struct {
	policy    *Policy
	transport *http.Transport
	store     *artifact.Store // nil: bodies are not kept
	places    places
}

// newFetcher returns a fetcher for a policy that is complete. The resolver is
// nil but in tests, and so is store where nothing is to be kept.
func newFetcher(p *Policy, store *artifact.Store, resolver *net.Resolver) *fetcher {
	dialer := &net.Dialer{Timeout: p.ConnectTimeout, KeepAlive: 30 * time.Second, Resolver: resolver}
	guarded := *dialer
	guarded.ControlContext = p.control
	t := &http.Transport{
		DialContext:            guarded.DialContext,
		TLSHandshakeTimeout:    p.TLSTimeout,
		ResponseHeaderTimeout:  p.HeaderTimeout,
		MaxResponseHeaderBytes: p.MaxHeader,
		DisableCompression:     true, // what is decompressed is bounded by a body
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    2,
		MaxConnsPerHost:        32,
		IdleConnTimeout:        30 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true) // a cancelled request closes its connection
	if p.Proxy != "" {
		u, _ := url.Parse(p.Proxy)
		t.Proxy = http.ProxyURL(u)
		t.DialContext = dialer.DialContext // the proxy's address is the operator's choice, and the only one dialled
	}
	return &fetcher{policy: p, transport: t, store: store}
}

func (f *fetcher) close() { f.transport.CloseIdleConnections() }

// begin bounds a call.
func (f *fetcher) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.policy.Timeout, &stageError{"the call", f.policy.Timeout})
}

// A stageError says that a stage took too long.
type stageError struct {
	stage string
	after time.Duration
}

func (e *stageError) Error() string { return fmt.Sprintf("%s took longer than %v", e.stage, e.after) }

// A Redirect is a response that led elsewhere.
type Redirect struct {
	Status int    `json:"status"`
	URL    string `json:"url" jsonschema:"description=What was asked for"`
}

// An answer is a response whose body has not been read.
type answer struct {
	*http.Response
	url       *url.URL // of this response; without credentials
	redirects []Redirect
	body      *body
	cancel    context.CancelCauseFunc
}

// close ends the request; where the body was not read to its end, with the
// connection.
func (a *answer) close() {
	a.cancel(nil)
	a.Body.Close()
}

// ask sends a request and follows its redirects. The headers are those of each
// of the requests; credentials are added for each by its host.
func (f *fetcher) ask(ctx context.Context, method, address string, header http.Header) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	a, err := f.follow(ctx, method, address, header)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	a.cancel = cancel
	a.body = newBody(ctx, f.policy, a.Response, cancel)
	return a, nil
}

func (f *fetcher) follow(ctx context.Context, method, address string, header http.Header) (*answer, error) {
	u, err := f.policy.check(address, nil)
	if err != nil {
		return nil, err
	}
	var redirects []Redirect
	var shown string
	seen := map[string]bool{u.String(): true}
	for {
		resp, err := f.send(ctx, method, u, header)
		if err != nil && ctx.Err() == nil && shown != "" {
			return nil, fmt.Errorf("%s redirects to a URL without an answer: %w", shown, f.failure(ctx, u, err))
		} else if err != nil {
			return nil, f.failure(ctx, u, err)
		}
		location := resp.Header.Get("Location")
		if !slices.Contains([]int{301, 302, 303, 307, 308}, resp.StatusCode) || location == "" {
			return &answer{Response: resp, url: u, redirects: redirects}, nil
		}
		resp.Body.Close()
		shown = f.policy.secrets.show(u.String(), 500)
		redirects = append(redirects, Redirect{resp.StatusCode, shown})
		next, err := f.policy.check(location, u)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s redirects to where it may not: %w", shown, err)
		case u.Scheme == "https" && next.Scheme == "http":
			return nil, fmt.Errorf("%s redirects from https to http, which is refused", shown)
		case seen[next.String()]:
			return nil, fmt.Errorf("%s redirects in a circle, back to %s", shown, f.policy.secrets.show(next.String(), 500))
		case next.Host != u.Host && f.policy.secrets.has(next.String()):
			return nil, fmt.Errorf("%s redirects to another host with a credential in the URL, which is refused", shown)
		case len(redirects) > *f.policy.Redirects:
			return nil, fmt.Errorf("%s is a redirect after %d others: no more are followed", shown, *f.policy.Redirects)
		}
		u = next
		seen[u.String()] = true
	}
}

// send sends one request, with the credentials of its host.
func (f *fetcher) send(ctx context.Context, method string, u *url.URL, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	r.Header.Set("User-Agent", f.policy.UserAgent)
	if h := f.policy.host(u); h != nil && len(h.Credentials) > 0 {
		if u.Scheme == "http" && !h.PlainHTTP && (f.policy.Proxy != "" || !loopback(u.Hostname())) {
			return nil, errPlain
		}
		for _, c := range h.Credentials {
			if c.Header != "" {
				r.Header.Set(c.Header, c.value)
				continue
			}
			r.URL.RawQuery = withParam(r.URL.RawQuery, c.Query, c.value)
		}
	}
	return f.transport.RoundTrip(r)
}

var errPlain = errors.New("the credentials for this host are not sent without TLS: use https (or plainHTTP in the policy)")

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// failure says for a model why there was no answer.
func (f *fetcher) failure(ctx context.Context, u *url.URL, err error) error {
	host := f.policy.secrets.show(u.Host, 200)
	var refused *addressError
	var dns *net.DNSError
	var op *net.OpError
	var stage *stageError
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &refused):
		return &addressError{host: host, why: refused.why}
	case errors.Is(err, errPlain):
		return fmt.Errorf("%s was not asked: %w", host, err)
	case errors.As(cause, &stage):
		return late(host, stage.stage, stage.after)
	case cause != nil:
		return cause
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%s: there is no host of that name", host)
	case errors.As(err, &dns):
		return fmt.Errorf("%s: its address could not be found; try again later", host)
	case errors.As(err, &op) && op.Op == "dial" && op.Timeout():
		return late(host, "connecting", f.policy.ConnectTimeout)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s cannot be reached: %w", host, op.Err)
	case strings.Contains(err.Error(), "TLS handshake timeout"):
		return late(host, "the TLS handshake", f.policy.TLSTimeout)
	case strings.Contains(err.Error(), "awaiting response headers"):
		return late(host, "the wait for the response's headers", f.policy.HeaderTimeout)
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return fmt.Errorf("%s: the response's headers are larger than %d bytes, which is refused", host, f.policy.MaxHeader)
	}
	return fmt.Errorf("%s: no answer: %s", host, f.policy.secrets.show(err.Error(), 300))
}

func late(host, stage string, after time.Duration) error {
	return fmt.Errorf("%s: %w; try again later, or another URL", host, &stageError{stage, after})
}
