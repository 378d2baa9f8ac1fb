# Copyright (c) The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Python SDK's client as a host of the laboratory; see ../node/stdio.mjs for what it reads and prints."""

import asyncio
import hashlib
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(job, answers):
    """Makes the calls of job one after the other, until one fails, and appends what each got."""
    patience = job["patience"] / 1000
    server = StdioServerParameters(command=job["server"][0], args=job["server"][1:])
    async with stdio_client(server, errlog=sys.stderr) as (read, write):
        async with ClientSession(read, write) as session:
            await asyncio.wait_for(session.initialize(), patience)
            for call in job["calls"]:
                try:
                    result = await asyncio.wait_for(session.call_tool(call["tool"], call["args"]), patience)
                except Exception as err:
                    answers.append({"error": words(err)})
                    return
                text = "".join(getattr(block, "text", "") for block in result.content).encode()
                answers.append({"hash": hashlib.sha256(text).hexdigest(), "bytes": len(text)})


def words(err):
    """What went wrong: of a group of exceptions, the first."""
    while getattr(err, "exceptions", None):
        err = err.exceptions[0]
    return str(err) or type(err).__name__


got = []
printed = {"answers": got}
try:
    asyncio.run(main(json.load(sys.stdin), got))
except Exception as err:
    printed["error"] = words(err)
print(json.dumps(printed))
