"""The scenarios: one function each. Its name is the sample's name, with dashes.

The first paragraph of a function's text is printed into the capture as its comment.
"""

import contextlib
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass

REQUEST = b"GET /api/orders HTTP/1.1\r\nHost: api.example\r\n\r\n"
ORDERS = b'{"orders":[{"id":1041,"total":"18.50"},{"id":1042,"total":"7.20"}]}\n'
ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ORDERS)) + ORDERS
TCP_REPAIR = 19  # from <linux/tcp.h>; Python has no name for it

SCENARIOS = {}


@dataclass
class Scenario:
    function: object
    delay: float  # seconds, one way
    fault: str  # a class of faults.py: the box on the way
    at: str  # the end whose capture is the sample
    only: str  # what the captures hold, as tcpdump filters
    kernel: bool  # can the kernels' record be tied to the frames?
    wire: str  # what joins the ends, see netns.WIRES


ALL = "tcp or icmp"


def scenario(delay=0.0025, fault=None, at="client", only=ALL, kernel=True, wire="cable"):
    """Enters a function into the table. 2.5 ms each way is a server in the same city."""
    def enter(function):
        name = function.__name__.replace("_", "-")
        whole = kernel and only == ALL and wire == "cable"
        SCENARIOS[name] = Scenario(function, delay, fault, at, only, whole, wire)
        return function
    return enter


# Connection reuse: real nginx, real OkHttp

