// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bare is the floor of the comparison: a loop that answers the lab's own frames without any JSON.
//
// It reads lines, finds its way by fixed byte offsets, and copies fixed answers. It knows no other host than the lab's
// driver, checks nothing, and cannot cancel. What it costs is what two pipes and a copy cost.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
)

const (
	idStart = len(`{"jsonrpc":"2.0","id":`)
	idEnd   = idStart + 9 // the driver's ids have nine digits
	answer  = `{"jsonrpc":"2.0","id":000000000,"result":`
)

var (
	initialize = []byte(`,"method":"initialize"`)
	list       = []byte(`,"method":"tools/list"`)
	echo       = []byte(`,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`)
	add        = []byte(`,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22}}}`)
	big        = []byte(`,"method":"tools/call","params":{"name":"big","arguments":{"bytes":`)
)

func main() {
	tools := flag.Int("tools", 0, "answer tools/list with this many trivial tools more")
	flag.Parse()
	if err := serve(os.Stdin, os.Stdout, toolList(*tools)); err != nil {
		os.Stderr.WriteString("bare: " + err.Error() + "\n")
		os.Exit(1)
	}
}

// serve answers line by line; the answers to the lines that one read brought leave together.
func serve(r io.Reader, w io.Writer, tools []byte) error {
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	bigs := map[string][]byte{}
	for {
		line, err := readLine(in)
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if len(line) > idEnd && line[idStart-1] == ':' {
			id, rest := line[idStart:idEnd], line[idEnd:len(line)-1]
			switch {
			case bytes.HasPrefix(rest, echo):
				begin(out, id)
				out.WriteString(`{"content":[{"type":"text","text":"`)
				out.Write(rest[len(echo) : len(rest)-len(`"}}}`)])
				out.WriteString("\"}]}}\n")
			case bytes.HasPrefix(rest, add):
				begin(out, id)
				out.WriteString(`{"content":[{"type":"text","text":"{\"sum\":42}"}],"structuredContent":{"sum":42}}}` + "\n")
			case bytes.HasPrefix(rest, big):
				frame := bigFrame(bigs, rest[len(big):len(rest)-len(`}}}`)])
				copy(frame[idStart:], id)
				out.Write(frame)
			case bytes.HasPrefix(rest, list):
				begin(out, id)
				out.Write(tools)
			case bytes.HasPrefix(rest, initialize):
				begin(out, id)
				out.WriteString(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0"}}}` + "\n")
			}
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// readLine returns the next line with its LF, valid until the next call.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := bytes.Clone(line)
	for err == bufio.ErrBufferFull {
		line, err = in.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// begin writes an answer up to its result.
func begin(out *bufio.Writer, id []byte) {
	out.WriteString(answer[:idStart])
	out.Write(id)
	out.WriteString(answer[idEnd:])
}

// bigFrame makes the answer for a size once.
func bigFrame(made map[string][]byte, size []byte) []byte {
	if f, ok := made[string(size)]; ok {
		return f
	}
	n, err := strconv.Atoi(string(size))
	if err != nil {
		n = 0
	}
	const head, tail = answer + `{"content":[{"type":"text","text":"`, "\"}]}}\n"
	f := make([]byte, 0, len(head)+n+len(tail))
	f = append(f, head...)
	f = f[:len(head)+n]
	for i := len(head); i < len(f); i++ {
		f[i] = 'x'
	}
	f = append(f, tail...)
	made[string(size)] = f
	return f
}

// toolList is what follows "result": in the answer to tools/list, end of the frame included.
func toolList(n int) []byte {
	const object = `"inputSchema":{"type":"object","properties":{`
	b := []byte(`{"tools":[` +
		`{"name":"echo","description":"Returns the text.",` + object + `"text":{"type":"string"}},"required":["text"],"additionalProperties":false}},` +
		`{"name":"add","description":"Adds two integers.",` + object + `"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"],"additionalProperties":false}},` +
		`{"name":"big","description":"Returns a text of that many bytes.",` + object + `"bytes":{"type":"integer"}},"required":["bytes"],"additionalProperties":false}}`)
	for i := range n {
		b = fmt.Appendf(b, `,{"name":"tool_%04d","description":"Returns its name.",`+object+`"name":{"type":"string","description":"a name"},`+
			`"count":{"type":"integer","description":"a number","minimum":0},`+
			`"tags":{"type":"array","items":{"type":"string"},"description":"some words"}},"required":["name"],"additionalProperties":false}}`, i+1)
	}
	return append(b, "]}}\n"...)
}
