"""An MCP server as a child process, spoken to by hand.

No client library: what is measured is the server, so as little as possible is added.
"""

import atexit
import json
import os
import select
import shutil
import signal
import tempfile
import time

PROTOCOL = "2025-11-25"
# The revision without a handshake: each request says who asks.
STATELESS_PROTOCOL = "2026-07-28"
CLIENT = {"name": "agentyard-bench", "version": "1"}
STATELESS_META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS_PROTOCOL,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class NoAnswer(Exception):
    """The server ended, refused, or took too long."""


class Server:
    """Leader of its own process group, so that none of its children outlive the measurement."""

    def __init__(self, command, environment=None):
        program = shutil.which(command[0])
        if program is None:
            raise NoAnswer(f"{command[0]} is not on the search path")
        their_input, self.input = os.pipe()
        self.output, their_output = os.pipe()
        self.errors = tempfile.TemporaryFile()
        actions = [
            (os.POSIX_SPAWN_DUP2, their_input, 0),
            (os.POSIX_SPAWN_DUP2, their_output, 1),
            (os.POSIX_SPAWN_DUP2, self.errors.fileno(), 2),
        ]
        self.started = time.perf_counter()
        # Not `subprocess`, whose own work would be a visible part of a start of few milliseconds.
        self.pid = os.posix_spawn(
            program, command, {**os.environ, **(environment or {})}, file_actions=actions, setpgroup=0
        )
        os.close(their_input)
        os.close(their_output)
        self.received = b""
        self.last_id = 0
        atexit.register(self.kill)

    def request(self, method, params=None, timeout=60.0):
        """The result, and how many seconds it took to come."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}}
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        before = time.perf_counter()
        self.send(line)
        while True:
            reply = self.receive(before + timeout)
            after = time.perf_counter()
            answer = json.loads(reply)
            if answer.get("id") != self.last_id or "method" in answer:
                continue
            if "result" not in answer:
                raise NoAnswer(f"{method}: {answer.get('error')}")
            return answer["result"], after - before

    def notify(self, method):
        self.send(json.dumps({"jsonrpc": "2.0", "method": method}).encode() + b"\n")

    def initialize(self):
        """The handshake; gives the seconds from the start of the process to its answer."""
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": CLIENT}
        self.request("initialize", params)
        took = time.perf_counter() - self.started
        self.notify("notifications/initialized")
        return took

    def discover(self):
        """The question that takes the handshake's place; gives seconds as above."""
        self.request("server/discover", {"_meta": STATELESS_META}, timeout=10)
        return time.perf_counter() - self.started

    def call(self, tool, arguments):
        """The result's text, and how many seconds it took."""
        result, took = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise NoAnswer(f"{tool}: {json.dumps(result)[:500]}")
        return json.dumps(result), took

    def memory(self):
        """KiB of its whole process group: resident, and with shared pages shared out."""
        total = {"rss": 0, "pss": 0}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                    group = int(file.read().rpartition(")")[2].split()[2])
                if group != self.pid:
                    continue
                with open(f"/proc/{entry}/smaps_rollup", encoding="utf-8") as file:
                    for line in file:
                        key = line.partition(":")[0].lower()
                        if key in total:
                            total[key] += int(line.split()[1])
            except OSError:
                continue  # It ended while we looked.
        return total

    def close(self):
        """Ends it as a client does, by closing its input; gives the seconds that takes."""
        before = time.perf_counter()
        os.close(self.input)
        while time.perf_counter() - before < 5:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            time.sleep(0.001)
        took = time.perf_counter() - before
        self.kill()
        os.close(self.output)
        self.errors.close()
        return took

    def kill(self):
        atexit.unregister(self.kill)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass

    def ended(self):
        self.errors.seek(0)
        return NoAnswer(f"the server has ended: {self.errors.read().decode(errors='replace')[-1000:]}")

    def send(self, data):
        while data:
            try:
                data = data[os.write(self.input, data) :]
            except BrokenPipeError:
                raise self.ended() from None

    def receive(self, deadline):
        """The next line."""
        while b"\n" not in self.received:
            ready, _, _ = select.select([self.output], [], [], max(0.0, deadline - time.perf_counter()))
            if not ready:
                raise NoAnswer("no answer in time")
            chunk = os.read(self.output, 1 << 16)
            if not chunk:
                raise self.ended()
            self.received += chunk
        line, _, self.received = self.received.partition(b"\n")
        return line
