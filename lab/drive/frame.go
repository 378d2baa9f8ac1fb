// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Ids are numbers of nine digits at a fixed place, so that a frame gets a new one without being encoded again.
const (
	firstID  = 100_000_000
	idDigits = 9
	prefix   = `{"jsonrpc":"2.0","id":`
)

// Frame is one request, LF included. Every Frame begins in the same bytes up to its id, which Exchange and Load fill in.
type Frame []byte

// Request makes a Frame; params is JSON text, or "" for none.
func Request(method, params string) Frame {
	f := fmt.Appendf(nil, `%s%d,"method":%q`, prefix, firstID, method)
	if params != "" {
		f = append(f, `,"params":`...)
		f = append(f, params...)
	}
	return append(f, "}\n"...)
}

// Call makes a Frame of tools/call; arguments is JSON text.
func Call(tool, arguments string) Frame {
	return Request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// SetID writes the n-th id into f.
func (f Frame) SetID(n int) { putID(f[len(prefix):], n) }

func putID(b []byte, n int) {
	n += firstID
	_ = b[idDigits-1]
	for i := idDigits - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// getID reads what putID wrote; false where no such id stands.
func getID(b []byte) (int, bool) {
	if len(b) < idDigits {
		return 0, false
	}
	n := 0
	for _, c := range b[:idDigits] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n - firstID, n >= firstID
}

// Number is which id a line carries, counted as SetID counts, found without decoding it; -1 for another id.
func Number(line []byte) int {
	const key = `"id":`
	i := bytes.Index(line[:min(len(line), 200)], []byte(key))
	if i < 0 {
		if i = bytes.LastIndex(line, []byte(key)); i < 0 {
			return -1
		}
	}
	if n, ok := getID(line[i+len(key):]); ok {
		return n
	}
	return -1
}

// CallResult is the result of tools/call, as far as the lab looks at it.
type CallResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

// Text is the text of the first block.
func (r CallResult) Text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// Error is an error answer.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// DecodeCall decodes the result of a call. An error answer is returned as *Error.
func DecodeCall(line []byte) (CallResult, error) {
	var a struct {
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return CallResult{}, fmt.Errorf("%w in %s", err, short(line))
	}
	if a.Error != nil {
		return CallResult{}, a.Error
	}
	var r CallResult
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return CallResult{}, fmt.Errorf("%w in %s", err, short(line))
	}
	if r.IsError {
		return CallResult{}, fmt.Errorf("isError: %s", short([]byte(r.Text())))
	}
	return r, nil
}

// Initialize does the handshake of revision 2025-11-25, which all the peers speak.
func (p *Process) Initialize() error {
	line, err := p.Exchange(Request("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"weir-lab","version":"0"}}`), 0)
	if err != nil {
		return err
	}
	if !bytes.Contains(line, []byte(`"protocolVersion":"2025-11-25"`)) {
		return fmt.Errorf("initialize was answered with %s", short(line))
	}
	return p.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
}

// Exchange sends f with the n-th id and returns the line of its answer; notifications before it are passed over.
func (p *Process) Exchange(f Frame, n int) ([]byte, error) {
	f.SetID(n)
	if err := p.Write(f); err != nil {
		return nil, err
	}
	for {
		line, err := p.ReadLine()
		if err != nil {
			return nil, err
		}
		if bytes.Contains(line, f[len(prefix):len(prefix)+idDigits]) {
			return line, nil
		}
		if !bytes.Contains(line, []byte(`"method"`)) {
			return nil, fmt.Errorf("answer to nobody's question: %s", short(line))
		}
	}
}

// ListTools walks tools/list to its end, with ids from n on, and returns the frames of the walk, one a page, and the number
// of tools.
func (p *Process) ListTools(n int) (pages []Frame, tools int, err error) {
	next := Request("tools/list", "{}")
	for {
		line, err := p.Exchange(next, n+len(pages))
		if err != nil {
			return nil, 0, err
		}
		pages = append(pages, next)
		var a struct {
			Result *struct {
				Tools      []json.RawMessage `json:"tools"`
				NextCursor string            `json:"nextCursor"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, 0, fmt.Errorf("%w in %s", err, short(line))
		}
		if a.Result == nil {
			return nil, 0, errors.New("tools/list was answered with " + short(line))
		}
		tools += len(a.Result.Tools)
		if a.Result.NextCursor == "" {
			return pages, tools, nil
		}
		cursor, err := json.Marshal(a.Result.NextCursor)
		if err != nil {
			return nil, 0, err
		}
		next = Request("tools/list", `{"cursor":`+string(cursor)+`}`)
	}
}

func short(b []byte) string {
	if len(b) > 200 {
		return string(bytes.ToValidUTF8(b[:150], nil)) + fmt.Sprintf("… (%d bytes)", len(b))
	}
	return string(b)
}
