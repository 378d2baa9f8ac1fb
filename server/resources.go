// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/result"
)

// codeNoResource is the error of the legacy era for a resource that is not
// there; the modern era has -32602 for it.
const codeNoResource = -32002

// maxURI bounds the URI of resources/read, in bytes.
const maxURI = 4 << 10

// resourceCursors seals positions in resources/list.
var resourceCursors cursor.Codec[resourcePosition]

// A resourcePosition is where a page of resources/list begins.
type resourcePosition struct {
	After string `json:"a"` // uriMark of the last resource of the page before
}

// uriMark stands for a URI of any length.
func uriMark(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	return base64.RawStdEncoding.EncodeToString(sum[:16])
}

// A resourceRequest is what a call asks of the store.
type resourceRequest struct {
	method string
	uri    string // what to read; "" for the list
	after  resourcePosition
}

// resourceMethod returns what answers a method about resources; nil for others,
// and when there are no resources.
func (se *session) resourceMethod(method string) func(*session, *envelope) {
	if se.srv.state.resources == nil {
		return nil
	}
	switch method {
	case "resources/list":
		return (*session).callList
	case "resources/read":
		return (*session).callRead
	case "resources/templates/list":
		return (*session).listTemplates
	}
	return nil
}

// resourceQueues returns the queues of resources/read and resources/list. A
// store may wait for files, so its requests wait for slots and memory as calls
// of two tools would.
func (l Limits) resourceQueues() (reads, lists *toolQueue) {
	most := l.perTool(0)
	return &toolQueue{most: most, timeout: l.CallTimeout, need: l.reserve(l.Budget)},
		&toolQueue{most: most, timeout: l.CallTimeout, need: min(l.MaxListPage+listOverhead, l.MaxFrameOut)}
}

