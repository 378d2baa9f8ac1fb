// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cursor

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

// TestMain is also the child of TestProcessKey: with childVariable set it
// prints a token, or opens the one in it, and says whether the key is still in
// the environment.
func TestMain(m *testing.M) {
	token, child := os.LookupEnv(childVariable)
	if !child {
		goleak.VerifyTestMain(m)
		return
	}
	if _, found := os.LookupEnv(keyVariable); found {
		os.Stdout.WriteString("the key is still in the environment")
		os.Exit(1)
	}
	var c Codec[position]
	if token == "" {
		token, err := c.Encode(scope{tool: "grep"}, position{Path: "a", Line: 7})
		if err != nil {
			token = err.Error()
		}
		os.Stdout.WriteString(token)
		return
	}
	p, err := c.Decode(scope{tool: "grep"}, token)
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	os.Stdout.WriteString(p.Path)
}

const childVariable = "WEIR_CURSOR_TEST_CHILD"

type position struct {
	Path string `json:"path,omitempty"`
	Line int64  `json:"line,omitzero"`
	ID   uint64 `json:"id,omitzero"`
	Raw  []byte `json:"raw,omitempty"`
}

type scope struct {
	tool  string
	query string
}

func (s scope) CursorScope() (string, []byte) { return s.tool, []byte(s.query) }

var grep = scope{"grep", `{"pattern":"x"}`}

// case 71: a token comes back as the position it was made of, digits and all.
func TestRoundTrip(t *testing.T) {
	var c Codec[position]
	for _, want := range []position{
		{},
		{Path: "net/http/server.go", Line: 1},
		{Path: "目录/文件 \u2028 \"q\" <&>.go", Line: math.MinInt64},
		{Line: 9007199254740993, ID: math.MaxUint64},
		{Raw: []byte{0xff, 0xfe, 0}},
	} {
		token, err := c.Encode(grep, want)
		if err != nil {
			t.Fatalf("Encode(%+v): %v", want, err)
		}
		if len(token) > MaxLen {
			t.Errorf("token of %d bytes", len(token))
		}
		if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("token %q needs escapes", token)
		}
		got, err := c.Decode(grep, token)
		if err != nil {
			t.Fatalf("Decode: %v", err)
		}
		if got.Path != want.Path || got.Line != want.Line || got.ID != want.ID || !bytes.Equal(got.Raw, want.Raw) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// case 71: every token that does not belong has its own error, and each error
// tells the model to start again.
func TestRefused(t *testing.T) {
	var c Codec[position]
	token, err := c.Encode(grep, position{Path: "a", Line: 7})
	if err != nil {
		t.Fatal(err)
	}
	other := Codec[position]{Key: []byte("another key, of another server")}
	type renamed struct {
		Path string `json:"path"`
	}
	tests := []struct {
		name   string
		decode func() error
		want   error
	}{
		{"garbage", func() error { _, err := c.Decode(grep, "garbage"); return err }, ErrMalformed},
		{"not base64", func() error { _, err := c.Decode(grep, "{}"); return err }, ErrMalformed},
		{"number", func() error { _, err := c.Decode(grep, "5"); return err }, ErrMalformed},
		{"blank", func() error { _, err := c.Decode(grep, " "); return err }, ErrMalformed},
		{"line break inside", func() error { _, err := c.Decode(grep, token[:9]+"\n"+token[9:]); return err }, ErrMalformed},
		{"cut short", func() error { _, err := c.Decode(grep, token[:40]); return err }, ErrMalformed},
		{"other version", func() error { _, err := c.Decode(grep, "B"+token[1:]); return err }, ErrMalformed},
		{"too long", func() error { _, err := c.Decode(grep, strings.Repeat("A", MaxLen+1)); return err }, ErrTooLong},
		{"other key", func() error { _, err := other.Decode(grep, token); return err }, ErrKey},
		{"other tool", func() error { _, err := c.Decode(scope{"find", grep.query}, token); return err }, ErrTool},
		{"other arguments", func() error { _, err := c.Decode(scope{"grep", `{"pattern":"y"}`}, token); return err }, ErrQuery},
		{"other type", func() error { _, err := Codec[renamed]{}.Decode(grep, token); return err }, ErrType},
	}
	for _, tt := range tests {
		err := tt.decode()
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
			continue
		}
		if !strings.Contains(err.Error(), "start again without cursor") {
			t.Errorf("%s: the text %q does not say how to go on", tt.name, err)
		}
	}
}

