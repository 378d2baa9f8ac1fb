// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"os"
	"os/signal"
)

// Signals returns a channel that receives the signals which ask a server to end: SIGTERM, SIGINT and SIGHUP on Unix;
// Ctrl-C, Ctrl-Break and the closing of the console on Windows. One that the process was started to ignore (nohup, a
// shell's background job) stays ignored.
//
// Call stop after the first signal, so that the next one ends the process as if it had never been caught. Later calls of
// stop do nothing.
func Signals() (c <-chan os.Signal, stop func()) {
	notified := make(chan os.Signal, 1)
	for _, s := range endings {
		if !signal.Ignored(s) {
			signal.Notify(notified, s)
		}
	}
	return notified, func() { signal.Stop(notified) }
}
