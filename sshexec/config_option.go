// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// synonyms are options by another name, as in OpenSSH.
var synonyms = map[string]string{
	"challengeresponseauthentication": "kbdinteractiveauthentication",
	"dsaauthentication":               "pubkeyauthentication",
	"identityfile2":                   "identityfile",
	"pubkeyacceptedkeytypes":          "pubkeyacceptedalgorithms",
	"skeyauthentication":              "kbdinteractiveauthentication",
	"smartcarddevice":                 "pkcs11provider",
	"tisauthentication":               "kbdinteractiveauthentication",
}

// followed are the options that a Host follows.
var followed = words(`addressfamily batchmode casignaturealgorithms certificatefile ciphers connecttimeout globalknownhostsfile
	hostkeyalgorithms hostkeyalias hostname identitiesonly identityagent identityfile ignoreunknown
	kbdinteractiveauthentication kexalgorithms macs passwordauthentication port preferredauthentications proxyjump
	pubkeyacceptedalgorithms pubkeyauthentication requiredrsasize serveralivecountmax serveraliveinterval tag user
	userknownhostsfile`)

// ignored are the options without which a connection is made to the same place,
// by the same rules: conveniences of a terminal, forwardings that are not made,
// ways to authenticate that are not offered, and what the ssh program keeps for
// itself.
var ignored = words(`addkeystoagent canonicaldomains canonicalizefallbacklocal canonicalizemaxdots
	canonicalizepermittedcnames channeltimeout clearallforwardings compression compressionlevel connectionattempts
	controlmaster controlpath controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar
	exitonforwardfailure fallbacktorsh fingerprinthash forkafterauthentication forwardagent forwardx11
	forwardx11timeout forwardx11trusted gatewayports gssapiauthentication gssapiclientidentity
	gssapidelegatecredentials gssapikeyexchange gssapikexalgorithms gssapirenewalforcesrekey gssapiserveridentity
	gssapitrustdns hashknownhosts hostbasedacceptedalgorithms hostbasedauthentication hostbasedkeytypes
	keepalive kbdinteractivedevices localcommand localforward loglevel logverbose numberofpasswordprompts
	obscurekeystroketiming permitlocalcommand permitremoteopen pkcs11provider protocol cipher refuseconnection
	remotecommand remoteforward requesttty rhostsrsaauthentication rsaauthentication securitykeyprovider sendenv
	sessiontype setenv stdinnull streamlocalbindmask streamlocalbindunlink syslogfacility tcpkeepalive tunnel
	tunneldevice updatehostkeys useprivilegedport userknownhostsfile2 globalknownhostsfile2 usekeychain
	verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation ipqos`)

func words(s string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// A refusal is what an option must not ask for.
type refusal struct {
	safe   []string // the values that change nothing
	reason string
}

// unfollowed are the options that would lead elsewhere, or by other rules, and
// that a Host cannot follow.
var unfollowed = map[string]refusal{
	"bindaddress":                      {nil, "a local address cannot be chosen"},
	"bindinterface":                    {nil, "a local interface cannot be chosen"},
	"canonicalizehostname":             {[]string{"no", "false", "none"}, "names are not made canonical; write the whole name as HostName"},
	"checkhostip":                      {[]string{"no", "false"}, "addresses are not checked beside names"},
	"knownhostscommand":                {[]string{"none"}, "no command is run for host keys; write them to a file of UserKnownHostsFile"},
	"nohostauthenticationforlocalhost": {[]string{"no", "false"}, "host keys are always checked; remove it for this host"},
	"proxycommand":                     {[]string{"none"}, "no command is run to connect; use ProxyJump, or a block of its own for this host before it with ProxyCommand none"},
	"proxyusefdpass":                   {[]string{"no", "false"}, "no command is run to connect"},
	"rekeylimit":                       {[]string{"default", "default none", "none", "0"}, "the amount of data for a key cannot be chosen"},
	"refuseconnection":                 {nil, "the file forbids connections to this host"},
	"revokedhostkeys":                  {[]string{"none"}, "lists of revoked keys are not read; mark them as @revoked in a file of UserKnownHostsFile"},
	"stricthostkeychecking":            {[]string{"yes", "true", "ask"}, "unknown host keys are never accepted; say yes or ask for this host in a block before it, and add its key to known_hosts"},
}

// judge refuses an option that cannot be followed.
func (u *lookup) judge(option string, l configLine) error {
	if r, ok := unfollowed[option]; ok {
		if !slices.Contains(r.safe, strings.ToLower(strings.Join(l.args, " "))) {
			value := "this value" // a command may hold a secret
			if len(r.safe) > 1 {
				value = quoted(strings.Join(l.args, " "))
			}
			return l.at("%s is not supported: %s", value, r.reason)
		}
		return nil
	}
	if ignored[option] {
		return nil
	}
	if !followed[option] {
		if matchList(u.ignore, option, true) {
			return nil
		}
		return l.at("the option is not known, so that nobody can say whether it matters; name it in IgnoreUnknown if it does not")
	}
	switch option {
	case "userknownhostsfile", "globalknownhostsfile", "ignoreunknown":
	default:
		if len(l.args) > 1 {
			return l.at("there is more than one value; quote one that has spaces")
		}
	}
	if l.args[0] == "" {
		return l.at("the value is empty")
	}
	return nil
}

// flag is an option's yes or no.
func (u *lookup) flag(option string, byDefault bool, yes ...string) (bool, error) {
	l, ok := u.set[option]
	if !ok {
		return byDefault, nil
	}
	v := strings.ToLower(l.args[0])
	switch {
	case v == "yes" || v == "true" || slices.Contains(yes, v):
		return true, nil
	case v == "no" || v == "false":
		return false, nil
	}
	return false, l.at("%s is neither yes nor no", quoted(l.args[0]))
}

// seconds is an option's time: seconds, or numbers with units ("1m30s"); 0 when
// it is not set, is 0 or none.
func (u *lookup) seconds(option string) (time.Duration, error) {
	l, ok := u.set[option]
	if !ok || strings.EqualFold(l.args[0], "none") {
		return 0, nil
	}
	s, total := l.args[0], int64(0)
	for s != "" {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		v, err := strconv.ParseInt(s[:n], 10, 32)
		unit := int64(1)
		if s = s[n:]; s != "" {
			unit = map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}[s[0]|0x20]
			s = s[1:]
		}
		if total += v * unit; err != nil || unit == 0 || total > math.MaxInt32 {
			return 0, l.at("%s is not a time in seconds", quoted(l.args[0]))
		}
	}
	return time.Duration(total) * time.Second, nil
}

