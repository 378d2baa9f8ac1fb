// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote shows what a model or a machine said, at most some 200 bytes of it.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		return strconv.Quote(s[:n]) + "…"
	}
	return strconv.Quote(s)
}

// list joins words, as many as fit into limit bytes.
func list(words []string, sep string, limit int) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && b.Len()+len(sep)+len(w) > limit {
			fmt.Fprintf(&b, "%s… (%d more; the tool hosts lists all)", sep, len(words)-i)
			break
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(w)
	}
	return b.String()
}
