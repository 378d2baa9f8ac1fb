// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
)

type countInput struct {
	Text string `json:"text" jsonschema:"description=what the lines contain,minLength=1"`
}

type countOutput struct {
	Lines int `json:"lines"`
}

func (l *logFile) count(ctx context.Context, in countInput) (countOutput, error) {
	n := 0
	for line, err := range l.lines(ctx, position{}) {
		if err != nil {
			return countOutput{}, err
		}
		if strings.Contains(line.text, in.Text) {
			n++
		}
	}
	return countOutput{Lines: n}, nil
}
