// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Broken is a tool server in both eras, without any of Weir's code, that does
// everything right, except for the fault that it is told to have: the gate's
// tests start it to see each check fail.
//
//	echo {text}      returns the text
//	slow {ms}        waits, or until it is cancelled; then writes "slow stopped" to stderr
//	spin {ms}        the same, and uses the CPU
//	child {ms}       the same, in a child process
//	big {bytes}      returns a text of so many bytes
//	blocks {n}       returns n text blocks
//	noisy {bytes}    writes so much to stderr
//	steps {n}        reports progress n times
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var faults = make(map[string]bool)

// known are the faults that there are.
var known = strings.Fields(`
	mute banner babble chatty-call chatty
	gbk bom-out crlf two-on-a-line pretty torn blank-out no-version no-code twice-named modern-request
	text-id twice answers-notes late-progress shrinking-progress
	small-ids rounded-ids no-cr blank-exit bom-exit bom-deaf one-read first-line
	json-exit json-silent json-salvaged request-exit request-answered scanner hoarder lost-method wrong-code
	echo-version no-legacy discover-exit no-modern any-version
	eof-drops stays eof-status log-blocks flood-lost busy leaky
	bad-schema poor-schema tears-large dies-large unbounded cuts-silently cuts-blocks large-error
	keeps-ends says-truncated links-rest says-in-meta says-oddly cuts-frame cuts-frame-oddly in-blocks varies condenses condenses-more
	serial serial-write late-error late-result late-step orphan spins-on spins-writing stops-frame deaf-cancel cancel-exit races soon-step quiet-child helper daemon groupmate legacy-silent slow-start
	all`)

const limit = 4 << 20 // bytes of a frame

