"""What the kernel itself says about its sockets, beside the capture.

Three sources:
* the tracepoint sock:inet_sock_set_state, for every socket that is a full socket;
* the tracepoints tcp:tcp_send_reset and tcp:tcp_receive_reset;
* /proc/net/tcp (what `ss` shows), read every 10 ms. TIME_WAIT, and FIN_WAIT_2 after close(), live in small sockets
  of their own ("minisockets"), and for those the tracepoint says only that the full socket is closed.
"""

import os
import re
import threading
import time

from capture import ACK, FIN, RST, SYN
from netns import ADDRESS, OTHER

TRACING = "/sys/kernel/tracing/instances/"
END_OF = {address: end for end, address in ADDRESS.items()}

NAMES = {
    "TCP_CLOSE": "CLOSED", "TCP_LISTEN": "LISTEN", "TCP_SYN_SENT": "SYN_SENT", "TCP_SYN_RECV": "SYN_RECEIVED",
    "TCP_NEW_SYN_RECV": "SYN_RECEIVED", "TCP_ESTABLISHED": "ESTABLISHED", "TCP_FIN_WAIT1": "FIN_WAIT_1",
    "TCP_FIN_WAIT2": "FIN_WAIT_2", "TCP_CLOSE_WAIT": "CLOSE_WAIT", "TCP_CLOSING": "CLOSING",
    "TCP_LAST_ACK": "LAST_ACK", "TCP_TIME_WAIT": "TIME_WAIT", "UNKNOWN": None,
}
CAN_BE_ORPHAN = ("FIN_WAIT_1", "FIN_WAIT_2", "CLOSING", "LAST_ACK")
SLACK = 1_000_000  # ns: an event and the frame that belongs to it are closer than this


class Trace:
    """A trace instance of our own. Others may trace at the same time."""

    def __init__(self, tag, first_port):
        self.ports = range(first_port, first_port + 100)
        self.path = TRACING + "finwait-" + tag
        os.mkdir(self.path)
        low, high = self.ports[0], self.ports[-1]
        ports = f"(sport >= {low} && sport <= {high}) || (dport >= {low} && dport <= {high})"
        # The clock tai is CLOCK_REALTIME, which tcpdump uses, plus whole seconds.
        self.write("trace_clock", "tai")
        self.tai = round(time.clock_gettime(time.CLOCK_TAI) - time.time())
        self.write("buffer_size_kb", "256")
        # A connecting socket has no port yet in its first event: let port 0 through.
        self.write("events/sock/inet_sock_set_state/filter", ports + " || sport == 0")
        self.write("events/tcp/tcp_receive_reset/filter", ports)
        for event in ("sock/inet_sock_set_state", "tcp/tcp_send_reset", "tcp/tcp_receive_reset",
                      "syscalls/sys_enter_shutdown"):
            self.write(f"events/{event}/enable", "1")

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w") as file:
            file.write(value)

    def close(self):
        os.rmdir(self.path)

    def events(self):
        """What concerns our ports, in order of time, as dicts; and the times of all connect() calls."""
        line_of = re.compile(r"^ *(.*)-(\d+) +\[\d+\] \S+ +(\d+)\.(\d{6}): (\w+)(?:: |\()(.*)$")
        shutdown_by = set()
        out = []
        with open(self.path + "/trace") as file:
            for line in file:
                match = line_of.match(line)
                if not match:
                    continue
                task, seconds, micros, name, words = match.group(2, 3, 4, 5, 6)
                when = (int(seconds) - self.tai) * 10**9 + int(micros) * 1000
                fields = dict(re.findall(r"(\w+)=(\S+)", words))
                if name.startswith("sys_shutdown"):
                    shutdown_by.add(task)
                    continue
                if name == "tcp_send_reset":
                    local, remote = (split(fields[key]) for key in ("src", "dest"))
                else:
                    local = (fields["saddr"], int(fields["sport"]))
                    remote = (fields["daddr"], int(fields["dport"]))
                event = {"what": name, "t": when, "task": task, "local": local, "remote": remote}
                if name == "inet_sock_set_state":
                    event["old"], event["new"] = NAMES[fields["oldstate"]], NAMES[fields["newstate"]]
                    # A FIN right after shutdown() by the same task is no close().
                    event["shutdown"] = task in shutdown_by
                    shutdown_by.discard(task)
                elif name == "tcp_send_reset":
                    event["state"], event["reason"] = NAMES[fields["state"]], fields["reason"]
                out.append(event)
        # A listener that answers by RST has no remote end (port 0); Record finds the frame and so the connection.
        ours = [e for e in out if e["local"][0] in END_OF
                and (e["local"][1] in self.ports or e["remote"][1] in self.ports
                     or e["what"] == "tcp_send_reset" and e["remote"][1] == 0)]
        # connect() sets SYN_SENT before it picks a port.
        connects = [e["t"] for e in out if e.get("new") == "SYN_SENT" and e["local"][1] == 0]
        return ours, connects


