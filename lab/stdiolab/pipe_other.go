// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package stdiolab

import (
	"errors"
	"os"
	"runtime"
	"time"
)

var errPipe = errors.New("a pipe's capacity cannot be asked or set on " + runtime.GOOS)

func pipeSize(*os.File) int           { return 0 }
func setPipeSize(*os.File, int) error { return errPipe }
func pending(*os.File) (int, error)   { return 0, errPipe }
func block(*os.File) error            { return nil }
func nap(d time.Duration)             { time.Sleep(d) }
