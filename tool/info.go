// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/result"
)

// A Hint is a boolean annotation that may also be unset, which is its zero
// value: a host then assumes the default of the protocol.
type Hint uint8

// The two set states of a Hint.
const (
	Yes Hint = iota + 1
	No
)

// An Icon is a picture of a tool that a host may show (revisions from
// 2025-11-25).
type Icon struct {
	// Src is an https or data URI; required.
	Src string
	// MIMEType, such as "image/png", overrides what Src says. Empty means
	// nothing.
	MIMEType string
	// Sizes are such as "48x48", or "any" for a scalable icon. Empty means any.
	Sizes []string
	// Theme is "light" or "dark" for an icon made for that background. Empty
	// means both.
	Theme string
}

// Info describes a tool. Name is the only field that must be set, and
// Description should be: it is what a model chooses by.
type Info struct {
	// Name identifies the tool in its registry. It matches
	// ^[a-zA-Z0-9_-]{1,64}$, as one bad name makes hosts hide all tools of a
	// server; see LooseName.
	Name string

	// Title is what people see. Empty means Name.
	Title string

	// Description tells a model what the tool does and when to use it. Empty
	// means none; Lint reports that.
	Description string

	// ReadOnly says that the tool changes nothing. Unset means the protocol's
	// default, No.
	ReadOnly Hint
	// Destructive says, of a tool that is not read-only, that it may overwrite
	// or delete. Unset means the protocol's default, Yes.
	Destructive Hint
	// Idempotent says, of a tool that is not read-only, that calling it again
	// with the same arguments has no further effect. Unset means the
	// protocol's default, No.
	Idempotent Hint
	// OpenWorld says that the tool reaches beyond a closed domain, such as to
	// the web. Unset means the protocol's default, Yes.
	OpenWorld Hint

	// Icons are pictures for hosts that show them. Empty means none.
	Icons []Icon

	// Meta is the _meta of the tool's definition, encoded by the rules of
	// [result.Options]. Nil means none.
	Meta map[string]any

	// MaxResultSizeChars asks a host to show results of up to that many
	// characters to the model, instead of storing them in a file. It becomes
	// "anthropic/maxResultSizeChars" in Meta; at most 500,000. Zero means that
	// the host decides.
	MaxResultSizeChars int

	// Budget bounds one result of this tool. Its zero fields mean the server's
	// budget. The caller's maxBytes (see PageInput) can lower it.
	Budget result.Budget

	// Timeout bounds one call, from when it starts to run. Zero means the
	// server's CallTimeout.
	Timeout time.Duration

	// MaxCalls bounds the calls of this tool that run at once. Zero means
	// three quarters of what the server runs.
	MaxCalls int

	// InputSchema is a JSON Schema (2020-12) of the arguments, used instead of
	// the one that follows from the handler's input type. The root has to be an
	// object without combinators, and an array needs items. Nil means the
	// input type's, or for a tool without one that there are no arguments.
	InputSchema jsontext.Value

	// OutputSchema is a JSON Schema of the structured content, used instead of
	// the one that follows from the handler's output type. What a handler
	// returns is validated against it. Nil means the output type's, or for a
	// handler without one that structured content is not described.
	OutputSchema jsontext.Value

	// AnyOutput lets the root of the output schema be something else than an
	// object, which only revision 2026-07-28 knows: for others the schema and
	// the structured content are left out. False means that it is refused.
	AnyOutput bool

	// LooseName lets Name also have dots and slashes, and 128 characters. The
	// protocol allows them, hosts often do not. False means that they are
	// refused.
	LooseName bool

	// AllowUnknown lets arguments have properties that the input type does not
	// know, at any depth; they are dropped when decoding. False means that the
	// caller is told about them. A raw InputSchema says so itself.
	AllowUnknown bool

	// AcceptText accepts arrays, objects, numbers and booleans that a client
	// sent as JSON text, where the schema wants them and no string. False means
	// that the caller is told to send JSON.
	AcceptText bool

	// AllowCombinators lets the root of a raw schema have oneOf, anyOf, allOf,
	// not, enum, const or if. They make hosts refuse the tool, or every request
	// of the session. False means that registration refuses them.
	AllowCombinators bool
}

// metaResultSize is the key of MaxResultSizeChars, and maxResultSize the
// ceiling of its host.
const (
	metaResultSize = "anthropic/maxResultSizeChars"
	maxResultSize  = 500_000
)

var (
	strictName = lint.ToolName
	looseName  = lint.NameRule{Also: "_./-", Max: 128}
)

// check refuses what cannot be meant. The schemas are checked elsewhere.
func (i *Info) check() error {
	switch {
	case i.LooseName && !looseName.Matches(i.Name):
		return fmt.Errorf("the name does not match %s", looseName)
	case !i.LooseName && !strictName.Matches(i.Name):
		return fmt.Errorf("the name does not match %s (one such name makes hosts hide all tools)", strictName)
	case i.MaxResultSizeChars < 0 || i.MaxResultSizeChars > maxResultSize:
		return fmt.Errorf("field MaxResultSizeChars is not within 0 and %d", maxResultSize)
	case i.Timeout < 0:
		return errors.New("negative Timeout")
	case i.MaxCalls < 0:
		return errors.New("negative MaxCalls")
	case i.Budget.Bytes < 0 || i.Budget.Items < 0 || i.Budget.Media < 0:
		return errors.New("negative Budget")
	}
	for _, h := range []Hint{i.ReadOnly, i.Destructive, i.Idempotent, i.OpenWorld} {
		if h > No {
			return errors.New("a hint is neither Yes nor No")
		}
	}
	for _, icon := range i.Icons {
		scheme, _, _ := strings.Cut(icon.Src, ":")
		if scheme != "https" && scheme != "http" && scheme != "data" {
			return fmt.Errorf("the icon %q is no https or data URI", icon.Src)
		}
		if icon.Theme != "" && icon.Theme != "light" && icon.Theme != "dark" {
			return fmt.Errorf("the icon theme %q is neither light nor dark", icon.Theme)
		}
	}
	return nil
}
