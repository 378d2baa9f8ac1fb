// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // unless given: they wait for other processes, mostly
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// built are the servers of the tests, each built once.
var built struct {
	mu  sync.Mutex // guards dir and err, held while building
	dir string
	err error
}

// program builds the servers, and returns the path of one.
func program(t *testing.T, name string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.dir == "" && built.err == nil {
		built.dir, built.err = os.MkdirTemp("", "weir-gate-")
		if built.err == nil {
			cmd := exec.Command("go", "build", "-o", built.dir+string(filepath.Separator),
				"./testdata/broken", "../../examples/hello", "../../examples/fixture", "../../examples/grep", "../../examples/git")
			if out, err := cmd.CombinedOutput(); err != nil {
				built.err = fmt.Errorf("go build: %w\n%s", err, out)
			}
		}
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(built.dir, name)
}

// oversize is more than any server here takes in a line; one of them is tried
// with what a user's run sends, see TestGood.
const oversize = 20 << 20

func tool(name, args string) []Call { return []Call{{name, jsontext.Value(args)}} }

// brokenOptions are for the broken server, with its tools.
func brokenOptions(t *testing.T, faults string) Options {
	return Options{
		Command: []string{program(t, "broken"), "-fault", faults},
		Call:    append(tool("echo", `{"text":"汉字"}`), tool("steps", `{"n":3}`)...),
		Slow:    append(tool("slow", `{"ms":20000}`), tool("child", `{"ms":20000}`)...),
		Big:     append(tool("big", `{"bytes":1000}`), tool("blocks", `{"n":10}`)...),
		Noisy:   tool("noisy", `{"bytes":2000000}`),
		Stopped: "slow stopped",
		Idle:    time.Second, Linger: 1500 * time.Millisecond, Oversize: oversize,
	}
}

func resultOf(t *testing.T, r *Report, check string) Result {
	t.Helper()
	i := slices.IndexFunc(r.Results, func(res Result) bool { return res.Name == check })
	if i < 0 {
		t.Fatalf("no result of %s", check)
	}
	return r.Results[i]
}

// row is one of testdata/broken.txt.
type row struct{ check, faults, verdict, says, slow string }

func rows(t *testing.T) (list []row) {
	data, err := os.ReadFile("testdata/broken.txt")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		f := strings.Split(text, " | ")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		switch len(f) {
		case 4:
			list = append(list, row{f[0], f[1], f[2], f[3], ""})
		case 5:
			list = append(list, row{f[0], f[1], f[2], f[3], f[4]})
		default:
			t.Fatalf("a row with %d columns: %s", len(f), text)
		}
	}
	return list
}

// TestTable holds that each check has a broken server that it finds.
func TestTable(t *testing.T) {
	list := rows(t)
	for _, c := range Checks() {
		if !slices.ContainsFunc(list, func(r row) bool { return r.check == c.Name }) {
			t.Errorf("testdata/broken.txt has no broken server for the check %s", c.Name)
		}
		if c.What == "" || c.Why == "" {
			t.Errorf("the check %s does not say what it is and why", c.Name)
		}
	}
	for _, r := range list {
		if _, ok := Find(r.check); !ok {
			t.Errorf("testdata/broken.txt has a row for the check %s, which is none", r.check)
		}
	}
}

// underRace is set when the race detector is on. It makes reading JSON many
// times slower: checks on frames of many MiB run without it only.
var underRace bool

// huge reports whether a check sends or reads frames of many MiB.
func huge(check string) bool {
	return slices.Contains([]string{"oversized-in", "limit-under", "limit-over", "huge-field", "many-blocks", "bounded", "stderr-flood-read", "stderr-flood-unread"}, check)
}

// atOnce is how many rows run at the same time: most of the time each waits.
const atOnce = 12

