// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// row is what one start of one server measures.
type row struct {
	key     string // for -only
	about   string // for -h and for progress
	figures []figure
	skip    func(*peers.Peer) bool // nil skips none
	measure func(*run) ([]Value, error)
}

// run is one measurement: one server, started for it and stopped after it.
type run struct {
	ctx   context.Context
	peer  *peers.Peer
	cpu   int
	warm  time.Duration
	time  time.Duration
	notes []string // what the table should say about it
}

// start starts the server and does the handshake. The caller stops it.
func (r *run) start(f peers.Flags) (*drive.Process, error) {
	p, err := drive.Start(r.ctx, r.peer.Command(f, r.cpu))
	if err != nil {
		return nil, err
	}
	if err := p.Initialize(); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (r *run) note(format string, a ...any) { r.notes = append(r.notes, fmt.Sprintf(format, a...)) }

func bareLoop(p *peers.Peer) bool      { return p.Name == "bare" }
func withoutLimits(p *peers.Peer) bool { return !p.Limits }

// rows is the table of the comparison, in order.
func rows() []row {
	return []row{
		{
			key: "echo", about: "echo of 128 B, 64 in flight",
			figures: []figure{
				{key: "echo_calls_per_second", title: "echo 128 B, 64 in flight", unit: "calls/s", higher: true,
					targets: []target{{ofSDK, 5}, {ofBare, 0.15}, {beyond, 200_000}}},
				{key: "echo_cpu_us", title: "server CPU a call, echo", unit: "us", digits: 2,
					targets: []target{{ofBare, 6}, {beyond, 4}}},
			},
			measure: func(r *run) ([]Value, error) { return r.rate(echo(128), echoed(128)) },
		},
		{
			key: "add", about: "typed add with validation, 64 in flight",
			figures: []figure{
				{key: "add_calls_per_second", title: "typed add, validated, 64 in flight", unit: "calls/s", higher: true},
				{key: "add_cpu_us", title: "server CPU a call, typed add", unit: "us", digits: 2,
					targets: []target{{ofBare, 8}}},
			},
			measure: func(r *run) ([]Value, error) {
				return r.rate(drive.Call("add", `{"a":20,"b":22}`), func(line []byte) error {
					res, err := drive.DecodeCall(line)
					if err == nil && string(res.Structured) != `{"sum":42}` {
						err = fmt.Errorf("20 + 22 is structured content %s", res.Structured)
					}
					return err
				})
			},
		},
		{
			key: "trip", about: "round trip of an echo, one in flight",
			figures: []figure{
				{key: "trip_128b_p50_us", title: "round trip p50, 128 B", unit: "us", digits: 1, targets: []target{{ofBare, 1.5}}},
				{key: "trip_64kib_p50_us", title: "round trip p50, 64 KiB", unit: "us", digits: 1, targets: []target{{ofBare, 1.8}}},
				{key: "trip_1mib_p50_us", title: "round trip p50, 1 MiB", unit: "us", digits: 1, targets: []target{{ofBare, 2}}},
			},
			measure: roundTrips,
		},
		{
			key: "big", about: "results of 1 MiB, 8 in flight",
			figures: []figure{{key: "big_mb_per_second", title: "big 1 MiB, 8 in flight", unit: "MB/s", higher: true, targets: []target{{ofBare, 0.5}}}},
			measure: bigRate,
		},
		{
			key: "one", about: "peak memory of one result of 64 MiB",
			figures: []figure{{key: "one_64mib_peak_mib", title: "one result of 64 MiB, peak RSS", unit: "MiB", digits: 1, targets: []target{{absolute, 200}}}},
			measure: oneBig,
		},
		{
			key: "start", about: "start to first list, and memory when idle",
			figures: []figure{
				{key: "idle_rss_mib", title: "idle RSS", unit: "MiB", digits: 1, targets: []target{{absolute, 12}}},
				// 9 ms where the bare loop takes 1.5: starting a process takes some machines twice as long as others.
				{key: "start_to_list_ms", title: "start to first list", unit: "ms", digits: 1, targets: []target{{ofBare, 6}}},
			},
			measure: startToList,
		},
		{
			key: "tools", about: "1,000 typed tools",
			figures: []figure{
				{key: "tools_start_to_list_ms", title: "1,000 typed tools, start to whole list", unit: "ms", digits: 1, targets: []target{{absolute, 80}}},
				{key: "tools_lists_per_second", title: "1,000 typed tools, whole lists", unit: "lists/s", higher: true, targets: []target{{absolute, 1000}}},
			},
			measure: manyTools,
		},
		{
			key: "stall", about: "200 results of 1 MiB that the host does not read, budget 2 MiB",
			figures: []figure{{key: "stall_budget_2mib_peak_mib", title: "200 x 1 MiB unread, peak RSS", unit: "MiB", digits: 1, targets: []target{{absolute, 96}}}},
			measure: func(r *run) ([]Value, error) { return unread(r, 2*mib) },
		},
		{
			key: "stall16", about: "the same with a budget of 16 MiB", skip: withoutLimits,
			figures: []figure{{key: "stall_budget_16mib_peak_mib", title: "the same, budget 16 instead of 2 MiB", unit: "MiB", digits: 1, targets: []target{{absolute, 96}}}},
			measure: func(r *run) ([]Value, error) { return unread(r, 16*mib) },
		},
		{
			key: "stuck", about: "stdin taken while stdout is stuck, and a cancel behind it", skip: bareLoop,
			figures: []figure{
				{key: "stuck_stdin_mib", title: "stdin taken while stdout is stuck", unit: "MiB", higher: true, digits: 1, targets: []target{{absolute, 60}}},
				{key: "stuck_cancel_ms", title: "a cancel behind it arrives after", unit: "ms", digits: 1, targets: []target{{absolute, 1000}}},
			},
			measure: stuck,
		},
	}
}

// echo is a call whose text has n bytes.
func echo(n int) drive.Frame {
	return drive.Call("echo", `{"text":"`+strings.Repeat("x", n)+`"}`)
}

// echoed checks that a text of n times x came back. The run of x is cut out before the rest is decoded, which is much
// faster for large ones.
func echoed(n int) func([]byte) error {
	return func(line []byte) error {
		head, tail := line, []byte(nil)
		if i := bytes.Index(line, []byte(`"xx`)) + 1; i > 0 && i+n <= len(line) && bytes.Count(line[i:i+n], []byte("x")) == n {
			head, tail = line[:i], line[i+n:]
		}
		res, err := drive.DecodeCall(slices.Concat(head, tail))
		if err == nil && res.Text() != "" {
			err = fmt.Errorf("not a text of %d times x, but %.60q", n, res.Text())
		}
		return err
	}
}

// rate drives one call with 64 in flight: calls a second, and the server's CPU a call in microseconds.
func (r *run) rate(f drive.Frame, check func([]byte) error) ([]Value, error) {
	p, err := r.start(peers.Flags{})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	c, err := p.Run(drive.Load{Frames: []drive.Frame{f}, InFlight: 64, Warm: r.warm, Time: r.time, Check: check, FirstID: 1})
	if err != nil {
		return nil, err
	}
	return []Value{
		Value(float64(c.Calls) / c.Elapsed.Seconds()),
		micros(c.CPU) / Value(c.Calls),
	}, nil
}

func roundTrips(r *run) ([]Value, error) {
	var values []Value
	for _, size := range []int{128, 64 * kib, mib} {
		p, err := r.start(peers.Flags{})
		if err != nil {
			return nil, err
		}
		c, err := p.Run(drive.Load{Frames: []drive.Frame{echo(size)}, Warm: r.warm, Time: r.time, Check: echoed(size), FirstID: 1})
		p.Stop()
		if err != nil {
			return nil, err
		}
		values = append(values, micros(c.Quantile(0.5)))
	}
	return values, nil
}

func bigRate(r *run) ([]Value, error) {
	p, err := r.start(peers.Flags{})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	c, err := p.Run(drive.Load{Frames: []drive.Frame{big(mib)}, InFlight: 8, Warm: r.warm, Time: r.time, Check: echoed(mib), FirstID: 1})
	if err != nil {
		return nil, err
	}
	return []Value{Value(float64(c.Bytes) / 1e6 / c.Elapsed.Seconds())}, nil
}

// big is a call whose result has n bytes of x.
func big(n int) drive.Frame { return drive.Call("big", fmt.Sprintf(`{"bytes":%d}`, n)) }

func oneBig(r *run) ([]Value, error) {
	const size = 64 * mib
	p, err := r.start(peers.Flags{MaxFrameOut: 80 * mib, Budget: 72 * mib})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	line, err := p.Exchange(big(size), 1)
	if err != nil {
		return nil, err
	}
	if err := echoed(size)(line); err != nil {
		return nil, err
	}
	peak, err := p.PeakRSS()
	return []Value{Value(peak) / mib}, err
}

func startToList(r *run) ([]Value, error) {
	p, err := r.start(peers.Flags{})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	if _, _, err := p.ListTools(1); err != nil {
		return nil, err
	}
	took := time.Since(p.Started())
	if err := settle(r.ctx, p, 3); err != nil {
		return nil, err
	}
	rss, err := p.RSS()
	return []Value{Value(rss) / mib, micros(took) / 1000}, err
}

func manyTools(r *run) ([]Value, error) {
	const n = 1000
	p, err := r.start(peers.Flags{Tools: n})
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	pages, tools, err := p.ListTools(1)
	if err != nil {
		return nil, err
	}
	took := time.Since(p.Started())
	if tools < n {
		return nil, fmt.Errorf("%d tools listed, fewer than %d", tools, n)
	}
	c, err := p.Run(drive.Load{Frames: pages, InFlight: 4, Warm: r.warm, Time: r.time, FirstID: 1 + len(pages)})
	if err != nil {
		return nil, err
	}
	if len(pages) > 1 {
		r.note("lists its tools in %d pages", len(pages))
	}
	return []Value{micros(took) / 1000, Value(float64(c.Calls) / float64(len(pages)) / c.Elapsed.Seconds())}, nil
}

// settle waits until the server has done nothing for so many tenths of a second, 20 s at most.
func settle(ctx context.Context, p *drive.Process, tenths int) error {
	var cpu time.Duration
	for quiet, n := 0, 0; quiet < tenths && n < 200; n++ {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := p.CPU()
		if err != nil {
			return err
		}
		quiet++
		if now-cpu > time.Millisecond {
			quiet = 0
		}
		cpu = now
	}
	return nil
}

func micros(d time.Duration) Value { return Value(math.Round(float64(d)) / 1000) }
