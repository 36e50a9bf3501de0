"""Every test of the register is run once, with a few samples, and all that is asked of all tests is
asked of that run: that it holds together, that values occur when they say, and that what is
published of a test is a series of it."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from bench import memory
from hardstone.comparison.grey import why_another
from hardstone.model import (
    Descriptor,
    Series,
    StreamEvent,
    StreamHeader,
    StreamInstrument,
    StreamSeries,
)
from hardstone.stats.noise import with_noise
from hardstone.systems.published import Figure, all_figures, figures_of, resolve
from hardstone.targets.local import local_target
from tests import machine
from tests.host import few
from tests.process.targets import sample
from tests.running import Stream, measuring, run
from tests.unit.stats import make
from tests.virtual.test_nothing_observed import ON_A_KERNEL, check_is_honest

REGISTER = sample.register()
TESTS = {one.id: one for one in REGISTER.tests}
SLACK_NS = 1_000_000_000  # of times counted from the start against the whole duration
# sched(7): a thread whose priority is lowered goes to the head of its new queue, whatever the
# call; POSIX says to the tail for pthread_setschedparam.
KNOWN_FINDINGS = {"lowered_setschedparam", "base_limits_at_least_posix_minimum"}
# All that is published of these is wanted, with the published work: few.py leaves some out.
OPTIONS = {
    "TMR-P-JIT": ("--samples", "3", "-p", "periods_ns=1ms,10ms,100ms"),
    "RSP-P-FIX": ("--samples", "3"),
    "MUT-P-INV": ("--samples", "5"),
}
FEWER = re.compile(r"\d+ waiters instead of 128")
Recorded = Callable[..., Stream]


@pytest.fixture
def of_test(probe: Path, quick: list[str], recorded: Recorded) -> Recorded:
    """The run of a test, which has what the studies of it fix."""

    def stream(test: str, load: str = "none") -> Stream:
        here = [one for one in figures_of(test) if not is_of_a_device(one)]
        fixed = {name: value for one in here for name, value in one.params.items()}
        given = [word for name, value in fixed.items() for word in ("-p", f"{name}={value}")]
        loaded = [] if load == "none" else ["--load", load]
        options = OPTIONS.get(test, few.options(test))
        return recorded(probe, test, *options, *given, *loaded, *quick).checked()

    return stream


def test_the_golden_register_is_that_of_the_probe(probe: Path) -> None:
    found = local_target(probe).probe_list()
    assert msgspec.to_builtins(found) == msgspec.to_builtins(REGISTER)


# ---- each holds together ----


@pytest.mark.parametrize("test", TESTS)
def test_a_run_holds_together(of_test: Recorded, test: str) -> None:
    stream = of_test(test)
    check_frame(stream)
    check_declared(stream, TESTS[test])
    for series in stream.of(StreamSeries):
        check_worst(series, stream.result.duration_ns)
    assert stream.result.status in ("measured", "unsupported", "denied"), stream.result.reason
    if stream.result.status == "measured":
        assert stream.sample_count or stream.verdicts
    failed = {name.partition("/")[0] for name, holds in stream.verdicts.items() if not holds}
    assert failed <= KNOWN_FINDINGS


def check_frame(stream: Stream) -> None:
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    assert result.complete and not result.interrupted
    assert stream.stderr == ""
    assert isinstance(stream.lines[0], StreamHeader)
    assert stream.lines[-2:] == [stream.result, stream.footer]
    assert stream.footer.lines == len(stream.lines) - 1
    assert stream.footer.events == len(stream.of(StreamEvent))
    assert stream.footer.series == len(stream.of(StreamSeries))
    assert stream.footer.verdicts == len(stream.verdicts)
    assert stream.result.status != "measured" or len(stream.of(StreamInstrument)) == 1


def check_declared(stream: Stream, descriptor: Descriptor) -> None:
    declared = {one.name: one for one in descriptor.series}
    for series in stream.of(StreamSeries):
        assert set(series.labels) <= set(declared[series.name].labels)
        assert series.unit == declared[series.name].unit
        assert series.derived == declared[series.name].derived
    claims = {one.name for one in descriptor.verdicts}
    assert {name.partition("/")[0] for name in stream.verdicts} <= claims
    assert set(stream.of(StreamHeader)[0].params) <= {one.name for one in descriptor.params}


def check_worst(series: Series, duration_ns: int) -> None:
    """All else that a series must be the reader has looked at: hardstone/stats/identity.py."""
    values = [worst.value_ns for worst in series.worst]
    assert values == sorted(values, reverse=True)
    assert len(values) == min(series.count, 32)
    assert len({worst.index for worst in series.worst}) == len(values)
    assert all(0 <= worst.index < series.count for worst in series.worst)
    assert all(0 <= worst.at_ns <= duration_ns + SLACK_NS for worst in series.worst)


# ---- hardly anything observed ----


@pytest.mark.parametrize("limit", [("--duration-ns", "1"), ("--samples", "1")], ids=" ".join)
@pytest.mark.parametrize("test", sorted(ON_A_KERNEL))
def test_hardly_anything_observed(
    probe: Path, quick: list[str], test: str, limit: tuple[str, str]
) -> None:
    """The others: tests/virtual."""
    stream = run(probe, test, *limit, *quick).checked()
    check_is_honest(stream)


def test_a_length_alone_keeps_the_size_of_a_step(probe: Path, quick: list[str]) -> None:
    """A step of no interrupt loses none: each period passed, and the shortest won."""
    words = ("-p", "source=timer", "-p", "period_min_ns=500us", "-p", "period_max_ns=1ms")
    stream = run(probe, "IRQ-S-SUS", "--duration-ns", "30000000000", *words, *quick).checked()
    steps = [one.data for one in stream.told("sustained_step")]
    assert steps and all(int(one["interrupts_count"]) >= 10_000 for one in steps)


# A value's time is that of the value, not of the burst that it was taken in.
SEPARATE = (
    *("SEM-P-SIG", "SEM-P-ARN", "SEM-P-NEW", "MUT-P-ARN", "SEM-P-RTP", "SEM-P-SHF", "SEM-P-ARC"),
    *("MUT-P-ARC", "MUT-P-INV", "THR-P-SLS", "THR-P-NEW", "THR-P-PRE", "SIG-P-LAT", "PWR-B-SIG"),
)
CLOCKS_NS = 50  # stamps are of the counter, times of CLOCK_MONOTONIC


@pytest.mark.parametrize("test", SEPARATE)
def test_of_two_values_the_later_began_after_the_earlier(of_test: Recorded, test: str) -> None:
    looked_at = 0
    for series in of_test(test).of(StreamSeries):
        if series.unit != "ns" or series.derived:
            continue
        worst = sorted(series.worst, key=lambda value: value.index)
        for earlier, later in pairwise(worst):
            apart_ns = later.at_ns - earlier.at_ns + CLOCKS_NS
            assert apart_ns >= later.value_ns, (series.labels, earlier, later)
            looked_at += 1
    assert looked_at >= 10


def test_each_step_of_a_clock_has_a_reading_of_its_own(of_test: Recorded) -> None:
    """Its steps are read in one loop."""
    looked_at = 0
    for series in of_test("CLK-B-RES").of(StreamSeries):
        if series.name == "step":
            looked_at += len(series.worst)
            assert len({value.at_ns for value in series.worst}) == len(series.worst), series.labels
    assert looked_at >= 100


# ---- what is published of them ----


def figures() -> list[Figure]:
    """One of each address: the studies give several systems and statistics for it."""
    tests = {test.id for test in REGISTER.tests}  # some figures belong to tests to come
    found = {
        (str(one.address), load(one)): one for one in all_figures() if one.address.test in tests
    }
    return [found[key] for key in sorted(found)]


def is_of_a_device(figure: Figure) -> bool:
    """tests/guest have one."""
    return "external" in str(figure.address).split("/")


def load(figure: Figure) -> str:
    return figure.address.conditions.get("load", "none")


@machine.needs(machine.no_realtime())
@pytest.mark.parametrize("figure", figures(), ids=lambda one: f"{one.address}-{load(one)}")
def test_a_published_figure_has_its_series(of_test: Recorded, figure: Figure) -> None:
    test, series = TESTS[figure.address.test], "".join(figure.address.parts[-1:])
    declared = {one.name: one for one in test.series}
    if is_of_a_device(figure):
        (source,) = [one for one in test.params if one.name == "source"]
        assert "external" in source.choices and series in declared
        return
    if figure.unit == "masses":  # which the curve of many points gives: `hardstone simulate`
        assert {"masses", "threads"} <= set(declared[series].labels)
        return
    result, problem = of_test(test.id, load(figure)).read_by_the_toolkit()
    assert problem is None
    result = with_noise(result)
    assert (result.status, result.reason) == ("measured", None)
    assert why_another(figure, result) == ""
    found = resolve(figure.address, make.document(results=[result]))
    assert found.series is not None or found.verdicts
    assert found.series is None or found.series.count > 0
    assert [note for note in found.notes if not FEWER.fullmatch(note)] == []


# ---- by the toolkit ----


def test_the_toolkit_measures_stores_and_shows(
    probe: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of each family."""
    families = sorted({one.partition("-")[0]: one for one in TESTS}.values())
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))

    def hardstone(*words: str) -> bytes:
        command = [sys.executable, "-m", "hardstone", *words, "--store", str(tmp_path)]
        return subprocess.run(command, capture_output=True, check=False).stdout

    document = json.loads(hardstone("run", *families, "-D", "50ms", "--json", "--quiet"))
    results = {one["test"]: one for one in document["results"]}
    assert sorted(results) == families
    for one in results.values():
        assert one["complete"], one["reason"]
        assert one["status"] in ("measured", "denied", "unsupported", "skipped"), one["reason"]
        assert one["status"] != "skipped" or "the 50 ms were over" in one["reason"]
    shown = hardstone("show", "last", "--all")
    assert [test for test in results if test.encode() not in shown] == []