@scenario()
def okhttp_half_closed_reuse(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (pool idle time 5 min, no retry): the pool hands out a
    connection that the server closed 3.4 s before; the GET is answered by RST, the program gets EOFException."""
    lab.nginx("10s")
    lab.okhttp(300, False, "GET", 13.4, "GET")


@scenario()
def okhttp_post_noticed(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (pool idle time 5 min, no retry): before a POST the
    pool looks whether the idle connection still lives, closes it, and opens a new one. Healthy."""
    lab.nginx("10s")
    lab.okhttp(300, False, "GET", 13.4, "POST")


@scenario()
def okhttp_retry(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (pool idle time 5 min, retry on connection failure):
    the GET meets a connection that the server closed 3.4 s before, and OkHttp sends it again on a new one."""
    lab.nginx("10s")
    lab.okhttp(300, True, "GET", 13.4, "GET")


@scenario()
def okhttp_short_idle(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (pool idle time 5 s): the client's pool closes first,
    and the next GET opens a new connection. Healthy."""
    lab.nginx("10s")
    lab.okhttp(5, False, "GET", 13.4, "GET")


@scenario(delay=0.02)
def request_crosses_fin(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (no retry), 40 ms apart: the next GET and the server's
    FIN cross on the way; the GET is answered by RST."""
    lab.nginx("10s")
    # The server's 10 s begin 20 ms before the answer is here, and its FIN takes 20 ms: 9.98 s is the middle.
    lab.okhttp(300, False, "GET", 9.98, "GET")


@scenario(delay=0.02)
def request_before_fin(lab):
    """nginx 1.22.1 (keepalive_timeout 10 s) and OkHttp 3.13.1 (no retry), 40 ms apart: the next GET arrives 0.3 s
    before the server's idle time is over, and is answered. Healthy."""
    lab.nginx("10s")
    lab.okhttp(300, False, "GET", 9.7, "GET")


# Closing, in plain sockets

def exchange(lab, client, server):
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    lab.write("server", server, ANSWER)
    lab.read("client", client)


@scenario()
def close_by_client(lab):
    """One request, one answer; the client closes first, the server 0.2 s later. Healthy: four segments."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.end("client", client)
    lab.read("server", server)
    time.sleep(0.2)
    lab.end("server", server)


@scenario()
def close_by_server(lab):
    """One request, one answer; the server closes first, after it has read everything, the client 0.2 s later.
    Healthy: four segments."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.end("server", server)
    lab.read("client", client)
    time.sleep(0.2)
    lab.end("client", client)


@scenario()
def close_three_segments(lab):
    """The client closes, the server closes as soon as it reads the end: its FIN carries the ACK. Healthy."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    closing = threading.Thread(target=lambda: (lab.read("server", server), lab.end("server", server)))
    closing.start()
    time.sleep(0.1)
    lab.end("client", client)
    closing.join(5)


@scenario(delay=0.02)
def simultaneous_close(lab):
    """Both ends close at the same moment, 40 ms apart: the FINs cross. Harmless."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.end("client", client)
    lab.end("server", server)


@scenario()
def unannounced_close(lab):
    """The server closes right after its answer, without having said that it would; the client sends its next request
    0.1 s later and gets a RST."""
    client, server = lab.open()
    exchange(lab, client, server)
    lab.end("server", server)
    time.sleep(0.1)
    lab.write("client", client, REQUEST)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def reset_after_close(lab):
    """The server closes and keeps nothing of the connection for longer than 1 s (TCP_LINGER2); the client closes 3 s
    later, and its FIN is answered by RST. Harmless."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 1)
    lab.end("server", server)
    lab.read("client", client)
    time.sleep(3)
    lab.end("client", client)


@scenario()
def fin_retransmitted(lab):
    """The client's FIN is lost at the server; its copy, 0.2 s later, arrives. Harmless."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.drop("tcp flags & fin == fin")
    lab.end("client", client)
    time.sleep(0.1)
    lab.drop_nothing()
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def half_close_streaming(lab):
    """The client sends its request and shuts its side; the server goes on sending for 1.5 s, then closes. Healthy."""
    client, server = lab.open()
    lab.write("client", client, REQUEST)
    lab.shut("client", client)
    lab.read("server", server)
    lab.read("server", server)
    lab.write("server", server, b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nConnection: close\r\n\r\nid,total\n")
    for _ in range(6):
        lab.write("server", server, b"1041,18.50\n" * 80)
        time.sleep(0.25)
        lab.read("client", client)
    lab.end("server", server)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def close_wait_brief(lab):
    """nginx 1.22.1 (keepalive_timeout 2 s) closes an idle connection; the client takes 2 s to close its side.
    Healthy."""
    lab.nginx("2s")
    client = lab.connect()
    lab.write("client", client, REQUEST)
    lab.read("client", client)
    lab.read("client", client)
    time.sleep(2)
    lab.end("client", client)


@scenario()
def close_wait_leak(lab):
    """nginx 1.22.1 (keepalive_timeout 5 s) closes its idle connections; the client program makes a new one every
    25 s and never closes any: they stay in CLOSE_WAIT, the first for 75 s when the capture ends."""
    lab.nginx("5s")
    leaked = []
    for number in range(4):
        client = lab.connect()
        lab.write("client", client, REQUEST)
        lab.read("client", client)
        leaked.append(client)
        time.sleep(25 if number < 3 else 6)


@scenario()
def close_with_unread_data(lab):
    """The client sends an order of 3 kB; the server reads 64 bytes of it and closes 0.3 s later, with the rest
    unread: its kernel aborts by RST. The client has no answer."""
    client, server = lab.open()
    body = b'{"item":7,"note":"' + b"x" * 3000 + b'"}'
    lab.write("client", client, b"POST /api/orders HTTP/1.1\r\nHost: api.example\r\n"
              b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    lab.read("server", server, 64)
    time.sleep(0.3)
    lab.end("server", server)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def linger_zero(lab):
    """A complete exchange; then the client closes with SO_LINGER 0, which is a RST instead of a FIN."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    linger(client, 0)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def linger_five(lab):
    """A complete exchange; then the client closes with SO_LINGER 5 s, which is an ordinary FIN. Healthy."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    linger(client, 5)
    closing = threading.Thread(target=lab.end, args=("client", client))  # waits for the server's ACK
    closing.start()
    lab.read("server", server)
    lab.end("server", server)
    closing.join(10)


def linger(sock, seconds):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))


# Who waits for whom

@scenario()
def client_gave_up(lab):
    """The client waits 3 s for an answer and closes; the server answers after 5 s and gets a RST."""
    client, server = lab.open()
    client.settimeout(3)
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    lab.read("client", client)
    lab.end("client", client)
    time.sleep(2)
    lab.write("server", server, ANSWER)
    time.sleep(0.1)
    lab.read("server", server)
    lab.write("server", server, ANSWER)
    lab.end("server", server)


@scenario()
def response_before_client_timeout(lab):
    """The server takes 2 s for its answer; the client would wait 3 s, gets it, and closes. Healthy."""
    client, server = lab.open()
    client.settimeout(3)
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    time.sleep(2)
    lab.write("server", server, ANSWER)
    lab.read("client", client)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def late_data_lingering(lab):
    """The server shuts its side and goes on reading (a lingering close). A request that comes 1 s later is
    acknowledged and never answered."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(1)
    lab.shut("server", server)
    time.sleep(1)
    lab.write("client", client, REQUEST)
    time.sleep(0.1)
    lab.read("client", client)
    lab.read("server", server)  # and throws it away
    time.sleep(0.5)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def lingering_close_no_data(lab):
    """The server shuts its side and goes on reading (a lingering close); the client sends nothing more and closes
    1 s later. Healthy."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(1)
    lab.shut("server", server)
    lab.read("client", client)
    time.sleep(1)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def lingering_close_over(lab):
    """The server shuts its side, reads for 2 s more, and closes. A request that comes 1 s after that is answered by
    RST, as on any connection that the server closed."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(1)
    lab.shut("server", server)
    time.sleep(2)
    lab.end("server", server)
    time.sleep(1)
    lab.write("client", client, REQUEST)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def half_open_data(lab):
    """The server loses a connection without a word, as a restarted machine does (TCP_REPAIR, then close()); the
    client's next request is answered by RST."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(2)
    server.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    server.close()
    lab.saw("server", "the connection is lost without a frame")
    time.sleep(3)
    lab.write("client", client, REQUEST)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def idle_then_answered(lab):
    """The connection is idle for 15 s, and the next request is answered as the first. Healthy."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(15)
    exchange(lab, client, server)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


# Opening

@scenario()
def connection_refused(lab):
    """Nobody listens on the server's port: the SYN is answered by RST."""
    with contextlib.suppress(ConnectionRefusedError):
        lab.connect()


@scenario()
def refused_then_accepted(lab):
    """The first attempt comes before the service is up, and is refused; the second, 1 s later, works."""
    with contextlib.suppress(ConnectionRefusedError):
        lab.connect()
    listener = lab.listen()
    time.sleep(1)
    client = lab.connect()
    server = lab.accept(listener)
    exchange(lab, client, server)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def syn_unanswered(lab):
    """A firewall at the server drops every SYN without a word; the client gives up after 7.5 s."""
    lab.listen()
    lab.drop_syns()
    with contextlib.suppress(TimeoutError):
        lab.connect(timeout=7.5)


@scenario()
def syn_answered_late(lab):
    """The first SYN is lost at the server; the second, 1 s later, is answered. Healthy but for the second."""
    listener = lab.listen()
    lab.drop_syns()
    threading.Timer(0.5, lab.drop_nothing).start()
    client = lab.connect()
    server = lab.accept(listener)
    exchange(lab, client, server)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def connect_abandoned(lab):
    """The client begins to connect and closes before the server's answer is there: the SYN-ACK is answered by RST."""
    lab.listen()
    lab.connect_and_leave()


@scenario()
def icmp_unreachable(lab):
    """A firewall at the server answers each SYN by an ICMP error: host unreachable."""
    lab.listen()
    lab.reject("tcp flags syn", "icmp type host-unreachable")
    with contextlib.suppress(OSError):
        lab.connect(timeout=4)


@scenario()
def keepalive_unanswered(lab):
    """The server's machine falls silent; the client's keep-alive (after 2 s, every 1 s, 3 times) finds out and gives
    the connection up."""
    client, server = lab.open()
    for option, value in ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3)):
        client.setsockopt(socket.IPPROTO_TCP, option, value)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    exchange(lab, client, server)
    lab.drop("meta l4proto tcp")
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def half_close_unanswered(lab):
    """The client sends its request and shuts its side, as it may; the server takes that for a hang-up and closes
    without an answer."""
    client, server = lab.open()
    lab.write("client", client, REQUEST)
    lab.shut("client", client)
    lab.read("server", server)
    lab.read("server", server)
    lab.end("server", server)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def keepalive_reset(lab):
    """The server loses a connection without a word (TCP_REPAIR, then close()); the client's keep-alive probe, after
    2 s, is answered by RST."""
    client, server = lab.open()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 2)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    exchange(lab, client, server)
    time.sleep(0.5)
    server.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    server.close()
    lab.saw("server", "the connection is lost without a frame")
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def firewall_reset(lab):
    """A firewall answers the client's second request by a RST in the server's name; the server knows nothing of it
    and sends on."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.reject("tcp flags & psh == psh", "tcp reset")
    lab.write("client", client, REQUEST)
    lab.read("client", client)
    time.sleep(0.5)
    lab.drop_nothing()
    lab.write("server", server, ANSWER)
    time.sleep(0.1)
    lab.end("client", client)
    lab.read("server", server)


@scenario()
def idle_firewall_reset(lab):
    """The connection is idle for 35 s; then a firewall that has forgotten it answers the client's request by a RST in
    the server's name. The server knows nothing of it and sends on."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(35)
    lab.reject("tcp flags & psh == psh", "tcp reset")
    lab.write("client", client, REQUEST)
    lab.read("client", client)
    time.sleep(0.5)
    lab.drop_nothing()
    lab.write("server", server, ANSWER)
    time.sleep(0.1)
    lab.end("client", client)
    lab.read("server", server)


