// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func tools() []object {
	number := object{"type": "integer"}
	schema := func(name string, of object) object {
		return object{"type": "object", "properties": object{name: of}, "additionalProperties": false}
	}
	tool := func(name, text, member string, of object) object {
		return object{"name": name, "description": text, "inputSchema": schema(member, of)}
	}
	list := []object{
		tool("echo", "Returns the text.", "text", object{"type": "string", "description": "The text."}),
		tool("slow", "Waits.", "ms", number), tool("spin", "Computes.", "ms", number), tool("child", "Runs a child.", "ms", number),
		tool("big", "Returns a text.", "bytes", number), tool("blocks", "Returns blocks.", "n", number),
		tool("noisy", "Writes to stderr.", "bytes", number), tool("steps", "Reports progress.", "n", number),
	}
	for _, t := range list {
		for _, p := range t["inputSchema"].(object)["properties"].(object) {
			p.(object)["description"] = "How much."
		}
	}
	if faults["bad-schema"] {
		list[0]["inputSchema"] = object{"type": "object", "anyOf": []object{{"required": []string{"text"}}}, "properties": object{}}
	}
	if faults["poor-schema"] {
		delete(list[0], "description")
	}
	return list
}

// call runs a tool beside the others.
func (s *server) call(id string, p params, modern bool, complete func(object) object) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.calls[id] = cancel
	s.mu.Unlock()
	s.working.Add(1)
	run := func() {
		defer s.working.Done()
		res, ok := s.run(ctx, id, p)
		gone := ctx.Err() != nil
		s.mu.Lock()
		delete(s.calls, id)
		races := gone && faults["races"] && !s.raced
		s.raced = s.raced || races
		s.mu.Unlock()
		cancel()
		switch {
		case races:
			s.answer(id, complete(res))
		case gone && faults["late-error"]:
			s.fail(id, -32603, "cancelled")
		case gone && !faults["late-result"]:
		case !ok:
			s.fail(id, -32602, "no such tool: "+p.Name)
		default:
			s.answer(id, complete(res))
			if faults["late-progress"] && p.Meta.Token != nil && p.Name != "big" {
				s.step(p.Meta.Token, 100)
			}
		}
	}
	if faults["serial"] {
		run()
		return
	}
	go run()
}

func (s *server) step(token json.RawMessage, n int) {
	if token != nil {
		b, _ := json.Marshal(object{"progressToken": token, "progress": n})
		s.raw([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + string(b) + "}\n"))
	}
}