// TestBroken holds that each check finds the fault it is there for.
func TestBroken(t *testing.T) {
	t.Parallel()
	list := rows(t)
	program(t, "broken")
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, r := range slices.Backward(list) { // the last ones take longest
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.try(t)
		})
	}
	wg.Wait()
	for i, r := range list {
		if errs[i] != nil {
			t.Errorf("%s, server with %s: %v", r.check, r.faults, errs[i])
		}
	}
}

// try runs the check of the row, and says what is not as the row has it.
func (r row) try(t *testing.T) error {
	if runtime.GOOS != "linux" && slices.Contains([]string{"idle", "cancel-c2", "children-gone"}, r.check) {
		return nil // looks through /proc
	}
	if underRace && huge(r.check) {
		return nil
	}
	verdict, late := strings.CutSuffix(r.verdict, " late")
	if !late {
		return r.tryWithin(t, verdict, 10*time.Second) // a fail-safe: the machine may be busy
	}
	err := r.tryWithin(t, verdict, 1500*time.Millisecond)
	if err != nil { // that was too short for something else
		err = r.tryWithin(t, verdict, 6*time.Second)
	}
	return err
}

func (r row) tryWithin(t *testing.T, verdict string, deadline time.Duration) error {
	o := brokenOptions(t, r.faults)
	o.Only = []string{r.check}
	o.Deadline, o.Patience = deadline, 2*deadline
	o.Parallel = 1
	if r.faults == "hoarder" {
		o.Oversize = DefaultOversize // what it hoards is to be more than a buffer of others
	}
	switch r.faults {
	case "mute":
		o.Patience = 500 * time.Millisecond
	case "slow-start": // by a second
		o.Patience = 800 * time.Millisecond
	}
	if r.slow != "" {
		name, ms, _ := strings.Cut(r.slow, " ")
		o.Slow = tool(name, `{"ms":`+ms+`}`)
	}
	if faults, ok := strings.CutSuffix(r.faults, ",echo-big"); ok {
		o.Command[2], o.Big = faults, tool("echo", `{"text":"x"}`)
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		return err
	}
	res := resultOf(t, report, r.check)
	if res.Verdict.String() != verdict || !slices.ContainsFunc(res.Found, func(f Finding) bool { return f.Verdict == res.Verdict && strings.Contains(f.Text, r.says) }) {
		return fmt.Errorf("%v, found %q, seen %q; want %s with %q", res.Verdict, res.Found, res.Seen, r.verdict, r.says)
	}
	return nil
}

// TestAllAtOnce holds that one fault hides no other: a server with all those
// of the stream shows all.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	o := brokenOptions(t, "all")
	want := []string{"stray-first", "utf8", "line-ends", "one-object", "ids", "order"}
	o.Only = want
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if res := resultOf(t, report, name); res.Verdict != Fault {
			t.Errorf("%s: %v, %q", name, res.Verdict, res.Seen)
		}
	}
	if res := resultOf(t, report, "handshake"); res.Verdict != Pass {
		t.Errorf("handshake: %v, %q", res.Verdict, res.Found)
	}
}

// TestNotAccused holds that a check accuses no server of what may be chance,
// or another thing.
func TestNotAccused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		faults string
		only   []string
		note   string // part of what is said beside the verdict
	}{
		// One answer that may have been on its way when the cancel came, and one step.
		{"races", []string{"cancel-c2", "cancel-c3", "cancel-silent"}, ""},
		{"soon-step", []string{"cancel-silent"}, "may have been on the way"},
		// What uses the CPU all the time is not what was cancelled.
		{"busy,no-modern", []string{"cancel-c2", "cancel-c3", "cancel-c4"}, "cannot be seen"},
		// What the first slow tool says at its end, the second need not say.
		// What the first call starts, for all that follow, is not what a call left behind.
		{"helper", []string{"cancel-c0", "cancel-c2", "cancel-c3", "children-gone"}, ""},
		{"quiet-child,no-modern", []string{"children-gone", "cancel-c2"}, "ended"},
	} {
		t.Run(tt.faults, func(t *testing.T) {
			t.Parallel()
			o := brokenOptions(t, tt.faults)
			o.Only, o.Deadline = tt.only, 10*time.Second
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range tt.only {
				res := resultOf(t, report, name)
				if res.Verdict != Pass && runtime.GOOS == "linux" {
					t.Errorf("%s: %v, %q", name, res.Verdict, res.Found)
				}
				if !strings.Contains(strings.Join(res.Seen, "\n"), tt.note) {
					t.Errorf("%s: seen %q", name, res.Seen)
				}
			}
		})
	}
}