// number is an option's whole number; 0 when it is not set.
func (u *lookup) number(option string, least, most int) (int, error) {
	l, ok := u.set[option]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(l.args[0])
	if err != nil || n < least || n > most {
		return 0, l.at("%s is not a number from %d to %d", quoted(l.args[0]), least, most)
	}
	return n, nil
}

// list is an option's list of algorithms: by itself, or, after "+", "-" or "^",
// added to, taken from or put before those used by default. Names that are not
// implemented count for nothing; those that are not safe have to be named. It
// is nil when the option is not set.
func (u *lookup) list(option string, byDefault, safe, unsafe []string) ([]string, error) {
	l, ok := u.set[option]
	if !ok {
		return nil, nil
	}
	spec, sign := l.args[0], byte(0)
	if strings.IndexByte("+-^", spec[0]) >= 0 {
		sign, spec = spec[0], spec[1:]
	}
	var named []string
	for _, pattern := range strings.Split(spec, ",") {
		from := slices.Concat(safe, unsafe)
		if sign == '-' {
			from = byDefault
		}
		for _, a := range from {
			if pattern != "" && matchPattern(pattern, a) && !slices.Contains(named, a) {
				named = append(named, a)
			}
		}
	}
	without := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(a string) bool { return slices.Contains(named, a) })
	}
	switch sign {
	case '+':
		named = append(slices.Clone(byDefault), slices.DeleteFunc(named, func(a string) bool { return slices.Contains(byDefault, a) })...)
	case '-':
		named = without(byDefault)
	case '^':
		named = append(named, without(byDefault)...)
	}
	if len(named) == 0 {
		return nil, l.at("none of %s is implemented", quoted(l.args[0]))
	}
	return named, nil
}

// algorithms follows the options that choose algorithms.
func (u *lookup) algorithms(h *Host) (err error) {
	var byDefault ssh.Config
	byDefault.SetDefaults()
	safe, unsafe := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	signatures := slices.Clone(safe.PublicKeyAuths)
	for _, a := range safe.PublicKeyAuths {
		signatures = append(signatures, certificateAlgorithm(a))
	}
	for _, o := range []struct {
		option                  string
		to                      *[]string
		byDefault, safe, unsafe []string
	}{
		{"ciphers", &h.Ciphers, byDefault.Ciphers, safe.Ciphers, unsafe.Ciphers},
		{"kexalgorithms", &h.KeyExchanges, byDefault.KeyExchanges, safe.KeyExchanges, unsafe.KeyExchanges},
		{"macs", &h.MACs, byDefault.MACs, safe.MACs, unsafe.MACs},
		{"hostkeyalgorithms", &h.HostKeys.Algorithms, hostKeyAlgorithms, hostKeyAlgorithms, unsafe.HostKeys},
		{"casignaturealgorithms", &h.HostKeys.AuthorityAlgorithms, authorityAlgorithms, authorityAlgorithms, []string{ssh.KeyAlgoRSA}},
		{"pubkeyacceptedalgorithms", &h.Auth.Algorithms, signatures, signatures, unsafe.PublicKeyAuths},
	} {
		if *o.to, err = u.list(o.option, o.byDefault, o.safe, o.unsafe); err != nil {
			return err
		}
	}
	bits, err := u.number("requiredrsasize", 0, 1<<16)
	h.Auth.MinRSABits, h.HostKeys.MinRSABits = bits, bits
	return err
}
