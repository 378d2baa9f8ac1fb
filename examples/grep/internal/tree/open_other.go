// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package tree

// nonBlock is nothing here: no path below a root waits when it is opened.
const nonBlock = 0
