// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// A Ticket is one item of the API's list.
type Ticket struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
}

type pagedInput struct {
	Query          string `json:"query,omitempty" jsonschema:"description=Words to look for"`
	Limit          int    `json:"limit,omitempty" jsonschema:"description=Tickets on a page,minimum=1,maximum=100,default=50"`
	tool.PageInput        // adds cursor and maxBytes
}

// tickets yields the API's list after a ticket, as it comes. Leaving the loop
// closes the connection.
func tickets(ctx context.Context, client *http.Client, base, query string, after, limit int) iter.Seq2[Ticket, error] {
	q := url.Values{"q": {query}, "after": {fmt.Sprint(after)}, "per_page": {fmt.Sprint(limit)}, "fields": {"id,title"}}
	return func(yield func(Ticket, error) bool) {
		resp, err := get(ctx, client, base+"/tickets?"+q.Encode())
		if err == nil && resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			err = fmt.Errorf("the ticket system answered %s; try again later", resp.Status)
		}
		if err != nil {
			yield(Ticket{}, err)
			return
		}
		defer resp.Body.Close()
		dec := jsontext.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxBody))
		if _, err := dec.ReadToken(); err != nil { // [
			yield(Ticket{}, err)
			return
		}
		for dec.PeekKind() != ']' {
			var t Ticket
			if err := json.UnmarshalDecode(dec, &t); err != nil {
				yield(t, cmp.Or(context.Cause(ctx), err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// A position is the ticket after which a page begins.
type position struct {
	After int `json:"a"`
}

var cursors cursor.Codec[position]

func addPaged(tools *tool.Registry, client *http.Client, base string) {
	info := tool.Info{
		Name: "tickets",
		Description: "Lists tickets, the oldest first. " +
			"Pass nextCursor as cursor, with the other arguments unchanged, for the next page.",
		ReadOnly: tool.Yes,
	}
	tool.AddPage(tools, info, func(ctx context.Context, req *tool.Request, in pagedInput, page *result.Page[Ticket]) error {
		from, err := cursors.Decode(req, in.Cursor)
		if err != nil {
			return err
		}
		page.Noun = "tickets"
		for t, err := range tickets(ctx, client, base, in.Query, from.After, in.Limit) {
			if err != nil {
				return err
			}
			if !page.Add(t) { // full: leaving the loop ends the request
				break
			}
			from.After = t.ID
		}
		if page.Len() > 0 { // the API ends with an empty page
			page.NextCursor, err = cursors.Encode(req, from)
		}
		return cmp.Or(page.Err(), err)
	})
}
