// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// A shelf is a store whose resources tests choose, hold and release.
type shelf struct {
	started chan string   // what waits for release: "t:hold", "t:stubborn", and "list" while held is set
	causes  chan error    // what ended a wait for t:hold
	release chan struct{} // closing it lets them return

	mu    sync.Mutex // guards links and held
	links []result.LinkContent
	held  bool // Resources waits for release
}

func newShelf() *shelf {
	return &shelf{started: make(chan string, 10_000), causes: make(chan error, 10_000), release: make(chan struct{})}
}

func (s *shelf) Put(context.Context, string, string, io.Reader) (handle, how string, err error) {
	return "", "", errors.New("full")
}

func (s *shelf) Resources() ([]result.LinkContent, error) {
	s.mu.Lock()
	links, held := slices.Clone(s.links), s.held
	s.mu.Unlock()
	if held {
		s.started <- "list"
		<-s.release
	}
	return links, nil
}

func (s *shelf) Read(ctx context.Context, uri string, b result.Budget) (result.Resource, error) {
	r := result.Resource{URI: uri, MIMEType: "text/plain"}
	switch uri {
	case "t:hold":
		s.started <- uri
		select {
		case <-ctx.Done():
			s.causes <- context.Cause(ctx)
			return r, ctx.Err()
		case <-s.release:
			r.Text = "released"
		}
	case "t:stubborn":
		s.started <- uri
		<-s.release
		r.Text = "too late"
	case "t:expired":
		return r, artifact.ErrExpired
	case "t:foreign":
		return r, artifact.ErrForeign
	case "t:closed":
		return r, artifact.ErrClosed
	case "t:malformed":
		return r, artifact.ErrMalformed
	case "t:broken":
		return r, errors.New("the disk is gone")
	case "t:silent":
		return r, errors.New("")
	case "t:panic":
		panic("secret-in-read")
	case "t:goexit":
		runtime.Goexit()
	case "t:unusable":
		r.Meta = map[string]any{"f": func() {}}
	case "t:greedy": // more than it was asked for
		r.Text = strings.Repeat("x\n", b.Bytes)
	case "t:media":
		r.MIMEType, r.Blob = "application/octet-stream", make([]byte, b.Media)
	case "t:fits":
		r.MIMEType, r.Blob = "application/octet-stream", make([]byte, b.Media/4*3)
	case "t:budget":
		r.Text = fmt.Sprintf("%d %d", b.Bytes, b.Media)
	case "t:fills": // both limits to the last byte
		r.Text = strings.Repeat("x", b.Bytes)
	case "t:blob":
		r.MIMEType, r.Blob = "image/png", []byte{1, 2, 3, 4}
	case "t:nameless":
		r.URI, r.Text, r.Meta = "", "a\u2028b <&> \xff", map[string]any{"next": "t:more"}
	case "t:text":
		r.Text = "hello"
	default:
		return r, fmt.Errorf("t: there is no such thing: %w", fs.ErrNotExist)
	}
	return r, nil
}

// list puts n resources on the shelf.
func (s *shelf) list(n int) {
	for i := range n {
		s.links = append(s.links, result.LinkContent{URI: fmt.Sprintf("t:%04d", i), Name: fmt.Sprint("thing ", i), Description: strings.Repeat("d", 100)})
	}
}

// withShelf returns a server of the stage's tools and the shelf's resources.
func (s *stage) withShelf(sh *shelf, limits server.Limits, log io.Writer) *server.Server {
	srv := s.server(limits, log)
	srv.Artifacts = sh
	return srv
}

