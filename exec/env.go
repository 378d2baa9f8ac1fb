// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// minimal are the variables that Cmd.CleanEnv keeps: where programs, the
// user's files and temporary files are, the locale, and what Windows itself
// needs.
var minimal = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ",
	"LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
}

// environ is the environment of the child.
func (c *Cmd) environ() ([]string, error) {
	var env []string
	switch {
	case c.CleanEnv:
		for _, key := range minimal {
			if v, ok := os.LookupEnv(key); ok {
				env = append(env, key+"="+v)
			}
		}
	case c.Env != nil:
		if key := "SYSTEMROOT"; runtime.GOOS == "windows" {
			env = append(env, key+"="+os.Getenv(key)) // nothing runs without it
		}
	default:
		env = os.Environ()
	}
	if c.Dir != "" && (c.CleanEnv || c.Env == nil) {
		if dir, err := filepath.Abs(c.Dir); err == nil {
			env = append(env, "PWD="+dir)
		}
	} else if c.Env == nil {
		return env, nil // a process's own environment needs no check
	}
	env = append(env, c.Env...)
	for _, kv := range env {
		if strings.IndexByte(kv, 0) >= 0 {
			return nil, errors.New("a variable of the environment contains NUL")
		}
	}
	return unique(env), nil
}

// unique keeps the last of the entries with the same key.
func unique(env []string) []string {
	seen := make(map[string]bool, len(env))
	out := make([]string, 0, len(env))
	for _, kv := range slices.Backward(env) {
		key := kv
		if i := strings.IndexByte(kv[min(1, len(kv)):], '='); i >= 0 {
			key = kv[:i+1] // Windows has names that begin with =
		}
		if runtime.GOOS == "windows" {
			key = strings.ToUpper(key)
		}
		if kv != "" && !seen[key] {
			seen[key] = true
			out = append(out, kv)
		}
	}
	slices.Reverse(out)
	return out
}
