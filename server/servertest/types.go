// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import "github.com/weir-mcp/weir/internal/host"

type (
	// Result is what a tool returned. Raw is the result object as sent;
	// Content its content blocks, whose fields (Type, Text, Data, MIMEType,
	// URI, Name, Description, Resource) are empty where their type has none;
	// Structured the structuredContent as sent, nil when absent; IsError says
	// that the tool failed. Text() joins the text blocks by LF. Page() reads
	// the fields of a page: the number of Items, Omitted, Total (-1 when
	// unknown), and More, the cursor to go on with, "" for none.
	Result = host.Result

	// Progress is one progress notification: Progress so far, Total (0 when
	// unknown) and Message.
	Progress = host.Progress

	// Request is a request for Begin. Only Method is required. Params are the
	// params, encoded as those of Client.Request; nil means none. ID is the id
	// as raw JSON; nil means the next number. Protocol is the revision to send
	// the request by; "" means that of the session. Progress is called with
	// each progress notification, by the dispatcher: frames wait in
	// Config.Queue until it returns. Nil means that none is asked for.
	Request = host.Request

	// Pending is a request that was sent: its ID as raw JSON, its Method, and
	// when it was Sent. Done() is closed when it was answered, cancelled or
	// lost. Wait(ctx) waits for that and returns the raw result, or an error
	// as Client.Request does; when ctx ends first, the request stays open.
	// Cancel(reason) stops waiting and tells the server, unless nothing of the
	// request was written yet: then it is taken back. Any goroutine may call
	// them.
	Pending = host.Pending

	// Error is the server's JSON-RPC error: Code, Message, and Data as raw
	// JSON, nil when absent. Its text, Error(), holds code and message.
	Error = host.Error

	// OversizeError says that a frame was over Config.Limit: its Size and the
	// Limit, in bytes without the line end. Cut says that the session was
	// ended before the frame had; Size is what had come then. Error() is its
	// text.
	OversizeError = host.OversizeError

	// NoResponseError is the error of who stopped waiting for the response to
	// Method: Err is why, the cause of its context, and Diagnosis what
	// Client.Diagnose said at that moment. Error() is all of that, and
	// Unwrap() is Err.
	NoResponseError = host.NoResponseError

	// Frame is one line of the server's stdout, as it came. Seq counts them
	// from 0 (members of a batch have their line's), and At is when its end
	// was read. Raw is the line without its end, at most 1 KiB of one over
	// Config.Limit; Size is its length in bytes. Kind says what it is and
	// Faults, 0 for none, how it breaks the rules; both have a String. ID,
	// Method, Params and Result are the members of the message as sent, nil or
	// "" when absent, and Err is its error. Answers is the method of the
	// request that a response answers, and Late says that it had been
	// cancelled. Protocol is the revision that it was judged by. Nothing of it
	// may be changed.
	Frame = host.Frame

	// Pace makes reading slow: Chunk is the most bytes that one read takes,
	// zero means 64 KiB; Every is the pause after each, zero means none.
	Pace = host.Pace

	// Metrics are the counters of one session. Sizes are in bytes.
	//
	// What came: Received counts all bytes of stdout, before anything looks at
	// them, and LastReceived is when the last came; Lines counts complete
	// lines, Largest is the longest complete frame within Config.Limit,
	// Partial what has come of one that has not ended. Stray counts lines that
	// are no JSON-RPC message, Oversize those over Config.Limit, Faulty all
	// with a fault, Unasked responses and progress that belong to no open
	// request, Late responses to cancelled ones. FramesDropped is how many
	// lines Frames no longer has.
	//
	// What was sent: Requests and Cancels; Open is how many requests wait for
	// a response, and Lost how many did when the session ended. Sent are the
	// bytes that stdin has taken, Unsent those that wait for it, PeakUnsent
	// the most that ever did, and UnsentSince is when it last took one.
	//
	// The dispatcher: Dispatched counts the frames it took, Refused those that
	// found the queue full; Queued and QueuedBytes wait for it now, PeakQueued
	// and PeakBytes are the most that ever did; QueueWait is the time that
	// frames waited in sum, and LongestWait that of one.
	//
	// The session: Exit is nil while the server lives, and then how it ended
	// (Err and Code, At, Survivors killed, OutputHeld by somebody past its
	// end); Restarts counts the sessions before this one.
	Metrics = host.Metrics
)

// Errors of requests, for errors.Is. An *Error (for errors.As) is the
// server's own answer.
var (
	// ErrCancelled: the request was cancelled by Cancel.
	ErrCancelled = host.ErrCancelled
	// ErrOverload: the response, or the request, found the queue full; see
	// Config.Overload.
	ErrOverload = host.ErrOverload
	// ErrEnded: the session has ended without an answer, and the request is
	// lost. The error's text says how it ended.
	ErrEnded = host.ErrEnded
	// ErrUnsent: 256 MiB wait for the server to read its stdin.
	ErrUnsent = host.ErrUnsent
)
