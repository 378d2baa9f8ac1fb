// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package stdio

import (
	"os"
	"syscall"
)

// endings are the signals that ask for an end. On Windows, Go reports Ctrl-C and Ctrl-Break as the first, and the closing
// of the console, log-off and shutdown as the second.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM}
