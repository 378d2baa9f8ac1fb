// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package stdio

import (
	"os"
	"syscall"
)

// endings are the signals that ask for an end.
var endings = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
