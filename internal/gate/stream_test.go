// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// readStream has a session without a process see a stream, in chunks of n bytes.
func readStream(stream []byte, n int, requests ...string) (*run, *session) {
	return readBounded(stream, n, maxLine, requests...)
}

func readBounded(stream []byte, n int, most int64, requests ...string) (*run, *session) {
	g := &run{ctx: context.Background()}
	s := &session{g: g, name: "test", tap: newTap(nil), open: make(map[string]*request), proto: "2025-11-25"}
	s.tap.most = most
	for _, id := range requests {
		s.expect(jsontext.Value(id), "tools/call").token = true
	}
	for len(stream) > 0 {
		part := stream[:min(n, len(stream))]
		s.tap.Write(part)
		stream = stream[len(part):]
		s.pump()
	}
	if l := s.tap.rest(); l != nil {
		s.see(l)
	}
	s.uncarry()
	return g, s
}

// kinds are what was noticed, as "check/kind×count".
func (n *notes) kinds() (list []string) {
	for _, key := range sortedKeys(n.byKey) {
		check, kind, _ := strings.Cut(key, "\x00")
		if len(kind) > 12 {
			kind = "text"
		}
		list = append(list, fmt.Sprintf("%s/%s×%d", check, kind, n.byKey[key].count))
	}
	return list
}

