"""Scenarios: connections that open late, or not, and ports that are used again."""

import errno
import socket
import struct
import threading
import time

import faults
import netns
from scenarios import ANSWER, REQUEST, TCP_REPAIR, exchange, scenario

TCP_DEFER_ACCEPT = 9  # from <linux/tcp.h>


@scenario(at="server")
def accept_queue_full(lab):
    """Captured at the server, whose program does not accept: its queue of two is full. The third connection's
    acknowledgement and its data arrive and are ignored; the SYN-ACK is repeated."""
    lab.sysctl("server", "ipv4/tcp_syncookies", 0)
    lab.listen(backlog=1)
    lab.connect()
    time.sleep(0.1)
    with netns.inside(lab.pair.name["client"]):
        clients = [socket.socket(), socket.socket()]
    lab.sockets += clients
    for client in clients:  # both SYNs are taken while one place is left
        client.setblocking(False)
        client.connect_ex((netns.ADDRESS["server"], 80))
    time.sleep(0.1)
    lab.write("client", clients[1], REQUEST)
    time.sleep(4)


@scenario(fault="AfterTheSyn")
def handshake_ack_lost(lab):
    """A firewall on the way drops all that the client sends after its SYN. The server repeats its SYN-ACK, the client
    its request."""
    lab.listen()
    client = lab.connect()
    lab.write("client", client, REQUEST)
    time.sleep(4)


@scenario(at="server")
def defer_accept(lab):
    """Captured at the server, whose socket waits for data (TCP_DEFER_ACCEPT). The client waits for a greeting: the
    server repeats its SYN-ACK though the acknowledgement came, and sees the connection only when the client speaks."""
    listener = lab.listen()
    listener.setsockopt(socket.IPPROTO_TCP, TCP_DEFER_ACCEPT, 1)
    client = lab.connect()
    time.sleep(5)
    lab.write("client", client, b"HELLO\n")
    server = lab.accept(listener)
    lab.read("server", server)
    lab.write("server", server, b"OK\n")
    lab.read("client", client)


@scenario(fault="FirstBareAck", at="server")
def syn_cookie_lost_ack(lab):
    """Captured at the server, which answers SYNs by cookies (net.ipv4.tcp_syncookies 2). The client's acknowledgement is
    lost, nobody repeats anything, and the client waits for the greeting of a mail server; its next frame, 5 s later,
    opens the connection."""
    lab.sysctl("server", "ipv4/tcp_syncookies", 2)
    listener = lab.listen(25)
    client = lab.connect(25)
    time.sleep(5)
    lab.write("client", client, b"NOOP\r\n")
    server = lab.accept(listener)
    lab.write("server", server, b"220 mail.example ESMTP ready\r\n")
    lab.read("client", client)


@scenario()
def synack_dropped(lab):
    """A filter on the client's host drops the server's SYN-ACK after the place of capture; the client repeats its
    SYN."""
    lab.listen()
    lab.drop("tcp flags & (syn | ack) == (syn | ack)", "client")
    try:
        lab.connect(timeout=4)
    except OSError:
        pass


@scenario(fault="HalfNat")
def synack_wrong_address(lab):
    """The client asks a virtual address; the answer does not pass the translator and comes from the server's own
    address. The client resets that and repeats its SYN."""
    lab.listen()
    netns.run("ip", "-n", lab.pair.name["client"], "neighbour", "add", "192.0.2.100", "lladdr", netns.MAC["server"],
              "nud", "permanent", "dev", "eth0")
    try:
        lab.connect(host="192.0.2.100", timeout=4)
    except OSError:
        pass


@scenario(fault="EcnSyns")
def syn_option_dropped(lab):
    """A firewall drops SYNs that ask for ECN. The client's kernel tries, then sends a plain SYN, which is answered."""
    lab.sysctl("client", "ipv4/tcp_ecn", 1)
    client, server = lab.open()
    exchange(lab, client, server)


