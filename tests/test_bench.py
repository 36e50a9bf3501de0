"""The arithmetic of the benchmarks; what they measure is never asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.rounds import Metrics, Rounds, Spread, measure
from bench.table import agreement, finds_more, line, measured, skipped, write
from bench.wakeup import median


def test_sides_take_turns_a_b_b_a() -> None:
    turns: list[str] = []

    def side(name: str, value: float) -> Metrics:
        turns.append(name)
        return {"cost": value}

    result = measure(lambda: side("A", 1.0), lambda: side("B", 4.0), rounds=2)
    assert "".join(turns) == "ABBAABBA"
    assert result.ratio("cost") == Spread(0.25, 0.25, 0.25)


def test_the_ratio_is_formed_within_a_round() -> None:
    rounds = Rounds(own={"cost": [1.0, 10.0]}, peer={"cost": [2.0, 10.0]})
    assert rounds.ratio("cost") == Spread(0.75, 0.5, 1.0)


def test_without_a_peer_there_is_no_ratio_but_the_reason() -> None:
    result = measure(lambda: {"cost": 3.0}, None, rounds=1)
    row = measured("cost", "ns", result, "cost", "oslat", "oslat is not installed")
    assert line(row) == "cost: 3 ns (oslat is not installed)"
    assert line(skipped("gaps", "no probe")) == "gaps: skipped: no probe"


@pytest.mark.parametrize(
    ("ratios", "reading"),
    [
        ([0.5, 0.8], "hardstone is better"),
        ([1.2, 2.0], "hardstone is worse"),
        ([0.8, 1.2], "even"),
        ([1.01, 1.5], "even"),
    ],
)
def test_only_what_holds_in_every_round_is_called_better(ratios: list[float], reading: str) -> None:
    rounds = Rounds(own={"cost": ratios}, peer={"cost": [1.0] * len(ratios)})
    assert measured("cost", "ns", rounds, "cost", "peer", "").reading == reading


def test_median_counts_values() -> None:
    assert median({5.0: 1, 7.0: 3, 90.0: 1}) == 7.0


def test_a_check_praises_nobody() -> None:
    result = measure(lambda: {"cost": 9.0}, lambda: {"cost": 10.0}, rounds=2)
    row = measured("cost", "ns", result, "cost", "perf", "", agreement)
    assert row.reading == "a check: 10% apart"


@pytest.mark.parametrize(
    ("ratios", "reading"),
    [
        ([1.5, 3.0], "hardstone's finds more"),
        ([0.2, 0.9], "hardstone's finds less"),
        ([0.5, 1.5], "even"),
    ],
)
def test_a_load_is_better_where_the_worst_is_larger(ratios: list[float], reading: str) -> None:
    rounds = Rounds(own={"worst": ratios}, peer={"worst": [1.0] * len(ratios)})
    row = measured("worst", "ns", rounds, "worst", "under hackbench", "", finds_more)
    assert row.reading == reading


def test_rows_that_were_not_measured_anew_stay(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results -->\n<!-- end -->\nafter\n")
    result = measure(lambda: {"cost": 9.0}, lambda: {"cost": 10.0}, rounds=2)
    first = [measured(name, "ns", result, "cost", "perf", "") for name in ("one", "two")]
    write(page, first, "here", 5)
    other = measure(lambda: {"cost": 7.0}, lambda: {"cost": 10.0}, rounds=2)
    write(page, [measured("two", "ns", other, "cost", "perf", "")], "here", 5)
    rows = [text for text in page.read_text().splitlines() if text.startswith("| ")]
    assert rows[0] == "| what | hardstone | peer | ratio | reading |"
    assert rows[2:] == [
        "| one | 9 ns | perf: 10 ns | 0.9 | hardstone is better |",
        "| two | 7 ns | perf: 10 ns | 0.7 | hardstone is better |",
    ]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")
