// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package weir is the root of an SDK for MCP tool servers over stdio that
// cannot freeze, corrupt their stream or leak. It holds no code:
//
//   - package server serves a registry of tools to a host;
//   - package tool registers typed handlers and makes their schemas;
//   - package result builds results, and bounds and pages them;
//   - package cursor seals positions, so that a caller can go on where a page
//     ended;
//   - package server/servertest is a host for tests.
//
// The README has a server in 25 lines; docs/guide.md builds one in four steps.
package weir