# Transfer

@scenario()
def zero_window_stall(lab):
    """The client sends 400 kB; the server's program does not read for 3 s, so its window closes and the client waits.
    Then it reads everything, and answers."""
    listener = lab.listen()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    client = lab.connect()
    server = lab.accept(listener)
    body = b"x" * 400_000
    head = b"PUT /api/report HTTP/1.1\r\nHost: api.example\r\nContent-Length: %d\r\n\r\n" % len(body)
    sending = threading.Thread(target=lab.write, args=("client", client, head + body))
    sending.start()
    time.sleep(3)
    left = len(head) + len(body)
    while left > 0:
        left -= len(server.recv(65536))
    lab.saw("server", "everything is read")
    sending.join(10)
    lab.write("server", server, ANSWER)
    lab.read("client", client)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def tail_loss(lab):
    """A request and its copies are lost for 2 s, then one arrives and is answered: the client waited for nothing but
    its own retransmission timer."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.drop("meta l4proto tcp")
    lab.write("client", client, REQUEST)
    time.sleep(2)
    lab.drop_nothing()
    lab.read("server", server)
    lab.write("server", server, ANSWER)
    lab.read("client", client)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario()
def peer_vanished(lab):
    """The server's machine falls silent in a busy connection; the client repeats its request for 6 s and gives up."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.drop("meta l4proto tcp")
    client.settimeout(6)
    lab.write("client", client, REQUEST)
    lab.read("client", client)


