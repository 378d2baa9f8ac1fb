// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package artifact keeps full outputs outside of results, in files of a private
// directory, and has the tool that reads them back in bounded parts.
//
// A [Store] on a server (its field Artifacts) takes the texts that are over a
// budget: the result then has their head, their tail, and a handle. A [Writer]
// takes a stream, such as everything that a child process prints. The handle
// leads back to the whole in two ways, both bounded: the tool read_artifact,
// which [ReadTool] makes, and the resource "artifact:HANDLE" of [Store.Read]. There is no third
// one: no text of this package names a file of the machine.
//
// An artifact is there as a whole or not at all: it gets its handle when all of
// it is written. It goes when it is too old or room is needed, the oldest first,
// and a reader is then told that it has expired; docs/artifacts.md has all
// reasons that a reader may be given.
package artifact
