// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A tree is a child, called its leader, and the processes that it starts: the
// members of a job object. They all end when the job's last handle is closed,
// and so with this process too.
type tree struct {
	pid    int
	leader *os.Process
	state  *os.ProcessState // set by wait

	mu     sync.Mutex     // guards job and status
	job    windows.Handle // 0 once it is closed
	status status         // once known is set
}

// start starts the leader, which does nothing until it is in the job: so what
// it starts is in the job too.
func (t *tree) start(path string, argv []string, dir string, env []string, files [3]far) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	sys := &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if shell := Shell("").Args; argv[0] == Shell("").Path && len(argv) == 1+len(shell) && slices.Equal(argv[1:len(shell)], shell[:len(shell)-1]) {
		// cmd takes what stands between the first quote and the last as it is,
		// and not by the rules by which other programs take arguments apart.
		sys.CmdLine = strings.Join(argv[:len(shell)], " ") + ` "` + argv[len(shell)] + `"`
	}
	t.leader, err = os.StartProcess(path, argv, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{files[0].file, files[1].file, files[2].file}, Sys: sys})
	if err != nil {
		windows.CloseHandle(job)
		return err
	}
	t.pid, t.job = t.leader.Pid, job
	err = errors.New("the process has no handle")
	t.leader.WithHandle(func(h uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(h)) })
	if err == nil {
		err = resume(uint32(t.pid))
	}
	if err != nil {
		t.leader.Kill()
		t.leader.Wait()
		windows.CloseHandle(job)
	}
	return err
}

// ownThread does nothing: a job does not care which thread has started what.
func ownThread() (release func()) { return func() {} }

// newJob makes a job whose members end with its last handle.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	if err := limitJob(job, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func limitJob(job windows.Handle, flags uint32) error {
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: flags},
	}
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

// resume lets the one thread of a suspended process run.
func resume(pid uint32) error {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snap)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snap, &entry); err == nil; err = windows.Thread32Next(snap, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(h)
		_, err = windows.ResumeThread(h)
		return err
	}
	return err
}

// wait returns when the leader has ended.
func (t *tree) wait() { t.state, _ = t.leader.Wait() }

// reap returns the leader's status and gives the job back. It may be called
// once wait has returned.
func (t *tree) reap() status {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.status.known && t.state != nil {
		t.status = status{
			known:  true,
			code:   t.state.ExitCode(),
			cpu:    t.state.UserTime() + t.state.SystemTime(),
			memory: t.peakLocked(),
		}
	}
	return t.status
}

// peakLocked is the largest memory that one process of the job has committed.
func (t *tree) peakLocked() int64 {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if t.job == 0 || windows.QueryInformationJobObject(t.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) != nil {
		return 0
	}
	return int64(info.PeakProcessMemoryUsed)
}

// forget closes the job. Whatever was to be ended has been; the rest is kept.
func (t *tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		limitJob(t.job, 0)
		windows.CloseHandle(t.job)
		t.job = 0
	}
}

// terminate ends the tree: Windows has no request to end that every program
// gets.
func (t *tree) terminate() { t.kill() }

func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		windows.TerminateJobObject(t.job, 1)
	}
}

// alone reports, after the leader has exited, that nothing is left of the job.
func (t *tree) alone() bool { return !t.alive() }

func (t *tree) alive() bool { return len(t.ids()) > 0 }

// ids are the processes of the job that have not ended, maxSurvivors at most.
func (t *tree) ids() []uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return nil
	}
	// JOBOBJECT_BASIC_PROCESS_ID_LIST
	var list struct {
		assigned, inList uint32
		ids              [maxSurvivors]uintptr
	}
	err := windows.QueryInformationJobObject(t.job, jobObjectBasicProcessIDList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	return list.ids[:min(int(list.inList), maxSurvivors)]
}

const jobObjectBasicProcessIDList = 3

// survivors lists what is left of the job.
func (t *tree) survivors(...*os.File) (out []Survivor) {
	for _, id := range t.ids() {
		out = append(out, Survivor{PID: int(id), Name: imageName(uint32(id))})
	}
	return out
}

// imageName is the path of a process's program, or "".
func imageName(pid uint32) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(h)
	buf := make([]uint16, windows.MAX_PATH)
	n := uint32(len(buf))
	if windows.QueryFullProcessImageName(h, 0, &buf[0], &n) != nil {
		return ""
	}
	return windows.UTF16ToString(buf[:n])
}

func badArgument(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_PARAMETER) || errors.Is(err, syscall.EINVAL)
}
func tooLong(err error) bool {
	return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) || errors.Is(err, syscall.E2BIG)
}
func notProgram(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

// mayEnter is why dir may not be entered, or nil.
func mayEnter(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return &fs.PathError{Op: "chdir", Path: dir, Err: cause(err)}
	}
	return f.Close()
}
