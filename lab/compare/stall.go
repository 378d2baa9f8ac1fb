// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// unread asks for 200 results of 1 MiB at once and reads nothing until the server has come to rest: the peak memory until
// then is measured. Then it reads them all, and fails when one is missing, doubled or damaged.
func unread(r *run, budget int) ([]Value, error) {
	const n = 200
	p, err := r.start(peers.Flags{Budget: budget})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	var requests []byte // about 22 KiB: the pipe takes them whatever the server does
	f := big(mib)
	for i := range n {
		f.SetID(1 + i)
		requests = append(requests, f...)
	}
	if err := p.Write(requests); err != nil {
		return nil, err
	}
	if err := settle(r.ctx, p, 10); err != nil {
		return nil, err
	}
	peak, err := p.PeakRSS()
	if err != nil {
		return nil, err
	}
	check := echoed(mib)
	var seen [n]bool
	for got := 0; got < n; {
		line, err := p.ReadLine()
		if err != nil {
			return nil, fmt.Errorf("%d of %d results lost: %w", n-got, n, err)
		}
		if err := check(line); err != nil {
			return nil, err
		}
		i := drive.Number(line) - 1
		if i < 0 || i >= n || seen[i] {
			return nil, fmt.Errorf("an answer to nobody's question, or a second one: %.80s", line)
		}
		seen[i] = true
		got++
	}
	return []Value{Value(peak) / mib}, nil
}

// stuck starts a slow call, reads no answer from then on, and sends calls of 15 KiB until the server has taken no byte of
// them for two seconds, or all of 8,000. Then it cancels the slow call, and then reads all answers.
//
// It measures how much of stdin was taken before the first call that was refused as busy, and how long after the cancel was
// sent the slow tool said that it is cancelled: never, where the cancel cannot even be sent.
func stuck(r *run) ([]Value, error) {
	const (
		size     = 15 * kib
		calls    = 8000
		patience = 2 * time.Second
	)
	p, err := r.start(peers.Flags{})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	slow := drive.Call("slow", `{"ms":600000}`)
	slow.SetID(1)
	if err := p.Write(slow); err != nil {
		return nil, err
	}
	if err := waitStderr(r.ctx, p, "slow started", 10*time.Second); err != nil {
		return nil, err
	}

	textSize := size - (len(echo(1000)) - 1000)
	f := echo(textSize)
	taken, sent := 0, 0
	var rest []byte // of a call that was taken in part
	for sent < calls && rest == nil {
		f.SetID(2 + sent)
		n, err := p.TryWrite(f, patience)
		if err != nil {
			return nil, err
		}
		taken += n
		sent++
		if n < len(f) {
			rest = f[n:]
		}
	}
	cancel := []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":100000001,"reason":"no longer needed"}}` + "\n")
	cancelled := never
	if rest == nil {
		began := time.Now()
		n, err := p.TryWrite(cancel, patience)
		if err != nil {
			return nil, err
		}
		if rest = cancel[n:]; len(rest) == 0 && waitStderr(r.ctx, p, "slow cancelled", 5*time.Second) == nil {
			cancelled = micros(time.Since(began)) / 1000
		}
	} else {
		rest = append(rest, cancel...)
	}

	wrote := make(chan error, 1)
	go func() { wrote <- p.Write(rest) }()
	tally, err := readAll(p, sent, textSize)
	if err != nil {
		return nil, err
	}
	if err := <-wrote; err != nil {
		return nil, err
	}
	peak, err := p.PeakRSS()
	if err != nil {
		return nil, err
	}
	fate := "stdin was stuck then"
	switch {
	case tally.firstBusy >= 0:
		fate = fmt.Sprintf("%d of them refused as busy", tally.busy)
		taken = tally.firstBusy * size
	case sent == calls:
		fate = "no limit was met"
	}
	r.note("%d calls sent; %s; none lost; peak RSS %d MiB", sent, fate, peak/mib)
	return []Value{Value(taken) / mib, cancelled}, nil
}

func waitStderr(ctx context.Context, p *drive.Process, text string, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if err := p.Stderr.Wait(ctx, text); err != nil {
		return fmt.Errorf("the server did not say %q: %w", text, err)
	}
	return nil
}

type tally struct {
	answered, busy int
	firstBusy      int // index of the first refused call, -1 for none
}

// readAll reads the answers to calls 2, 3, … of a text of that size until none is missing.
func readAll(p *drive.Process, calls, size int) (tally, error) {
	t := tally{firstBusy: -1}
	check := echoed(size)
	seen := make([]bool, calls)
	for got := 0; got < calls; {
		line, err := p.ReadLine()
		if err != nil {
			return t, fmt.Errorf("%d of %d answers lost: %w", calls-got, calls, err)
		}
		i := drive.Number(line) - 2
		if i == -1 {
			continue // an answer to the cancelled call
		}
		if i < 0 || i >= calls || seen[i] {
			return t, fmt.Errorf("an answer to nobody's question, or a second one: %.80s", line)
		}
		seen[i] = true
		got++
		const busy = -31000
		var refused *drive.Error
		err = check(line)
		if errors.As(err, &refused) && refused.Code == busy {
			t.busy++
			if t.firstBusy < 0 || i < t.firstBusy {
				t.firstBusy = i
			}
			continue
		}
		if err != nil {
			return t, err
		}
		t.answered++
	}
	return t, nil
}
