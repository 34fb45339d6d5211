"""Two network namespaces, the programs in them, and the cable between them.

Nothing here is visible outside the namespaces, so every pair can use the same addresses.
"""

import contextlib
import ctypes
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CLONE_NEWNET = 0x40000000

ADDRESS = {"client": "192.0.2.10", "server": "192.0.2.80"}
MAC = {"client": "02:00:00:00:00:0a", "server": "02:00:00:00:00:50"}
OTHER = {"client": "server", "server": "client"}


# What joins the two ends, and the interface on which tcpdump listens. The cable has a delay and no offloads; a veth pair has
# offloads and no delay; `any` is a veth pair with a bridge at the client, where each frame shows on both; `lo` joins a
# host with itself.
WIRES = {"cable": "eth0", "veth": "eth0", "any": "any", "lo": "lo"}


def setns(fd):
    if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(namespace):
    """What is made in this block belongs to the namespace. A socket keeps its namespace for life."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open("/run/netns/" + namespace, os.O_RDONLY)
    try:
        setns(there)
        yield
    finally:
        setns(home)
        os.close(there)
        os.close(home)


def run(*command):
    subprocess.run(command, check=True, timeout=20)


def stop(process):
    """Ends a process that we started, and waits for it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


class Pair:
    """The namespaces of a client and a server with a cable between them."""

    def __init__(self, tag, delay, first_port, fault=None, wire="cable"):
        self.name = {end: f"finwait-{tag}-{end}" for end in ADDRESS}
        for name in self.name.values():
            if os.path.exists("/run/netns/" + name):
                raise SystemExit(f"network namespace {name} exists already; remove it: ip netns del {name}")
        self.ports = range(first_port, first_port + 100)  # the client's
        self.made = []
        self.cable = None
        try:
            self._make(delay, first_port, fault, wire)
        except BaseException:
            self.close()
            raise

    def _make(self, delay, first_port, fault, wire):
        # A namespace with a small socket table of its own: the table is read every 10 ms (see kernel.py), and the
        # machine's common one takes 2 ms to read. The size is inherited, so an outer namespace has to set it.
        outer = self.name["client"] + "-outer"
        run("ip", "netns", "add", outer)
        self.made.append(outer)
        with inside(outer):
            with open("/proc/sys/net/ipv4/tcp_child_ehash_entries", "w") as file:
                file.write("1024")
            for name in self.name.values():
                run("ip", "netns", "add", name)
                self.made.append(name)
        if wire in ("veth", "any"):
            run("ip", "-n", self.name["client"], "link", "add", "eth0", "type", "veth",
                "peer", "eth0", "netns", self.name["server"])
        else:
            self.join(delay, fault)
        for end, name in self.name.items():
            settings = {
                "ipv6/conf/all/disable_ipv6": 1,
                "ipv4/tcp_congestion_control": "reno",
                # Each pair has its own client ports: the kernel's trace sees all namespaces at once.
                "ipv4/ip_local_port_range": f"{self.ports[0]} {self.ports[-1]}",
            }
            with inside(name):
                for key, value in settings.items():
                    with open("/proc/sys/net/" + key, "w") as file:
                        file.write(str(value))
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "link", "set", "eth0", "address", MAC[end])
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "address", "add", ADDRESS[end] + "/24", "dev", "eth0")
            # Known neighbours: no ARP delays the first SYN.
            run("ip", "-n", name, "neighbour", "add", ADDRESS[OTHER[end]], "lladdr", MAC[OTHER[end]],
                "nud", "permanent", "dev", "eth0")

        if wire == "any":
            self.bridge()

    def join(self, delay, fault):
        """Starts the cable."""
        self.cable = subprocess.Popen(
            [sys.executable, HERE + "/cable.py", self.name["client"], self.name["server"], str(delay),
             *([fault] if fault else [])],
            stdout=subprocess.PIPE, text=True)
        if self.cable.stdout.readline().strip() != "ready":
            raise SystemExit("the cable did not come up")

    def bridge(self):
        """Puts the client's address on a bridge over its interface."""
        name, address = self.name["client"], ADDRESS["client"] + "/24"
        run("ip", "-n", name, "address", "del", address, "dev", "eth0")
        run("ip", "-n", name, "link", "add", "br0", "address", MAC["client"], "type", "bridge")
        run("ip", "-n", name, "link", "set", "eth0", "master", "br0")
        run("ip", "-n", name, "link", "set", "br0", "up")
        run("ip", "-n", name, "address", "add", address, "dev", "br0")
        run("ip", "-n", name, "neighbour", "add", ADDRESS["server"], "lladdr", MAC["server"],
            "nud", "permanent", "dev", "br0")

    def start(self, end, *command, **more):
        """Starts a program in the namespace of this end."""
        return subprocess.Popen(["ip", "netns", "exec", self.name[end], *command], **more)

    def close(self):
        if self.cable:
            stop(self.cable)
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], timeout=20)
