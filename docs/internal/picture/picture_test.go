// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"reflect"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	want := &run{
		where:   "somewhere",
		events:  []event{{1000.5, "stop"}, {1500, "cancel"}, {1500.25, "stopped"}, {2000, "resume"}},
		samples: []sample{{0, 0, 0, 0}, {20, 5 << 20, 65536, 100}, {3000, 0, 0, 6 << 20}},
	}
	var b bytes.Buffer
	want.write(&b)
	have, err := parse(b.String())
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Fatalf("%+v, %v; want %+v", have, err, want)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg(have))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal("the picture is no XML: ", err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", header + "\n1,2,3,4\n", header + "\n1,2,3\n1,2,3\n", header + "\n1,2,3,x\n1,2,3,4\n", "# event soon stop\n"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

func TestAxis(t *testing.T) {
	for _, tt := range []struct{ most, end, tick float64 }{{0, 1, 1}, {64, 64, 16}, {7.3, 8, 2}, {9.8, 12, 4}, {0.3, 0.375, 0.125}} {
		if end, tick := axis(tt.most); end != tt.end || tick != tt.tick {
			t.Errorf("axis(%g) = %g, %g, want %g, %g", tt.most, end, tick, tt.end, tt.tick)
		}
	}
}

// TestCurrent holds that the picture in docs/ is that of the data beside it.
func TestCurrent(t *testing.T) {
	text, err := os.ReadFile("../../backpressure.csv")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile("../../backpressure.svg")
	if err != nil {
		t.Fatal(err)
	}
	data, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(svg(data), picture) {
		t.Error("docs/backpressure.svg is not drawn from docs/backpressure.csv: go generate ./docs/...")
	}
}