// case 71: no byte of a token can be altered, and nothing added or taken away.
func TestAltered(t *testing.T) {
	var c Codec[position]
	token, _ := c.Encode(grep, position{Path: "a", Line: 7})
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range token {
		for _, r := range alphabet {
			if altered := token[:i] + string(r) + token[i+1:]; altered != token {
				if _, err := c.Decode(grep, altered); !errors.Is(err, ErrKey) && !errors.Is(err, ErrMalformed) {
					t.Fatalf("byte %d as %c: error %v", i, r, err)
				}
			}
		}
		if _, err := c.Decode(grep, token[:i]); i > 0 && err == nil {
			t.Fatalf("accepted the first %d bytes", i)
		}
	}
}

// case 71: absent and empty both mean the start.
func TestStart(t *testing.T) {
	p, err := Codec[position]{}.Decode(grep, "")
	if err != nil || p.Path != "" || p.Line != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// case 71: the size of a token is bounded, to the byte.
func TestTooLong(t *testing.T) {
	c := Codec[string]{Key: []byte("a key of the test")}
	longest := 0
	for n := range MaxLen {
		token, err := c.Encode(grep, strings.Repeat("x", n))
		if errors.Is(err, ErrPosition) {
			break
		}
		if err != nil || len(token) > MaxLen {
			t.Fatalf("%d bytes: token of %d, %v", n, len(token), err)
		}
		if _, err := c.Decode(grep, token); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		longest = n
	}
	if longest < 300 {
		t.Errorf("the longest position is %d bytes", longest)
	}
	if _, err := c.Encode(grep, strings.Repeat("x", longest+1)); !errors.Is(err, ErrPosition) || strings.Contains(err.Error(), "again") {
		t.Errorf("error %v, want ErrPosition, which asks a model for nothing", err)
	}
}

// case 71: a token is good for MaxAge, to the millisecond, and no longer.
func TestExpiry(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Codec[position]
		good time.Duration
	}{
		{"default", Codec[position]{}, 24 * time.Hour},
		{"negative", Codec[position]{MaxAge: -1}, 24 * time.Hour},
		{"short", Codec[position]{MaxAge: 1500 * time.Millisecond}, 1500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				token, err := tt.c.Encode(grep, position{Line: 1})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.good)
				if _, err := tt.c.Decode(grep, token); err != nil {
					t.Errorf("after %v: %v", tt.good, err)
				}
				time.Sleep(time.Millisecond)
				if _, err := tt.c.Decode(grep, token); !errors.Is(err, ErrExpired) {
					t.Errorf("after %v and 1 ms: error %v, want ErrExpired", tt.good, err)
				}
				if _, err := tt.c.Decode(scope{tool: "find"}, token); !errors.Is(err, ErrTool) {
					t.Errorf("expired, other tool: error %v, want ErrTool", err)
				}
			})
		})
	}
}

func TestAuthorMistakes(t *testing.T) {
	var c Codec[position]
	if _, err := c.Encode(nil, position{}); err == nil {
		t.Error("Encode took a nil scope")
	}
	if _, err := c.Decode(nil, "x"); err == nil {
		t.Error("Decode took a nil scope")
	}
	if _, err := c.Encode(grep, position{Path: "\xff"}); err == nil {
		t.Error("Encode took a string that JSON would change")
	}
	if _, err := (Codec[chan int]{}).Encode(grep, nil); err == nil {
		t.Error("Encode took a channel")
	}
}

// The parts of what is hashed cannot be shifted into each other.
func TestHashParts(t *testing.T) {
	if bytes.Equal(hash([]byte("ab"), []byte("c")), hash([]byte("a"), []byte("bc"))) {
		t.Error("the parts run together")
	}
}

func TestConcurrent(t *testing.T) {
	var c Codec[position]
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				token, err := c.Encode(grep, position{Line: int64(i)})
				if err != nil {
					t.Error(err)
				}
				if p, err := c.Decode(grep, token); err != nil || p.Line != int64(i) {
					t.Errorf("got %+v, %v", p, err)
				}
			}
		})
	}
	wg.Wait()
}

