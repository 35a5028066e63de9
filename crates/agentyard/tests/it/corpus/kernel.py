"""Attempts to ask the kernel for what the sandbox has given up."""

import ctypes
import errno
import os
import platform
import socket

_libc = ctypes.CDLL(None, use_errno=True)

_NUMBERS = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "mount": 165, "umount2": 166, "pivot_root": 155, "unshare": 272,
        "setns": 308, "clone": 56, "clone3": 435, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321,
        "perf_event_open": 298, "io_uring_setup": 425, "userfaultfd": 323, "init_module": 175, "finit_module": 313,
        "kexec_load": 246, "reboot": 169, "settimeofday": 164, "sethostname": 170, "swapon": 167, "acct": 163,
        "open_by_handle_at": 304, "name_to_handle_at": 303, "quotactl": 179, "syslog": 103, "fsopen": 430,
        "open_tree": 428, "move_mount": 429, "mount_setattr": 442, "fanotify_init": 300, "pidfd_getfd": 438,
        "capset": 126, "iopl": 172, "vhangup": 153, "kcmp": 312, "lookup_dcookie": 212, "personality": 135,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97,
        "setns": 268, "clone": 220, "clone3": 435, "keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280,
        "perf_event_open": 241, "io_uring_setup": 425, "userfaultfd": 282, "init_module": 105, "finit_module": 273,
        "kexec_load": 104, "reboot": 142, "settimeofday": 170, "sethostname": 161, "swapon": 224, "acct": 89,
        "open_by_handle_at": 265, "name_to_handle_at": 264, "quotactl": 60, "syslog": 116, "fsopen": 430,
        "open_tree": 428, "move_mount": 429, "mount_setattr": 442, "fanotify_init": 262, "pidfd_getfd": 438,
        "capset": 91, "kcmp": 272, "lookup_dcookie": 18, "personality": 92,
    },
}[platform.machine()]

_NEW_USER, _NEW_MOUNT, _NEW_NET, _NEW_PID = 0x10000000, 0x00020000, 0x40000000, 0x20000000


