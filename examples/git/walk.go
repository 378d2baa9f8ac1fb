// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "encoding/hex"

// A walk is the way of git log through the history, from where one page ends to
// where the next begins.
//
// git walks from a commit to its parents, the newest first, and the order in
// which it does that follows from the graph alone. So "the same walk without its
// first k commits" is an exact position, but one that costs more the further one
// reads. Therefore the walk begins anew wherever that is the same: at a commit f
// through which all that is not yet shown is reached. Then f is the only parent
// of shown commits that is not shown itself, the whole of what git still has to
// look at.
//
// What was shown cannot come again behind f, whatever the dates of the commits
// say: from each shown commit a way down its parents leads to f, or ends at a
// first commit. Could f reach one with a way to f, there would be a cycle. If a
// first commit was shown since the walk began, the walk is not moved.
type walk struct {
	pos   logPosition
	start span
	skips int // commits for git to leave out
	reads int // commits that are read, and not shown again

	moves       bool // whether it can begin anew: nothing is filtered
	firstParent bool
	open        map[string]bool // parents of shown commits that are not shown
	shown       map[string]bool // since the walk began
	rooted      bool            // one of those has no parents
}

func newWalk(pos logPosition, in logInput) *walk {
	w := &walk{
		pos:         pos,
		start:       span{from: hex.EncodeToString(pos.From), not: hex.EncodeToString(pos.Not), symmetric: pos.Symmetric},
		moves:       !pos.Symmetric && len(in.Paths) == 0 && in.Author == "" && in.Message == "" && in.Changed == "" && in.Since == "" && in.Until == "" && (in.Merges == "" || in.Merges == "include"),
		firstParent: in.FirstParent,
	}
	switch {
	case in.Follow: // git finds a rename only when it shows the commit
		w.moves, w.reads = false, pos.Skip
		return w
	case !w.moves:
		w.skips = pos.Skip
		return w
	}
	w.reads = pos.Skip
	w.open = map[string]bool{w.start.from: true}
	w.shown = make(map[string]bool)
	return w
}

// skipped tells whether c was shown on an earlier page.
func (w *walk) skipped(c Commit) bool {
	if w.reads == 0 {
		return false
	}
	w.reads--
	if w.moves {
		w.note(c)
	}
	return true
}

// show notes that c stands on the page.
func (w *walk) show(c Commit) {
	w.pos.Seen++
	w.pos.Skip++
	if w.moves {
		w.note(c)
		w.move()
	}
}

func (w *walk) note(c Commit) {
	w.shown[c.Commit] = true
	delete(w.open, c.Commit)
	parents := c.Parents
	if w.firstParent && len(parents) > 1 {
		parents = parents[:1]
	}
	w.rooted = w.rooted || len(parents) == 0
	for _, p := range parents {
		if !w.shown[p] {
			w.open[p] = true
		}
	}
}

// move lets the walk begin at the only open commit, if it is that.
func (w *walk) move() {
	if len(w.open) != 1 || w.rooted || w.reads > 0 {
		return
	}
	for id := range w.open {
		w.pos.From, w.pos.Skip = rawID(id), 0
	}
	clear(w.shown)
}

// position is where the next page begins.
func (w *walk) position() logPosition { return w.pos }

func rawID(id string) []byte {
	b, _ := hex.DecodeString(id)
	return b
}
