// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

type nothing struct{}

// weirServer is a Weir server whose tool "reply" answers with the frame of the request's id.
func (c Config) weirServer() *server.Server {
	s := shape{size: c.Size, cjk: c.CJK}
	s.warm()
	var tools tool.Registry
	budget := result.Budget{Bytes: c.Size + 1024}
	var once sync.Once
	tool.Add(&tools, tool.Info{Name: "reply", Description: "Returns a text.", ReadOnly: tool.Yes, Budget: budget, MaxCalls: c.Threads},
		func(_ context.Context, req *tool.Request, _ nothing) (result.Result, error) {
			if c.Mode == "reply" {
				once.Do(func() {
					for i := range c.Banner {
						fmt.Println(bannerLine(i))
					}
				})
			}
			n := len(req.ID)
			if n >= len(s.fill) {
				return result.Result{}, errors.New("an id of at most seven digits is wanted")
			}
			return result.Text(s.fill[n]), nil
		})
	tool.AddFunc(&tools, tool.Info{Name: "wait", Description: "Waits until it is cancelled.", ReadOnly: tool.Yes},
		func(ctx context.Context, _ nothing) (string, error) {
			<-ctx.Done()
			fmt.Fprintf(os.Stderr, "%s\n", cancelWord)
			return "", context.Cause(ctx)
		})
	return &server.Server{Name: "lab", Version: "0", Tools: &tools, Limits: server.Limits{
		MaxCalls: 2 * c.Threads, MaxFrameOut: 16 << 20, StallWarning: time.Second,
	}}
}

// handshake is what a host says first.
const handshake = `{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lab","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func replyRequest(dst []byte, id int) []byte {
	dst = append(dst, frameHead...)
	dst = strconv.AppendInt(dst, int64(id), 10)
	return append(dst, `,"method":"tools/call","params":{"name":"reply","arguments":{}}}`+"\n"...)
}

// weirPush is Weir as a writer: its server is asked by this process itself, threads calls at a time, and writes to stdout.
func (c Config) weirPush(ctx context.Context) error {
	in, feed, err := os.Pipe()
	if err != nil {
		return err
	}
	defer feed.Close()
	out := &pushOutput{room: make(chan struct{}, 4*c.Threads)}
	fed := make(chan error, 1)
	go func() {
		defer feed.Close()
		w := bufio.NewWriter(feed)
		if _, err := w.WriteString(handshake); err != nil {
			fed <- err
			return
		}
		var buf []byte
		for n := range c.Frames {
			select {
			case out.room <- struct{}{}:
			default:
				if err := w.Flush(); err != nil {
					fed <- err
					return
				}
				out.room <- struct{}{}
			}
			buf = replyRequest(buf[:0], c.First+n)
			if _, err := w.Write(buf); err != nil {
				fed <- err
				return
			}
		}
		fed <- w.Flush()
	}()
	srv := c.weirServer()
	if err := srv.Serve(ctx, in, out); err != nil {
		return err
	}
	return <-fed
}

// pushOutput is stdout without the answer to the handshake, which is the first line. It makes room for a request when a frame
// has left. Only the server's writer uses it.
type pushOutput struct {
	room    chan struct{}
	greeted bool
}

func (o *pushOutput) Close() error { return nil } // the end marker comes after it

func (o *pushOutput) Write(b []byte) (int, error) {
	skip := 0
	if !o.greeted {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return len(b), nil
		}
		o.greeted = true
		skip = i + 1
	}
	n, err := os.Stdout.Write(b[skip:])
	for range bytes.Count(b[skip:skip+n], []byte("\n")) {
		select {
		case <-o.room:
		default:
		}
	}
	return skip + n, err
}

// weirReply is Weir on the standard descriptors, as any server of its users.
func (c Config) weirReply(ctx context.Context) error {
	srv := c.weirServer()
	if c.Threads > 1 { // the cells that time single writes
		out := &stopwatch{}
		err := srv.Serve(ctx, os.Stdin, out)
		out.report()
		sent(int(srv.Metrics().CallsOK))
		return err
	}
	err := srv.ServeStdio(ctx)
	sent(int(srv.Metrics().CallsOK))
	return err
}

// formsText is the result of group E8: 1 MiB of lines, as a log or a search has them.
var formsText = sync.OnceValue(func() string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "%06d 水位 low, the gate is open, nothing passes the crest\n", i)
	}
	return b.String()[:1<<20]
})

// formsLines are the items of its pages.
var formsLines = sync.OnceValue(func() []string { return strings.Split(formsText(), "\n") })

type pageInput struct {
	From int `json:"from,omitempty" jsonschema:"description=the first line"`
}

// forms is a server that gives one result in four forms, and writes a log.
func (c Config) forms(ctx context.Context) error {
	var tools tool.Registry
	store := &artifact.Store{}
	defer store.Close()
	budget := result.Budget{Bytes: c.Budget}
	text := func(context.Context, nothing) (string, error) { return formsText(), nil }
	tool.AddFunc(&tools, tool.Info{Name: "whole", Description: "The text whole.", ReadOnly: tool.Yes, Budget: result.Budget{Bytes: 4 << 20}}, text)
	tool.AddFunc(&tools, tool.Info{Name: "bounded", Description: "The text, within the budget.", ReadOnly: tool.Yes, Budget: budget}, text)
	tool.Add(&tools, tool.Info{Name: "page", Description: "Its lines, page by page.", ReadOnly: tool.Yes, Budget: budget},
		func(_ context.Context, req *tool.Request, in pageInput) (result.Result, error) {
			page := result.Page[string]{Budget: req.Budget(), Noun: "lines"}
			all := formsLines()
			page.Total(int64(len(all)))
			for i := max(in.From, 0); i < len(all); i++ {
				if !page.Add(all[i]) {
					page.NextCursor = strconv.Itoa(i)
					break
				}
			}
			return page.Result(), nil
		})
	tool.Add(&tools, tool.Info{Name: "log", Description: "Writes 100 log lines to every place that there is.", ReadOnly: tool.Yes},
		func(ctx context.Context, req *tool.Request, _ nothing) (result.Result, error) {
			for i := range 100 {
				req.Log().LogAttrs(ctx, slog.LevelInfo, "lab log line", slog.Int("n", i))
			}
			return result.Text("logged"), nil
		})
	srv := &server.Server{Name: "lab", Version: "0", Tools: &tools, Logging: true, Limits: server.Limits{StallWarning: time.Second}}
	if c.limited() {
		srv.Limits.MaxFrameOut = c.Size
	}
	if c.Store {
		srv.Artifacts = store
		if err := tools.Register(artifact.ReadTool(store)); err != nil {
			return err
		}
	}
	return srv.ServeStdio(ctx)
}
