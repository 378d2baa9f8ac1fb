// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

// #include <stdio.h>
// #include <stdlib.h>
// static void print(char *s) { printf("%s", s); free(s); }
// static void flush(void) { fflush(stdout); }
import "C"

func init() {
	ways["printf"] = func(text string) {
		C.print(C.CString(text))
		C.flush()
	}
	ways["printf-unsent"] = func(text string) { C.print(C.CString(text)) }
}
