#!/usr/bin/env python3
"""Measures workspaces beside `git worktree add`.

    workspaces.py --binary PATH --work DIR [--sizes small,medium,large] [--quick]

See README.md for what is measured.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import fixtures
from run import log, save, spread
from stdio import Server

# As many agents as work in one repository, for `workspace_conflicts`.
AGENTS = 50
CONFLICTS_ON = "medium"


def main():
    options = parse_arguments()
    figures = {}
    for size in options.sizes:
        source = bare(fixtures.make(os.path.join(options.work, "fixtures"), size), options.work, size)
        with tempfile.TemporaryDirectory(prefix="data-", dir=options.work) as data:
            yard = Yard(options.binary, data, source)
            try:
                log(f"workspaces on {size} ({fixtures.SIZES[size].files} files)")
                figures.update(measure(yard, size, options.count))
                if size == CONFLICTS_ON:
                    log(f"workspace_conflicts of {AGENTS} workspaces")
                    figures.update(measure_conflicts(yard, options.count))
            finally:
                yard.close()
    print(report(figures, options.sizes))
    save(options.out, figures)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="agentyard, built for release")
    parser.add_argument("--work", required=True, help="a folder for fixtures and their copies")
    parser.add_argument("--sizes", default="small,medium,large", type=lambda text: text.split(","))
    parser.add_argument("--count", type=int, default=15, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="few of each, to try it out")
    parser.add_argument("--out", help="where to write the figures as JSON")
    options = parser.parse_args()
    if unknown := set(options.sizes) - set(fixtures.SIZES):
        parser.error(f"there is no size {', '.join(sorted(unknown))}")
    if options.quick:
        options.count = 3
    options.binary, options.work = os.path.abspath(options.binary), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    options.out = options.out or os.path.join(options.work, "workspaces.json")
    return options


def bare(pristine, work, size):
    """The fixture as remotes are: without a working tree."""
    path = os.path.join(work, f"{size}.git")
    if not os.path.isdir(path):
        fixtures.git(work, "clone", "--quiet", "--bare", pristine, path)
    return path


class Yard:
    """Our server, with one repository registered in it; and a clone in which git works alone."""

    def __init__(self, binary, data, source):
        self.data, self.source = data, source
        self.clone = os.path.join(data, "clone.git")
        fixtures.git(data, "clone", "--quiet", "--bare", source, self.clone)
        command = [binary, "mcp", "--root", os.path.dirname(source), "--data-dir", os.path.join(data, "yard")]
        command += ["--set", "workspaces.max_per_repo=100"]
        self.server = Server(command)
        self.server.initialize()
        self.call("repo_add", {"url": source, "name": "fixture"})
        self.opened = []

    def call(self, tool, arguments):
        """The answer, and how many seconds it took."""
        text, took = self.server.call(tool, arguments)
        return json.loads(json.loads(text)["content"][0]["text"]), took

    def open(self, branch):
        opened, took = self.call("workspace_open", {"repo": "fixture", "branch": branch})
        self.opened.append(opened["workspace"])
        return opened, took

    def close(self):
        for workspace in self.opened:
            self.call("workspace_close", {"workspace": workspace})
        self.server.close()


def measure(yard, size, count):
    """Everything about one workspace, each time on a branch of its own, and git's way in between."""
    figures = {name: [] for name in ("workspace_open", "git worktree add", "first git status", "write_file")}
    disk = []
    # The first one has the mirror and the base made.
    _, first = yard.open("warm")
    for number in range(count):
        opened, took = yard.open(f"topic-{number}")
        figures["workspace_open"].append(took)
        disk.append(used(yard, opened["path"]))
        figures["first git status"].append(timed(["git", "-C", opened["path"], "status", "--porcelain"]))
        tree = os.path.join(yard.data, f"worktree-{number}")
        add = ["git", "-C", yard.clone, "worktree", "add", "--quiet", "-b", f"topic-{number}", tree, "main"]
        figures["git worktree add"].append(timed(add))
        fixtures.git(yard.clone, "worktree", "remove", "--force", tree)
        written = {"workspace": opened["workspace"], "path": "measured.txt", "content": f"{number}\n"}
        yard.call("write_file", written)
        _, took = yard.call("write_file", {**written, "content": f"again {number}\n", "overwrite": True})
        figures["write_file"].append(took)
    measured = {f"{name} {size}": spread(seconds) for name, seconds in figures.items()}
    measured[f"first workspace_open {size}"] = spread([first])
    measured[f"disk of an unchanged view {size}"] = {
        "bytes": max(view for view, _ in disk),
        "git_bytes": max(noted for _, noted in disk),
        "way": opened.get("way"),
    }
    return measured


