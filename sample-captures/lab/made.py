#!/usr/bin/env python3
"""Samples that are made from a script, for what cannot be recorded at will: frames as text, as in tests/sequences.

    sample-captures/lab/made.py            all of them
    sample-captures/lab/made.py NAME...    these

A frame is one line:

    TIME [CONNECTION] > FLAGS SEQ:END(LENGTH) [ack N] [win N] [ttl N] [id N] [ts N] [mss N] [wscale N] [sack L-R] [sackok]
         [mac N] [partial] ["TEXT"]

`>` is from the client, `<` from the server. Numbers are relative to each end's first; the flags are tcpdump's.
CONNECTION names a pair of ends given before; without it, the first. A RST without ack has no ACK flag.
`mac` is the last byte of the sender's hardware address; `partial` leaves the checksum to the network card.
"""

import os
import shlex
import struct
import sys

sys.dont_write_bytecode = True  # before the imports from here

from capture import Frame, write
from scenarios_made import MADE

OUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
START = 1_796_000_000 * 10**9  # an arbitrary moment
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "E": 64, "W": 128}
MAC = (bytes.fromhex("02000000000a"), bytes.fromhex("020000000050"))
TEXT = b"The quick brown fox jumps over the lazy dog. "


class Ends:
    """Two ends: addresses, ports, first numbers, hop counts."""

    def __init__(self, client, server, number, isn=None, ttl=(64, 64)):
        self.addresses = [self.split(client), self.split(server)]
        self.isn = isn or (1_000_000 * (number + 1), 500_000_000 + 1_000_000 * number)
        self.ttl = ttl
        self.ids = [100 + 1000 * number, 5000 + 1000 * number]

    @staticmethod
    def split(text):
        address, port = text.rsplit(":", 1)
        return bytes(map(int, address.split("."))), int(port)


class Script:
    """What a function in scenarios_made.py writes into."""

    def __init__(self):
        self.ends, self.frames = {}, []

    def connection(self, name="", client="192.0.2.10:40000", server="192.0.2.80:80", **more):
        self.ends[name] = Ends(client, server, len(self.ends), **more)

    def frames_of(self, text, shift=0.0, name=None):
        if not self.ends:
            self.connection()
        for line in text.splitlines():
            if line.split("#")[0].strip():
                self.frame(line, shift, name)

    def frame(self, line, shift, name):
        words = shlex.split(line, comments=True)
        time = float(words.pop(0)) + shift
        if words[0].startswith("["):
            name = words.pop(0)[1:-1]
        ends = self.ends[name if name is not None else next(iter(self.ends))]
        sender = 0 if words.pop(0) == ">" else 1
        flags = sum(FLAGS[letter] for letter in words.pop(0))
        span = words.pop(0)
        begin, length = int(span.split(":")[0]), int(span[span.index("(") + 1:-1])
        more = {"win": 502, "ttl": ends.ttl[sender]}
        payload, options, sack = b"", {}, []
        while words:
            word = words.pop(0)
            if word in ("ack", "win", "ttl", "ts", "mss", "wscale", "id", "mac"):
                more[word] = int(words.pop(0))
            elif word == "sack":
                sack.append(tuple(map(int, words.pop(0).split("-"))))
            elif word in ("sackok", "partial"):
                options[word] = True
            elif word == "tls-alert":
                payload = b"\x15\x03\x03" + struct.pack(">H", length - 5)
            elif word == "tls":
                payload = b"\x17\x03\x03" + struct.pack(">H", length - 5)
            else:
                payload = word.encode().decode("unicode_escape").encode("latin-1")
        if "ack" in more:
            flags |= FLAGS["."]
        self.frames.append((time, self.packet(ends, sender, flags, begin, length, more, options, sack, payload)))

    @staticmethod
    def packet(ends, sender, flags, begin, length, more, options, sack, payload):
        seq = (ends.isn[sender] + begin) % 2**32
        ack = (ends.isn[1 - sender] + more["ack"]) % 2**32 if "ack" in more else 0
        if flags & FLAGS["R"] and flags & FLAGS["."] and begin == 0:
            seq = 0  # a refusal
        body = b""
        if "mss" in more:
            body += struct.pack(">BBH", 2, 4, more["mss"])
        if "wscale" in more:
            body += struct.pack(">BBBB", 1, 3, 3, more["wscale"])
        if options.get("sackok"):
            body += bytes((1, 1, 4, 2))
        if "ts" in more:
            body += struct.pack(">BBBBII", 1, 1, 8, 10, more["ts"], 0)
        if sack:
            body += bytes((1, 1, 5, 2 + 8 * len(sack)))
            for left, right in sack:
                body += struct.pack(">II", (ends.isn[1 - sender] + left) % 2**32, (ends.isn[1 - sender] + right) % 2**32)
        window = 0 if flags & FLAGS["R"] and not flags & FLAGS["."] else more["win"]
        source, target = ends.addresses[sender], ends.addresses[1 - sender]
        header = struct.pack(">HHIIBBHHH", source[1], target[1], seq, ack, (20 + len(body)) // 4 << 4, flags, window, 0, 0)
        data = (payload + TEXT * (length // len(TEXT) + 1))[:length]
        tcp = header + body + data
        pseudo = source[0] + target[0] + struct.pack(">BBH", 0, 6, len(tcp))
        total = checksum(pseudo) ^ 0xFFFF if options.get("partial") else checksum(pseudo + tcp)
        tcp = tcp[:16] + struct.pack(">H", total) + tcp[18:]
        ends.ids[sender] += 1
        number = more.get("id", ends.ids[sender] % 65536)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), number, 0x4000, more["ttl"], 6, 0, source[0], target[0])
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        mac = MAC[sender][:5] + bytes([more.get("mac", MAC[sender][5])])
        return MAC[1 - sender] + mac + b"\x08\x00" + ip + tcp


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def make(name):
    function = MADE[name]
    script = Script()
    function(script)
    frames = sorted(script.frames, key=lambda frame: frame[0])
    about = " ".join(function.__doc__.split())
    comment = f"{about} Made from a script, not recorded: sample-captures/lab/made.py {name}"
    write(f"{OUT}/{name}.pcapng", [Frame(i + 1, START + round(time * 1e9), raw) for i, (time, raw) in enumerate(frames)],
          "script", comment)


if __name__ == "__main__":
    for name in sys.argv[1:] or MADE:
        make(name)
