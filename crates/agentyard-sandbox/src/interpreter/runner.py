"""Runs a piece of code as Python itself would, and reports what came of it.

The code runs in this very process, so the report is only what it wants to be known.
"""

import atexit
import builtins
import gc
import io
import json
import linecache
import os
import sys
import traceback
import types

MAX_REPORT = 48 * 1024
MAX_FRAMES, MAX_FILES, MAX_TEXT, MAX_LINE = 20, 200, 4000, 300

# What was loaded before the code was.
LOADED = set(sys.modules) - {"__main__"}


class Report:
    """What the code did, for the server to read. Bounded, and written once for each call."""

    def __init__(self):
        self.descriptor, self.owner, self.root = None, None, None
        self.exception, self.written = None, {}

    def begin(self, descriptor, root):
        self.descriptor, self.owner, self.root = descriptor, os.getpid(), root + "/"
        self.exception, self.written = None, {}

    def watch(self, event, arguments):
        """Remembers what is opened for writing in the tree."""
        if event == "open":
            path, mode, flags = arguments
            if isinstance(mode, str):
                writes = any(letter in mode for letter in "wax+")
            else:
                writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        elif event == "os.rename":
            path, writes = arguments[1], True
        else:
            return
        if writes and len(self.written) < MAX_FILES and os.getpid() == self.owner:
            try:
                path = os.path.abspath(os.fsdecode(path))
                path.encode()
            except Exception:
                return
            if path.startswith(self.root) and len(path) <= MAX_LINE and "/__pycache__/" not in path:
                self.written[path[len(self.root) :]] = True

    def raised(self, error, trace):
        """Remembers an exception, with the frames that are in the agent's own files."""
        kind = type(error)
        name = kind.__qualname__
        if kind.__module__ not in ("builtins", "__main__"):
            name = f"{kind.__module__}.{name}"
        frames = [
            described(entry.filename, entry.lineno, entry.name, entry.line)
            for entry in traceback.extract_tb(trace)
            if self.is_own(entry.filename)
        ]
        if isinstance(error, SyntaxError) and error.filename and self.is_own(error.filename):
            frames.append(described(error.filename, error.lineno, "", error.text))
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        self.exception = {"type": plain(name, MAX_LINE), "message": plain(message, MAX_TEXT)}
        self.exception["frames"] = frames[-MAX_FRAMES:]
        if isinstance(error, ModuleNotFoundError) and isinstance(error.name, str):
            self.exception["missing"] = plain(error.name, MAX_LINE)

    def is_own(self, file):
        return file.startswith("<code") or file.startswith(self.root) and "/site-packages/" not in file

    def end(self):
        if self.descriptor is None or os.getpid() != self.owner:
            return
        descriptor, self.descriptor = self.descriptor, None
        data = json.dumps({"exception": self.exception, "files": list(self.written)}).encode()
        if len(data) > MAX_REPORT:
            data = json.dumps({"exception": self.exception, "files": []}).encode()
        try:
            os.write(descriptor, data[:MAX_REPORT])
            os.close(descriptor)
        except OSError:
            pass


def described(file, line, function, text):
    return {
        "file": plain(file, MAX_LINE),
        "line": line or 0,
        "function": plain(function, MAX_LINE),
        "text": plain((text or "").strip(), MAX_LINE),
    }


def plain(text, most):
    """Text that can be sent: Python's may hold halves of characters."""
    return str(text)[:most].encode("utf-8", "replace").decode()


report = Report()


def new_main():
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    return main


def take_streams(descriptors):
    """Standard input, output and error of a call. Lines are passed on at once: who is killed has said them."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = sys.__stdin__ = opened(0, "rb", "<stdin>", "surrogateescape")
    sys.stdout = sys.__stdout__ = opened(1, "wb", "<stdout>", "surrogateescape")
    sys.stderr = sys.__stderr__ = opened(2, "wb", "<stderr>", "backslashreplace")


def opened(descriptor, mode, name, errors):
    raw = io.FileIO(descriptor, mode, closefd=False)
    raw.name = name
    buffered = io.BufferedReader(raw) if mode == "rb" else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffered, "utf-8", errors, "\n", line_buffering=mode == "wb")
    stream.mode = mode[0]
    return stream


def run(call, main, name):
    """Runs the code of a call as the main module, and returns its exit code."""
    path = call["path"]
    sys.argv = [path or "-c", *call["arguments"]]
    try:
        if path:
            name = main.__file__ = path
            with open(path, "rb") as file:
                source = file.read()
        else:
            source = call["source"].encode()
            lines = call["source"].splitlines(True)
            linecache.cache[name] = (len(source), None, lines, name)
    except OSError as error:
        print(f"{sys.executable}: can't open file {path!r}: {error}", file=sys.stderr)
        return 2
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
        return 0
    except SystemExit as error:
        return exit_code(error.code)
    except BaseException as error:
        return show(error)


def exit_code(given):
    if given is None:
        return 0
    if isinstance(given, int):
        return given & 0xFF
    print(given, file=sys.stderr)
    return 1


def show(error):
    """Says what went wrong as Python does, without the frames that are not the code's own."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    error = error.with_traceback(trace)
    try:
        report.raised(error, trace)
    except BaseException:
        pass
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    flush()
    try:
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(type(error), error, trace)
        else:
            sys.excepthook(type(error), error, trace)
    except SystemExit as given:
        return exit_code(given.code)
    except BaseException as second:
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(type(second), second, second.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def flush():
    """Writes out what was said. Python's own exit code for when that is not possible is 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            return 120
    return 0


def wind_up():
    """What an interpreter does at its end that code can tell: waits for threads, and calls what was registered."""
    try:
        import threading

        threading._shutdown()
    except BaseException as error:
        show(error)
    atexit._run_exitfuncs()
