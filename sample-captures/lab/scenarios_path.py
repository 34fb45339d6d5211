"""Scenarios: the way between the ends, and captures that do not hold all."""

import socket
import threading
import time

import netns
from netns import ADDRESS
from scenarios import ANSWER, REQUEST, exchange, scenario

LARGE = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n"


def download(lab, size):
    client, server = lab.open()
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    receiving = threading.Thread(target=receive, args=(lab, client, size))
    receiving.start()
    lab.write("server", server, LARGE % size + bytes(size))
    return client, server, receiving


def receive(lab, client, size):
    got = 0
    try:
        while got < size and (data := client.recv(65536)):
            got += len(data)
    except OSError:
        pass
    lab.saw("client", f"read: {got} bytes in all")


@scenario(fault="LargeFrames")
def pmtu_black_hole(lab):
    """A tunnel on the way takes only packets of 1000 bytes, and says nothing about it. The large first part of an order
    is lost again and again; its small rest arrives."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.3)
    lab.write("client", client, REQUEST + bytes(1700))
    time.sleep(4)


@scenario(fault="MovesNumbers", at="server")
def sack_seq_mismatch(lab):
    """Captured at the server. A firewall moves the sequence numbers of a connection and forgets those in the SACK option:
    the client's blocks lie far beside what the server sent, and a lost segment is repaired only by the server's
    timer."""
    client, server, receiving = download(lab, 9000)
    receiving.join(5)


@scenario(fault="Overtakes")
def reordered(lab):
    """A link bundle carries neighbouring segments over different cables: every second one of the server's is overtaken
    by the next. Harmless."""
    client, server, receiving = download(lab, 20000)
    receiving.join(5)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario(fault="OtherClock")
def paws_drop(lab):
    """A failover pair takes a connection over, with another clock: the client refuses the server's data for its older
    timestamps and repeats its acknowledgement."""
    client, server, receiving = download(lab, 8000)
    receiving.join(3)


@scenario(fault="IdleReset")
def idle_reset_both(lab):
    """After 40 s without a frame a load balancer resets the connection in both directions."""
    client, server = lab.open()
    exchange(lab, client, server)
    client.settimeout(60)
    lab.read("client", client)
    lab.read("server", server)


@scenario(delay=0.02, fault="AnswersFirst")
def injected_data(lab):
    """A box on the way answers a request over plain HTTP by a page of its own, in the server's name and sooner than the
    server. The client takes it and closes; the server's own response finds nobody."""
    client, server = lab.open()
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    lab.read("client", client)
    lab.end("client", client)
    lab.write("server", server, ANSWER)
    time.sleep(0.2)
    lab.end("server", server)


@scenario(fault="ClientFins")
def fin_unacknowledged(lab):
    """The client closes; its FIN and all copies are lost, and nothing of the server comes any more."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.5)
    lab.end("client", client)
    time.sleep(7)


@scenario(fault="Data", only=f"src host {ADDRESS['client']}")
def asymmetric_path(lab):
    """Captured where only the client's frames pass; the server's take another way. A firewall there has seen no SYN-ACK
    and drops the client's data."""
    client, server = lab.open()
    lab.write("client", client, REQUEST)
    time.sleep(4)


@scenario(only=f"src host {ADDRESS['client']}")
def one_direction(lab):
    """A mirror port of one direction: the client's frames alone. What the server did shows only in what is
    acknowledged."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(0.1)
    lab.end("client", client)
    lab.read("server", server)
    lab.end("server", server)


@scenario(only=f"src host {ADDRESS['client']} or tcp[tcpflags] & (tcp-syn | tcp-rst) != 0")
def unseen_segment(lab):
    """A capture that lacks the server's response and its FIN; the client's acknowledgements show both. Then the server
    answers the next request by a reset."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(3)
    lab.end("server", server)
    time.sleep(2)
    lab.write("client", client, REQUEST)
    time.sleep(0.1)
    lab.read("client", client)
    lab.end("client", client)


@scenario(wire="any")
def duplicate_frames(lab):
    """Captured on all interfaces of a host with a bridge (tcpdump -i any), so that each frame is there twice. The server
    closed its side; the client's request 3 s later is answered by a reset."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(5)
    lab.end("server", server)
    time.sleep(3)
    lab.write("client", client, REQUEST)
    time.sleep(0.2)
    lab.end("client", client)


@scenario(wire="veth", at="server")
def offload_giant_frames(lab):
    """Captured at the server, whose network card cuts large frames into segments. The second half of the response is
    lost on the way, again and again; what looks like one frame is several segments on the wire."""
    client, server = lab.open()
    lab.write("client", client, REQUEST)
    lab.read("server", server)
    lab.write("server", server, LARGE % 8600 + bytes(4280))
    lab.read("client", client)
    time.sleep(0.5)
    lab.drop("tcp sport 80", end="client")
    lab.write("server", server, bytes(4320))
    time.sleep(4)


@scenario(wire="veth")
def bad_checksum_tx(lab):
    """Captured at the client, whose network card fills in the checksums. Its second request is lost on the way and sent
    again; the checksums that look wrong have nothing to do with that."""
    client, server = lab.open()
    exchange(lab, client, server)
    time.sleep(1)
    lab.drop("tcp dport 80")
    lab.write("client", client, REQUEST)
    time.sleep(4)


@scenario(wire="lo")
def self_connect(lab):
    """A program tries to reach a local port on which nobody listens, and the kernel gives it that very port: the
    connection is with itself."""
    with netns.inside(lab.pair.name["client"]):
        own = socket.socket()
    own.bind(("127.0.0.1", lab.pair.ports[0]))
    own.connect(("127.0.0.1", lab.pair.ports[0]))
    lab.write("client", own, b"HELLO\n")
    lab.read("client", own)
    time.sleep(0.1)
    lab.end("client", own)
