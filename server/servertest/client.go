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

// Initialize opens a legacy session by the handshake: initialize for the
// revision (empty means Config.Protocol), then notifications/initialized. It
// returns the result of initialize.
func (c *Client) Initialize(ctx context.Context, protocol string) (jsontext.Value, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	done, err := c.handshake(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c.opened = true
	return c.host().Initialize(ctx, protocol)
}

// Discover asks a modern server what it is, and returns the result of
// server/discover. Requests are modern from then on.
func (c *Client) Discover(ctx context.Context) (jsontext.Value, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	done, err := c.handshake(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c.opened = true
	return c.host().Discover(ctx)
}

// handshake waits until no other is under way, and returns what ends this one.
// (It is no mutex: a bubble of synctest sees no time pass for who waits for one.)
func (c *Client) handshake(ctx context.Context) (done func(), err error) {
	select {
	case c.opening <- struct{}{}:
		return func() { <-c.opening }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open does the handshake of Config.Protocol, unless one was done, and returns
// the host of the session; it waits for one that is being begun anew.
func (c *Client) open(ctx context.Context) (*host.Host, error) {
	done, err := c.handshake(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	h, err := c.sessions.Await(ctx)
	if err != nil || c.opened {
		return h, err
	}
	_, err = h.Open(ctx)
	c.opened = err == nil
	return h, err
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
	h, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := arguments(ctx, args)
	if err != nil {
		return nil, err
	}
	return h.CallProgress(ctx, tool, raw, progress)
}

// Tools lists the tools, page after page, as the server describes them. It
// opens the session first if that was not done.
func (c *Client) Tools(ctx context.Context) ([]jsontext.Value, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	h, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	var tools []jsontext.Value
	for page, err := range h.Pages(ctx, "tools/list") {
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
	h, err := c.sessions.Await(ctx)
	if err != nil {
		return nil, err
	}
	return h.Request(ctx, method, raw)
}

// Begin sends a request and does not wait for the response. Its Params are
// encoded as those of Request. It opens nothing.
func (c *Client) Begin(r Request) (*Pending, error) {
	raw, err := encode(context.Background(), r.Params)
	if err != nil {
		return nil, err
	}
	r.Params = raw
	return c.host().Begin(r)
}

// BeginCall is Begin for a tool, with arguments as those of Call. It opens the
// session first if that was not done.
func (c *Client) BeginCall(ctx context.Context, tool string, args any) (*Pending, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	h, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := arguments(ctx, args)
	if err != nil {
		return nil, err
	}
	return h.Begin(Request{Method: "tools/call", Params: host.ToolParams(tool, raw)})
}

// Notify sends a notification, with params as those of Request.
func (c *Client) Notify(method string, params any) error {
	raw, err := encode(context.Background(), params)
	if err != nil {
		return err
	}
	return c.host().Notify(method, raw)
}

// Cancel sends notifications/cancelled for an id (raw JSON), whether or not
// such a request is open; reason may be empty. An open request's Wait returns
// ErrCancelled; a response that comes all the same is counted as late.
func (c *Client) Cancel(id jsontext.Value, reason string) error { return c.host().Cancel(id, reason) }

// Send writes bytes as they are, in one write up to 64 KiB; line ends are the
// caller's business. It does not wait until they are written.
func (c *Client) Send(b []byte) error { return c.host().Send(b) }

// SendChunks is Send in writes of n bytes, with a pause after each.
func (c *Client) SendChunks(b []byte, n int, every time.Duration) error {
	return c.host().SendChunks(b, n, every)
}

// Flush waits until the pipe has taken all that was sent.
func (c *Client) Flush(ctx context.Context) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.host().Flush(ctx)
}

// Frames returns the lines received so far, in order, as far as they are kept.
func (c *Client) Frames() []Frame { return c.host().Frames() }

// Find waits for the first line, received before or later, that match accepts.
func (c *Client) Find(ctx context.Context, match func(Frame) bool) (Frame, error) {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.host().Find(ctx, match)
}

// AwaitReceived waits until n bytes of stdout have come, since the start.
func (c *Client) AwaitReceived(ctx context.Context, n int64) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.host().AwaitReceived(ctx, n)
}

// Pause stops reading the server's output: when it returns no byte is taken
// until Resume or Take. (On Windows one read may still be under way.)
func (c *Client) Pause() { c.host().Pause() }

// Resume goes on reading after Pause or Take.
func (c *Client) Resume() { c.host().Resume() }

// SetPace makes reading slow or intermittent from now on; the zero Pace is
// full speed.
func (c *Client) SetPace(p Pace) { c.host().SetPace(p) }

// Take reads exactly n bytes more, waits for them, and leaves the host paused.
func (c *Client) Take(ctx context.Context, n int64) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.host().Take(ctx, n)
}

// Stderr returns what a child has written to stderr (its start and its end
// when it is longer than 512 KiB) and how many bytes it was.
func (c *Client) Stderr() (text string, bytes int64) { return c.host().Stderr() }

// AwaitStderr waits until a child's stderr contains s.
func (c *Client) AwaitStderr(ctx context.Context, s string) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.host().AwaitStderr(ctx, s)
}

// Faulty returns the first 100 lines of the session that broke a rule, each
// cut to its first KiB, however many came after them.
func (c *Client) Faulty() []Frame { return c.host().Faulty() }

// Metrics returns the counters of the present session.
func (c *Client) Metrics() Metrics { return c.host().Metrics() }

// Sessions returns the counters of every session so far, the present one last.
// There is more than one after a Restart.
func (c *Client) Sessions() []Metrics {
	var all []Metrics
	for _, h := range c.sessions.All() {
		all = append(all, h.Metrics())
	}
	return all
}

// Restart ends the session and begins a new one: what is open is lost
// (ErrEnded), stdin is closed, the server stopped and reaped, started again
// with the same command, and the handshake that opened the session repeated,
// if there was one. It returns when that is answered. In process, Serve is
// called again. Pause and SetPace, and the frames, do not pass on.
func (c *Client) Restart(ctx context.Context) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	return c.sessions.Restart(ctx)
}

// Diagnose says in one sentence which side is stuck, if any, and what is open.
// When nothing has moved for Config.Stall it names the server's write side (a
// frame is half received), the host's consumer or its queue (bytes come, and
// frames are not dispatched: a progress function does not return), or the
// server's read side (it does not take what was sent). Else it says what the
// host does on purpose, what is under way, how the server has ended, or
// "idle". A failing test logs it.
func (c *Client) Diagnose() string { return c.host().Diagnose() }

// Protocol is the revision of requests that name none.
func (c *Client) Protocol() string { return c.host().Protocol() }

// Pid is the process id of a child, which is that of its group; 0 in process.
func (c *Client) Pid() int { return c.host().Pid() }

// CloseInput closes the server's stdin once all that was sent is written.
func (c *Client) CloseInput() { c.host().CloseInput() }

// CloseOutput closes the reading end of the server's stdout, as the death of
// a host does. How the server ends then is the test's business.
func (c *Client) CloseOutput() {
	c.ends().CloseOutput()
}

// Kill ends the server, and all of its process group, at once.
func (c *Client) Kill() {
	c.ends().Kill()
}

// Done is closed when the server has ended and all it wrote was looked at.
func (c *Client) Done() <-chan struct{} { return c.host().Done() }

// Wait waits for the server's end and returns its error: nil when it ended
// well, an *exec.ExitError, or what Serve returned. The cleanup of the test
// does not complain about that error any more.
func (c *Client) Wait(ctx context.Context) error {
	h := c.ends()
	ctx, cancel := c.context(ctx)
	defer cancel()
	return h.Wait(ctx)
}
