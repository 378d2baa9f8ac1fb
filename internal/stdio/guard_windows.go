// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// system is what Claim changed on Windows.
type system struct {
	saved [3]standard
	made  []*os.File // opened by claim, closed by restore
}

// standard is one standard stream as it was. Go programs reach it in three places, all of which lead elsewhere while
// taken is true.
type standard struct {
	taken  bool
	file   os.File        // what *os.Stdin, *os.Stdout or *os.Stderr held
	handle syscall.Handle // what syscall.Stdin and so on held
	std    windows.Handle // what the process's own table held, for C code and for children
}

var (
	names   = [3]string{"stdin", "stdout", "stderr"}
	files   = [3]**os.File{&os.Stdin, &os.Stdout, &os.Stderr}
	handles = [3]*syscall.Handle{&syscall.Stdin, &syscall.Stdout, &syscall.Stderr}
	table   = [3]uint32{windows.STD_INPUT_HANDLE, windows.STD_OUTPUT_HANDLE, windows.STD_ERROR_HANDLE}
)

// claim does the work of Claim. When it fails, Release undoes what it did.
func (g *Guard) claim() error {
	var own [3]*os.File
	for i := range own {
		var err error
		if own[i], err = original(i); err != nil {
			return err
		}
	}
	stdout, stderr := windows.Handle(own[1].Fd()), windows.Handle(own[2].Fd())
	g.merged = sameHandle(stdout, stderr) && !console(stderr)

	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	g.system.made = append(g.system.made, null)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	g.system.made = append(g.system.made, w)
	inherit(r, false)

	g.in, g.out = newInput(own[0]), newOutput(own[1])
	g.in.unlock, g.out.unlock = interrupt(own[0]), interrupt(own[1]) // not closed: Release gives them back
	var to *Output
	if !g.merged {
		to = newOutput(own[2])
		to.unlock = func() error { return nil } // others write to stderr as well
	}
	g.stray = forward(newInput(r), to)

	inherit(own[0], false)
	inherit(own[1], false)
	g.take(0, null)
	g.take(1, w)
	if g.merged {
		g.take(2, null)
	}
	return nil
}

// original returns a File of our own for standard stream i. Where os.Stdin and so on still have its handle, that is a copy
// of their value, because a handle that allows overlapped operations can be known to Go only once.
func original(i int) (*os.File, error) {
	std, err := windows.GetStdHandle(table[i])
	if err != nil || std == 0 || std == windows.InvalidHandle {
		return nil, &os.PathError{Op: "get", Path: names[i], Err: os.ErrInvalid}
	}
	if f := *files[i]; f != nil && windows.Handle(f.Fd()) == std {
		own := *f
		return &own, nil
	}
	var dup windows.Handle
	self := windows.CurrentProcess()
	if err := windows.DuplicateHandle(self, std, self, &dup, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	return os.NewFile(uintptr(dup), names[i]), nil
}

// take makes standard stream i lead to file. The value that os.Stdout points to is replaced, not the pointer, so that
// whoever kept os.Stdout from before follows.
func (g *Guard) take(i int, file *os.File) {
	std, err := windows.GetStdHandle(table[i])
	if err != nil {
		return
	}
	s := &g.system.saved[i]
	s.taken, s.handle, s.std = true, *handles[i], std
	inherit(file, true)
	if *files[i] != nil {
		s.file = **files[i]
		**files[i] = *file
	}
	*handles[i] = syscall.Handle(file.Fd())
	_ = windows.SetStdHandle(table[i], windows.Handle(file.Fd())) // the other two places still hold
}

// restore makes the standard streams lead where they led. It goes backwards, since two of the pointers may be one.
func (g *Guard) restore() {
	for i := len(g.system.saved) - 1; i >= 0; i-- {
		s := &g.system.saved[i]
		if !s.taken {
			continue
		}
		if *files[i] != nil {
			**files[i] = s.file
		}
		*handles[i] = s.handle
		_ = windows.SetStdHandle(table[i], s.std)
		_ = windows.SetHandleInformation(s.std, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	}
	// With our end of the pipe closed, the stray output ends, unless a child still holds it.
	for _, f := range g.system.made {
		_ = f.Close()
	}
}

// discard has nothing to do: restore freed what it used.
func (g *Guard) discard() {}

// interrupt returns a function that ends the operations of file which the system lets end: those of pipes.
func interrupt(file *os.File) func() error {
	return func() error {
		_ = windows.CancelIoEx(windows.Handle(file.Fd()), nil) // an error means that there are none
		return nil
	}
}

// inherit says whether children get file's handle.
func inherit(file *os.File, yes bool) {
	var flag uint32
	if yes {
		flag = windows.HANDLE_FLAG_INHERIT
	}
	_ = windows.SetHandleInformation(windows.Handle(file.Fd()), windows.HANDLE_FLAG_INHERIT, flag) // some consoles have no such flag
}

var compareObjectHandles = windows.NewLazySystemDLL("kernelbase.dll").NewProc("CompareObjectHandles")

// sameHandle reports that a and b lead to one object. Before Windows 10 only equal handles are found.
func sameHandle(a, b windows.Handle) bool {
	if a == b {
		return true
	}
	if compareObjectHandles.Find() != nil {
		return false
	}
	same, _, _ := compareObjectHandles.Call(uintptr(a), uintptr(b))
	return same != 0
}

func console(h windows.Handle) bool {
	var mode uint32
	return windows.GetConsoleMode(h, &mode) == nil
}
