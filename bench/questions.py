"""What servers are asked, beside what an agent without one would run.

A question is asked of every server and of bare git in turns, on the same copy of a fixture. Those that change
the repository are given something to change first, which is not part of the time.
"""

import itertools
import os
import subprocess
import time
from dataclasses import dataclass, field
from typing import Callable

import fixtures

BRANCHES = 200
# Bare git at the setting with which we acknowledge a change: it is on disk.
ON_DISK = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=batch"]
SERIAL = itertools.count()


@dataclass(frozen=True)
class Question:
    name: str
    # Bare git's words, one list for each process.
    git: Callable
    # By family of server (see peers.KNOWN): tools and arguments, in order. `${REPO}` stands for the repository.
    calls: dict
    # What any right answer holds.
    expected: str
    # Once, before the first turn.
    arrange: Callable = field(default=lambda repository: None)
    # Before each call.
    prepare: Callable = field(default=lambda repository: None)
    # How many times as many calls a status gets.
    share: float = 0.25


def change_a_file(repository):
    """Something to commit, never the same twice."""
    path = os.path.join(repository, fixtures.file_path(7))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"measured {next(SERIAL)}\n")


def make_branches(repository):
    commits = fixtures.git(repository, "rev-list", "HEAD").split()
    commands = "".join(
        f"create refs/heads/topic/{number:03} {commits[number % len(commits)]}\n" for number in range(BRANCHES)
    )
    fixtures.git(repository, "update-ref", "--stdin", input=commands)
    fixtures.git(repository, "pack-refs", "--all")


FILE = fixtures.file_path(7)
LAST_BRANCH = f"topic/{BRANCHES - 1:03}"

QUESTIONS = [
    Question(
        name="log of 20",
        git=lambda: [["log", "-20", "--format=%H%n%an%n%ae%n%aI%n%s%n%b%n%P%n%D"]],
        calls={
            "ours": [("git_log", {"path": "${REPO}", "max_count": 20})],
            "cyanheads": [("git_log", {"path": "${REPO}", "maxCount": 20})],
            "reference": [("git_log", {"repo_path": "${REPO}", "max_count": 20})],
        },
        expected="Change",
    ),
    Question(
        name="diff",
        git=lambda: [["diff"]],
        calls={
            "ours": [("git_diff", {"path": "${REPO}"})],
            "cyanheads": [("git_diff", {"path": "${REPO}"})],
            "reference": [("git_diff_unstaged", {"repo_path": "${REPO}"})],
        },
        expected="a line that is not committed",
    ),
    Question(
        name="blame",
        git=lambda: [["blame", "--porcelain", "--", FILE]],
        calls={
            "ours": [("git_blame", {"path": "${REPO}", "file_path": FILE})],
            "cyanheads": [("git_blame", {"path": "${REPO}", "filePath": FILE})],
        },
        expected="entry",
        share=0.1,
    ),
    Question(
        name="add + commit",
        git=lambda: [
            [*ON_DISK, "add", "--", FILE],
            [*ON_DISK, "commit", "--quiet", "--message", "Measured"],
        ],
        calls={
            "ours": [
                ("git_add", {"path": "${REPO}", "paths": [FILE]}),
                ("git_commit", {"path": "${REPO}", "message": "Measured"}),
            ],
            "cyanheads": [
                ("git_add", {"path": "${REPO}", "paths": [FILE]}),
                ("git_commit", {"path": "${REPO}", "message": "Measured"}),
            ],
            "reference": [
                ("git_add", {"repo_path": "${REPO}", "files": [FILE]}),
                ("git_commit", {"repo_path": "${REPO}", "message": "Measured"}),
            ],
        },
        expected="",
        prepare=change_a_file,
        share=0.1,
    ),
    Question(
        name=f"list of {BRANCHES} branches",
        git=lambda: [["for-each-ref", "--format=%(HEAD) %(refname:short) %(objectname) %(upstream:track)", "refs/heads"]],
        calls={
            "ours": [("git_branch", {"path": "${REPO}", "mode": "list", "limit": 300})],
            "cyanheads": [("git_branch", {"path": "${REPO}", "mode": "list"})],
            "reference": [("git_branch", {"repo_path": "${REPO}", "branch_type": "local"})],
        },
        expected=LAST_BRANCH,
        arrange=make_branches,
        share=0.1,
    ),
]


def ask_git(question, repository):
    """Seconds, and how many bytes it said."""
    question.prepare(repository)
    size = 0
    before = time.perf_counter()
    for words in question.git():
        answer = subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, close_fds=False)
        size += len(answer.stdout)
    return time.perf_counter() - before, size


def ask_server(question, process, family, repository):
    """Seconds and bytes; nothing when the server has no such tool."""
    if family not in question.calls:
        return None
    question.prepare(repository)
    took, size, answer = 0.0, 0, ""
    for tool, arguments in question.calls[family]:
        filled = {
            name: repository if value == "${REPO}" else value for name, value in arguments.items()
        }
        answer, seconds = process.call(tool, filled)
        took += seconds
        size += len(answer.encode())
    if question.expected not in answer:
        raise SystemExit(f"{question.name}: the answer does not hold {question.expected!r}: {answer[:500]}")
    return took, size
