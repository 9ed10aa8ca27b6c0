"""Drives a server of the Model Context Protocol with the official client for Python.

The first line of standard input says where the server is and how to speak to it:

{"command": "node", "args": [...], "env": {...}, "mode": "legacy" | "2026-07-28"}
{"url": "http://...", "headers": {...}, "mode": ...}

Each further line is one question, and is answered with one line, {"result": {...}} or {"refused": "<what the client says>"}:

{"call": "<tool>", "arguments": {...}, "meta": {...}}, {"list": "tools" | "prompts" | "resources" | "resource_templates"},
{"read": "<uri>"}, {"prompt": "<name>", "arguments": {...}}
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def client_of(server, http):
    if "url" in server:
        return Client(streamable_http_client(server["url"], http_client=http), mode=server["mode"], cache=None)
    process = StdioServerParameters(command=server["command"], args=server["args"], env=server["env"])
    return Client(process, mode=server["mode"], cache=None)


async def answer(client, asked):
    if "call" in asked:
        return await client.call_tool(asked["call"], asked.get("arguments"), meta=asked.get("meta"))
    if "read" in asked:
        return await client.read_resource(asked["read"])
    if "prompt" in asked:
        return await client.get_prompt(asked["prompt"], asked.get("arguments"))
    return await getattr(client, f"list_{asked['list']}")()


async def main():
    server = json.loads(sys.stdin.readline())
    async with httpx2.AsyncClient(headers=server.get("headers", {})) as http, client_of(server, http) as client:
        print(json.dumps({"result": {"protocolVersion": client.protocol_version}}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                found = await answer(client, json.loads(line))
                said = {"result": found.model_dump(mode="json", by_alias=True, exclude_none=True)}
            except Exception as error:  # pylint: disable=broad-except
                said = {"refused": str(error)}
            print(json.dumps(said), flush=True)


asyncio.run(main())
