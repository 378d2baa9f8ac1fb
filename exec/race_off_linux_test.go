// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package exec_test

// raceEnabled tells that the race detector is on, which costs memory and time.
const raceEnabled = false
