// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fakeResults are what the tools of the fake server return.
var fakeResults = map[string]string{
	"hello":  `{"content":[{"type":"text","text":"Hello,\nworld"}]}`,
	"fail":   `{"content":[{"type":"text","text":"no such file"}],"isError":true}`,
	"mixed":  `{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"resource","resource":{"uri":"m:1","text":"inside"}}]}`,
	"struct": `{"content":[],"structuredContent":{"sum":9007199254740993}}`,
	"single": `{"content":[{"type":"text","text":"Returned 1 line. There are no more.\none"}],"structuredContent":{"items":["one"],"truncated":false}}`,
	"none":   `{"content":[{"type":"text","text":"Returned 0 lines. There are no more."}],"structuredContent":{"items":[],"truncated":false}}`,
	"prose":  `{"content":[{"type":"text","text":"Returned 5 books to the library.\nDone."}]}`,
	"escape": "{\"content\":[{\"type\":\"text\",\"text\":\"a\\u001b[31m\u009b2J\"}]}",
	"loop":   `{"content":[{"type":"text","text":"page"}],"structuredContent":{"nextCursor":"same"}}`,
	"tail":   `{"content":[{"type":"text","text":"the end for now"}],"structuredContent":{"items":[],"truncated":false,"nextCursor":"later"}}`,
	"stale":  `{"content":[{"type":"text","text":"cursor: altered, or from a server with another key; start again without cursor"}],"isError":true}`,
	"Greet":  `{"content":[{"type":"text","text":"Tool Greet not found"}],"isError":true}`,
	"modern": `{"resultType":"complete","content":[{"type":"text","text":"per request"}]}`,
}

var fakePages = map[string]string{
	"":   `{"content":[{"type":"text","text":"one two"}],"structuredContent":{"items":["one","two"],"truncated":true,"nextCursor":"p2","totalEstimate":3}}`,
	"p2": `{"content":[{"type":"text","text":"three"}],"structuredContent":{"items":["three"],"truncated":false,"totalEstimate":3}}`,
}

// fakeWeir are pages as a Weir server writes them: the summary first. What q
// ends with decides how the last one ends.
var fakeWeir = map[string]string{
	"":   `{"content":[{"type":"text","text":"Returned 2 of 1,004 lines. Use cursor \"p2\" to continue, or add a narrower path or query.\none\ntwo"}],"structuredContent":{"items":["one","two"],"truncated":true,"nextCursor":"p2","totalEstimate":1004}}`,
	"p2": `{"content":[{"type":"text","text":"Returned 1 of 1,004 lines. Left out because too large: 1 (40,000 bytes). Use cursor \"p3\" to continue, or add a narrower path or query.\nReturned home."}],"structuredContent":{"items":["Returned home."],"truncated":true,"omitted":1,"nextCursor":"p3","totalEstimate":1004}}`,
	"p3": `{"content":[{"type":"text","text":"Returned 1 of 1,004 lines. This is the current end. Use cursor \"p4\" to read what comes later.\nfour"}],"structuredContent":{"items":["four"],"truncated":false,"nextCursor":"p4","totalEstimate":1004}}`,
}

// fakeHeaded are pages of a Weir server whose author says something before the
// summary, the second time something else.
var fakeHeaded = map[string]string{
	"":   `{"content":[{"type":"text","text":"two files differ.\nReturned 1 file. Use cursor \"h2\" to continue, or narrow the arguments.\na.go"}],"structuredContent":{"items":["a.go"],"truncated":true,"nextCursor":"h2"}}`,
	"h2": `{"content":[{"type":"text","text":"two files differ.\nReturned 0 files. Use cursor \"h3\" to continue, or narrow the arguments."}],"structuredContent":{"items":[],"truncated":true,"nextCursor":"h3"}}`,
	"h3": `{"content":[{"type":"text","text":"three files differ.\nReturned 2 files. There are no more.\nReturned 3 of 3.\nc.go"}],"structuredContent":{"items":["Returned 3 of 3.","c.go"],"truncated":false}}`,
}

