// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object that holds the child and what it starts. A process
// that the child starts before it is in the job (some microseconds) escapes.
type group struct {
	mu  sync.Mutex     // guards job
	job windows.Handle // 0 before the start and after the end
}

func (c *child) start() (err error) {
	if c.cmd.SysProcAttr == nil {
		c.cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	c.cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
	if c.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(c.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		windows.CloseHandle(c.job)
		return err
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(c.pid()))
	if err == nil {
		err = windows.AssignProcessToJobObject(c.job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		c.cmd.Process.Kill()
		c.reap()
		windows.CloseHandle(c.job)
	}
	return err
}

// terminate asks by Ctrl-Break, which a process group of its own receives.
func (c *child) terminate() {
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.pid()))
}

func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.job != 0 {
		windows.TerminateJobObject(c.job, 1)
	}
}

func (c *child) wait() { c.reap() }

// release ends what the child left behind: closing the job kills its members.
func (c *child) release(time.Duration) Exit {
	c.mu.Lock()
	defer c.mu.Unlock()
	windows.CloseHandle(c.job)
	c.job = 0
	return c.exit()
}
