"""What the scripts beside this one have in common.

Each script is written once and run twice: `SCRIPT sync` with the blocking client, `SCRIPT async` with the other. What
the two answer goes through `settle`, which waits where there is something to wait for. Each thing that holds is printed
on a line of its own; the first that does not ends the script.
"""

import asyncio
import contextlib
import http.client
import inspect
import os
import sys
import time
import urllib.parse

import e2b
import e2b_code_interpreter

IS_ASYNC = sys.argv[1] == "async"

# How long anything may take before it counts as never.
PATIENCE = 30

if IS_ASYNC:
    Sandbox, CodeSandbox = e2b.AsyncSandbox, e2b_code_interpreter.AsyncSandbox
else:
    Sandbox, CodeSandbox = e2b.Sandbox, e2b_code_interpreter.Sandbox


async def settle(answer):
    """The answer, now or when it comes."""
    return await answer if inspect.isawaitable(answer) else answer


def holds(what, condition, seen=""):
    if not condition:
        raise AssertionError(f"{what}: {seen!r}")
    print(f"ok {what}", flush=True)


def same(what, seen, expected):
    if seen != expected:
        raise AssertionError(f"{what}: {seen!r} instead of {expected!r}")
    print(f"ok {what}", flush=True)


async def raises(what, kind, call):
    """The error of exactly this kind that a call must end with."""
    try:
        answer = await settle(call())
    except Exception as error:
        if type(error) is not kind:
            raise AssertionError(f"{what}: {type(error).__name__}({error}) instead of {kind.__name__}") from error
        print(f"ok {what}", flush=True)
        return error
    raise AssertionError(f"{what}: {answer!r} instead of {kind.__name__}")


async def becomes_true(what, condition):
    """Asks again and again until it is so."""
    deadline = time.monotonic() + PATIENCE
    while not await settle(condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        await asyncio.sleep(0.02)
    print(f"ok {what}", flush=True)


@contextlib.asynccontextmanager
async def a_sandbox(kind=Sandbox, *arguments, **options):
    """A sandbox that is gone afterwards."""
    sandbox = await settle(kind.create(*arguments, **options))
    try:
        yield sandbox
    finally:
        await settle(sandbox.kill())


async def all_of(paginator):
    """What all pages have."""
    items = []
    while paginator.has_next:
        items += await settle(paginator.next_items())
    return items


def ask(sandbox, port, token, path="/"):
    """Asks a server in the sandbox, as the hosted service has its addresses."""
    server = urllib.parse.urlsplit(os.environ["E2B_SANDBOX_URL"]).netloc
    connection = http.client.HTTPConnection(server, timeout=PATIENCE)
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": str(port)}
    if token:
        headers["E2b-Traffic-Access-Token"] = token
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def with_token(sandbox, token):
    """The client of somebody who knows of a sandbox and has this token instead of its own."""
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token}
    return Sandbox(
        sandbox_id=sandbox.sandbox_id,
        sandbox_domain=None,
        envd_version=sandbox._envd_version,
        envd_access_token=token,
        traffic_access_token=None,
        connection_config=e2b.ConnectionConfig(extra_sandbox_headers=headers),
    )


def run(main):
    asyncio.run(main())
    # Now and then the client's own threads abort Python while it takes itself apart.
    sys.stdout.flush()
    os._exit(0)
