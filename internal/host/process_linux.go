// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "golang.org/x/sys/unix"

// wait returns when the leader has ended. It is not reaped yet, so that its id
// cannot be another's when its group is killed.
func (c *child) wait() {
	for unix.Waitid(unix.P_PID, c.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
