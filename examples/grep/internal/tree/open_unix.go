// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tree

import "syscall"

// nonBlock keeps open(2) from waiting for the other end of a FIFO.
const nonBlock = syscall.O_NONBLOCK
