"""Connects the Python clients `mcp` and `fastmcp` to Agentyard and calls a tool.

    check.py --repository DIR --expect TEXT stdio COMMAND [ARGUMENT]...
    check.py --repository DIR --expect TEXT http URL        (token in AGENTYARD_TOKEN)

Each client lists the tools and calls git_status, once with whatever protocol it
prefers and once with the handshake of older servers.
"""

import argparse
import asyncio
import os
import sys

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

MODES = ("auto", "legacy")


async def check_mcp(target, mode, question):
    """The official SDK."""
    if target.transport == "stdio":
        command, *arguments = target.command
        server = mcp.StdioServerParameters(command=command, args=arguments)
        async with mcp.Client(server, mode=mode) as client:
            tools = (await client.list_tools()).tools
            answer = await client.call_tool("git_status", question)
    else:
        async with create_mcp_http_client(headers=bearer(target.token)) as http:
            server = streamable_http_client(target.url, http_client=http)
            async with mcp.Client(server, mode=mode) as client:
                tools = (await client.list_tools()).tools
                answer = await client.call_tool("git_status", question)
    return tools, answer.is_error, str(answer)


async def check_fastmcp(target, mode, question):
    """FastMCP, which many agents are built on."""
    if target.transport == "stdio":
        command, *arguments = target.command
        server = StdioTransport(command, arguments, keep_alive=False)
    else:
        server = StreamableHttpTransport(target.url, headers=bearer(target.token))
    async with fastmcp.Client(server, mode=mode) as client:
        tools = await client.list_tools()
        answer = await client.call_tool("git_status", question, raise_on_error=False)
    return tools, answer.is_error, str(answer)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


async def check(name, client, target, mode):
    question = {"path": target.repository}
    tools, is_error, answer = await asyncio.wait_for(client(target, mode, question), timeout=60)
    names = {tool.name for tool in tools}
    if "git_status" not in names:
        raise SystemExit(f"{name} ({mode}): git_status is not among the {len(names)} tools")
    if is_error or target.expect not in answer:
        raise SystemExit(f"{name} ({mode}): git_status does not name {target.expect!r}: {answer}")
    print(f"{name} ({mode}, {target.transport}): {len(names)} tools, git_status answered")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", required=True, help="a repository with changes")
    parser.add_argument("--expect", required=True, help="what git_status must say of it")
    transports = parser.add_subparsers(dest="transport", required=True)
    transports.add_parser("stdio").add_argument("command", nargs=argparse.REMAINDER)
    transports.add_parser("http").add_argument("url")
    target = parser.parse_args()
    target.token = os.environ.get("AGENTYARD_TOKEN", "")
    return target


async def main():
    target = parse_arguments()
    for name, client in (("mcp", check_mcp), ("fastmcp", check_fastmcp)):
        for mode in MODES:
            await check(name, client, target, mode)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
