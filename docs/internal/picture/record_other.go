// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "errors"

func runHost() (*run, error) {
	return nil, errors.New("-record looks into a pipe, which it can on Linux only")
}
