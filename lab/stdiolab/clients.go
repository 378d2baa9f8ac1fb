// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// toolCall is one call that a foreign client is to make.
type toolCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// answer is what it got: the SHA-256 of the text in UTF-8, and its length; or what went wrong.
type answer struct {
	Hash  string `json:"hash"`
	Bytes int    `json:"bytes"`
	Error string `json:"error"`
}

func textAnswer(text string) answer {
	sum := sha256.Sum256([]byte(text))
	return answer{Hash: hex.EncodeToString(sum[:]), Bytes: len(text)}
}

// foreignClient is a client library of others. run starts the server command, makes the calls one after the other, and returns
// their answers; an error where the session did not begin or broke. A *missingError means that the client is not here. What the
// server says on stderr goes to said.
type foreignClient struct {
	name string
	run  func(ctx context.Context, l *lab, server []string, calls []toolCall, said io.Writer) ([]answer, error)
	// version is that of the library and " ", or "".
	version func(l *lab) string
}

// missingError says that a client cannot be had here.
type missingError struct{ why string }

func (e *missingError) Error() string { return e.why }

var clients = []foreignClient{
	{"go-sdk", runGoSDK, func(*lab) string { return moduleVersion("github.com/modelcontextprotocol/go-sdk") + " " }},
	{"mcp-go", runMCPGo, func(*lab) string { return moduleVersion("github.com/mark3labs/mcp-go") + " " }},
	{"typescript", runTypeScript, func(l *lab) string {
		v, _ := peers.NodePackage(nodeHosts(l), "@modelcontextprotocol/client")
		return v + " "
	}},
	{"python", runPython, func(*lab) string { return "" }},
}

// clientPatience bounds the handshake and each call with a foreign client.
const clientPatience = 10 * time.Second

func runGoSDK(ctx context.Context, _ *lab, server []string, calls []toolCall, said io.Writer) ([]answer, error) {
	begin, cancel := context.WithTimeout(ctx, clientPatience)
	defer cancel()
	cmd := exec.Command(server[0], server[1:]...)
	cmd.Stderr = said
	client := gosdk.NewClient(&gosdk.Implementation{Name: "weir-lab", Version: "0"}, nil)
	s, err := client.Connect(begin, &gosdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return each(ctx, calls, func(ctx context.Context, c toolCall) (string, error) {
		res, err := s.CallTool(ctx, &gosdk.CallToolParams{Name: c.Tool, Arguments: c.Args})
		if err != nil {
			return "", err
		}
		text := ""
		for _, b := range res.Content {
			if t, ok := b.(*gosdk.TextContent); ok {
				text += t.Text
			}
		}
		return text, nil
	}), nil
}

func runMCPGo(ctx context.Context, _ *lab, server []string, calls []toolCall, said io.Writer) ([]answer, error) {
	begin, cancel := context.WithTimeout(ctx, clientPatience)
	defer cancel()
	t := transport.NewStdioWithOptions(server[0], nil, server[1:],
		transport.WithCommandStderrWriter(said),
		transport.WithCommandLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	c := mcpgo.NewClient(t)
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	defer c.Close()
	var hello mcpgotypes.InitializeRequest
	hello.Params.ProtocolVersion = "2025-11-25"
	hello.Params.ClientInfo = mcpgotypes.Implementation{Name: "weir-lab", Version: "0"}
	if _, err := c.Initialize(begin, hello); err != nil {
		return nil, err
	}
	return each(ctx, calls, func(ctx context.Context, call toolCall) (string, error) {
		var req mcpgotypes.CallToolRequest
		req.Params.Name, req.Params.Arguments = call.Tool, call.Args
		res, err := c.CallTool(ctx, req)
		if err != nil {
			return "", err
		}
		text := ""
		for _, b := range res.Content {
			if t, ok := b.(mcpgotypes.TextContent); ok {
				text += t.Text
			}
		}
		return text, nil
	}), nil
}

// each makes the calls until one fails.
func each(ctx context.Context, calls []toolCall, call func(context.Context, toolCall) (string, error)) []answer {
	var answers []answer
	for _, c := range calls {
		one, cancel := context.WithTimeout(ctx, clientPatience)
		text, err := call(one, c)
		cancel()
		if err != nil {
			return append(answers, answer{Error: err.Error()})
		}
		answers = append(answers, textAnswer(text))
	}
	return answers
}

func nodeHosts(l *lab) string {
	if l.workshop == nil {
		return ""
	}
	return filepath.Join(l.workshop.Lab, "hosts", "node")
}

func runTypeScript(ctx context.Context, l *lab, server []string, calls []toolCall, said io.Writer) ([]answer, error) {
	if l.workshop == nil {
		return nil, &missingError{l.noShop.Error()}
	}
	dir := nodeHosts(l)
	node, _, err := l.workshop.Node(ctx, 22, 19)
	if err == nil {
		_, err = peers.NodePackage(dir, "@modelcontextprotocol/client")
	}
	if err != nil {
		return nil, &missingError{err.Error()}
	}
	return runScript(ctx, dir, []string{node, "stdio.mjs"}, server, calls, said)
}

func runPython(ctx context.Context, l *lab, server []string, calls []toolCall, said io.Writer) ([]answer, error) {
	if l.workshop == nil {
		return nil, &missingError{l.noShop.Error()}
	}
	exe, err := exec.LookPath("python3")
	if err != nil {
		return nil, &missingError{"python3 is absent"}
	}
	if err := exec.CommandContext(ctx, exe, "-c", "import mcp").Run(); err != nil {
		return nil, &missingError{"the Python package mcp is not installed: python3 -m pip install mcp"}
	}
	return runScript(ctx, filepath.Join(l.workshop.Lab, "hosts", "python"), []string{exe, "stdio.py"}, server, calls, said)
}

// runScript hands server and calls to a client in another language as JSON on its stdin; it prints {"answers": […], "error": …}, and
// its server has its stderr.
func runScript(ctx context.Context, dir string, script, server []string, calls []toolCall, said io.Writer) ([]answer, error) {
	in, err := json.Marshal(map[string]any{"server": server, "calls": calls, "patience": clientPatience.Milliseconds()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, script[0], script[1:]...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(in)
	cmd.WaitDelay = time.Second
	stderr := drive.NewTail()
	cmd.Stderr = io.MultiWriter(stderr, said)
	out, err := cmd.Output()
	var got struct {
		Answers []answer `json:"answers"`
		Error   string   `json:"error"`
	}
	if jerr := json.Unmarshal(out, &got); jerr != nil {
		err = cmp.Or(err, jerr)
		return nil, fmt.Errorf("%s: %w; stderr: %q", strings.Join(script, " "), err, stderr.Last())
	}
	if got.Error != "" {
		return got.Answers, fmt.Errorf("%s", got.Error)
	}
	return got.Answers, nil
}
