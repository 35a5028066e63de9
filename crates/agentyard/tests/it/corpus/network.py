"""Attempts to talk to somebody."""

import os
import socket
import struct
import urllib.request

ADDRESS = os.environ.get("ATTEMPT_SERVICE", "127.0.0.1:1")
ADDRESSES = os.environ.get("ATTEMPT_ADDRESSES", "").split()
ABSTRACT = os.environ.get("ATTEMPT_ABSTRACT", "")
SOCKET_FILE = os.environ.get("ATTEMPT_SOCKET_FILE", "")
HOST, PORT = ADDRESS.rsplit(":", 1)


def _talk(host, port):
    with socket.create_connection((host, int(port)), timeout=3) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection.recv(100)


def _by_proxy(url):
    # Whoever has a proxy is shown a refusal by it, which is no answer of the one who was asked for.
    with urllib.request.urlopen(url, timeout=3) as answer:
        return answer.read(100)


def talk_to_a_service_of_the_host():
    return _talk(HOST, PORT)


def talk_to_it_by_other_names():
    for name in ("localhost", "0.0.0.0", "127.1", "::1", "::ffff:127.0.0.1", "0", "2130706433"):
        try:
            return _talk(name, PORT)
        except OSError:
            continue
    return None


def talk_to_it_by_addresses_of_the_host():
    for address in ADDRESSES:
        try:
            return _talk(address, PORT)
        except OSError:
            continue
    return None


def talk_to_an_abstract_socket():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("\0" + ABSTRACT)
        return connection.recv(100) or "connected"


def talk_to_a_socket_file():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET_FILE)
        return connection.recv(100) or "connected"


def talk_to_the_container_engine():
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"):
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                return path
        except OSError:
            continue
    return None


def ask_the_cloud_for_credentials():
    return _talk("169.254.169.254", 80)


def talk_to_the_internet():
    return _talk("1.1.1.1", 80)


def send_a_datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("1.1.1.1", 53))
        sender.send(b"\0" * 12)
        return "sent"


def look_up_a_name():
    return socket.gethostbyname("example.com")


def listen_to_the_wire():
    return str(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))


def send_raw_packets():
    return str(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))


def make_a_network_interface():
    import fcntl

    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, 0x400454CA, struct.pack("16sH22x", b"attempt", 1))
    return "made"


def find_network_interfaces():
    return [name for _, name in socket.if_nameindex() if name != "lo"]


def talk_to_the_host_through_a_proxy():
    return _by_proxy(f"http://{HOST}:{PORT}/")


def talk_to_the_cloud_through_a_proxy():
    return _by_proxy("http://169.254.169.254/latest/meta-data/")