// The key of the environment outlives the process, a random one does not, and
// neither is left for children to inherit.
func TestProcessKey(t *testing.T) {
	child := func(token string, env ...string) string {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), env...)
		cmd.Env = append(cmd.Env, childVariable+"="+token, "GORACE=atexit_sleep_ms=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("child: %v: %s", err, out)
		}
		return string(out)
	}
	const key = keyVariable + "=a key of the user's own"
	if got := child(child("", key), key); got != "a" {
		t.Errorf("with the same key: %q", got)
	}
	if got := child(child("", key)); got != ErrKey.Error() {
		t.Errorf("with a random key: %q", got)
	}
	if got := child(child("")); got != ErrKey.Error() {
		t.Errorf("with two random keys: %q", got)
	}
	if got := child(child("", keyVariable+"=")); got != ErrKey.Error() {
		t.Errorf("with an empty key, which is none: %q", got)
	}
	// A short key is refused, and not shown.
	token := child("", key)
	for _, short := range []string{"abc", "fifteen-bytes-l"} {
		for _, got := range []string{child("", keyVariable+"="+short), child(token, keyVariable+"="+short)} {
			if !strings.Contains(got, keyVariable+" is shorter than 16 bytes") || strings.Contains(got, short) {
				t.Errorf("with the key %q: %q", short, got)
			}
		}
	}
	if got := child(child("", keyVariable+"=sixteen-bytes-lo"), keyVariable+"=sixteen-bytes-lo"); got != "a" {
		t.Errorf("with a key of %d bytes: %q", MinKey, got)
	}
}

// A short key of the codec's own is refused too, at the first call already.
func TestShortKey(t *testing.T) {
	for n := range MinKey + 2 {
		c := Codec[position]{Key: bytes.Repeat([]byte("k"), n)}
		bad := n > 0 && n < MinKey
		if _, err := c.Encode(grep, position{}); (err == errShortKey) != bad {
			t.Errorf("%d bytes: Encode: %v", n, err)
		}
		if _, err := c.Decode(grep, ""); (err == errShortKey) != bad {
			t.Errorf("%d bytes: Decode: %v", n, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	c := Codec[position]{Key: []byte("a key of the test")}
	token, _ := c.Encode(grep, position{Path: "a", Line: 7})
	f.Add(token)
	f.Add("")
	f.Add("garbage")
	f.Add("AYCAgICAgICAgIABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := c.Decode(grep, token)
		if err != nil {
			if !strings.Contains(err.Error(), "start again without cursor") {
				t.Errorf("Decode(%q): the text %q does not say how to go on", token, err)
			}
			return
		}
		if token != "" && (p.Path != "a" || p.Line != 7) {
			t.Errorf("Decode(%q) = %+v: nobody sealed that", token, p)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("a", int64(1), []byte("x"), "grep", "{}")
	f.Fuzz(func(t *testing.T, path string, line int64, raw []byte, tool, query string) {
		var c Codec[position]
		s := scope{tool, query}
		want := position{Path: path, Line: line, Raw: raw}
		token, err := c.Encode(s, want)
		if err != nil {
			return
		}
		if len(token) > MaxLen {
			t.Fatalf("token of %d bytes", len(token))
		}
		got, err := c.Decode(s, token)
		if err != nil {
			t.Fatal(err)
		}
		if got.Path != path || got.Line != line || !bytes.Equal(got.Raw, raw) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if _, err := c.Decode(scope{tool + "x", query}, token); !errors.Is(err, ErrTool) {
			t.Errorf("other tool: %v", err)
		}
	})
}

// A token is quoted inside a JSON text inside a JSON frame; it stays as it is.
func TestNoEscapes(t *testing.T) {
	token, _ := Codec[position]{}.Encode(grep, position{Path: "目录"})
	b, err := json.Marshal(token)
	if err != nil || string(b) != `"`+token+`"` {
		t.Errorf("%s, %v", b, err)
	}
}

func BenchmarkEncode(b *testing.B) {
	var c Codec[position]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Encode(grep, position{Path: "net/http/server.go", Line: 1234}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	var c Codec[position]
	token, _ := c.Encode(grep, position{Path: "net/http/server.go", Line: 1234})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decode(grep, token); err != nil {
			b.Fatal(err)
		}
	}
}