def measure_conflicts(yard, count):
    """Fifty agents have each changed a few files, some of them the same; asked anew after each of some changes."""
    workspaces = [yard.open(f"agent-{number}")[0]["workspace"] for number in range(AGENTS)]
    for number, workspace in enumerate(workspaces):
        change(yard, workspace, number, 0)
        yard.call("git_commit", {"path": workspace, "message": f"Change {number}"})
    seconds, again = [], []
    for turn in range(count):
        change(yard, workspaces[turn], turn, turn + 1)
        found, took = yard.call("workspace_conflicts", {"repo": "fixture"})
        if not found["conflicts"]:
            raise SystemExit(f"agents who change the same files must conflict: {found}")
        seconds.append(took)
        again.append(yard.call("workspace_conflicts", {"repo": "fixture"})[1])
    return {
        f"workspace_conflicts of {AGENTS}, first": spread(seconds[:1]),
        f"workspace_conflicts of {AGENTS}, one changed": spread(seconds),
        f"workspace_conflicts of {AGENTS}, none changed": spread(again),
    }


def change(yard, workspace, number, turn):
    """A file of its own, and one that every tenth agent changes too."""
    files = [fixtures.file_path(1000 + number), fixtures.file_path(number % 10)]
    for path in files:
        content = {"workspace": workspace, "path": path, "content": f"{number} {turn}\n", "overwrite": True}
        yard.call("write_file", content)
    yard.call("git_add", {"path": workspace, "paths": files})


def used(yard, path):
    """What a view takes on disk beside its base, and what git notes of it, by the account of `du`."""
    key, name = path.split(os.sep)[-2:]
    view = os.path.join(yard.data, "yard", "trees", key, "views", name)
    noted = os.path.join(yard.data, "yard", "repos", f"{key}.git", "worktrees", name)
    return size_of(view if os.path.isdir(view) else path), size_of(noted)


def size_of(path):
    listed = subprocess.run(["du", "-sk", path], check=True, capture_output=True, text=True).stdout
    return int(listed.split()[0]) * 1024


def timed(command):
    before = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, close_fds=False)
    return time.perf_counter() - before


def report(figures, sizes):
    lines = ["", "| figure | " + " | ".join(sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for name in ("first workspace_open", "workspace_open", "git worktree add", "first git status", "write_file"):
        cells = [f"{figures[f'{name} {size}']['median_ms']:.2f} ms" for size in sizes]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    times = [
        figures[f"git worktree add {size}"]["median_ms"] / figures[f"workspace_open {size}"]["median_ms"] for size in sizes
    ]
    lines.append("| times faster than git worktree add | " + " | ".join(f"{value:.1f}" for value in times) + " |")
    disk = [figures[f"disk of an unchanged view {size}"] for size in sizes]
    lines.append("| disk of an unchanged view | " + " | ".join(f"{d['bytes'] / 1e6:.2f} MB" for d in disk) + " |")
    lines.append("| and of its index | " + " | ".join(f"{d['git_bytes'] / 1e6:.2f} MB" for d in disk) + " |")
    lines += ["", *bars(figures)]
    return "\n".join(lines)


def bars(figures):
    """Against what we promise."""
    yield "| figure | measured | bar | |"
    yield "|---|---|---|---|"
    if opened := figures.get("workspace_open large"):
        times = figures["git worktree add large"]["median_ms"] / opened["median_ms"]
        yield row("workspace_open large", f"{opened['median_ms']:.1f} ms", "≤ 100 ms", opened["median_ms"] <= 100)
        yield row("of git worktree add", f"{times:.1f} times faster", "≥ 10", times >= 10)
        disk = figures["disk of an unchanged view large"]["bytes"]
        yield row("disk of an unchanged view, large", f"{disk / 1e6:.2f} MB", "≤ 1 MB", disk <= 1e6)
    for name, figure in figures.items():
        if name.startswith("workspace_conflicts"):
            yield row(name, f"{figure['median_ms']:.0f} ms", "< 1 s", figure["median_ms"] < 1000)


def row(name, measured, bar, met):
    return f"| {name} | {measured} | {bar} | {'pass' if met else 'FAIL'} |"


if __name__ == "__main__":
    main()
