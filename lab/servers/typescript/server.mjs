// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// The comparison's tool server on @modelcontextprotocol/server, used as its documentation shows.
//   node server.mjs [-tools N]

import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const at = process.argv.indexOf('-tools');
const tools = at < 0 ? 0 : Number(process.argv[at + 1]);

const text = (s) => ({ content: [{ type: 'text', text: s }] });

const s = new McpServer({ name: 'typescript', version: '0' }, { capabilities: { tools: {} } });
s.registerTool('echo', {
  description: 'Returns the text.',
  inputSchema: z.object({ text: z.string().describe('the text to return') }),
}, async ({ text: t }) => text(t));
s.registerTool('add', {
  description: 'Adds two integers.',
  inputSchema: z.object({ a: z.number().int().describe('the first number'), b: z.number().int().describe('the second number') }),
  outputSchema: z.object({ sum: z.number().int() }),
}, async ({ a, b }) => {
  const out = { sum: a + b };
  return { ...text(JSON.stringify(out)), structuredContent: out };
});
s.registerTool('big', {
  description: 'Returns a text of that many bytes.',
  inputSchema: z.object({ bytes: z.number().int().describe('the size of the text') }),
}, async ({ bytes }) => text('x'.repeat(bytes)));
s.registerTool('slow', {
  description: 'Waits.',
  inputSchema: z.object({ ms: z.number().int().describe('how long to wait') }),
}, ({ ms }, ctx) => new Promise((resolve, reject) => {
  process.stderr.write('slow started\n');
  const timer = setTimeout(() => {
    process.stderr.write('slow done\n');
    resolve(text('done'));
  }, ms);
  ctx.mcpReq.signal.addEventListener('abort', () => {
    clearTimeout(timer);
    process.stderr.write('slow cancelled\n');
    reject(new Error('cancelled'));
  });
}));
for (let i = 1; i <= tools; i++) {
  const name = `tool_${String(i).padStart(4, '0')}`;
  s.registerTool(name, {
    description: 'Returns its name.',
    inputSchema: z.object({
      name: z.string().describe('a name'),
      count: z.number().int().min(0).optional().describe('a number'),
      tags: z.array(z.string()).optional().describe('some words'),
    }),
  }, async () => text(name));
}
await s.connect(new StdioServerTransport());
