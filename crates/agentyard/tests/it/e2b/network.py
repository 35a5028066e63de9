"""Whom a sandbox may reach, who may reach it, and what it uses.

`open.example` and `other.example` are answered by the test, through the proxy that the server was told to use.
"""

import json
import os

import e2b
from checks import a_sandbox, ask, becomes_true, holds, run, same, settle

FETCH = "curl --silent --show-error --fail --max-time 10 http://{}/"


async def main():
    async with a_sandbox() as sandbox:
        await outgoing(sandbox)
        await incoming(sandbox)
        await metrics(sandbox)
    await shut()


async def reaches(sandbox, host):
    try:
        result = await settle(sandbox.commands.run(FETCH.format(host)))
    except e2b.CommandExitException:
        return False
    return result.stdout == f"this is {host}\n"


async def outgoing(sandbox):
    same("it reaches what the operator allows", await reaches(sandbox, "open.example"), True)
    await settle(sandbox.update_network({"allow_out": ["open.example"], "deny_out": [e2b.ALL_TRAFFIC]}))
    same("what is allowed", await reaches(sandbox, "open.example"), True)
    same("and nothing else", await reaches(sandbox, "other.example"), False)
    await settle(sandbox.update_network({"allow_out": ["other.example"], "deny_out": [e2b.ALL_TRAFFIC]}))
    seen = [await reaches(sandbox, host) for host in ("open.example", "other.example")]
    same("the other way round", seen, [False, True])
    await settle(sandbox.update_network({"deny_out": ["other.example"]}))
    seen = [await reaches(sandbox, host) for host in ("open.example", "other.example")]
    same("all but one", seen, [True, False])
    await settle(sandbox.update_network({"allow_internet_access": False}))
    same("nobody at all", await reaches(sandbox, "open.example"), False)
    await settle(sandbox.update_network({"allow_internet_access": True}))
    same("and again", await reaches(sandbox, "open.example"), True)
    for host in ("127.0.0.1:7420", "169.254.169.254", os.environ["E2B_API_URL"].removeprefix("http://")):
        same("never this machine", await reaches(sandbox, host), False)


async def shut():
    async with a_sandbox(allow_internet_access=False) as sandbox:
        same("it may be made without a network", await reaches(sandbox, "open.example"), False)
        same("which is told", (await settle(sandbox.get_info())).allow_internet_access, False)
    async with a_sandbox(network={"allow_out": ["open.example"], "deny_out": [e2b.ALL_TRAFFIC]}) as sandbox:
        seen = [await reaches(sandbox, host) for host in ("open.example", "other.example")]
        same("or with a small one", seen, [True, False])
        network = (await settle(sandbox.get_info())).network
        same("which is told, too", (network["allow_out"], network["deny_out"]), (["open.example"], ["0.0.0.0/0"]))


async def incoming(sandbox):
    await settle(sandbox.files.write("/workspace/page.json", json.dumps({"served": True})))
    server = await settle(sandbox.commands.run("python3 -m http.server 8000 --bind 127.0.0.1", background=True, cwd="/workspace", timeout=0))
    token = sandbox.traffic_access_token
    await becomes_true("a server in it is reached", lambda: ask(sandbox, 8000, token, "/page.json") == (200, '{"served": true}'))
    holds("not by everybody", ask(sandbox, 8000, None)[0] in (401, 403), ask(sandbox, 8000, None))
    holds("not with any token", ask(sandbox, 8000, "x" * 64)[0] in (401, 403), ask(sandbox, 8000, "x" * 64))
    status, text = ask(sandbox, 8001, token)
    holds("where nobody listens, that is said", status == 502 and "port is not open" in text, (status, text))
    await settle(sandbox.commands.kill(server.pid))


async def metrics(sandbox):
    await settle(sandbox.commands.run("head -c 20000000 /dev/zero > /home/user/zeros"))

    async def are_there():
        return len(await settle(sandbox.get_metrics())) > 0

    await becomes_true("what it uses is measured", are_there)
    last = (await settle(sandbox.get_metrics()))[-1]
    holds("memory", 0 < last.mem_used <= last.mem_total, last)
    holds("processors", last.cpu_count >= 1 and last.cpu_used_pct >= 0, last)
    holds("disk", 0 <= last.disk_used <= last.disk_total, last)
    await settle(sandbox.files.remove("/home/user/zeros"))


run(main)
