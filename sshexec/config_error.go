// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"fmt"
	"strings"
)

// A ConfigError says what in an ssh_config file cannot be followed, and where it
// stands. Nothing of such an option is ignored: the whole host is refused.
type ConfigError struct {
	// Host is the name that was looked up. It is empty for a fault that has
	// nothing to do with a host.
	Host string

	// File and Line are where the option stands.
	File string
	Line int

	// Option is the option, by its name in ssh_config(5).
	Option string

	// Reason says what is wrong, or what to do.
	Reason string

	// Err is the cause. Nil when there is none but Reason.
	Err error
}

func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString("sshexec: ")
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Host != "" {
		fmt.Fprintf(&b, "host %s: ", quoted(e.Host))
	}
	if e.Option != "" {
		b.WriteString(e.Option + ": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Unwrap returns e.Err.
func (e *ConfigError) Unwrap() error { return e.Err }
