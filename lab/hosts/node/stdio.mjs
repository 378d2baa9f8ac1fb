// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// The TypeScript client SDK as a host of the laboratory: it reads {"server": […], "calls": [{"tool", "args"}], "patience": ms} on
// stdin, makes the calls one after the other, and prints {"answers": [{"hash", "bytes"} or {"error"}], "error"?}.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { server, calls, patience } = JSON.parse(readFileSync(0, 'utf8'));
const within = (promise, what) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer in ${patience} ms`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

const answers = [];
let failed;
const transport = new StdioClientTransport({ command: server[0], args: server.slice(1), stderr: 'inherit' });
const client = new Client({ name: 'weir-lab', version: '0' });
try {
  await within(client.connect(transport), 'the handshake');
  for (const { tool, args } of calls) {
    try {
      const { content } = await within(client.callTool({ name: tool, arguments: args }), tool);
      const text = Buffer.from(content.map((block) => block.text ?? '').join(''), 'utf8');
      answers.push({ hash: createHash('sha256').update(text).digest('hex'), bytes: text.length });
    } catch (err) {
      answers.push({ error: String(err.message) });
      break;
    }
  }
} catch (err) {
  failed = String(err.message);
}
await client.close();
console.log(JSON.stringify({ answers, error: failed }));
