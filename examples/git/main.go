// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Git serves git repositories to an MCP host over stdin and stdout:
//
//	git -root DIR [-root DIR ...] [-write [-trust]]
//
// It runs the git that is installed (2.32 or later). Answers are bounded pages,
// whose cursors go on without a gap, also when commits are added meanwhile.
//
// With several roots each has the name of its directory, and NAME-2 if that is
// taken; a repository is named by that and the path below.
//
// Only repositories at or below a root are read; one whose files lie elsewhere
// (a worktree, a submodule, borrowed objects) needs a root there too. What a
// model says never reaches git where it could be an option: revisions are
// resolved to object ids first, and paths stand behind "--", as literal
// pathspecs. Whatever the configuration of a repository would run (hooks, a
// filter, a pager, a file system monitor, a text conversion, an external diff)
// is not run, nothing is fetched, and nobody is asked for a password.
//
// Nothing is written unless -write is given, which adds tools that stage,
// commit and switch branches; with -trust these run the hooks, the filters and
// the signing that the repository and its user have configured.
package main

//go:generate go test -run TestDocument . -update

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/weir-mcp/weir/server"
)

// dirs is a flag that may be given several times.
type dirs []string

func (d *dirs) String() string     { return fmt.Sprint([]string(*d)) }
func (d *dirs) Set(s string) error { *d = append(*d, s); return nil }

func main() {
	log.SetFlags(0)
	log.SetPrefix("git: ")
	var roots dirs
	flag.Var(&roots, "root", "a `DIR` to serve, with the repositories at or below it; may be given several times, where one of the same base name as another is called NAME-2 (default \".\")")
	write := flag.Bool("write", false, "add the tools that change a repository")
	trust := flag.Bool("trust", false, "with -write: run the hooks, filters and signing that a repository configures when changing it")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q; a directory is given with -root", flag.Arg(0))
	}
	if *trust && !*write {
		log.Fatal("-trust is for the tools that change a repository: it needs -write")
	}
	if len(roots) == 0 {
		roots = dirs{"."}
	}
	ctx := context.Background()
	g, err := openRoots(roots)
	if err != nil {
		log.Fatal(err)
	}
	if err := g.checkVersion(ctx); err != nil {
		log.Fatal(err)
	}
	g.write, g.trust = *write, *trust
	srv := &server.Server{Name: "git", Version: "1.0.0", Tools: newTools(g)}
	if err := srv.ServeStdio(ctx); err != nil {
		log.Fatal(err)
	}
}
