"""Files: written, read, listed, moved, removed, watched, described."""

import datetime
import hashlib
import io

import e2b
from checks import IS_ASYNC, a_sandbox, becomes_true, holds, raises, run, same, settle


async def main():
    async with a_sandbox() as sandbox:
        await texts_and_bytes(sandbox)
        await streams(sandbox)
        await many(sandbox.files)
        await listing(sandbox)
        await describing(sandbox)
        await moving(sandbox.files)
        await removing(sandbox.files)
        await metadata(sandbox.files)
        await watching(sandbox)
        await refusals(sandbox)


async def texts_and_bytes(sandbox):
    files = sandbox.files
    written = await settle(files.write("notes/today.txt", "grüße\n"))
    same("a file is written below the home directory", written.path, "/home/user/notes/today.txt")
    same("and named", (written.name, written.type), ("today.txt", e2b.FileType.FILE))
    same("it is read as text", await settle(files.read("/home/user/notes/today.txt")), "grüße\n")
    same("and as bytes", bytes(await settle(files.read("notes/today.txt", format="bytes"))), "grüße\n".encode())
    await settle(files.write("notes/today.txt", b"\x00\xff\r\n"))
    same("bytes replace it", bytes(await settle(files.read("notes/today.txt", format="bytes"))), b"\x00\xff\r\n")
    await settle(files.write("empty", ""))
    same("a file may be empty", await settle(files.read("empty")), "")
    await settle(files.write("/workspace/ä b'\"#?%&.txt", "odd name"))
    same("names may be odd", await settle(files.read("/workspace/ä b'\"#?%&.txt")), "odd name")
    await settle(files.write("compressed.txt", "again and " * 10_000, gzip=True))
    result = await settle(sandbox.commands.run("wc -c < compressed.txt"))
    same("a compressed upload is a file", result.stdout.strip(), "100000")
    same("and may be downloaded compressed", await settle(files.read("compressed.txt", gzip=True)), "again and " * 10_000)
    await settle(files.write("raw.bin", b"raw", use_octet_stream=True))
    same("without a form", await settle(files.read("raw.bin")), "raw")
    result = await settle(sandbox.commands.run("stat -c '%U %a' notes/today.txt"))
    same("it belongs to the user", result.stdout, "user 644\n")


async def streams(sandbox):
    data = bytes(range(256)) * 20_000
    await settle(sandbox.files.write("large.bin", io.BytesIO(data), use_octet_stream=True))
    result = await settle(sandbox.commands.run("sha256sum large.bin | cut -c -64; rm large.bin"))
    same("5 MB arrive as a stream", result.stdout.strip(), hashlib.sha256(data).hexdigest())
    await settle(sandbox.commands.run("head -c 5000000 /dev/zero > zeros"))
    stream = await settle(sandbox.files.read("zeros", format="stream"))
    size = 0
    if IS_ASYNC:
        async for part in stream:
            size += len(part)
    else:
        for part in stream:
            size += len(part)
    same("5 MB leave as a stream", size, 5_000_000)


async def many(files):
    entries = [{"path": f"/tmp/many/{number}/file.txt", "data": f"number {number}"} for number in range(20)]
    written = await settle(files.write_files(entries))
    same("many files are written at once", [info.path for info in written], [entry["path"] for entry in entries])
    same("each with its content", await settle(files.read("/tmp/many/19/file.txt")), "number 19")
    same("or none", await settle(files.write_files([])), [])


async def listing(sandbox):
    files = sandbox.files
    await settle(sandbox.commands.run("mkdir -p tree/a/b && touch tree/one tree/a/two tree/a/b/three && ln -s one tree/link"))
    names = lambda entries: sorted(entry.path.removeprefix("/home/user/tree/") for entry in entries)
    same("a directory", names(await settle(files.list("tree"))), ["a", "link", "one"])
    same("two deep", names(await settle(files.list("tree", depth=2))), ["a", "a/b", "a/two", "link", "one"])
    same("all of it", names(await settle(files.list("/home/user/tree", depth=9))), ["a", "a/b", "a/b/three", "a/two", "link", "one"])
    kinds = {entry.name: entry.type for entry in await settle(files.list("tree"))}
    same("with kinds", (kinds["a"], kinds["one"]), (e2b.FileType.DIR, e2b.FileType.FILE))
    await raises("a missing one", e2b.FileNotFoundException, lambda: files.list("tree/missing"))
    await raises("not a directory", e2b.InvalidArgumentException, lambda: files.list("tree/one"))
    await raises("no depth", e2b.InvalidArgumentException, lambda: files.list("tree", depth=0))