// beginRead starts a resources/read with an id of the test's choice.
func beginRead(t *testing.T, c *servertest.Client, id, uri string) *servertest.Pending {
	t.Helper()
	p, err := c.Begin(servertest.Request{ID: []byte(id), Method: "resources/read", Params: map[string]any{"uri": uri}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantError waits for an error of the protocol.
func wantError(t *testing.T, p *servertest.Pending, code int, text string) *servertest.Error {
	t.Helper()
	raw, err := p.Wait(t.Context())
	var e *servertest.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, text) {
		t.Errorf("%s, %v; want error %d with %q", raw, err, code, text)
		return &servertest.Error{}
	}
	return e
}

// TestResourceTranscripts plays testdata/resources/*.txtar against a server
// with a shelf.
func TestResourceTranscripts(t *testing.T) {
	servertest.Transcripts(t, "testdata/resources/*.txtar", func(t *testing.T) servertest.Server {
		sh := newShelf()
		size := int64(5)
		sh.links = []result.LinkContent{
			{URI: "t:text", Name: "text", Title: "Text", Description: "five letters", MIMEType: "text/plain", Size: &size,
				Annotations: &result.Annotations{LastModified: "2026-01-02T03:04:05Z"}, Meta: map[string]any{"k": 1}},
			{URI: "t:blob", Name: "blob"},
		}
		return newStage().withShelf(sh, server.Limits{}, new(logBuffer))
	})
}

// TestReadCancelled is I4 and I5 for resources/read (case 68): it is a call in
// flight that is seen, keeps its id, is cancelled by it, and then never
// answered, while everything else goes on.
func TestReadCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sh := newStage(), newShelf()
		srv := s.withShelf(sh, server.Limits{}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		beginRead(t, c, "9001", "t:hold")
		<-sh.started
		if calls := srv.Calls(); len(calls) != 1 || calls[0].Tool != "resources/read" || calls[0].State != "running" || calls[0].ID != "9001" {
			t.Errorf("calls %+v", calls)
		}
		c.Send([]byte(`{"jsonrpc":"2.0","id":9001,"method":"ping"}` + "\n" + // a duplicate id, of any method
			`{"jsonrpc":"2.0","id":9001,"method":"resources/read","params":{"uri":"t:text"}}` + "\n" +
			`{"jsonrpc":"2.0","id":9001,"method":"resources/list"}` + "\n" +
			`{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}` + "\n"))
		synctest.Wait()
		refused := 0
		for _, f := range c.Frames() {
			if f.Err != nil && f.Err.Code == -32600 && strings.Contains(f.Err.Message, "in flight") {
				refused++
			}
		}
		if refused != 4 {
			t.Errorf("%d of 4 duplicates refused", refused)
		}
		c.Cancel([]byte("9001"), "user left")
		var cancelled *tool.Cancelled
		if cause := <-sh.causes; !errors.As(cause, &cancelled) || cancelled.Reason != "user left" {
			t.Errorf("cause %v", cause)
		}
		synctest.Wait()
		if n := answersTo(c, "9001"); n != 4 {
			t.Errorf("the cancelled read was answered: %d frames", n)
		}
		if calls := srv.Calls(); len(calls) != 0 {
			t.Errorf("calls left: %v", calls)
		}
		// One that takes no notice lingers, and holds its slot.
		beginRead(t, c, "9002", "t:stubborn")
		<-sh.started
		c.Cancel([]byte("9002"), "")
		synctest.Wait()
		if calls := srv.Calls(); len(calls) != 1 || calls[0].State != "lingering" {
			t.Errorf("calls %v", calls)
		}
		text(t, beginRead(t, c, "9002", "t:text")) // its id is free again
		close(sh.release)
		synctest.Wait()
		if m := srv.Metrics(); m.CancelsRunning != 2 || m.CallsCancelled != 2 || len(srv.Calls()) != 0 {
			t.Errorf("metrics %+v", m)
		}
	})
}

// TestReadNeverOnReader is case 68 and I3: with every read and list held,
// the rest is dealt with at once, tools keep their share of the slots, and
// those too many are told to come back.
func TestReadNeverOnReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sh := newStage(), newShelf()
		srv := s.withShelf(sh, server.Limits{MaxCalls: 8, MaxQueue: 4}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		var all []*servertest.Pending
		for i := range 6 { // three quarters of the slots
			all = append(all, beginRead(t, c, fmt.Sprint(9000+i), "t:hold"))
			<-sh.started
		}
		all = append(all, beginRead(t, c, "9006", "t:hold"))
		sh.held = true
		list := func(id string) *servertest.Pending {
			p, err := c.Begin(servertest.Request{ID: []byte(id), Method: "resources/list"})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		all = append(all, list(`"a"`))
		<-sh.started
		begun := time.Now()
		ping(t, c)
		if got := text(t, begin(t, c, "9100", "echo", textInput{"x"})); !strings.Contains(got, `"x"`) {
			t.Errorf("echo %s", got)
		}
		if _, err := c.Request(t.Context(), "resources/templates/list", nil); err != nil {
			t.Error(err)
		}
		all = append(all, list(`"b"`))
		<-sh.started
		// All slots are taken: six reads, two lists; one read waits.
		for i := range 3 {
			all = append(all, list(fmt.Sprint(9200+i)))
		}
		wantError(t, list(`"too many"`), server.CodeBusy, "busy")
		wantError(t, beginRead(t, c, "9300", "t:text"), server.CodeBusy, "busy")
		c.Cancel([]byte("9006"), "") // waits: C0
		synctest.Wait()
		if d := time.Since(begun); d != 0 {
			t.Errorf("took %v", d)
		}
		if m := srv.Metrics(); m.CallsBusy != 2 || m.CancelsQueued != 1 {
			t.Errorf("metrics %+v", m)
		}
		close(sh.release)
		for _, p := range all {
			if string(p.ID) != "9006" {
				text(t, p)
			}
		}
		synctest.Wait()
		if n := answersTo(c, "9006"); n != 0 || len(sh.causes) != 0 {
			t.Errorf("the read that was cancelled in line: %d answers, %d ran", n, len(sh.causes))
		}
	})
}

