"""tcpdump at one end, the frames it wrote, and a small writer of pcapng."""

import os
import struct
import subprocess
import time
from dataclasses import dataclass

import netns

ETHERNET = 1
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


class Tcpdump:
    def __init__(self, pair, end, path, only, interface):
        self.path = path
        self.process = pair.start(
            end, "tcpdump", "-i", interface, "-p", "-n", "-U", "--immediate-mode", "-Z", "root",
            "--time-stamp-precision=nano", "-w", path, only,
            stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            if "listening" in line:
                return
            said.append(line)
        raise SystemExit("tcpdump: " + "".join(said))

    def stop(self):
        time.sleep(0.2)  # the last frame is written before the signal
        netns.stop(self.process)
        self.process.stderr.close()


@dataclass
class Frame:
    number: int
    time: int  # nanoseconds of CLOCK_REALTIME
    raw: bytes
    link: int = 1  # the link type, as pcap names it
    source: tuple = None  # (address, port); None for anything but TCP
    target: tuple = None
    seq: int = 0
    ack: int = 0
    flags: int = 0
    length: int = 0


def read(path):
    """All frames of a little-endian nanosecond pcap, as tcpdump writes it here."""
    with open(path, "rb") as file:
        data = file.read()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    if magic != 0xA1B23C4D:
        raise SystemExit(f"{path}: not a nanosecond capture")
    frames, at = [], 24
    while at + 16 <= len(data):
        seconds, nanoseconds, size, _ = struct.unpack_from("<IIII", data, at)
        raw = data[at + 16:at + 16 + size]
        at += 16 + size
        frame = Frame(len(frames) + 1, seconds * 10**9 + nanoseconds, raw, link)
        frames.append(decode(frame) if link == ETHERNET else frame)
    return frames


def decode(frame):
    ip = frame.raw[14:]
    if frame.raw[12:14] != b"\x08\x00" or ip[9] != 6:
        return frame
    header = (ip[0] & 15) * 4
    tcp = ip[header:struct.unpack_from(">H", ip, 2)[0]]
    source, target, frame.seq, frame.ack, offset, frame.flags = struct.unpack_from(">HHIIBB", tcp)
    frame.source = (".".join(map(str, ip[12:16])), source)
    frame.target = (".".join(map(str, ip[16:20])), target)
    frame.length = len(tcp) - (offset >> 4) * 4
    return frame


def block(kind, body):
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def write(path, frames, interface, comment):
    """One section with one comment, one interface with nanoseconds, and the frames. Nothing else."""
    end = option(0, b"")
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(1, comment.encode()) + end)
    out += block(1, struct.pack("<HHI", frames[0].link, 0, 262144) + option(2, interface.encode()) + option(9, b"\x09") + end)
    for frame in frames:
        size = len(frame.raw)
        out += block(6, struct.pack("<IIIII", 0, frame.time >> 32, frame.time & 0xFFFFFFFF, size, size)
                     + frame.raw + bytes(-size % 4))
    with open(path + ".new", "wb") as file:
        file.write(out)
    os.replace(path + ".new", path)
