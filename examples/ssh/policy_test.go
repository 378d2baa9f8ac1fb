// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/sshdtest"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/sshexec"
)

// TestPolicyErrors holds that what is wrong with a policy is found at the start,
// and said by the name of the field.
func TestPolicyErrors(t *testing.T) {
	const host = `"hosts":[{"name":"a","address":"192.0.2.1","agent":"none"}]`
	t.Setenv("WEIR_TEST_LINES", "two\nlines")
	t.Setenv("WEIR_TEST_PASSPHRASE", "correct horse")
	dir := t.TempDir()
	config, slip, sealed := filepath.Join(dir, "config"), filepath.Join(dir, "slip"), filepath.Join(dir, "sealed")
	_, private := sshdtest.NewKey(t, "battery staple")
	for name, text := range map[string]string{config: "Host *\n\tUser me\nHost a-prod\n\tHostName 192.0.2.7\n", slip: "Host *\n\tStrictHostKeyChecking no\n", sealed: string(private)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, policy, want string }{
		{"not JSON", "{\n\"hosts\":", "policy.json:2: it is not JSON: "},
		{"JSON with a slip", "{\n\n\"hosts\" [] }", "policy.json:3: it is not JSON: "},
		{"nothing", "", "policy.json:1: it is not JSON: "},
		{"not an object", `[]`, "policy.json: a policy is a JSON object"},
		{"a field that is not known", "{\n\"hosts\":[{\"name\":\"a\",\n\"adress\":\"x\"}]}", `policy.json: hosts[0].adress: unknown; did you mean "address"?`},
		{"a name in other letters", `{"Hosts":[]}`, `Hosts: unknown; did you mean "hosts"?`},
		{"a name twice", `{` + host + `,"paths":[],"paths":[]}`, "paths"},
		{"a wrong type", `{"hosts":[{"name":"a","address":7}]}`, "hosts[0].address: found 7, wanted string"},
		{"something behind", `{` + host + `} {}`, "policy.json:1: it is not JSON: "},
		{"no hosts", `{"hosts":[]}`, "hosts: names no host"},
		{"no field hosts", `{}`, "hosts: missing"},
		{"only for jumps", `{"hosts":[{"name":"a","jumpOnly":true}]}`, "hosts: names no host"},
		{"no name", `{"hosts":[{"address":"x"}]}`, "hosts[0].name: missing"},
		{"a name like an option", `{"hosts":[{"name":"-oProxyCommand=x"}]}`, "hosts[0].name: "},
		{"a host twice", `{"hosts":[{"name":"a"},{"name":"a"}]}`, `hosts[1].name: "a" is the name of hosts[0] too`},
		{"alias and address", `{"hosts":[{"name":"a","alias":"b","address":"c"}]}`, "hosts[0].alias: "},
		{"user without address", `{"hosts":[{"name":"a","user":"u"}]}`, "hosts[0].user: belongs to a host with an address"},
		{"via without address", `{"hosts":[{"name":"a","via":"b"},{"name":"b"}]}`, "hosts[0].via: belongs"},
		{"via nobody", `{"hosts":[{"name":"a","address":"x","via":"b"}]}`, `hosts[0].via: "b" is not the name of a host`},
		{"via in a circle", `{"hosts":[{"name":"a","address":"x","via":"b"},{"name":"b","address":"y","via":"a"}]}`, "hosts[0].via: leads in a circle"},
		{"a key file that is not there", `{"hosts":[{"name":"a","address":"x","agent":"none","keyFiles":["/nowhere/id"]}]}`, "hosts[0].keyFiles[0]: /nowhere/id: "},
		{"known hosts that are not there", `{"hosts":[{"name":"a","address":"x","agent":"none","knownHosts":["/nowhere/known"]}]}`, "hosts[0].knownHosts: none of /nowhere/known is there"},
		{"a bad address", `{"hosts":[{"name":"a","address":"x:","agent":"none"}]}`, "hosts[0].address: "},
		{"a secret in the file", `{"hosts":[{"name":"a","address":"x","passwordEnv":"correct horse"}]}`, "hosts[0].passwordEnv: is not the name of an environment variable"},
		{"a variable that is not set", `{"hosts":[{"name":"a","address":"x","passphraseEnv":"WEIR_TEST_UNSET"}]}`, "hosts[0].passphraseEnv: the environment variable that it names is not set"},
		{"a variable with two lines", `{"hosts":[{"name":"a","address":"x","passwordEnv":"WEIR_TEST_LINES"}]}`, "hosts[0].passwordEnv: what the environment variable holds"},
		{"ssh_config that is not there", `{"sshConfig":["/nowhere/config"],"hosts":[{"name":"a"}]}`, "sshConfig[0]: sshexec: /nowhere/config: "},
		{"ssh_config with a slip", `{"sshConfig":["` + slip + `"],"hosts":[{"name":"a"}]}`, "hosts[0]: sshexec: " + slip + ":2: "},
		{"an alias of nobody", `{"sshConfig":["` + config + `"],"hosts":[{"name":"a","alias":"a-prd"}]}`, `hosts[0]: alias: no Host line of ssh_config is about "a-prd"`},
		{"an account in the address", `{"hosts":[{"name":"a","address":"u@x","agent":"none"}]}`, `hosts[0].address: "u@x": the account does not belong into the address; it is user`},
		{"a port that is none", `{"hosts":[{"name":"a","address":"x:99999","agent":"none"}]}`, `hosts[0].address: "x:99999": a port is`},
		{"a URL", `{"hosts":[{"name":"a","address":"ssh://x","agent":"none"}]}`, "hosts[0].address: "},
		{"an address with a space", `{"hosts":[{"name":"a","address":"a b","agent":"none"}]}`, "hosts[0].address: "},
		{"an agent that is not there", `{"hosts":[{"name":"a","address":"x","agent":"/nowhere/agent"}]}`, "hosts[0].agent: it cannot be reached: "},
		{"an agent's variable that is not set", `{"hosts":[{"name":"a","address":"x","agent":"$WEIR_TEST_UNSET"}]}`, "hosts[0].agent: the environment variable that it names is not set"},
		{"a key file that is none", `{"hosts":[{"name":"a","address":"x","agent":"none","keyFiles":["` + config + `"]}]}`, "hosts[0].keyFiles[0]: " + config + ": it is not a private key"},
		{"a wrong passphrase", `{"hosts":[{"name":"a","address":"x","agent":"none","keyFiles":["` + sealed + `"],"passphraseEnv":"WEIR_TEST_PASSPHRASE"}]}`, "hosts[0].keyFiles[0]: " + sealed + ": the passphrase is wrong"},
		{"no passphrase", `{"hosts":[{"name":"a","address":"x","agent":"none","keyFiles":["` + sealed + `"]}]}`, "hosts[0].keyFiles[0]: " + sealed + ": "},
		{"wildcards in a path", `{` + host + `,"paths":[{"path":"/var/log/*"}]}`, "paths[0].path: \"/var/log/*\": there are no wildcards"},
		{"... in a word", `{` + host + `,"commands":[{"argv":["a","x..."]}]}`, `commands[0].argv: "x...": "..." stands alone`},
		{"a secret where its name belongs", `{"hosts":[{"name":"a","address":"x","passwordEnv":"correct_horse"}]}`, "hosts[0].passwordEnv: the environment variable that it names"},
		{"two of the form", `{"hosts":[{"name":"a","x":1}],"timeoutSeconds":"x"}`, `timeoutSeconds: found "x" (string), wanted integer`},
		{"the other of these", `{"hosts":[{"name":"a","x":1}],"timeoutSeconds":"x"}`, "hosts[0].x: unknown"},
		{"no program", `{` + host + `,"commands":[{"argv":[]}]}`, "commands[0].argv: is empty"},
		{"any program", `{` + host + `,"commands":[{"argv":["*"]}]}`, "commands[0].argv: the program is named"},
		{"... in the middle", `{` + host + `,"commands":[{"argv":["a","...","b"]}]}`, `commands[0].argv: "..."`},
		{"a command of nobody", `{` + host + `,"commands":[{"argv":["a"],"hosts":["b"]}]}`, `commands[0].hosts[0]: "b" is not the name`},
		{"a command of no host", `{` + host + `,"commands":[{"argv":["a"],"hosts":[]}]}`, `commands[0].hosts: is empty`},
		{"a line as a command", `{` + host + `,"commands":["uptime"]}`, `commands[0]: found "uptime" (string), wanted object`},
		{"a relative path", `{` + host + `,"paths":[{"path":"var/log"}]}`, "paths[0].path: "},
		{"a path that climbs", `{` + host + `,"paths":[{"path":"/var/../etc"}]}`, "paths[0].path: "},
		{"a time-out", `{` + host + `,"timeoutSeconds":-1}`, "timeoutSeconds: has to be 1 to 600"},
		{"two mistakes", `{` + host + `,"timeoutSeconds":601,"paths":[{"path":"x"}]}`, "timeoutSeconds: has to be 1 to 600\n"},
		{"the other of them", `{` + host + `,"timeoutSeconds":601,"paths":[{"path":"x"}]}`, "paths[0].path: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parsePolicy("policy.json", []byte(tt.policy))
			if err == nil {
				_, err = newFleet(p, permission{})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "correct horse") || strings.Contains(err.Error(), "correct_horse")) {
				t.Errorf("it shows a secret: %v", err)
			}
		})
	}
}

