#!/usr/bin/env python3
"""Measures sandboxed commands and Python beside the bare programs.

    sandboxes.py --binary PATH --work DIR [--quick]

See README.md for what is measured.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

import fixtures
from run import log, save, spread
from stdio import NoAnswer, Server

# So many executions are asked for at the same moment.
AT_ONCE = 50

# What the bare program is compared with, and what an agent asks for.
PRINT = "print(1)"


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="sandboxes-", dir=options.work) as work:
        yard = Yard(options.binary, work)
        try:
            figures = measure(yard, options.count)
            figures.update(measure_many(yard))
        finally:
            yard.close()
    print(report(figures))
    save(options.out, figures)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="agentyard, built for release")
    parser.add_argument("--work", required=True, help="a folder for what is measured on")
    parser.add_argument("--count", type=int, default=60, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="few of each, to try it out")
    parser.add_argument("--out", help="where to write the figures as JSON")
    options = parser.parse_args()
    if options.quick:
        options.count = 5
    options.binary, options.work = os.path.abspath(options.binary), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    options.out = options.out or os.path.join(options.work, "sandboxes.json")
    return options


class Yard:
    """Our server over stdio, in a small repository and in a workspace of it."""

    def __init__(self, binary, work):
        self.directory = os.path.join(work, "project")
        os.makedirs(self.directory)
        fixtures.git(self.directory, "init", "--quiet", "--initial-branch=main")
        with open(os.path.join(self.directory, "README.md"), "w", encoding="utf-8") as file:
            file.write("measured\n")
        fixtures.git(self.directory, "add", "--all")
        fixtures.git(self.directory, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "-m", "first")
        command = [binary, "mcp", "--root", self.directory, "--data-dir", os.path.join(work, "yard")]
        self.server = Server(command)
        self.server.initialize()
        self.call("git_set_working_dir", {"path": self.directory})
        opened, _ = self.call("workspace_open", {"path": self.directory, "branch": "measured"})
        self.workspace = opened["workspace"]

    def call(self, tool, arguments):
        """The answer, and how many seconds it took."""
        text, took = self.server.call(tool, arguments)
        return json.loads(json.loads(text)["content"][0]["text"]), took

    def run(self, tool, arguments):
        """As `call`, of something that must end well."""
        answer, took = self.call(tool, arguments)
        if answer.get("exit_code") != 0:
            raise NoAnswer(f"{tool}: {answer}")
        return took

    def close(self):
        self.call("workspace_close", {"workspace": self.workspace})
        self.server.close()


def measure(yard, count):
    """Each in turn, so that what else the machine does hits all of them alike."""
    python = interpreter(yard)
    bare_sandbox = namespaces()
    asked = {
        "true": lambda: spawned(["true"]),
        "bwrap true": lambda: spawned(bare_sandbox + ["true"]),
        "run_command true": lambda: yard.run("run_command", {"command": ["true"]}),
        "run_command true in a workspace": lambda: yard.run("run_command", {"command": ["true"], "workspace": yard.workspace}),
        "python3 -c print(1)": lambda: spawned([python, "-c", PRINT]),
        "system's python3 -c print(1)": lambda: spawned(["/usr/bin/python3", "-c", PRINT]),
        "execute_code print(1)": lambda: yard.run("execute_code", {"code": PRINT}),
        "execute_code print(1) in a workspace": lambda: yard.run("execute_code", {"code": PRINT, "workspace": yard.workspace}),
    }
    figures = {name: [] for name in asked}
    log("first of each: the environment is made, the interpreter started")
    first = {f"first {name}": spread([ask()]) for name, ask in asked.items() if name.startswith("execute_code")}
    for ask in asked.values():
        ask()
    log(f"{count} of each")
    for _ in range(count):
        for name, ask in asked.items():
            figures[name].append(ask())
    return {**first, **{name: spread(seconds) for name, seconds in figures.items()}}


def interpreter(yard):
    """The interpreter itself that the server runs, without what a version manager puts in front of it."""
    code = "import os, sys; print(os.path.realpath(sys._base_executable or sys.executable))"
    answer, _ = yard.call("execute_code", {"code": code})
    path = answer["stdout"].strip()
    return path if os.path.exists(path) else shutil.which("python3")


def namespaces():
    """bubblewrap alone, with the namespaces that ours has and little else."""
    shown = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"]
    shown += ["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    return ["bwrap", "--unshare-all", "--die-with-parent", *shown]


def spawned(command):
    before = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, close_fds=False)
    return time.perf_counter() - before


def measure_many(yard):
    """Many at the same moment: whether all succeed, how long they take, and the memory of all of it meanwhile."""
    log(f"{AT_ONCE} at once")
    most, done = [0], threading.Event()
    watching = threading.Thread(target=watch_memory, args=(yard.server.pid, most, done))
    watching.start()
    sent = time.perf_counter()
    waiting = set()
    for number in range(AT_ONCE):
        yard.server.last_id += 1
        waiting.add(yard.server.last_id)
        arguments = {"code": f"print({number})", "workspace": yard.workspace}
        message = {"jsonrpc": "2.0", "id": yard.server.last_id, "method": "tools/call",
                   "params": {"name": "execute_code", "arguments": arguments}}
        yard.server.send(json.dumps(message).encode() + b"\n")
    succeeded, seconds = 0, []
    while waiting:
        answer = json.loads(yard.server.receive(sent + 60))
        if answer.get("id") not in waiting:
            continue
        waiting.discard(answer["id"])
        seconds.append(time.perf_counter() - sent)
        result = answer.get("result", {})
        text = result.get("content", [{}])[0].get("text", "{}")
        succeeded += not result.get("isError") and json.loads(text).get("exit_code") == 0
    done.set()
    watching.join()
    return {
        f"{AT_ONCE} execute_code at once": {**spread(seconds), "succeeded": succeeded, "all_ms": round(max(seconds) * 1000, 1)},
        "memory meanwhile": {"pss_kib": most[0]},
    }


def watch_memory(root, most, done):
    """The most that the server and all below it have used, shared pages shared out."""
    while not done.is_set():
        most[0] = max(most[0], memory_below(root))
        time.sleep(0.02)


def memory_below(root):
    parents, sizes = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # It ended while we looked.
    total = 0
    for process in parents:
        ancestor = process
        while ancestor not in (0, root):
            ancestor = parents.get(ancestor, 0)
        if ancestor != root:
            continue
        try:
            with open(f"/proc/{process}/smaps_rollup", encoding="utf-8") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total


def report(figures):
    lines = ["", "| figure | median | p90 |", "|---|---|---|"]
    for name, figure in figures.items():
        if "median_ms" in figure:
            lines.append(f"| {name} | {figure['median_ms']:.2f} ms | {figure['p90_ms']:.2f} ms |")
    lines += ["", "| figure | measured | bar | |", "|---|---|---|---|"]
    lines += [row(*bar) for bar in bars(figures)]
    return "\n".join(lines)


def bars(figures):
    """Against what we promise."""
    median = {name: figure["median_ms"] for name, figure in figures.items() if "median_ms" in figure}
    over = median["run_command true"] - median["true"]
    yield "sandboxed true over bare true", f"{over:.2f} ms", "≤ 10 ms", over <= 10
    for place in ("", " in a workspace"):
        times = median["python3 -c print(1)"] / median[f"execute_code print(1){place}"]
        yield f"execute_code{place}, warm, of the same python3 -c", f"{times:.2f} times faster", "> 1", times > 1
    times = median["system's python3 -c print(1)"] / median["execute_code print(1)"]
    yield "execute_code, warm, of the system's python3 -c", f"{times:.2f} times faster", "> 1", times > 1
    many = figures[f"{AT_ONCE} execute_code at once"]
    yield f"{AT_ONCE} at once", f"{many['succeeded']} succeed in {many['all_ms']:.0f} ms", "all", many["succeeded"] == AT_ONCE
    memory = figures["memory meanwhile"]["pss_kib"] / 1024
    yield "memory meanwhile", f"{memory:.0f} MiB", "≤ 1024 MiB", memory <= 1024


def row(name, measured, bar, met):
    return f"| {name} | {measured} | {bar} | {'pass' if met else 'FAIL'} |"


if __name__ == "__main__":
    main()
