"""Boxes on the way that misbehave. The cable runs one of them; the kernels and programs at both ends are real.

`take(frame, sender)` is called for each frame and gives what goes on: (extra seconds, sender, frame), with a fourth
item if a condition must still hold when the frame is due.
"""

import struct
import time

FIN, SYN, RST, ACK, ECE = 0x01, 0x02, 0x04, 0x10, 0x40


class Tcp:
    """The fields of a TCP frame over IPv4 and Ethernet; None of them for any other frame."""

    def __init__(self, frame):
        self.frame = frame
        self.is_tcp = frame[12:14] == b"\x08\x00" and frame[23] == 6
        if not self.is_tcp:
            self.flags = self.length = 0
            return
        self.at = 14 + (frame[14] & 15) * 4
        self.sport, self.dport, self.seq, self.ack, offset, self.flags, self.window = struct.unpack_from(
            ">HHIIBBH", frame, self.at)
        self.size = (offset >> 4) * 4
        self.length = struct.unpack_from(">H", frame, 16)[0] - (self.at - 14) - self.size

    def options(self):
        """(kind, place of the value in the frame, bytes of the value)"""
        at, end = self.at + 20, self.at + self.size
        while at < end and self.frame[at] != 0:
            if self.frame[at] == 1:
                at += 1
                continue
            size = self.frame[at + 1]
            yield self.frame[at], at + 2, self.frame[at + 2:at + size]
            at += max(size, 2)

    def with_changes(self, seq=None, ack=None, source=None, target=None, ttl=None, words=()):
        """The frame with other fields, and right checksums. Words: (place, 32-bit number)."""
        out = bytearray(self.frame)
        if seq is not None:
            struct.pack_into(">I", out, self.at + 4, seq % 2**32)
        if ack is not None:
            struct.pack_into(">I", out, self.at + 8, ack % 2**32)
        for place, number in words:
            struct.pack_into(">I", out, place, number % 2**32)
        if source:
            out[26:30] = bytes(map(int, source.split(".")))
        if target:
            out[30:34] = bytes(map(int, target.split(".")))
        if ttl:
            out[22] = ttl
        return checked(out)


def checked(frame):
    """The frame with right checksums."""
    out = bytearray(frame)
    at = 14 + (out[14] & 15) * 4
    total = struct.unpack_from(">H", out, 16)[0]
    struct.pack_into(">H", out, 24, 0)
    struct.pack_into(">H", out, 24, checksum(out[14:at]))
    segment = out[at:14 + total]
    struct.pack_into(">H", segment, 16, 0)
    pseudo = out[26:34] + struct.pack(">HH", 6, len(segment))
    struct.pack_into(">H", out, at + 16, checksum(pseudo + segment))
    return bytes(out)


def checksum(data):
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def reset(frame, seq, ack, flags, ttl=64):
    """A reset that answers this frame in its receiver's name, or, with the ends as they are, in its sender's."""
    tcp = Tcp(frame)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0x4000, ttl, 6, 0) + frame[30:34] + frame[26:30]
    head = struct.pack(">HHIIBBHHH", tcp.dport, tcp.sport, seq % 2**32, ack % 2**32, 0x50, flags, 0, 0, 0)
    return checked(frame[6:12] + frame[0:6] + b"\x08\x00" + ip + head)


def data(frame, seq, ack, payload, ttl=64):
    """Data that answers this frame in its receiver's name."""
    answer = reset(frame, seq, ack, ACK | 0x08, ttl)
    head = bytearray(answer + payload)
    struct.pack_into(">H", head, 16, len(head) - 14)
    struct.pack_into(">H", head, 18, 1)
    struct.pack_into(">H", head, 48, 8192)
    return checked(head)


class Drops:
    """Loses what `lost` says."""

    def take(self, frame, sender):
        tcp = Tcp(frame)
        return [] if tcp.is_tcp and self.lost(tcp, sender) else [(0, sender, frame)]


class AfterTheSyn(Drops):
    """A firewall that passes the client's SYN and nothing more of it."""

    def lost(self, tcp, sender):
        return sender == "client" and not tcp.flags & SYN


class Data(Drops):
    """A firewall that has seen no SYN-ACK: it drops the client's data."""

    def lost(self, tcp, sender):
        return sender == "client" and tcp.length > 0


class LargeFrames(Drops):
    """A tunnel that takes packets of 1000 bytes at most and says nothing."""

    def lost(self, tcp, sender):
        return len(tcp.frame) > 1014


class EcnSyns(Drops):
    """A firewall that drops SYNs that ask for ECN."""

    def lost(self, tcp, sender):
        return tcp.flags & SYN and tcp.flags & ECE


class ClientFins(Drops):
    """From the client's FIN on the path is gone."""

    def __init__(self):
        self.gone = False

    def lost(self, tcp, sender):
        self.gone |= sender == "client" and bool(tcp.flags & FIN)
        return self.gone


class FirstBareAck(Drops):
    """Loses the acknowledgement that ends the handshake."""

    def __init__(self):
        self.done = False

    def lost(self, tcp, sender):
        if self.done or sender != "client" or tcp.flags & SYN:
            return False
        self.done = True
        return True


class NatRace(Drops):
    """A NAT that gives two connections the same port now and then: it loses the SYN of one."""

    def __init__(self):
        self.seen = {}

    def lost(self, tcp, sender):
        if sender != "client" or tcp.flags & (SYN | ACK) != SYN:
            return False
        first = tcp.sport not in self.seen
        self.seen.setdefault(tcp.sport, len(self.seen))
        return first and self.seen[tcp.sport] in (7, 15, 23)


