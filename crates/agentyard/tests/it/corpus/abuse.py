"""Harm that is done where one is. The walls hold when it ends, and when others do not feel it."""

import os
import signal
import socket
import sys
import threading
import time


def fork_without_end():
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def start_threads_without_end():
    while True:
        try:
            threading.Thread(target=time.sleep, args=(1000,)).start()
        except (RuntimeError, MemoryError):
            time.sleep(0.01)


def take_10_gibibytes():
    taken = []
    for _ in range(10 * 1024):
        taken.append(bytearray(os.urandom(4096) * 256))
    return f"{len(taken)} MiB"


def take_memory_in_many_processes():
    for _ in range(16):
        if os.fork() == 0:
            taken = []
            while True:
                taken.append(bytearray(os.urandom(4096) * 256))
    time.sleep(1000)


def take_memory_without_a_name():
    taken = 0
    while taken < 10 * 1024:
        descriptor = os.memfd_create("taken")
        os.write(descriptor, b"x" * (1 << 20))
        taken += 1
    return f"{taken} MiB"


def fill_shared_memory():
    with open("/dev/shm/filled", "wb") as file:
        for _ in range(10 * 1024):
            file.write(b"x" * (1 << 20))
    return "10 GiB"


def fill_the_temporary_directory():
    with open("/tmp/filled", "wb") as file:
        for _ in range(10 * 1024):
            file.write(b"x" * (1 << 20))
    return "10 GiB"


def fill_the_disk_with_one_file():
    with open("/workspace/filled", "wb") as file:
        for _ in range(10 * 1024):
            file.write(b"x" * (1 << 20))
    return "10 GiB"


def fill_the_disk_with_many_files():
    for number in range(10 * 1024):
        with open(f"/workspace/filled-{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
    return "10 GiB"


def claim_the_disk_at_once():
    descriptor = os.open("/workspace/claimed", os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(descriptor, 0, 100 << 30)
    return "100 GiB"


def make_files_without_end():
    for number in range(3_000_000):
        os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))
    return "3,000,000 files"


def dig_deeper_than_paths_can_say():
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")


def open_files_without_end():
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1_000_000)]
    return len(opened)


def fill_pipes():
    while True:
        read, write = os.pipe()
        os.set_blocking(write, False)
        try:
            os.write(write, b"x" * (1 << 20))
        except BlockingIOError:
            pass


def talk_without_end():
    while True:
        sys.stdout.write("x" * 65536 + "\n")


def talk_on_both_without_end():
    while True:
        os.write(1, b"\xff\xfe\0" * 10_000)
        os.write(2, b"\x1b]0;title\x07" * 10_000)


def sleep_without_end():
    time.sleep(100_000)


def ignore_being_asked_to_stop():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)


def leave_a_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(100_000)
        os._exit(0)


def leave_a_daemon_that_holds_the_output():
    if os.fork() == 0:
        os.setsid()
        time.sleep(100_000)


def kill_everybody():
    os.kill(-1, signal.SIGKILL)


def kill_its_parents():
    for process in range(1, 400):
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass


def spin():
    while True:
        pass


def spin_in_many_processes():
    for _ in range(32):
        if os.fork() == 0:
            while True:
                pass
    while True:
        pass


def leave_the_dead_unburied():
    while True:
        try:
            if os.fork() == 0:
                os._exit(0)
        except OSError:
            time.sleep(0.01)


def connect_without_end():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    connections = []
    while True:
        connection = socket.socket()
        connection.connect(listener.getsockname())
        connections.append((connection, listener.accept()))


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def end_with_a_signal_of_its_own():
    os.kill(os.getpid(), signal.SIGKILL)
