// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exec runs child processes for tools: bounded in what they put into
// memory and into a result, and never left behind.
//
//	out, err := exec.Run(ctx, exec.Cmd{Path: "git", Args: []string{"log", "--oneline"}})
//
// The differences from os/exec, whose names and meanings it keeps:
//
//   - Both output streams are read to their end at the same time, and of each
//     only a [Preview] is kept: the first and the last bytes, with exact counts
//     of all. So a child never blocks because nobody reads, and memory does not
//     follow what it writes (invariant I7 of the design).
//   - How a child ended is data, in [Output], whether it exited with a code,
//     was killed, ran out of time or was cancelled, and beside it stands the
//     output so far. Only a child that could not be started is an error:
//     a [*StartError].
//   - The whole tree of processes ends with the call: those that the child
//     started too, and those that go on after it (invariant I5). See Cmd.Grace
//     and Cmd.KeepSurvivors, and docs/exec.md for each system.
//   - A process that outlives the child and holds its output open does not
//     hold [Run].
//   - Standard input is the null device unless given, there is no terminal,
//     and arguments are a slice: only [Shell] makes a command for a shell.
//
// [Lines] yields standard output line by line instead, and ends the tree when
// the loop is left. Where a context belongs to a call of a server of this
// module, the server knows the call's children, shows them, and frees the
// call's slot only when they are gone.
//
// Nothing here needs a server: the package is as useful with another MCP
// library.
package exec