// TestGood holds that a server without a fault passes everything, and that
// the servers of this tree do, as far as they can be tried.
func TestGood(t *testing.T) {
	t.Parallel()
	program(t, "broken")
	noisy := `{"text":"` + strings.Repeat("n", 4<<20) + `"}`
	repo := repository(t)
	for _, tt := range []struct {
		name     string
		o        func(t *testing.T) Options
		notTried []string // at most
	}{
		{"git", func(t *testing.T) Options {
			return Options{
				Command: []string{program(t, "git"), "-root", repo},
				Call:    tool("git_status", `{}`),
				Slow:    tool("git_grep", `{"pattern":"(x*)(x*)(x*)\\1\\2y"}`), // takes git very long
				Big:     tool("git_grep", `{"pattern":"line"}`),
				// Its calls are child processes that compute; CI tries all the rest.
				Only: []string{"utf8", "bounded", "host-death", "cancel-c2", "children-gone"},
			}
		}, append(namesThatNeed("-noisy"), "limit-under", "limit-over", "huge-field", "many-blocks", "cancel-c4")},
		{"broken", func(t *testing.T) Options {
			o := brokenOptions(t, "")
			o.Oversize = DefaultOversize
			return o
		}, nil},
		{"hello", func(t *testing.T) Options {
			return Options{Command: []string{program(t, "hello")}, Call: tool("hello", `{"name":"Gopher"}`)}
		}, namesThatNeed("-big", "-slow", "-noisy")},
		{"fixture", func(t *testing.T) Options {
			return Options{
				Command: []string{program(t, "fixture")},
				Call:    append(tool("echo", `{"text":"汉字"}`), tool("progress", `{"n":3}`)...),
				Slow:    append(tool("slow", `{"ms":3000}`), tool("spawn", `{"command":"sleep 20; echo"}`)...),
				Big:     tool("big", `{"bytes":1000,"fill":"汉"}`), Noisy: tool("print", noisy),
			}
		}, []string{"many-blocks"}},
		{"grep", func(t *testing.T) Options {
			return Options{
				Command: []string{program(t, "grep"), "-root", "../.."},
				Call:    tool("grep", `{"pattern":"func TestMain","path":"internal/gate"}`),
				Big:     tool("grep", `{"pattern":"."}`),
			}
		}, append(namesThatNeed("-slow", "-noisy"), "limit-under", "limit-over", "huge-field", "many-blocks", "cancel-c4")},
	} {
		if tt.name == "git" && repo == "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := tt.o(t)
			o.Idle, o.Linger = 2*time.Second, 2*time.Second
			if o.Oversize == 0 {
				o.Oversize = oversize
			}
			if underRace && o.Only == nil {
				for _, c := range Checks() {
					if !huge(c.Name) {
						o.Only = append(o.Only, c.Name)
					}
				}
			}
			o.Deadline = 10 * time.Second // a fail-safe: the machine may be busy
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range report.Results {
				if res.Verdict == Pass || res.Verdict == NotTried && (slices.Contains(tt.notTried, res.Name) || runtime.GOOS != "linux") {
					continue
				}
				t.Errorf("%s: %v, found %q, seen %q, needs %q", res.Name, res.Verdict, res.Found, res.Seen, res.Needs)
			}
			if !slices.Equal(report.Eras, []string{"2025-11-25", "2026-07-28"}) {
				t.Errorf("eras %q", report.Eras)
			}
		})
	}
}

