// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// openSSH is a program of OpenSSH; the test is skipped where there is none.
func openSSH(t testing.TB, name string) string {
	t.Helper()
	path, err := osexec.LookPath(name)
	if err != nil {
		sshdtest.Need(t) // fails where it has to be there
		t.Skipf("no %s", name)
	}
	return path
}

// configDir writes the files of an archive, in which DIR stands for the
// directory.
func configDir(t testing.TB, archive []byte) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range txtar.Parse(archive).Files {
		writeFile(t, filepath.Join(dir, f.Name), []byte(strings.ReplaceAll(string(f.Data), "DIR", dir)))
		names = append(names, f.Name)
	}
	return dir, names
}

// TestConfigAsOpenSSH holds that the files of testdata/config mean what the ssh
// program takes them for, option by option. The comment of an archive names the
// hosts to ask for, one a line; one in a line "refused: host: text" is refused
// here, with that text, though ssh takes it, and "bad: host: text" by both.
func TestConfigAsOpenSSH(t *testing.T) {
	program := openSSH(t, "ssh")
	archives, err := filepath.Glob("testdata/config/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Setenv("WEIR_TEST_NAME", "from-environment")
			data, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			dir, _ := configDir(t, data)
			file := filepath.Join(dir, "config")
			c := &Config{Files: []string{file}}
			for line := range strings.Lines(string(txtar.Parse(data).Comment)) {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				alias, want, refused := line, "", false
				if kind, rest, ok := strings.Cut(line, ": "); ok {
					alias, want, _ = strings.Cut(rest, ": ")
					refused = kind == "refused"
				}
				out, sshErr := osexec.Command(program, "-F", file, "-G", alias).CombinedOutput()
				h, err := c.Host(alias)
				if want != "" {
					var bad *ConfigError
					if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: error %v, want one with %q", alias, err, want)
					} else if bad.Host != alias && !strings.Contains(line, "any:") || bad.File == "" {
						t.Errorf("%s: error %#v does not say which host and where", alias, bad)
					}
					if refused != (sshErr == nil) {
						t.Errorf("%s: ssh says %v, %s", alias, sshErr, out)
					}
					continue
				}
				if err != nil || sshErr != nil {
					t.Errorf("%s: error %v; ssh says %v, %s", alias, err, sshErr, out)
					continue
				}
				compareHost(t, c, alias, h, string(out))
			}
		})
	}
}

// A comparison is an option as it came out, and as ssh has it.
type comparison struct{ name, got, want string }

// compareHost compares a host with what "ssh -G" says about it.
func compareHost(t *testing.T, c *Config, alias string, h *Host, out string) {
	t.Helper()
	said := make(map[string][]string)
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		said[name] = append(said[name], value)
	}
	one := func(name string) string {
		if len(said[name]) == 0 {
			return ""
		}
		return said[name][0]
	}
	u, err := c.lookup(hop{alias: alias})
	if err != nil {
		t.Fatal(err)
	}
	user := h.User
	if user == "" {
		user = u.local
	}
	host, port := splitAddress(h.Address)
	raw := func(lines []configLine) (out []string) {
		for _, l := range lines {
			out = append(out, l.args[0])
		}
		return out
	}
	first := func(option string) string {
		if l, ok := u.set[option]; ok {
			return l.args[0]
		}
		return ""
	}
	seconds := func(s string) string {
		if s == "none" || s == "" {
			return "0s"
		}
		return s + "s"
	}
	orNone := func(s, byDefault string) string {
		if s == byDefault {
			return ""
		}
		return s
	}
	rows := []comparison{
		{"hostname", host, one("hostname")},
		{"port", port, one("port")},
		{"user", user, one("user")},
		{"network", h.Network, map[string]string{"inet": "tcp4", "inet6": "tcp6"}[one("addressfamily")]},
		{"connecttimeout", fmt.Sprint(h.ConnectTimeout.Seconds(), "s"), seconds(one("connecttimeout"))},
		{"hostkeyalias", h.HostKeys.Alias, one("hostkeyalias")},
		{"proxyjump", strings.TrimPrefix(orNone(first("proxyjump"), "none"), "ssh://"), orNone(one("proxyjump"), "none")},
		{"identitiesonly", fmt.Sprint(h.Auth.IdentitiesOnly), fmt.Sprint(one("identitiesonly") == "yes")},
		{"identityagent", h.Auth.Agent, one("identityagent")},
		{"certificatefile", fmt.Sprint(raw(u.certs)), fmt.Sprint(said["certificatefile"])},
	}
	if one("batchmode") != "yes" { // with it, Debian's ssh has another default
		rows = append(rows, comparison{"serveraliveinterval", fmt.Sprint(h.Keepalive.Seconds(), "s"), seconds(one("serveraliveinterval"))})
	}
	if misses := "3"; h.KeepaliveMisses != 0 || one("serveralivecountmax") != misses {
		rows = append(rows, comparison{"serveralivecountmax", fmt.Sprint(h.KeepaliveMisses), one("serveralivecountmax")})
	}
	if u.keys != nil || len(said["identityfile"]) == 0 || !strings.HasPrefix(one("identityfile"), "~/.ssh/id_") {
		rows = append(rows, comparison{"identityfile", fmt.Sprintf("%q", raw(u.keys)), fmt.Sprintf("%q", said["identityfile"])})
	}
	for _, o := range []struct {
		name  string
		files []string
	}{{"userknownhostsfile", h.HostKeys.Files}, {"globalknownhostsfile", h.HostKeys.GlobalFiles}} {
		if l, ok := u.set[o.name]; ok && !slices.Contains(l.args, "none") {
			want, err := expand(l, one(o.name), u.tokens(host, port), true) // ssh does this later
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, comparison{o.name, strings.Join(o.files, " "), want})
		}
	}
	for method, option := range map[string]string{methodPublicKey: "pubkeyauthentication", methodPassword: "passwordauthentication", methodInteractive: "kbdinteractiveauthentication"} {
		methods, err := h.Auth.methods()
		if err != nil {
			t.Fatal(err)
		}
		allowed := one(option) != "no" && one(option) != "false"
		if preferred := one("preferredauthentications"); preferred != "" {
			allowed = allowed && slices.Contains(strings.Split(preferred, ","), method)
		}
		if one("batchmode") == "yes" && method != methodPublicKey {
			allowed = false
		}
		rows = append(rows, comparison{option, fmt.Sprint(slices.Contains(methods, method)), fmt.Sprint(allowed)})
	}
	for _, r := range rows {
		if r.got != r.want {
			t.Errorf("%s: %s is %q, and for ssh %q", alias, r.name, r.got, r.want)
		}
	}
}