async def describing(sandbox):
    files = sandbox.files
    await settle(sandbox.commands.run("printf 12345 > described && chmod 640 described && ln -sf described pointer"))
    info = await settle(files.get_info("described"))
    same("name, kind, path and size", (info.name, info.type, info.path, info.size), ("described", e2b.FileType.FILE, "/home/user/described", 5))
    same("owner, group and mode", (info.owner, info.group, info.mode & 0o777, info.permissions[-9:]), ("user", "user", 0o640, "rw-r-----"))
    age = datetime.datetime.now(datetime.timezone.utc) - info.modified_time
    holds("when it was changed", abs(age) < datetime.timedelta(minutes=5), info.modified_time)
    info = await settle(files.get_info("pointer"))
    same("where a link leads", info.symlink_target, "/home/user/described")
    info = await settle(files.get_info("/home/user"))
    same("a directory", info.type, e2b.FileType.DIR)
    same("what is there exists", await settle(files.exists("described")), True)
    same("what is not does not", await settle(files.exists("missing")), False)
    await raises("nothing is known of it", e2b.FileNotFoundException, lambda: files.get_info("missing"))


async def moving(files):
    same("a directory is made", await settle(files.make_dir("new/deep/directory")), True)
    same("once", await settle(files.make_dir("new/deep/directory")), False)
    await settle(files.write("before", "moved"))
    info = await settle(files.rename("before", "new/after"))
    same("a file is moved", (info.path, info.type), ("/home/user/new/after", e2b.FileType.FILE))
    same("to there", await settle(files.read("new/after")), "moved")
    same("from here", await settle(files.exists("before")), False)
    info = await settle(files.rename("new", "newer"))
    same("so is a directory", (info.path, info.type), ("/home/user/newer", e2b.FileType.DIR))
    await raises("a missing one", e2b.FileNotFoundException, lambda: files.rename("missing", "found"))


async def removing(files):
    await settle(files.remove("newer/after"))
    same("a file is removed", await settle(files.exists("newer/after")), False)
    await settle(files.remove("newer"))
    same("a directory with all in it", await settle(files.exists("newer/deep")), False)


async def metadata(files):
    written = await settle(files.write("tagged.txt", "x", metadata={"origin": "tests", "step": "2"}))
    same("a file takes words along", written.metadata, {"origin": "tests", "step": "2"})
    info = await settle(files.get_info("tagged.txt"))
    same("and keeps them", info.metadata, {"origin": "tests", "step": "2"})


async def watching(sandbox):
    files, seen = sandbox.files, []
    await settle(files.make_dir("watched/below"))
    if IS_ASYNC:
        left = []
        handle = await files.watch_dir("watched", on_event=seen.append, on_exit=left.append, recursive=True, include_entry=True)
        look = lambda: None
    else:
        handle = files.watch_dir("watched", recursive=True, include_entry=True)
        look = lambda: seen.extend(handle.get_new_events())

    def has(kind, name):
        look()
        return any((event.type, event.name) == (kind, name) for event in seen)

    kinds = e2b.FilesystemEventType
    await settle(files.write("watched/file", "one"))
    await becomes_true("a new file is seen", lambda: has(kinds.CREATE, "file"))
    await becomes_true("and written", lambda: has(kinds.WRITE, "file"))
    entries = [event.entry for event in seen if event.name == "file" and event.entry is not None]
    holds("with what it is", entries and entries[-1].path == "/home/user/watched/file", entries)
    await settle(sandbox.commands.run("chmod 600 watched/file && mv watched/file watched/moved && touch watched/below/deep"))
    await becomes_true("a changed mode", lambda: has(kinds.CHMOD, "file"))
    await becomes_true("a new name", lambda: has(kinds.RENAME, "file"))
    await becomes_true("what happens below", lambda: has(kinds.CREATE, "below/deep"))
    await settle(files.make_dir("watched/later"))
    await becomes_true("a new directory", lambda: has(kinds.CREATE, "later"))
    await settle(files.write("watched/later/inside", "x"))
    await becomes_true("is watched, too", lambda: has(kinds.CREATE, "later/inside") or has(kinds.WRITE, "later/inside"))
    await settle(files.remove("watched/moved"))
    await becomes_true("a removed file", lambda: has(kinds.REMOVE, "moved"))
    await settle(handle.stop())
    if IS_ASYNC:
        same("the watch ends well", left, [None])
        await raises("nothing to watch", e2b.FileNotFoundException, lambda: files.watch_dir("missing", on_event=seen.append))
    else:
        await raises("no more is seen", e2b.SandboxException, handle.get_new_events)
        await raises("nothing to watch", e2b.FileNotFoundException, lambda: files.watch_dir("missing"))


async def refusals(sandbox):
    files = sandbox.files
    await raises("a missing file", e2b.FileNotFoundException, lambda: files.read("missing"))
    await raises("a directory is no file", e2b.InvalidArgumentException, lambda: files.read("/home/user"))
    for path in ["/usr/bin/x", "/etc/passwd"]:
        try:
            await settle(files.write(path, "x"))
        except (e2b.SandboxException, e2b.AuthenticationException):
            print(f"ok {path} is not written", flush=True)
        else:
            raise AssertionError(f"{path} was written")


run(main)
