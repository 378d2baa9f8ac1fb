// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/owner"
)

// TestOwner holds that the owner of a call is shown the host, the stage and the
// process group over there, and never a secret; and that it can end it all.
func TestOwner(t *testing.T) {
	needProc(t)
	h := testHost(t, sharedSSHD(t))
	var o owner.Owner
	ctx := owner.NewContext(t.Context(), &o)
	sleep := tempSleep()
	cmd := sh("trap '' TERM; echo ready; sleep " + sleep + " & wait; sleep " + sleep + " # hunter2")
	cmd.Env, cmd.Redact = []string{"TOKEN=hunter2"}, []string{"hunter2"}
	ready := newSeen("ready\n")
	cmd.Sink = ready
	var out *exec.Output
	var all sync.WaitGroup
	all.Go(func() { out = mustRun(t, ctx, h, cmd) })
	<-ready.ch
	eventually(t, "its process group is shown", func() bool { return len(o.Things()) == 1 && strings.Contains(o.Things()[0].ID, "group") })
	thing := o.Things()[0]
	if thing.Kind != "ssh session" || thing.Name != "sh" || !strings.HasPrefix(thing.ID, "box output process group ") || strings.Contains(fmt.Sprint(thing), "hunter2") {
		t.Errorf("%q %q %q", thing.Kind, thing.Name, thing.ID)
	}
	began := time.Now()
	o.Kill() // at once, without Grace
	all.Wait()
	within(t, began, 5*time.Second)
	if !strings.HasSuffix(thing.ID, fmt.Sprint(out.PID)) || out.Signal != "SIGKILL" || out.End != exec.Cancelled || len(processes("sleep "+sleep)) > 0 {
		t.Errorf("%s, %+v", thing.ID, out)
	}
	if n := len(o.Things()); n != 0 {
		t.Errorf("%d things are owned after all", n)
	}
}

// TestOwnerStages holds that a call is shown, and can be ended, before it runs.
func TestOwnerStages(t *testing.T) {
	leaves(t)
	f := (&fake{silent: true}).start(t)
	h := f.host(t)
	var o owner.Owner
	var all sync.WaitGroup
	all.Go(func() {
		var e *Error
		if _, err := h.Run(owner.NewContext(context.Background(), &o), exec.Cmd{Path: "x"}); !errors.As(err, &e) || e.Stage != StageHandshake {
			t.Errorf("%v", err)
		}
	})
	eventually(t, "the stage is shown", func() bool { return len(o.Things()) == 1 && o.Things()[0].ID == "fake handshake" })
	o.Kill()
	all.Wait()
	if n := len(o.Things()); n != 0 {
		t.Errorf("%d things are owned after all", n)
	}
}
