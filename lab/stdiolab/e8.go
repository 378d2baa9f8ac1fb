// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/host"
	"github.com/weir-mcp/weir/lab/drive"
)

// forms are the ways to return one text of 1 MiB.
var forms = []struct {
	name, tool string
	limit      int // of a frame in bytes; 0 means the default
	store      bool
}{{"whole", "whole", 0, false}, {"limit", "whole", 64 << 10, false}, {"page", "page", 0, false}, {"preview", "bounded", 0, false}, {"handle", "bounded", 0, true}}

// e8 gives a result of 1 MiB in five forms to a host that does not read for a while, and looks where logs go.
func (l *lab) e8(ctx context.Context) error {
	if err := l.together(len(forms), func(i int) ([]Row, error) { return l.form(ctx, i) }); err != nil {
		return err
	}
	return l.logs(ctx)
}

// hostOf starts a child of mode forms with a host that can be told not to read, and returns what the child says it runs; what it
// was asked for where its stderr is not read.
func (l *lab) hostOf(ctx context.Context, c Config, cfg host.Config, env ...string) (*host.Host, Config, error) {
	c = c.withDefaults()
	cmd := exec.CommandContext(ctx, l.command[0], append(l.command[1:len(l.command):len(l.command)], c.Args()...)...)
	cmd.Env = append(os.Environ(), env...)
	said := drive.NewTail()
	if !cfg.StderrUnread {
		cfg.Stderr = said
	}
	h, err := host.Start(cfg, cmd)
	if err != nil {
		return nil, c, err
	}
	if _, err := h.Open(ctx); err != nil {
		return nil, c, errors.Join(err, h.Close())
	}
	if cfg.StderrUnread {
		return h, c, nil
	}
	reported, err := awaitReport(ctx, said, c)
	if err != nil {
		return nil, c, errors.Join(err, h.Close())
	}
	return h, reported, nil
}

func (l *lab) form(ctx context.Context, which int) (rows []Row, err error) {
	f := forms[which]
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, conf, err := l.hostOf(ctx, Config{Mode: "forms", Size: f.limit, Store: f.store}, host.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	before := h.Metrics().Received
	first, err := h.Call(ctx, f.tool, nil)
	if err != nil {
		return nil, err
	}
	one := h.Metrics().Received - before
	text, calls, way := first.Text(), 1, readOn{form: f.name}
	for { // read on to the end, as the result says
		args, tool := way.next(first)
		if tool == "" {
			break
		}
		if first, err = h.Call(ctx, tool, args); err != nil {
			return nil, err
		}
		if first.IsError {
			return nil, fmt.Errorf("reading on: %s", first.Text())
		}
		calls++
	}
	all := h.Metrics().Received - before
	l.countLocked(calls+1, all+one)

	// The same call for a host that looks away for 2.5 s: a stall is logged after 1 s.
	h.Pause()
	p, err := h.Begin(host.Request{Method: "tools/call", Params: host.ToolParams(f.tool, nil)})
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(2500 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.Resume()
	if _, err := p.Wait(ctx); err != nil {
		return nil, err
	}
	said, _ := h.Stderr()
	stall := "no stall"
	for line := range strings.Lines(said) {
		if _, after, ok := strings.Cut(line, `msg="stdout is stalled`); ok {
			_, facts, _ := strings.Cut(after, `" `)
			stall = "stall logged: " + strings.TrimSpace(facts)
		}
	}
	stalled := boolNumber(strings.HasPrefix(stall, "stall logged"))
	row := func(value any, unit, note string) Row {
		return newRow("E8", f.name, 0, conf).set("note", note).set("value", value).set("unit", unit)
	}
	return []Row{
		row(one, "bytes, the first answer", fmt.Sprintf("%d bytes of text for the model", len(text))).set("framesSent", 1).set("bytes", one),
		row(all, "bytes, everything read", fmt.Sprintf("in %d calls", calls)).set("framesSent", calls).set("bytes", all),
		row(stalled, "1 stalled a host that looked away for 2.5 s, 0 did not", stall),
	}, nil
}

// readOn follows a result to its end.
type readOn struct{ form, handle string }

// next is the call that a result says comes next; "" when there is none.
func (o *readOn) next(r *host.Result) (args any, tool string) {
	var page struct {
		NextCursor string `json:"nextCursor"`
	}
	more := r.Structured != nil && json.Unmarshal(r.Structured, &page) == nil && page.NextCursor != ""
	switch {
	case o.form == "page" && more:
		from, err := strconv.Atoi(page.NextCursor)
		if err != nil {
			return nil, ""
		}
		return map[string]any{"from": from}, "page"
	case o.form == "handle" && o.handle == "":
		_, rest, ok := strings.Cut(r.Text(), `read_artifact {"handle":"`)
		if o.handle, _, _ = strings.Cut(rest, `"`); !ok {
			return nil, ""
		}
		return map[string]any{"handle": o.handle}, "read_artifact"
	case o.form == "handle" && more:
		return map[string]any{"handle": o.handle, "cursor": page.NextCursor}, "read_artifact"
	}
	return nil, ""
}

// logs: where do 1,000 lines of a handler end up, when nobody reads stderr, and when it is read and thrown away?
func (l *lab) logs(ctx context.Context) error {
	for _, unread := range []bool{true, false} {
		if err := l.logsWhere(ctx, unread); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) logsWhere(ctx context.Context, unread bool) (err error) {
	const calls, each = 10, 100
	stderr := map[bool]string{true: "unread", false: "thrown away"}[unread]
	dir, err := os.MkdirTemp("", "weir-lab-log-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "weir.log")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, conf, err := l.hostOf(ctx, Config{Mode: "forms"}, host.Config{StderrUnread: unread}, "WEIR_LOG="+file)
	if err != nil {
		return err
	}
	if _, err := h.Request(ctx, "logging/setLevel", map[string]any{"level": "info"}); err != nil {
		return errors.Join(err, h.Close())
	}
	answered := 0
	for range calls {
		if _, err := h.Call(ctx, "log", nil); err != nil {
			return errors.Join(err, h.Close())
		}
		answered++
	}
	notified := 0
	for _, f := range h.Frames() {
		if f.Method == "notifications/message" {
			notified++
		}
	}
	received := h.Metrics().Received
	if err := h.Close(); err != nil {
		return err
	}
	l.count(answered+notified, received)
	kept := strings.Count(fileText(file), "lab log line")
	for _, r := range []struct {
		cell  string
		value int
	}{{"logs to WEIR_LOG=FILE", kept}, {"logs as notifications/message", notified}} {
		row := newRow("E8", r.cell, 0, conf).set("opt", "stderr="+stderr).set("note", fmt.Sprintf("%d of %d calls were answered", answered, calls))
		if err := l.emit(row.set("value", r.value).set("unit", fmt.Sprintf("lines of %d that arrived", calls*each))); err != nil {
			return err
		}
	}
	return nil
}