# ---- nothing else happens ----

LOCKED_LIMIT_KB = 4 * 1024
LOOKING_S = 1.1  # what wakes up once a second is seen
LOOK_SWITCHES = 2  # of a look at the kernel's counters, once a second: a wait or two


def test_nothing_happens_while_measuring(probe: Path, quick: list[str]) -> None:
    """No output, no wake-ups, few pages; and every thread runs as the conditions say."""
    options = ["--duration-ns", "60s", "--samples", "0", *quick]
    with measuring(probe, "TMR-P-LAT", *options) as running:
        machine.wait_for_wakeups(running.pid, 200)
        locked_kb = machine.status_number(Path(f"/proc/{running.pid}/status"), "VmLck")
        begun_s = time.monotonic()
        before = machine.switches(running.pid, running.pid)
        time.sleep(LOOKING_S)
        after = machine.switches(running.pid, running.pid)
        looks_at_most = int(time.monotonic() - begun_s) + 1
        watched_from = os.sched_getaffinity(running.pid)
        seen = {seen_by_the_kernel(running.pid, one) for one in machine.thread_ids(running.pid)}
        said = select.select([running.process.stdout], [], [], 0)[0]
        result = running.stopped().result
    if watched_from == {machine.cpu()}:
        assert before == after
    else:
        assert after - before <= looks_at_most * LOOK_SWITCHES
        assert machine.cpu() not in watched_from
    assert said == []
    assert (locked_kb > 0) == result.conditions.memory_locked
    assert locked_kb <= LOCKED_LIMIT_KB
    assert result.environment["major_faults_count"] == 0
    conditions = result.conditions
    assert (conditions.policy, conditions.priority, conditions.cpu) in seen