// TestCommandLine holds that flags that are wrong are said by their names.
func TestCommandLine(t *testing.T) {
	good := policyFile(t, args{
		"hosts": []hosted{
			{"name": "a", "address": "192.0.2.1", "user": "u", "agent": "none", "via": "jump"},
			{"name": "jump", "address": "192.0.2.2", "agent": "none", "jumpOnly": true},
		},
		"commands": []args{{"argv": []string{"uptime"}}, {"argv": []string{"reboot"}, "destructive": true}},
		"paths":    []args{{"path": "/var//log/"}},
	})
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "-policy is missing"},
		{[]string{"-policy", good, "more"}, `unexpected argument "more"`},
		{[]string{"-policy", filepath.Join(t.TempDir(), "none")}, "-policy: open "},
	} {
		if _, err := start(tt.args, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
	var out strings.Builder
	if s, err := start([]string{"-policy", good, "-check"}, &out); s != nil || err != nil {
		t.Errorf("-check: %v, %v", s, err)
	}
	const want = "a: 192.0.2.1, as u, via jump\n  run   uptime\n  run   reboot   (only with -destructive)\n  read  /var/log\n"
	if out.String() != want {
		t.Errorf("-check prints\n%swant\n%s", out.String(), want)
	}
}

// TestUnmentioned holds that -check says so where a name is taken for an address.
func TestUnmentioned(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("Host *\n\tUser me\nHost web*\n\tPort 2222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := policyFile(t, args{"sshConfig": []string{config}, "hosts": []args{{"name": "web1"}, {"name": "wbe2"}}})
	var out strings.Builder
	if s, err := start([]string{"-policy", good, "-check"}, &out); s != nil || err != nil {
		t.Errorf("-check: %v, %v", s, err)
	}
	const want = "web1: web1:2222, as me\n\nwbe2: wbe2:22, as me (an address: ssh_config does not mention it)\n"
	if out.String() != want {
		t.Errorf("-check prints\n%swant\n%s", out.String(), want)
	}
}

// TestExplainHop holds that a fault of a machine on the way is not told as one of
// the machine behind it, and that the one on the way stays unnamed.
func TestExplainHop(t *testing.T) {
	f := &fleet{log: slog.New(slog.DiscardHandler)}
	m := &machine{name: "db"}
	fault := func(err error) error { return &sshexec.Error{Host: "bastion", Stage: sshexec.StageHandshake, Err: err} }
	for _, err := range []error{&sshexec.ChangedHostKeyError{}, &sshexec.UnknownHostError{}, &sshexec.RevokedHostKeyError{}, &sshexec.AuthError{}} {
		text := f.explain(m, &sshexec.Error{Host: "db", Stage: sshexec.StageConnect, Err: fault(err)}).Error()
		if !strings.HasPrefix(text, "db is reached through another machine, and there it fails: ") || strings.Contains(text, "bastion") {
			t.Errorf("%T on the way: %s", err, text)
		}
		text = f.explain(m, &sshexec.Error{Host: "db", Stage: sshexec.StageHandshake, Err: err}).Error()
		if !strings.HasPrefix(text, "db: ") {
			t.Errorf("%T: %s", err, text)
		}
	}
}

// TestShown holds how a command is quoted in a refusal.
func TestShown(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{"reboot"}, `"reboot"`},
		{[]string{"uptime; id"}, `"uptime; id"`},
		{[]string{"echo", "a b", "c"}, `echo "a b" c`},
		{[]string{"echo", "\x1b[2J"}, `echo "\x1b[2J"`},
		{[]string{"echo", ""}, `echo ""`},
		{[]string{"ls", "-l"}, `"ls -l"`},
	} {
		if got := (&command{argv: tt.argv}).shown(); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.argv, got, tt.want)
		}
	}
	if n := len((&command{argv: strings.Split(strings.Repeat("a b,", 5000), ",")}).shown()); n > 300 {
		t.Errorf("%d bytes", n)
	}
}

