// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Weir's examples driven by the MCP Inspector's command line, in both eras. Each call starts a server of its own, so that the
// cursors of a walk are good only because WEIR_CURSOR_KEY is given.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { check, done, fixture, git, gitTools, grep, hard, logToTheEnd, pageToTheEnd, repo, textOf, tree } from './checks.mjs';

const run = promisify(execFile);
const inspector = fileURLToPath(new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url));
const home = await mkdtemp(join(tmpdir(), 'weir-inspector-')); // the Inspector keeps files there
const env = { ...process.env, HOME: home };
const maxBuffer = 64 << 20;

/** Calls the Inspector and returns the result it prints. */
async function inspect(era, method, options, server) {
  const args = [inspector, '--cli', '--quiet', '--format', 'json', '--protocol-era', era, '--method', method,
    '-e', 'WEIR_CURSOR_KEY=the key of the inspector check, 32+', ...options, '--', ...server];
  const { stdout } = await run(process.execPath, args, { env, maxBuffer });
  return JSON.parse(stdout).result;
}

const call = (era, server, tool, args) =>
  inspect(era, 'tools/call', ['--tool-name', tool, '--tool-args-json', JSON.stringify(args)], server);

for (const era of ['legacy', 'modern']) {
  const at = (server, name) => `inspector ${era}, ${server}: ${name}`;
  for (const [name, server, want] of [
    ['fixture', [fixture], ['add', 'big', 'echo', 'panic', 'print', 'progress', 'slow', 'stubborn']],
    ['grep', [grep, '-root', tree], ['grep', 'read_file']],
    ['git', [git, '-root', repo], gitTools],
  ]) {
    await check(at(name, 'lists the tools, and finds no fault with their schemas (--strict)'), async () => {
      const names = (await inspect(era, 'tools/list', ['--strict'], server)).tools.map((t) => t.name);
      for (const n of want) {
        assert.ok(names.includes(n), `${n} is not among ${names}`);
      }
    });
  }
  await check(at('fixture -tools 6000', 'lists 6,000 tools, page after page'), async () => {
    const names = new Set((await inspect(era, 'tools/list', [], [fixture, '-tools', '6000'])).tools.map((t) => t.name));
    assert.ok(names.has('tool_0001') && names.has('tool_6000') && names.size >= 6008, `${names.size} tools`);
  });
  await check(at('fixture', 'a typed call has its structured result'), async () => {
    assert.deepEqual((await call(era, [fixture], 'add', { a: 20, b: 22 })).structuredContent, { sum: 42 });
  });
  await check(at('fixture', 'Chinese text and every awkward character come back'), async () => {
    assert.equal(textOf(await call(era, [fixture], 'echo', { text: hard })), hard);
  });
  await check(at('fixture', 'a big result of Chinese text comes back whole'), async () => {
    const text = textOf(await call(era, [fixture], 'big', { bytes: 3 << 20, fill: '坝' }));
    assert.ok(text === '坝'.repeat(1 << 20), `a text of ${text.length} characters instead of ${1 << 20}`);
  });
  await check(at('grep', 'pages to the end, with every match once, each page from another process'), () =>
    pageToTheEnd((args) => call(era, [grep, '-root', tree], 'grep', args), 32768));
  await check(at('git', 'git_log pages to the end, each page from another process'), () =>
    logToTheEnd((args) => call(era, [git, '-root', repo], 'git_log', args), 32768));
}
await rm(home, { recursive: true, force: true });
done();
