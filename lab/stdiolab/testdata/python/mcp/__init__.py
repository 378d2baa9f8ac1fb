# Copyright (c) The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the Python SDK: the names and parameters of its documentation that ../../../../hosts/python/stdio.py uses, over
asyncio. It lets tests run that script where the package is not installed; nothing is measured with it."""

import itertools
import json

from .client.stdio import StdioServerParameters, stdio_client

__all__ = ["ClientSession", "StdioServerParameters", "stdio_client"]


class TextContent:
    def __init__(self, text):
        self.type = "text"
        self.text = text


class CallToolResult:
    def __init__(self, content):
        self.content = [TextContent(block["text"]) for block in content if block["type"] == "text"]


class ClientSession:
    def __init__(self, read_stream, write_stream):
        self.read, self.write, self.ids = read_stream, write_stream, itertools.count(1)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *err):
        return None

    async def _send(self, message):
        self.write.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
        await self.write.drain()

    async def _request(self, method, params):
        sent = next(self.ids)
        await self._send({"id": sent, "method": method, "params": params})
        while line := await self.read.readuntil(b"\n"):
            answer = json.loads(line)
            if answer.get("id") == sent:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]

    async def initialize(self):
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "stand-in", "version": "0"}}
        await self._request("initialize", hello)
        await self._send({"method": "notifications/initialized"})

    async def call_tool(self, name, arguments=None):
        return CallToolResult((await self._request("tools/call", {"name": name, "arguments": arguments}))["content"])
