// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/internal/host"
)

// eraLegacy looks at the handshake of the legacy era.
func eraLegacy(p *probe) {
	if p.legacy == "" {
		var silent *silentError
		if errors.As(p.noLegacy, &silent) {
			p.fault("%v: hosts of 2025-11-25 and before wait for an answer, if only an error", p.noLegacy)
			return
		}
		p.warn("initialize is refused (%v): hosts of 2025-11-25 and before cannot use this server", p.noLegacy)
		return
	}
	known := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	if !slices.Contains(known, p.legacy) {
		p.fault("initialize came to the revision %q, which is none of the legacy era", clip(p.legacy))
	}
	for _, asked := range []string{"2024-11-05", "2025-11-25", "2099-01-01"} {
		s := p.start(asked, sessionConfig{})
		if s == nil {
			return
		}
		answer, err := s.initialize(asked)
		switch {
		case p.over():
			return
		case err != nil && answer == nil:
			p.fault("asked for %s: %v", asked, err)
			continue
		case err != nil:
			p.warn("asked for %s: %v; it is to answer with a revision that it has", asked, err)
			continue
		}
		got := s.proto
		if !slices.Contains(known, got) {
			p.warn("asked for %s, it agreed to %q, which is no revision of the legacy era", asked, clip(got))
			continue
		}
		if p.failed(s.second(), "after initialize for %s", asked) {
			continue
		}
		p.ok("asked for %s, it agreed to %s", asked, got)
	}
}

// eraModern looks at the era in which each request says all.
func eraModern(p *probe) {
	if !p.modern {
		// It may know nothing of it. A host that does must be able to fall back.
		s := p.start("", sessionConfig{})
		if s == nil {
			return
		}
		err := s.discover(true, p.opened)
		if p.over() {
			return
		}
		if err == nil {
			p.fault("server/discover was answered here, and not in the opening")
			return
		}
		if _, again := s.openEra(p.legacy); again != nil {
			p.fault("server/discover: %v; and after it no session could be opened by initialize: %v", err, again)
			return
		}
		if !p.failed(s.second(), "after server/discover and initialize") {
			p.warn("hosts of 2026-07-28 have to fall back to initialize (server/discover: %v)", err)
		}
		return
	}
	s := p.open("", host.LatestModern)
	if s == nil {
		return
	}
	// No method may need an opening.
	fresh := p.start("inline", sessionConfig{})
	if fresh == nil {
		return
	}
	fresh.proto = host.LatestModern
	r := fresh.request("tools/list", map[string]any{})
	if !p.failed(fresh.wait(r, p.patience()), "tools/list as the first request") {
		switch code, text, _ := r.answer.rpcError(); {
		case r.answer.err != nil && code != -32601:
			p.fault("tools/list as the first request was answered with error %d: %s", code, clip(text))
		case r.answer.err == nil:
			var v struct {
				ResultType string `json:"resultType"`
			}
			json.Unmarshal(r.answer.result, &v, lenient...) // "" when it cannot be read
			if v.ResultType == "" {
				p.warn("the result of tools/list has no resultType, which 2026-07-28 requires")
			}
			p.ok("tools/list was served as the first request")
		}
	}
	const unknown = -32022
	for _, version := range []string{"2099-01-01", "1900-01-01"} {
		args := map[string]any{"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    version,
			"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "weir gate", "version": p.o.Version},
			"io.modelcontextprotocol/clientCapabilities": struct{}{},
		}}
		id := s.newID()
		b := frame(id, "tools/list", args)
		r := s.expect(id, "tools/list")
		s.send(b)
		if p.failed(s.wait(r, p.o.Deadline), "a request of the revision %s", version) {
			return
		}
		switch code, text, _ := r.answer.rpcError(); {
		case r.answer.err == nil && version == "2099-01-01":
			p.fault("a request of the revision %s was served; it is to be refused with error %d and the revisions that are served", version, unknown)
		case r.answer.err == nil:
			p.warn("a request of the revision %s was served; it is to be refused with error %d and the revisions that are served", version, unknown)
		case code != unknown:
			p.warn("a request of the revision %s was refused with error %d (%s), not %d", version, code, clip(text), unknown)
		default:
			p.ok("a request of the revision %s was refused with error %d", version, code)
		}
	}
	p.failed(s.second(), "after a request of an unknown revision")
}
