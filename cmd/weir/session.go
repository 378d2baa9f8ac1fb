// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// session is one run of a server, from its start to its end, for a subcommand
// that talks to it.
type session struct {
	env  *environment
	name string // of the subcommand

	era     eraFlag
	timeout time.Duration
	limit   int
	raw     rawFile

	h      *host.Host
	status status
	faults faultLog
}

var (
	errInterrupted = errors.New("interrupted")
	errTimeout     = errors.New("-timeout passed")
	// errNo is an answer that was no, of which all has been said.
	errNo = errors.New("the answer was no")
)

// flags adds the flags of every subcommand that talks to a server.
func (s *session) flags(fs *flag.FlagSet) {
	s.limit = host.DefaultLimit
	fs.Var(&s.era, "era", "`ERA` to speak: legacy (an initialize handshake for 2025-11-25, the default), modern (2026-07-28), or a revision")
	fs.Var(&s.raw, "raw", "keep the server's stdout in `FILE`, byte for byte; what FILE held is lost once the server has started")
	fs.Func("timeout", "how `LONG` one answer may take, such as 30s; 0, the default, means as long as it takes", func(text string) (err error) {
		s.timeout, err = parseTimeout(text)
		return err
	})
	fs.Func("limit", fmt.Sprintf("most `BYTES` of one message from the server (default %d)", s.limit), func(text string) (err error) {
		s.limit, err = parseLimit(text)
		return err
	})
}

// serve starts the server, does the handshake, calls talk with the answer to
// it, and leaves nothing behind. It returns the exit status, and has said why
// it is not 0, unless that is talk's errNo.
func (s *session) serve(command []string, talk func(ctx context.Context, opened jsontext.Value) error) int {
	s.status = status{w: s.env.stderr, next: s.env.stderr, on: s.env.errTerminal}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	err := s.run(ctx, cancel, command, talk)
	s.status.clear()
	s.status.flush()
	if !errors.Is(err, errBabble) && !errors.Is(err, host.ErrEcho) { // these say it themselves
		s.faults.report(s.env.stderr, s.name)
	}
	if rawErr := s.raw.close(); err == nil {
		err = rawErr
	}
	return s.end(err)
}

// end says what went wrong, if anything did, and returns the exit status.
func (s *session) end(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errNo):
		return exitFault
	case errors.As(err, &usage):
		return mistake(s.env, s.name, err)
	}
	s.say("%s", strings.TrimPrefix(err.Error(), "host: "))
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errTimeout):
		return exitTimeout
	}
	return exitServer
}

// run is serve without what it says in the end.
func (s *session) run(ctx context.Context, interrupt context.CancelCauseFunc, command []string, talk func(context.Context, jsontext.Value) error) error {
	cfg := host.Config{
		Protocol: s.era.protocol(), Limit: s.limit, Keep: 1,
		Stderr: &s.status, Grace: s.env.grace,
		OnFrame: func(f host.Frame) {
			if f.Kind == host.Oversize { // ended here, at its LF, so that its size can be told
				interrupt(&host.OversizeError{Size: f.Size, Limit: s.limit})
			}
			s.faults.see(f)
		},
	}
	if s.timeout > 0 {
		cfg.Stall = min(host.DefaultStall, s.timeout/4) // what has not moved for that long is why
	}
	cfg.Name, cfg.Version = "weir "+s.name, version()
	s.faults.giveUp = interrupt
	if s.raw.given() {
		cfg.Raw = &s.raw
	}
	h, err := host.Start(cfg, exec.Command(command[0], command[1:]...))
	if err != nil {
		return err
	}
	s.h = h
	if s.raw.given() {
		if err := s.raw.open(); err != nil {
			h.Kill()
			h.Close()
			return err
		}
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-s.env.signals:
			interrupt(errInterrupted)
		case <-h.Done():
			return
		}
		select {
		case <-s.env.signals:
			h.Kill()
		case <-h.Done():
		}
	}()
	opened, err := s.open(ctx)
	if err == nil {
		err = talk(ctx, opened)
	}
	if errors.Is(context.Cause(ctx), errBabble) {
		h.CloseOutput() // a write ends it, where the end of stdin does not
	}
	endErr := h.Close()
	<-watched
	if exit := h.Metrics().Exit; exit != nil && len(exit.Survivors) > 0 && ctx.Err() == nil {
		s.say("warning: the server left processes behind, which were killed: %v", exit.Survivors)
	}
	var over *host.OversizeError
	switch {
	case errors.As(context.Cause(ctx), &over):
		return fmt.Errorf("%w; -limit raises it", over)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && endErr != nil:
		return fmt.Errorf("the server answered, and then ended with: %w", endErr)
	}
	return err
}

// say writes one line to stderr.
func (s *session) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.env.errTerminal {
		text = harmless(text)
	}
	s.status.clear()
	fmt.Fprintf(s.env.stderr, "weir %s: %s\n", s.name, text)
}
