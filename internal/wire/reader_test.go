// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// frames reads to the end and writes each frame, or what stood in its place,
// as a string.
func frames(t testing.TB, r *Reader) []string {
	t.Helper()
	var got []string
	for {
		frame, err := r.Next()
		var long *FrameTooLong
		switch {
		case errors.As(err, &long):
			got = append(got, fmt.Sprintf("too long: %d id %s", long.Size, long.ID.Raw))
		case err == io.EOF:
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
			return got
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(frame))
		}
	}
}

// chunked are the ways in which the same bytes may arrive.
var chunked = []struct {
	name string
	wrap func(io.Reader) io.Reader
}{
	{"at once", func(r io.Reader) io.Reader { return r }},
	{"byte by byte", iotest.OneByteReader},
	{"in halves", iotest.HalfReader},
	{"with the error at once", iotest.DataErrReader},
	{"in sevens", func(r io.Reader) io.Reader { return &chunkReader{r, 7} }},
	{"with empty reads", func(r io.Reader) io.Reader { return &emptyReads{r: r} }},
}

type chunkReader struct {
	r io.Reader
	n int
}

func (c *chunkReader) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }

// emptyReads returns nothing, and no error, every other time.
type emptyReads struct {
	r   io.Reader
	odd bool
}

func (e *emptyReads) Read(p []byte) (int, error) {
	if e.odd = !e.odd; e.odd {
		return 0, nil
	}
	return e.r.Read(p)
}

func TestReader(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"nothing", "", 0, nil},
		{"two", "a\nb\n", 0, []string{"a", "b"}},
		{"blank lines: case 10", "\n\n  \t\na\n\r\n \r\r\nb\n\n", 0, []string{"a", "b"}},
		{"CRLF: case 10", "a\r\nb\r\n", 0, []string{"a", "b"}},
		{"CR alone is no end: case 10", "a\rb\r\r\n", 0, []string{"a\rb\r"}},
		{"blanks before LF: case 01", "a \t\nb\n", 0, []string{"a \t", "b"}},
		{"last line without LF: case 01", "a\nb", 0, []string{"a", "b"}},
		{"last line ends in CR", "a\r", 0, []string{"a"}},
		{"last line is blank", "a\n \t", 0, []string{"a"}},
		{"raw U+2028 is no end: case 04", "a\u2028b\u2029c\u0085d\n", 0, []string{"a\u2028b\u2029c\u0085d"}},
		{"NUL is a byte", "a\x00b\n", 0, []string{"a\x00b"}},

		{"byte order mark: case 09", "\xef\xbb\xbfa\nb\n", 0, []string{"a", "b"}},
		{"byte order mark alone: case 09", "\xef\xbb\xbf", 0, nil},
		{"byte order mark on a blank line: case 09", "\xef\xbb\xbf\r\na", 0, []string{"a"}},
		{"two byte order marks: case 09", "\xef\xbb\xbf\xef\xbb\xbfa\n", 0, []string{"\xef\xbb\xbfa"}},
		{"byte order mark later: case 09", "a\n\xef\xbb\xbfb\n", 0, []string{"a", "\xef\xbb\xbfb"}},
		{"half a byte order mark: case 09", "\xef\xbb\n", 0, []string{"\xef\xbb"}},
		{"less than a byte order mark", "\xef", 0, []string{"\xef"}},
		{"byte order mark is not counted", "\xef\xbb\xbfab\n", 2, []string{"ab"}},
		{"byte order mark, then too long", "\xef\xbb\xbfabc\n", 2, []string{"too long: 3 id "}},
		{"byte order mark and a tiny limit", "\xef\xbb\xbfa\n", 1, []string{"a"}},

		{"exactly the limit: case 03", "abcd\nx\n", 4, []string{"abcd", "x"}},
		{"one above: case 03", "abcde\nx\n", 4, []string{"too long: 5 id ", "x"}},
		{"CR is not counted: case 03", "abcd\r\nabcde\r\nx\n", 4, []string{"abcd", "too long: 5 id ", "x"}},
		{"a second CR is counted: case 03", "abc\r\r\nabcd\r\r\nx\n", 4, []string{"abc\r", "too long: 5 id ", "x"}},
		{"CR in the middle is counted: case 03", "abcd\re\nx\n", 4, []string{"too long: 6 id ", "x"}},
		{"too long without LF: case 03", "abcdefgh", 4, []string{"too long: 8 id "}},
		{"too long in a row", "abcde\nabcdef\nabcdefg", 4, []string{"too long: 5 id ", "too long: 6 id ", "too long: 7 id "}},
		{"too many blanks", "      \nx\n", 4, []string{"too long: 6 id ", "x"}},
		{"limit of the chunk's sum: case 03", "abcd\nabcd\nabcd\n", 4, []string{"abcd", "abcd", "abcd"}},

		{"id in front", `{"id":5,"method":"tools/call"}` + "\n", 8, []string{"too long: 30 id 5"}},
		{"id behind", `{"method":"tools/call","params":{"id":6},"id":"a-7"}` + "\nx", 8, []string{`too long: 52 id "a-7"`, "x"}},
	}
	for _, tt := range tests {
		for _, c := range chunked {
			t.Run(tt.name+"/"+c.name, func(t *testing.T) {
				r := NewReader(c.wrap(strings.NewReader(tt.in)), tt.limit)
				got := frames(t, r)
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
					t.Errorf("%q\n got %q\nwant %q", tt.in, got, tt.want)
				}
				s := r.Stats()
				if s.Bytes != int64(len(tt.in)) {
					t.Errorf("%d bytes were read, want %d", s.Bytes, len(tt.in))
				}
				long := strings.Count(strings.Join(tt.want, "\n"), "too long")
				if s.TooLong != int64(long) || s.Frames != int64(len(tt.want)-long) {
					t.Errorf("stats %+v, want %d frames and %d too long", s, len(tt.want)-long, long)
				}
			})
		}
	}
}

