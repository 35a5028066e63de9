"""Attempts to read what is none of the sandbox's business."""

import glob
import os

SECRET_FILE = os.environ.get("ATTEMPT_SECRET_FILE", "")
DATA = os.environ.get("ATTEMPT_DATA", "")
OTHER_WORKSPACE = os.environ.get("ATTEMPT_OTHER_WORKSPACE", "")


def _read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def _any(paths, wanted=b""):
    for path in paths:
        try:
            found = _read(path)
        except OSError:
            continue
        if found and wanted in found:
            return path, found[:80]
    return None


def read_a_file_of_the_home_directory():
    return _read(SECRET_FILE)


def read_it_through_the_root_of_process_1():
    return _read("/proc/1/root" + SECRET_FILE)


def read_it_through_every_process():
    return _any(f"{root}/{SECRET_FILE}" for root in glob.glob("/proc/[0-9]*/root"))


def read_it_by_many_steps_up():
    return _read("/workspace/" + "../" * 40 + SECRET_FILE.lstrip("/"))


def read_it_by_a_link():
    os.symlink(SECRET_FILE, "/workspace/link-to-secret")
    try:
        return _read("/workspace/link-to-secret")
    finally:
        os.unlink("/workspace/link-to-secret")


def read_it_by_a_hard_link():
    os.link(SECRET_FILE, "/workspace/hard-link")
    return _read("/workspace/hard-link")


def read_it_through_an_inherited_descriptor():
    for number in range(3, 256):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        # Whoever lists /proc/self/fd has that open itself.
        if target.startswith("/") and not target.startswith(("/proc/", "/workspace", "/usr", "/dev/null", "/memfd")):
            return number, target
    return None


def climb_from_an_inherited_directory():
    for number in range(0, 256):
        try:
            directory = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=number)
            names = os.listdir(directory)
        except OSError:
            continue
        if "root" in names and "var" in names and os.path.exists(SECRET_FILE):
            return names
    return None


def list_the_home_directory():
    return os.listdir(os.path.dirname(SECRET_FILE))


def read_the_database():
    return _any(glob.glob(DATA + "/*.db*") + [DATA + "/agentyard.db"])


def read_the_secret_key():
    return _any([DATA + "/secret.key"])


def list_the_data_directory():
    return os.listdir(DATA)


def read_another_workspace():
    return _read(OTHER_WORKSPACE + "/private.txt")


def read_another_workspace_beside_this_one():
    names = [name for name in os.listdir("/workspace/..") if name not in os.listdir("/")]
    return names


def read_the_passwords():
    return _read("/etc/shadow")


def read_host_keys():
    return _any(glob.glob("/etc/ssh/*_key") + glob.glob(os.path.join("/root", ".ssh/*")) + glob.glob("/home/*/.ssh/*"))


def read_credentials_of_other_tools():
    homes = [os.path.expanduser("~"), "/root", os.path.dirname(SECRET_FILE)]
    names = [".netrc", ".git-credentials", ".docker/config.json", ".kube/config", ".aws/credentials", ".npmrc",
             ".cargo/credentials.toml", ".config/gh/hosts.yml", ".claude/.credentials.json", ".bash_history"]
    return _any(f"{home}/{name}" for home in homes for name in names)


def read_the_environment_of_the_server():
    # Only the server has a variable of this name.
    return _any(glob.glob("/proc/[0-9]*/environ"), b"SERVER_SECRET=")


def read_the_environment_of_process_1():
    found = _read("/proc/1/environ")
    return found if b"ATTEMPT" not in found and b"SERVER" in found else None


def find_processes_of_the_host():
    names = [_read(path) for path in glob.glob("/proc/[0-9]*/cmdline")]
    return [name for name in names if b"agentyard" in name and b"serve" in name]


def read_memory_of_the_kernel():
    return _any(["/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port"])


def read_messages_of_the_kernel():
    return _any(["/dev/kmsg", "/proc/kmsg", "/var/log/kern.log", "/var/log/syslog"])


def read_addresses_of_the_kernel():
    lines = _read("/proc/kallsyms").splitlines()
    return [line for line in lines if line and not line.startswith(b"0000000000000000")][:1]


def read_a_disk():
    return _any(glob.glob("/dev/sd*") + glob.glob("/dev/vd*") + glob.glob("/dev/nvme*") + glob.glob("/dev/loop*"))


def find_devices():
    usual = {"null", "zero", "full", "random", "urandom", "tty", "console", "pts", "ptmx", "shm", "fd", "stdin",
             "stdout", "stderr", "core", "mqueue"}
    return sorted(set(os.listdir("/dev")) - usual)


def find_control_groups():
    return os.listdir("/sys/fs/cgroup")


def find_services_of_the_host():
    found = []
    for directory in ("/run", "/var/run", "/var/lib"):
        try:
            found += [f"{directory}/{name}" for name in os.listdir(directory)]
        except OSError:
            pass
    known = ("docker", "podman", "containerd", "systemd", "dbus", "postgresql", "agentyard")
    return [path for path in found if any(name in path for name in known)]


def read_the_configuration_of_the_server():
    return _any(["/etc/agentyard/config.toml", os.path.dirname(SECRET_FILE) + "/.config/agentyard/config.toml"])
