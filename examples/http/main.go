// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Http reads web pages and APIs for an MCP host over stdin and stdout:
//
//	http [-policy FILE] [-allow ADDRESSES ...] [-no-store]
//
// Answers are bounded: a long text, or a long list, comes in parts with a
// cursor, and no more of it is read than is shown, but for what is kept as an
// artifact.
//
// Only public addresses are reached, whatever a name leads to, unless the
// policy allows others. Redirects are looked at one by one. What a server sends
// is bounded in every way: headers, body, what it decompresses to, and time. A
// cancelled call closes its connection. Credentials come from the policy, are
// sent to their host alone, and are shown to nobody.
package main

//go:generate go test -run TestDocument . -update

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server"
)

// texts is a flag that may be given several times.
type texts []string

func (t *texts) String() string     { return fmt.Sprint([]string(*t)) }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }

func main() {
	log.SetFlags(0)
	log.SetPrefix("http: ")
	var allow texts
	file := flag.String("policy", "", "a `FILE` that says what may be asked, with which credentials; see docs/http.md (default: all that is public)")
	flag.Var(&allow, "allow", "`ADDRESSES` that may be reached although they are not public, such as 127.0.0.1 or 10.1.0.0/16; may be given several times")
	none := flag.Bool("no-store", false, "keep no body that is larger than what is shown")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q; a policy is given with -policy", flag.Arg(0))
	}
	if err := run(*file, allow, !*none); err != nil {
		log.Fatal(err)
	}
}

// A hidingLog writes to stderr, without secrets, and a few lines a minute:
// servers on the web decide how many there are.
type hidingLog struct {
	secrets secrets
	to      io.Writer

	mu      sync.Mutex // guards the fields below
	since   time.Time
	lines   int
	dropped int
}

const linesPerMinute = 20

func (l *hidingLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.since) > time.Minute {
		if l.dropped > 0 {
			fmt.Fprintf(l.to, "http: %d lines were dropped\n", l.dropped)
		}
		l.since, l.lines, l.dropped = time.Now(), 0, 0
	}
	if l.lines++; l.lines > linesPerMinute {
		l.dropped++
		return len(p), nil
	}
	_, err := io.WriteString(l.to, l.secrets.show(strings.TrimRight(string(p), "\n"), 1<<10)+"\n")
	return len(p), err
}

func run(file string, allow []string, keep bool) error {
	p := new(Policy)
	if file != "" {
		var err error
		if p, err = readPolicy(file); err != nil {
			return err
		}
	} else if err := p.complete(); err != nil {
		return err
	}
	if err := p.alsoAllow(allow); err != nil {
		return fmt.Errorf("-allow: %w", err)
	}
	p.forget()
	log.SetOutput(&hidingLog{secrets: p.secrets, to: os.Stderr}) // net/http logs what it finds odd, with some of it
	srv := &server.Server{Name: "http", Version: "1.0.0"}
	var store *artifact.Store
	if keep {
		store = new(artifact.Store)
		defer store.Close()
		srv.Artifacts = store
	}
	f := newFetcher(p, store, nil)
	defer f.close()
	srv.Tools = newTools(f)
	return srv.ServeStdio(context.Background())
}
