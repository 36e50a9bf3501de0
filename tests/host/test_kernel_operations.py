"""KRN-P-PRE on the real kernel: what it counts, what it says of what cannot be done, and a blocking
operation, made up by a libc in which nobody is woken for 5 ms after each rename."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hardstone.kernel.results import kernel_time_of
from hardstone.model import StreamEvent, StreamSeries
from tests import machine
from tests.host.hogs import PRIORITY, Bursts, hogging
from tests.running import Stream, measuring, run

pytestmark = machine.needs(machine.no_realtime())

TEST = "KRN-P-PRE"
CLASSES = (
    *("fork", "exec", "exit", "copy", "file", "map", "terminal", "socket", "pipe", "fsync"),
    "scan",
)
OPERATIONS = ("none", *CLASSES, "all")
SAMPLES = 100
BLOCKED_NS = 5_000_000  # as broken_kernel.c
HOG = Bursts(length_ns=20_000_000, period_ns=100_000_000, count=300)
FIRST = ("nice", "-n", "-20")  # the operations get the CPU also on a busy machine


def options(operations: tuple[str, ...], samples: int = SAMPLES) -> list[str]:
    return ["-p", f"operation={','.join(operations)}", "--samples", str(samples)]


def dispatches(stream: Stream) -> dict[str, StreamSeries]:
    return {str(one.labels["operation"]): one for one in stream.named("dispatch")}


def number(event: StreamEvent, key: str) -> int:
    value = event.data[key]
    assert isinstance(value, int)
    return value


def test_every_operation_has_its_values_and_says_what_it_did(probe: Path, quick: list[str]) -> None:
    """Each variant once, in its order; no part is larger than its whole."""
    whole = run(probe, TEST, *options(OPERATIONS), *quick, prefix=FIRST)
    assert whole.result.status == "measured", whole.result.reason
    failed = {event.data["operation"] for event in whole.told("operation_failed")}
    counts = {name: series.count for name, series in dispatches(whole).items()}
    assert list(counts) == list(OPERATIONS)
    assert counts == {name: 0 if name in failed else SAMPLES for name in OPERATIONS}
    ran = whole.told("operation_ran")
    assert [event.data["operation"] for event in ran] == [name for name in counts if counts[name]]
    for event in ran:
        assert number(event, "operations_count") > 0
        assert 0 <= number(event, "system_ns") <= number(event, "cpu_ns")
        assert number(event, "cpu_ns") <= number(event, "elapsed_ns") * 1.1 + 10_000_000
        assert number(event, "value_count") == SAMPLES
        assert 0 <= number(event, "still_count") <= SAMPLES


def test_a_blocking_operation_is_ranked_first(broken: Callable[..., Stream]) -> None:
    """Values are what was left of the 5 ms when a release hit them."""
    words = options(("none", "pipe", "file", "map", "scan"), 1000)

    stream = broken("blocks_in_rename", TEST, *words, prefix=FIRST)
    assert stream.result.status == "measured", stream.result.reason
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    found = kernel_time_of(result)
    assert found is not None
    names = [operation.name for operation in found.operations]
    ranks = {operation.name: operation.rank for operation in found.operations}
    assert names[0] == "file"
    assert [name for name, rank in ranks.items() if rank == 1] == ["file"]
    blocked = dispatches(stream)["file"].max or 0
    assert BLOCKED_NS * 0.8 <= blocked <= BLOCKED_NS * 1.5


def test_what_is_missing_has_no_values(broken: Callable[..., Stream]) -> None:
    words = options(("none", "terminal", "pipe", "all"))
    stream = broken("no_terminal", TEST, *words, prefix=FIRST)
    assert stream.result.status == "measured", stream.result.reason
    counts = {name: series.count for name, series in dispatches(stream).items()}
    assert counts == {"none": SAMPLES, "terminal": 0, "pipe": SAMPLES, "all": SAMPLES}
    told = [
        (event.data["operation"], event.data["class"]) for event in stream.told("operation_failed")
    ]
    assert told == [("terminal", "terminal"), ("all", "terminal")]
    assert all(event.data["given_up"] for event in stream.told("operation_failed"))


def test_nothing_that_can_be_done_is_unsupported(broken: Callable[..., Stream]) -> None:
    stream = broken("no_terminal", TEST, *options(("terminal",)), prefix=FIRST)
    assert (stream.result.status, stream.code) == ("unsupported", 5)
    assert "No such" in stream.told("operation_failed")[0].text


def test_an_operation_that_fails_later_ends_its_variant(broken: Callable[..., Stream]) -> None:
    """The first three failures in a row are the last ones; the others go on."""
    words = options(("fsync", "pipe"))
    stream = broken("fsync_fails", TEST, *words, prefix=FIRST)
    (failed,) = stream.told("operation_failed")
    assert (failed.data["failed_count"], failed.data["given_up"]) == (3, True)
    counts = {name: series.count for name, series in dispatches(stream).items()}
    assert counts["fsync"] < SAMPLES
    assert counts["pipe"] == SAMPLES


def test_a_full_disk_stays_as_full(probe: Path, mounted: Path, quick: list[str]) -> None:
    """256 MiB have to stay free, and there are fewer."""
    with (mounted / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, 200 << 20)
    before = os.statvfs(mounted).f_bfree
    words = [*options(("copy", "fsync", "file")), *quick]
    stream = run(probe, TEST, *words, variables={"TMPDIR": str(mounted)})
    told = {event.data["operation"]: event.text for event in stream.told("operation_failed")}
    assert set(told) == {"copy", "fsync"}
    assert all("No space left" in text for text in told.values())
    assert os.statvfs(mounted).f_bfree == before
    assert [path.name for path in mounted.iterdir()] == ["filler"]


def test_a_hog_above_shows_in_every_operation(probe: Path, hog: Path, quick: list[str]) -> None:
    """20 ms of each 100 ms, for longer than the test: each variant lasts 200 ms and meets two. The
    hog is there first: else the first variant may be over before it comes."""
    words = [*options(("none", "fork", "scan", "all"), 500), "--priority", str(PRIORITY), *quick]
    with hogging(hog, HOG), measuring(probe, TEST, *words) as running:
        stream = running.rest()
    for name, series in dispatches(stream).items():
        assert (series.max or 0) > HOG.length_ns / 2, name
