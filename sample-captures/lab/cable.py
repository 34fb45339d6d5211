"""A cable with a fixed delay: joins a TAP device in one network namespace to one in another.

    cable.py NAMESPACE NAMESPACE SECONDS_ONE_WAY

A veth pair has no delay at all, and then no two frames can ever cross on the way.
A TAP device has no offloads either: each frame in the capture is one frame on the wire, with its checksum.
"""

import collections
import fcntl
import os
import select
import signal
import struct
import sys
import time

import netns

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000


def tap(namespace):
    with netns.inside(namespace):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TAP | IFF_NO_PI))
    return fd


def main(first, second, delay):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the scenario ends the cable
    ends = [tap(first), tap(second)]
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    # Before all else on this machine, or the delay is not fixed.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    on_the_way = collections.deque()  # (due, to, frame); the delay is fixed, so the oldest is due first
    print("ready", flush=True)
    while True:
        wait = max(0.0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        for fd in select.select(ends, [], [], wait)[0]:
            frame = os.read(fd, 65536)
            on_the_way.append((time.monotonic() + delay, other[fd], frame))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, to, frame = on_the_way.popleft()
            try:
                os.write(to, frame)
            except OSError:
                pass  # the interface is not up yet, or no longer


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