@scenario()
def idle_drop(lab):
    """The connection is idle for 35 s; then a firewall that has forgotten it drops the client's request and all its
    copies without a word."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(35)
    lab.drop("meta l4proto tcp")
    client.settimeout(6)
    lab.write("client", client, REQUEST)
    lab.read("client", client)


# TLS

@scenario()
def tls_close_notify(lab):
    """TLS 1.2: the server sends close_notify and closes at once; the client answers with its own close_notify and
    FIN, and each is answered by RST. Harmless."""
    client, server = tls_exchange(lab)
    send_close_notify(server)
    lab.saw("server", "close_notify sent")
    lab.end("server", server)
    lab.read("client", client)
    time.sleep(0.1)  # the FIN is there when the client answers
    client.unwrap()
    lab.saw("client", "close_notify sent")
    lab.end("client", client)


@scenario()
def tls_close_both(lab):
    """TLS 1.2: the server sends close_notify and waits for the client's before it closes. Healthy, no RST."""
    client, server = tls_exchange(lab)
    send_close_notify(server)
    lab.saw("server", "close_notify sent")
    lab.read("client", client)
    client.unwrap()
    lab.saw("client", "close_notify sent")
    lab.end("client", client)
    server.settimeout(5)
    server.unwrap()
    lab.saw("server", "close_notify received")
    lab.read("server", server)
    lab.end("server", server)


def tls_exchange(lab):
    client, server = lab.tls(*lab.open(443))
    handshake = threading.Thread(target=server.do_handshake)
    handshake.start()
    client.do_handshake()
    handshake.join(10)
    exchange(lab, client, server)
    time.sleep(1)
    return client, server


def send_close_notify(sock):
    """unwrap() sends close_notify and then waits for the peer's; without blocking, it does not wait."""
    sock.settimeout(0)
    with contextlib.suppress(ssl.SSLWantReadError):
        sock.unwrap()
