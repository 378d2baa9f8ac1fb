// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"context"
	"io"
)

// e5 reads the same chunks in two ways: one read as one message, and bytes to the LF.
func (l *lab) e5(ctx context.Context) error {
	for _, host := range []string{"readIsMessage", "toLF"} {
		c := Config{Mode: "chunk", Writer: "oneLock", Frames: 600, Size: 11264, CJK: true}
		p, err := l.start(ctx, c, startOptions{})
		if err != nil {
			return err
		}
		judge := NewClassifier(p.conf.Frames, p.conf.Size, p.conf.CJK, false)
		chunks := &chunkCounter{r: p.out, judge: NewClassifier(p.conf.Frames, p.conf.Size, p.conf.CJK, false)}
		_, err = judge.ReadFrom(chunks)
		if err != nil {
			p.stop()
			return err
		}
		if err := p.finish(ctx); err != nil {
			return err
		}
		sent := p.number(sentPrefix)
		l.count(sent, judge.Bytes)
		r := newRow("E5", host, 0, p.conf)
		wrong := judge.Bad() + sent - judge.Lines
		if host == "readIsMessage" {
			wrong = sent - chunks.right
			share := 0.0
			if chunks.reads > 0 {
				share = float64(chunks.notUTF8) / float64(chunks.reads) * 100
			}
			r.set("framesSent", sent).set("lines", chunks.reads).set("bytes", judge.Bytes).set("utf8Fail", chunks.notUTF8).set("utf8FailPct", share)
			r.set("note", "lines is the number of reads, utf8FailPct the share of reads that are not UTF-8 by themselves")
		} else {
			r.addCounts(judge.Counts, sent, sent)
		}
		r.set("value", float64(wrong)/float64(max(sent, 1))*100).set("unit", "% of frames wrong")
		if err := l.emit(r); err != nil {
			return err
		}
	}
	return nil
}

// chunkCounter takes every read of r for a message.
type chunkCounter struct {
	r                     io.Reader
	judge                 *Classifier
	reads, notUTF8, right int
}

func (c *chunkCounter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if n > 0 {
		c.reads++
		before := c.judge.UTF8Fail
		message := bytes.TrimSuffix(b[:n], []byte("\n"))
		c.judge.Line(message)
		c.notUTF8 += c.judge.UTF8Fail - before
		if c.judge.exact(message) {
			c.right++
		}
	}
	return n, err
}