// TestStream holds what is noticed of a stream, whatever it is cut into, and
// that the messages in it are found whatever else is wrong.
func TestStream(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, tt := range []struct {
		name, stream, want string
		answered           bool
	}{
		{"good", answer + "\n", "", true},
		{"spaces", " " + answer + "\t \n", "", true},
		{"crlf", answer + "\r\n", "line-ends/crlf×1", true},
		{"banner", "Hello\n" + answer + "\n", "stray-first/×1", true},
		{"banner on the line", "Hello " + answer + "\n", "stray-first/×1", true},
		{"after it", answer + " bye\n", "stray-between/×1", true},
		{"JSON that is a log", `"x"` + "\n" + answer + "\n5\n", "stray-between/×1 stray-first/×1", true},
		{"a log object", `{"level":"info"}` + "\n" + answer + "\n", "messages/object×1", true},
		{"bom", "\xef\xbb\xbf" + answer + "\n", "utf8/bom×1", true},
		{"bytes", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xba\xba\"}}\n", "utf8/bytes×1", true},
		{"two", answer + `{"jsonrpc":"2.0","method":"m"}` + "\n", "one-object/several×1", true},
		{"pretty", "{\n  \"jsonrpc\": \"2.0\",\n\n  \"id\": 1,\n  \"result\": {\n  }\n}\n", "one-object/lines×1", true},
		{"torn by a message", `{"jsonrpc":"2.0","id":1,"res` + "\n" + `{"jsonrpc":"2.0","method":"m"}` + "\n" + `ult":{}}` + "\n", "one-object/torn×1 order/early×1 stray-call/×1", false},
		{"torn", `{"jsonrpc":"2.0","id":1,"res`, "one-object/torn×1 one-object/unended×1", false},
		{"unended", answer, "one-object/unended×1", true},
		{"blank", "\n" + answer + "\n \n", "one-object/blank×2", true},
		{"batch", "[" + answer + "]\n", "messages/batch×1", true},
		{"no version", `{"id":1,"result":{}}` + "\n", "messages/text×1", true},
		{"both", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}` + "\n", "messages/text×1", true},
		{"lone surrogate", `{"jsonrpc":"2.0","id":1,"result":{"x":"\ud800"}}` + "\n", "messages/text×1", true},
		{"text id", `{"jsonrpc":"2.0","id":"1","result":{}}` + "\n", "ids/changed×1", true},
		{"float id", `{"jsonrpc":"2.0","id":1.0,"result":{}}` + "\n", "ids/changed×1", true},
		{"null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}` + "\n", "ids/unasked×1", false},
		{"unknown id", `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n", "ids/unknown×1", false},
		{"twice", answer + "\n" + answer + "\n", "ids/twice×1", true},
		{"progress", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n" + answer + "\n", "order/early×1", true},
		{"late progress", answer + "\n" + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n", "order/after×1", true},
		{"all at once", "Hi " + "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"x\":\"\xba\"}}" + answer + "\r\n",
			"ids/changed×1 ids/twice×1 line-ends/crlf×1 one-object/several×1 stray-first/×1 utf8/bytes×1", true},
		{"U+2028 inside", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\u2028\"}}\n", "", true},
	} {
		for _, n := range []int{1, 3, 1 << 20} {
			g, s := readStream([]byte(tt.stream), n, "1")
			if got := strings.Join(g.notes.kinds(), " "); got != tt.want {
				t.Errorf("%s, in chunks of %d: noticed %q, want %q", tt.name, n, got, tt.want)
			}
			if answered := s.order[0].answer != nil; answered != tt.answered {
				t.Errorf("%s, in chunks of %d: answered %t", tt.name, n, answered)
			}
		}
	}
}

// TestGiant holds that of a line that is too long only the ends are kept, and
// that it answers its request all the same.
func TestGiant(t *testing.T) {
	for _, stream := range []string{
		`{"jsonrpc":"2.0","id":12,"result":{"x":"` + strings.Repeat("x", 100_000) + "\"}}\n",
		`{"jsonrpc":"2.0","id": 12 ,"result":{"x":"` + strings.Repeat("x", 100_000) + "\"}}\n",
		`{"result":{"x":"` + strings.Repeat("x", 100_000) + "\"},\"jsonrpc\":\"2.0\",\"id\":12}\n",
	} {
		g, s := readBounded([]byte(stream), 1000, 50_000, "1", "12")
		r := s.order[1]
		if s.order[0].answer != nil {
			t.Error("a request whose id is the beginning of another was answered")
		}
		if r.answer == nil || r.answer.size != int64(len(stream)-1) || len(g.notes.kinds()) > 0 {
			t.Errorf("answer %v, noticed %q", r.answer, g.notes.kinds())
		}
		if s.tap.held != 0 {
			t.Errorf("%d bytes are held", s.tap.held)
		}
	}
}

// TestLines holds that the tap's lines are those of the stream, byte for byte,
// with the right offsets.
func TestLines(t *testing.T) {
	stream := []byte("a\n\nbc\r\n\xff\xfe\nlast")
	for n := 1; n <= len(stream); n++ {
		var raw bytes.Buffer
		tp := newTap(&raw)
		for at := 0; at < len(stream); at += n {
			tp.Write(stream[at:min(len(stream), at+n)])
		}
		var joined []byte
		for _, l := range append(tp.take(), tp.rest()) {
			if l.at != int64(len(joined)) || l.size != int64(len(l.data)) || l.last.Before(l.first) {
				t.Errorf("chunks of %d: %+v", n, l)
			}
			joined = append(joined, l.data...)
			if l.ended {
				joined = append(joined, '\n')
			}
		}
		if !bytes.Equal(joined, stream) || !bytes.Equal(raw.Bytes(), stream) || tp.received() != int64(len(stream)) {
			t.Errorf("chunks of %d: %q, raw %q", n, joined, raw.Bytes())
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"), 3)
	f.Add([]byte("Hi {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"x\":\"\xba\"}}{}\r\n[{\n\n}]"), 1)
	f.Add([]byte("{\n\"jsonrpc\":\"2.0\"\n,\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n\xef\xbb\xbf{}\n"), 7)
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		if n < 1 {
			n = 1
		}
		one, s1 := readStream(stream, 1<<20, "1")
		two, s2 := readStream(stream, n, "1")
		a, b := fmt.Sprint(one.notes.kinds()), fmt.Sprint(two.notes.kinds())
		if a != b || (s1.order[0].answer == nil) != (s2.order[0].answer == nil) {
			t.Errorf("at once: %s; in chunks of %d: %s", a, n, b)
		}
		for _, e := range one.notes.byKey {
			if strings.ContainsAny(e.first, "\n\r\x1b") {
				t.Errorf("a finding holds control characters: %q", e.first)
			}
		}
	})
}

// TestMeasure holds how a result is read: its sizes, and whether it says that
// something is left out.
func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		answer                 string
		field, blocks          int64
		failed, marked, refuse bool
	}{
		{`{"result":{"content":[{"type":"text","text":"汉字"}]}}`, 6, 1, false, false, false},
		{`{"result":{"content":[{"type":"text","text":"a"},{"type":"text","text":"bc"}],"structuredContent":{"items":[],"truncated":true}}}`, 4, 2, false, true, false},
		{`{"result":{"content":[],"structuredContent":{"truncated":false}}}`, 0, 0, false, false, false},
		{`{"result":{"content":[],"structuredContent":{"nextCursor":"x"}}}`, 1, 0, false, true, false},
		{`{"result":{"content":[{"type":"text","text":"[1,000 bytes left out]"}]}}`, 22, 1, false, true, false},
		{`{"result":{"content":[{"type":"text","text":"还有更多"}]}}`, 12, 1, false, true, false},
		{`{"result":{"content":[],"structuredContent":{"is_truncated":true}}}`, 0, 0, false, true, false},
		{`{"result":{"content":[],"structuredContent":{"is_truncated":false,"omitted":0}}}`, 0, 0, false, false, false},
		{`{"result":{"content":[],"_meta":{"weir/truncated":{"textBytes":1}}}}`, 0, 0, false, true, false},
		{`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 3000) + `[… 5 of 9 bytes left out here]` + strings.Repeat("x", 3000) + `"}]}}`, 6032, 1, false, true, false},
		{`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 3000) + `no limit[ … ]` + strings.Repeat("x", 3000) + `"}]}}`, 6015, 1, false, false, false},
		{`{"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`, 4, 1, true, true, false},
		{`{"error":{"code":-32603,"message":"too much"}}`, 0, 0, true, true, false},
	} {
		m, ok := newMessage(jsontext.Value(tt.answer), &line{size: 7})
		if !ok {
			t.Fatal(tt.answer)
		}
		got := measure(m)
		if got.frame != 7 || got.field != tt.field || got.blocks != tt.blocks || got.failed != tt.failed || got.marked != tt.marked {
			t.Errorf("%s: %+v", tt.answer, got)
		}
	}
}
