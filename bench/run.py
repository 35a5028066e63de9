#!/usr/bin/env python3
"""Measures Agentyard over stdio, beside bare git and any other MCP server for git.

    run.py --binary PATH --work DIR [--sizes small,medium,large] [--peer COMMAND]... [--quick]

`cargo xtask bench` builds the binary and calls this. See README.md for what is measured.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import fixtures
import peers
import questions
from stdio import NoAnswer, Server

OURS = "agentyard"
GIT = "bare git"
LIBRARY = "agentyard in process"
# What every status of a fixture must name.
EXPECTED = f"untracked-{fixtures.UNTRACKED - 1}.txt"
# Calls are made in turns of this many to each server, so that a busy moment hits all alike.
TURN = 50
SHORT_TURN = 10


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="data-", dir=options.work) as data_dir:
        command = [options.binary, "mcp", "--root", options.work, "--data-dir", data_dir]
        servers = [peers.Peer(name=OURS, command=command, family="ours"), *map(peers.parse, options.peer)]
        figures = measure(servers, options)
    print(report(figures, options.sizes))
    save(options.out, figures)


def measure(servers, options):
    figures = {server.name: {} for server in servers}
    for server in servers:
        log(f"{server.name}: starts and memory")
        try:
            figures[server.name].update(measure_idle(server, options.calls))
            figures[server.name].update(measure_starts(server, options.starts))
        except NoAnswer as why:
            raise SystemExit(f"{server.name} cannot be measured: {why}") from None
    for size in options.sizes:
        log(f"git_status on {size} ({fixtures.SIZES[size].files} files)")
        repository = fixtures.work_copy(os.path.join(options.work, "fixtures"), size, options.work)
        for name, figure in measure_status(servers, repository, options).items():
            figures.setdefault(name, {})[f"git_status {size}"] = figure
        for question in questions.QUESTIONS:
            log(f"{question.name} on {size}")
            question.arrange(repository)
            for name, figure in measure_question(question, servers, repository, options).items():
                figures.setdefault(name, {})[f"{question.name} {size}"] = figure
    return figures


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="agentyard, built for release")
    parser.add_argument("--work", required=True, help="a folder for fixtures and their copies")
    parser.add_argument("--sizes", default="small", type=lambda text: text.split(","), help="of: " + ", ".join(fixtures.SIZES))
    parser.add_argument("--peer", action="append", default=[], help="""another server: COMMAND [:: TOOL {"argument": "${REPO}"}]""")
    parser.add_argument("--starts", type=int, default=40, help="fresh processes for each start figure")
    parser.add_argument("--calls", type=int, default=400, help="calls for each call figure")
    parser.add_argument("--quick", action="store_true", help="few of each, to try it out")
    parser.add_argument("--out", help="where to write the figures as JSON")
    options = parser.parse_args()
    if unknown := set(options.sizes) - set(fixtures.SIZES):
        parser.error(f"there is no size {', '.join(sorted(unknown))}")
    if options.quick:
        options.starts, options.calls = 5, 20
    options.binary, options.work = os.path.abspath(options.binary), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    return options


def measure_starts(server, count):
    """From the start of a process to its first answer; the page cache is warm."""
    figures = {}
    for name, question in (("start to initialize", Server.initialize), ("start to discover", Server.discover)):
        seconds = []
        for number in range(count + 2):
            process = Server(server.command, server.environment)
            try:
                took = question(process)
            except NoAnswer:
                break  # A server from before that revision.
            finally:
                process.close()
            if number >= 2:
                seconds.append(took)
        if seconds:
            figures[name] = spread(seconds)
    return figures


def measure_idle(server, count):
    """Memory once it has said what it can do and nothing is asked, and what an empty call costs."""
    process = Server(server.command, server.environment)
    process.initialize()
    listed, _ = process.request("tools/list")
    tools = [tool for tool in listed["tools"] if tool["name"].startswith("git_")]
    time.sleep(1)
    memory = process.memory()
    pings = [process.request("ping")[1] for _ in range(count)]
    process.close()
    return {
        "idle memory": {"rss_kib": memory["rss"], "pss_kib": memory["pss"]},
        "ping": spread(pings),
        "tool list": {"git_tools": len(tools), "bytes": len(json.dumps(tools, separators=(",", ":")).encode())},
    }


def measure_status(servers, repository, options):
    """The same question to all, in turns; for ours also the bare library call, in the same turns."""
    processes = {}
    for server in servers:
        processes[server.name] = Server(server.command, server.environment)
        processes[server.name].initialize()
        ask(processes[server.name], server, repository)
    library = subprocess.Popen(
        [options.binary, "bench-status", repository], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    seconds = {name: [] for name in (*processes, GIT, LIBRARY)}
    done = 0
    while done < options.calls:
        turn = min(TURN, options.calls - done)
        for server in servers:
            seconds[server.name] += [ask(processes[server.name], server, repository) for _ in range(turn)]
        seconds[GIT] += [bare_git(repository) for _ in range(turn)]
        seconds[LIBRARY] += library_call(library, turn)
        done += turn
    for process in processes.values():
        process.close()
    library.stdin.close()
    library.wait()
    return {name: spread(list_) for name, list_ in seconds.items() if list_}


def measure_question(question, servers, repository, options):
    """The same question to all, in turns, and how long the answers are."""
    processes = {server.name: Server(server.command, server.environment) for server in servers}
    for process in processes.values():
        process.initialize()
    count = max(5, int(options.calls * question.share))
    asking = {GIT: lambda: questions.ask_git(question, repository)}
    for server in servers:
        process = processes[server.name]
        asking[server.name] = lambda process=process, family=server.family: questions.ask_server(
            question, process, family, repository
        )
    seconds, sizes, done = {GIT: []}, {}, 0
    while done < count:
        turn = min(SHORT_TURN, count - done)
        for name, ask_once in asking.items():
            # The first call of a turn finds its caches full of the others' work, and does not count.
            answers = [ask_once() for _ in range(turn + 1)][1:]
            if answers[-1] is not None:
                seconds.setdefault(name, []).extend(answer[0] for answer in answers)
                sizes[name] = answers[-1][1]
        done += turn
    for process in processes.values():
        process.close()
    return {name: {**spread(list_), "bytes": sizes[name]} for name, list_ in seconds.items() if list_}


def ask(process, server, repository):
    tool, arguments = server.question(repository)
    answer, took = process.call(tool, arguments)
    if EXPECTED not in answer:
        raise SystemExit(f"{server.name}: {tool} does not name {EXPECTED}: {answer[:500]}")
    return took


def bare_git(repository):
    """What an agent without us does: one process for each question."""
    command = ["git", "-C", repository, "status", "--porcelain=v2", "--branch"]
    before = time.perf_counter()
    answer = subprocess.run(command, check=True, capture_output=True, close_fds=False).stdout
    took = time.perf_counter() - before
    if EXPECTED.encode() not in answer:
        raise SystemExit(f"git status does not name {EXPECTED}")
    return took


def library_call(process, count):
    """`count` calls inside the program, without MCP. It works in step with us, as a server does."""
    seconds = []
    for _ in range(count):
        process.stdin.write("\n")
        process.stdin.flush()
        seconds.append(float(process.stdout.readline()) / 1e6)
    return seconds


def spread(seconds):
    ordered = sorted(seconds)
    return {
        "median_ms": round(statistics.median(ordered) * 1000, 4),
        "p90_ms": round(ordered[int(len(ordered) * 0.9)] * 1000, 4),
        "count": len(ordered),
    }


def report(figures, sizes):
    return "\n".join(["", *bars(figures, sizes), "", *side_by_side(figures, sizes)])


def bars(figures, sizes):
    """Ours against what we promise."""
    ours = figures[OURS]
    rows = [
        ("start to initialize", median(ours, "start to initialize"), 5.0, "ms"),
        ("start to discover", median(ours, "start to discover"), 5.0, "ms"),
        ("idle memory (RSS)", ours["idle memory"]["rss_kib"] * 1024 / 1e6, 15.0, "MB"),
        ("MCP's part of git_status, small", overhead(figures), 0.3, "ms"),
    ]
    yield "| figure | measured | bar | |"
    yield "|---|---|---|---|"
    rows += [
        ("tool list of the git tools", ours["tool list"]["bytes"] / 1e3, 24.0, "kB"),
        *ratios(figures, sizes),
    ]
    for name, value, bar, unit in rows:
        shown, verdict = "not measured", "–"
        if value is not None:
            shown, verdict = f"{value:.2f} {unit}", "pass" if value <= bar else "FAIL"
        yield f"| {name} | {shown} | ≤ {bar:g} {unit} | {verdict} |"


def ratios(figures, sizes):
    """Ours as a share of bare git's time, and of the longest answer's bytes."""
    for name, bar in (("git_status", 1.0), ("log of 20", 0.34), ("diff", 1.0), ("add + commit", 1.2)):
        for size in sizes:
            if name == "git_status" and size != "large":
                continue
            ours, bare = median(figures[OURS], f"{name} {size}"), median(figures.get(GIT, {}), f"{name} {size}")
            yield f"{name} {size}, of bare git", ours and bare and ours / bare, bar, "×"
    for name in ("log of 20", f"list of {questions.BRANCHES} branches"):
        row = f"{name} {sizes[-1]}"
        ours = figures[OURS].get(row, {}).get("bytes")
        longest = max((figures[other].get(row, {}).get("bytes", 0) for other in figures if other not in (OURS, GIT)), default=0)
        yield f"{row}, bytes of the longest peer's", ours and longest and ours / longest or None, 0.34, "×"


def overhead(figures):
    """What MCP adds to the library call, in ms."""
    whole = median(figures[OURS], "git_status small")
    bare = median(figures.get(LIBRARY, {}), "git_status small")
    return None if whole is None or bare is None else whole - bare


def side_by_side(figures, sizes):
    """Each server's median, and how many times ours that is."""
    others = [name for name in figures if name != OURS]
    names = ["git_status", *(question.name for question in questions.QUESTIONS)]
    rows = ["start to initialize", "start to discover", "ping", *(f"{name} {size}" for name in names for size in sizes)]
    yield "| median | " + " | ".join([OURS, *others]) + " |"
    yield "|---" * (len(others) + 2) + "|"
    for row in rows:
        ours = median(figures[OURS], row)
        yield line(row, [ours, *(median(figures[name], row) for name in others)], "ms")
    memory = [figures[name].get("idle memory", {}).get("pss_kib") for name in (OURS, *others)]
    yield line("idle memory (PSS)", [kib and kib * 1024 / 1e6 for kib in memory], "MB")


def line(name, values, unit):
    ours = values[0]
    cells = []
    for value in values:
        if value is None:
            cells.append("–")
        elif value is ours or not ours:
            cells.append(f"{value:.2f} {unit}")
        else:
            cells.append(f"{value:.2f} {unit} ({value / ours:.2f}×)")
    return f"| {name} | " + " | ".join(cells) + " |"


def median(figures, name):
    return figures.get(name, {}).get("median_ms")


def save(path, figures):
    """Figures and what they were measured on, with no path of the machine in them."""
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    path = path or os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", f"{date}.json")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    content = {"date": date, "machine": machine(), "figures": figures}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    log(f"written: {os.path.relpath(path)}")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [text.partition(":")[2].strip() for text in file if text.startswith("model name")]
    git = subprocess.run(["git", "--version"], capture_output=True, text=True).stdout.split()[-1]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "git": git,
        "python": platform.python_version(),
    }


def log(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