// TestCommandPatterns holds which commands an entry allows.
func TestCommandPatterns(t *testing.T) {
	for _, tt := range []struct {
		argv, said string
		ok         bool
	}{
		{"uptime", "uptime", true},
		{"uptime", "uptime -p", false},
		{"uptime", "/usr/bin/uptime", false},
		{"systemctl status *", "systemctl status nginx", true},
		{"systemctl status *", "systemctl status", false},
		{"systemctl status *", "systemctl status nginx ssh", false},
		{"systemctl status *", "systemctl status --host=evil", false},
		{"systemctl status *", "systemctl restart nginx", false},
		{"systemctl status app-?", "systemctl status app-1", true},
		{"systemctl status app-?", "systemctl status app-12", false},
		{"cat /srv/*", "cat /srv/a/b", true},
		{"cat /srv/*", "cat /srv/../etc/shadow", false},
		{"cat /srv/*", "cat /srv/..", false},
		{"cat /srv/*", "cat /srv/a..b", true},
		{"tool --file=*", "tool --file=a", true},
		{"tool --file=*", "tool --file=../a", false},
		{"tool -n*", "tool -n5", true},
		{"ls ...", "ls", true},
		{"ls ...", "ls a b c", true},
		{"ls ...", "ls a -l", false},
		{"ls ...", "ls ../a", false},
		{"git diff *", "git diff a..b", true},
		{`echo \*`, "echo *", true},
		{`echo \*`, "echo a", false},
		{"echo ..", "echo ..", true},
		{"a *b*c", "a xbxbc", true},
		{"a *b*c", "a xbxb", false},
		{"a * b", "a b", false},
	} {
		argv := strings.Split(tt.argv, " ")
		if reason := checkArgv(argv); reason != "" {
			t.Errorf("%q: %s", tt.argv, reason)
		}
		said := strings.Split(tt.said, " ")
		if got := (&command{argv: argv}).matches(said[0], said[1:]); got != tt.ok {
			t.Errorf("%q allows %q: %v, want %v", tt.argv, tt.said, got, tt.ok)
		}
	}
}