// TestReadEnds holds how a read ends that is not back in time: by CallTimeout,
// at the end of input, and when its session is stopped (I9, I5).
func TestReadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sh := newStage(), newShelf()
		log := new(logBuffer)
		srv := s.withShelf(sh, server.Limits{MaxCalls: 2, CallTimeout: time.Minute}, log)
		c := servertest.Config{NoLeakCheck: true}.NewInMemory(t, srv)
		initialize(t, c)
		begun := time.Now()
		held, stubborn := beginRead(t, c, "9001", "t:hold"), begin(t, c, "9002", "echo", textInput{"x"})
		text(t, stubborn)
		e := wantError(t, held, -32603, "timed out after 1m0s")
		if string(e.Data) != `{"uri":"t:hold"}` || time.Since(begun) != time.Minute {
			t.Errorf("data %s after %v", e.Data, time.Since(begun))
		}
		var timedOut *tool.TimedOut
		if cause := <-sh.causes; !errors.As(cause, &timedOut) {
			t.Errorf("cause %v", cause)
		}
		begun = time.Now()
		wantError(t, beginRead(t, c, "9003", "t:stubborn"), -32603, "timed out after 1m0s")
		if d := time.Since(begun); d != time.Minute+server.DefaultGrace {
			t.Errorf("a read that ignores its context was answered after %v", d)
		}
		synctest.Wait()
		if !strings.Contains(log.String(), `tool=resources/read id=9003`) {
			t.Errorf("it is not named in the log:\n%s", log)
		}
		// Its slot is still taken, and one read may have one of two: this waits.
		queued := beginRead(t, c, "9004", "t:text")
		c.CloseInput()
		wantError(t, queued, -32603, "stopped: input ended; the call had not started")
		synctest.Wait()
		if m := srv.Metrics(); m.CallsTimedOut != 2 {
			t.Errorf("metrics %+v", m)
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		close(sh.release)
	})
	synctest.Test(t, func(t *testing.T) {
		s, sh := newStage(), newShelf()
		c := servertest.NewInMemory(t, s.withShelf(sh, server.Limits{}, new(logBuffer)))
		initialize(t, c)
		held, read := beginRead(t, c, "9001", "t:hold"), beginRead(t, c, "9002", "t:text")
		c.CloseInput()
		if got := text(t, read); !strings.Contains(got, "hello") {
			t.Errorf("what was read is answered: %s", got)
		}
		wantError(t, held, -32603, "stopped: input ended")
		if err := c.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestReadFails is I10 and I6 for resources: a panic, a result that cannot be
// sent, and one that is larger than was asked for cost one answer each.
func TestReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sh := newStage(), newShelf()
		log := new(logBuffer)
		srv := s.withShelf(sh, server.Limits{}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		for _, uri := range []string{"t:panic", "t:goexit", "t:unusable"} {
			e := wantError(t, beginRead(t, c, `"x"`, uri), -32603, "internal error (ref ")
			synctest.Wait()
			ref, _, _ := strings.Cut(strings.TrimPrefix(e.Message, "internal error (ref "), ")")
			if strings.Contains(e.Message, "secret") || !strings.Contains(log.String(), "ref="+ref) {
				t.Errorf("%s: %q; log:\n%s", uri, e.Message, log)
			}
		}
		wantError(t, beginRead(t, c, `"x"`, "t:broken"), -32603, "the disk is gone")
		wantError(t, beginRead(t, c, `"x"`, "t:silent"), -32603, "the store failed without saying why")
		synctest.Wait()
		if m := srv.Metrics(); m.CallsPanicked != 3 || m.CallsRefused != 2 {
			t.Errorf("metrics %+v", m)
		}
		for uri, want := range map[string]string{
			"t:greedy": "left out here",
			"t:media":  "left out: ",
		} {
			got := text(t, beginRead(t, c, `"x"`, uri))
			if len(got) > result.DefaultBytes+1<<10 || !strings.Contains(got, want) || !strings.Contains(got, result.TruncatedKey) {
				t.Errorf("%s: %d bytes: %.100s … %.200s", uri, len(got), got, got[max(0, len(got)-200):])
			}
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "more of a resource than it was asked for"); n != 2 {
			t.Errorf("logged %d times:\n%s", n, log)
		}
		wantError(t, beginRead(t, c, `"x"`, "t:"+strings.Repeat("0", 4095)), -32602, "4097 bytes")
		wantError(t, beginRead(t, c, `"x"`, "t:"+strings.Repeat("0", 4094)), -32002, "no such thing")
		if got := text(t, beginRead(t, c, `"x"`, "t:text")); !strings.Contains(got, "hello") {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// TestReadLimits holds that a read is asked for no more than fits a frame, so
// that it can be answered whatever MaxFrameOut is, and that no frame passes it.
func TestReadLimits(t *testing.T) {
	for _, tt := range []struct {
		limits server.Limits
		want   string
	}{
		{server.Limits{}, fmt.Sprint(result.DefaultBytes, " ", result.DefaultMedia)},
		{server.Limits{Budget: result.Budget{Bytes: 5000, Media: 6000}}, "5000 6000"},
		{server.Limits{MaxFrameOut: 10_000}, "5894 5894"},
		{server.Limits{MaxFrameOut: 4200}, "1024 1024"},
	} {
		srv := newStage().withShelf(newShelf(), tt.limits, new(logBuffer))
		for _, protocol := range []string{"2025-03-26", "2026-07-28"} {
			c := servertest.Config{Protocol: protocol}.New(t, srv)
			if _, err := c.Tools(t.Context()); err != nil { // opens the session
				t.Fatal(err)
			}
			if got := text(t, beginRead(t, c, `"b"`, "t:budget")); !strings.Contains(got, `"text":"`+tt.want+`"`) {
				t.Errorf("%+v, %s: %s, want %s", tt.limits, protocol, got, tt.want)
			}
			got := text(t, beginRead(t, c, `"b"`, "t:fills"))
			if strings.Contains(got, "left out") || strings.Count(got, "x") < 1024 {
				t.Errorf("%+v, %s: what just fits was cut: %d bytes", tt.limits, protocol, len(got))
			}
			if most := c.Metrics().Largest; tt.limits.MaxFrameOut > 0 && most > int64(tt.limits.MaxFrameOut) {
				t.Errorf("%+v, %s: a frame of %d bytes", tt.limits, protocol, most)
			}
		}
	}
	// A frame limit below what any answer needs is an error that names it.
	c := servertest.New(t, newStage().withShelf(newShelf(), server.Limits{MaxFrameOut: 600}, new(logBuffer)))
	initialize(t, c)
	wantError(t, beginRead(t, c, `"b"`, "t:fills"), -32603, "over the limit of 600 bytes")
	// Also when it is what comes after the content that has no room.
	c = servertest.New(t, newStage().withShelf(newShelf(), server.Limits{MaxFrameOut: 220}, new(logBuffer)))
	p, err := c.Begin(servertest.Request{ID: []byte("1"), Method: "resources/read", Params: map[string]any{"uri": "t:text"}, Protocol: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, p, -32603, "over the limit of 220 bytes")
}

// TestReadMemory holds that reads wait for MaxResultMemory as calls do, that
// their media counts, and that what waits for stdout does.
func TestReadMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sh := newStage(), newShelf()
		// A read reserves 2 × 4 KiB + 8 KiB.
		srv := s.withShelf(sh, server.Limits{MaxResultMemory: 40 << 10, Budget: result.Budget{Bytes: 4 << 10, Media: 64 << 10}}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		for i := range 3 {
			beginRead(t, c, fmt.Sprint(9000+i), "t:hold")
		}
		synctest.Wait()
		if n := len(sh.started); n != 2 {
			t.Errorf("%d reads run within the memory for two", n)
		}
		close(sh.release)
		synctest.Wait()
		plug(t, c)
		media := beginRead(t, c, "9100", "t:fits") // takes more than all
		synctest.Wait()
		note := begin(t, c, "9101", "note", textInput{"x"})
		synctest.Wait()
		if len(s.ran) != 0 {
			t.Error("a call ran while media over the limit waits for stdout")
		}
		c.Resume()
		if got := text(t, media); len(got) < 64<<10 {
			t.Errorf("%d bytes of media", len(got))
		}
		text(t, note)
	})
}

// TestResourcePages holds that every resource is listed once, in order,
// whatever the size of a page, in every revision, and also when resources come
// at the beginning and go at the end meanwhile.
func TestResourcePages(t *testing.T) {
	sh := newShelf()
	sh.list(50)
	var want []string
	for _, l := range sh.links {
		want = append(want, l.URI)
	}
	uris := func(c *servertest.Client, page func(n int)) (out []string, pages int) {
		t.Helper()
		var params struct {
			Cursor string `json:"cursor,omitempty"`
		}
		for {
			var list struct {
				Resources []struct {
					URI string `json:"uri"`
				} `json:"resources"`
				NextCursor *string `json:"nextCursor"`
			}
			raw, err := c.Request(t.Context(), "resources/list", params)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &list); err != nil {
				t.Fatal(err)
			}
			for _, r := range list.Resources {
				out = append(out, r.URI)
			}
			pages++
			page(pages)
			if list.NextCursor == nil {
				return out, pages
			}
			params.Cursor = *list.NextCursor
			if params.Cursor == "" || pages > 60 {
				t.Fatalf("page %d has the cursor %q", pages, params.Cursor)
			}
		}
	}
	for _, protocol := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for page, most := range map[int]int{1: 50, 500: 20, 0: 1} {
			srv := newStage().withShelf(sh, server.Limits{MaxListPage: page}, new(logBuffer))
			c := servertest.Config{Protocol: protocol}.New(t, srv)
			if _, err := c.Tools(t.Context()); err != nil { // opens the session
				t.Fatal(err)
			}
			if got, pages := uris(c, func(int) {}); !slices.Equal(got, want) || pages > most || page == 500 && pages < 5 {
				t.Errorf("%s, page of %d bytes: %d pages, %q", protocol, page, pages, got)
			}
		}
	}
	c := servertest.New(t, newStage().withShelf(sh, server.Limits{MaxListPage: 2000}, new(logBuffer)))
	initialize(t, c)
	got, pages := uris(c, func(n int) {
		if n <= 3 {
			sh.links = append([]result.LinkContent{{URI: fmt.Sprint("new:", n), Name: "new"}}, sh.links[:len(sh.links)-4]...)
		}
	})
	if stays := len(want) - 12; len(got) < stays || !slices.Equal(got, want[:len(got)]) || pages < 4 {
		t.Errorf("while it changes: %d pages, %q", pages, got)
	}
	got, _ = uris(c, func(n int) {
		if n == 1 {
			sh.links = sh.links[:1] // the last one that was listed is gone too
		}
	})
	if len(got) == 0 || len(got) == len(want) {
		t.Errorf("when the rest is gone: %q", got)
	}
}

// TestResourcesUnlisted holds that a resource that cannot be described takes
// none of the others with it.
func TestResourcesUnlisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := newShelf()
		sh.links = []result.LinkContent{
			{URI: "t:1", Name: strings.Repeat("n", 10_000)},
			{URI: "t:2", Name: "two"},
			{URI: "t:3", Name: "three", Annotations: &result.Annotations{Audience: []string{"nobody"}}},
			{URI: "t:4", Name: "four", Meta: map[string]any{"f": func() {}}},
			{URI: "t:5", Name: "five"},
		}
		log := new(logBuffer)
		c := servertest.NewInMemory(t, newStage().withShelf(sh, server.Limits{MaxFrameOut: 10_000}, log))
		initialize(t, c)
		raw, err := c.Request(t.Context(), "resources/list", nil)
		if err != nil || string(raw) != `{"resources":[{"uri":"t:2","name":"two"},{"uri":"t:5","name":"five"}]}` {
			t.Errorf("%s, %v", raw, err)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "cannot be listed"); n != 3 {
			t.Errorf("logged %d times:\n%s", n, log)
		}
	})
}
