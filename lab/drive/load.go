// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Load keeps requests in flight and checks every answer.
//
// Each frame is sent once first, alone, and its answer given to Check. Every later answer must be that one again but for
// its id (of answers over 64 KiB the length, the first 4 KiB and the last are compared), every id must be answered once, and nothing
// may be missing at the end.
type Load struct {
	Frames   []Frame                 // sent in turn; at least one
	InFlight int                     // 0 means 1
	Warm     time.Duration           // how long the load runs before it counts
	Time     time.Duration           // how long it counts
	Check    func(line []byte) error // looks at the first answer to each frame; nil means any
	FirstID  int                     // ids from here on; 0 is often taken by initialize
}

// Count is what a Load saw.
type Count struct {
	Calls   int             // answered in Elapsed
	Bytes   int64           // of these answers, LFs included
	Elapsed time.Duration   // from the first request counted to the last answer
	CPU     time.Duration   // of the server in Elapsed
	Trips   []time.Duration // how long each call took, sorted; only where one was in flight
}

// Quantile is the q-th of the sorted trips, 0 where there is none.
func (c Count) Quantile(q float64) time.Duration {
	if len(c.Trips) == 0 {
		return 0
	}
	return c.Trips[min(int(q*float64(len(c.Trips))), len(c.Trips)-1)]
}

// template is the answer to one frame.
type template struct {
	line []byte
	id   int // where its id begins
}

const (
	wholeCheck = 64 << 10 // longer answers are compared at their edges
	edgeCheck  = 4 << 10
)

// matches tells whether line is t with another id, and which.
func (t template) matches(line []byte) (int, bool) {
	if len(line) != len(t.line) {
		return 0, false
	}
	n, ok := getID(line[t.id:])
	if !ok {
		return 0, false
	}
	if len(line) <= wholeCheck {
		return n, t.same(line, 0, len(line))
	}
	return n, t.same(line, 0, edgeCheck) && t.same(line, len(line)-edgeCheck, len(line))
}

// same compares line[from:to] with the template, but for the id.
func (t template) same(line []byte, from, to int) bool {
	a, b := min(max(t.id, from), to), min(max(t.id+idDigits, from), to)
	return bytes.Equal(line[from:a], t.line[from:a]) && bytes.Equal(line[b:to], t.line[b:to])
}

// Run drives one load. After an error the process is of no further use.
func (p *Process) Run(l Load) (Count, error) {
	l.InFlight = max(l.InFlight, 1)
	templates := make([]template, len(l.Frames))
	next := l.FirstID
	for i, f := range l.Frames {
		line, err := p.Exchange(f, next)
		if err != nil {
			return Count{}, err
		}
		next++
		if l.Check != nil {
			if err := l.Check(line); err != nil {
				return Count{}, err
			}
		}
		templates[i] = template{bytes.Clone(line), bytes.Index(line, f[len(prefix):len(prefix)+idDigits])}
	}
	if err := p.Block(); err != nil {
		return Count{}, err
	}
	if l.Warm > 0 {
		n, _, err := p.run(l, l.Warm, templates, next)
		if err != nil {
			return Count{}, err
		}
		next = n
	}
	_, count, err := p.run(l, l.Time, templates, next)
	return count, err
}

// run sends for d, then waits for what is in flight.
func (p *Process) run(l Load, d time.Duration, templates []template, first int) (int, Count, error) {
	var (
		count    Count
		sent     = first
		answered = make([]bool, 0, 1<<16) // by id, from first on
		trips    = make([]time.Duration, 0, 1<<16)
	)
	// send sends the next k requests, each with a write of its own, as hosts do.
	send := func(k int) error {
		for range k {
			f := l.Frames[(sent-first)%len(l.Frames)]
			f.SetID(sent)
			sent++
			answered = append(answered, false)
			if err := p.Write(f); err != nil {
				return err
			}
		}
		return nil
	}
	cpu, err := p.CPU()
	if err != nil {
		return 0, count, err
	}
	began := time.Now()
	end := began.Add(d)
	last := began // when the one call in flight was sent
	if err := send(l.InFlight); err != nil {
		return 0, count, err
	}
	for count.Calls < sent-first {
		got := 0
		for {
			line, ok := p.buffered()
			if !ok {
				if got > 0 {
					break
				}
				if err := p.fill(); err != nil {
					return 0, count, err
				}
				continue
			}
			n, err := match(templates, line)
			if err != nil {
				return 0, count, err
			}
			if n < first || n >= sent {
				return 0, count, fmt.Errorf("answer to nobody's question: %s", short(line))
			}
			if answered[n-first] {
				return 0, count, fmt.Errorf("a second answer to one question: %s", short(line))
			}
			answered[n-first] = true
			got++
			count.Bytes += int64(len(line)) + 1
		}
		count.Calls += got
		now := time.Now()
		if l.InFlight == 1 {
			trips = append(trips, now.Sub(last))
		}
		if now.Before(end) {
			last = now
			if err := send(got); err != nil {
				return 0, count, err
			}
		}
	}
	count.Elapsed = time.Since(began)
	used, err := p.CPU()
	if err != nil {
		return 0, count, err
	}
	count.CPU = used - cpu
	if l.InFlight == 1 {
		slices.Sort(trips)
		count.Trips = trips
	}
	return sent, count, nil
}

func match(templates []template, line []byte) (int, error) {
	for i := range templates {
		if n, ok := templates[i].matches(line); ok {
			return n, nil
		}
	}
	if bytes.Contains(line, []byte(`"method"`)) {
		return 0, errors.New("a request or a notification where answers were due: " + short(line))
	}
	return 0, errors.New("not the answer it was the first time: " + short(line))
}