// TestReaderSizes has frames around every border of the buffers (case 05).
func TestReaderSizes(t *testing.T) {
	const limit = 6 << 20
	sizes := []int{1, 250, 65_535, 65_536, 65_537, 32_767, 32_768, 32_769, 131_071, 131_072, 131_073, 300, 5 << 20, 7, 200_000, limit - 1, limit, 3}
	for _, end := range []string{"\n", "\r\n"} {
		var in bytes.Buffer
		for i, n := range sizes {
			in.WriteString(strings.Repeat(string(rune('a'+i)), n) + end)
		}
		for _, chunk := range []int{4 << 10, 65_535, 64 << 10, 32 << 20} {
			r := NewReader(&chunkReader{bytes.NewReader(in.Bytes()), chunk}, limit)
			for i, n := range sizes {
				frame, err := r.Next()
				if err != nil || len(frame) != n || strings.Trim(string(frame), string(rune('a'+i))) != "" {
					t.Fatalf("chunks of %d, frame %d: %d bytes, %v, want %d", chunk, i, len(frame), err, n)
				}
				if waste := cap(frame) - len(frame); waste > 8<<10 && waste > len(frame)/4 {
					t.Errorf("frame of %d bytes holds %d", len(frame), cap(frame))
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
			if s := r.Stats(); s.Largest != limit {
				t.Errorf("largest %d, want %d", s.Largest, limit)
			}
		}
	}
}

// TestReaderLimitCountsTheFrame has a frame just below a large limit, and more
// frames in the same read (case 03).
func TestReaderLimitCountsTheFrame(t *testing.T) {
	const limit = 100_000
	in := strings.Repeat("a", limit-1) + "\nb\n" + strings.Repeat("c", limit) + "\r\n" + strings.Repeat("d", limit+1) + "\ne\n"
	for _, c := range chunked {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			for _, f := range frames(t, NewReader(c.wrap(strings.NewReader(in)), limit)) {
				if strings.HasPrefix(f, "too long") {
					if want := fmt.Sprintf("too long: %d id ", limit+1); f != want {
						t.Errorf("got %q, want %q", f, want)
					}
					f = ""
				}
				got = append(got, len(f))
			}
			if want := []int{limit - 1, 1, limit, 0, 1}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("frames of %v bytes, want %v", got, want)
			}
		})
	}
}

// TestReaderMemory sends 64 MiB without LF (case 03): all that is allocated,
// not only what is kept, stays near the limit.
func TestReaderMemory(t *testing.T) {
	const limit = 1 << 20
	const size = 64 << 20
	head := `{"jsonrpc":"2.0","method":"m","params":{"text":"`
	tail := `"},"id":41}`
	in := io.MultiReader(strings.NewReader(head), &letters{size - len(head) - len(tail), readSize}, strings.NewReader(tail), strings.NewReader("\nnext\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := NewReader(in, limit)
	_, err := r.Next()
	runtime.ReadMemStats(&after)
	var long *FrameTooLong
	if !errors.As(err, &long) || long.Size != size || long.Limit != limit || long.ID.Raw != "41" {
		t.Fatalf("got %v", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*limit {
		t.Errorf("%d bytes were allocated for a limit of %d", got, limit)
	}
	if frame, err := r.Next(); err != nil || string(frame) != "next" {
		t.Errorf("then %q, %v", frame, err)
	}
}

// letters is n bytes of text, at most chunk a read.
type letters struct{ n, chunk int }

func (l *letters) Read(p []byte) (int, error) {
	if l.n == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), l.n, l.chunk)], manyLetters)
	l.n -= n
	return n, nil
}

var manyLetters = bytes.Repeat([]byte("x"), readSize)

// underRace is set when the race detector is on.
var underRace bool

