// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// ResultTail ends a response frame after its result.
const ResultTail = "}\n"

// AppendResultHead appends the start of a response frame, up to where its
// result begins, so that a large result can be encoded in its place. The result
// must be one compact JSON value without a raw LF or CR, as package quote makes
// it, and then comes [ResultTail].
func AppendResultHead(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = AppendScalar(dst, id.Raw)
	return append(dst, `,"result":`...)
}

// AppendResult appends a whole response frame, its LF included. The result is
// as for [AppendResultHead], and is not looked at.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = AppendResultHead(dst, id)
	dst = append(dst, result...)
	return append(dst, ResultTail...)
}

// AppendError appends a whole error frame, its LF included. Without an id, it
// has "id":null if idNull, and else no id member: revisions differ. Data may
// be any JSON; if it is not valid, it is left out.
func AppendError(dst []byte, id ID, idNull bool, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	switch {
	case id.Raw != "":
		dst = append(dst, `"id":`...)
		dst = AppendScalar(dst, id.Raw)
		dst = append(dst, ',')
	case idNull:
		dst = append(dst, `"id":null,`...)
	}
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = quote.Append(dst, e.Message)
	if e.Data != nil {
		before := len(dst)
		var err error
		if dst, err = quote.Raw(append(dst, `,"data":`...), e.Data); err != nil {
			dst = dst[:before]
		}
	}
	return append(dst, "}}\n"...)
}

// AppendScalar appends the JSON text of an id or a progress token as the peer
// sent it, byte for byte, but for a raw U+2028 or U+2029: no frame of ours has
// one, so it is escaped, which is the same string.
func AppendScalar(dst []byte, raw string) []byte {
	for {
		i := strings.IndexByte(raw, '\xe2')
		if i < 0 || len(raw)-i < 3 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		switch c := raw[i : i+3]; c {
		case "\u2028":
			dst = append(dst, `\u2028`...)
		case "\u2029":
			dst = append(dst, `\u2029`...)
		default:
			dst = append(dst, c...)
		}
		raw = raw[i+3:]
	}
}
