"""Repositories to measure with: the same on every machine, down to the commit ids.

Everything in them comes from an integer hash, through `git fast-import`.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass

MASK = (1 << 64) - 1
EPOCH = 1_750_000_000
EXTENSIONS = ("rs", "py", "ts", "go", "c", "md", "toml")
# What a repository is changed by before it is measured, so that a status has something to say.
MODIFIED, DELETED, UNTRACKED = 4, 1, 3


@dataclass(frozen=True)
class Size:
    files: int
    commits: int
    # Of the last commit; another one means that figures cannot be compared.
    head: str


SIZES = {
    "small": Size(files=100, commits=20, head="5883a8a1c91b4cf083e3bd8f2878b85c5f324615"),
    "medium": Size(files=5_000, commits=200, head="5e4b3d5f611554956a6437c459c51329f3f72ebc"),
    "large": Size(files=50_000, commits=500, head="96002888980ed6c2a2277eb52d8e117b3e9130a8"),
}


def hashed(*numbers):
    """Mixes integers into one of 64 bits, after SplitMix64."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return state


def file_path(index):
    """Twenty files to a folder, fifty folders to a folder."""
    extension = EXTENSIONS[hashed(index, 1) % len(EXTENSIONS)]
    return f"area-{index // 1000:02}/part-{index // 20 % 50:02}/item-{index:05}.{extension}"


def file_body(index, revision):
    """Ten to forty lines, of which each revision rewrites one."""
    count = 10 + hashed(index, 2) % 31
    lines = [f"entry {number:02} = {hashed(index, number, 3):016x}" for number in range(count)]
    for past in range(1, revision + 1):
        lines[hashed(index, past, 4) % count] = f"changed {past:02} = {hashed(index, past, 5):016x}"
    return "\n".join(lines) + "\n"


def history(size):
    """The stream that `git fast-import` reads: all files at once, then commits that change a few."""
    revisions = [0] * size.files
    for commit in range(size.commits):
        if commit == 0:
            changed = range(size.files)
        else:
            changed = sorted({hashed(commit, number, 6) % size.files for number in range(5)})
        when = f"{EPOCH + 600 * commit} +0000"
        message = f"Change {len(changed)} files in step {commit}\n"
        yield f"commit refs/heads/main\nmark :{commit + 1}\n"
        yield f"committer Bench <bench@example.invalid> {when}\n"
        yield f"data {len(message)}\n{message}"
        if commit:
            yield f"from :{commit}\n"
        for index in changed:
            if commit:
                revisions[index] += 1
            body = file_body(index, revisions[index])
            yield f"M 100644 inline {file_path(index)}\ndata {len(body)}\n{body}\n"
        yield "\n"


def git(directory, *arguments, **options):
    # No settings of the person who measures, so that the fixture is the same for everyone.
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", directory, *arguments]
    return subprocess.run(command, check=True, env=environment, text=True, capture_output=True, **options).stdout.strip()


def make(directory, name):
    """The pristine repository of that size, made unless it is there."""
    size = SIZES[name]
    path = os.path.join(directory, name)
    if os.path.isdir(path):
        if git(path, "rev-parse", "main") == size.head:
            return path
        shutil.rmtree(path)
    os.makedirs(path)
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "fast-import", "--quiet", input="".join(history(size)))
    git(path, "repack", "-adq")
    git(path, "reset", "--quiet", "--hard", "main")
    head = git(path, "rev-parse", "main")
    if head != size.head:
        raise SystemExit(f"fixture {name}: made {head}, expected {size.head}: figures could not be compared")
    return path


def work_copy(directory, name, into):
    """A copy with changes in it, and with an index that is up to date for all the rest."""
    path = os.path.join(into, name)
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(make(directory, name), path, symlinks=True)
    files = SIZES[name].files
    # Older than the index, or git would have to read each file to be sure of it.
    for index in range(files):
        os.utime(os.path.join(path, file_path(index)), (EPOCH, EPOCH))
    git(path, "update-index", "-q", "--refresh")

    chosen = list(dict.fromkeys(hashed(number, 7) % files for number in range(64)))
    for index in chosen[:MODIFIED]:
        with open(os.path.join(path, file_path(index)), "a", encoding="utf-8") as file:
            file.write("a line that is not committed\n")
    for index in chosen[MODIFIED : MODIFIED + DELETED]:
        os.remove(os.path.join(path, file_path(index)))
    for number in range(UNTRACKED):
        with open(os.path.join(path, f"untracked-{number}.txt"), "w", encoding="utf-8") as file:
            file.write("new\n")
    return path