// repository makes a git repository with one line that is slow to search and
// many that match; "" where git is not installed.
func repository(t *testing.T) string {
	if _, err := exec.LookPath("git"); err != nil {
		return ""
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"one.txt": strings.Repeat("x", 5000), "many.txt": strings.Repeat("a line with some words in it\n", 20_000)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	return dir
}

// namesThatNeed are the checks that need one of the flags.
func namesThatNeed(flags ...string) (names []string) {
	for _, c := range Checks() {
		if slices.Contains(flags, c.Needs) {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestUnseen holds that a cancel of which nothing was to be seen is no pass:
// a server that ignores it shows none either. A call that would have ended by
// itself tells.
func TestUnseen(t *testing.T) {
	t.Parallel()
	names := []string{"cancel-c0", "cancel-c3", "cancel-silent"}
	for _, tt := range []struct {
		faults, slow string
		verdict      Verdict
		says         string
	}{
		{"", `{"ms":20000}`, NotTried, "give -stopped TEXT"},
		{"deaf-cancel", `{"ms":20000}`, NotTried, "give -stopped TEXT"},
		{"", `{"ms":2000}`, Pass, ""},
		{"deaf-cancel", `{"ms":2000}`, Fault, "2026-07-28"},
		{"deaf-cancel,no-modern", `{"ms":2000}`, Warning, "2025-11-25"},
	} {
		t.Run(cmp.Or(tt.faults, "good")+" "+tt.slow, func(t *testing.T) {
			t.Parallel()
			o := brokenOptions(t, tt.faults)
			o.Only, o.Slow, o.Stopped = names, tool("slow", tt.slow), ""
			o.Deadline = 4 * time.Second
			o.Linger = time.Second
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				res := resultOf(t, report, name)
				text := res.Needs
				for _, f := range res.Found {
					text += f.Text
				}
				if res.Verdict != tt.verdict || !strings.Contains(text, tt.says) {
					t.Errorf("%s: %v, found %q, seen %q, needs %q", name, res.Verdict, res.Found, res.Seen, res.Needs)
				}
			}
		})
	}
}

// TestNotTried holds that what could not be made is never a pass.
func TestNotTried(t *testing.T) {
	t.Parallel()
	o := brokenOptions(t, "")
	o.Call, o.Slow, o.Big, o.Noisy = nil, nil, nil, nil
	o.Only = namesThatNeed("-call", "-slow", "-big", "-noisy")
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Checks() {
		if c.Needs == "" {
			continue
		}
		if res := resultOf(t, report, c.Name); res.Verdict != NotTried || res.Needs != "give "+c.Needs {
			t.Errorf("%s: %v, needs %q", c.Name, res.Verdict, res.Needs)
		}
	}
	if report.Failed(false) || !report.Failed(true) {
		t.Error("not tried is to fail a strict run alone")
	}
}

// TestStart holds that a server that cannot be started is an error, not a
// report.
func TestStart(t *testing.T) {
	_, err := Run(t.Context(), Options{Command: []string{filepath.Join(t.TempDir(), "nothing")}})
	if !errors.Is(err, ErrStart) {
		t.Errorf("%v", err)
	}
	if _, err := Run(t.Context(), Options{Command: []string{"x"}, Only: []string{"y"}}); err == nil {
		t.Error("a check that is none was run")
	}
}

// TestInterrupt holds that the end of the context leaves no process.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("looks through /proc")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("interrupted")
	o := brokenOptions(t, "stays,orphan")
	running := 0
	o.Progress = func(p Progress) {
		if p.Done > 0 && len(p.Running) == 3 {
			running = len(p.Running)
			cancel(gone)
		}
	}
	mark := "weir-gate-test-" + filepath.Base(t.TempDir())
	o.Env = []string{"WEIR_GATE_TEST=" + mark}
	_, err := Run(ctx, o)
	if !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	if running == 0 {
		t.Error("nothing was running")
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if env, err := os.ReadFile(dir + "/environ"); err == nil && strings.Contains(string(env), mark) {
			t.Errorf("%s is left", dir)
		}
	}
}