// FuzzMatch holds that a pattern without wildcards matches its own text alone,
// and that what matched is refused as soon as it is an option or climbs.
func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add(`\*`, "*")
	f.Add("/srv/*", "/srv/../x")
	f.Add("*", "-x")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		got := matchArgument(pattern, s)
		if !wild(pattern) && got != (unescaped(pattern) == s) && !strings.HasSuffix(pattern, `\`) {
			t.Errorf("%q, %q: %v", pattern, s, got)
		}
		if got && wild(pattern) && (strings.HasPrefix(s, "-") && !strings.HasPrefix(pattern, "-") || climbs(s)) {
			t.Errorf("%q lets %q through", pattern, s)
		}
	})
}

// TestCleanPath holds which paths get as far as the other machine.
func TestCleanPath(t *testing.T) {
	m := &machine{name: "a", paths: []string{"/var/log", "/etc/hosts"}}
	for _, tt := range []struct{ path, want, problem string }{
		{"/var/log/a", "/var/log/a", ""},
		{"/var//log/./a/", "/var/log/a", ""},
		{"/var/log", "/var/log", ""},
		{"/etc/hosts", "/etc/hosts", ""},
		{"/var/logs", "", "may not be read on a. What may be: /var/log, /etc/hosts"},
		{"/etc/hosts.allow", "", "may not be read"},
		{"/etc/passwd", "", "may not be read"},
		{"/var/log/../../etc/passwd", "", `has a part ".."`},
		{"/var/log/..", "", `has a part ".."`},
		{"/var/log/...", "/var/log/...", ""},
		{"var/log/a", "", "is not absolute"},
		{"-n", "", "is not absolute"},
		{"/var/log/a\x00b", "", "NUL"},
		{"/var/log/" + strings.Repeat("x", 5000), "", "longer than"},
	} {
		got, err := new(fleet).cleanPath(m, tt.path)
		if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%q: %q, %v; want %q, %q", tt.path, got, err, tt.want, tt.problem)
		}
	}
}

// TestHints holds that the tools are what the policy and the command line make
// of them, and that their hints follow.
func TestHints(t *testing.T) {
	host := []hosted{{"name": "a", "address": "192.0.2.1", "agent": "none"}}
	safe := args{"argv": []string{"uptime"}}
	reboot := args{"argv": []string{"reboot"}, "destructive": true}
	paths := []args{{"path": "/var/log"}}
	for _, tt := range []struct {
		name  string
		p     args
		flags []string
		tools string
		run   string // hints of run
	}{
		{"nothing", args{"hosts": host}, nil, "hosts read_artifact", ""},
		{"safe", args{"hosts": host, "commands": []args{safe}, "paths": paths}, nil, "hosts read_artifact read_file run tail_log", `"readOnlyHint":true`},
		{"marked, not asked for", args{"hosts": host, "commands": []args{safe, reboot}}, nil, "hosts read_artifact run", `"readOnlyHint":true`},
		{"marked only", args{"hosts": host, "commands": []args{reboot}}, nil, "hosts read_artifact", ""},
		{"asked for", args{"hosts": host, "commands": []args{safe, reboot}}, []string{"-destructive"}, "hosts read_artifact run", `"destructiveHint":true`},
		{"nothing to ask for", args{"hosts": host, "commands": []args{safe}}, []string{"-destructive"}, "hosts read_artifact run", `"readOnlyHint":true`},
		{"any", args{"hosts": host}, []string{"-allow-any-command"}, "hosts read_artifact run", `"destructiveHint":true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := startServer(t, servertest.Config{}, tt.p, nil, tt.flags...)
			tools, err := c.Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, d := range tools {
				_, rest, _ := strings.Cut(string(d), `"name":"`)
				name, _, _ := strings.Cut(rest, `"`)
				names = append(names, name)
				if name == "run" && (!strings.Contains(string(d), tt.run) || strings.Contains(string(d), `"readOnlyHint":true`) != strings.Contains(tt.run, "readOnly")) {
					t.Errorf("hints of %s, want %s", d, tt.run)
				}
				if name != "run" && !strings.Contains(string(d), `"readOnlyHint":true`) {
					t.Errorf("%s is not read-only", name)
				}
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != tt.tools {
				t.Errorf("tools %s, want %s", got, tt.tools)
			}
		})
	}
}

// TestSecretsLeaveTheEnvironment holds that what a variable held is not there
// for anything that is started later.
func TestSecretsLeaveTheEnvironment(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "correct horse")
	p, err := parsePolicy("policy.json", []byte(`{"hosts":[{"name":"a","address":"x","agent":"none","passwordEnv":"WEIR_TEST_SECRET","passphraseEnv":"WEIR_TEST_SECRET"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFleet(p, permission{})
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := os.LookupEnv("WEIR_TEST_SECRET"); ok {
		t.Errorf("the environment still has %q", s)
	}
	if got, err := f.hosts["a"].Auth.Password(t.Context()); got != "correct horse" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