class IdleReset:
    """A load balancer that resets both ends after 40 s without a frame."""

    IDLE = 40

    def __init__(self):
        self.last = 0

    def take(self, frame, sender):
        out = [(0, sender, frame)]
        tcp = Tcp(frame)
        if tcp.is_tcp:
            self.last = stamp = time.monotonic()
            still = lambda: self.last == stamp  # noqa: E731
            own = tcp.seq + tcp.length
            other = "server" if sender == "client" else "client"
            # in the receiver's name to the sender, and in the sender's to the receiver
            out.append((self.IDLE, other, reset(frame, tcp.ack, own, RST | ACK), still))
            back = reset(reset(frame, 0, 0, RST), own, tcp.ack, RST | ACK)
            out.append((self.IDLE, sender, back, still))
        return out


class Refuses8080:
    """A firewall near the client that refuses port 8080 in the server's name, three hops nearer."""

    def take(self, frame, sender):
        tcp = Tcp(frame)
        if tcp.is_tcp and sender == "client" and tcp.dport == 8080:
            return [(-0.002, "server", reset(frame, 0, tcp.seq + 1, RST | ACK, ttl=61))]
        return [(0, sender, tcp.with_changes(ttl=57) if tcp.is_tcp and sender == "server" else frame)]


class AnswersFirst:
    """A box three hops before the server that answers a request over plain HTTP in the server's name."""

    PAGE = (b"HTTP/1.1 302 Found\r\nLocation: http://portal.example/\r\nContent-Length: 0\r\n"
            b"Connection: close\r\n\r\n")

    def take(self, frame, sender):
        tcp = Tcp(frame)
        if not tcp.is_tcp:
            return [(0, sender, frame)]
        if sender == "server":
            return [(0, sender, tcp.with_changes(ttl=57))]
        if tcp.length == 0:
            return [(0, sender, frame)]
        page = data(frame, tcp.ack, tcp.seq + tcp.length, self.PAGE, ttl=60)
        return [(0, sender, frame), (-0.002, "server", page)]


class HalfNat:
    """A translator of 192.0.2.100 to the server that the answers do not pass."""

    def take(self, frame, sender):
        tcp = Tcp(frame)
        if tcp.is_tcp and sender == "client" and frame[30:34] == bytes((192, 0, 2, 100)):
            frame = tcp.with_changes(target="192.0.2.80")
        return [(0, sender, frame)]


class MovesNumbers:
    """A firewall that moves the server's sequence numbers, and forgets those in the SACK option. It loses one segment."""

    BY = 1_712_000_000

    def __init__(self):
        self.segments = 0

    def take(self, frame, sender):
        tcp = Tcp(frame)
        if not tcp.is_tcp:
            return [(0, sender, frame)]
        if sender == "client":
            return [(0, sender, tcp.with_changes(ack=tcp.ack - self.BY) if tcp.flags & ACK else frame)]
        self.segments += tcp.length > 1000
        lost = self.segments == 3 and tcp.length > 1000
        return [] if lost else [(0, sender, tcp.with_changes(seq=tcp.seq + self.BY))]


class Overtakes:
    """A bundle of links: every second full segment of the server's is overtaken by the next."""

    def __init__(self):
        self.segments = 0

    def take(self, frame, sender):
        tcp = Tcp(frame)
        full = sender == "server" and tcp.length > 1000
        self.segments += full
        return [(0.0006 if full and self.segments % 2 else 0, sender, frame)]


class OtherClock:
    """A failover pair: after the server's first full segment the other box speaks, with another timestamp clock."""

    def __init__(self):
        self.segments = 0

    def take(self, frame, sender):
        tcp = Tcp(frame)
        if sender == "server" and tcp.is_tcp and self.segments >= 1:
            for kind, place, value in tcp.options():
                if kind == 8:
                    older = struct.unpack(">I", value[:4])[0] - 900_000
                    frame = tcp.with_changes(words=[(place, older)])
        self.segments += sender == "server" and tcp.length > 1000
        return [(0, sender, frame)]


class LateCopy:
    """A path that delivers the client's first request a second time, three seconds later."""

    def __init__(self):
        self.done = False

    def take(self, frame, sender):
        out = [(0, sender, frame)]
        if sender == "client" and Tcp(frame).length > 0 and not self.done:
            self.done = True
            out.append((3, sender, frame))
        return out


class OlderNumbers:
    """A box that gives the client's second connection lower sequence numbers than its first."""

    BY = 2**28

    def __init__(self):
        self.isn = []

    def take(self, frame, sender):
        tcp = Tcp(frame)
        if not tcp.is_tcp:
            return [(0, sender, frame)]
        if sender == "client" and tcp.flags & (SYN | ACK) == SYN and tcp.seq not in self.isn:
            self.isn.append(tcp.seq)
        if len(self.isn) > 1:
            near = lambda number, of: (number - of) % 2**32 < 2**20  # noqa: E731
            if sender == "client" and near(tcp.seq, self.isn[1]):
                frame = tcp.with_changes(seq=tcp.seq - self.BY)
            elif sender == "server" and tcp.flags & ACK and near(tcp.ack, self.isn[1] - self.BY):
                frame = tcp.with_changes(ack=tcp.ack + self.BY)
        return [(0, sender, frame)]
