// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"runtime/debug"
)

// A Panic is that of somebody's writer or reader on a goroutine of ours, where
// nobody could recover from it. It is raised again on that of the caller, whose
// business it is.
type Panic struct {
	Value any
	Stack []byte
}

// Recovered is what the deferred call of recover returned, or nil for nil.
func Recovered(v any) *Panic {
	if v == nil {
		return nil
	}
	return &Panic{v, debug.Stack()}
}

// Error has the stack of the panic in it, which the caller's does not show.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
