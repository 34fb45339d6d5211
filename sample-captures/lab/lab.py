"""What a scenario works with: the two ends, their programs, and a place to say what the programs saw.

A scenario is one function that plays both ends, so that its steps stand in the order in which they happen.
"""

import os
import socket
import ssl
import subprocess
import time

import netns

HERE = netns.HERE
SERVER = netns.ADDRESS["server"]


class Lab:
    def __init__(self, pair, work):
        self.pair = pair
        self.work = work  # a temporary directory
        self.app = []  # (time, end, words)
        self.programs = []
        self.sockets = []

    def saw(self, end, words, when=None):
        self.app.append((when or time.time_ns(), end, words))

    def close(self):
        for program in self.programs:
            netns.stop(program)
        for each in self.sockets:
            each.close()

    # Plain sockets

    def sysctl(self, end, key, value):
        """A kernel setting at one end: `ipv4/tcp_syncookies`."""
        with netns.inside(self.pair.name[end]), open("/proc/sys/net/" + key, "w") as file:
            file.write(str(value))

    def listen(self, port=80, backlog=None):
        with netns.inside(self.pair.name["server"]):
            listener = socket.create_server((SERVER, port), backlog=backlog)
        listener.settimeout(20)
        self.sockets.append(listener)
        return listener

    def connect(self, port=80, timeout=20, host=SERVER, local=0):
        """A connection of the client; `local` is its port, if it matters."""
        with netns.inside(self.pair.name["client"]):
            client = socket.socket()
        client.settimeout(timeout)
        self.sockets.append(client)
        if local:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            client.bind((netns.ADDRESS["client"], local))
        try:
            client.connect((host, port))
        except OSError as error:
            self.saw("client", f"connect: {words(error)}")
            self.end("client", client)
            raise
        return client

    def connect_and_leave(self, port=80):
        """Begins to connect, and closes before the answer is there."""
        with netns.inside(self.pair.name["client"]):
            client = socket.socket()
        client.setblocking(False)
        client.connect_ex((SERVER, port))
        self.end("client", client)
        time.sleep(0.1)

    def accept(self, listener):
        server, _ = listener.accept()
        server.settimeout(20)
        self.sockets.append(server)
        return server

    def open(self, port=80):
        """A connection, both ends of it."""
        listener = self.listen(port)
        client = self.connect(port)
        server = self.accept(listener)
        return client, server

    def read(self, end, sock, size=65536):
        """One read, told as the program sees it."""
        try:
            data = sock.recv(size)
        except OSError as error:
            self.saw(end, f"read: {words(error)}")
            return b""
        self.saw(end, f"read: {len(data)} bytes" if data else "read: end of stream")
        return data

    def write(self, end, sock, data):
        try:
            sock.sendall(data)
            self.saw(end, f"write: {len(data)} bytes")
        except OSError as error:
            self.saw(end, f"write: {words(error)}")

    def shut(self, end, sock):
        sock.shutdown(socket.SHUT_WR)
        self.saw(end, "shutdown(SHUT_WR)")

    def end(self, end, sock):
        sock.close()
        self.saw(end, "close()")

    # Packet filter

    def drop_syns(self):
        """A firewall at the server that says nothing. The capture there still has the frames."""
        self.drop("tcp flags syn")

    def drop(self, what, end="server"):
        """The same for other frames, as nft names them, or at the other end."""
        self.rule(f"{what} drop", end)

    def reject(self, what, answer):
        """A firewall at the server that says no."""
        self.rule(f"{what} reject with {answer}")

    def rule(self, rule, end="server"):
        self.nft("add table inet lab; add chain inet lab input { type filter hook input priority 0; }; "
                 f"add rule inet lab input {rule}", end)

    def drop_nothing(self):
        self.nft("delete table inet lab")

    def nft(self, rules, end="server"):
        netns.run("ip", "netns", "exec", self.pair.name[end], "nft", rules)

    # Real programs

    def nginx(self, keepalive_timeout, more="", master=False):
        """Starts it; `more` are further lines of its configuration. It can be reloaded if it has a master."""
        with open(HERE + "/orders.nginx.conf") as file:
            text = file.read().replace("KEEPALIVE_TIMEOUT", keepalive_timeout).replace("MORE", more)
        if master:
            text = text.replace("master_process off;", "user root;")
        with open(self.work + "/nginx.conf", "w") as file:
            file.write(text)
        log = open(self.work + "/nginx.log", "w")
        self.programs.append(self.pair.start("server", "nginx", "-p", self.work, "-c", self.work + "/nginx.conf",
                                             stderr=log))
        for _ in range(100):
            time.sleep(0.05)
            if self.listening(self.programs[-1].pid):
                return
        raise SystemExit("nginx does not listen: " + open(self.work + "/nginx.log").read())

    def nginx_pid(self):
        with open(self.work + "/nginx.pid") as file:
            return int(file.read())

    @staticmethod
    def listening(pid):
        with open(f"/proc/{pid}/net/tcp") as file:
            return any(line.split()[3] == "0A" for line in file.readlines()[1:])

    def okhttp(self, pool_idle, retry, *steps):
        """Runs Orders.java to its end and keeps what it says."""
        # The quick compiler alone: a cold program is then nearly as fast as one that has run for days.
        done = subprocess.run(
            ["ip", "netns", "exec", self.pair.name["client"], "java", "-XX:TieredStopAtLevel=1", "-cp",
             f"{os.environ['ORDERS_CLASSES']}:/usr/share/java/okhttp.jar:/usr/share/java/okio.jar",
             "Orders", str(pool_idle), str(retry).lower(), *map(str, steps)],
            stdout=subprocess.PIPE, text=True, timeout=120)
        for line in done.stdout.splitlines():
            when, said = line.split(" ", 1)
            seconds, micros = when.split(".")
            self.saw("client", said, int(seconds) * 10**9 + int(micros) * 1000)
        if done.returncode != 0:
            raise SystemExit(f"Orders ended with status {done.returncode}")

    # TLS

    def tls(self, client, server):
        """Wraps both sockets; the caller runs both handshakes, each in its thread."""
        key, certificate = self.work + "/key.pem", self.work + "/certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "30", "-subj", "/CN=api.example", "-keyout", key, "-out", certificate],
            check=True, timeout=20, stderr=subprocess.DEVNULL)
        ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ours.maximum_version = ssl.TLSVersion.TLSv1_2
        ours.load_cert_chain(certificate, key)
        theirs = ssl.create_default_context(cafile=certificate)
        theirs.hostname_checks_common_name = True
        theirs.check_hostname = False
        return (theirs.wrap_socket(client, server_hostname="api.example", do_handshake_on_connect=False),
                ours.wrap_socket(server, server_side=True, do_handshake_on_connect=False))


def words(error):
    return f"{type(error).__name__} ({error.strerror or error})"
