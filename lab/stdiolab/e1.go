// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"fmt"
	"strconv"
)

// e1Sizes are the sizes of group E1 and how many frames of each.
var e1Sizes = []struct{ size, frames int }{{1024, 8000}, {4096, 3000}, {16384, 1000}, {65536, 400}, {262144, 100}}

// pipeBufSizes are frames that with their LF are PIPE_BUF, and one more.
var pipeBufSizes = []int{pipeBuf - 1, pipeBuf}

func pipeBufCell(size int) string { return strconv.Itoa(size) + " PIPE_BUF" }

// controlCell names the rows of one thread: damage found there is the classifier's.
const controlCell = "E1-control"

func (l *lab) e1(ctx context.Context) error {
	type cell struct {
		name string
		conf Config
	}
	var cells []cell
	for _, s := range e1Sizes {
		for _, w := range shuffled(l, Writers) {
			cells = append(cells, cell{strconv.Itoa(s.size), Config{Writer: w, Threads: 8, Frames: s.frames, Size: s.size, CJK: true}})
		}
	}
	for _, size := range pipeBufSizes {
		cells = append(cells, cell{pipeBufCell(size), Config{Writer: "rawOne", Threads: 8, Frames: 3000, Size: size, CJK: true}})
	}
	for _, w := range Writers {
		cells = append(cells, cell{controlCell, Config{Writer: w, Threads: 1, Frames: 1000, Size: 1024, CJK: true}})
	}
	for i, c := range cells {
		l.progress("E1  %d of %d: %s, %s", i+1, len(cells), c.conf.Writer, c.name)
		r, err := l.damaging(ctx, c.name, c.conf)
		if err != nil {
			return err
		}
		if err := l.emit(r); err != nil {
			return err
		}
	}
	return nil
}

// trials is how often a cell is run that is expected to damage frames, and has not: that a strategy can do it is shown by one
// frame. A cell that must not damage any is run once.
const trials = 3

// damaging runs a cell of E1, again where damage is due and did not come; its note then says so.
func (l *lab) damaging(ctx context.Context, cell string, c Config) (Row, error) {
	for trial := 1; ; trial++ {
		r, counts, err := l.push(ctx, cell, 0, c, startOptions{})
		if err != nil {
			return nil, err
		}
		if trial > 1 && r["note"] == "" {
			r.set("note", fmt.Sprintf("trial %d: no frame was damaged before", trial))
		}
		if counts.Bad() > 0 || trial == trials || !damagesAt(c.Writer, c.Size) || c.Threads < 2 {
			return r, nil
		}
	}
}
