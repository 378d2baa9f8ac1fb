// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"strconv"
)

// e1Sizes are the sizes of group E1 and how many frames of each.
var e1Sizes = []struct{ size, frames int }{{1024, 8000}, {4096, 3000}, {16384, 1000}, {65536, 400}, {262144, 100}}

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
	for _, size := range []int{4095, 4096} { // with the LF: PIPE_BUF, and one more
		cells = append(cells, cell{strconv.Itoa(size) + " PIPE_BUF", Config{Writer: "rawOne", Threads: 8, Frames: 3000, Size: size, CJK: true}})
	}
	for _, w := range Writers {
		cells = append(cells, cell{controlCell, Config{Writer: w, Threads: 1, Frames: 1000, Size: 1024, CJK: true}})
	}
	for i, c := range cells {
		l.progress("E1  %d of %d: %s, %s", i+1, len(cells), c.conf.Writer, c.name)
		r, _, err := l.push(ctx, c.name, 0, c.conf, startOptions{})
		if err != nil {
			return err
		}
		if err := l.emit(r); err != nil {
			return err
		}
	}
	return nil
}