// TestReaderByteByByte reads 16 MiB a byte at a time (case 03), once as a frame
// and once as one that is discarded. If the time were quadratic it would take
// days.
func TestReaderByteByByte(t *testing.T) {
	size := 16 << 20
	if underRace {
		size = 1 << 20 // each byte is some twenty times as slow
	}
	for _, limit := range []int{size, size / 16} {
		in := io.MultiReader(&letters{size, 1}, iotest.OneByteReader(strings.NewReader("\nb\n")))
		got := frames(t, NewReader(in, limit))
		if len(got) != 2 || got[1] != "b" || limit == size && len(got[0]) != size {
			t.Errorf("limit %d: %d frames", limit, len(got))
		}
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name, in string
		want     []string
	}{
		{"between frames", "a\n", []string{"a"}},
		{"in a frame", "a\nb", []string{"a"}},
		{"in a long frame", "a\n" + strings.Repeat("b", 100_000), []string{"a"}},
		{"in a frame above the limit", "a\n" + strings.Repeat("b", 200_001), []string{"a", "too long: 200001 id "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(io.MultiReader(strings.NewReader(tt.in), iotest.ErrReader(broken)), 200_000)
			var got []string
			for {
				frame, err := r.Next()
				var long *FrameTooLong
				switch {
				case errors.As(err, &long):
					got = append(got, fmt.Sprintf("too long: %d id ", long.Size))
					continue
				case err == nil:
					got = append(got, string(frame))
					continue
				case err != broken:
					t.Errorf("error %v", err)
				}
				break
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if _, err := r.Next(); err != broken {
				t.Errorf("then %v", err)
			}
		})
	}
}

// neverReader never returns anything, nor an error.
type neverReader struct{}

func (neverReader) Read([]byte) (int, error) { return 0, nil }

func TestReaderNoProgress(t *testing.T) {
	if _, err := NewReader(neverReader{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("error %v", err)
	}
}

// TestReaderFramesAreTheCallers keeps all frames and looks at them at the end.
func TestReaderFramesAreTheCallers(t *testing.T) {
	var in, want strings.Builder
	for i := range 3000 {
		line := strings.Repeat(fmt.Sprint(i, " "), i%97*i%1000+1)
		if i%100 == 0 {
			line = strings.Repeat(fmt.Sprint(i/100%10), 100_000+10*i) // around each buffer's end
		}
		in.WriteString(line + "\n")
		want.WriteString(line + "|")
	}
	r := NewReader(strings.NewReader(in.String()), 0)
	var kept [][]byte
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		kept = append(kept, frame)
	}
	if got := string(bytes.Join(kept, []byte("|"))) + "|"; got != want.String() {
		t.Error("frames have changed after Next returned them")
	}
}

// TestReaderUsesWhatIsThere gives two frames in one read, and then blocks.
func TestReaderUsesWhatIsThere(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	go func() {
		_, _ = pw.Write([]byte("one\ntwo\nthr"))
	}()
	r := NewReader(pr, 0)
	if n := r.Buffered(); n != 0 {
		t.Errorf("Buffered is %d before the first read", n)
	}
	for _, want := range []struct {
		frame    string
		buffered int
	}{{"one", len("two\n")}, {"two", 0}} {
		frame, err := r.Next()
		if err != nil || string(frame) != want.frame {
			t.Fatalf("Next = %q, %v", frame, err)
		}
		if n := r.Buffered(); n != want.buffered {
			t.Errorf("after %q Buffered is %d, want %d", frame, n, want.buffered)
		}
	}
	go func() {
		_, _ = pw.Write([]byte("ee\n"))
		_ = pw.Close()
	}()
	if got := frames(t, r); len(got) != 1 || got[0] != "three" {
		t.Errorf("then %q", got)
	}
}

func TestReaderAllocates(t *testing.T) {
	r := NewReader(&endless{piece: append(callFrame(250), '\n'), chunk: readSize}, 0)
	if n := testing.AllocsPerRun(1000, func() { _, _ = r.Next() }); n > 1 {
		t.Errorf("%v allocations a frame", n)
	}
	r = NewReader(&endless{piece: append(callFrame(1<<20), '\n'), chunk: readSize}, 0)
	if n := testing.AllocsPerRun(20, func() { _, _ = r.Next() }); n > 1 {
		t.Errorf("%v allocations a frame of 1 MiB, after the first", n)
	}
}

// FuzzReader cuts a stream in chunks and holds the frames against a split at
// LF.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbf{\"id\":1}\r\n\n[2]\n  {\"x\":[{\"id\":3}],\"id\":\"\\u0041\"}"), 5, 12)
	f.Add([]byte("a\r\r\nb"), 1, 2)
	f.Fuzz(func(t *testing.T, in []byte, chunk, limit int) {
		limit = max(1, limit%100)
		chunk = max(1, chunk%50)
		got := frames(t, NewReader(&chunkReader{bytes.NewReader(in), chunk}, limit))
		var want []string
		lines := bytes.Split(bytes.TrimPrefix(in, []byte("\xef\xbb\xbf")), []byte("\n"))
		for _, line := range lines {
			line = bytes.TrimSuffix(line, []byte("\r"))
			switch {
			case len(line) > limit:
				var s idSeeker
				s.feed(line)
				want = append(want, fmt.Sprintf("too long: %d id %s", len(line), s.id().Raw))
			case len(bytes.Trim(line, " \t\r")) > 0:
				want = append(want, string(line))
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q in chunks of %d, limit %d\n got %q\nwant %q", in, chunk, limit, got, want)
		}
	})
}
