// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// Transcripts runs the transcripts in the txtar files that match glob. Each
// file in an archive is one transcript and one subtest, played to a server of
// its own, which serve makes.
func Transcripts(t *testing.T, glob string, serve func(t *testing.T) Server) {
	t.Helper()
	names, err := filepath.Glob(glob)
	if err != nil || len(names) == 0 {
		t.Fatalf("servertest: no transcripts match %q (%v)", glob, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		for _, f := range archive(data) {
			t.Run(base+"/"+f.name, func(t *testing.T) { New(t, serve(t)).play(name, f.line, f.lines) })
		}
	}
}

// Play plays a transcript: what a host sends, and what the server must answer,
// line by line. It fails the test at the first difference.
//
//	# a comment; blank lines count for nothing
//	> {"jsonrpc":"2.0","id":1,"method":"ping"}     sent, with an LF
//	>> "\xef\xbb\xbf{…}\r\n"                       sent as the Go string says, without
//	> (initialize)  > (initialize 2025-06-18)      the handshake, both ways
//	> (eof)                                        stdin is closed
//	< {"jsonrpc":"2.0","id":1,"result":{}}         the next line that must come
//	<? {"jsonrpc":"2.0","id":1,"result":{}}        a line that must come, in any order
//	                                               among the <? lines around it
//	< (nothing)                                    nothing more, as a ping then shows
//	< (eof)                                        the server has closed its stdout
//
// $META in a sent line is the _meta object of a modern request. Expected
// lines are compared as JSON: names in any order, numbers by their text,
// strings as decoded. In an expected line a string "*" stands for any value, a
// * within a longer string for any characters, and a member "*" for any
// further members. At the end of a transcript stdin is closed, and nothing
// more may come.
func (c *Client) Play(transcript string) {
	c.t.Helper()
	c.play("transcript", 0, strings.Split(transcript, "\n"))
}

func (c *Client) play(file string, first int, lines []string) {
	c.t.Helper()
	ctx, cancel := c.context(context.Background())
	defer cancel()
	var loose []string // <? lines not yet matched
	at := first
	fail := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatalf("%s:%d: %v", file, at, err)
		}
	}
	for _, line := range lines {
		at++
		mark, rest, _ := strings.Cut(strings.TrimRight(line, "\r"), " ")
		if mark == "<?" {
			loose = append(loose, rest)
			continue
		}
		fail(c.matchLoose(ctx, loose))
		loose = nil
		switch {
		case mark == "" && rest == "", strings.HasPrefix(mark, "#"):
		case mark == ">":
			fail(c.playSend(ctx, rest))
		case mark == ">>":
			s, err := strconv.Unquote(rest)
			fail(err)
			fail(c.host().Send([]byte(c.expand(s))))
		case mark == "<":
			fail(c.playExpect(ctx, rest))
		default:
			fail(fmt.Errorf("a line begins with >, >>, <, <? or #, not with %q", mark))
		}
	}
	fail(c.matchLoose(ctx, loose))
	c.host().CloseInput()
	fail(c.playExpect(ctx, "(eof)"))
}

func (c *Client) expand(s string) string {
	return strings.ReplaceAll(s, "$META", string(c.host().Meta(host.LatestModern)))
}

func (c *Client) playSend(ctx context.Context, s string) error {
	word, arg, _ := strings.Cut(strings.Trim(s, "()"), " ")
	switch {
	case !strings.HasPrefix(s, "("):
		return c.host().Send([]byte(c.expand(s) + "\n"))
	case word == "eof":
		c.host().CloseInput()
		return nil
	case word == "initialize":
		if arg == "" {
			arg = host.LatestLegacy
		}
		err := c.request(ctx, "initialize", c.host().InitializeParams(arg))
		if err != nil {
			return err
		}
		return c.host().Notify("notifications/initialized", nil)
	}
	return fmt.Errorf("nothing is known of %s", s)
}

// request makes a request of Play's own, whose response must be the next line.
func (c *Client) request(ctx context.Context, method string, params any) error {
	id := jsontext.Value(strconv.Quote("transcript-" + strconv.Itoa(c.played)))
	if _, err := c.host().Do(ctx, host.Request{Method: method, Params: params, ID: id, Protocol: host.LatestLegacy}); err != nil {
		return err
	}
	f, err := c.host().Next(ctx, c.played)
	if err != nil {
		return err
	}
	if !bytes.Equal(f.ID, id) {
		return fmt.Errorf("nothing more was expected, and this came: %s", clip(f.Raw))
	}
	c.played = f.Seq + 1
	return nil
}

func (c *Client) playExpect(ctx context.Context, want string) error {
	switch want {
	case "(nothing)":
		return c.request(ctx, "ping", nil)
	case "(eof)":
		f, err := c.host().Next(ctx, c.played)
		switch {
		case err == nil:
			return fmt.Errorf("the end was expected, and this came: %s", clip(f.Raw))
		case errors.Is(err, ErrEnded):
			return nil
		}
		return fmt.Errorf("waiting for the end: %w", err)
	}
	f, err := c.host().Next(ctx, c.played)
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", want, err)
	}
	c.played = f.Seq + 1
	if err := match(want, f.Raw); err != nil {
		return fmt.Errorf("%w\n got %s\nwant %s", err, clip(f.Raw), want)
	}
	return nil
}

// matchLoose takes as many lines as want has, and matches them in any order.
func (c *Client) matchLoose(ctx context.Context, want []string) error {
	for len(want) > 0 {
		f, err := c.host().Next(ctx, c.played)
		if err != nil {
			return fmt.Errorf("waiting for one of\n\t%s\n%w", strings.Join(want, "\n\t"), err)
		}
		c.played = f.Seq + 1
		found := -1
		for i, w := range want {
			if match(w, f.Raw) == nil {
				found = i
				break
			}
		}
		if found < 0 {
			return fmt.Errorf("none of these was expected to be %s\n\t%s", clip(f.Raw), strings.Join(want, "\n\t"))
		}
		want = append(want[:found:found], want[found+1:]...)
	}
	return nil
}

// section is one file of a txtar archive, with the number of the line that
// names it.
type section struct {
	name  string
	line  int
	lines []string
}

// archive reads the txtar format: lines "-- name --", each followed by a file.
func archive(data []byte) []section {
	var list []section
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), "-- ")
		if name, ok2 := strings.CutSuffix(name, " --"); ok && ok2 {
			list = append(list, section{name: strings.TrimSpace(name), line: i + 1})
		} else if len(list) > 0 {
			last := &list[len(list)-1]
			last.lines = append(last.lines, line)
		}
	}
	return list
}
