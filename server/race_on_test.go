// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package server_test

// raceEnabled tells whether the race detector slows everything down.
const raceEnabled = true
