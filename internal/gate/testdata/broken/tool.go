// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	switch p.Name {
	case "echo":
		if faults["cuts-silently"] {
			a.Text = a.Text[:min(len(a.Text), 64<<10)]
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
