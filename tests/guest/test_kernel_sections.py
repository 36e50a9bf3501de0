"""True lengths of sections in KRN-P-PRE, by the tracepoints of the kernel, and where it has none.

Debian builds no kernel with CONFIG_PREEMPTIRQ_TRACEPOINTS: one that has them is looked for in the
lab under the name `preemptirq` (hardstone lab add)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.kernels import find_kernel
from hardstone.model import StreamSeries
from hardstone.targets.lab import LabTransport
from tests.guest.called import measured, opened
from tests.running import Stream, total

NAMED = "preemptirq"
OPERATIONS = ("none", "fork", "map")
KINDS = ("preempt_off", "irq_off", "either_off")
WORDS = ("-p", f"operation={','.join(OPERATIONS)}", "--samples", "100")


def sections(guest: LabTransport, wish: str) -> Stream:
    return measured(guest, "KRN-P-PRE", *WORDS, "-p", f"sections={wish}")


@pytest.fixture(scope="module")
def telling() -> Iterator[LabTransport]:
    try:
        find_kernel(NAMED)
    except HardstoneError as error:
        pytest.skip(str(error))
    with opened(f"{NAMED},deterministic") as guest:
        yield guest


def events(stream: Stream, name: str) -> list[dict[str, Any]]:
    return [one.data for one in stream.told(name)]


def series(stream: Stream, name: str) -> dict[tuple[str, str], StreamSeries]:
    return {
        (str(one.labels["operation"]), str(one.labels.get("kind"))): one
        for one in stream.named(name)
    }


def test_a_kernel_without_the_events_says_so(counting: LabTransport) -> None:
    """Those that were named end the test: probe/tests/test_sections.c."""
    stream = sections(counting, "auto")
    (told,) = events(stream, "sections_not_seen")
    assert told["status"] == "unsupported"
    assert "preemptirq" in told["reason"]
    assert not series(stream, "section")
    assert {one.count for one in series(stream, "dispatch").values()} == {100}


def test_sections_have_their_lengths_and_places(telling: LabTransport) -> None:
    """Each is in the sums that are told, and the longest is that of the series."""
    stream = sections(telling, "tracepoints")
    found = series(stream, "section")
    assert not events(stream, "sections_not_seen")
    for seen in events(stream, "sections_seen"):
        assert (seen["lost_count"], seen["unmatched_count"]) == (0, 0)
        for kind in KINDS:
            one = found[seen["operation"], kind]
            assert one.count > 0
            assert abs(total(one) - seen[f"{kind}_ns"]) < one.count
        assert 0 < seen["either_off_ns"] < seen["traced_ns"]
        assert seen["either_off_ns"] >= max(seen["preempt_off_ns"], seen["irq_off_ns"]) * 0.98
    for longest in events(stream, "longest_section"):
        assert longest["length_ns"] == found[longest["operation"], longest["kind"]].max
        assert all("+0x" in longest[key] for key in ("begin", "begin_caller", "end", "end_caller"))
        assert not longest["begin"].startswith("_stext")
