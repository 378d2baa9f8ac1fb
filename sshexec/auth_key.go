// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 1 << 20

// defaultKeyFiles are what the ssh program tries, as far as there is code for
// their types.
var defaultKeyFiles = []string{"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk"}

// A keySigner is a key that can be offered. It tells its attempt why it could
// not sign.
type keySigner struct {
	at         *attempt
	public     ssh.PublicKey
	algorithms []string
	sign       func(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error)
}

func (k *keySigner) PublicKey() ssh.PublicKey { return k.public }
func (k *keySigner) Algorithms() []string     { return k.algorithms }

func (k *keySigner) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(rand, data, k.algorithms[0])
}

func (k *keySigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	s, err := k.sign(rand, data, algorithm)
	if err != nil {
		if k.at.ctx.Err() != nil {
			err = context.Cause(k.at.ctx)
		}
		k.at.unsent = err
	}
	return s, err
}

// algorithmsFor are the signature algorithms to use with a public key, or with
// its certificate.
func (a *Auth) algorithmsFor(public ssh.PublicKey) (out []string) {
	kind, bare := public.Type(), public
	cert, certified := public.(*ssh.Certificate)
	if certified {
		bare = cert.Key
		kind = bare.Type()
	}
	if bits := rsaBits(bare); bits > 0 && bits < a.MinRSABits {
		return nil
	}
	algorithms := []string{kind}
	if kind == ssh.KeyAlgoRSA {
		algorithms = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		if a.Algorithms != nil {
			algorithms = append(algorithms, ssh.KeyAlgoRSA) // SHA-1: only if it is named
		}
	}
	for _, s := range algorithms {
		name := s
		if certified {
			name = certificateAlgorithm(s)
		}
		if a.Algorithms == nil || slices.Contains(a.Algorithms, name) {
			out = append(out, s)
		}
	}
	return out
}

// certificateAlgorithm is the name of an algorithm when it signs with a
// certificate.
func certificateAlgorithm(algorithm string) string {
	name, vendor, _ := strings.Cut(algorithm, "@")
	if vendor == "" {
		vendor = "openssh.com"
	}
	return name + "-cert-v01@" + vendor
}

// rsaBits is the size of an RSA key; 0 for others.
func rsaBits(key ssh.PublicKey) int {
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok {
			return k.N.BitLen()
		}
	}
	return 0
}

// A keyFile is what a private key's file, and the files beside it, hold.
type keyFile struct {
	file    string
	public  ssh.PublicKey // nil when it is not known without the passphrase
	private ssh.Signer    // nil when it is encrypted, or not here
	sealed  []byte        // the encrypted file
	certs   []*ssh.Certificate
	err     error // why there is neither private nor sealed
}

