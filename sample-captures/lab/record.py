"""Records sample captures; see record.sh, which checks what this needs."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time

import capture
import kernel
from lab import Lab
from netns import ADDRESS, HERE, WIRES, Pair
import scenarios_opening  # noqa: F401, enters its scenarios
import scenarios_path  # noqa: F401
import scenarios_programs  # noqa: F401
from scenarios import SCENARIOS

OUT = os.path.dirname(HERE)
AT_ONCE = 6  # more of them at once disturb each other's times
LONGEST = 180  # seconds; a scenario that takes longer hangs


def leave(*_):
    """SIGTERM ends a process as an error does, so that it cleans up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(1)


def record(name):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; main() ends this one
    scenario = SCENARIOS[name]
    number = list(SCENARIOS).index(name)
    first_port = 40000 + 100 * number
    pair = Pair(str(number), scenario.delay, first_port, scenario.fault, scenario.wire)
    try:
        trace = kernel.Trace(str(number), first_port)
        try:
            with tempfile.TemporaryDirectory(prefix="finwait-lab-") as work:
                events, minisockets, frames, app = play(scenario, pair, trace, work)
        finally:
            trace.close()
    finally:
        pair.close()
    write(name, scenario, (events, minisockets, frames, app))


def play(scenario, pair, trace, work):
    interface = WIRES[scenario.wire]
    dumps = {end: capture.Tcpdump(pair, end, f"{work}/{end}.pcap", scenario.only, interface) for end in ADDRESS}
    table = kernel.Minisockets({end: dump.process.pid for end, dump in dumps.items()})
    table.start()
    lab = Lab(pair, work)
    try:
        scenario.function(lab)
        time.sleep(0.3)  # for what is still on the way
        # The captures end before the programs do: what a killed program leaves is no part of the sample.
        table.stop()
        for dump in dumps.values():
            dump.stop()
        events = trace.events()
    finally:
        table.stop()
        for dump in dumps.values():
            if dump.process.poll() is None:
                dump.stop()
        lab.close()
    return events, table.changes, {end: capture.read(dump.path) for end, dump in dumps.items()}, lab.app


def write(name, scenario, played):
    (events, connects), minisockets, frames, app = played
    about = " ".join(scenario.function.__doc__.split("\n\n")[0].split())
    last = max(f[-1].time for f in frames.values() if f)
    events = [e for e in events if e["t"] <= last + 10**9]
    for end in ADDRESS if scenario.kernel else [scenario.at]:
        suffix = "" if end == scenario.at else "." + end
        comment = (f"{about} Recorded between two network namespaces, at the {end}, by "
                   f"sample-captures/lab/record.sh {name}")
        capture.write(f"{OUT}/{name}{suffix}.pcapng", frames[end], end, comment)

    if not scenario.kernel:
        return
    result = kernel.Record(events, connects, minisockets, frames)
    transitions, resets = result.build(), result.resets()
    for doubt in result.doubts:
        print(f"{name}: {doubt}", file=sys.stderr)

    def plain(row):
        row = dict(row, t=round((row["t"] - result.zero) / 1e9, 6))
        for key in ("local", "remote"):
            if key in row:
                row[key] = f"{row[key][0]}:{row[key][1]}"
        return row

    lines = [f' "sample": {json.dumps(name)}', f' "about": {json.dumps(about)}', f' "ends": {json.dumps(ADDRESS)}',
             f' "at": {json.dumps(scenario.at)}']
    for key, rows in (("transitions", transitions), ("resets", resets),
                      ("app", [{"t": t, "end": end, "says": says} for t, end, says in sorted(app)])):
        body = ",\n".join("  " + json.dumps(plain(row), ensure_ascii=False) for row in rows)
        lines.append(f' "{key}": [\n{body}\n ]' if rows else f' "{key}": []')
    with open(f"{OUT}/{name}.kernel.json", "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def main(names):
    if names == ["--list"]:
        print("\n".join(SCENARIOS))
        return 0
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown:
        print(f"record.sh: no such sample: {' '.join(unknown)} (see record.sh --list)", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, leave)
    names = names or list(SCENARIOS)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="finwait-lab-") as classes:
        if any(name.startswith(("okhttp", "request-", "pool-")) for name in names):
            subprocess.run(["javac", "-cp", "/usr/share/java/okhttp.jar:/usr/share/java/okio.jar", "-d", classes,
                            HERE + "/Orders.java"], check=True, timeout=120)
        os.environ["ORDERS_CLASSES"] = classes
        waiting, running = list(names), {}
        try:
            while waiting or running:
                while waiting and len(running) < AT_ONCE:
                    name = waiting.pop(0)
                    running[name] = (multiprocessing.Process(target=record, args=(name,)), time.monotonic())
                    running[name][0].start()
                time.sleep(0.1)
                for name, (process, start) in list(running.items()):
                    if time.monotonic() - start > LONGEST:
                        process.terminate()
                        process.join(20)
                    if not process.is_alive():
                        del running[name]
                        failed += process.exitcode != 0
                        print(f"{name}: {'recorded' if process.exitcode == 0 else 'FAILED'}", flush=True)
        finally:
            for process, _ in running.values():
                process.terminate()
            for process, _ in running.values():
                process.join(20)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
