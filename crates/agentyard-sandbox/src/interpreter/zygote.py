"""A Python interpreter that has started already, and forks itself for each call.

It runs inside a sandbox, keeps capabilities there that no call is to have, and so touches nothing that an agent has
written: only the standard library is loaded. Each call is two processes in namespaces of their own. The first (PID 1
there) puts up walls, gives up every capability for good and starts the second, which waits for its call and only then
looks at the agent's packages and code. Then the first buries the dead and ends with the second, so everything that the
code has started ends too.

    server ── control (fd 0) ──► this process      one message for each child, with its two sockets
    server ◄─── channel ──────── first process     that its walls stand, how the second ended
    server ◄─── calls ─────────► second process    that it waits; the call; further ones where it is kept as a context

What a second process says once it has its call is not to be believed: by then the code can say it as well.

All calls of one such interpreter share the seed of Python's hashes and the addresses of its libraries.
"""

import array
import ctypes
import fcntl
import resource
import signal
import site
import socket
import struct

# What a fresh interpreter has loaded anyway; the rest is loaded ahead of time for those who may want it. Not what needs
# OpenSSL, which takes itself apart at the end of every process that has loaded it.
ESSENTIAL = frozenset(sys.modules)
AHEAD = (
    "argparse ast base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal enum fnmatch"
    " fractions functools glob heapq inspect itertools locale logging math numbers operator pathlib pickle platform"
    " pprint queue random re selectors shutil statistics string subprocess tempfile textwrap threading time typing"
    " urllib.parse warnings weakref zlib"
).split()

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 22, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER, CAPABILITY_VERSION_3 = 4, 2, 0x20080522
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

MAX_MESSAGE = 64 * 1024

libc = ctypes.CDLL(None, use_errno=True)
# Keeps the interpreter's lock while it calls.
whole_libc = ctypes.PyDLL(None, use_errno=True)


def checked(result, what):
    """Raises what a function of the C library left as its error."""
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def prctl(option, *arguments):
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    checked(libc.prctl(option, *words), f"prctl {option}")


def mount(source, target, kind, flags, data=None):
    encoded = [os.fsencode(text) if text is not None else None for text in (source, target, kind, data)]
    source, target, kind, data = encoded
    checked(libc.mount(source, target, kind, ctypes.c_ulong(flags), data), f"mount {os.fsdecode(target)}")