@scenario(fault="Refuses8080")
def rejected_by_firewall(lab):
    """A server that answers on port 80 with hop count 57. A firewall nearer to the client refuses port 8080 in its name:
    that reset has hop count 61."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    try:
        lab.connect(8080)
    except OSError:
        pass


@scenario(fault="NatRace")
def snat_port_race(lab):
    """A client opens its connections two at a time, through a NAT that now and then gives both the same port and drops
    one of the two SYNs; the repetition, a second later, passes."""
    listener = lab.listen(backlog=64)

    def one():
        client = lab.connect()
        lab.write("client", client, REQUEST)
        lab.read("client", client)
        lab.end("client", client)

    def serve():
        for _ in range(30):
            server = lab.accept(listener)
            lab.read("server", server)
            lab.write("server", server, ANSWER)
            lab.read("server", server)
            lab.end("server", server)

    serving = threading.Thread(target=serve)
    serving.start()
    running = []
    for _ in range(15):
        for _ in range(2):
            running.append(threading.Thread(target=one))
            running[-1].start()
        time.sleep(0.25)
    for each in running:
        each.join(20)
    serving.join(20)


@scenario(at="server", kernel=False)
def syn_flood(lab):
    """Captured at the server: within a second, SYNs from 60 addresses. The server answers each by a SYN cookie
    (net.ipv4.tcp_syncookies 2), and nothing ever follows."""
    lab.sysctl("server", "ipv4/tcp_syncookies", 2)
    netns.run("ip", "-n", lab.pair.name["server"], "link", "set", "eth0", "arp", "off")
    netns.run("ip", "-n", lab.pair.name["server"], "route", "add", "198.51.100.0/24", "dev", "eth0")
    lab.listen()
    with netns.inside(lab.pair.name["client"]):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    lab.sockets.append(raw)
    first = min(lab.pair.ports)
    for n in range(60):
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 64, 6, 0)
        ip += bytes((198, 51, 100, 1 + n)) + socket.inet_aton(netns.ADDRESS["server"])
        head = struct.pack(">HHIIBBHHH", first + n, 80, 7_000_000 * n, 0, 0x50, faults.SYN, 512, 0, 0)
        raw.sendto(faults.checked(bytes(14) + ip + head)[14:], (netns.ADDRESS["server"], 0))
        time.sleep(0.015)


# The same port again

@scenario()
def half_open_syn(lab):
    """The client loses its connection without a word, as a restarted machine does (TCP_REPAIR, then close()). Its SYN
    from the same port meets the connection that the server still holds: the server answers for that one, the client
    resets it, and its next SYN is accepted."""
    listener = lab.listen()
    client = lab.connect()
    server = lab.accept(listener)
    exchange(lab, client, server)
    time.sleep(2)
    port = client.getsockname()[1]
    client.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    lab.end("client", client)
    time.sleep(3)
    again = lab.connect(local=port)
    lab.read("server", server)
    server = lab.accept(listener)
    exchange(lab, again, server)


def closed_by_server(lab):
    """An exchange after which the server closes first, and is in TIME_WAIT. Gives the listener and the client's port."""
    listener = lab.listen()
    client = lab.connect()
    server = lab.accept(listener)
    exchange(lab, client, server)
    time.sleep(0.5)
    port = client.getsockname()[1]
    lab.end("server", server)
    lab.read("client", client)
    lab.end("client", client)
    return listener, port


@scenario(fault="OlderNumbers")
def time_wait_reuse_refused(lab):
    """The server closed first and is in TIME_WAIT. The client uses the same port again half a second later, with lower
    numbers (a box on the way makes them so) and no timestamps: the server answers for the old connection, the client
    resets it, and its next SYN is accepted."""
    for end in netns.ADDRESS:
        lab.sysctl(end, "ipv4/tcp_timestamps", 0)
    listener, port = closed_by_server(lab)
    time.sleep(0.5)
    client = lab.connect(local=port)
    server = lab.accept(listener)
    exchange(lab, client, server)


@scenario()
def time_wait_reuse_accepted(lab):
    """The server closed first and is in TIME_WAIT. The client uses the same port again a second later, with a higher
    number: the server accepts at once. Harmless."""
    listener, port = closed_by_server(lab)
    time.sleep(1)
    client = lab.connect(local=port)
    server = lab.accept(listener)
    exchange(lab, client, server)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario(fault="LateCopy")
def time_wait_assassination(lab):
    """Both ends have closed. An old copy of the client's request arrives late; the server, in TIME_WAIT, acknowledges
    again, and the client, which has forgotten the connection, resets that. Harmless."""
    closed_by_server(lab)
    time.sleep(3.2)


@scenario()
def time_wait_exhaustion(lab):
    """A client with 12 ports to choose from (net.ipv4.ip_local_port_range) makes a connection for each request and closes
    it. After 12 of them it must wait for TIME_WAIT: each port comes back just 60 s later."""
    first = min(lab.pair.ports)
    lab.sysctl("client", "ipv4/ip_local_port_range", f"{first} {first + 11}")
    lab.sysctl("client", "ipv4/tcp_tw_reuse", 0)
    listener = lab.listen()
    done, deadline = 0, time.monotonic() + 80
    while done < 18 and time.monotonic() < deadline:
        try:
            client = lab.connect()
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            time.sleep(0.5)
            continue
        server = lab.accept(listener)
        exchange(lab, client, server)
        lab.end("client", client)
        lab.read("server", server)
        lab.end("server", server)
        done += 1
        time.sleep(0.1)
