// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// What the scripts share. They are started by `go run . hosts` in lab/:
//   node SCRIPT.mjs FIXTURE GREP TREE < matches.json
// with Weir's two example servers, the tree that grep is to serve, and path:line of every line in it that has "match".
// They print one JSON line a check, {"name": …} or {"name": …, "error": …}, and {"done": true} at the end.

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';

export const [, , fixture, grep, tree] = process.argv;
export const matches = JSON.parse(await text(process.stdin));

const print = (value) => process.stdout.write(JSON.stringify(value) + '\n');

/** Runs f, and reports the error it throws. */
export async function check(name, f) {
  try {
    await f();
    print({ name });
  } catch (err) {
    print({ name, error: String(err?.message ?? err).slice(0, 2000) });
  }
}

export function done() {
  print({ done: true });
}

/** A text that gets damaged where a frame's bytes are not minded. */
export const hard = '水位不过坝顶，流过的都有计量。😀\u2028\u2029 "引号" \\反斜杠\\ <b>&amp;</b> \t\r\n\u0001 末';

export function textOf(result) {
  return result.content.filter((c) => c.type === 'text').map((c) => c.text).join('');
}

/** Walks a search to its end with call, which takes arguments and returns a result, and compares the union with matches. */
export async function pageToTheEnd(call, maxBytes) {
  const found = [];
  let cursor;
  let pages = 0;
  do {
    const result = await call({ pattern: 'match', maxBytes, ...(cursor && { cursor }) });
    pages++;
    const page = result.structuredContent;
    assert.ok(!result.isError, `page ${pages} is an error: ${textOf(result)}`);
    found.push(...page.items.map((m) => `${m.path}:${m.line}`));
    cursor = page.nextCursor;
    assert.notEqual(cursor, '', `page ${pages} has an empty cursor`);
    assert.equal(page.truncated, cursor !== undefined, `page ${pages}: truncated and nextCursor do not agree`);
    if (cursor) {
      assert.ok(textOf(result).slice(0, 2048).includes(cursor), `page ${pages}: the text does not begin with the cursor`);
    }
  } while (cursor);
  assert.ok(pages > 3, `only ${pages} pages: maxBytes was not minded`);
  // By bytes, as the expected list is sorted.
  found.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(found, matches);
}
