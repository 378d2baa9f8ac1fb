// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drive

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Measures tells whether this system's processes can be measured and pinned.
const Measures = true

// Block makes reads and writes plain blocking system calls, which spares the host the detour over its poller.
// Only the end of the process interrupts them then.
func (p *Process) Block() error {
	for _, f := range []*os.File{p.in, p.out} {
		c, err := f.SyscallConn()
		if err != nil {
			return err
		}
		var inner error
		if err := c.Control(func(fd uintptr) { inner = unix.SetNonblock(int(fd), false) }); err != nil {
			return err
		}
		if inner != nil {
			return inner
		}
	}
	return nil
}

// CPU is the processor time, user and system, that all threads of the server have used.
func (p *Process) CPU() (time.Duration, error) {
	// The CPU clock of another process, as clock_getcpuclockid(3) makes it: ^pid<<3 | CPUCLOCK_SCHED.
	clock := int32(^p.cmd.Process.Pid)<<3 | 2
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", p.cmd.Process.Pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// RSS is the resident memory of the server in bytes.
func (p *Process) RSS() (int64, error) { return p.status("VmRSS:") }

// PeakRSS is the largest RSS so far, in bytes.
func (p *Process) PeakRSS() (int64, error) { return p.status("VmHWM:") }

func (p *Process) status(field string) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte(field)); ok {
			kib, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s any more; it has ended", p.cmd.Process.Pid, field)
}

// startOn starts cmd on one CPU, numbered from 1, or on all for 0. A child inherits the mask of the thread that forks it.
func startOn(cmd *exec.Cmd, cpu int) error {
	if cpu == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return err
	}
	set.Set(cpu - 1)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &old)
	return cmd.Start()
}

// CPUs lists the CPUs this process may use, numbered from 1.
func CPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i+1)
		}
	}
	return cpus
}

// PinSelf puts all threads of this process on one CPU, numbered from 1, for good.
func PinSelf(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu - 1)
	runtime.GOMAXPROCS(1)
	for seen := 0; ; {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return err
			}
		}
		// A thread made meanwhile by one that was not pinned yet is found by looking again.
		if len(tasks) == seen {
			return nil
		}
		seen = len(tasks)
	}
}
