#!/usr/bin/env python3
"""Measures sandboxes as the official E2B client for Python sees them.

    e2b.py --binary PATH --work DIR [--quick]

It needs that client: run it with the Python that `cargo xtask setup` makes, target/e2b/python/bin/python. See README.md
for what is measured.
"""

import argparse
import asyncio
import base64
import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

# This file has the name of the package that it measures.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.remove(HERE)
import e2b  # noqa: E402
import httpx  # noqa: E402

sys.path.append(HERE)
from run import log, save, spread  # noqa: E402

# So many sandboxes are asked for at the same moment.
AT_ONCE = 50
REST_SECONDS = 4

SAY = "echo measured"
SAID = "measured\n"


def main():
    options = parse_arguments()
    groups, running = control_groups(), processes()
    with tempfile.TemporaryDirectory(prefix="e2b-", dir=options.work) as work:
        yard = Yard(options.binary, work, options.settings)
        try:
            figures = measure(yard, options.count)
            figures.update(asyncio.run(measure_many(yard)))
            left = yard.listed()
        finally:
            yard.close()
        left += yard.left_on_disk()
    # What a server leaves to the kernel goes a moment after it.
    deadline = time.monotonic() + 5
    while (others := (control_groups() - groups) | (processes() - running)) and time.monotonic() < deadline:
        time.sleep(0.1)
    left += sorted(others)
    figures["left behind"] = {"count": len(left)}
    print(report(figures))
    for thing in left:
        print(f"left behind: {thing}")
    save(options.out, figures)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="agentyard, built for release")
    parser.add_argument("--work", required=True, help="a folder for what is measured on")
    parser.add_argument("--count", type=int, default=60, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="few of each, to try it out")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="a setting of the server")
    parser.add_argument("--out", help="where to write the figures as JSON")
    options = parser.parse_args()
    if options.quick:
        options.count = 5
    options.binary, options.work = os.path.abspath(options.binary), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    options.out = options.out or os.path.join(options.work, "e2b.json")
    return options


class Yard:
    """Our server, with the three variables of the client set to it."""

    def __init__(self, binary, work, settings):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data = os.path.join(work, "yard")
        command = [binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", self.data]
        for setting in settings:
            command += ["--set", setting]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.key = ""
        for line in self.server.stdout:
            if line.strip().startswith("ay_"):
                self.key = line.strip()
            if "listens on" in line:
                break
        self.url = f"http://127.0.0.1:{self.port}"
        os.environ.update(E2B_API_KEY=self.key, E2B_API_URL=self.url, E2B_SANDBOX_URL=self.url)

    def bare(self):
        """The same command without a sandbox, at an empty home."""
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.data}
        subprocess.run(["bash", "-l", "-c", SAY], check=True, stdout=subprocess.DEVNULL, env=variables)

    def listed(self):
        """Sandboxes that are still there."""
        listed = []
        pages = e2b.Sandbox.list()
        while pages.has_next:
            listed += [f"the sandbox {info.sandbox_id}" for info in pages.next_items()]
        return listed

    def left_on_disk(self):
        """What is left of sandboxes after the server has stopped."""
        kinds = ("sandboxes", "layers", "aside")
        return [path for kind in kinds for path in glob.glob(os.path.join(self.data, "sandboxes", "*", kind, "*"))]

    def close(self):
        self.server.terminate()
        self.server.wait(30)


def processes():
    """Those that belong to sandboxes, as far as they can be told by how they were started."""
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                command = file.read().replace("\0", " ")
        except OSError:
            continue  # It ended while we looked.
        if "answer-in-sandbox" in command or command.startswith("bwrap"):
            found.add(f"the process {entry}: {command[:80]}")
    return found


def control_groups():
    """Those of sandboxes: they are called after the server that made them."""
    return {os.path.join(above, name) for above, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith("agentyard-")}


def measure(yard, count):
    """Each in turn, so that what else the machine does hits all of them alike."""
    log("the first sandbox")
    first = {"first create to output": spread([create_to_output()["create to output"]])}
    figures = {}
    log(f"{count} of each")
    with httpx.Client() as client:
        for _ in range(count):
            for name, seconds in create_to_output().items():
                figures.setdefault(name, []).append(seconds)
            figures.setdefault("bash -lc, bare", []).append(timed(yard.bare))
            figures.setdefault("a request for nothing", []).append(timed(lambda: client.get(f"{yard.url}/healthz")))
    return {**first, **{name: spread(seconds) for name, seconds in figures.items()}}


