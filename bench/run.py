"""hardstone beside the tools of the field, on this machine, as ratios.

Both sides run in turn (A B B A) in each round; the ratio is formed within a round.
`--write` puts the table into bench/README.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import (
    booting,
    channels,
    compare,
    faults,
    files,
    gaps,
    handover,
    memory,
    messages,
    processes,
    screens,
    signals,
    switches,
    table,
    timers,
    tire,
    toolkit,
    view,
    wakeup,
)
from bench.comparison import Comparison
from bench.rounds import Metrics, Side, Spread, measure

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "build" / "probe" / "hardstone-probe"
YIELD_LOOP = PROBE.parent / "tests" / "hardstone-yield-bench"
SIGNAL_LOOP = PROBE.parent / "tests" / "hardstone-signal-bench"
FILE_LOOP = PROBE.parent / "tests" / "hardstone-file-bench"
FILES = ROOT / "build"  # on a disk, on most machines
MESSAGE_LOOP = PROBE.parent / "tests" / "hardstone-message-bench"
WAKEUP_LOOP = PROBE.parent / "tests" / "hardstone-wakeup-bench"
CYCLICTEST_POLL_NS = 10_000_000  # of its main thread
INSTRUMENT = PROBE.parent / "tests" / "hardstone-bench"
DMA_LATENCY = Path("/dev/cpu_dma_latency")


@contextmanager
def awake() -> Iterator[None]:
    """No idle state that takes time to leave, while the file is open."""
    try:
        descriptor = os.open(DMA_LATENCY, os.O_WRONLY)
    except OSError as error:
        raise processes.Missing(f"{DMA_LATENCY}: {error.strerror}: run as root") from None
    try:
        os.write(descriptor, struct.pack("i", 0))
        yield
    finally:
        os.close(descriptor)


def kept_awake(side: Side) -> Side:
    def run() -> Metrics:
        with awake():
            return side()

    return run


def own_wakeup() -> Metrics:
    return wakeup.hardstone(PROBE)


def own_recorder() -> Metrics:
    return wakeup.hardstone(PROBE, wakeup.RECORDER_US)


def peer_recorder() -> Metrics:
    return wakeup.cyclictest(wakeup.RECORDER_US)


def bare_wakeup() -> Metrics:
    return wakeup.bare(WAKEUP_LOOP, 0)


def polled_wakeup() -> Metrics:
    return wakeup.bare(WAKEUP_LOOP, CYCLICTEST_POLL_NS)


def own_timer(mechanism: str) -> Side:
    return kept_awake(lambda: timers.hardstone(PROBE, mechanism))


def own_instrument() -> Metrics:
    return gaps.instrument(INSTRUMENT)


def own_switch() -> Metrics:
    return switches.hardstone(PROBE)


def bare_switch() -> Metrics:
    return switches.bare(YIELD_LOOP)


def round_trips(scope: str) -> Comparison:
    metrics = {
        f"{kind}_ns": (f"round trip of two by {kind}, {scope}, mean", "ns")
        for kind in handover.KINDS
    }
    return Comparison(
        f"round-trip-{scope}",
        metrics,
        lambda: handover.round_trips(PROBE, scope),
        lambda: handover.pipe(scope),
        "perf bench sched pipe" + (" -T" if scope == "thread" else ""),
        reading=table.agreement,
    )


def handed_over(kind: str, program: str) -> Comparison:
    return Comparison(
        f"handover-{kind}",
        {f"{kind}_ns": (f"hand-over by {kind}, mean", "ns")},
        lambda: handover.handovers(PROBE, kind),
        lambda: handover.rt_tests(program, kind),
        program,
        reading=table.agreement,
    )


def message_comparisons() -> list[Comparison]:
    through = {
        f"{kind}_bytes_per_s": (f"throughput by {kind}, messages of 8 KiB, mean", "MB/s")
        for kind in messages.KINDS
    }
    return [
        *(message_round_trip(scope) for scope in ("thread", "process")),
        Comparison(
            "message-queue",
            {"mq_ns": ("one way by POSIX queue, 8 B, threads, mean of whole us", "ns")},
            lambda: messages.queue(PROBE),
            messages.pmqtest,
            "pmqtest -i 1",
            reading=table.agreement,
        ),
        Comparison(
            "message-throughput",
            through,
            lambda: messages.throughput(PROBE),
            lambda: messages.loop(MESSAGE_LOOP),
            "a loop of the same calls",
            reading=table.agreement,
        ),
    ]


def message_round_trip(scope: str) -> Comparison:
    return Comparison(
        f"message-pipe-{scope}",
        {"pipe_ns": (f"round trip of two by pipe, 4 B, {scope}, mean (MSG-P-LAT)", "ns")},
        lambda: messages.round_trip(PROBE, scope),
        lambda: messages.perf(scope),
        "perf bench sched pipe" + (" -T" if scope == "thread" else ""),
        reading=table.agreement,
    )


LATENCY = {"median_ns": ("median wake-up latency", "ns")}
LATENCY_AWAKE = {"median_ns": ("median wake-up latency, idle states off", "ns")}


def wakeups() -> list[Comparison]:
    cost = {"cpu_ns": ("CPU time per wake-up", "ns")}
    cost_awake = {"cpu_ns": ("CPU time per wake-up, idle states off", "ns")}
    polled = "median wake-up latency of the bare loop, a thread polls"
    bare = "a bare loop with one array"
    return [
        Comparison("wakeup", {**cost, **LATENCY}, own_wakeup, wakeup.cyclictest, "cyclictest"),
        Comparison("wakeup-bare", {**cost, **LATENCY}, own_wakeup, bare_wakeup, bare),
        Comparison(
            "wakeup-bare-awake",
            {**cost_awake, **LATENCY_AWAKE},
            kept_awake(own_wakeup),
            kept_awake(bare_wakeup),
            bare,
        ),
        Comparison(
            "wakeup-polled",
            {"median_ns": (f"{polled} at 100 Hz", "ns")},
            polled_wakeup,
            bare_wakeup,
            "nobody polls",
            reading=table.agreement,
        ),
        Comparison(
            "wakeup-polled-peer",
            {"median_ns": (polled, "ns")},
            polled_wakeup,
            wakeup.cyclictest,
            "cyclictest",
            reading=table.agreement,
        ),
        Comparison(
            "memory",
            {"locked_bytes": ("locked memory", "KiB")},
            own_wakeup,
            wakeup.cyclictest_lean,
            "cyclictest without histogram",
        ),
        Comparison(
            "wakeup-awake",
            LATENCY_AWAKE,
            kept_awake(own_wakeup),
            kept_awake(wakeup.cyclictest),
            "cyclictest",
        ),
        Comparison(
            "recorder",
            {
                "cpu_ns": ("CPU time per sample at 10 kHz, idle states off", "ns"),
                "median_ns": ("median wake-up latency at 10 kHz, idle states off", "ns"),
            },
            kept_awake(own_recorder),
            kept_awake(peer_recorder),
            "cyclictest",
        ),
    ]


def timer_signals() -> list[Comparison]:
    taken = {"median_ns": ("jitter at 1 ms, the timer's signal taken, idle states off", "ns")}
    handled = {"median_ns": ("jitter at 1 ms, the signal runs a handler, idle states off", "ns")}
    waiting, handler = own_timer("timer-sigwaitinfo"), own_timer("timer-handler")
    peer = kept_awake(timers.cyclictest)
    return [
        Comparison("timer", taken, waiting, peer, "cyclictest -x", reading=table.agreement),
        Comparison(
            "timer-handler", handled, handler, waiting, "the signal taken", reading=table.agreement
        ),
    ]


def signal_trips() -> list[Comparison]:
    means = {
        f"{scope}_mean_ns": (f"two latencies of a signal, {scope}, mean", "ns")
        for scope in signals.SCOPES
    }
    return [
        Comparison(
            "signal",
            {"thread_median_ns": ("two latencies of a signal, thread, median", "ns")},
            lambda: signals.hardstone(PROBE),
            signals.signaltest,
            "signaltest",
            reading=table.agreement,
        ),
        Comparison(
            "signal-bare",
            means,
            lambda: signals.hardstone(PROBE),
            lambda: signals.bare(SIGNAL_LOOP, signals.SCOPES),
            "sigqueue without stamps",
            reading=table.agreement,
        ),
        Comparison(
            "signal-kill",
            {"mean_ns": ("round trip of a bare loop by sigqueue, thread, mean", "ns")},
            lambda: signals.bare_by("thread", SIGNAL_LOOP),
            lambda: signals.bare_by("kill", SIGNAL_LOOP),
            "by pthread_kill",
            reading=table.agreement,
        ),
    ]


def counts() -> list[Comparison]:
    """What is counted, and has to be the same."""
    seen = faults.Faults(PROBE)
    ends = {"pipe": "F_GETPIPE_SZ", "socket": "Python", "pty": "Python"}
    return [
        Comparison(
            "faults",
            {"faults": ("major page faults of the control of MEM-B-LCK", "faults")},
            seen.own,
            seen.peer,
            "perf stat, all of the probe's processes",
            reading=table.agreement,
        ),
        Comparison(
            "channels",
            {f"{kind}_bytes": (f"bytes that a full {kind} has taken", "KiB") for kind in ends},
            lambda: channels.hardstone(PROBE),
            channels.own_loop,
            reading=table.agreement,
            peer_names={f"{kind}_bytes": peer for kind, peer in ends.items()},
        ),
    ]


def file_writes() -> list[Comparison]:
    metrics = {
        f"{mode}_ns": (f"write of 4 KiB, {mode}, and an fdatasync, mean", "ns")
        for mode in files.MODES
    }
    return [
        Comparison(
            "files",
            metrics,
            lambda: files.hardstone(PROBE, FILES),
            lambda: files.bare(FILE_LOOP, FILES),
            "the same calls without stamps",
            reading=table.agreement,
        ),
        Comparison(
            "stream",
            {"mib_ns": ("a MiB of a stream past the page cache", "ns")},
            lambda: files.stream(PROBE, FILES),
            lambda: files.dd(FILES),
            "dd oflag=direct",
            reading=table.agreement,
        ),
    ]


def guests() -> list[Comparison]:
    on = {
        "local": "this machine",
        "emulated": "an emulated guest",
        "counted": "a deterministic guest",
    }
    metrics = {
        f"{name}_{moment}_ns": (f"from the command to the {words}, {where}", "s")
        for name, where in on.items()
        for moment, words in (("start", "start of the test"), ("end", "result of one sample"))
    }
    memory_of = {"guest_bytes": ("memory of an emulated guest of 1 GiB, with its files", "MiB")}
    return [
        Comparison("lab", metrics, booting.first_samples),
        Comparison("lab-memory", memory_of, booting.memory_of_guest, joined=max),
    ]


def comparisons(folder: Path) -> list[Comparison]:
    steps = {
        "record_step_ns": ("recording one value", "ns"),
        "pair_plus_record_ns": ("two time stamps and recording", "ns"),
    }
    switch = {"switch_ns": ("switch of two threads, mean", "ns")}
    loop = {"gap_loop_ns": ("time between two looks of the gap loop", "ns")}
    start = {"wall_ns": ("hardstone --help", "ms")}
    imports = {"wall_ns": ("import of the command line", "ms")}
    report = {"wall_ns": ("report of a run", "ms"), "size_bytes": ("its size", "KiB")}
    night = {
        metric: (f"{what} of 300 million points{more}", unit)
        for name, what in (("show", "screen"), ("html", "report"), ("pdf", "report as PDF"))
        for metric, more, unit in (
            (f"{name}_ns", "", "ms"),
            (f"{name}_bytes", ", memory of all its processes", "MiB"),
        )
    }
    return [
        *wakeups(),
        *timer_signals(),
        *signal_trips(),
        Comparison("switch", switch, own_switch, bare_switch, "sched_yield without stamps"),
        round_trips("thread"),
        round_trips("process"),
        handed_over("sysv", "svsematest"),
        handed_over("unnamed", "ptsematest"),
        *message_comparisons(),
        Comparison("gaps", loop, own_instrument, gaps.oslat, "oslat"),
        Comparison("instrument", steps, own_instrument),
        Comparison("start", start, toolkit.help_page, toolkit.bare_python, "python -c pass"),
        Comparison(
            "import", imports, toolkit.import_command_line, toolkit.bare_python, "python -c pass"
        ),
        Comparison("report", report, toolkit.Report(folder)),
        Comparison(
            "view",
            {
                "look_ns": ("a look of the live view, CPU time", "ms"),
                "cpu_ns": ("CPU time for a second of a recording at 10 kHz, live view", "ms"),
                "median_ns": ("median wake-up latency of that recording", "ns"),
            },
            view.Recording(folder, is_seen=True),
            view.Recording(folder, is_seen=False),
            "without the view",
            reading=table.agreement,
        ),
        *compare.comparisons(folder),
        *screens.comparisons(folder),
        Comparison("night", night, toolkit.LongReport(folder)),
        *counts(),
        *file_writes(),
        *tire.comparisons(PROBE),
        *guests(),
    ]


def rows_of(comparison: Comparison, rounds: int) -> list[table.Row]:
    """Measured rows, or one that says why there are none."""
    reason, peer = "", comparison.peer
    rounds = min(rounds, comparison.most_rounds or rounds)
    try:
        if peer is not None:
            peer()
    except processes.Missing as missing:
        reason, peer = str(missing), None
    try:
        result = measure(comparison.own, peer, rounds, comparison.joined)
    except processes.Missing as missing:
        return [table.skipped(comparison.name, str(missing))]
    return [
        table.measured(
            title,
            unit,
            result,
            metric,
            comparison.peer_names.get(metric, comparison.peer_name),
            reason or comparison.goal_text(metric, Spread.of(result.own[metric]).median),
            comparison.reading,
        )
        for metric, (title, unit) in comparison.metrics.items()
        if metric in result.own
    ]


def machine() -> str:
    cpus = len(os.sched_getaffinity(0))
    return f"{platform.system()} {platform.release()}, {platform.machine()}, {cpus} CPUs"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as users run it: compiled modules are kept
    rows = []
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        chosen = comparisons(Path(folder))
        known = [comparison.name for comparison in chosen]
        unknown = set(arguments.only or []) - set(known)
        if unknown:
            parser.error(f"no comparison {', '.join(sorted(unknown))}: {', '.join(known)}")
        for comparison in chosen:
            if comparison.name in (arguments.only or known):
                for row in rows_of(comparison, arguments.rounds):
                    print(table.line(row), flush=True)
                    rows.append(row)
    if arguments.write:
        table.write(ROOT / "bench" / "README.md", rows, machine())
    if arguments.write and "memory" in (arguments.only or known):
        memory.write(ROOT / "bench" / "README.md", PROBE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
