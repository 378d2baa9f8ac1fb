// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

func (s *server) answer(id string, res object) { s.send(id, object{"result": res}) }

func (s *server) fail(id string, code int, text string) {
	e := object{"code": code, "message": text}
	if faults["no-code"] {
		delete(e, "code")
	}
	s.send(id, object{"error": e})
}

// send encodes a response, with the faults of the frame.
func (s *server) send(id string, o object) {
	b := encode(o)
	if res, ok := o["result"].(object); ok && faults["cuts-frame"] || ok && faults["cuts-frame-oddly"] {
		b = encode(object{"result": s.cut(res, len(id)+len(b)+len(`"jsonrpc":"2.0","id":,`)-limit)})
	}
	head := `{"jsonrpc":"2.0","id":` + id + `,`
	if faults["no-version"] {
		head = `{"id":` + id + `,`
	}
	if faults["twice-named"] {
		head = `{"jsonrpc":"2.0","jsonrpc":"2.0","id":` + id + `,`
	}
	frame := append([]byte(head), b[1:]...)
	if faults["gbk"] {
		frame = append(frame[:len(frame)-1], ",\"name\":\"\xba\xba\xd7\xd6\"}"...)
	}
	if len(frame) > limit && !faults["unbounded"] && !faults["tears-large"] && !faults["large-error"] && o["result"] != nil {
		if faults["dies-large"] {
			os.Exit(1)
		}
		s.fail(id, -32603, fmt.Sprintf("the response of %d bytes is over the limit of %d", len(frame), limit))
		return
	}
	switch {
	case faults["two-on-a-line"]:
		frame = append(frame, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`...)
	case faults["pretty"]:
		var out bytes.Buffer
		json.Indent(&out, frame, "", "  ")
		frame = out.Bytes()
	case faults["torn"] && len(frame) > 200:
		frame = append(append(append([]byte{}, frame[:100]...), '\n'), frame[100:]...)
		frame = append(frame[:101], append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n"), frame[101:]...)...)
	case faults["tears-large"] && len(frame) > 1<<20:
		frame = frame[:1<<20]
	}
	if faults["bom-out"] {
		frame = append([]byte("\xef\xbb\xbf"), frame...)
	}
	if faults["crlf"] {
		frame = append(frame, '\r')
	}
	frame = append(frame, '\n')
	if faults["blank-out"] {
		frame = append(frame, '\n')
	}
	if faults["twice"] {
		frame = append(frame, frame...)
	}
	if faults["serial-write"] {
		os.Stdout.Write(frame) // by the reader itself, or holding up every call
		return
	}
	s.put(&outgoing{data: frame, id: id})
}

// cut makes the text of a result shorter when its frame would be over the
// limit by so many bytes.
func (s *server) cut(res object, over int) object {
	if list, ok := res["content"].([]object); ok && over > 0 {
		text, _ := list[0]["text"].(string)
		text = text[:max(0, len(text)-over-100)]
		if faults["cuts-frame-oddly"] {
			text += " usw."
		}
		list[0]["text"] = text
	}
	return res
}

func encode(o object) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(o)
	return bytes.TrimSpace(b.Bytes())
}

func (s *server) raw(b []byte) { s.put(&outgoing{data: b}) }

func (s *server) put(o *outgoing) {
	s.written.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, o)
	s.cond.Signal()
}

// write writes the frames, in order; with one fault it heeds a cancel in the
// middle of one.
func (s *server) write() {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 {
			s.cond.Wait()
		}
		o := s.queue[0]
		s.mu.Unlock()
		var err error
		for data := o.data; len(data) > 0 && err == nil; {
			var n int
			n, err = os.Stdout.Write(data[:min(len(data), 16<<10)])
			data = data[n:]
			s.mu.Lock()
			stop := o.stop && faults["stops-frame"]
			s.mu.Unlock()
			if stop {
				break
			}
		}
		s.mu.Lock()
		s.queue = s.queue[1:]
		s.mu.Unlock()
		s.written.Done()
		if err != nil && !faults["stays"] {
			os.Exit(1)
		}
	}
}
