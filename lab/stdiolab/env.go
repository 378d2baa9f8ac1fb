// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machineKeys are the fields of the row ENV that tell one machine and toolchain from another.
var machineKeys = []string{"go", "os", "kernel", "arch", "cores", "GOMAXPROCS", "page", "pipe", "python", "jdk"}

// environment is the row ENV: key=value fields.
func (l *lab) environment(ctx context.Context) []string {
	pipe := "unknown"
	if r, w, err := os.Pipe(); err == nil {
		if n := pipeSize(r); n > 0 {
			pipe = strconv.Itoa(n)
		}
		r.Close()
		w.Close()
	}
	env := []string{
		"go=" + runtime.Version(), "os=" + runtime.GOOS, "kernel=" + orAbsent(kernel(ctx)), "arch=" + runtime.GOARCH,
		"cores=" + strconv.Itoa(runtime.NumCPU()), "GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0)),
		"page=" + strconv.Itoa(os.Getpagesize()), "pipe=" + pipe,
		"pipe-max-size=" + orAbsent(fileText("/proc/sys/fs/pipe-max-size")),
		"pipe-user-pages-soft=" + orAbsent(fileText("/proc/sys/fs/pipe-user-pages-soft")),
		"LANG=" + orUnset("LANG"), "LC_ALL=" + orUnset("LC_ALL"),
	}
	// That of the lab's folder, which drives the TypeScript client; outside of it, that of the PATH.
	node := orAbsent(versionText(ctx, "node", "--version"))
	if l.workshop != nil {
		if _, v, err := l.workshop.Node(ctx, 1, 0); err == nil {
			node = v
		}
	}
	env = append(env, "node="+node, "python="+orAbsent(versionOf(ctx, "python3", "--version")), "jdk="+orAbsent(versionOf(ctx, "java", "-version")))
	commit := versionText(ctx, "git", "rev-parse", "--short=12", "HEAD")
	if commit != "" && versionText(ctx, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		commit += "+changes"
	}
	return append(env, "commit="+orAbsent(commit), "utc="+time.Now().UTC().Format(time.RFC3339))
}

// machine is what of the environment tells machines apart, as it is here.
func machine(ctx context.Context) map[string]string {
	here := map[string]string{}
	for _, f := range (&lab{}).environment(ctx) {
		name, value, _ := strings.Cut(f, "=")
		here[name] = value
	}
	return here
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

func orUnset(name string) string {
	if v, ok := os.LookupEnv(name); ok {
		return v
	}
	return "unset"
}

func fileText(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func kernel(ctx context.Context) string {
	if v := fileText("/proc/sys/kernel/osrelease"); v != "" {
		return v
	}
	if runtime.GOOS == "windows" {
		return versionText(ctx, "cmd", "/c", "ver")
	}
	return versionText(ctx, "uname", "-r")
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// versionOf is the first version number that a program prints of itself; "" when it cannot be run.
func versionOf(ctx context.Context, name string, args ...string) string {
	return versionNumber.FindString(versionText(ctx, name, args...))
}

func versionText(ctx context.Context, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
