// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/lab/drive"
)

const e4Requests = 300

// e4 has a child print lines that are not JSON, and asks it in lock-step.
func (l *lab) e4(ctx context.Context) error {
	for _, host := range []string{"byLine", "byLineParsing", "byID"} {
		for _, banner := range []int{0, 1, 3, 10} {
			if err := l.banner(ctx, host, Config{Mode: "reply", Size: 128, Frames: e4Requests, Banner: banner}); err != nil {
				return err
			}
		}
	}
	for _, banner := range []int{0, 1, 3, 10} { // the strictest host, and the same lines from a handler on Weir
		if err := l.banner(ctx, "byLineParsing", Config{Mode: "reply", Writer: "weir", Size: 128, Frames: e4Requests, Banner: banner}); err != nil {
			return err
		}
	}
	return l.bannerClients(ctx)
}

// banner is one cell: a host asks 300 times and reads a line each time (or, by id, until its answer comes).
func (l *lab) banner(ctx context.Context, host string, c Config) error {
	p, err := l.start(ctx, c, startOptions{})
	if err != nil {
		return err
	}
	defer p.stop()
	g := &pinger{child: p, buf: make([]byte, 64<<10)}
	if err := g.greet(); err != nil {
		return err
	}
	in := bufio.NewReader(p.out)
	right, mispaired, unparsed, exceptions, noise := 0, 0, 0, 0, 0
	for id := range p.conf.Frames {
		if _, err := p.in.Write(replyRequest(nil, id)); err != nil {
			return err
		}
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("request %d: %w", id, err)
			}
			// What the line really is, which the hosts by line do not look at.
			got := answerID(line)
			if host == "byID" && got != id {
				noise++
				continue
			}
			switch {
			case got == id:
				right++
			case got >= 0:
				mispaired++
			case host == "byLineParsing":
				exceptions++
			default:
				unparsed++
			}
			break
		}
	}
	p.in.Close()
	late := 0
	if err := lines(in, func(line []byte, _ bool) {
		if answerID(line) >= 0 {
			late++
		}
	}); err != nil {
		return err
	}
	if err := p.finish(ctx); err != nil {
		return err
	}
	l.count(e4Requests+p.conf.Banner, int64(e4Requests*(p.conf.Size+1)))
	cell := fmt.Sprintf("%s N=%d", host, p.conf.Banner)
	note := fmt.Sprintf("right=%d mispaired=%d unparsed=%d exceptions=%d noise=%d late=%d", right, mispaired, unparsed, exceptions, noise, late)
	if p.conf.Writer == "weir" {
		note += fmt.Sprintf(" onStderr=%d", strings.Count(p.said.Text(), " INFO  lab started"))
	}
	r := newRow("E4", cell, 0, p.conf).set("opt", fmt.Sprint("banner=", p.conf.Banner)).set("framesSent", p.conf.Frames)
	r.set("lostLines", p.conf.Frames-right-mispaired-late)
	return l.emit(r.set("value", float64(mispaired)/e4Requests*100).set("unit", "% of answers mispaired").set("note", note))
}

// answerID is the id of a response; -1 for anything else.
func answerID(line []byte) int {
	var m struct {
		ID     *int            `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Result == nil {
		return -1
	}
	return *m.ID
}

// bannerClients shows what other people's clients do with one such line.
func (l *lab) bannerClients(ctx context.Context) error {
	for _, k := range clients {
		l.progress("E4  %s", k.name)
		for _, banner := range []int{0, 1} {
			cell := fmt.Sprintf("client %s N=%d", k.name, banner)
			c := Config{Mode: "mcp", Writer: "weir", Size: 128, Banner: banner}.withDefaults()
			calls := make([]toolCall, 20)
			for i := range calls {
				calls[i] = toolCall{Tool: "reply", Args: map[string]any{}}
			}
			said := drive.NewTail()
			answers, err := k.run(ctx, l, append(l.command[:len(l.command):len(l.command)], c.Args()...), calls, said)
			var missing *missingError
			if errors.As(err, &missing) {
				if err := l.emit(skippedRow("E4", cell, err)); err != nil {
					return err
				}
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			answered, note := 0, "goes on as if nothing was there"
			for _, a := range answers {
				if a.Error == "" && a.Bytes > 0 {
					answered++
				} else if err == nil {
					err = errors.New(a.Error)
				}
			}
			if err != nil {
				note = "fails: " + strings.ReplaceAll(err.Error(), "\n", " ")
				note = strings.ToValidUTF8(note[:min(len(note), 300)], "")
			}
			conf, err := awaitReport(ctx, said, c)
			if err != nil {
				return fmt.Errorf("%s: %w", cell, err)
			}
			l.count(answered+conf.Banner, int64(answered*(conf.Size+1)))
			r := newRow("E4", cell, 0, conf).set("framesSent", len(calls)).set("note", k.version(l)+note)
			if err := l.emit(r.set("value", answered).set("unit", "calls of 20 answered")); err != nil {
				return err
			}
		}
	}
	return nil
}