// TestConfigTokensAsOpenSSH holds that the names of key files come out as the
// ssh program says that it looks for them.
func TestConfigTokensAsOpenSSH(t *testing.T) {
	program := openSSH(t, "ssh")
	t.Setenv("WEIR_TEST_NAME", "50%h")
	dir, _ := configDir(t, []byte(`-- config --
Host a
  HostName %h.example.com
  Port 2200
  User joe
  HostKeyAlias other
  IdentityFile DIR/%r_%h_%p_%n_%u_%k_%i_%l_%L_%%
  IdentityFile "DIR/${WEIR_TEST_NAME}/a b"
  IdentityFile ~/.ssh/%n
  IdentityFile %d/x
`))
	file := filepath.Join(dir, "config")
	h, err := (&Config{Files: []string{file}}).Host("a")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := osexec.Command(program, "-v", "-F", file, "-o", "ProxyCommand=true", "a").CombinedOutput()
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^debug1: identity file (.*) type -?\d+\r?$`).FindAllStringSubmatch(string(out), -1) {
		if !strings.HasSuffix(m[1], "-cert") {
			want = append(want, m[1])
		}
	}
	if !slices.Equal(h.Auth.KeyFiles, want) || len(want) != 4 {
		t.Errorf("key files are\n%q, for ssh\n%q\n%s", h.Auth.KeyFiles, want, out)
	}
}

// TestConfigJumps holds that a way over several hosts is made as ssh makes it:
// the first has its own, the others are reached through the one before, and
// what the option says about a hop comes before its block.
func TestConfigJumps(t *testing.T) {
	dir, _ := configDir(t, []byte(`-- config --
Host target
  ProxyJump a,joe@b:2222
Host also
  ProxyJump a,joe@b:2222
Host a
  HostName a.example.com
  ProxyJump ssh://root@[2001:db8::1]:23/
Host b
  HostName b.example.com
  Port 9
  User bob
  ProxyJump never
Host single
  ProxyJump [::2]
Host loop
  ProxyJump loop
Host ring1
  ProxyJump ring2
Host ring2
  ProxyJump x,ring3
Host ring3
  ProxyJump ring1
Host x
  ProxyJump ring2
Host off
  ProxyJump none
Host *
  Port 77
  ProxyJump none
`))
	c := &Config{Files: []string{filepath.Join(dir, "config")}}
	h, err := c.Host("target")
	if err != nil {
		t.Fatal(err)
	}
	var way []string
	for at := h; at != nil; at = at.Via {
		way = append(way, at.User+"@"+at.Address+" "+at.Name)
	}
	want := []string{"@target:77 target", "joe@b.example.com:2222 joe@b:2222", "@a.example.com:77 a", "root@[2001:db8::1]:23 root@[2001:db8::1]:23"}
	if !slices.Equal(way, want) {
		t.Errorf("the way is %q, want %q", way, want)
	}
	also, err := c.Host("also")
	if err != nil {
		t.Fatal(err)
	}
	if also == h || also.Via != h.Via {
		t.Error("the hosts before the last are not shared")
	}
	data, _ := os.ReadFile(c.Files[0])
	writeFile(t, c.Files[0], []byte(strings.Replace(string(data), "HostName b.example.com", "HostName b2.example.com", 1)))
	if also, err = c.Host("also"); err != nil || also.Via == h.Via || also.Via.Via != h.Via.Via {
		t.Errorf("after a change of the file the hop that it is about is the same (%v), or the one before is another", err)
	}
	if h, err = c.Host("single"); err != nil || h.Via.Address != "[::2]:22" {
		t.Errorf("single: %v %v", h, err)
	}
	if h, err = c.Host("off"); err != nil || h.Via != nil {
		t.Errorf("off: %v %v", h, err)
	}
	for _, alias := range []string{"loop", "ring1", "ring2", "ring3", "x"} {
		if _, err := c.Host(alias); err == nil || !strings.Contains(err.Error(), "circle") {
			t.Errorf("%s: error %v, want a circle", alias, err)
		}
	}
}

// TestParseHops holds what ProxyJump may say.
func TestParseHops(t *testing.T) {
	for _, text := range []string{"-oProxyCommand=x@one", "joe:secret@one", "@one", "one,", "one:", "one:x", "one:65536", "::1", "[::1", "joe@", "a b", "%h", "one/two"} {
		if hops, err := parseHops(configLine{option: "ProxyJump", args: []string{text}}); err == nil {
			t.Errorf("%q: %v", text, hops)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{"none": "[]", "NONE": "[]", "a,b@c:22": "[a b@c:22]", "[::1]": "[[::1]:22]", "d@e@f": "[d@e@f]"} {
		if hops, err := parseHops(configLine{option: "ProxyJump", args: []string{text}}); err != nil || fmt.Sprint(hops) != want {
			t.Errorf("%q: %v, %v", text, hops, err)
		}
	}
}

// TestConfigAlgorithms holds what becomes of the lists of algorithms.
func TestConfigAlgorithms(t *testing.T) {
	var byDefault ssh.Config
	byDefault.SetDefaults()
	for _, test := range []struct {
		line string
		get  func(*Host) []string
		want []string // nil for an error
	}{
		{"Ciphers aes256-gcm@openssh.com,unheard-of,aes128-ctr", func(h *Host) []string { return h.Ciphers }, []string{"aes256-gcm@openssh.com", "aes128-ctr"}},
		{"Ciphers unheard-of", nil, nil},
		{"Ciphers -*", nil, nil},
		{"Ciphers -aes*,chacha*", nil, nil},
		{"Ciphers +3des-cbc", func(h *Host) []string { return h.Ciphers }, append(slices.Clone(byDefault.Ciphers), "3des-cbc")},
		{"MACs ^hmac-sha2-512", func(h *Host) []string { return h.MACs[:2] }, []string{"hmac-sha2-512", "hmac-sha2-256-etm@openssh.com"}},
		{"MACs -*-etm@openssh.com", func(h *Host) []string {
			return slices.DeleteFunc(h.MACs, func(s string) bool { return !strings.Contains(s, "etm") })
		}, []string{}},
		{"KexAlgorithms curve25519-sha256", func(h *Host) []string { return h.KeyExchanges }, []string{"curve25519-sha256"}},
		{"HostKeyAlgorithms rsa-sha2-*", func(h *Host) []string { return h.HostKeys.Algorithms }, []string{"rsa-sha2-512-cert-v01@openssh.com", "rsa-sha2-256-cert-v01@openssh.com", "rsa-sha2-512", "rsa-sha2-256"}},
		{"CASignatureAlgorithms ssh-ed25519", func(h *Host) []string { return h.HostKeys.AuthorityAlgorithms }, []string{"ssh-ed25519"}},
		{"PubkeyAcceptedKeyTypes ssh-ed25519,ssh-ed25519-cert-v01@openssh.com", func(h *Host) []string { return h.Auth.Algorithms }, []string{"ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com"}},
	} {
		file := filepath.Join(t.TempDir(), "config")
		writeFile(t, file, []byte(test.line+"\n"))
		h, err := (&Config{Files: []string{file}}).Host("a")
		switch {
		case test.want == nil:
			if err == nil || !strings.Contains(err.Error(), "none of") {
				t.Errorf("%s: error %v", test.line, err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.line, err)
		default:
			if got := test.get(h); !slices.Equal(got, test.want) {
				t.Errorf("%s: %q, want %q", test.line, got, test.want)
			}
		}
	}
}

// TestConfigFiles holds which files are read, and which are refused.
func TestConfigFiles(t *testing.T) {
	home := t.TempDir()
	defer func(old func() (string, error)) { homeDir = old }(homeDir)
	homeDir = func() (string, error) { return home, nil }
	c := new(Config)
	if h, err := c.Host("web1"); err != nil || h.Address != "web1:22" {
		t.Fatalf("without files: %v, %v", h, err)
	}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".ssh", "config")
	writeFile(t, file, []byte("Include more\nHost web1\n  HostName one.example.com\n"))
	writeFile(t, filepath.Join(home, ".ssh", "more"), []byte("Host web2\n  HostName two.example.com\n"))
	for alias, want := range map[string]string{"web1": "one.example.com:22", "web2": "two.example.com:22"} {
		if h, err := c.Host(alias); err != nil || h.Address != want {
			t.Errorf("%s: %v, %v", alias, h, err)
		}
	}
	bad := func(what, text string) {
		t.Helper()
		var e *ConfigError
		if _, err := c.Host("web1"); !errors.As(err, &e) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want %q", what, err, text)
		}
	}
	for _, name := range []string{file, filepath.Join(home, ".ssh", "more")} {
		if runtime.GOOS == "windows" {
			break // no such modes
		}
		os.Chmod(name, 0o620)
		bad("writable by a group", "may be changed by others")
		os.Chmod(name, 0o600)
	}
	os.Remove(file)
	os.Mkdir(file, 0o700)
	bad("a directory", "not a regular file")
	c.Files = []string{filepath.Join(home, "none")}
	bad("a named file that is not there", "no such file")
	c.Files = []string{}
	if h, err := c.Host("web1"); err != nil || h.Address != "web1:22" {
		t.Errorf("no files: %v, %v", h, err)
	}
}

// TestConfigCallbacks holds that a passphrase is asked for by code, for each
// hop, and that nothing gives a host a password.
func TestConfigCallbacks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	writeFile(t, file, []byte("Host a\n ProxyJump b\n"))
	c := &Config{Files: []string{file}, Passphrase: func(context.Context, string) (string, error) { return "", nil }}
	h, err := c.Host("a")
	if err != nil {
		t.Fatal(err)
	}
	for ; h != nil; h = h.Via {
		if h.Auth.Passphrase == nil || h.Auth.Password != nil || h.Auth.KeyboardInteractive != nil {
			t.Errorf("%s: %v", h.Name, h.Auth)
		}
	}
	writeFile(t, file, []byte("Host a\n Password secret\n"))
	if _, err := c.Host("a"); err == nil || !strings.Contains(err.Error(), "not known") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password in a file: %v", err)
	}
}

// TestConfigNames holds that a name cannot be more than a name.
func TestConfigNames(t *testing.T) {
	c := &Config{Files: []string{}}
	for _, name := range []string{"", "-oProxyCommand=x", "a b", "a\nb", "../x", "a/b", "root@a", "a,b", "$(x)", "a;b", "a%h", "*", "!a", strings.Repeat("x", 256)} {
		if h, err := c.Host(name); err == nil {
			t.Errorf("%q: %v", name, h.Address)
		}
	}
	for name, address := range map[string]string{"::1": "[::1]:22", "10.0.0.1": "10.0.0.1:22", "Web_1.Example.com": "web_1.example.com:22"} {
		if h, err := c.Host(name); err != nil || h.Address != address {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	archives, _ := filepath.Glob("testdata/config/*.txtar")
	for _, archive := range archives {
		data, err := os.ReadFile(archive)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(file.Data)
		}
	}
	f.Add([]byte("=\n\"\nHost\r\nPort\r"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parseConfig("config", data)
		if err != nil {
			var bad *ConfigError
			if !errors.As(err, &bad) {
				t.Fatalf("%T", err)
			}
			return
		}
		total := strings.Count(string(data), "\n") + 1
		for _, l := range lines {
			if l.number < 1 || l.number > total || len(l.args) == 0 || l.option == "" {
				t.Fatalf("%+v of %d lines", l, total)
			}
			if strings.EqualFold(l.option, "proxyjump") {
				parseHops(l)
			}
		}
	})
}

func FuzzSplitArgs(f *testing.F) {
	f.Add(`a "b c" 'd' \"e\ f # g`)
	f.Fuzz(func(t *testing.T, s string) {
		args, err := splitArgs(s)
		if err != nil {
			return
		}
		// Whatever came out goes in again.
		var again []string
		for _, a := range args {
			again = append(again, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a)+`"`)
		}
		back, err := splitArgs(strings.Join(again, " "))
		if err != nil || !slices.Equal(args, back) {
			t.Fatalf("%q: %q, then %q, %v", s, args, back, err)
		}
	})
}
