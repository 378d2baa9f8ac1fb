// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

// pipeBuf is what a write of one frame and its LF must not exceed for the kernel to keep it whole.
const pipeBuf = 4096

// rule is what criterion 4 wants of one writer with several threads.
type rule struct {
	zero    []string            // columns that must be 0 in every row
	whole   func(size int) bool // whether bad must be 0 at a size
	damages func(size int) bool // whether bad must be more than 0 at a size
	crlf    bool                // whether every line must end in CRLF
	legacy  bool                // whether every frame, and only those, must be GBK instead of UTF-8
	sum     bool                // whether bad must be more than 0 in the sum over all rows of a group
	grows   bool                // whether the share of damaged frames must grow with the size
}

func always(int) bool      { return true }
func never(int) bool       { return false }
func within(size int) bool { return size+1 <= pipeBuf }
func beyond(size int) bool { return size >= 16384 }

// clean are all the questions that a classifier asks.
var clean = []string{"crlf", "utf8Fail", "torn", "merged", "mixed", "dup", "lostLines"}

// rules are the table of strategies: what must not happen, and what must.
var rules = map[string]rule{
	"println":    {zero: []string{"crlf", "utf8Fail"}, whole: always, damages: never},
	"printlnGBK": {whole: always, damages: never, crlf: true, legacy: true},
	"printNL":    {zero: []string{"crlf", "utf8Fail", "lostLines"}, whole: never, damages: never, sum: true},
	"rawSplit":   {zero: []string{"crlf", "lostLines"}, whole: never, damages: always, sum: true},
	"rawOne":     {whole: within, damages: beyond, grows: true},
	"oneLock":    {zero: clean, whole: always, damages: never},
	"batch512":   {zero: clean, whole: always, damages: never},
	"weir":       {zero: clean, whole: always, damages: never},
	"twoProcs":   {whole: within, damages: beyond},
}

// damagesAt says whether a row of E1 of that writer and size must have damaged frames.
func damagesAt(writer string, size int) bool { return rules[writer].damages(size) }
