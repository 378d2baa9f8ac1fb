// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import "slices"

// Check is one thing that the gate looks at.
type Check struct {
	// Name is what -only takes.
	Name string
	// What says what is looked at, in a few words.
	What string
	// Why says why it matters.
	Why string
	// Needs is what must be given for it, such as "-slow"; "" for nothing.
	Needs string
	// Case numbers the eight cases of a release gate, 0 for none.
	Case int

	stream bool // lives on what all sessions have noticed
	long   int  // the longest begin first
	run    func(*probe)
}

// checks are all of them, in the order of a report.
var checks []Check

func init() {
	checks = []Check{
		{Name: "handshake", What: "opens a session in at least one era, and lists its tools",
			Why: "without it no host gets any further", run: opening},

		{Name: "stray-first", Case: 7, What: "writes nothing on stdout before the first message",
			Why: "a banner is not JSON: some hosts end the session over it, others pair each answer with the wrong request", stream: true, run: stream},
		{Name: "stray-between", Case: 7, What: "writes nothing but messages on stdout between two of them",
			Why: "stdout belongs to the protocol; a log line there goes to stderr", stream: true, run: stream},
		{Name: "stray-call", Case: 7, Needs: "-call", What: "writes nothing but messages on stdout while a call runs",
			Why: "a tool that prints breaks the frames of every other call", stream: true, run: strayCall},
		{Name: "utf8", What: "writes strict UTF-8, without a byte-order mark",
			Why: "frames are UTF-8; a platform's own charset makes a line that no JSON reader takes", stream: true, run: stream},
		{Name: "line-ends", What: "ends each line with LF alone",
			Why: "a line ends with LF; with CR LF a host that compares bytes or counts them is off by one", stream: true, run: stream},
		{Name: "one-object", What: "writes one whole object on each line",
			Why: "a host reads lines: what is torn, merged or printed over several lines is lost, and what follows may be too", stream: true, run: stream},
		{Name: "messages", What: "writes nothing but JSON-RPC 2.0 messages that its era has",
			Why: "what has no version, no code or the same name twice is read differently by each host", stream: true, run: stream},
		{Name: "ids", What: "echoes each id exactly, and answers each request once",
			Why: "the id is all that a host has to find the call that an answer belongs to", stream: true, run: stream},
		{Name: "order", What: "sends progress before the answer it belongs to, for a token it was given, and growing",
			Why: "progress after the answer belongs to no call, and some hosts end the session over it", stream: true, run: stream},

		{Name: "id-kinds", What: "takes ids of any kind: texts, zero, negative and large numbers",
			Why: "hosts choose their ids; an id that comes back rounded or as another type is an answer lost", run: idKinds},
		{Name: "crlf-in", What: "takes lines that end with CR LF",
			Why: "hosts on Windows write them, and CR is white space in JSON", run: crlfIn},
		{Name: "blank-in", What: "goes on after an empty line",
			Why: "an empty line must not end a session", run: blankIn},
		{Name: "bom-in", What: "goes on after a byte-order mark before the first message",
			Why: "hosts on Windows may write one, and must not lose the server over it", run: bomIn},
		{Name: "split-writes", What: "takes a request in pieces, also one that is cut inside a character",
			Why: "a pipe has no message boundaries: one read is not one message", run: splitWrites},
		{Name: "coalesced-writes", What: "takes many requests in one write",
			Why: "a pipe has no message boundaries: one read may hold many messages", run: coalescedWrites},
		{Name: "malformed-json", Case: 5, What: "answers a line that is not JSON with one error, and goes on",
			Why: "one bad line must cost one error, not the session", run: malformedJSON},
		{Name: "not-a-request", What: "answers JSON that is no request with one error, and goes on",
			Why: "one bad message must cost one error, not the session", run: notARequest},
		{Name: "oversized-in", What: "goes on after a line of 64 MiB, in bounded memory", long: 6,
			Why: "without a limit any peer can fill the memory; with one that ends the session, a single request costs all", run: oversizedIn},
		{Name: "unknown-method", What: "answers an unknown method with -32601",
			Why: "new hosts ask for what old servers do not have; silence costs them a time-out each", run: unknownMethod},
		{Name: "era-legacy", What: "serves hosts that begin with initialize (2025-11-25 and before)",
			Why: "most hosts still do", run: eraLegacy},
		{Name: "era-modern", What: "serves hosts that begin with server/discover (2026-07-28), or lets them fall back",
			Why: "a server that dies of an unexpected first message cannot be reached by them at all", run: eraModern},

		{Name: "eof-answers", What: "answers what it has read before the end of stdin", long: 1,
			Why: "server < requests.jsonl must not lose answers", run: eofAnswers},
		{Name: "eof-exit", What: "ends soon after the end of stdin", long: 1,
			Why: "that is how a host asks a server to end; what does not heed it stays behind", run: eofExit},
		{Name: "host-death", What: "ends when its host has died", long: 1,
			Why: "nobody is left to stop it then: such servers pile up", run: hostDeath},
		{Name: "stderr-unread", What: "goes on although nobody reads its stderr", long: 2,
			Why: "a host may ignore stderr; a log that blocks there blocks every answer", run: stderrUnread},
		{Name: "stderr-flood-read", Case: 6, Needs: "-noisy", What: "answers while 10 MiB pass over stderr, which the host reads", long: 3,
			Why: "logs must not hold up answers", run: stderrFloodRead},
		{Name: "stderr-flood-unread", Case: 6, Needs: "-noisy", What: "answers while 10 MiB go to stderr, which nobody reads", long: 3,
			Why: "a host may ignore stderr; a log that blocks there blocks every answer", run: stderrFloodUnread},
		{Name: "idle", What: "uses no CPU and no more memory while nothing is asked", long: 10,
			Why: "hosts keep a dozen servers running all day", run: idle},
		{Name: "schemas", What: "lists tools whose schemas hosts accept",
			Why: "one schema that a host refuses can hide all tools, or make every request fail", run: schemas},

		{Name: "limit-under", Case: 1, Needs: "-big", What: "sends a response of one byte less than -limit, whole", long: 5,
			Why: "what is under the limit must arrive as it is", run: limitUnder},
		{Name: "limit-over", Case: 2, Needs: "-big", What: "answers a call whose response would be one byte over -limit with something bounded", long: 5,
			Why: "a host discards a frame over its limit: the call is lost unless the server bounds it first", run: limitOver},
		{Name: "huge-field", Case: 3, Needs: "-big", What: "answers a call for one field of 8 MiB whole or bounded, and goes on", long: 5,
			Why: "one giant string is the commonest result that freezes an agent", run: hugeField},
		{Name: "many-blocks", Case: 4, Needs: "-big", What: "answers a call for 10,000 content blocks whole or bounded, and goes on", long: 5,
			Why: "many small blocks cost a host more than one large one", run: manyBlocks},
		{Name: "bounded", Needs: "-big", What: "bounds a large result, and says so", long: 5,
			Why: "a result that is cut silently looks like complete evidence; one that is not cut at all fills the context", run: bounded},
		{Name: "unread-output", Needs: "-big", What: "reads on and loses nothing while the host does not read its output", long: 5,
			Why: "a server that stops reading when its output is stuck never sees the cancel that would free it", run: unreadOutput},

		{Name: "cancel-c0", Needs: "-slow", What: "heeds a cancel that comes with the call or while it is queued", long: 7,
			Why: "a cancel that comes before the work is the cheapest, and the one most often lost", run: cancelC0},
		{Name: "cancel-c2", Needs: "-slow", What: "heeds a cancel while a child process runs", long: 7,
			Why: "stopping the call and not its child leaves the work running", run: cancelC2},
		{Name: "cancel-c3", Needs: "-slow", What: "heeds a cancel while the handler works", long: 7,
			Why: "a time-out that only changes what the user sees stops nothing", run: cancelC3},
		{Name: "cancel-c4", Case: 8, Needs: "-big", What: "stays usable after a cancel while the response is being written", long: 7,
			Why: "this is where servers freeze: in write(), with a lock held, and deaf", run: cancelC4},
		{Name: "cancel-silent", Needs: "-slow", What: "sends nothing more for a call that was cancelled", long: 9,
			Why: "an answer to a cancelled call has an unknown id for the host; some reconnect over it", run: cancelSilent},
		{Name: "children-gone", Needs: "-slow", What: "leaves no process behind: after a cancel, at the end of stdin, when its host has died", long: 8,
			Why: "child processes that outlive their call hold locks, ports and memory", run: childrenGone},
	}
}

// Checks lists all checks, in the order of a report.
func Checks() []Check { return slices.Clone(checks) }

// Find returns the check of that name.
func Find(name string) (Check, bool) {
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		return Check{}, false
	}
	return checks[i], true
}
