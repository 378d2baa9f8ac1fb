// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestJudge(t *testing.T) {
	rate := figure{unit: "calls/s", higher: true}
	size := figure{unit: "MiB"}
	for _, tt := range []struct {
		name            string
		f               figure
		t               target
		weir, bare, sdk Value
		text, met       string
	}{
		{"rate of an SDK met", rate, target{ofSDK, 5}, 50_000, none, 10_000, "at least 5 times the fastest SDK (50,000)", "met"},
		{"rate of an SDK missed", rate, target{ofSDK, 5}, 49_999, none, 10_000, "at least 5 times the fastest SDK (50,000)", "missed"},
		{"share of the bare loop", rate, target{ofBare, 0.15}, 150, 1000, none, "at least 15 % of the bare loop (150)", "met"},
		{"no SDK ran", rate, target{ofSDK, 5}, 50_000, 1, none, "at least 5 times the fastest SDK", "not judged"},
		{"Weir did not run", rate, target{ofBare, 0.15}, none, 1000, none, "at least 15 % of the bare loop (150)", "not judged"},
		{"size met", size, target{absolute, 96}, 96, none, none, "at most 96 MiB", "met"},
		{"size missed", size, target{absolute, 96}, 97, none, none, "at most 96 MiB", "missed"},
		{"never is missed", size, target{absolute, 1000}, never, none, none, "at most 1,000 MiB", "missed"},
		{"cost of the bare loop", figure{digits: 1}, target{ofBare, 1.5}, 46, 30, none, "at most 1.5 times the bare loop (45.0)", "missed"},
		{"aim", rate, target{beyond, 200_000}, 200_001, none, none, "the aim beyond: at least 200,000 calls/s", "met"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := tt.f.judge(tt.t, tt.weir, tt.bare, tt.sdk)
			if v.Target != tt.text || v.Met != tt.met {
				t.Errorf("%q: %s, want %q: %s", v.Target, v.Met, tt.text, tt.met)
			}
		})
	}
}

func TestBest(t *testing.T) {
	sdks := map[string]Value{"a": 10, "b": 30, "c": none, "d": never}
	if name, v := (figure{higher: true}).best(sdks); name != "b" || v != 30 {
		t.Errorf("the highest is %s %v", name, v)
	}
	if name, v := (figure{}).best(sdks); name != "a" || v != 10 {
		t.Errorf("the lowest is %s %v", name, v)
	}
	if name, v := (figure{}).best(nil); name != "" || v.Real() {
		t.Errorf("the best of none is %q %v", name, v)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		in   []Value
		want string
	}{
		{nil, ""}, {[]Value{3}, "3"}, {[]Value{9, 1, 3}, "3"}, {[]Value{4, 2}, "3"}, {[]Value{none, 5}, "5"}, {[]Value{never, 1, never}, "never"},
	} {
		if got := format(median(tt.in), 0); got != tt.want {
			t.Errorf("median of %v = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		v      Value
		digits int
		want   string
	}{
		{0.9612, 2, "0.96"}, {99.96, 1, "100.0"}, {930_112.4, 2, "930,112"}, {1_000, 0, "1,000"}, {12, 1, "12.0"}, {none, 1, ""},
	} {
		if got := format(tt.v, tt.digits); got != tt.want {
			t.Errorf("format(%v, %d) = %q, want %q", tt.v, tt.digits, got, tt.want)
		}
	}
}

func TestChoose(t *testing.T) {
	id := func(s string) string { return s }
	if got, err := choose([]string{"a", "b", "c"}, []string{"c", "a"}, id); err != nil || strings.Join(got, "") != "ac" {
		t.Errorf("choose = %v, %v", got, err)
	}
	if _, err := choose([]string{"a", "b"}, []string{"x"}, id); err == nil || !strings.Contains(err.Error(), "there are a, b") {
		t.Errorf("an unknown name: %v", err)
	}
}

// The table of a made-up run, whole.
func TestTable(t *testing.T) {
	rep := &report{System: "linux/amd64 6.1", CPU: "a processor, 2 CPUs", Go: "go1.26", Pinned: "server on CPU 0, host on CPU 1", Rounds: 3}
	field := []*peers.Peer{
		{Name: "bare", Title: "bare loop"},
		{Name: "go-sdk", Title: "go-sdk", SDK: true, Version: "v1"},
		{Name: "weir", Title: "Weir", Version: "this tree"},
	}
	rep.Peers = describe(field)
	rep.add(row{figures: []figure{
		{key: "rate", title: "echo", unit: "calls/s", higher: true, targets: []target{{ofSDK, 5}, {ofBare, 0.15}}},
		{key: "cancel", title: "a cancel", unit: "ms", digits: 1, targets: []target{{absolute, 1000}}},
	}}, field, map[string][][]Value{
		"bare":   {{900_000, none}, {1_000_000, none}, {1_100_000, none}},
		"go-sdk": {{9_000, never}, {10_000, never}, {50_000, never}},
		"weir":   {{200_000, 1.26}},
	})
	rep.note("a note")
	rep.note("a note")
	want, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.table(); got != string(want) {
		t.Errorf("the table is\n%s", got)
	}
}

// With JSON "-" the figures go to Out, with null where there is none.
func TestJSON(t *testing.T) {
	rep := newReport(Options{Rounds: 1})
	rep.add(row{figures: []figure{{key: "cancel", title: "a cancel"}}}, []*peers.Peer{{Name: "weir", Title: "Weir"}},
		map[string][][]Value{"weir": {{never}}})
	var out bytes.Buffer
	if err := rep.write(Options{JSON: "-", Out: &out}); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Figures []struct {
			Key     string
			Samples map[string][]*float64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Figures) != 1 || back.Figures[0].Key != "cancel" || len(back.Figures[0].Samples["weir"]) != 1 || back.Figures[0].Samples["weir"][0] != nil {
		t.Errorf("%s", out.Bytes())
	}
}

// Every row runs on the bare loop, over real pipes, where the bare loop can do it.
func TestRunBareLoop(t *testing.T) {
	if !drive.Measures {
		t.Skip("measured on Linux only")
	}
	w, err := peers.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	field, err := choose(peers.All(), []string{"bare"}, func(p *peers.Peer) string { return p.Name })
	if err != nil {
		t.Fatal(err)
	}
	if err := field[0].Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows() {
		if row.skip != nil && row.skip(field[0]) {
			continue
		}
		t.Run(row.key, func(t *testing.T) {
			r := &run{ctx: t.Context(), peer: field[0], time: 20 * time.Millisecond}
			values, err := row.measure(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(values) != len(row.figures) {
				t.Fatalf("%d values for %d figures", len(values), len(row.figures))
			}
			for i, v := range values {
				if !v.Real() || v <= 0 {
					t.Errorf("%s is %v", row.figures[i].key, v)
				}
			}
		})
	}
}

// When its context ends, Run returns at once, and its servers are gone with it.
func TestRunIsInterrupted(t *testing.T) {
	if !drive.Measures {
		t.Skip("measured on Linux only")
	}
	ctx, cancel := context.WithCancel(t.Context())
	progress := writerFunc(func(p []byte) {
		if bytes.Contains(p, []byte("round 1 of")) {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
	})
	err := Run(ctx, Options{Peers: []string{"bare"}, Only: []string{"trip"}, Rounds: 1000, Progress: progress})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Run returned %v", err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if pids, err := os.ReadFile(task); err == nil && len(bytes.TrimSpace(pids)) > 0 {
			t.Errorf("a process is left: %s", pids)
		}
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
