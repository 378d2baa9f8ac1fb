# Copyright (c) The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Python SDK's client as a host of the laboratory; see ../node/stdio.mjs for what it reads and prints."""

import asyncio
import hashlib
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    job = json.load(sys.stdin)
    patience = job["patience"] / 1000
    answers = []
    server = StdioServerParameters(command=job["server"][0], args=job["server"][1:])
    with open(os.devnull, "w") as nowhere:
        async with stdio_client(server, errlog=nowhere) as (read, write):
            async with ClientSession(read, write) as session:
                await asyncio.wait_for(session.initialize(), patience)
                for call in job["calls"]:
                    try:
                        result = await asyncio.wait_for(session.call_tool(call["tool"], call["args"]), patience)
                    except Exception as err:
                        answers.append({"error": str(err) or type(err).__name__})
                        break
                    text = "".join(getattr(block, "text", "") for block in result.content).encode()
                    answers.append({"hash": hashlib.sha256(text).hexdigest(), "bytes": len(text)})
    return answers


try:
    print(json.dumps({"answers": asyncio.run(main())}))
except Exception as err:
    print(json.dumps({"answers": [], "error": str(err) or type(err).__name__}))