type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type params struct {
	Name      string          `json:"name"`
	Version   string          `json:"protocolVersion"`
	RequestID json.RawMessage `json:"requestId"`
	Arguments struct {
		Text  string `json:"text"`
		Ms    int    `json:"ms"`
		Bytes int    `json:"bytes"`
		N     int    `json:"n"`
	} `json:"arguments"`
	Meta struct {
		Version string          `json:"io.modelcontextprotocol/protocolVersion"`
		Token   json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

type object map[string]any

// server is one session.
type server struct {
	mu      sync.Mutex // guards all below
	cond    sync.Cond
	queue   []*outgoing
	calls   map[string]context.CancelFunc
	working sync.WaitGroup
	written sync.WaitGroup
	log     chan []byte
	garbage [][]byte
	helper  sync.Once
	raced   bool // with races: a cancelled call was answered as if it had just been done
}

type outgoing struct {
	data []byte
	id   string
	stop bool // guarded by mu
}

func main() {
	fault := flag.String("fault", "", "have this fault, or several, comma-separated")
	flag.Parse()
	signal.Ignore(syscall.SIGPIPE) // when the host has died, children have still to be ended
	for f := range strings.SplitSeq(*fault, ",") {
		ok := f == ""
		for _, k := range known {
			ok = ok || f == k
		}
		if !ok {
			fmt.Fprintf(os.Stderr, "broken: there is no fault %q\n", f)
			os.Exit(2)
		}
		faults[f] = true
	}
	if faults["all"] {
		for _, f := range strings.Fields("banner gbk crlf two-on-a-line text-id late-progress") {
			faults[f] = true
		}
	}
	s := &server{calls: make(map[string]context.CancelFunc), log: make(chan []byte, 64)}
	s.cond.L = &s.mu
	go s.write()
	go func() {
		for b := range s.log {
			os.Stderr.Write(b)
		}
	}()
	if faults["banner"] {
		fmt.Println("Server starting…")
	}
	if faults["babble"] {
		go func() {
			for {
				time.Sleep(20 * time.Millisecond)
				s.raw([]byte("still alive\n"))
			}
		}()
	}
	if faults["busy"] {
		go spin(func() bool { return false })
	}
	if faults["leaky"] {
		go func() {
			for {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = 1
				}
				s.garbage = append(s.garbage, b)
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
	if faults["slow-start"] {
		time.Sleep(time.Second)
	}
	s.read()
	if faults["stays"] {
		time.Sleep(time.Hour)
	}
	done := make(chan struct{})
	go func() { s.working.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(500 * time.Millisecond):
		s.mu.Lock()
		for _, cancel := range s.calls {
			cancel()
		}
		s.mu.Unlock()
		<-done
	}
	s.written.Wait()
	if faults["eof-status"] {
		os.Exit(3)
	}
}

// read takes the lines of stdin.
func (s *server) read() {
	switch {
	case faults["scanner"]:
		sc := bufio.NewScanner(os.Stdin) // gives up over 64 KiB
		for sc.Scan() {
			s.line(sc.Bytes())
		}
		if sc.Err() != nil {
			os.Exit(1)
		}
		return
	case faults["one-read"], faults["first-line"]:
		buf := make([]byte, 64<<10)
		for {
			n, err := os.Stdin.Read(buf) // as if it were one message
			if n > 0 {
				one := bytes.TrimSpace(buf[:n])
				if faults["first-line"] {
					one, _, _ = bytes.Cut(one, []byte("\n"))
					s.line(one)
				} else {
					for part := range bytes.SplitSeq(one, []byte("\n")) {
						s.line(part)
					}
				}
			}
			if err != nil {
				return
			}
		}
	}
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	if faults["eof-drops"] { // it ends as soon as it sees the end, whatever it has still to do
		lines, ended := io.Pipe()
		go func() {
			io.Copy(ended, os.Stdin)
			os.Exit(0)
		}()
		r = bufio.NewReaderSize(lines, 64<<10)
	}
	first := true
	for {
		line, over, err := readLine(r)
		if len(line) > 0 || err == nil {
			if bom := []byte("\xef\xbb\xbf"); first && bytes.HasPrefix(line, bom) {
				switch {
				case faults["bom-exit"]:
					os.Exit(1)
				case !faults["bom-deaf"]:
					line = line[len(bom):]
				}
			}
			first = false
			switch {
			case over:
				s.fail("null", -32600, "the line is over the limit")
			case faults["bom-deaf"] && bytes.HasPrefix(line, []byte("\xef")):
			default:
				s.line(line)
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line of at most 12 MiB, and skips the rest of a longer one.
func readLine(r *bufio.Reader) (line []byte, over bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !over {
			line = append(line, part...)
		}
		if len(line) > 12<<20 && !faults["hoarder"] {
			line, over = nil, true
		}
		if err == nil || err != bufio.ErrBufferFull {
			return bytes.TrimSuffix(line, []byte("\n")), over || len(line) > 12<<20, err
		}
	}
}

func (s *server) line(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		if faults["blank-exit"] {
			os.Exit(1)
		}
		return
	}
	if faults["no-cr"] && bytes.HasSuffix(line, []byte("\r")) {
		return
	}
	var e envelope
	if !json.Valid(line) || bytes.Contains(line, []byte("\xff")) {
		switch {
		case faults["json-exit"]:
			os.Exit(1)
		case faults["json-salvaged"] && bytes.HasSuffix(line, []byte("},")):
			s.line(line[:len(line)-1])
		case !faults["json-silent"]:
			s.fail("null", -32700, "not JSON")
		}
		return
	}
	if err := json.Unmarshal(line, &e); err != nil || e.Version != "2.0" || e.Method == nil {
		switch {
		case faults["request-exit"]:
			os.Exit(1)
		case faults["request-answered"]:
			s.answer("null", object{})
		default:
			s.fail("null", -32600, "not a request")
		}
		return
	}
	var p params
	json.Unmarshal(e.Params, &p)
	id := string(e.ID)
	if faults["small-ids"] {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			id = strconv.Itoa(int(int32(n)))
		}
	}
	if faults["rounded-ids"] {
		if n, err := strconv.ParseFloat(id, 64); err == nil {
			id = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	if faults["text-id"] && id != "" && id[0] != '"' {
		id = `"` + id + `"`
	}
	if e.ID == nil {
		if *e.Method == "notifications/cancelled" && !faults["deaf-cancel"] {
			s.cancel(string(p.RequestID))
		}
		if faults["answers-notes"] {
			s.fail("null", -32600, "no id")
		}
		return
	}
	modern := p.Meta.Version != "" || *e.Method == "server/discover"
	if modern && !faults["any-version"] && p.Meta.Version != "2026-07-28" {
		s.send(id, object{"error": object{"code": -32022, "message": "unsupported protocol version",
			"data": object{"supported": []string{"2026-07-28"}, "requested": p.Meta.Version}}})
		return
	}
	s.request(id, *e.Method, p, modern)
}

func (s *server) request(id, method string, p params, modern bool) {
	switch {
	case faults["mute"], faults["legacy-silent"] && method == "initialize":
		return
	case faults["discover-exit"] && method == "server/discover":
		os.Exit(1)
	case faults["no-modern"] && modern, faults["no-legacy"] && method == "initialize":
		s.fail(id, -32601, "no such method: "+method)
		return
	}
	complete := func(o object) object {
		if modern {
			o["resultType"] = "complete"
			o["ttlMs"], o["cacheScope"] = 0, "private"
		}
		return o
	}
	info := object{"name": "broken", "version": "1"}
	switch method {
	case "initialize":
		version := "2025-11-25"
		for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18"} {
			if p.Version == v {
				version = v
			}
		}
		if faults["echo-version"] {
			version = p.Version
		}
		s.answer(id, object{"protocolVersion": version, "capabilities": object{"tools": object{}}, "serverInfo": info})
	case "server/discover":
		s.answer(id, complete(object{"supportedVersions": []string{"2026-07-28"}, "capabilities": object{"tools": object{}},
			"_meta": object{"io.modelcontextprotocol/serverInfo": info}}))
		if faults["modern-request"] {
			s.raw([]byte(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}` + "\n"))
		}
	case "ping":
		s.answer(id, object{})
		if faults["chatty"] {
			s.raw([]byte("answered a ping\n"))
		}
	case "tools/list":
		if faults["eof-drops"] {
			time.Sleep(100 * time.Millisecond)
		}
		s.answer(id, complete(object{"tools": tools()}))
	case "tools/call":
		s.call(id, p, modern, complete)
	default:
		if faults["log-blocks"] {
			fmt.Fprintln(os.Stderr, strings.Repeat("no such method: "+method+" ", 20))
		} else {
			s.say([]byte("no such method: " + method + "\n"))
		}
		switch {
		case faults["lost-method"]:
		case faults["wrong-code"]:
			s.fail(id, -32000, "no such method: "+method)
		default:
			s.fail(id, -32601, "no such method: "+method)
		}
	}
}

// spin uses the CPU until done: enough to be seen, and not a whole core, since
// the other tests need some too.
func spin(done func() bool) {
	for n := 0; !done(); {
		for range 5_000_000 {
			n++
		}
		if n < 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// say writes to stderr unless that would block.
func (s *server) say(b []byte) {
	select {
	case s.log <- b:
	default:
	}
}

func (s *server) cancel(id string) {
	if faults["text-id"] && id != "" && id[0] != '"' {
		id = `"` + id + `"`
	}
	if faults["soon-step"] { // before the cancel can be heeded
		s.step(json.RawMessage(id), 1)
	}
	s.mu.Lock()
	cancel := s.calls[id]
	for _, o := range s.queue {
		o.stop = o.stop || o.id == id
		if o.id == id && faults["spins-writing"] {
			go spin(func() bool { return false })
		}
	}
	s.mu.Unlock()
	switch {
	case cancel != nil:
		cancel()
	case faults["cancel-exit"]:
		os.Exit(1)
	}
}
