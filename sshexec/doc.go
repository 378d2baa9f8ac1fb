// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sshexec runs commands on other machines with the promises of package
// exec: bounded in what they put into memory and into a result, and ended with
// their call, also over there.
//
//	host := &sshexec.Host{Address: "web1.example.com", User: "deploy", HostKeys: sshexec.HostKeys{…}, Auth: sshexec.Auth{…}}
//	defer host.Close()
//	out, err := host.Run(ctx, exec.Cmd{Path: "uptime"})
//
// What a [Host] adds to golang.org/x/crypto/ssh:
//
//   - Every stage obeys the context, from the TCP connection to the exit status,
//     and has its own error: an [*Error] with a [Stage].
//   - An error means that the command was not run. From the moment when it may
//     have been, there is an exec.Output and no error: the Output says how it
//     ended, holds what was written until then, and says if it may still run.
//     Nothing is ever run twice.
//   - A cancel, a time-out and the loss of the connection end the command on the
//     other machine, with what it has started, without anything installed there.
//     Closing a channel alone does not do that. See docs/ssh.md for what remains.
//   - Both streams are drained, although they share one window, and of each only
//     a preview is kept.
//   - One connection serves many calls at once; keepalives find out when it is
//     dead, and it is made anew. A [Pool] bounds the connections to many hosts.
//   - Host keys are checked always. No secret is in a result, an error or a log.
//
// The fields of an exec.Cmd mean what they mean there, with these differences:
//
//   - Path is looked up in the PATH over there; a relative Dir begins in the home
//     directory of the account.
//   - Args are quoted for a POSIX shell, since SSH carries one line. No shell sees
//     more in them than text.
//   - Env is added to the environment over there; nil adds nothing. It is sent
//     apart from the command line where the server takes that (AcceptEnv),
//     else it stands in that line, for those to see over there who can list
//     processes. With CleanEnv only PATH, HOME and the like of the account
//     remain beside it.
//   - Timeout begins with the call: it includes the connection.
package sshexec
