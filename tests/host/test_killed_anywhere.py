"""A probe that is killed at any moment of a run of many short variants, and copies of its file.

Variants share records: each has its place in the file when the next one begins. Between any two
instructions of that: probe/tests/test_arena_moves.c and test_record_recover.c."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from hardstone.store.slots import SlotCopier
from hardstone.targets.host_memory import HostMemory
from tests import machine
from tests.running import Stream, measuring, run

SAMPLES = 3000
MOMENTS = 6
COPIES = 5
Counts = dict[tuple[str, ...], int]


def counts_of(stream: Stream) -> Counts:
    """By name and labels, each of which is there once, in the order of measuring."""
    found: Counts = {}
    for series in stream.of(StreamSeries):
        key = (series.name, *(f"{name}={value}" for name, value in series.labels.items()))
        assert key not in found
        buckets = sum(count for _, count in series.histogram.buckets)
        outside = series.histogram.underflow + series.histogram.overflow
        assert buckets + outside == series.count
        found[key] = series.count
    return found


def copy_as_the_journal(file: Path, to: Path) -> None:
    SlotCopier(HostMemory("", file.parent), str(file), [to, to]).copy()


def dump(probe: Path, file: Path) -> Counts:
    done = subprocess.run([str(probe), "dump", str(file)], capture_output=True, check=True)
    return counts_of(Stream("", done.returncode, done.stdout))


def variants(counts: Counts) -> list[list[int]]:
    """The counts of each variant."""
    found: dict[tuple[str, ...], list[int]] = {}
    for (_, *labels), count in counts.items():
        found.setdefault(tuple(labels), []).append(count)
    return list(found.values())


def check(counts: Counts, whole: Counts) -> None:
    """All variants before the one at work are whole, all behind it empty."""
    assert list(counts) == list(whole)
    pairs = list(zip(variants(counts), variants(whole), strict=True))
    begun = [i for i, (got, _) in enumerate(pairs) if any(got)]
    at_work = begun[-1] if begun else 0
    for got, full in pairs[:at_work]:
        assert got == full
    got, full = pairs[at_work]
    assert all(count <= most for count, most in zip(got, full, strict=True))


@pytest.fixture(scope="module", params=["SEM-P-SIG", "SEM-P-ARN"])
def test_id(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def options(probe: Path, quick: list[str]) -> list[str]:
    if (reason := machine.no_realtime()) is not None:
        pytest.skip(reason)
    return ["--samples", str(SAMPLES), *quick]


@pytest.fixture(scope="module")
def whole(probe: Path, test_id: str, options: list[str]) -> Stream:
    stream = run(probe, test_id, *options)
    assert stream.result.status == "measured", stream.result.reason
    assert sum(any(counts) for counts in variants(counts_of(stream))) > 2
    return stream


def test_a_kill_keeps_every_finished_variant(
    probe: Path, test_id: str, options: list[str], whole: Stream, tmp_path: Path
) -> None:
    moments = random.Random(9)
    lasting_s = whole.result.duration_ns / 1e9
    for i in range(MOMENTS):
        file, before = tmp_path / f"{i}.arena", tmp_path / f"{i}.copy"
        with measuring(probe, test_id, *options, "--backing", str(file)) as running:
            time.sleep(moments.uniform(0, lasting_s))
            copy_as_the_journal(file, before)
            running.process.kill()
            running.process.wait()
        left, copied = dump(probe, file), dump(probe, before)
        check(left, counts_of(whole))
        check(copied, counts_of(whole))
        assert all(left[key] >= count for key, count in copied.items())


def test_copies_at_work_never_go_back(
    probe: Path, test_id: str, options: list[str], whole: Stream, tmp_path: Path
) -> None:
    file = tmp_path / "arena"
    copies = [tmp_path / f"{i}.copy" for i in range(COPIES)]
    with measuring(probe, test_id, *options, "--backing", str(file)) as running:
        for copy in copies:
            time.sleep(whole.result.duration_ns / 1e9 / COPIES)
            copy_as_the_journal(file, copy)
        stream = running.rest()
    assert counts_of(stream) == counts_of(whole)
    earlier = dict.fromkeys(counts_of(whole), 0)
    for copy in copies:
        counts = dump(probe, copy)
        check(counts, counts_of(whole))
        assert all(counts[key] >= count for key, count in earlier.items())
        earlier = counts
    assert dump(probe, file) == counts_of(whole)