def split(words):
    address, port = words.rsplit(":", 1)
    return address, int(port)


class Minisockets(threading.Thread):
    """Reads both ends' socket tables all the time, and keeps every change of a minisocket."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids = pids  # a process in the namespace of each end
        self.changes = []  # (time, end, local, remote, state or None)
        self.going_on = True
        self.last = {end: {} for end in pids}

    def run(self):
        while self.going_on:
            for end, pid in self.pids.items():
                now = self.table(pid)
                before = self.last[end]
                when = time.time_ns()
                for key in now.keys() | before.keys():
                    if now.get(key) != before.get(key):
                        self.changes.append((when, end, *key, now.get(key)))
                self.last[end] = now
            time.sleep(0.01)

    @staticmethod
    def table(pid):
        found = {}
        with open(f"/proc/{pid}/net/tcp") as file:
            for line in file.readlines()[1:]:
                _, local, remote, state, _, timer = line.split()[:6]
                if timer.startswith("03:"):  # the timer of a minisocket
                    found[(unhex(local), unhex(remote))] = {"05": "FIN_WAIT_2", "06": "TIME_WAIT"}[state]
        return found

    def stop(self):
        self.going_on = False
        self.join(5)


def unhex(words):
    address, port = words.split(":")
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(address))), int(port, 16)


class Record:
    """Joins events, minisockets and frames to one list of transitions."""

    def __init__(self, events, connects, minisockets, frames):
        self.frames = frames  # of each end
        self.events = [e for e in map(self.known_remote, events) if e]
        self.connects = connects
        self.minisockets = minisockets
        self.zero = frames["client"][0].time
        self.transitions = []
        self.doubts = []  # where the sources disagree; none is expected

    # Frames of one end's own capture that belong to a connection.

    def sent(self, local, remote, test=lambda f: True):
        return [f for f in self.frames[END_OF[local[0]]] if (f.source, f.target) == (local, remote) and test(f)]

    def received(self, local, remote, test=lambda f: True):
        return [f for f in self.frames[END_OF[local[0]]] if (f.source, f.target) == (remote, local) and test(f)]

    def known_remote(self, event):
        """Fills in whom a listener's RST went to; None if it belongs to another pair of namespaces."""
        if event["remote"][1] == 0:
            rst = next((f for f in self.frames[END_OF[event["local"][0]]]
                        if f.source == event["local"] and f.flags & RST and 0 <= f.time - event["t"] < SLACK / 5), None)
            return dict(event, remote=rst.target) if rst else None
        return event

    def add(self, t, local, remote, old, new, rel, frame, why, minisock=False, orphan=None):
        if rel != "silent" and frame is None:
            self.doubts.append(f"no frame for {old} -> {new} of {local}")
        self.transitions.append({
            "t": t, "end": END_OF[local[0]], "local": local, "remote": remote, "old": old, "new": new,
            "minisock": minisock, "orphan": orphan if new in CAN_BE_ORPHAN else None, "why": why,
            "frame": frame.number if frame else None, "rel": rel if frame else "silent"})

    def build(self):
        by_socket = {}
        for event in self.events:
            by_socket.setdefault((event["local"], event["remote"]), []).append(event)
        for (local, remote), events in by_socket.items():
            if END_OF[local[0]] == "server":
                self.listen(local, remote)
            self.one_end(local, remote, events)
        # A request whose handshake never ends leaves no event at all.
        asked = {(f.target, f.source) for f in self.frames["server"] if f.flags & (SYN | ACK) == SYN}
        for local, remote in sorted(asked - by_socket.keys()):
            self.listen(local, remote)
        self.transitions.sort(key=lambda row: row["t"])
        self.check_chain()
        return self.transitions

    def listen(self, local, remote):
        """The request that a SYN makes is a minisocket; no tracepoint shows it, but its SYN-ACK does."""
        asked = set()  # a port pair may be used again, with another number
        for answer in self.sent(local, remote, lambda f: f.flags & (SYN | ACK) == SYN | ACK):
            if answer.ack in asked:
                continue
            asked.add(answer.ack)
            syns = self.received(local, remote, lambda f: f.flags & SYN and f.time <= answer.time)
            self.add(answer.time, local, remote, "LISTEN", "SYN_RECEIVED", "received", syns[-1] if syns else None,
                     "SYN received; the request is a minisocket", minisock=True)

    def one_end(self, local, remote, events):
        orphan = None  # nobody closed anything yet
        gone = False
        for event in events:
            if event["what"] == "tcp_send_reset" and event["state"] == "TIME_WAIT" and not gone:
                self.minisocket_reset(event)
                gone = True
            if event["what"] != "inet_sock_set_state":
                continue
            t, old, new = event["t"], event["old"], event["new"]
            if (old, new) in (("LISTEN", "SYN_RECEIVED"), ("CLOSED", "SYN_SENT")):
                continue  # the child socket of the request that listen() told of; what connect() began is told below
            if old == "SYN_SENT":
                syns = self.sent(local, remote, lambda f: f.flags & SYN and f.time <= t)
                syn = next(f for f in syns if f.seq == syns[-1].seq)
                start = max((c for c in self.connects if 0 <= syn.time - c < SLACK), default=syn.time)
                self.add(start, local, remote, "CLOSED", "SYN_SENT", "sent", syn, "connect()")
            if new in ("FIN_WAIT_1", "LAST_ACK") and old in ("ESTABLISHED", "CLOSE_WAIT", "SYN_RECEIVED"):
                orphan = not event["shutdown"]
                fins = self.sent(local, remote, lambda f: f.flags & FIN and f.time > t - SLACK / 100)
                self.add(t, local, remote, old, new, "sent", fins[0] if fins else None,
                         "close()" if orphan else "shutdown(SHUT_WR)", orphan=orphan)
            elif old == new:
                orphan = True
                self.add(t, local, remote, old, new, "silent", None, "close()", orphan=True)
            elif new == "CLOSED":
                self.closed(event)
            else:
                why = {
                    "ESTABLISHED": "SYN-ACK received" if old == "SYN_SENT" else "last ACK of the handshake received",
                    "CLOSE_WAIT": "FIN received", "CLOSING": "FIN received", "FIN_WAIT_2": "ACK of its FIN received",
                }[new]
                self.add(t, local, remote, old, new, "received", self.cause(local, remote, t), why, orphan=orphan)

    def cause(self, local, remote, t, test=lambda f: True):
        """The last frame that came in before this moment."""
        frames = self.received(local, remote, lambda f: f.time <= t + 1000 and test(f))
        return frames[-1] if frames else None

    def closed(self, event):
        """The tracepoint says CLOSE: the end of the socket, or a minisocket takes over."""
        t, old, local, remote = event["t"], event["old"], event["local"], event["remote"]
        rst = self.cause(local, remote, t, lambda f: f.flags & RST and t - f.time < SLACK)
        if rst:
            return self.add(t, local, remote, old, "CLOSED", "received", rst, "RST received")
        reason = next((e["reason"] for e in self.events if e["what"] == "tcp_send_reset"
                       and (e["local"], e["remote"]) == (local, remote) and abs(e["t"] - t) < SLACK), None)
        if reason == "TCP_ABORT_ON_DATA":
            return self.add(t, local, remote, old, "CLOSED", "received", self.cause(local, remote, t),
                            "data after close(): RST sent")
        if old == "FIN_WAIT_2" and reason == "TCP_STATE":
            rsts = self.sent(local, remote, lambda f: f.flags & RST and abs(f.time - t) < SLACK)
            return self.add(t, local, remote, old, "CLOSED", "sent", rsts[0] if rsts else None,
                            "close() with SO_LINGER 0: RST sent")
        if old in ("FIN_WAIT_2", "CLOSING"):
            if self.cause(local, remote, t, lambda f: f.flags & FIN):
                self.add(t, local, remote, old, "TIME_WAIT", "received", self.cause(local, remote, t),
                         "ACK of its FIN received" if old == "CLOSING" else "FIN received", minisock=True)
                return self.minisocket(local, remote, "TIME_WAIT", t)
            # It began with the row before: the ACK that made an orphan's FIN_WAIT_2, or close() in FIN_WAIT_2.
            self.transitions[-1]["minisock"] = True
            return self.minisocket(local, remote, "FIN_WAIT_2", t)
        if old == "LAST_ACK":
            return self.add(t, local, remote, old, "CLOSED", "received", self.cause(local, remote, t),
                            "ACK of its FIN received")
        rsts = self.sent(local, remote, lambda f: f.flags & RST and abs(f.time - t) < SLACK)
        if rsts:
            why = {"TCP_ABORT_ON_CLOSE": "close() with unread data: RST sent",
                   "TCP_STATE": "close() with SO_LINGER 0: RST sent"}
            return self.add(t, local, remote, old, "CLOSED", "sent", rsts[0], why.get(reason, "RST sent"))
        why = "gave up before an answer" if old == "SYN_SENT" else "the socket vanished without a frame"
        return self.add(t, local, remote, old, "CLOSED", "silent", None, why)

    def minisocket(self, local, remote, state, since):
        """What became of a minisocket, by its frames and by the socket table."""
        end = END_OF[local[0]]
        seen = [(when, s) for when, e, l, r, s in self.minisockets if (e, l, r) == (end, local, remote)]
        fin = next(iter(self.received(local, remote, lambda f: f.flags & FIN and f.time > since)), None)
        reset = next((e for e in self.events if e["what"] == "tcp_send_reset" and e["local"] == local
                      and e["remote"] == remote and e["state"] == "TIME_WAIT"), None)
        if state == "FIN_WAIT_2" and not any(s == "FIN_WAIT_2" for _, s in seen):
            self.doubts.append(f"the socket table never showed FIN_WAIT_2 of {local}")
        # "TIME_WAIT" in the state of tcp_send_reset only says that it was a minisocket.
        if reset:
            return  # minisocket_reset() tells of it
        if state == "FIN_WAIT_2" and fin and any(s == "TIME_WAIT" for _, s in seen):
            self.add(fin.time, local, remote, state, "TIME_WAIT", "received", fin, "FIN received", minisock=True)
            state = "TIME_WAIT"
        if state == "TIME_WAIT" and not any(s == "TIME_WAIT" for _, s in seen):
            self.doubts.append(f"the socket table never showed TIME_WAIT of {local}")
        if seen and seen[-1][1] is None:
            self.add(seen[-1][0], local, remote, state, "CLOSED", "silent", None,
                     "the socket table no longer has it", minisock=True)

    def minisocket_reset(self, event):
        local, remote, t = event["local"], event["remote"], event["t"]
        state = self.transitions[-1]["new"]
        self.add(t, local, remote, state, "CLOSED", "received", self.cause(local, remote, t),
                 "a segment that the minisocket cannot take: RST sent", minisock=True)

    def check_chain(self):
        last = {}
        for row in self.transitions:
            key = (row["local"], row["remote"])
            if last.get(key, row["old"]) != row["old"]:
                self.doubts.append(f"{row['local']}: {last[key]}, then {row['old']} -> {row['new']}")
            last[key] = row["new"]

    def resets(self):
        rows = []
        for event in self.events:
            if event["what"] not in ("tcp_send_reset", "tcp_receive_reset"):
                continue
            local, remote = event["local"], event["remote"]
            row = {"t": event["t"], "end": END_OF[local[0]], "local": local, "remote": remote}
            if event["what"] == "tcp_send_reset":
                frames = self.sent(local, remote, lambda f: f.flags & RST and abs(f.time - event["t"]) < SLACK)
                taken = {r["frame"] for r in rows if r["end"] == row["end"]}
                frame = next((f for f in frames if f.number not in taken), None)
                row.update(kind="sent", minisock=event["state"] == "TIME_WAIT", reason=event["reason"])
            else:
                frame = self.cause(local, remote, event["t"],
                                   lambda f: f.flags & RST and event["t"] - f.time < SLACK)
                if frame is None:
                    continue  # a socket that aborts because of late data runs through the same code
                row.update(kind="received", minisock=False, reason=None)
            row["frame"] = frame.number if frame else None
            rows.append(row)
        return rows