// openKeyFile reads the files of a key.
func openKeyFile(name string) (*keyFile, error) {
	file, err := expandHome(name)
	if err != nil {
		return nil, &KeyFileError{File: name, Err: err}
	}
	k := &keyFile{file: file}
	if k.err = checkPrivate(file); k.err == nil {
		k.err = k.read()
	}
	if k.public == nil {
		if data, err := readFile(file+".pub", maxKeyFile); err == nil {
			k.public = parsePublic(data)
		}
	}
	if cert, err := readCertificate(file + "-cert.pub"); err == nil {
		k.certs = append(k.certs, cert)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	return k, nil
}

// read reads the private key's file.
func (k *keyFile) read() error {
	data, err := readFile(k.file, maxKeyFile)
	if err != nil {
		return err
	}
	raw, err := ssh.ParseRawPrivateKey(data)
	var sealed *ssh.PassphraseMissingError
	switch {
	case err == nil:
		if k.private, err = ssh.NewSignerFromKey(raw); err != nil {
			return errKind
		}
		k.public = k.private.PublicKey()
	case errors.As(err, &sealed):
		k.sealed, k.public = data, sealed.PublicKey
	default:
		if k.public = parsePublic(data); k.public != nil {
			return errPublicOnly
		}
		return errKind // the parser's own words may be the file's
	}
	return nil
}

var (
	errKind       = errors.New("it is not a private key of a kind that can be used (a security key needs the agent)")
	errPublicOnly = errors.New("it is a public key, and the agent does not have its private half")
)

// parsePublic is the key of a .pub file, or nil.
func parsePublic(data []byte) ssh.PublicKey {
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

// readCertificate reads a certificate's file.
func readCertificate(file string) (*ssh.Certificate, error) {
	data, err := readFile(file, maxKeyFile)
	if err != nil {
		return nil, &KeyFileError{File: file, Err: err}
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	cert, ok := key.(*ssh.Certificate)
	if err != nil || !ok || cert.CertType != ssh.UserCert {
		return nil, &KeyFileError{File: file, Err: errors.New("it is not a certificate of a user")}
	}
	return cert, nil
}

// unseal decrypts the file.
func (k *keyFile) unseal(ctx context.Context, passphrase func(context.Context, string) (string, error)) error {
	if k.private != nil {
		return nil
	}
	secret, err := ask(ctx, func(ctx context.Context) (string, error) { return passphrase(ctx, k.file) })
	if err != nil {
		return &KeyFileError{File: k.file, Err: fmt.Errorf("no passphrase: %w", err)}
	}
	raw, err := ssh.ParseRawPrivateKeyWithPassphrase(k.sealed, []byte(secret))
	if err != nil {
		reason := errKind // the parser's own words may be the file's
		if errors.Is(err, x509.IncorrectPasswordError) {
			reason = ErrPassphrase
		}
		return &KeyFileError{File: k.file, Err: reason}
	}
	signer, err := ssh.NewSignerFromKey(raw)
	if err != nil {
		return &KeyFileError{File: k.file, Err: errKind}
	}
	if k.public != nil && !bytes.Equal(k.public.Marshal(), signer.PublicKey().Marshal()) {
		return &KeyFileError{File: k.file, Err: errors.New("the .pub file beside it is of another key")}
	}
	k.private, k.public = signer, signer.PublicKey()
	return nil
}

// A candidate is a key to offer.
type candidate struct {
	name   string
	signer *keySigner
	cert   *ssh.Certificate // in place of the bare key
	locked *keyFile         // has to be decrypted before it can be offered
}

// candidates are the keys to offer, in order, and what is wrong with others.
func (at *attempt) candidates() (out []*candidate, problems []AuthTry) {
	problem := func(key string, err error) {
		method := methodPublicKey
		if key == "" {
			method = "agent"
		}
		problems = append(problems, AuthTry{Method: method, Key: key, Err: err})
	}
	a := at.auth
	link, err := a.dial(at.ctx)
	at.agent = link
	if err != nil {
		problem("", err)
	}
	seen := make(map[string]bool)
	add := func(name string, cert *ssh.Certificate, signer *keySigner) {
		var public ssh.PublicKey = signer.public
		if cert != nil {
			public = cert
		}
		if blob := string(public.Marshal()); !seen[blob] {
			seen[blob] = true
			s := *signer
			if s.algorithms = a.algorithmsFor(public); len(s.algorithms) == 0 {
				problem(name, errors.New("its algorithm or its size is not allowed here"))
				return
			}
			out = append(out, &candidate{name: describe(name, public), signer: &s, cert: cert})
		}
	}
	var certs []*ssh.Certificate
	names := make(map[*ssh.Certificate]string)
	for _, name := range a.CertFiles {
		file, err := expandHome(name)
		if err != nil {
			problem(name, &KeyFileError{File: name, Err: err})
			continue
		}
		cert, err := readCertificate(file)
		if err != nil {
			problem(file, err)
			continue
		}
		certs = append(certs, cert)
		names[cert] = file
	}

	files := a.KeyFiles
	if files == nil {
		files = defaultKeyFiles
	}
	for _, name := range files {
		k, err := openKeyFile(name)
		if err != nil {
			problem(name, err)
		}
		if k == nil || a.KeyFiles == nil && k.public == nil && errors.Is(k.err, fs.ErrNotExist) {
			continue
		}
		signer := at.signer(link, k)
		if signer == nil {
			switch {
			case k.err != nil:
				problem(k.file, &KeyFileError{File: k.file, Err: k.err})
			case a.Passphrase == nil:
				problem(k.file, &KeyFileError{File: k.file, Err: ErrEncrypted})
			default: // an encrypted file that does not say which key it is
				out = append(out, &candidate{name: k.file, locked: k})
			}
			continue
		}
		for _, cert := range k.certs {
			if bytes.Equal(cert.Key.Marshal(), signer.public.Marshal()) {
				add(k.file+"-cert.pub", cert, signer)
			} else {
				problem(k.file+"-cert.pub", &KeyFileError{File: k.file + "-cert.pub", Err: errors.New("it is of another key than the file beside it")})
			}
		}
		for _, cert := range certs {
			if bytes.Equal(cert.Key.Marshal(), signer.public.Marshal()) {
				add(names[cert], cert, signer)
			}
		}
		add(k.file, nil, signer)
	}
	for _, cert := range certs {
		if s := link.find(cert.Key); s != nil {
			add(names[cert], cert, at.agentSigner(s))
		}
	}
	if link != nil && !a.IdentitiesOnly {
		for _, s := range link.keys {
			add("agent", nil, at.agentSigner(s))
		}
	}
	return out, problems
}

// signer is what signs with a file's key: the agent where it has it, else the
// file, decrypted when it is used. It is nil when neither can.
func (at *attempt) signer(link *agentLink, k *keyFile) *keySigner {
	if s := link.find(k.public); s != nil {
		return at.agentSigner(s)
	}
	if k.public == nil || k.private == nil && (k.sealed == nil || at.auth.Passphrase == nil) {
		return nil
	}
	return &keySigner{at: at, public: k.public, sign: func(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
		if err := k.unseal(at.ctx, at.auth.Passphrase); err != nil {
			return nil, err
		}
		s, ok := k.private.(ssh.AlgorithmSigner)
		if !ok {
			return nil, &KeyFileError{File: k.file, Err: errKind}
		}
		return s.SignWithAlgorithm(rand, data, algorithm)
	}}
}

// agentSigner has the agent sign.
func (at *attempt) agentSigner(s ssh.Signer) *keySigner {
	public := s.PublicKey()
	if p, err := ssh.ParsePublicKey(public.Marshal()); err == nil {
		public = p
	}
	return &keySigner{at: at, public: public, sign: func(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
		signature, err := s.(ssh.AlgorithmSigner).SignWithAlgorithm(rand, data, algorithm)
		if err != nil {
			return nil, fmt.Errorf("the agent does not sign: %w", err)
		}
		return signature, nil
	}}
}

// describe names a key for people: where it is from, and its fingerprint.
func describe(name string, public ssh.PublicKey) string {
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return name + " " + ssh.FingerprintSHA256(public)
	}
	text := name + " (certificate " + ssh.FingerprintSHA256(cert.Key)
	if cert.ValidBefore != ssh.CertTimeInfinity && cert.ValidBefore <= uint64(time.Now().Unix()) {
		text += ", expired"
	}
	return text + ")"
}
