// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The latest revision of each era. Revisions compare as strings.
const (
	LatestLegacy = "2025-11-25" // begins with an initialize handshake
	LatestModern = "2026-07-28" // says all in each request's _meta
)

// IsModern tells the era of a revision.
func IsModern(protocol string) bool { return protocol >= LatestModern }

const metaPrefix = "io.modelcontextprotocol/"

// protocolOf is the revision of a request that names none.
func (h *Host) protocolOf(method string) string {
	switch method {
	case "initialize", "notifications/initialized":
		return LatestLegacy
	case "server/discover", "subscriptions/listen":
		return LatestModern
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.proto
}

// Protocol is the revision of requests that name none.
func (h *Host) Protocol() string { return h.protocolOf("") }

// Meta is the _meta object of a modern request.
func (h *Host) Meta(protocol string) jsontext.Value {
	v, _ := marshal(h.meta(protocol)) // strings and maps of them
	return v
}

func (h *Host) meta(protocol string) map[string]any {
	return map[string]any{
		metaPrefix + "protocolVersion":    protocol,
		metaPrefix + "clientInfo":         map[string]string{"name": h.cfg.Name, "version": h.cfg.Version},
		metaPrefix + "clientCapabilities": struct{}{},
	}
}

// params marshals v, adding to _meta what the era and the token ask for.
func (h *Host) params(v any, protocol string, token jsontext.Value) (jsontext.Value, error) {
	raw, err := marshal(v)
	if err != nil || token == nil && !IsModern(protocol) {
		return raw, err
	}
	params := map[string]jsontext.Value{}
	if raw != nil {
		if raw.Kind() != '{' {
			return raw, nil
		}
		if err := json.Unmarshal(raw, &params, lenient...); err != nil {
			return nil, err
		}
	}
	meta := map[string]any{}
	if IsModern(protocol) {
		meta = h.meta(protocol)
	}
	if token != nil {
		meta["progressToken"] = token
	}
	var own map[string]jsontext.Value
	if err := json.Unmarshal(params["_meta"], &own, lenient...); err == nil {
		for k, v := range own {
			meta[k] = v
		}
	}
	if params["_meta"], err = marshal(meta); err != nil {
		return nil, err
	}
	return marshal(params)
}

// Initialize opens a legacy session: it asks for the revision (empty means
// Config.Protocol, or 2025-11-25 if that is modern), waits for the answer,
// sends notifications/initialized, and returns the result. Requests that name
// no revision use the one in the answer from then on.
func (h *Host) Initialize(ctx context.Context, protocol string) (jsontext.Value, error) {
	if protocol == "" {
		protocol = h.cfg.Protocol
		if IsModern(protocol) {
			protocol = LatestLegacy
		}
	}
	v, err := h.Request(ctx, "initialize", h.InitializeParams(protocol))
	if err != nil {
		return nil, err
	}
	agreed := versionOf(v)
	if agreed == "" {
		return v, fmt.Errorf("host: initialize was answered without a protocolVersion: %s", clip(v))
	}
	h.mu.Lock()
	h.proto, h.greeted = agreed, protocol
	h.mu.Unlock()
	return v, h.lost(ctx, h.Notify("notifications/initialized", nil), "after it answered initialize")
}

// InitializeParams are the params of an initialize request.
func (h *Host) InitializeParams(protocol string) any {
	return map[string]any{
		"protocolVersion": protocol,
		"capabilities":    struct{}{},
		"clientInfo":      map[string]string{"name": h.cfg.Name, "version": h.cfg.Version},
	}
}

// Discover sends server/discover and returns the result. Requests that name no
// revision use 2026-07-28 from then on.
func (h *Host) Discover(ctx context.Context) (jsontext.Value, error) {
	v, err := h.Request(ctx, "server/discover", nil)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.proto, h.greeted = LatestModern, LatestModern
	h.mu.Unlock()
	return v, nil
}

// Open opens the session as the era of Config.Protocol does, by Initialize or
// by Discover.
func (h *Host) Open(ctx context.Context) (jsontext.Value, error) {
	if IsModern(h.cfg.Protocol) {
		return h.Discover(ctx)
	}
	return h.Initialize(ctx, "")
}

func versionOf(result jsontext.Value) string {
	var v struct {
		Version string `json:"protocolVersion"`
	}
	json.Unmarshal(result, &v, lenient...) // "" when it cannot be read
	return v.Version
}

// Pages sends a list request again and again, following nextCursor, and
// yields the raw results. It ends with an error when a cursor leads nowhere.
func (h *Host) Pages(ctx context.Context, method string) iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		var params any
		for cursor := ""; ; {
			v, err := h.Request(ctx, method, params)
			if err != nil {
				yield(nil, err)
				return
			}
			var page struct {
				Next string `json:"nextCursor"`
			}
			if err := json.Unmarshal(v, &page, lenient...); err != nil {
				yield(v, fmt.Errorf("host: result of %s: %w", method, err))
				return
			}
			if !yield(v, nil) || page.Next == "" {
				return
			}
			if page.Next == cursor {
				yield(nil, fmt.Errorf("host: %s gave the same nextCursor twice", method))
				return
			}
			cursor = page.Next
			params = map[string]string{"cursor": cursor}
		}
	}
}
