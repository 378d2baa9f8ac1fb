// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// What the scripts share. They are started by `go run . hosts` in lab/:
//   node SCRIPT.mjs FIXTURE GREP TREE GIT REPO COMMITS < matches.json
// with Weir's example servers, the tree that grep is to serve, the repository that git is to serve and the number of its commits, and
// path:line of every line in the tree that has "match".
// They print one JSON line a check, {"name": …} or {"name": …, "error": …}, and {"done": true} at the end.

import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';

export const [, , fixture, grep, tree, git, repo, commits] = process.argv;
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

/** The tools of the git server that read. */
export const gitTools = ['git_blame', 'git_branches', 'git_diff', 'git_grep', 'git_log', 'git_ls_files', 'git_show', 'git_status'];

/** Walks git_log to its end with call, and wants every commit once, and in order. */
export async function logToTheEnd(call, maxBytes) {
  const seen = new Set();
  let cursor;
  let pages = 0;
  do {
    const result = await call({ maxBytes, ...(cursor && { cursor }) });
    pages++;
    const page = result.structuredContent;
    assert.ok(!result.isError, `page ${pages} is an error: ${textOf(result)}`);
    for (const c of page.items) {
      assert.equal(c.subject, `第 ${commits - 1 - seen.size} 次 "commit"`, `page ${pages}`);
      seen.add(c.commit);
    }
    cursor = page.nextCursor;
  } while (cursor);
  assert.ok(pages > 2, `only ${pages} pages: maxBytes was not minded`);
  assert.equal(seen.size, Number(commits));
}
