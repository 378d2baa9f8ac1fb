// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

type (
	// Result is what a tool returned: Raw as sent, Content, Structured and
	// IsError; Text joins its text blocks, Page reads a page's fields.
	Result = host.Result

	// Progress is one progress notification: Progress, Total (0 when
	// unknown) and Message.
	Progress = host.Progress

	// Request is a request for Begin: Method, Params, and optionally its raw
	// ID, the revision to send it by (Protocol), and a function for its
	// Progress.
	Request = host.Request

	// Pending is a request that was sent: ID, Method, Sent; Done, Wait and
	// Cancel.
	Pending = host.Pending

	// Error is the server's JSON-RPC error: Code, Message and raw Data.
	Error = host.Error

	// OversizeError is how a request ends whose response was over
	// Config.Limit: Size and Limit, in bytes.
	OversizeError = host.OversizeError

	// Frame is one line of the server's stdout: Seq, At, Kind, Faults, Raw,
	// Size, and what it says (ID, Method, Params, Result, Err, Answers, Late,
	// Protocol).
	Frame = host.Frame

	// Pace makes reading slow: at most Chunk bytes a read, and a pause of
	// Every after each.
	Pace = host.Pace

	// Metrics are the counters of the host.
	Metrics = host.Metrics
)

// Errors of requests, for errors.Is. An *Error (for errors.As) is the
// server's own answer.
var (
	ErrCancelled = host.ErrCancelled // the request was cancelled by Cancel
	ErrOverload  = host.ErrOverload  // see Config.Queue
	ErrEnded     = host.ErrEnded     // the server has ended without an answer
)

// Initialize opens a legacy session by the handshake: initialize for the
// revision (empty means Config.Protocol), then notifications/initialized. It
// returns the result of initialize.
func (c *Client) Initialize(ctx context.Context, protocol string) (jsontext.Value, error) {
	c.openMu.Lock()
	defer c.openMu.Unlock()
	c.opened = true
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.Initialize(ctx, protocol)
}

// Discover asks a modern server what it is, and returns the result of
// server/discover. Requests are modern from then on.
func (c *Client) Discover(ctx context.Context) (jsontext.Value, error) {
	c.openMu.Lock()
	defer c.openMu.Unlock()
	c.opened = true
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.Discover(ctx)
}

// open does the handshake of Config.Protocol, unless one was done.
func (c *Client) open(ctx context.Context) error {
	c.openMu.Lock()
	defer c.openMu.Unlock()
	if c.opened {
		return nil
	}
	_, err := c.h.Open(ctx)
	c.opened = err == nil
	return err
}

// Call calls a tool and waits for its result. It takes the arguments that
// tool.Registry.Call takes, encoded by the same rules (result.Options): any Go
// value that encodes as a JSON object, or raw JSON as a string, []byte,
// jsontext.Value or json.RawMessage; nil means none. They may be 256 MiB long
// here, so that a limit of the server can be tested.
//
// Call opens the session first if that was not done. A result with IsError is
// not an error. When ctx ends the call is cancelled.
func (c *Client) Call(ctx context.Context, tool string, args any) (*Result, error) {
	return c.CallProgress(ctx, tool, args, nil)
}

// CallProgress is Call with a function for the progress that the tool reports.
// Frames wait in Config.Queue until the function returns.
func (c *Client) CallProgress(ctx context.Context, tool string, args any, progress func(Progress)) (*Result, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	raw, err := arguments(ctx, args)
	if err != nil {
		return nil, err
	}
	return c.h.CallProgress(ctx, tool, raw, progress)
}

