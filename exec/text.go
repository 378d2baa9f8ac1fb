// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// Text returns the head and the tail with a line between them that says how
// much is missing, or the head alone if nothing is.
func (s Stream) Text() string { return s.text("") }

// text is Text with the way to what is missing in that line.
func (s *Stream) text(full string) string {
	if !s.Truncated {
		return s.Head
	}
	if full != "" {
		full = "; to see more, " + clause(full)
	}
	return s.Head + fmt.Sprintf("\n[… %s of %s bytes left out here%s …]\n", comma(s.Dropped), comma(s.Bytes), full) + s.Tail
}

// String returns the output as a person, or a model, reads it: how the child
// ended, unless that was with status 0 and there is output, then standard
// output, then standard error under a line of its own. Of a stream that is
// binary, which a zero byte or more than a tenth of other bytes that are not
// UTF-8 show, it only says so, in one line.
func (o *Output) String() string { return o.text(o.Stdout.binary(), o.Stderr.binary()) }

// text is String where it is known which streams are binary.
func (o *Output) text(outBinary, errBinary bool) string {
	var b strings.Builder
	if !o.Success() || o.End == PipesHeld || len(o.Survivors) > 0 || o.MayRun != "" || o.Stdout.Bytes+o.Stderr.Bytes == 0 {
		b.WriteString("[" + o.summary() + "]\n")
	}
	if o.Stdout.Bytes == 0 && o.Stderr.Bytes == 0 {
		b.WriteString("[no output]\n")
	}
	holds := func(note string) string {
		if o.MayRun != "" { // it may be only the connection that is gone
			note = strings.Replace(note, heldOpen, "", 1)
		}
		return note
	}
	block := func(s *Stream, binary bool) {
		if binary {
			b.WriteString("[" + holds(s.described(o.Full)) + "]\n")
			return
		}
		text := s.text(o.Full)
		b.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		if note := holds(s.note()); note != "" {
			b.WriteString("[" + note + "]\n")
		}
	}
	block(&o.Stdout, outBinary)
	if o.Stderr.Bytes > 0 {
		b.WriteString("[standard error]\n")
		block(&o.Stderr, errBinary)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// note says what a reader of the text should know of a stream.
func (s *Stream) note() string {
	var notes []string
	if s.Truncated {
		notes = append(notes, fmt.Sprintf("%s bytes, %s lines in all", comma(s.Bytes), comma(s.Lines)))
	}
	if s.Invalid {
		notes = append(notes, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	if s.SoFar {
		notes = append(notes, soFar)
	}
	return strings.Join(notes, "; ")
}

const (
	soFar    = "this is the output so far" + heldOpen
	heldOpen = "; another process still holds it open"
)

// binary tells by what was kept of a stream whether it is not text, as an
// artifact's store does by its first bytes.
func (s *Stream) binary() bool {
	const replaced = "\uFFFD"
	bytes, invalid := 0, 0
	for _, text := range []string{s.Head, s.Tail} {
		if strings.IndexByte(text, 0) >= 0 {
			return true
		}
		n := strings.Count(text, replaced)
		invalid += n
		bytes += len(text) - n*(len(replaced)-1) // each stands for one byte
	}
	return s.Invalid && invalid*10 > bytes
}

// described is what stands for a stream that is binary. It is not longer than
// what text and note say beside the bytes of one that is truncated.
func (s *Stream) described(full string) string {
	text := comma(s.Bytes) + " bytes of binary output, not shown"
	if full != "" {
		text += "; to see it, " + clause(full)
	}
	if s.SoFar {
		text += "; " + soFar
	}
	return text
}

// summary says in one sentence how the child ended.
func (o *Output) summary() string {
	var b strings.Builder
	b.WriteString(firstOf(o.Name, "the process"))
	if o.Host != "" {
		b.WriteString(" on " + o.Host)
	}
	switch after := " after " + round(o.Elapsed).String(); o.End {
	case Signalled:
		b.WriteString(" was ended by " + o.Signal)
	case TimedOut:
		b.WriteString(" was stopped" + after + ": " + firstOf(o.Cause, "timed out"))
	case Cancelled:
		b.WriteString(" was stopped" + after + ": " + firstOf(o.Cause, "cancelled"))
	case OutputLimit:
		fmt.Fprintf(&b, " was stopped%s: it wrote more than its limit, %s bytes in all", after, comma(o.Stdout.Bytes+o.Stderr.Bytes))
	case Unknown:
		b.WriteString(" " + o.exit())
		if o.Cause != "" {
			b.WriteString(": " + o.Cause)
		}
	default:
		b.WriteString(" " + o.exit())
		if o.End == PipesHeld && len(o.Survivors) == 0 {
			b.WriteString("; a process that it had left behind held its output open, and was ended")
		}
	}
	if o.End != Exited && o.End != PipesHeld && o.End != Signalled && o.End != Unknown && o.ExitCode >= 0 {
		b.WriteString("; it " + o.exit())
	}
	for i, s := range o.Survivors {
		if i == 0 {
			b.WriteString("; still running: ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (pid %d)", s.Name, s.PID)
	}
	if o.MayRun != "" {
		b.WriteString("; it may still be running: " + o.MayRun)
	}
	return b.String()
}

func (o *Output) exit() string {
	switch {
	case o.ExitCode >= 0:
		return "exited with status " + strconv.Itoa(o.ExitCode)
	case o.Signal != "":
		return "was ended by " + o.Signal
	}
	return "ended, and how is not known"
}

// lastWords is the end of standard error, for an error text.
func (o *Output) lastWords() string {
	text := strings.TrimSpace(o.Stderr.Head)
	if o.Stderr.Truncated {
		text = strings.TrimSpace(o.Stderr.Tail)
	}
	if text == "" {
		return ""
	}
	if o.Stderr.binary() {
		return "\n[" + o.Stderr.described("") + "]"
	}
	const limit = 500
	if len(text) > limit {
		text = "…" + quote.CutTail(text, limit)
	}
	return "\n" + text
}

// Result returns the output as a tool's result: String is what a model reads,
// and o, fitted to the budget, the structured content. The schema of that is
// the one that follows from Output. A child that failed is no error result: it
// is what the model asked for.
func (o *Output) Result(b result.Budget) result.Result {
	b = b.WithDefaults(result.Budget{})
	fitted := o.fit(b.Bytes)
	return result.Result{
		Content:    []result.Content{result.TextContent{Text: fitted.text(o.Stdout.binary(), o.Stderr.binary())}},
		Structured: fitted,
	}
}

// fit returns o with its streams cut so that each of its forms takes at most so
// many bytes, as encoded: o itself when it does already. What is taken away is the middle,
// of the longer stream first, and counts as dropped. Below some 1,000 bytes it
// does what it can.
func (o *Output) fit(limit int) *Output {
	const fixed = 700 // every member but texts, with the longest numbers
	room := limit - fixed - inner(o.Cause) - inner(o.Signal) - inner(o.Host) - inner(o.MayRun) - inner(o.Full)
	for _, s := range o.Survivors {
		room -= inner(s.Name) + len(`{"pid":1234567890,"name":""},`)
	}
	room = min(room, limit-o.around())
	outSize, errSize := o.Stdout.size(), o.Stderr.size()
	if outSize+errSize <= room {
		return o
	}
	room = max(room, 0)
	errRoom := min(errSize, max(room/4, room-outSize))
	f := *o
	f.Stdout = o.Stdout.fit(room - errRoom)
	f.Stderr = o.Stderr.fit(errRoom)
	return &f
}

// around is how many bytes String has at most, as encoded, beside the texts of
// the streams: it says twice how to read the rest when both are cut.
func (o *Output) around() int {
	bare := *o
	for _, s := range []*Stream{&bare.Stdout, &bare.Stderr} {
		s.Head, s.Tail, s.Truncated, s.Dropped = "", "", true, s.Bytes
	}
	return quote.Len(bare.String()) + 2*len(`\n`)
}

func (s *Stream) size() int { return inner(s.Head) + inner(s.Tail) }

// fit is s with texts of at most so many bytes, as encoded.
func (s Stream) fit(limit int) Stream {
	if s.size() <= limit {
		return s
	}
	// What stays is the start of the head and the end of the last text.
	tailFrom := s.Tail
	if !s.Truncated {
		tailFrom = s.Head
	}
	had := len(s.Head) + len(s.Tail)
	tailRoom := limit / 4
	if s.Truncated && inner(s.Tail) < tailRoom {
		tailRoom = inner(s.Tail)
	}
	head := quote.Cut(s.Head, limit-tailRoom)
	if !s.Truncated {
		tailFrom = s.Head[len(head):]
	}
	tail := quote.CutTail(tailFrom, tailRoom)
	s.Head, s.Tail, s.Truncated = head, tail, true
	s.Dropped += int64(had - len(head) - len(tail))
	return s
}

// clause is a sentence such as Output.Full as the end of another one.
func clause(s string) string {
	if len(s) > 1 && 'A' <= s[0] && s[0] <= 'Z' && 'a' <= s[1] && s[1] <= 'z' {
		s = strings.ToLower(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".")
}

// inner is the length of s inside a JSON string.
func inner(s string) int { return quote.Len(s) - len(`""`) }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// round leaves three digits or so.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}

// comma writes a number with thousands separated.
func comma(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
