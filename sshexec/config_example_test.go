// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weir-mcp/weir/sshexec"
)

// A host as the user's ssh_config describes it. Without Files it would be that
// of ~/.ssh/config.
func ExampleConfig() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(`
Host web1
  HostName web1.example.com
  User deploy
  ProxyJump bastion:2222
Host old
  StrictHostKeyChecking no
`), 0o600); err != nil {
		log.Fatal(err)
	}

	config := &sshexec.Config{Files: []string{file}}
	host, err := config.Host("web1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(host.Name, host.User, host.Address, "through", host.Via.Address)

	// What cannot be followed is not ignored.
	if _, err = config.Host("old"); err != nil {
		fmt.Println("refused")
	}
	// Output:
	// web1 deploy web1.example.com:22 through bastion:2222
	// refused
}
