# Copyright (c) The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class StdioServerParameters:
    command: str
    args: list = field(default_factory=list)


@asynccontextmanager
async def stdio_client(server, errlog=sys.stderr):
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        server.command, *server.args, stdin=pipe, stdout=pipe, stderr=errlog, limit=64 << 20
    )
    try:
        yield process.stdout, process.stdin
    finally:
        process.stdin.close()
        await process.wait()
