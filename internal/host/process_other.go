// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package host

// wait returns when the leader has ended and is reaped: there is no portable
// way to see the end of a process before that.
func (c *child) wait() { c.reap() }

// survivors says nothing: there is no portable way to list a group.
func survivors(int, string) []int { return nil }

// killMarked does nothing: there is no portable way to read an environment.
func killMarked(string) {}
