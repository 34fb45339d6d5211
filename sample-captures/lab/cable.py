"""A cable with a fixed delay: joins a TAP device in one network namespace to one in another.

    cable.py CLIENT_NAMESPACE SERVER_NAMESPACE SECONDS_ONE_WAY [FAULT]

FAULT is a box on the way that misbehaves: a class of faults.py.

A veth pair has no delay at all, and then no two frames can ever cross on the way.
A TAP device has no offloads either: each frame in the capture is one frame on the wire, with its checksum.
"""

import fcntl
import heapq
import itertools
import os
import select
import signal
import struct
import sys
import time

import faults
import netns

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000


def tap(namespace):
    with netns.inside(namespace):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TAP | IFF_NO_PI))
    return fd


def main(client, server, delay, fault):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the scenario ends the cable
    end_of = {tap(client): "client", tap(server): "server"}
    fd_of = {end: fd for fd, end in end_of.items()}
    box = getattr(faults, fault)() if fault else None
    # Before all else on this machine, or the delay is not fixed.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    on_the_way = []  # (due, rank, sender, frame, condition), the next first
    rank = itertools.count()
    print("ready", flush=True)
    while True:
        wait = max(0.0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        for fd in select.select(list(end_of), [], [], wait)[0]:
            frame, sender = os.read(fd, 65536), end_of[fd]
            for extra, sender, frame, *condition in box.take(frame, sender) if box else [(0, sender, frame)]:
                heapq.heappush(on_the_way, (time.monotonic() + delay + extra, next(rank), sender, frame, condition))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, _, sender, frame, condition = heapq.heappop(on_the_way)
            if not all(still() for still in condition):
                continue
            try:
                os.write(fd_of[netns.OTHER[sender]], frame)
            except OSError:
                pass  # the interface is not up yet, or no longer


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
