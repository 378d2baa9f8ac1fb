// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"

	"github.com/weir-mcp/weir/result/artifact"
)

// keepFrom is how much is held in memory before a file is begun.
const keepFrom = 64 << 10

// A keeper puts a body into the store, text as UTF-8, without secrets. It is a
// sink and an io.Writer, which never fails: what a result shows does not depend
// on the store.
type keeper struct {
	store  *artifact.Store
	name   string
	mime   string
	redact redactor
	held   []byte
	w      *artifact.Writer
	err    error

	done bool
	info artifact.Info
	kept string
}

// newKeeper returns a keeper for what is at a URL. Neither that nor the media
// type have secrets.
func newKeeper(store *artifact.Store, s secrets, url, mediaType string, binary bool) *keeper {
	k := &keeper{store: store, name: url, mime: mediaType, redact: redactor{secrets: s}}
	if !binary {
		k.mime = cmp.Or(mediaType, "text/plain") + "; charset=utf-8"
	}
	return k
}

// Write takes a part of the body.
func (k *keeper) Write(p []byte) (int, error) {
	k.redact.to = k
	k.redact.write(p)
	return len(p), nil
}

func (k *keeper) hidden(int) { k.plain([]byte(hidden)) }

func (k *keeper) plain(p []byte) {
	if k.err != nil {
		return
	}
	if k.w == nil && len(k.held)+len(p) <= keepFrom {
		k.held = append(k.held, p...)
		return
	}
	if k.begin(); k.err == nil {
		_, k.err = k.w.Write(p)
	}
}

// begin begins the file, with what was held.
func (k *keeper) begin() {
	if k.w != nil || k.err != nil {
		return
	}
	if k.w, k.err = k.store.Create(k.name, k.mime); k.err == nil {
		_, k.err = k.w.Write(k.held)
		k.held = nil
	}
}

// commit completes the artifact, which says when it is not all of b.
func (k *keeper) commit(b *body) {
	k.redact.to = k
	if b.ended {
		k.redact.flush()
	}
	k.begin()
	k.done = true
	if k.err == nil {
		k.info, k.err = k.w.Commit()
	}
	switch {
	case k.err != nil:
		k.info.Handle, k.kept = "", "the store has no room for it"
	case !b.ended || k.info.Dropped > 0:
		k.kept = fmt.Sprintf("its first %s bytes", number(k.info.Size))
	default:
		k.kept = fmt.Sprintf("all of it (%s bytes)", number(k.info.Size))
	}
}

// close drops what was not committed.
func (k *keeper) close() {
	if k.w != nil {
		k.w.Close()
	}
}
