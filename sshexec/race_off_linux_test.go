// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package sshexec

const raceEnabled = false
