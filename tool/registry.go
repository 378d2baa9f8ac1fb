// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

// A Registry is a set of tools by name. The zero Registry is empty and ready.
// All methods and the functions Add, AddFunc and AddPage may be called
// concurrently, also while a server serves the registry: calls that run keep
// the tool they began with.
type Registry struct {
	wrapping   sync.Mutex   // guards middleware; held while it wraps, which is authors' code, and taken before mu
	middleware []Middleware // the first one is the outermost

	mu       sync.RWMutex // guards all below; never held while authors' code runs
	tools    map[string]*Tool
	sorted   []*Tool // by name; nil when it has to be made again; never changed once made
	version  uint64
	watchers map[*func()]struct{}
}

// Register adds a tool that is made at run time. Its arguments are described by
// info.InputSchema and stand, validated and with defaults filled in, as JSON in
// [Request.Arguments].
//
// An error says what is wrong: a bad or duplicate name, a schema that hosts
// would refuse, a nil handler or a nil Registry.
func (r *Registry) Register(info Info, h Handler) error {
	if r == nil {
		return registerError(info.Name, errNoRegistry)
	}
	if h == nil {
		return registerError(info.Name, errNoHandler)
	}
	t := &Tool{info: info, base: h}
	if err := t.describe(nil, nil); err != nil {
		return registerError(info.Name, err)
	}
	return r.add(t)
}

var (
	errNoRegistry = errors.New("the registry is nil")
	errNoHandler  = errors.New("the handler is nil")
)

func registerError(name string, err error) error {
	return fmt.Errorf("tool: %q: %w", name, err)
}

// add makes t, which is complete, one of the tools.
func (r *Registry) add(t *Tool) error {
	if err := r.insert(t); err != nil {
		return err
	}
	r.changed()
	return nil
}

// insert wraps t and puts it among the tools. Without an error it leaves mu
// locked, for changed.
func (r *Registry) insert(t *Tool) error {
	r.wrapping.Lock()
	defer r.wrapping.Unlock()
	if _, ok := r.Lookup(t.info.Name); ok { // tools are added only here
		return registerError(t.info.Name, errors.New("a tool of that name is there already"))
	}
	t.wrap(r.middleware)
	r.mu.Lock()
	if r.tools == nil {
		r.tools = map[string]*Tool{}
	}
	r.tools[t.info.Name] = t
	return nil
}

// Remove takes the tool out of the registry and tells whether it was there.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	if _, ok := r.tools[name]; !ok {
		r.mu.Unlock()
		return false
	}
	delete(r.tools, name)
	r.changed()
	return true
}

// changed notes that the list is another one, unlocks mu, which has to be
// locked, and tells those who watch.
func (r *Registry) changed() {
	r.version++
	r.sorted = nil
	fns := make([]*func(), 0, len(r.watchers))
	for fn := range r.watchers {
		fns = append(fns, fn)
	}
	r.mu.Unlock()
	for _, fn := range fns {
		(*fn)()
	}
}

// Use wraps the handlers of all tools, those that come later too, in the given
// middleware. The first one is the outermost, and what an earlier call of Use
// gave is outside of what a later one gives. Middleware runs after the
// arguments were validated and sees the handler's own result and error. Use
// panics when one is nil. While a Middleware wraps a handler it must not add
// tools or call Use.
func (r *Registry) Use(mw ...Middleware) {
	for i, m := range mw {
		if m == nil {
			panic(fmt.Sprintf("tool: Use: middleware %d is nil", i))
		}
	}
	r.wrapping.Lock()
	defer r.wrapping.Unlock()
	r.middleware = append(r.middleware, mw...)
	for _, t := range r.Tools() {
		t.wrap(r.middleware)
	}
}

// Lookup returns the tool of that name.
func (r *Registry) Lookup(name string) (*Tool, bool) {
	r.mu.RLock()
	t, ok := r.tools[name]
	r.mu.RUnlock()
	return t, ok
}

// Tools returns all tools, sorted by name. The caller must not change the
// slice.
func (r *Registry) Tools() []*Tool {
	r.mu.RLock()
	sorted := r.sorted
	r.mu.RUnlock()
	if sorted != nil {
		return sorted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = make([]*Tool, 0, len(r.tools))
		for _, t := range r.tools {
			r.sorted = append(r.sorted, t)
		}
		slices.SortFunc(r.sorted, func(a, b *Tool) int { return cmp.Compare(a.info.Name, b.info.Name) })
	}
	return r.sorted
}

// Version is a number that grows with each change of the list of tools. It is
// zero for a registry that never had one.
func (r *Registry) Version() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.version
}

// OnChange has fn called after each change of the list, when Tools shows it
// already. fn must not block; it may use the registry. Calls may overlap. stop
// ends the calls, but for those that are under way.
func (r *Registry) OnChange(fn func()) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watchers == nil {
		r.watchers = map[*func()]struct{}{}
	}
	key := &fn
	r.watchers[key] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, key)
	}
}

// maxCallInput bounds the encoded input of Registry.Call.
const maxCallInput = 16 << 20

// Call calls a tool without a wire, as an author's test does. The input is any
// Go value that encodes as a JSON object, or raw JSON as a string, []byte,
// jsontext.Value or json.RawMessage; nil means no arguments. Everything but the
// wire is as in a server: validation, defaults, middleware, the budget, the
// output schema.
//
// What a model would read comes as a Result, with IsError set for a failure. An
// error is an *Error, as for an unknown tool, an *InternalError, or, when ctx
// ended with a *Cancelled as its cause, that cause. A panic of the handler is
// not recovered.
func (r *Registry) Call(ctx context.Context, name string, in any) (result.Result, error) {
	t, ok := r.Lookup(name)
	if !ok {
		return result.Result{}, &Error{Code: codeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
	}
	args, err := rawArguments(ctx, in)
	if err != nil {
		return result.Result{}, &Error{Code: codeInvalidParams, Message: "arguments: " + err.Error()}
	}
	return t.Serve(ctx, &Request{Arguments: args, Protocol: withAnyOutput})
}

// rawArguments turns what Call was given into JSON.
func rawArguments(ctx context.Context, in any) (jsontext.Value, error) {
	var raw []byte
	switch v := in.(type) {
	case nil:
		return nil, nil
	case string:
		raw = []byte(v)
	case []byte:
		raw = v
	case jsontext.Value:
		raw = v
	case jsonv1.RawMessage:
		raw = v
	default:
		return result.Marshal(ctx, in, maxCallInput)
	}
	if err := checkSyntax(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// checkSyntax refuses what a server would not have read: anything but one JSON
// value in UTF-8. Duplicate names are left to the validation.
func checkSyntax(raw jsontext.Value) error {
	if !utf8.Valid(raw) {
		return errors.New("not valid UTF-8")
	}
	if !raw.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return errors.New("not one JSON value")
	}
	return nil
}
