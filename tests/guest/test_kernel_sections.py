"""True lengths of sections in KRN-P-PRE, by the tracepoints of the kernel, and where it has none.

Debian builds no kernel with CONFIG_PREEMPTIRQ_TRACEPOINTS: one that has them is looked for in the
lab under the name `preemptirq` (hardstone lab add)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.kernels import find_kernel
from hardstone.targets.lab import LabTransport
from tests.guest.called import call, opened

NAMED = "preemptirq"
OPERATIONS = ("none", "fork", "map")
KINDS = ("preempt_off", "irq_off", "either_off")
WORDS = ("-p", f"operation={','.join(OPERATIONS)}", "--samples", "100")

Lines = list[dict[str, Any]]


def measured(guest: LabTransport, sections: str) -> Lines:
    _, text = call(guest, "run", "KRN-P-PRE", *WORDS, "-p", f"sections={sections}", "--json")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def telling() -> Iterator[LabTransport]:
    try:
        find_kernel(NAMED)
    except HardstoneError as error:
        pytest.skip(str(error))
    with opened(f"{NAMED},deterministic") as guest:
        yield guest


def events(lines: Lines, name: str) -> list[dict[str, Any]]:
    return [line["data"] for line in lines if line["type"] == "event" and line["name"] == name]


def series(lines: Lines, name: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    found = [line for line in lines if line["type"] == "series" and line["name"] == name]
    return {(one["labels"]["operation"], one["labels"].get("kind")): one for one in found}


def test_a_kernel_without_the_events_says_so(counting: LabTransport) -> None:
    lines = measured(counting, "auto")
    (told,) = events(lines, "sections_not_seen")
    assert told["status"] == "unsupported"
    assert "preemptirq" in told["reason"]
    assert not series(lines, "section")
    assert {one["count"] for one in series(lines, "dispatch").values()} == {100}


def test_events_that_were_named_and_are_missing_end_the_test(counting: LabTransport) -> None:
    (result,) = [line for line in measured(counting, "tracepoints") if line["type"] == "result"]
    assert result["status"] == "unsupported"
    assert "preemptirq" in result["reason"]


def test_sections_have_their_lengths_and_places(telling: LabTransport) -> None:
    """Each is in the sums that are told, and the longest is that of the series."""
    lines = measured(telling, "tracepoints")
    sections = series(lines, "section")
    assert not events(lines, "sections_not_seen")
    for seen in events(lines, "sections_seen"):
        assert (seen["lost_count"], seen["unmatched_count"]) == (0, 0)
        for kind in KINDS:
            one = sections[seen["operation"], kind]
            assert one["count"] > 0
            assert abs(one["mean"] * one["count"] - seen[f"{kind}_ns"]) < one["count"]
        assert 0 < seen["either_off_ns"] < seen["traced_ns"]
        assert seen["either_off_ns"] >= max(seen["preempt_off_ns"], seen["irq_off_ns"]) * 0.98
    for longest in events(lines, "longest_section"):
        assert longest["length_ns"] == sections[longest["operation"], longest["kind"]]["max"]
        assert all("+0x" in longest[key] for key in ("begin", "begin_caller", "end", "end_caller"))
        assert not longest["begin"].startswith("_stext")
