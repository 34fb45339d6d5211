"""Scenarios: what programs do to their connections: limits, reloads, deaths, pauses."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import netns
from lab import words
from scenarios import ANSWER, REQUEST, exchange, linger, scenario, tls_exchange

ORDER = b"POST /api/orders HTTP/1.1\r\nHost: api.example\r\nContent-Length: 90\r\n\r\n"


@scenario(delay=0.1)
def reload(lab):
    """nginx 1.22.1, 200 ms away, is reloaded and closes its idle connections at once, though they were idle for
    different times; a request that is on its way just then is lost."""
    lab.nginx("75s", master=True)
    clients = []
    for _ in range(5):
        clients.append(lab.connect())
        lab.write("client", clients[-1], REQUEST)
        lab.read("client", clients[-1])
        time.sleep(0.7)
    time.sleep(1)
    os.kill(lab.nginx_pid(), signal.SIGHUP)
    time.sleep(0.09)  # the FINs have left, and are not here yet
    lab.write("client", clients[3], REQUEST)
    time.sleep(0.3)
    for client in clients:
        lab.read("client", client)
        lab.end("client", client)


@scenario()
def request_limit(lab):
    """nginx 1.22.1 with a limit of 12 requests on a connection (keepalive_requests): it closes right after the twelfth
    response, on each of three connections. The client has heard the announcement and opens new ones. Harmless."""
    lab.nginx("75s", "keepalive_requests 12;")
    for _ in range(3):
        client = lab.connect()
        for _ in range(12):
            lab.write("client", client, REQUEST)
            lab.read("client", client)
            time.sleep(0.05)
        lab.read("client", client)
        lab.end("client", client)


@scenario()
def early_response(lab):
    """The client uploads 60 kB in small parts; the server answers 413 as soon as it has seen the length, and closes without
    reading the rest. Its kernel resets what still comes."""
    client, server = lab.open()
    size = 60_000

    def upload():
        lab.write("client", client, b"PUT /api/orders HTTP/1.1\r\nHost: api.example\r\n"
                  b"Content-Length: %d\r\n\r\n" % size)
        try:
            for _ in range(60):
                client.sendall(bytes(1000))
                time.sleep(0.001)
        except OSError as error:
            lab.saw("client", f"write: {words(error)}")

    uploading = threading.Thread(target=upload)
    uploading.start()
    lab.read("server", server, 90)
    time.sleep(0.005)
    lab.write("server", server, b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    lab.end("server", server)
    uploading.join(5)
    lab.read("client", client)
    lab.end("client", client)


@scenario()
def nagle_delayed_ack(lab):
    """The client writes each order in two parts and does not set TCP_NODELAY: the second part waits for the
    acknowledgement of the first, which the server holds back for 40 ms. Four orders."""
    client, server = lab.open()

    def serve():
        for _ in range(4):
            got = b""
            while len(got) < len(ORDER) + 90:
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
                got += server.recv(65536)
            server.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    serving = threading.Thread(target=serve)
    serving.start()
    for _ in range(4):
        lab.write("client", client, ORDER)
        lab.write("client", client, b"x" * 90)
        lab.read("client", client)
        time.sleep(0.3)
    serving.join(5)


@scenario()
def fin_wait_2_held(lab):
    """A proxy closes its side and keeps the socket; the client acknowledges and never closes. After 60 s the proxy's own
    timer ends the connection by a reset."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(1)
    lab.shut("server", server)
    lab.read("client", client)
    time.sleep(60)
    linger(server, 0)
    lab.end("server", server)


SERVE = """
import socket, sys, time
listener = socket.create_server(("192.0.2.80", 80))
print("ready", flush=True)
kept = []
while True:
    server, _ = listener.accept()
    server.recv(65536)
    server.sendall(sys.argv[1].encode().decode("unicode_escape").encode())
    kept.append(server)
"""


@scenario()
def server_died(lab):
    """The server's process is killed while four connections are open: the one with an unread request ends by a reset,
    the idle ones by a FIN. The next attempt, a second later, is refused."""
    answer = ANSWER.decode().replace("\r", "\\r").replace("\n", "\\n")
    program = lab.pair.start("server", sys.executable, "-c", SERVE, answer, stdout=subprocess.PIPE, text=True)
    lab.programs.append(program)
    program.stdout.readline()
    clients = []
    for _ in range(4):
        clients.append(lab.connect())
        lab.write("client", clients[-1], REQUEST)
        lab.read("client", clients[-1])
        time.sleep(0.8)
    lab.write("client", clients[0], REQUEST)  # nobody reads it
    time.sleep(0.2)
    program.kill()
    lab.saw("server", "killed")
    time.sleep(0.1)
    for client in clients:
        lab.read("client", client)
        lab.end("client", client)
    time.sleep(1)
    try:
        lab.connect()
    except OSError:
        pass


@scenario()
def tls_truncated(lab):
    """TLS 1.2: after a complete exchange the server closes its socket without a close_notify, and the client does the
    same. Harmless if the answer said how long it is."""
    client, server = tls_exchange(lab)
    lab.end("server", server)
    time.sleep(0.1)
    lab.end("client", client)


@scenario(delay=0.03, at="server")
def small_window(lab):
    """Captured at the server, 60 ms away from a client with a buffer of 4 kB: little fits into its window, and the server
    waits a round trip for each part."""
    listener = lab.listen()
    with netns.inside(lab.pair.name["client"]):
        client = socket.socket()
    lab.sockets.append(client)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(20)
    client.connect((netns.ADDRESS["server"], 80))
    server = lab.accept(listener)
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    size = 90_000
    sending = threading.Thread(target=lab.write, args=(
        "server", server, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)))
    sending.start()
    got = 0
    while got < size:
        got += len(client.recv(65536))
    sending.join(5)


@scenario()
def pool_three_zones(lab):
    """nginx 1.22.1 (keepalive_timeout 8 s) and OkHttp 3.13.1 (pool idle time 16 s, no retry). Pauses below 8 s are
    safe, between 8 and 16 s a GET is lost, above 16 s the pool has closed the connection itself."""
    lab.nginx("8s")
    lab.okhttp(16, False, "GET", 2, "GET", 4, "GET", 11, "GET", 3, "GET", 20, "GET", 20, "GET", 20, "GET", 12,
               "GET", 1, "GET")
