// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/go-json-experiment/json/jsontext"

// IsBatch reports whether the frame is an array, if it is valid at all: a batch
// of messages, which only revision 2025-03-26 has.
func IsBatch(frame []byte) bool {
	i := skipSpace(frame, 0)
	return i < len(frame) && frame[i] == '['
}

// SplitBatch returns the messages of a batch as slices of the frame, in order.
// The frame is checked as by [Parse], and its messages' syntax with it. It is
// an error, CodeInvalidRequest, if there is none, or more than limit.
func SplitBatch(frame []byte, limit int) ([]jsontext.Value, *Error) {
	i := skipSpace(frame, 0)
	if !IsBatch(frame) {
		if err := syntax(frame, skipValue(frame, i, 0)); err != nil {
			return nil, err
		}
		return nil, errorf(CodeInvalidRequest, "a batch is a JSON array")
	}
	var (
		members []jsontext.Value
		count   int
	)
	i = skipSpace(frame, i+1)
	if i < len(frame) && frame[i] == ']' {
		i++
	} else {
		for {
			from := i
			if i = skipValue(frame, from, 1); i < 0 {
				return nil, syntax(frame, i)
			}
			if count++; count <= limit {
				members = append(members, frame[from:i:i])
			}
			i = skipSpace(frame, i)
			if i < len(frame) && frame[i] == ',' {
				i = skipSpace(frame, i+1)
				continue
			}
			if i == len(frame) || frame[i] != ']' {
				return nil, syntax(frame, ^i)
			}
			i++
			break
		}
	}
	if err := syntax(frame, i); err != nil {
		return nil, err
	}
	switch {
	case count == 0:
		return nil, errorf(CodeInvalidRequest, "a batch holds at least one message")
	case count > limit:
		return nil, errorf(CodeInvalidRequest, "a batch of %d messages, %d are allowed", count, limit)
	}
	return members, nil
}
