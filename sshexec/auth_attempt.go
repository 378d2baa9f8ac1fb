// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

const (
	// maxTries is the most that Auth.MaxTries can be: the transport gives up at
	// 64.
	maxTries = 60

	// maxRounds is how often a server may ask within one try.
	maxRounds = 10
)

// An attempt is the authentication of one connection. It offers one key, or
// one answer, at a time, so that nothing is opened, asked for or sent that the
// server does not want.
type attempt struct {
	ctx     context.Context
	auth    *Auth
	user    string
	methods []string

	mu       sync.Mutex // guards what follows; held by next while it waits
	begun    bool
	closed   bool
	agent    *agentLink
	loaded   bool
	keys     []*candidate
	tries    []AuthTry
	open     bool            // the last of tries is with the server
	asked    map[string]bool // the other methods, once tried
	unsent   error           // why what was tried did not reach the server
	partial  int             // how many tries the server accepted
	refused  int             // how many it counts against us
	left     int             // keys not offered
	accepted []string        // what the server takes now
}

// start begins the authentication of a connection as user.
func (a *Auth) start(ctx context.Context, user string) (*attempt, error) {
	methods, err := a.methods()
	if err != nil {
		return nil, err
	}
	return &attempt{ctx: ctx, auth: a, user: user, methods: methods, asked: make(map[string]bool)}, nil
}

// close lets the agent go. It is called when the handshake is over.
func (at *attempt) close() {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.closed = true
	at.agent.close()
	at.agent = nil
	at.keys = nil
}

// next is the ssh.ClientAuthCallback: what to try now.
func (at *attempt) next(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.begun = true
	at.settle(len(c.PartialSuccessMethods))
	at.accepted = slices.Clone(c.AllowedMethods)
	if at.ctx.Err() != nil || at.closed {
		return nil, context.Cause(at.ctx)
	}
	for _, m := range at.methods {
		if !slices.Contains(at.accepted, m) {
			continue
		}
		if method := at.try(m); method != nil {
			return method, nil
		}
		if at.ctx.Err() != nil {
			return nil, context.Cause(at.ctx)
		}
	}
	return nil, at.errorLocked(nil)
}

// settle notes what became of the last try.
func (at *attempt) settle(partial int) {
	if at.open {
		at.open = false
		last := &at.tries[len(at.tries)-1]
		switch {
		case partial > at.partial:
			last.Accepted = true
		case at.unsent != nil:
			last.Err = at.unsent
		default:
			at.refused++
		}
	}
	at.partial, at.unsent = partial, nil
}

// room is how often the server can still be tried by a method, when the others
// that it takes keep one try each.
func (at *attempt) room(method string) int {
	room := min(orDefault(at.auth.MaxTries, DefaultMaxTries), maxTries) - at.refused
	if method != methodPublicKey {
		return room
	}
	reserved := 0
	for _, m := range at.methods {
		if m != method && slices.Contains(at.accepted, m) && !at.asked[m] && at.answers(m) {
			reserved++
		}
	}
	if room > reserved {
		return room - reserved
	}
	return 0
}

// answers tells whether there is something to say by one of the methods that
// are not about keys.
func (at *attempt) answers(method string) bool {
	if method == methodInteractive && at.auth.KeyboardInteractive != nil {
		return true
	}
	return at.auth.Password != nil && (method == methodPassword || method == methodInteractive && !slices.Contains(at.accepted, methodPassword))
}

// try begins the next try by a method; nil when there is none.
func (at *attempt) try(method string) ssh.AuthMethod {
	if method == methodPublicKey {
		return at.tryKey()
	}
	if at.asked[method] || !at.answers(method) || at.room(method) <= 0 {
		return nil
	}
	at.asked[method] = true
	at.tries = append(at.tries, AuthTry{Method: method})
	at.open = true
	if method == methodPassword {
		return ssh.PasswordCallback(at.password)
	}
	rounds := 0
	return ssh.KeyboardInteractive(func(name, instruction string, questions []string, echos []bool) ([]string, error) {
		answers, err := at.challenge(&rounds, name, instruction, questions, echos)
		if err != nil {
			at.unsent = err
		}
		return answers, err
	})
}

func (at *attempt) password() (string, error) {
	secret, err := ask(at.ctx, at.auth.Password)
	if err != nil {
		at.unsent = fmt.Errorf("no password: %w", err)
	}
	return secret, err
}

func (at *attempt) challenge(rounds *int, name, instruction string, questions []string, echos []bool) ([]string, error) {
	if *rounds++; *rounds > maxRounds {
		return nil, fmt.Errorf("the server asked more than %d times", maxRounds)
	}
	if len(questions) == 0 {
		return nil, nil
	}
	if at.auth.KeyboardInteractive == nil {
		if *rounds > 1 || len(questions) != 1 || echos[0] {
			return nil, errors.New("the server asks for more than a password: set Auth.KeyboardInteractive")
		}
		secret, err := ask(at.ctx, at.auth.Password)
		return []string{secret}, err
	}
	c := Challenge{User: at.user, Name: name, Instruction: instruction}
	for i, q := range questions {
		c.Questions = append(c.Questions, Question{Text: q, Echo: echos[i]})
	}
	answers, err := ask(at.ctx, func(ctx context.Context) ([]string, error) { return at.auth.KeyboardInteractive(ctx, c) })
	if err == nil && len(answers) != len(questions) {
		err = fmt.Errorf("Auth.KeyboardInteractive gave %d answers to %d questions", len(answers), len(questions))
	}
	return answers, err
}

// tryKey offers the next key.
func (at *attempt) tryKey() ssh.AuthMethod {
	if !at.loaded {
		at.loaded = true
		keys, problems := at.candidates()
		at.keys = keys
		at.tries = append(at.tries, problems...)
	}
	for len(at.keys) > 0 {
		if at.ctx.Err() != nil {
			return nil
		}
		if at.room(methodPublicKey) <= 0 {
			at.left += len(at.keys)
			at.keys = nil
			return nil
		}
		c := at.keys[0]
		at.keys = at.keys[1:]
		signer, err := at.ready(c)
		at.tries = append(at.tries, AuthTry{Method: methodPublicKey, Key: c.name, Err: err})
		if err == nil {
			at.open = true
			return ssh.PublicKeys(signer)
		}
	}
	return nil
}

// ready is a key as it is offered.
func (at *attempt) ready(c *candidate) (ssh.Signer, error) {
	if k := c.locked; k != nil {
		if err := k.unseal(at.ctx, at.auth.Passphrase); err != nil {
			return nil, err
		}
		c.name = describe(k.file, k.public)
		if c.signer = at.signer(at.agent, k); c.signer == nil {
			return nil, &KeyFileError{File: k.file, Err: errKind}
		}
		if c.signer.algorithms = at.auth.algorithmsFor(k.public); len(c.signer.algorithms) == 0 {
			return nil, errors.New("its algorithm or its size is not allowed here")
		}
	}
	if c.cert != nil {
		return ssh.NewCertSigner(c.cert, c.signer)
	}
	return c.signer, nil
}

// failure is the error of a handshake that failed, as an *AuthError if that was
// the server's answer to who we are; else err.
func (at *attempt) failure(err error) error {
	var known *AuthError
	if errors.As(err, &known) {
		return known
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	if !at.begun || at.ctx.Err() != nil {
		return err
	}
	at.settle(at.partial)
	return at.errorLocked(err)
}

func (at *attempt) errorLocked(err error) *AuthError {
	return &AuthError{User: at.user, Methods: at.accepted, Tries: slices.Clone(at.tries), Left: at.left + len(at.keys), Err: err}
}