// listTemplates answers resources/templates/list: there are none.
func (se *session) listTemplates(q *envelope) {
	if _, err := cursorOf(resourceCursors, listScope(q.Method), q); err != nil {
		se.refuse(q.batch, q.ID, err)
		return
	}
	b := append([]byte(nil), '{')
	if q.modern {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"resourceTemplates":[]`...)
	se.answerResult(q.batch, q.ID, se.srv.appendTail(b, q, true))
}

// callList admits a resources/list.
func (se *session) callList(q *envelope) {
	after, err := cursorOf(resourceCursors, "resources/list", q)
	if err != nil {
		se.refuse(q.batch, q.ID, err)
		return
	}
	se.callResource(q, se.lists, &resourceRequest{after: after})
}

// callRead admits a resources/read.
func (se *session) callRead(q *envelope) {
	raw, _ := q.Params.Member("uri")
	uri, ok := stringOf(raw)
	switch {
	case !ok || uri == "":
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.uri must be the URI of a resource"})
	case len(uri) > maxURI:
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf("params.uri has %d bytes; the limit is %d", len(uri), maxURI)})
	default:
		se.callResource(q, se.reads, &resourceRequest{uri: uri})
	}
}

func (se *session) callResource(q *envelope, queue *toolQueue, r *resourceRequest) {
	r.method = q.Method
	c := &call{se: se, id: q.ID, protocol: q.protocol, resource: r, queue: queue, batch: q.batch, bytes: q.size, arrived: se.now(), logLevel: int8(severityOff)}
	c.ctx.c = c
	se.admit(q, c)
}

// serveResource asks the store and hands the response to the writer.
func (se *session) serveResource(c *call) {
	ask := se.readResource
	if c.resource.uri == "" {
		ask = se.listResources
	}
	data, err := ask(c)
	switch {
	case err == nil && timedOut(c.ctx.ended()):
		se.answer(c, data, nil, outcomeTimedOut)
	case err == nil:
		se.answer(c, data, nil, outcomeOK)
	case (sendContext{&c.ctx}).Err() != nil:
		se.drop(c)
	default:
		e, out := se.resourceError(c, err)
		se.answer(c, wire.AppendError(nil, c.id, false, e), nil, out)
	}
}

// resourceError is what a host is told of an error of the store, or of its own
// limits.
func (se *session) resourceError(c *call, err error) (*wire.Error, outcome) {
	e, out := &wire.Error{Code: wire.CodeInternal}, outcomeRefused
	var large *result.TooLargeError
	var unusable *unusableError
	switch cause := c.ctx.ended(); {
	case cause != nil:
		e.Message = cause.Error()
		if timedOut(cause) {
			out = outcomeTimedOut
		}
	case errors.As(err, &large):
		se.log.Warn("a response is over the frame limit", "tool", c.name(), "id", c.id.Raw, "limit", se.limits.MaxFrameOut)
		e.Message = fmt.Sprintf("the response has %d bytes or more, over the limit of %d bytes", large.Size, se.limits.MaxFrameOut)
	case errors.As(err, &unusable):
		ref := reference()
		se.log.Error("what a store returned could not be used", "ref", ref, "tool", c.name(), "id", c.id.Raw, "err", unusable.err)
		e.Message, out = internalText(ref), outcomePanicked
	case c.resource.uri != "" && errors.Is(err, fs.ErrNotExist):
		e.Code = codeNoResource
		if c.protocol >= rev2026July {
			e.Code = wire.CodeInvalidParams
		}
		fallthrough
	default:
		e.Message = quote.Cut(cmp.Or(err.Error(), "the store failed without saying why"), maxErrorMessage)
	}
	if uri := c.resource.uri; uri != "" {
		e.Data = append(quote.Append([]byte(`{"uri":`), uri), '}')
	}
	return e, out
}

// failed is the frame for what the server itself says of c: for requests other
// than tools/call every failure is an error of JSON-RPC.
func (r *resourceRequest) failed(c *call, res result.Result) []byte {
	text, _ := res.Content[0].(result.TextContent)
	return wire.AppendError(nil, c.id, false, &wire.Error{Code: wire.CodeInternal, Message: text.Text})
}

// An unusableError says that a store returned what cannot be sent.
type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }

// unusable marks an error of Bound or of an encoding as the store's mistake,
// unless a limit or the end of ctx was the reason.
func unusable(ctx context.Context, err error) error {
	var large *result.TooLargeError
	if err == nil || ctx.Err() != nil || errors.As(err, &large) {
		return err
	}
	return &unusableError{err}
}

// frameRoom is how much c's frame may still grow, of which there are n bytes.
func (se *session) frameRoom(c *call, n int) int {
	room := se.limits.MaxFrameOut - len("}") - n
	if c.batch != nil {
		room -= len("[]")
	}
	return room
}

// beginResource begins the frame of c's response, which will have about size
// bytes, up to the values of its one member that matters.
func (se *session) beginResource(c *call, member string, size int) []byte {
	b := append(wire.AppendResultHead(make([]byte, 0, size+listOverhead/4), c.id), '{')
	if c.protocol >= rev2026July {
		b = append(b, `"resultType":"complete",`...)
	}
	return append(append(append(b, '"'), member...), `":[`...)
}

// endResource ends it. Whatever is kept of a user's calls is for that user.
func (se *session) endResource(c *call, b []byte, ttl int64) ([]byte, error) {
	modern := c.protocol >= rev2026July
	if modern {
		b = append(b, `,"ttlMs":`...)
		b = strconv.AppendInt(b, max(0, ttl), 10)
		b = append(b, `,"cacheScope":"private"`...)
	}
	b = se.srv.appendTail(b, &envelope{modern: modern, protocol: c.protocol}, false)
	if se.frameRoom(c, len(b)) < 0 {
		return nil, &result.TooLargeError{Limit: se.limits.MaxFrameOut, Size: int64(len(b))}
	}
	return append(b, wire.ResultTail...), nil
}

// readResource returns the response to a resources/read.
func (se *session) readResource(c *call) ([]byte, error) {
	uri, budget := c.resource.uri, se.limits.Budget
	// What is larger than a frame is cut as what is over the budget is, so that
	// it can still be read in parts.
	room := max(result.MinBytes, se.limits.MaxFrameOut-listOverhead-quote.Len(uri))
	budget.Bytes, budget.Media = min(budget.Bytes, room), min(budget.Media, room)
	r, err := se.srv.state.resources.Read(&c.ctx, uri, budget)
	if err != nil {
		return nil, err
	}
	r.URI = cmp.Or(r.URI, uri)
	ctx := sendContext{&c.ctx}
	res := result.Embed(result.EmbeddedContent{Resource: r})
	res.Hint = "use a tool that reads it in parts"
	se.holdMedia(c, res)
	// Bound encodes the _meta, and cuts what a store returned in spite of the
	// budget.
	budget.Bytes += quote.Len(r.URI) + quote.Len(r.MIMEType)
	if res, err = result.Bound(ctx, res, budget, nil); err != nil {
		return nil, unusable(ctx, err)
	}
	switch content := res.Content[0].(type) {
	case result.EmbeddedContent:
		r = content.Resource
	case result.TextContent: // in its place
		r = result.Resource{URI: r.URI, MIMEType: "text/plain", Text: content.Text}
	}
	if cut := res.Meta[result.TruncatedKey]; cut != nil {
		se.log.Warn("a store returned more of a resource than it was asked for", "id", c.id.Raw, "limit", budget.Bytes)
		if r.Meta[result.TruncatedKey] == nil { // else it is Bound's map, and says more
			r.Meta = withMember(r.Meta, result.TruncatedKey, cut)
		}
	}
	b := se.beginResource(c, "contents", len(r.Text)+len(r.Text)/8+base64.StdEncoding.EncodedLen(len(r.Blob)))
	enc := result.Encoding{Protocol: c.protocol, Limit: max(1, se.frameRoom(c, len(b)))}
	if b, err = enc.AppendResource(ctx, b, r); err != nil {
		return nil, unusable(ctx, err)
	}
	return se.endResource(c, append(b, ']'), se.srv.ListTTL.Milliseconds())
}

func withMember(m map[string]any, key string, v any) map[string]any {
	if m == nil {
		m = make(map[string]any, 1)
	}
	m[key] = v
	return m
}

// listResources returns the response to a resources/list.
func (se *session) listResources(c *call) ([]byte, error) {
	links, err := se.srv.state.resources.Resources()
	if err != nil {
		return nil, err
	}
	begin := 0
	if after := c.resource.after.After; after != "" {
		for begin < len(links) && uriMark(links[begin].URI) != after {
			begin++
		}
		begin = min(begin+1, len(links)) // what is gone has nothing behind it
	}
	ctx := sendContext{&c.ctx}
	most := min(se.limits.MaxListPage, se.limits.MaxFrameOut-listOverhead)
	b := se.beginResource(c, "resources", 0)
	start, i := len(b), begin
	for ; i < len(links); i++ {
		if ctx.Err() != nil {
			return nil, context.Cause(&c.ctx)
		}
		before := len(b)
		if before > start {
			b = append(b, ',')
		}
		if b, err = se.appendListed(ctx, c, b, links[i]); err != nil {
			se.log.Error("a resource cannot be listed; it is left out of resources/list", "id", c.id.Raw, "uri", quote.Cut(links[i].URI, 256), "err", err)
			b = b[:before]
			continue
		}
		if len(b)-start > most && before > start {
			b = b[:before]
			break
		}
	}
	b = append(b, ']')
	if i < len(links) {
		next, err := resourceCursors.Encode(listScope("resources/list"), resourcePosition{uriMark(links[i-1].URI)})
		if err != nil {
			return nil, &unusableError{err}
		}
		b = append(b, `,"nextCursor":`...)
		b = quote.Append(b, next)
	}
	return se.endResource(c, bytes.Clone(b), 0) // it waits without what it grew beyond need
}

// appendListed appends the description of one resource.
func (se *session) appendListed(ctx context.Context, c *call, b []byte, l result.LinkContent) ([]byte, error) {
	// Bound encodes the _meta.
	res, err := result.Bound(ctx, result.Link(l), result.Budget{Bytes: se.limits.MaxFrameOut}, nil)
	if err != nil {
		return b, err
	}
	listed, ok := res.Content[0].(result.LinkContent)
	if !ok {
		return b, &result.TooLargeError{Limit: se.limits.MaxFrameOut}
	}
	enc := result.Encoding{Protocol: c.protocol, Limit: max(1, se.frameRoom(c, listOverhead))}
	return enc.AppendListed(ctx, b, listed)
}