def create_to_output():
    """How long a sandbox takes, its first command, both together, its second command, and its end."""
    told = []
    began = time.perf_counter()
    sandbox = e2b.Sandbox.create()
    created = time.perf_counter()
    result = sandbox.commands.run(SAY, on_stdout=lambda _: told.append(time.perf_counter()))
    assert result.stdout == SAID, result
    again = timed(lambda: sandbox.commands.run(SAY))
    health = timed(sandbox.is_running)
    killing = timed(sandbox.kill)
    return {
        "create to output": told[0] - began,
        "create": created - began,
        "first command to output": told[0] - created,
        "a later command, whole": again,
        "the client's way to a sandbox and back (is_running)": health,
        "kill": killing,
    }


def timed(call):
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


async def measure_many(yard):
    """Many at the same moment, by the official client, and by one that costs next to nothing itself."""
    figures = {}
    for name, attempt in {"official client": official, "lean client": lean}.items():
        # What came before is taken down in the background: a burst is measured on a server at rest.
        await asyncio.sleep(REST_SECONDS)
        log(f"{AT_ONCE} at once, {name}")
        before = time.process_time()
        began = time.perf_counter()
        outcomes = await asyncio.gather(*(attempt(yard, began) for _ in range(AT_ONCE)), return_exceptions=True)
        seconds = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        for failure in outcomes:
            if isinstance(failure, BaseException):
                log(f"failed: {failure!r}")
        figures[f"{AT_ONCE} at once, {name}"] = {
            **spread(seconds or [0.0]),
            "p95_ms": round(sorted(seconds or [0.0])[max(0, int(len(seconds) * 0.95) - 1)] * 1000, 1),
            "all_ms": round(max(seconds or [0.0]) * 1000, 1),
            "succeeded": len(seconds),
            "client_cpu_ms": round((time.process_time() - before) * 1000, 1),
        }
        pages = e2b.AsyncSandbox.list()
        while pages.has_next:
            await asyncio.gather(*(e2b.AsyncSandbox.kill(info.sandbox_id) for info in await pages.next_items()))
    return figures


async def official(_, began):
    sandbox = await e2b.AsyncSandbox.create()
    told = []
    result = await sandbox.commands.run(SAY, on_stdout=lambda _: told.append(time.perf_counter()))
    assert result.stdout == SAID, result
    return told[0] - began


async def lean(yard, began):
    made = json.loads(await post(yard, "/v2/sandboxes", {"templateID": "base"}, {"X-API-KEY": yard.key, "Content-Type": "application/json"}))
    process = {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", SAY]}, "stdin": False}
    headers = {
        "E2b-Sandbox-Id": made["sandboxID"],
        "E2b-Sandbox-Port": "49983",
        "X-Access-Token": made["envdAccessToken"],
        "Content-Type": "application/connect+json",
        "Connect-Protocol-Version": "1",
    }
    said = await post(yard, "/process.Process/Start", process, headers, until=base64.b64encode(SAID.encode()))
    assert said, "nothing was said"
    return time.perf_counter() - began


async def post(yard, path, message, headers, until=None):
    """The body of an answer; of a stream, as far as a word that is waited for."""
    body = json.dumps(message).encode()
    if until is not None:
        body = b"\0" + len(body).to_bytes(4, "big") + body
    reader, writer = await asyncio.open_connection("127.0.0.1", yard.port)
    try:
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{yard.port}", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        answer = b""
        while part := await reader.read(65536):
            answer += part
            if until is not None and until in answer:
                break
        assert status in (200, 201), (status, answer)
        assert until is None or until in answer, answer
        return answer if until is not None else answer[answer.index(b"{") : answer.rindex(b"}") + 1]
    finally:
        writer.close()


def report(figures):
    lines = ["", "| figure | median | p90 |", "|---|---|---|"]
    for name, figure in figures.items():
        if "median_ms" in figure:
            lines.append(f"| {name} | {figure['median_ms']:.2f} ms | {figure['p90_ms']:.2f} ms |")
    lines += ["", "| figure | measured | bar | |", "|---|---|---|---|"]
    lines += [f"| {name} | {measured} | {bar} | {'pass' if met else 'FAIL'} |" for name, measured, bar, met in bars(figures)]
    return "\n".join(lines)


def bars(figures):
    """Against what we promise."""
    median = figures["create to output"]["median_ms"]
    yield "Sandbox.create() to the first output", f"{median:.1f} ms", "≤ 60 ms", median <= 60
    for client in ("official client", "lean client"):
        many = figures[f"{AT_ONCE} at once, {client}"]
        yield f"{AT_ONCE} at once, {client}", f"{many['succeeded']} succeed", "all", many["succeeded"] == AT_ONCE
        yield f"their p95 (the client's own processor time: {many['client_cpu_ms']:.0f} ms)", f"{many['p95_ms']:.0f} ms", "≤ 500 ms", many["p95_ms"] <= 500
    left = figures["left behind"]["count"]
    yield "processes, groups and directories left behind", str(left), "0", left == 0


if __name__ == "__main__":
    main()