def _ask(name, *arguments):
    """The answer to a system call; fails where it is refused."""
    if name not in _NUMBERS:
        raise OSError(errno.ENOSYS, "no such call here")
    answer = _libc.syscall(_NUMBERS[name], *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"{name}: {answer}"


def trace_another_process():
    child = os.fork()
    if child == 0:
        os.pause() if hasattr(os, "pause") else _libc.pause()
    try:
        return _ask("ptrace", 16, child, 0, 0)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def read_the_memory_of_process_1():
    with open("/proc/1/mem", "rb") as file:
        file.seek(0x400000)
        return file.read(16)


def read_the_memory_of_another_process():
    buffer = ctypes.create_string_buffer(16)
    return _ask("process_vm_readv", 1, buffer, 1, buffer, 1, 0)


def mount_a_file_system():
    os.makedirs("/tmp/mounted", exist_ok=True)
    return _ask("mount", b"none", b"/tmp/mounted", b"tmpfs", 0, None)


def mount_the_processes_anew():
    os.makedirs("/tmp/mounted", exist_ok=True)
    return _ask("mount", b"proc", b"/tmp/mounted", b"proc", 0, None)


def make_the_system_writable():
    return _ask("mount", b"none", b"/usr", None, 32 | 4096, None)


def uncover_what_is_hidden():
    return _ask("umount2", b"/workspace/.git", 2)


def uncover_the_settings_of_the_kernel():
    return _ask("umount2", b"/proc/sys", 2)


def change_the_root():
    os.makedirs("/tmp/root/old", exist_ok=True)
    return _ask("pivot_root", b"/tmp/root", b"/tmp/root/old")


def mount_by_the_new_calls():
    return _ask("fsopen", b"tmpfs", 0)


def copy_a_mount():
    return _ask("open_tree", -100, b"/usr", 1)


def change_a_mount():
    return _ask("mount_setattr", -100, b"/usr", 0, ctypes.create_string_buffer(32), 32)


def make_a_user_namespace():
    return _ask("unshare", _NEW_USER)


def make_a_mount_namespace():
    return _ask("unshare", _NEW_MOUNT)


def make_a_network_namespace():
    return _ask("unshare", _NEW_NET)


def clone_into_a_user_namespace():
    answer = _libc.syscall(_NUMBERS["clone"], _NEW_USER | 17, 0, 0, 0, 0)
    if answer == 0:
        os._exit(0)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
    os.waitpid(answer, 0)
    return "cloned"


def clone_by_the_new_call():
    class Arguments(ctypes.Structure):
        _fields_ = [("values", ctypes.c_uint64 * 11)]

    arguments = Arguments()
    arguments.values[0], arguments.values[4] = _NEW_USER, 17
    answer = _libc.syscall(_NUMBERS["clone3"], ctypes.byref(arguments), 88)
    if answer == 0:
        os._exit(0)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
    os.waitpid(answer, 0)
    return "cloned"


def enter_the_namespaces_of_process_1():
    descriptor = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    return _ask("setns", descriptor, 0)


def read_the_keyring():
    return _ask("keyctl", 0, -3, 1) or _ask("keyctl", 11, -3, 0, 0)


def add_a_key():
    return _ask("add_key", b"user", b"attempt", b"x", 1, -4)


def request_a_key():
    return _ask("request_key", b"user", b"attempt", b"x", -3)


def load_a_filter_into_the_kernel():
    return _ask("bpf", 0, ctypes.create_string_buffer(128), 128)


def watch_the_processor():
    return _ask("perf_event_open", ctypes.create_string_buffer(b"\0\0\0\0\x70", 128), 0, -1, -1, 0)


def use_rings():
    return _ask("io_uring_setup", 8, ctypes.create_string_buffer(256))


def handle_page_faults():
    return _ask("userfaultfd", 0)


def load_a_module():
    return _ask("init_module", b"x", 1, b"")


def load_a_module_from_a_file():
    return _ask("finit_module", 0, b"", 0)


def start_another_kernel():
    return _ask("kexec_load", 0, 0, 0, 0)


def reboot():
    # The magic of "no ctrl-alt-del": harmless where it is allowed.
    return _ask("reboot", 0xFEE1DEAD, 672274793, 0, 0)


def set_the_clock():
    return _ask("settimeofday", None, None) and _ask("settimeofday", (ctypes.c_long * 2)(0, 0), None)


def name_the_host():
    return _ask("sethostname", b"attempt", 7)


def add_swap():
    return _ask("swapon", b"/workspace/swap", 0)


def keep_accounts():
    return _ask("acct", None)


def open_a_file_by_its_number():
    handle = ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0", 128)
    return _ask("open_by_handle_at", 3, handle, 0)


def set_quotas():
    return _ask("quotactl", 0x800002 << 8, b"/dev/vda", 0, None)


def read_what_the_kernel_said():
    return _ask("syslog", 3, ctypes.create_string_buffer(1024), 1024)


def watch_all_files():
    return _ask("fanotify_init", 0, 0)


def take_a_descriptor_of_another_process():
    pidfd = os.pidfd_open(1) if hasattr(os, "pidfd_open") else -1
    return _ask("pidfd_getfd", pidfd, 0, 0)


def reach_the_ports():
    return _ask("iopl", 3)


def compare_with_process_1():
    return _ask("kcmp", os.getpid(), 1, 0, 0, 0)


def become_root():
    os.setuid(0)
    return os.getuid()


def become_root_by_a_program():
    import subprocess

    for command in (["sudo", "-n", "id", "-u"], ["su", "-c", "id -u"], ["pkexec", "id", "-u"]):
        try:
            done = subprocess.run(command, capture_output=True, timeout=5, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.strip() == b"0":
            return command
    return None


def hold_capabilities():
    with open("/proc/self/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    held = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16)]
    if status["NoNewPrivs"] != "1" or status["Seccomp"] != "2":
        held.append("no walls")
    return held


def be_root():
    return (os.getuid() == 0 or os.geteuid() == 0 or os.getgid() == 0) and os.getresuid()


def type_into_the_terminal():
    import fcntl

    for number in range(3):
        try:
            fcntl.ioctl(number, 0x5412, b"x")
            return "typed"
        except OSError:
            continue
    return None


def speak_to_the_hypervisor():
    socket.socket(40, socket.SOCK_STREAM).connect((2, 1024))
    return "connected"


def make_a_hypervisor_socket():
    return str(socket.socket(40, socket.SOCK_STREAM))


def use_the_crypto_of_the_kernel():
    return str(socket.socket(38, socket.SOCK_SEQPACKET))


def call_by_the_other_table():
    if platform.machine() != "x86_64":
        return None
    answer = _libc.syscall(0x40000000 + 39)
    return f"x32 getpid: {answer}" if answer > 0 else None


def be_more_important_than_others():
    os.nice(-5)
    return os.nice(0) < 0 and "nicer"
