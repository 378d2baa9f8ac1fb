// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
)

// TestTranscripts plays testdata/*.txtar; the names of the transcripts cite
// the cases.
func TestTranscripts(t *testing.T) {
	servertest.Transcripts(t, "testdata/*.txtar", func(t *testing.T) servertest.Server {
		return newStage().server(server.Limits{}, new(logBuffer))
	})
}
