// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// pages calls the tool, and with -all again for each further page.
func (c *call) pages(ctx context.Context) error {
	args, cursor, heading := c.args, "", ""
	var sum sum
	for {
		r, err := within(ctx, &c.session, c.tool, func(ctx context.Context) (*host.Result, error) {
			return c.h.CallProgress(ctx, c.tool, arguments(args), c.progress)
		})
		if err != nil {
			return c.failed(ctx, err)
		}
		c.status.clear()
		page := r.Page()
		head, summary, text := cutSummary(readable(r), page.Items)
		if !c.all || page.More == "" && sum.pages == 0 && summary == "" || r.IsError {
			if err := c.print(r, readable(r)); err != nil {
				return err
			}
			if r.IsError {
				c.hints(ctx, r)
				return errNo
			}
			return nil
		}
		sum.add(page)
		if head != heading { // not again for each page
			heading, text = head, head+text
		}
		if text != "" || c.json {
			if err := c.print(r, text); err != nil {
				return err
			}
		}
		if page.More == "" {
			if !c.json {
				c.say("%s", sum.end(summary))
			}
			return nil
		}
		if page.More == cursor {
			return errors.New("the tool gave the same nextCursor twice")
		}
		cursor = page.More
		if args, err = withCursor(c.args, cursor); err != nil {
			return err
		}
		c.status.set(fmt.Sprintf("%s, %s", sum.String(), count(c.h.Metrics().Received, "byte")))
	}
}

// sum is what the pages of one run held together.
type sum struct {
	pages, items, omitted int64
	total                 int64 // as the last page that knew it said, -1 when none did
}

func (s *sum) add(p host.Page) {
	s.pages, s.items, s.omitted = s.pages+1, s.items+int64(p.Items), s.omitted+p.Omitted
	s.total = p.Total
}

func (s *sum) String() string {
	text := count(s.pages, "page") + ", "
	switch {
	case s.total >= 0 && s.total != s.items:
		text += fmt.Sprintf("%s of %s", comma(s.items), count(s.total, "item"))
	default:
		text += count(s.items, "item")
	}
	if s.omitted > 0 {
		text += fmt.Sprintf(", %s left out because too large", comma(s.omitted))
	}
	return text
}

// end is the sum after the last page, whose summary says more when that holds a
// cursor to come back with.
func (s *sum) end(summary string) string {
	if _, later, ok := strings.Cut(summary, " Use cursor "); ok {
		return s.String() + "; use cursor " + later
	}
	return s.String()
}

// summaryLine is how the text of a Weir server's page begins, after what its
// author has put before it.
var summaryLine = regexp.MustCompile(`^Returned ([\d,]+) (of [\d,]+ )?\S.*\.`)

// maxHeading is how many lines an author may put before the summary.
const maxHeading = 8

// cutSummary divides the text of a page of so many items into what its author
// says before the summary, the summary, "" for none, and the items. Between the
// pages of one run the summaries would stand among the data.
func cutSummary(text string, items int) (heading, summary, rest string) {
	at := 0
	for range maxHeading + 1 {
		line, _, more := strings.Cut(text[at:], "\n")
		if m := summaryLine.FindStringSubmatch(line); m != nil && m[1] == comma(int64(items)) {
			return text[:at], line, text[min(at+len(line)+1, len(text)):]
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", text
}

// arguments is nil for none, so that they are left out of the request.
func arguments(v jsontext.Value) any {
	if v == nil {
		return nil
	}
	return v
}

// withCursor returns args with the argument "cursor" set.
func withCursor(args jsontext.Value, cursor string) (jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	if args != nil {
		if err := json.Unmarshal(args, &members); err != nil {
			return nil, err
		}
	}
	quoted, err := jsontext.AppendQuote(nil, cursor)
	if err != nil {
		return nil, fmt.Errorf("nextCursor: %w", err)
	}
	members["cursor"] = quoted
	return json.Marshal(members, json.Deterministic(true))
}

// progress shows one notification of progress.
func (c *call) progress(p host.Progress) {
	c.status.set(strings.TrimSpace(c.tool + ": " + amount(p) + " " + p.Message))
}