def seen_by_the_kernel(pid: int, thread: int) -> tuple[str, int, int]:
    """Policy, priority and the CPU that a thread last ran on."""
    fields = Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()
    policy = {0: "other", 1: "fifo", 2: "rr"}[int(fields[38])]
    return policy, int(fields[37]), int(fields[36])


# ---- locked memory, by the kernel's own count ----

# It grows with series and threads, not with samples: as many variants as by default.
FOR_MEMORY = {
    **few.OPTIONS,
    "TMR-P-JIT": ("--samples", "20", "-p", "periods_ns=1ms,2ms,3ms"),
    "TMR-B-EDGE": ("--deadline-ns", "300ms"),
}
MONTH = ("--duration-ns", str(30 * 86_400 * 10**9))
CPU_LIST = ("-p", f"cpus={','.join(map(str, sorted(os.sched_getaffinity(0))[:2]))}")
MORE_BYTES = memory.CPU_LIST_BYTES + memory.FURTHER_CPU_BYTES
LOCKED = [
    *((test, FOR_MEMORY.get(test, ("--samples", "10")), 0) for test in TESTS),
    ("TMR-P-LAT", MONTH, memory.LIMIT_BYTES - memory.WAKEUP_LIMIT_BYTES),
    ("TMR-P-LAT", CPU_LIST, MORE_BYTES),
]


@pytest.fixture(scope="module")
def may_lock(probe: Path) -> None:
    stream = run(probe, "CLK-B-RES", "--samples", "10")
    if not stream.result.conditions.memory_locked:
        pytest.skip(f"memory cannot be locked here: {stream.events['memory_not_locked'].text}")


@pytest.mark.usefixtures("may_lock")
@pytest.mark.parametrize(("test", "options", "more_bytes"), LOCKED, ids=lambda one: str(one)[:30])
def test_every_test_locks_little(
    probe: Path, quick: list[str], test: str, options: tuple[str, ...], more_bytes: int
) -> None:
    """As the documents say, also with a further CPU; a recording of a month no more than others."""
    locked = memory.measure(probe, test, [*quick, *options])
    assert locked.largest <= locked.limit + more_bytes
    assert locked.total <= memory.TOTAL_LIMIT_BYTES or more_bytes
