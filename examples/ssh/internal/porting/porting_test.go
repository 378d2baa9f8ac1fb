// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/sshexec"
	"github.com/weir-mcp/weir/tool"
)

// answerer is a server that answers every command with its line. It holds no
// key that anybody could know.
func answerer(t *testing.T) *ssh.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	config := &ssh.ServerConfig{NoClientAuth: true}
	signer, err := ssh.ParsePrivateKey(hostKey(t))
	if err != nil {
		t.Fatal(err)
	}
	config.AddHostKey(signer)
	go func() {
		server, err := l.Accept()
		if err != nil {
			return
		}
		_, channels, requests, err := ssh.NewServerConn(server, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for c := range channels {
			ch, in, err := c.Accept()
			if err != nil {
				return
			}
			for r := range in {
				r.Reply(true, nil)
				if r.Type == "exec" {
					ch.Write(r.Payload[4:])
					ch.SendRequest("exit-status", false, make([]byte, 4))
					ch.Close()
				}
			}
		}
	}()
	c, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestNaive holds what the document says of the tool as it is often found: what
// the model says is a part of a line for a shell.
func TestNaive(t *testing.T) {
	var tools tool.Registry
	addNaive(&tools, answerer(t))
	r, err := tools.Call(t.Context(), "unit_status", `{"unit":"nginx; reboot"}`)
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Content[0].(result.TextContent).Text; text != "systemctl status nginx; reboot" {
		t.Errorf("the shell got %q", text)
	}
}

// TestBounded holds that the tool refuses what is no name before anything is
// sent, and that a host that cannot be used is an error that says so.
func TestBounded(t *testing.T) {
	pool := &sshexec.Pool{Open: func(name string) (*sshexec.Host, error) {
		return &sshexec.Host{Name: name, Address: "127.0.0.1:1", User: "u", Auth: sshexec.Auth{Agent: "none", KeyFiles: []string{}}}, nil
	}}
	defer pool.Close()
	var tools tool.Registry
	addBounded(&tools, pool)
	for in, want := range map[string]string{
		`{"host":"web1","unit":"nginx; reboot"}`: "unit",
		`{"host":"web1","unit":"--host=evil"}`:   "unit",
		`{"host":"evil","unit":"nginx"}`:         "host",
		`{"host":"web1","unit":"nginx.service"}`: "sshexec: web1: connect",
	} {
		r, err := tools.Call(t.Context(), "unit_status", in)
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(result.TextContent).Text; !r.IsError || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", in, text, want)
		}
	}
	if newPool().Open == nil {
		t.Error("no hosts are found by name")
	}
}

// hostKey makes a private key.
func hostKey(t *testing.T) []byte {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}
