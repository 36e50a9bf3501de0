"""MEM-B-LCK: a lock of memory that does nothing is caught, whatever makes memory short; what is
missing is said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.model import StreamSeries, StreamVerdict
from tests import machine
from tests.running import Stream, run

TEST = "MEM-B-LCK"
PAGES = 256
SMALL = ("-p", "size_bytes=1048576", "--samples", str(4 * PAGES))
FAULTS, LOCK = "no_faults_when_locked", "memory_is_locked"
MEANS = ("none", "no_group")  # breaches that leave a means: of the system, or that of no group


def accepted(stream: Stream) -> Stream:
    if stream.result.status == "denied":
        pytest.skip(f"no right to lock memory: {stream.result.reason}")
    assert stream.result.status == "measured", stream.result
    return stream


def means(stream: Stream) -> object:
    return stream.events["memory_pressure"].data["means"]


def needs_means(stream: Stream) -> None:
    if means(stream) == "none":
        pytest.skip(str(stream.events["memory_pressure"].text))


@pytest.fixture(autouse=True)
def on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a folder in memory have nowhere to go."""
    monkeypatch.delenv("TMPDIR", raising=False)


@pytest.mark.parametrize("means_left", MEANS)
def test_a_lock_that_holds(broken: Callable[..., Stream], means_left: str) -> None:
    stream = accepted(broken(means_left, TEST, *SMALL))
    needs_means(stream)
    assert stream.verdicts == {FAULTS: True, LOCK: True}, stream.of(StreamVerdict)
    control = stream.events["unlocked_faults"].data
    assert control["access_count"] == 4 * PAGES
    assert int(str(control["minor_count"])) + int(str(control["major_count"])) > 0
    counts = {tuple(one.labels.items()): one.count for one in stream.of(StreamSeries)}
    assert counts == {(("locked", "yes"),): 4 * PAGES, (("locked", "no"),): 4 * PAGES}


@pytest.mark.parametrize("means_left", MEANS)
@pytest.mark.parametrize("breach", ["lock_nothing", "lock_current"])
def test_a_lock_that_does_nothing_is_caught(
    broken: Callable[..., Stream], breach: str, means_left: str
) -> None:
    """Also one that locks only what was mapped before."""
    breaches = f"{breach},{means_left}"
    stream = accepted(broken(breaches, TEST, *SMALL))
    needs_means(stream)
    assert stream.verdicts == {FAULTS: False, LOCK: False}, stream.of(StreamVerdict)


def test_a_lock_that_was_not_tried_has_no_verdict(broken: Callable[..., Stream]) -> None:
    stream = accepted(broken("no_group,no_page_out", TEST, *SMALL))
    assert means(stream) == "none"
    pressure = stream.events["memory_pressure"].data["reason"]
    assert "no control group" in str(pressure)
    assert stream.events["not_seen"].data == {"verdict": FAULTS, "reason": "not_tried"}
    assert stream.verdicts == {LOCK: True}
    # what the system says of a lock suffices
    nothing = broken("no_group,no_page_out,lock_nothing", TEST, *SMALL)
    assert nothing.verdicts == {LOCK: False}


def test_a_refused_lock_is_denied_with_a_remedy(broken: Callable[..., Stream]) -> None:
    stream = broken("lock_refused", TEST, *SMALL)
    assert (stream.result.status, stream.code) == ("denied", 5)
    assert "1024 KiB" in str(stream.result.reason)
    assert "mlockall" in str(stream.result.remedy)  # to root, as a filter does
    assert not stream.verdicts


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which("prlimit") is None,
    reason="only root can run it as a user without rights",
)
@pytest.mark.parametrize(("limit", "status"), [(64 << 10, "denied"), (8 << 20, "measured")])
def test_a_user_without_rights(open_probe: Path, quick: list[str], limit: int, status: str) -> None:
    """No control group then; a lock within the limit holds all the same."""
    nobody = ["prlimit", f"--memlock={limit}:{limit}", "setpriv", f"--reuid={machine.NOBODY_ID}"]
    prefix = [*nobody, f"--regid={machine.NOBODY_ID}", "--clear-groups"]
    stream = run(open_probe, TEST, *SMALL, *quick, prefix=prefix)
    assert stream.result.status == status, stream.result
    if status == "measured":
        assert means(stream) != "group"
        assert stream.verdicts[LOCK]
        assert stream.verdicts.get(FAULTS, True)


def test_a_folder_in_memory_is_told(probe: Path, quick: list[str]) -> None:
    """Its pages could only go to a swap."""
    folder = Path("/dev/shm")
    if not os.access(folder, os.W_OK):
        pytest.skip("no /dev/shm")
    stream = accepted(run(probe, TEST, *SMALL, *quick, variables={"TMPDIR": str(folder)}))
    assert means(stream) != "group"
    assert "TMPDIR" in str(stream.events["memory_pressure"].data["reason"])