// fakeServer is a tool server, written without any of Weir's code, for the
// scripts. Its flags make it a bad one.
func fakeServer() {
	banner := flag.String("banner", "", "print `TEXT` on stdout first")
	end := flag.Int("end", -1, "end with `STATUS` at the first tools/call")
	status := flag.Int("status", 0, "end with `STATUS` in the end")
	modern := flag.Bool("modern", false, "answer initialize with an error")
	stubborn := flag.Bool("stubborn", false, "ignore the end of stdin, and SIGTERM")
	orphan := flag.Bool("orphan", false, "leave a process behind")
	deaf := flag.Bool("deaf", false, "read nothing after initialize")
	mute := flag.Bool("mute", false, "answer nothing")
	babble := flag.String("babble", "", "print `TEXT` on stdout for ever")
	early := flag.Bool("early", false, "end with -status once initialize is answered")
	many := flag.Bool("many", false, "list tools with long names, titles, and one alone")
	list := flag.String("list", "", "list the tools of `FILE`, which has one page on each line")
	note := flag.String("note", "", "write to `FILE` what happens")
	flag.Parse()
	say := func(format string, args ...any) {
		if *note == "" {
			return
		}
		f, err := os.OpenFile(*note, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			os.Exit(9)
		}
		fmt.Fprintf(f, format+"\n", args...)
		f.Close()
	}
	say("pid %d", os.Getpid())
	if *stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	if *orphan {
		cmd := exec.Command(os.Args[0], "-stubborn", "-note", *note)
		if err := cmd.Start(); err != nil {
			os.Exit(7)
		}
	}
	fmt.Fprintln(os.Stderr, "fake server is up")
	if *banner != "" {
		fmt.Println(*banner)
	}
	for *babble != "" {
		if _, err := fmt.Println(*babble); err != nil {
			say("nobody listens")
			os.Exit(1)
		}
	}
	slow := map[string]bool{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				RequestID jsontext.Value `json:"requestId"`
				Reason    string         `json:"reason"`
				Name      string         `json:"name"`
				Cursor    string         `json:"cursor"`
				Version   string         `json:"protocolVersion"`
				Arguments struct {
					Cursor string `json:"cursor"`
					Q      string `json:"q"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			os.Exit(8)
		}
		reply := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		if *mute {
			continue
		}
		switch m.Method {
		case "initialize":
			if *modern {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":%q}}}`+"\n", m.ID, m.Params.Version)
				break
			}
			reply(`{"protocolVersion":` + strconv.Quote(m.Params.Version) + `,"capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1.2"}}`)
			switch {
			case *early:
				os.Exit(*status)
			case *deaf:
				time.Sleep(time.Hour)
			}
		case "ping":
			reply("{}")
		case "server/discover":
			reply(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2"}},"ttlMs":0,"cacheScope":"private"}`)
		case "tools/list":
			if *list != "" {
				reply(fakeList(*list, m.Params.Cursor))
				break
			}
			if *many {
				reply(`{"tools":[{"name":"` + strings.Repeat("long", 16) + `","description":"Has the longest name.","inputSchema":{}},{"name":"hello","title":"Greeter","description":"Greets.","inputSchema":{}},{"name":"say","description":"Say it: loud.","annotations":{"title":"Say it"},"inputSchema":{}}]}`)
				break
			}
			if m.Params.Cursor == "" {
				reply(`{"tools":[{"name":"hello","description":"Greets.\nPolitely.","inputSchema":{"type":"object"}}],"nextCursor":"more"}`)
				break
			}
			reply(`{"tools":[{"name":"pages","title":"Pages","inputSchema":{"type":"object","properties":{"q":{"type":"string"},"cursor":{"type":"string"}},"required":["q"]}}]}`)
		case "notifications/cancelled":
			if slow[string(m.Params.RequestID)] {
				say("cancelled: %s", m.Params.Reason)
			}
		case "tools/call":
			switch name := m.Params.Name; {
			case *end >= 0:
				os.Exit(*end)
			case name == "slow":
				slow[string(m.ID)] = true
				say("slow started")
			case name == "pages" && m.Params.Arguments.Q == "x":
				reply(fakePages[m.Params.Arguments.Cursor])
			case name == "headed":
				reply(fakeHeaded[m.Params.Arguments.Cursor])
			case name == "weirpages":
				reply(fakeWeir[m.Params.Arguments.Cursor])
			case name == "half":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"res`, m.ID)
			case name == "big":
				reply(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 100_000) + `"}]}`)
			case fakeResults[name] != "":
				reply(fakeResults[name])
			default:
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`+"\n", m.ID)
			}
		}
	}
	if *stubborn {
		say("stdin has ended")
		time.Sleep(time.Hour)
	}
	os.Exit(*status)
}

// fakeList is the page of a file with one page on each line; a cursor is the
// number of its line.
func fakeList(file, cursor string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		os.Exit(6)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	n, _ := strconv.Atoi(cursor) // "" is the first
	page := lines[n]
	if n++; n < len(lines) {
		page = strings.TrimSuffix(page, "}") + `,"nextCursor":"` + strconv.Itoa(n) + `"}`
	}
	return page
}
