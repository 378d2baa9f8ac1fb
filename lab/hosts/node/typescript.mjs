// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Weir's examples driven by the TypeScript client SDK, in both eras.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { check, done, fixture, git, gitTools, grep, hard, logToTheEnd, matches, pageToTheEnd, repo, textOf, tree } from './checks.mjs';

const eras = [
  { revision: '2025-11-25', mode: 'legacy' },
  { revision: '2026-07-28', mode: { pin: '2026-07-28' } },
];

/** Starts a server and connects; said(text) resolves when the server has written text on stderr. */
async function connect(era, command, ...args) {
  const transport = new StdioClientTransport({ command, args, stderr: 'pipe' });
  let log = '';
  const waiting = [];
  transport.stderr.on('data', (chunk) => {
    log += chunk;
    waiting.forEach((w) => w());
  });
  const said = (text, ms = 30_000) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server did not say ${JSON.stringify(text)}`)), ms);
    const look = () => {
      if (log.includes(text)) {
        clearTimeout(timer);
        resolve();
      }
    };
    waiting.push(look);
    look();
  });
  const client = new Client({ name: 'weir-lab', version: '0' }, { versionNegotiation: { mode: era.mode } });
  await client.connect(transport);
  return { client, said, call: (name, args, options) => client.callTool({ name, arguments: args }, options) };
}

for (const era of eras) {
  const at = (server, name) => `typescript ${era.revision}, ${server}: ${name}`;

  let s;
  await check(at('fixture', 'connects'), async () => {
    s = await connect(era, fixture);
    assert.equal(s.client.getNegotiatedProtocolVersion(), era.revision);
  });
  if (s) {
    const echo = async (text) => assert.equal(textOf(await s.call('echo', { text })), text);
    await check(at('fixture', 'lists the tools'), async () => {
      const names = (await s.client.listTools()).tools.map((t) => t.name);
      for (const n of ['echo', 'add', 'big', 'slow', 'stubborn', 'print', 'panic', 'progress']) {
        assert.ok(names.includes(n), `${n} is not among ${names}`);
      }
    });
    await check(at('fixture', 'a typed call has its structured result'), async () => {
      assert.deepEqual((await s.call('add', { a: 20, b: 22 })).structuredContent, { sum: 42 });
    });
    await check(at('fixture', 'Chinese text and every awkward character come back'), () => echo(hard));
    await check(at('fixture', 'a big result of Chinese text comes back whole'), async () => {
      const text = textOf(await s.call('big', { bytes: 3 << 20, fill: '坝' }));
      assert.ok(text === '坝'.repeat(1 << 20), `a text of ${text.length} characters instead of ${1 << 20}`);
    });
    await check(at('fixture', 'wrong arguments are told to the model'), async () => {
      const r = await s.call('add', { a: 'twenty', b: 22 });
      assert.equal(r.isError, true);
      assert.match(textOf(r), /\ba\b/);
    });
    await check(at('fixture', 'an unknown tool is an error of the protocol'), async () => {
      await assert.rejects(s.call('nonesuch', {}), /nonesuch/);
    });
    await check(at('fixture', 'a print in a tool does not reach the protocol'), async () => {
      assert.equal(textOf(await s.call('print', { text: '{"jsonrpc":"2.0","id":1,"result":{}}' })), 'printed');
      await echo('after the print');
    });
    await check(at('fixture', 'a panic in a tool is one error'), async () => {
      const r = await s.call('panic', {});
      assert.equal(r.isError, true);
      assert.match(textOf(r), /internal error/);
      await echo('after the panic');
    });
    await check(at('fixture', 'two hundred calls at once get their own answers'), async () => {
      await Promise.all(Array.from({ length: 200 }, (_, i) => echo(`${i} 号`)));
    });
    await check(at('fixture', 'a cancel reaches the tool, and the session goes on'), async () => {
      const abort = new AbortController();
      const call = s.call('slow', { ms: 600_000 }, { signal: abort.signal, timeout: 60_000 });
      call.catch(() => {}); // looked at below
      await s.said('slow started');
      abort.abort('no longer needed');
      await s.said('slow cancelled');
      await assert.rejects(call);
      await echo('after the cancel');
    });
    await s.client.close();
  }

  let many;
  await check(at('fixture -tools 6000', 'lists 6,000 tools, page after page'), async () => {
    many = await connect(era, fixture, '-tools', '6000');
    const names = new Set((await many.client.listTools()).tools.map((t) => t.name));
    for (let i = 1; i <= 6000; i++) {
      const n = `tool_${String(i).padStart(4, '0')}`;
      assert.ok(names.has(n), `${names.size} tools, but no ${n}`);
    }
  });
  await many?.client.close();

  const keeping = (name) => at('fixture -artifacts', name);
  let k;
  await check(keeping('connects'), async () => {
    k = await connect(era, fixture, '-artifacts', '-budget', '8192');
    assert.ok(k.client.getServerCapabilities().resources, 'no resources are declared');
  });
  if (k) {
    await check(keeping('what is over the budget is listed and read back whole'), async () => {
      const line = '第 1 行 of what is kept "引号" \\ <&>\n';
      const want = line.repeat(3000);
      const cut = textOf(await k.call('big', { bytes: Buffer.byteLength(want), fill: line }));
      const handle = /read_artifact \{"handle":"(\w+)"\}/.exec(cut)?.[1];
      assert.ok(handle, `the text does not say how to read on: ${cut.slice(-300)}`);
      const { resources } = await k.client.listResources();
      let uri = `artifact:${handle}`;
      assert.ok(resources.some((r) => r.uri === uri), `${uri} is not among ${resources.map((r) => r.uri)}`);
      let got = '';
      for (let parts = 0; uri; parts++) {
        assert.ok(parts < 50, `no end after ${parts} parts`);
        const { contents } = await k.client.readResource({ uri });
        const [text, says] = contents[0].text.split('\n[… ');
        got += text;
        uri = says && /begin at ([^ ]+),/.exec(says)?.[1];
      }
      assert.ok(got === want, `${got.length} characters came back of ${want.length}`);
    });
    await check(keeping('a resource that is not there says why'), async () => {
      await assert.rejects(k.client.readResource({ uri: `artifact:${'a'.repeat(32)}` }), /another process/);
      await assert.rejects(k.client.readResource({ uri: 'file:///etc/hostname' }), /not a handle/);
    });
    await k.client.close();
  }

  let g;
  await check(at('grep', 'connects'), async () => {
    g = await connect(era, grep, '-root', tree);
  });
  if (g) {
    await check(at('grep', 'lists grep and read_file'), async () => {
      assert.deepEqual((await g.client.listTools()).tools.map((t) => t.name).sort(), ['grep', 'read_file']);
    });
    await check(at('grep', 'finds Chinese text'), async () => {
      const { items } = (await g.call('grep', { pattern: '第 1[0-9] 行.*水', path: '目录0' })).structuredContent;
      assert.ok(items.length > 0, 'nothing found');
      for (const m of items) {
        assert.ok(m.path.startsWith('目录0/') && m.excerpt.includes('水 "引号"'), `found ${JSON.stringify(m)}`);
      }
    });
    await check(at('grep', `pages to the end, with each of ${matches.length} matches once`),
      () => pageToTheEnd((args) => g.call('grep', args), 4096));
    await check(at('grep', 'reads a range of a file with a Chinese name'), async () => {
      const text = textOf(await g.call('read_file', { path: '目录3/文件03.txt', startLine: 4, endLine: 5 }));
      assert.match(text, /第 4 行: a match in 水/);
    });
    await g.client.close();
  }

  let v;
  await check(at('git', 'connects'), async () => {
    v = await connect(era, git, '-root', repo);
  });
  if (v) {
    await check(at('git', 'lists the eight tools that read'), async () => {
      assert.deepEqual((await v.client.listTools()).tools.map((t) => t.name).sort(), gitTools);
    });
    await check(at('git', 'git_log pages to the end, with every commit once'),
      () => logToTheEnd((args) => v.call('git_log', args), 8192));
    await check(at('git', 'git_show reads a file with a Chinese name'), async () => {
      assert.match(textOf(await v.call('git_show', { path: '目录/文件3.txt', revision: 'main~9' })), /水位 283/);
    });
    await check(at('git', 'a revision that looks like an option is refused in words'), async () => {
      const result = await v.call('git_log', { range: '--output=x' });
      assert.ok(result.isError && textOf(result).includes('begins with a dash'), textOf(result));
    });
    await v.client.close();
  }
}
done();
