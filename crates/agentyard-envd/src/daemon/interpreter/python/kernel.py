# One context of Python: runs cells as a notebook does, one after the other, in one namespace.
#
# The daemon talks over the socket that is standard input when this starts, in messages of length-prefixed fields. What
# code prints goes to the real standard output and error, so that it stays in order with what programs print that it
# starts. Whatever takes long to import is imported when it is needed: most contexts are made for a line or two.

import _ast
import _signal
import _thread
import binascii
import builtins
import os
import sys

OURS = "<agentyard>"
ONLY_AST, TOP_LEVEL_AWAIT, COROUTINE = 0x400, 0x2000, 0x80
# A message that is longer than the daemon reads would end the context.
MAX_RESULT_BYTES, MAX_ERROR_CHARACTERS = 16 << 20, 1 << 20

KINDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}
STRUCTURED = ("json", "data", "chart", "extra")
METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}


class Socket:
    """The daemon. Messages stay whole, whatever interrupts their sender."""

    def __init__(self):
        # Programs that code starts get neither the socket nor anything to read.
        self.descriptor = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.owner = os.getpid()
        self.lock = _thread.allocate_lock()
        self.busy = False
        self.interrupted = False

    def read(self, count):
        parts = []
        while count:
            part = os.read(self.descriptor, min(count, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def receive(self):
        message, fields, at = self.read(int.from_bytes(self.read(4), "big")), [], 0
        while at < len(message):
            size = int.from_bytes(message[at : at + 4], "big")
            fields.append(message[at + 4 : at + 4 + size])
            at += 4 + size
        return fields

    def receive_pairs(self):
        fields = iter(self.receive())
        return list(zip(fields, fields))

    def send(self, *fields, answered=False):
        fields = [field.encode("utf-8", "backslashreplace") for field in fields]
        body = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        message = memoryview(len(body).to_bytes(4, "big") + body)
        main = _thread.get_ident() == MAIN_THREAD
        if main:
            self.busy = True
        try:
            with self.lock:
                while message:
                    message = message[os.write(self.descriptor, message) :]
                if answered:
                    self.read(1)
        finally:
            if main:
                self.busy = False
        if main and self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt


def on_interrupt(_signal_number, _frame):
    if socket.busy:
        socket.interrupted = running
    elif running:
        raise KeyboardInterrupt


def part(name):
    """A part of this program that is not needed in every context."""
    if name not in parts:
        parts[name] = {"__name__": "agentyard." + name, "kernel": sys.modules["agentyard"]}
        exec(compile(sources[name], OURS, "exec"), parts[name])
    return parts[name]


class LateParts:
    """Tells when modules are imported that must show what they draw as we do."""

    LATE = ("IPython", "IPython.display", "IPython.core.display_functions", "matplotlib.pyplot")

    def find_spec(self, name, path=None, target=None):
        return part("rich")["find_spec"](self, name, path, target) if name in self.LATE else None


# ---- what cells show


def represent(value):
    """A value in all the ways in which it can show itself, by MIME type."""
    bundle, kind = {"text/plain": plain_text(value)}, type(value)
    for method, mime in METHODS.items():
        shown = call_quietly(value, kind, method)
        if shown is not None:
            bundle[mime] = shown
    shown = call_quietly(value, kind, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(shown, dict):
        bundle.update(shown)
    if str(kind.__module__).startswith(("matplotlib", "pandas")):
        part("rich")["enrich"](value, bundle)
    return bundle


def plain_text(value):
    text = repr(value)
    # Clients of this protocol expect strings without their quotes.
    if isinstance(value, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def call_quietly(value, kind, method, **arguments):
    if getattr(kind, method, None) is None:
        return None
    try:
        shown = getattr(value, method)(**arguments)
    except Exception as error:
        sys.stderr.write(f"{kind.__name__}.{method}() failed: {type(error).__name__}: {error}\n")
        return None
    # It may come with metadata, for which this protocol has no place.
    return shown[0] if isinstance(shown, tuple) and shown else shown


def publish(bundle, main=False):
    result, extra = {}, {}
    for mime, shown in bundle.items():
        if isinstance(shown, (bytes, bytearray)):
            shown = binascii.b2a_base64(shown, newline=False).decode()
        if shown is not None:
            (result if mime in KINDS else extra)[KINDS.get(mime, mime)] = shown
    if extra:
        result["extra"] = extra
    fields, left = [], MAX_RESULT_BYTES
    for name, shown in result.items():
        if name in STRUCTURED:
            shown = part("rich")["json_text"](shown)
        elif not isinstance(shown, str):
            shown = str(shown)
        size = len(shown.encode("utf-8", "backslashreplace"))
        if size > left:
            sys.stderr.write(f"a result's {name} was left out: {size} bytes are more than can be shown\n")
            continue
        left -= size
        fields += [name, shown]
    flush()
    # What is printed next is to come after it. A thread cannot wait for that: the socket is read by the main one.
    waits = _thread.get_ident() == MAIN_THREAD
    socket.send("result" if waits else "shown", "main" if main else "display", *fields, answered=waits)


def display(*values, raw=False, **_options):
    """Shows values in all the ways that they offer."""
    for value in values:
        if os.getpid() != socket.owner:
            print(repr(value))
        elif raw and isinstance(value, dict):
            publish(value)
        elif not shows_itself(value):
            publish(represent(value))


def shows_itself(value):
    if getattr(type(value), "_ipython_display_", None) is None:
        return False
    try:
        value._ipython_display_()
        return True
    except Exception:
        return False


def no_input(prompt=""):
    raise RuntimeError("input() does not work here: nobody sits at a keyboard; put the values into the code instead")


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


# ---- cells


def prepare(source, name):
    """The cell's syntax tree. Lines that only notebooks understand are put into Python first."""
    source = without_common_indent(source)
    if source.lstrip().startswith("%%"):
        source = part("magics")["cell"](source)
    for _ in range(source.count("\n") + 2):
        try:
            return compile(source, name, "exec", ONLY_AST | TOP_LEVEL_AWAIT), source
        except SyntaxError as error:
            lines = source.split("\n")
            number = (error.lineno or 0) - 1
            if not 0 <= number < len(lines) or not any(mark in lines[number] for mark in "!%"):
                raise
            line = part("magics")["line"](lines[number])
            if line is None:
                raise
            lines[number] = line
            source = "\n".join(lines)
    raise SyntaxError("this cell cannot be understood")


def without_common_indent(source):
    lines = source.replace("\r\n", "\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return "\n".join(lines)
    return "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)


def run(source):
    """Runs a cell and shows its last expression's value."""
    name = f"<cell {len(namespace['In'])}>"
    namespace["In"].append(source)
    cells[name] = source
    tree, cells[name] = prepare(source, name)
    remember_sources()
    last = tree.body.pop() if tree.body and type(tree.body[-1]) is _ast.Expr else None
    evaluate(compile(tree, name, "exec", TOP_LEVEL_AWAIT))
    if last is None:
        return
    value = evaluate(compile(_ast.Expression(last.value), name, "eval", TOP_LEVEL_AWAIT))
    if value is None or source.rstrip().endswith(";"):
        return
    namespace["___"], namespace["__"], namespace["_"] = namespace["__"], namespace["_"], value
    namespace["Out"][len(namespace["In"]) - 1] = value
    if not shows_itself(value):
        publish(represent(value), main=True)


def evaluate(code):
    value = eval(code, namespace)
    return part("rich")["wait_for"](value) if code.co_flags & COROUTINE else value


def remember_sources():
    """Lets tracebacks and `inspect` find the text of cells."""
    linecache = sys.modules.get("linecache")
    if linecache:
        for name, source in cells.items():
            if name not in linecache.cache:
                linecache.cache[name] = (len(source), None, source.splitlines(True), name)


def report(error):
    try:
        import linecache  # noqa: F401
        import traceback

        remember_sources()
        strip_our_frames(error)
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except BaseException as failure:
        text = f"{type(error).__name__} (its traceback cannot be shown: {failure!r})"
    try:
        value = str(error)
    except BaseException:
        value = "its text cannot be shown"
    socket.send("error", type(error).__name__, value[:MAX_ERROR_CHARACTERS], text[:MAX_ERROR_CHARACTERS])


def strip_our_frames(error):
    """Takes out of tracebacks what is ours, and what is before the cell."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames, frame = [], error.__traceback__
        while frame is not None:
            name = frame.tb_frame.f_code.co_filename
            if name in cells and frames and frames[0].tb_frame.f_code.co_filename not in cells:
                frames = []
            if name != OURS:
                frames.append(frame)
            frame = frame.tb_next
        for before, after in zip(frames, frames[1:] + [None]):
            before.tb_next = after
        error.__traceback__ = frames[0] if frames else None
        error = error.__cause__ or error.__context__


def execute(source, variables):
    global running
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    _signal.signal(_signal.SIGINT, on_interrupt)
    try:
        try:
            running = True
            run(source)
        finally:
            if os.getpid() == socket.owner and "matplotlib.pyplot" in sys.modules:
                part("rich")["show_figures"]()
            running = False
    except BaseException as error:
        running = False
        if os.getpid() != socket.owner:
            # A copy of this process that came back from the cell has no business here.
            flush()
            os._exit(1)
        report(error)
    if os.getpid() != socket.owner:
        flush()
        os._exit(0)
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    flush()
    socket.send("done")


MAIN_THREAD = _thread.get_ident()
parts, cells, running = {}, {}, False
socket = Socket()
sources = {name.decode(): text for name, text in socket.receive_pairs()}

# This module, so that its parts see what changes in it; and one of their own for cells, which others can import from.
module = type(sys)
agentyard = sys.modules["agentyard"] = module("agentyard")
agentyard.__dict__.update(display=display, publish=publish, represent=represent, run=run, flush=flush, part=part)
main = sys.modules["__main__"] = module("__main__")
namespace = agentyard.namespace = main.__dict__
namespace.update(__builtins__=builtins, display=display, In=[""], Out={}, _="", __="", ___="")
builtins.display = display
builtins.input = no_input
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=False)
sys.meta_path.insert(0, LateParts())
sys.argv = [""]

try:
    while True:
        code, *pairs = (field.decode("utf-8", "replace") for field in socket.receive())
        execute(code, dict(zip(pairs[::2], pairs[1::2])))
except OSError:
    # The cell has closed the socket.
    os._exit(1)
