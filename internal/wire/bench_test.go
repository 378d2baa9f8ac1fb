// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// callFrame is a tools/call of about n bytes, as a legacy host sends it.
func callFrame(n int) []byte {
	const rest = `{"method":"tools/call","params":{"name":"echo","arguments":{"text":""},"_meta":{"progressToken":17}},"jsonrpc":"2.0","id":123456}`
	text := strings.Repeat("some text in plain ASCII, ", n/26+1)[:max(n-len(rest), 0)]
	return []byte(strings.Replace(rest, `"text":"`, `"text":"`+text, 1))
}

// modernFrame is what a host of 2026-07-28 sends.
const modernFrame = `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"add","arguments":{"a":1,"b":2}}}`

func BenchmarkParse(b *testing.B) {
	frames := []struct {
		name  string
		frame []byte
	}{
		{"call 250 B", callFrame(250)},
		{"call modern", []byte(modernFrame)},
		{"call text id", []byte(`{"jsonrpc":"2.0","id":"0b5e6ab8-77d6-4a8a-9f4e-d9a6e2a47f4e","method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}`)},
		{"cancel", []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":123456,"reason":"user left"}}`)},
		{"call 1 MiB", callFrame(1 << 20)},
		{"call 1 MiB Chinese", []byte(strings.Replace(string(callFrame(200)), `"text":"`, `"text":"`+strings.Repeat("流永不停歇,", 1<<20/16), 1))},
		{"call 1 MiB numbers", []byte(strings.Replace(string(callFrame(200)), `"text":"`, `"n":[`+strings.Repeat("123, ", 1<<20/5)+`0],"text":"`, 1))},
	}
	for _, f := range frames {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(f.frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseMeta(b *testing.B) {
	m, err := Parse([]byte(modernFrame))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseMeta(m.Params.Meta); err != nil {
			b.Fatal(err)
		}
	}
}

// endless repeats a piece of stream without end, at most chunk bytes a read.
type endless struct {
	piece []byte
	at    int
	chunk int
}

func (e *endless) Read(p []byte) (int, error) {
	p = p[:min(len(p), e.chunk)]
	n := 0
	for n < len(p) {
		k := copy(p[n:], e.piece[e.at:])
		n += k
		e.at = (e.at + k) % len(e.piece)
	}
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{250, 15 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			frame := append(callFrame(size), '\n')
			r := NewReader(&endless{piece: frame, chunk: readSize}, 0)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReaderByteByByte reads one frame of 1 MiB in reads of one byte.
func BenchmarkReaderByteByByte(b *testing.B) {
	frame := append(callFrame(1<<20), '\n')
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		r := NewReader(&endless{piece: frame, chunk: 1}, 0)
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReaderTooLong(b *testing.B) {
	frame := append(callFrame(1<<20), '\n')
	r := NewReader(&endless{piece: frame, chunk: readSize}, 1<<10)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err == nil {
			b.Fatal("no error")
		}
	}
}

type countingSource struct{ done atomic.Int64 }

func (s *countingSource) Begin(*Frame) bool  { return true }
func (s *countingSource) Done(*Frame, error) { s.done.Add(1) }

// discardWriter is io.Discard without its other methods.
type discardWriter struct{}

func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkWriter sends 64 frames and waits for them, so that one operation is
// one frame of a session with 64 calls in flight and a host that keeps up.
func BenchmarkWriter(b *testing.B) {
	for _, size := range []int{250, 32 << 10, 1 << 20} {
		for _, flight := range []int{1, 64} {
			b.Run(fmt.Sprintf("%d B %d in flight", size, flight), func(b *testing.B) {
				w := NewWriter(discardWriter{})
				defer w.Close(nil)
				var src countingSource
				frames := make([]Frame, flight)
				data := append(callFrame(size), '\n')
				for i := range frames {
					frames[i] = Frame{Data: data, Source: &src}
				}
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					w.Send(&frames[i])
					if i++; i == flight {
						i = 0
						if err := w.Flush(context.Background()); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

func BenchmarkAppendResult(b *testing.B) {
	id := ID{Raw: "123456"}
	result := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 128) + `"}]}`)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendResult(dst[:0], id, result)
	}
}

// BenchmarkBuffered is what a session pays to learn whether it can go on.
func BenchmarkBuffered(b *testing.B) {
	r := NewReader(io.MultiReader(bytes.NewReader(append(callFrame(250), '\n')), bytes.NewReader(append(callFrame(250), '\n'))), 0)
	r.end = r.read(r.buf)
	for b.Loop() {
		if r.Buffered() == 0 {
			b.Fatal("nothing is buffered")
		}
	}
}