func (s *server) run(ctx context.Context, id string, p params) (res object, ok bool) {
	text := func(t string) (object, bool) {
		return object{"content": []object{{"type": "text", "text": t}}}, true
	}
	a := p.Arguments
	if faults["chatty-call"] {
		s.raw([]byte("calling " + p.Name + "\n"))
	}
	if faults["helper"] { // kept, and no fault: it ends with the server
		s.helper.Do(func() {
			cmd := exec.Command("cat")
			if _, err := cmd.StdinPipe(); err == nil {
				cmd.Start()
			}
		})
	}
	switch p.Name {
	case "echo":
		switch {
		case faults["cuts-silently"]:
			a.Text = a.Text[:min(len(a.Text), 64<<10)]
		case faults["condenses"]:
			a.Text = fmt.Sprintf("%d characters ", len(a.Text)) + strings.Repeat("#", len(a.Text)*2/7)
		case faults["condenses-more"]:
			a.Text = fmt.Sprintf("%d characters ", len(a.Text)) + strings.Repeat("#", len(a.Text)/50)
		default:
			return shorter(a.Text)
		}
		return text(a.Text)
	case "slow", "spin", "child":
		until := time.NewTimer(time.Duration(a.Ms) * time.Millisecond)
		defer until.Stop()
		done := ctx.Done()
		if faults["late-result"] {
			done = nil
		}
		var cmd *exec.Cmd
		if p.Name == "child" {
			if faults["daemon"] || faults["groupmate"] {
				left := exec.Command("sleep", "60")
				if faults["daemon"] {
					left = exec.Command("setsid", "sleep", "60")
					left.Env = []string{"PATH=" + os.Getenv("PATH")}
				}
				left.Start()
			}
			cmd = exec.Command("sleep", strconv.Itoa(1+a.Ms/1000))
			if cmd.Start() == nil && !faults["orphan"] {
				defer cmd.Wait()
				defer cmd.Process.Kill()
			}
		}
		if p.Name == "spin" {
			end := time.Now().Add(time.Duration(a.Ms) * time.Millisecond)
			spin(func() bool { return time.Now().After(end) || ctx.Err() != nil && !faults["spins-on"] })
		}
		select {
		case <-until.C:
		case <-done:
		}
		if ctx.Err() != nil {
			if p.Name != "child" || !faults["quiet-child"] {
				s.say([]byte("slow stopped\n"))
			}
			if faults["late-step"] {
				time.Sleep(200 * time.Millisecond)
				s.step(p.Meta.Token, 1)
			}
		}
		return text("done")
	case "big":
		n := a.Bytes
		switch {
		case faults["cuts-silently"]:
			n = min(n, 64<<10)
		case faults["unbounded"], faults["tears-large"]:
		case n > limit-200 && faults["dies-large"]:
			os.Exit(1)
		case n > limit-200 && faults["large-error"]:
			return object{"content": []object{{"type": "text", "text": "too large: " + strings.Repeat("x", n)}}, "isError": true}, true
		case n > limit-200:
			return object{"content": []object{{"type": "text", "text": fmt.Sprintf("the result of %d bytes is over the limit", n)}}, "isError": true}, true
		}
		if faults["varies"] { // as with a time or an id in the text
			n += rand.IntN(50)
		}
		return text(strings.Repeat("x", n))
	case "blocks":
		if faults["cuts-blocks"] {
			a.N = min(a.N, 1000)
		}
		list := []object{}
		for i := range a.N {
			list = append(list, object{"type": "text", "text": strconv.Itoa(i)})
		}
		return object{"content": list}, true
	case "noisy":
		line := []byte(strings.Repeat("n", 1023) + "\n")
		for n := 0; n < a.Bytes; n += len(line) {
			if faults["log-blocks"] {
				os.Stderr.Write(line)
			} else {
				select {
				case s.log <- line:
				case <-time.After(100 * time.Millisecond): // nobody reads it
					n = a.Bytes
				}
			}
		}
		if faults["flood-lost"] && a.Bytes > 1<<20 {
			os.Exit(1)
		}
		return text("written")
	case "steps":
		for i := range a.N {
			if faults["shrinking-progress"] {
				i = a.N - i
			}
			s.step(p.Meta.Token, i+1)
		}
		return text("reported")
	}
	return nil, false
}

// shorter is a text as a result, and a part of it when it is long: then each
// says in another way that there is more.
func shorter(all string) (object, bool) {
	res := object{"content": []object{{"type": "text", "text": all}}}
	const most = 20_000
	if len(all) <= most {
		return res, true
	}
	part := []object{{"type": "text", "text": all[:most]}}
	switch {
	case faults["in-blocks"]:
		part = nil
		for ; len(all) > 0; all = all[min(len(all), most):] {
			part = append(part, object{"type": "text", "text": all[:min(len(all), most)]})
		}
	case faults["keeps-ends"]:
		part[0]["text"] = all[:most/2] + fmt.Sprintf("\n[... %d characters truncated ...]\n", len(all)-most) + all[len(all)-most/2:]
	case faults["says-truncated"]:
		res["structuredContent"] = object{"is_truncated": true, "total_chars": len(all)}
	case faults["links-rest"]:
		part = append(part, object{"type": "resource_link", "uri": "file:///tmp/x", "name": "all", "size": len(all)})
	case faults["says-in-meta"]:
		res["_meta"] = object{"example.com/leftOut": object{"bytes": len(all) - most}}
	case faults["says-oddly"]:
		res["structuredContent"] = object{"umfang": "nur der Anfang"}
	default:
		return res, true
	}
	res["content"] = part
	return res, true
}