// Tools lists the tools, page after page, as the server describes them. It
// opens the session first if that was not done.
func (c *Client) Tools(ctx context.Context) ([]jsontext.Value, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	var tools []jsontext.Value
	for page, err := range c.h.Pages(ctx, "tools/list") {
		if err != nil {
			return nil, err
		}
		var list struct {
			Tools []jsontext.Value `json:"tools"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return nil, err
		}
		tools = append(tools, list.Tools...)
	}
	return tools, nil
}

// Request sends any request and waits for its raw result. Params are encoded
// by the rules of result.Options, but a jsontext.Value is sent as it is; nil
// means none. Request opens nothing. When ctx ends the request is cancelled.
func (c *Client) Request(ctx context.Context, method string, params any) (jsontext.Value, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	raw, err := encode(ctx, params)
	if err != nil {
		return nil, err
	}
	return c.h.Request(ctx, method, raw)
}

// Begin sends a request and does not wait for the response. Its Params are
// encoded as those of Request. It opens nothing.
func (c *Client) Begin(r Request) (*Pending, error) {
	raw, err := encode(context.Background(), r.Params)
	if err != nil {
		return nil, err
	}
	r.Params = raw
	return c.h.Begin(r)
}

// BeginCall is Begin for a tool, with arguments as those of Call. It opens the
// session first if that was not done.
func (c *Client) BeginCall(ctx context.Context, tool string, args any) (*Pending, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	raw, err := arguments(ctx, args)
	if err != nil {
		return nil, err
	}
	return c.h.Begin(Request{Method: "tools/call", Params: host.ToolParams(tool, raw)})
}

// Notify sends a notification, with params as those of Request.
func (c *Client) Notify(method string, params any) error {
	raw, err := encode(context.Background(), params)
	if err != nil {
		return err
	}
	return c.h.Notify(method, raw)
}

// Cancel sends notifications/cancelled for an id (raw JSON), whether or not
// such a request is open; reason may be empty. An open request's Wait returns
// ErrCancelled; a response that comes all the same is counted as late.
func (c *Client) Cancel(id jsontext.Value, reason string) error { return c.h.Cancel(id, reason) }

// Send writes bytes as they are, in one write up to 64 KiB; line ends are the
// caller's business. It does not wait until they are written.
func (c *Client) Send(b []byte) error { return c.h.Send(b) }

// SendChunks is Send in writes of n bytes, with a pause after each.
func (c *Client) SendChunks(b []byte, n int, every time.Duration) error {
	return c.h.SendChunks(b, n, every)
}

// Flush waits until the pipe has taken all that was sent.
func (c *Client) Flush(ctx context.Context) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.Flush(ctx)
}

// Frames returns the lines received so far, in order, as far as they are kept.
func (c *Client) Frames() []Frame { return c.h.Frames() }

// Find waits for the first line, received before or later, that match accepts.
func (c *Client) Find(ctx context.Context, match func(Frame) bool) (Frame, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.Find(ctx, match)
}

// AwaitReceived waits until n bytes of stdout have come, since the start.
func (c *Client) AwaitReceived(ctx context.Context, n int64) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.AwaitReceived(ctx, n)
}

// Pause stops reading the server's output: when it returns no byte is taken
// until Resume or Take. (On Windows one read may still be under way.)
func (c *Client) Pause() { c.h.Pause() }

// Resume goes on reading after Pause or Take.
func (c *Client) Resume() { c.h.Resume() }

// SetPace makes reading slow or intermittent from now on; the zero Pace is
// full speed.
func (c *Client) SetPace(p Pace) { c.h.SetPace(p) }

// Take reads exactly n bytes more, waits for them, and leaves the host paused.
func (c *Client) Take(ctx context.Context, n int64) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.Take(ctx, n)
}

// Stderr returns what a child has written to stderr (its start and its end
// when it is longer than 512 KiB) and how many bytes it was.
func (c *Client) Stderr() (text string, bytes int64) { return c.h.Stderr() }

// AwaitStderr waits until a child's stderr contains s.
func (c *Client) AwaitStderr(ctx context.Context, s string) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.AwaitStderr(ctx, s)
}

// Metrics returns the host's counters.
func (c *Client) Metrics() Metrics { return c.h.Metrics() }

// Diagnose says in one sentence which side is stuck, if any.
func (c *Client) Diagnose() string { return c.h.Diagnose() }

// Protocol is the revision of requests that name none.
func (c *Client) Protocol() string { return c.h.Protocol() }

// Pid is the process id of a child, which is that of its group; 0 in process.
func (c *Client) Pid() int { return c.h.Pid() }

// CloseInput closes the server's stdin once all that was sent is written.
func (c *Client) CloseInput() { c.h.CloseInput() }

// CloseOutput closes the reading end of the server's stdout, as the death of
// a host does. How the server ends then is the test's business.
func (c *Client) CloseOutput() {
	c.ended.Store(true)
	c.h.CloseOutput()
}

// Kill ends the server, and all of its process group, at once.
func (c *Client) Kill() {
	c.ended.Store(true)
	c.h.Kill()
}

// Done is closed when the server has ended and all it wrote was looked at.
func (c *Client) Done() <-chan struct{} { return c.h.Done() }

// Wait waits for the server's end and returns its error: nil when it ended
// well, an *exec.ExitError, or what Serve returned. The cleanup of the test
// does not complain about that error any more.
func (c *Client) Wait(ctx context.Context) error {
	c.ended.Store(true)
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.h.Wait(ctx)
}
