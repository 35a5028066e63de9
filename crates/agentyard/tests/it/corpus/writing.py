"""Attempts to leave something outside of the workspace, or to become somebody else by what is left in it."""

import os
import stat

DATA = os.environ.get("ATTEMPT_DATA", "")
HOME = os.path.dirname(os.environ.get("ATTEMPT_SECRET_FILE", ""))
OTHER_WORKSPACE = os.environ.get("ATTEMPT_OTHER_WORKSPACE", "")


def _write(path, text="written from inside\n"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _any(paths):
    for path in paths:
        try:
            return _write(path)
        except OSError:
            continue
    return None


def write_programs_of_the_system():
    return _any(["/usr/bin/attempt", "/bin/attempt", "/usr/local/bin/attempt", "/sbin/attempt", "/lib/attempt"])


def write_settings_of_the_system():
    return _any(["/etc/passwd", "/etc/attempt", "/etc/ld.so.preload", "/etc/cron.d/attempt", "/etc/hosts"])


def write_the_home_directory_of_the_server():
    return _any([HOME + "/.bashrc", HOME + "/.ssh/authorized_keys", HOME + "/attempt"])


def write_the_data_directory():
    return _any([DATA + "/attempt", DATA + "/agentyard.db"])


def write_another_workspace():
    return _write(OTHER_WORKSPACE + "/attempt")


def write_settings_of_the_kernel():
    return _any(["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
                 "/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/hostname"])


def write_the_panic_button():
    return _any(["/proc/sysrq-trigger"])


def write_control_groups():
    return _any(["/sys/fs/cgroup/attempt", "/sys/fs/cgroup/memory/cgroup.procs", "/sys/kernel/uevent_helper"])


def write_a_hook_of_git():
    os.makedirs("/workspace/.git/hooks", exist_ok=True)
    return _write("/workspace/.git/hooks/post-checkout")


def write_the_configuration_of_git():
    return _write("/workspace/.git/config", "[core]\n\tfsmonitor = /bin/false\n")


def replace_the_git_directory():
    os.rename("/workspace/.git", "/workspace/moved")
    return os.listdir("/workspace")


def remove_the_git_directory():
    os.unlink("/workspace/.git")
    return "removed"


def leave_a_program_that_becomes_root():
    # Where the server is root, what is written belongs to root on the host.
    path = _write("/workspace/becomes-root")
    os.chmod(path, 0o4755)
    mode = os.stat(path).st_mode
    return oct(mode) if mode & (stat.S_ISUID | stat.S_ISGID) else None


def make_a_program_that_becomes_root():
    path = "/workspace/made-root"
    os.umask(0)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o6755))
    mode = os.stat(path).st_mode
    return oct(mode) if mode & (stat.S_ISUID | stat.S_ISGID) else None


def give_a_program_capabilities():
    path = _write("/workspace/capable")
    os.setxattr(path, "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
    return os.listxattr(path)


def make_a_device():
    os.mknod("/workspace/device", 0o600 | stat.S_IFBLK, os.makedev(8, 0))
    return "made"


def make_a_device_of_characters():
    os.mknod("/workspace/memory", 0o600 | stat.S_IFCHR, os.makedev(1, 1))
    return "made"


def give_files_to_root():
    path = _write("/workspace/given")
    os.chown(path, 0, 0)
    return os.stat(path).st_uid == 0 and "given"


def leave_the_root_by_chroot():
    os.mkdir("/tmp/hole")
    os.chroot("/tmp/hole")
    os.chdir("../../../../..")
    return os.listdir(".")


def write_over_the_interpreter():
    import sys

    return _any([sys.executable, os.path.realpath(sys.executable), os.__file__])


def write_through_the_file_descriptor_of_the_program():
    with open("/proc/1/exe", "wb") as file:
        file.write(b"#!/bin/sh\n")
    return "written"
