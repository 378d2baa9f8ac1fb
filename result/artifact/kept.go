// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// A kept artifact is two files: its content, and its Info. The content gets its
// name last, by a rename, when both are safely written: a content with its name
// is whole.

// finish makes the part of a new artifact an artifact.
func (h *home) finish(info *Info, keep bool) error {
	if keep {
		text, err := json.Marshal(info)
		if err == nil {
			err = h.writeFile(info.Handle+infoSuffix, text)
		}
		if err != nil {
			return failure("writing an artifact's description", err)
		}
	}
	if err := h.root.Rename(info.Handle+partSuffix, info.Handle); err != nil {
		return failure("naming an artifact", err)
	}
	if keep {
		if err := h.syncDir(); err != nil {
			return failure("naming an artifact", err)
		}
	}
	return nil
}

// writeFile writes a file that lasts.
func (h *home) writeFile(name string, data []byte) error {
	f, err := h.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// remove removes an artifact, whole or not. What cannot be removed now goes
// when the directory is opened next.
func (h *home) remove(handle string) {
	for _, suffix := range []string{"", partSuffix, infoSuffix} {
		h.root.Remove(handle + suffix)
	}
}

// load returns the artifacts in the directory, the oldest first, and removes
// what is not whole.
func (h *home) load() ([]*Info, error) {
	names, err := h.names()
	if err != nil {
		return nil, err
	}
	var all []*Info
	for _, name := range names {
		handle, suffix, _ := strings.Cut(name, ".")
		if suffix == "" {
			if info := h.info(handle); info != nil {
				all = append(all, info)
				continue
			}
		} else if slices.Contains(names, handle) && "."+suffix == infoSuffix {
			continue // looked at with its content
		}
		h.root.Remove(name)
	}
	slices.SortFunc(all, func(a, b *Info) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Handle, b.Handle))
	})
	return all, nil
}

// info reads the description of an artifact, and returns nil where the content
// is not what it describes.
func (h *home) info(handle string) *Info {
	text, err := h.root.ReadFile(handle + infoSuffix)
	if err != nil {
		return nil
	}
	var info Info
	content, err := h.root.Lstat(handle)
	if err != nil || json.Unmarshal(text, &info) != nil ||
		!content.Mode().IsRegular() || info.Size != content.Size() ||
		info.Handle != handle || !isOwn(h.key, handle) {
		h.root.Remove(handle + infoSuffix)
		return nil
	}
	return &info
}
