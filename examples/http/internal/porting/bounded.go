// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

var errPrivate = errors.New("this host has no public address")

// public refuses an address that is about to be connected to.
func public(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := a.Addr().Unmap(); !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return errPrivate
	}
	return nil
}

// newClient returns a client whose every stage ends.
func newClient(control func(context.Context, string, string, syscall.RawConn) error) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: control}
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{ // no Proxy: the environment is not looked at
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// maxBody bounds a body, and what it decompresses to.
const maxBody = 16 << 20

// get asks for a URL. The body has to be closed.
func get(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil || req.URL.Scheme != "https" && req.URL.Scheme != "http" || req.URL.User != nil {
		return nil, errors.New("url: write it like https://example.com/page")
	}
	resp, err := client.Do(req)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errPrivate):
		return nil, fmt.Errorf("%s: %w", req.URL.Host, errPrivate)
	case err != nil:
		return nil, fmt.Errorf("%s gives no answer; try again later", req.URL.Host)
	}
	return resp, nil
}

// addBounded is the tool that keeps the beginning and the end of a text.
func addBounded(tools *tool.Registry, client *http.Client) {
	info := tool.Info{Name: "fetch", Description: "Reads a text by its URL.", ReadOnly: tool.Yes}
	tool.AddFunc(tools, info, func(ctx context.Context, in naiveInput) (string, error) {
		resp, err := get(ctx, client, in.URL)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close() // and with it the connection, if there is more
		text, err := charset.NewReader(io.LimitReader(resp.Body, maxBody), resp.Header.Get("Content-Type"))
		if err != nil && err != io.EOF {
			return "", fmt.Errorf("%s: the body could not be read", in.URL)
		}
		var p result.Preview
		if text != nil {
			if _, err = io.Copy(&p, text); ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
		}
		end := ""
		if err != nil && err != io.EOF {
			end = "\n[the body ended too early]"
		}
		return resp.Status + "\n" + p.Snapshot().Text() + end, nil
	})
}
