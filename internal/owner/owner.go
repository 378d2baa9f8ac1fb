// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner records what a call owns outside its goroutine: child
// processes, SSH sessions, anything that must be gone before the call's slot
// is free.
//
// A package that starts such a thing finds its call's Owner in the context,
// adds a [Thing] to it and calls the returned function when the thing is
// gone. Outside a call there is no Owner, and adding does nothing.
package owner

import (
	"context"
	"sync"
)

// Key is the context key under which a call's *Owner stands. It is exported
// for the server's own context type, which answers it without an allocation.
type Key struct{}

// NewContext returns a copy of ctx that carries o.
func NewContext(ctx context.Context, o *Owner) context.Context {
	return context.WithValue(ctx, Key{}, o)
}

// FromContext returns the Owner of the call that ctx belongs to, or nil.
// A nil Owner is valid: its methods do nothing.
func FromContext(ctx context.Context) *Owner {
	o, _ := ctx.Value(Key{}).(*Owner)
	return o
}

// Thing is one thing that a call owns.
type Thing struct {
	Kind string // "process", "ssh session", …
	Name string // what a person would call it, such as its command; never a secret
	ID   string // process id, host and stage, …
	Kill func() // ends the thing at once and does not wait; nil where nothing can be done

	// State is asked for ID whenever the thing is listed, for what changes
	// while it is owned. It does not wait, and is called under locks of others.
	// Nil where ID stays.
	State func() string
}

// Owner is the set of things that one call owns. The zero Owner is empty and
// ready. Its methods may be called concurrently, and on a nil *Owner.
type Owner struct {
	mu     sync.Mutex // guards things and idle
	things []*Thing
	idle   []func() // run once when things becomes empty
}

// Add records t until gone is called. Calling gone twice is harmless.
func (o *Owner) Add(t Thing) (gone func()) {
	if o == nil {
		return func() {}
	}
	p := &t
	o.mu.Lock()
	o.things = append(o.things, p)
	o.mu.Unlock()
	return func() { o.remove(p) }
}

func (o *Owner) remove(p *Thing) {
	o.mu.Lock()
	var idle []func()
	for i, q := range o.things {
		if q == p {
			o.things = append(o.things[:i], o.things[i+1:]...)
			if len(o.things) == 0 {
				idle, o.idle = o.idle, nil
			}
			break
		}
	}
	o.mu.Unlock()
	for _, fn := range idle {
		fn()
	}
}

// Things returns a copy of what is owned now, oldest first.
func (o *Owner) Things() []Thing {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.things) == 0 {
		return nil
	}
	out := make([]Thing, len(o.things))
	for i, p := range o.things {
		out[i] = *p
		if p.State != nil {
			out[i].ID = p.State()
		}
	}
	return out
}

// Kill ends everything that is owned now and does not wait for it.
func (o *Owner) Kill() {
	for _, t := range o.Things() {
		if t.Kill != nil {
			t.Kill()
		}
	}
}

// WhenIdle calls fn once nothing is owned: at once, on this goroutine, when
// that is so already, else on the goroutine that removes the last thing.
func (o *Owner) WhenIdle(fn func()) {
	if o == nil {
		fn()
		return
	}
	o.mu.Lock()
	if len(o.things) > 0 {
		o.idle = append(o.idle, fn)
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	fn()
}