def receive(channel):
    """The next message and its descriptors; nothing when the other side is gone."""
    room = socket.CMSG_SPACE(16 * 4)
    data, ancillary, _, _ = channel.recvmsg(MAX_MESSAGE, room, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return data, list(descriptors)


def tell(channel, *, descriptors=(), **fields):
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    channel.sendmsg([json.dumps(fields).encode()], ancillary)


def read_all(descriptor):
    with open(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def prepare_site():
    """What `site` does at a start and is the same for all: nothing in it comes from an agent."""
    sys.path[:] = [entry for entry in sys.path if entry]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    site.execsitecustomize()


# ---- This process: nothing of a call happens here but its fork.


def serve():
    """Forks for each message. Returns in the child, with what it is to do; ends when the server is gone."""
    control = socket.socket(fileno=os.dup(0))
    os.close(0)
    os.open("/dev/null", os.O_RDWR)
    settings = json.loads(receive(control)[0])
    settings["filter"] = bytes.fromhex(settings["filter"])
    for name in AHEAD:
        try:
            __import__(name)
        except ImportError:
            pass
    # Children are nobody's to wait for: the kernel buries them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    prepare_site()
    LOADED.update(sys.modules)
    LOADED.discard("__main__")
    gc.collect()
    gc.freeze()
    tell(control, ready=list(sys.version_info[:3]))
    while True:
        data, descriptors = receive(control)
        if not data:
            os._exit(0)
        channel, calls = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        try:
            if clone() == 0:
                control.close()
                return settings, json.loads(data), channel, calls
        except OSError as error:
            tell(channel, failed=str(error)[:MAX_TEXT])
        channel.close()
        calls.close()


def clone():
    """Forks, into namespaces of the child's own. What Python and the C library do at a fork is left out: the child
    forks once more, as they know it, before anything runs in it that could tell."""
    number = {"x86_64": 56, "aarch64": 220, "riscv64": 220}[os.uname().machine]
    flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | signal.SIGCHLD
    return checked(whole_libc.syscall(ctypes.c_long(number), ctypes.c_ulong(flags), 0, 0, 0, 0), "clone")


# ---- The first process of a call: walls around it.


def wall_in(settings, wanted, channel):
    """Puts this process where it shares nothing with others but the directories that it is meant to."""
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for path in settings["covered"]:
        if os.path.lexists(path):
            mount(path, path, None, MS_BIND | MS_REC)
            flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
            mount(None, path, None, flags)
    for path, size, mode in settings["temporary"]:
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, f"size={size},mode={mode}")
    # Terminals cannot be made anew without a user 0, and those that are there would be shared.
    if os.path.isdir("/dev/pts"):
        mount("tmpfs", "/dev/pts", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=555")
    set_up_loopback()
    if not wanted["listen"]:
        return tell(channel, walled=True)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", wanted["listen"]))
        listener.listen(64)
        tell(channel, walled=True, descriptors=[listener.fileno()])


def set_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lever:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(lever, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(lever, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def give_up_everything(settings):
    """Nothing that this process may do now and the code may not is left after this."""
    checked(libc.unshare(CLONE_NEWCGROUP), "unshare")
    for name, most in settings["limits"].items():
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    for capability in range(last + 1):
        prctl(PR_CAPBSET_DROP, capability)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    checked(libc.capset(header, bytes(24)), "capset")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    program = ctypes.create_string_buffer(settings["filter"], len(settings["filter"]))
    description = struct.pack("HxxxxxxP", len(settings["filter"]) // 8, ctypes.addressof(program))
    pointer = ctypes.create_string_buffer(description, len(description))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(pointer))


def split(settings, wanted, channel, calls):
    """Becomes the second process of a call, when all is ready. The first never returns."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        wall_in(settings, wanted, channel)
        give_up_everything(settings)
        # The code must not reach into the first process, which would be as easy as into itself.
        prctl(PR_SET_DUMPABLE, 0)
        child = os.fork()
    except BaseException as error:
        tell(channel, failed=f"{type(error).__name__}: {error}"[:MAX_TEXT])
        os._exit(0)
    if child == 0:
        prctl(PR_SET_DUMPABLE, 1)
        channel.close()
        os.setsid()
        return
    calls.close()
    signal.signal(signal.SIGTERM, lambda *_: (signal_all(signal.SIGTERM), signal_all(signal.SIGCONT)))
    signal.signal(signal.SIGUSR1, lambda *_: signal_all(signal.SIGSTOP))
    signal.signal(signal.SIGUSR2, lambda *_: signal_all(signal.SIGCONT))
    os.dup2(0, 2)
    status = None
    while status is None:
        ended, waited = os.waitpid(-1, 0)
        if ended == child:
            status = waited
    end_all()
    try:
        if os.WIFSIGNALED(status):
            tell(channel, signal=os.WTERMSIG(status))
        else:
            tell(channel, code=os.WEXITSTATUS(status))
    except OSError:
        pass
    os._exit(0)


def end_all():
    """Ends everybody else here, and returns when nobody is left. The server waits for that, and not for the kernel to
    take the namespaces apart, which takes longer."""
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
            os.waitpid(-1, 0)
        except ProcessLookupError:
            return
        except ChildProcessError:
            # Whoever is left has a parent that is about to end.
            os.sched_yield()


def signal_all(number):
    try:
        os.kill(-1, number)
    except OSError:
        pass


# ---- The second process of a call: the code.


def set_up(call):
    """Makes this interpreter what one would be that was started for the call. From here on, the agent's files are read."""
    sys.executable = call["executable"]
    sys.orig_argv = [sys.executable]
    sys.prefix = sys.exec_prefix = call["prefix"] or sys.base_prefix
    replace_environment(call["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    named = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    beside = os.path.dirname(call["path"]) if call["path"] else ""
    os.chdir(call["directory"])
    forget_shadowed([beside or ".", *named])
    sys.path[:0] = named
    add_packages()
    sys.path.insert(0, beside)
    sys.addaudithook(report.watch)
    gc.enable()


def replace_environment(environment):
    os.environ.clear()
    os.environ.update(environment)


def forget_shadowed(directories):
    """Where a file of the agent's has the name of a module that was loaded ahead of time, none of those is."""
    names = {name.partition(".")[0] for name in sys.modules if name not in ESSENTIAL}
    for directory in directories:
        try:
            found = {entry.partition(".")[0] for entry in os.listdir(directory)}
        except OSError:
            continue
        if found & names:
            for name in [name for name in sys.modules if name not in ESSENTIAL]:
                del sys.modules[name]
            return


def add_packages():
    """The rest of what `site` does at a start."""
    known = site.venv(site.removeduppaths())
    site.ENABLE_USER_SITE = site.check_enableusersite()
    known = site.addusersitepackages(known)
    site.addsitepackages(known)
    if "sitecustomize" not in sys.modules:
        site.execsitecustomize()
    if site.ENABLE_USER_SITE:
        site.execusercustomize()


def end(code):
    """Ends as an interpreter does, as far as anybody can tell: all that the code has made is dropped, so that files are
    written out. What had been loaded before is left as it is: taking it apart takes longer than most code runs."""
    wind_up()
    code = flush() or code
    report.end()
    for name, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if name not in LOADED and isinstance(names, dict):
            names.clear()
    sys.last_type = sys.last_value = sys.last_traceback = module = names = None
    gc.collect()
    flush()
    # Also what libraries have registered with the C library.
    whole_libc.exit(code)


def finish_call():
    """What a call leaves behind in an interpreter that stays: nothing is open to it any more."""
    flush()
    report.end()
    nothing = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


def join(groups):
    """Enters the groups that limit the call. Each process can do so itself at once; for another, the whole machine would
    have to be waited for."""
    for group in groups:
        os.write(group, b"0")
        os.close(group)


def perform(calls):
    """The second process: runs its call and ends, or runs one after the other where it is kept as a context."""
    main, number = new_main(), 1
    tell(calls, waiting=True)
    while True:
        data, descriptors = receive(calls)
        if not data:
            os._exit(0)
        wanted = json.loads(data)
        if not wanted["context"]:
            calls.close()
        join(descriptors[len(descriptors) - wanted["groups"] :])
        del descriptors[len(descriptors) - wanted["groups"] :]
        call = json.loads(read_all(descriptors.pop(0)))
        report.begin(descriptors.pop(), call["root"])
        take_streams(descriptors)
        try:
            if number == 1:
                set_up(call)
            else:
                replace_environment(call["environment"])
                os.chdir(call["directory"])
            code = run(call, main, "<code>" if number == 1 else f"<code {number}>")
        except Exception as error:
            code = show(error)
        if calls.fileno() < 0:
            end(code)
        finish_call()
        tell(calls, done=code)
        number += 1


def start():
    settings, wanted, channel, calls = serve()
    split(settings, wanted, channel, calls)
    perform(calls)


start()
