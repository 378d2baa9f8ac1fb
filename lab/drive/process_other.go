// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package drive

import (
	"errors"
	"os/exec"
	"time"
)

// Measures tells whether this system's processes can be measured and pinned.
const Measures = false

// ErrSystem is returned for what is measured on Linux only.
var ErrSystem = errors.New("drive: measured on Linux only")

// Block does nothing here.
func (p *Process) Block() error { return nil }

// CPU returns ErrSystem.
func (p *Process) CPU() (time.Duration, error) { return 0, ErrSystem }

// RSS returns ErrSystem.
func (p *Process) RSS() (int64, error) { return 0, ErrSystem }

// PeakRSS returns ErrSystem.
func (p *Process) PeakRSS() (int64, error) { return 0, ErrSystem }

func startOn(cmd *exec.Cmd, _ int) error { return cmd.Start() }

// CPUs returns nil: nothing is pinned here.
func CPUs() []int { return nil }

// PinSelf returns ErrSystem.
func PinSelf(int) error { return ErrSystem }
