"""The arithmetic of the benchmarks; what they measure is never asserted."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import booting, compare, loads, processes, signals
from bench.comparison import Comparison
from bench.rounds import Metrics, Rounds, Spread, measure
from bench.run import guests, rows_of
from bench.table import agreement, line, measured, skipped, write
from bench.wakeup import median
from hardstone.stats.contradictions import told
from tests.running import children, has_ended
from tests.unit.report import sample
from tests.waiting import wait_until


def test_sides_take_turns_a_b_b_a() -> None:
    turns: list[str] = []

    def side(name: str, value: float) -> Metrics:
        turns.append(name)
        return {"cost": value}

    result = measure(lambda: side("A", 1.0), lambda: side("B", 4.0), rounds=2)
    assert "".join(turns) == "ABBAABBA"
    assert result.ratio("cost") == Spread(0.25, 0.25, 0.25)


def test_maxima_are_not_averaged() -> None:
    values = iter([1.0, 9.0])
    result = measure(lambda: {"worst": next(values)}, None, rounds=1, joined=max)
    assert result.own == {"worst": [9.0]}


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


def test_rows_that_were_not_measured_anew_stay_with_their_machine(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results -->\n<!-- end -->\nafter\n")
    result = measure(lambda: {"cost": 9.0}, lambda: {"cost": 10.0}, rounds=5)
    first = [measured(name, "ns", result, "cost", "perf", "") for name in ("one", "two")]
    write(page, first, "an old machine")
    other = measure(lambda: {"cost": 7.0}, lambda: {"cost": 10.0}, rounds=3)
    write(page, [measured("two", "ns", other, "cost", "perf", "")], "a new one")
    rows = [text for text in page.read_text().splitlines() if text.startswith("| ")]
    assert rows[0] == "| what | hardstone | peer | ratio | reading | measured on |"
    assert rows[2:] == [
        "| one | 9 ns | perf: 10 ns | 0.9 | hardstone is better | an old machine; 5 rounds |",
        "| two | 7 ns | perf: 10 ns | 0.7 | hardstone is better | a new one; 3 rounds |",
    ]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")


@pytest.mark.parametrize(("most", "rounds"), [(None, 4), (3, 3), (9, 4)])
def test_what_takes_long_has_fewer_rounds(most: int | None, rounds: int) -> None:
    long = Comparison("long", {"cost": ("long", "s")}, lambda: {"cost": 1e9}, most_rounds=most)
    assert [row.rounds for row in rows_of(long, 4)] == [rounds]


@pytest.mark.parametrize(("median", "said"), [(5e9, "goal 5 s: met"), (5.1e9, "goal 5 s: missed")])
def test_a_goal_is_told_beside_the_figure(tmp_path: Path, median: float, said: str) -> None:
    one = Comparison("x", {"cost": ("cost", "s")}, dict, dict, "two", goals={"cost": 5e9})
    assert one.goal_text("cost", median) == said and one.goal_text("other", median) == ""
    result = measure(lambda: {"cost": median}, lambda: {"cost": 1e9}, rounds=1)
    row = measured("cost", "s", result, "cost", "two", said)
    assert line(row).endswith(f"({said})")
    page = tmp_path / "README.md"
    page.write_text("<!-- results -->\n<!-- end -->\n")
    write(page, [row], "here")
    assert f"; {said} |" in page.read_text()


def test_runs_that_are_compared_agree_with_themselves_and_differ() -> None:
    source = sample.document(count=3_000)
    made = compare.copies(source, 3)
    assert [told(one) for one in made] == [[], [], []]
    assert len({one.id for one in made}) == 3
    figures = [[series.count for one in run.results for series in one.series] for run in made]
    assert figures[0] != figures[1] != figures[2]
    assert len(figures[0]) == sum(len(one.series) for one in source.results)


def test_without_a_run_to_compare_the_row_says_what_to_type(own_home: Path) -> None:
    with pytest.raises(processes.Missing, match="hardstone evaluate"):
        compare.source_run()


def test_a_peer_that_ends_meanwhile_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loads, "SETTLE_S", 0.0)
    with pytest.raises(processes.Missing, match="ended while"), loads.beside(["sleep", "1000"]):
        (peer,) = children(os.getpid())
        os.kill(peer, signal.SIGKILL)
        wait_until(lambda: has_ended(peer))


FILE_BYTES = 500_000


def lab_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, said: str) -> None:
    """A hardstone in whose lab is `kernel`, and which says `said` before it measures; its file in
    memory is there until it has been seen."""
    script, seen, file_bytes = tmp_path / "hardstone", tmp_path / "seen", booting.file_bytes

    def look(folder: Path) -> int:
        if (found := file_bytes(folder)) >= FILE_BYTES:
            seen.touch()
        return found

    monkeypatch.setattr(booting, "file_bytes", look)
    listed = json.dumps([{"name": kernel, "has_emulator": True}])
    script.write_text(
        f"#!/bin/sh\n[ $1 = lab ] && echo '{listed}' && exit\n"
        f"echo '{said}' >&2\n"
        '[ -d "$HARDSTONE_MEMORY_DIR" ] || exit 0\n'
        f'head -c {FILE_BYTES} /dev/zero >"$HARDSTONE_MEMORY_DIR/x"\n'
        f"while [ ! -e {seen} ]; do sleep 0.01; done\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(booting.toolkit, "HARDSTONE", str(script))


def test_the_first_sample_is_between_two_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab_of(tmp_path, monkeypatch, "debian", "hardstone: 1 of 1  TMR-P-LAT  about 1 s")
    found = booting.first_samples()
    times, memory = guests()
    assert set(found) == set(times.metrics)
    for name in booting.TARGETS:
        assert 0 < found[f"{name}_start_ns"] < found[f"{name}_end_ns"]
    assert set(booting.memory_of_guest()) == set(memory.metrics)


def test_a_command_that_starts_no_test_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab_of(tmp_path, monkeypatch, "debian", "hardstone: 1 of 1  TMR-P-LATE")
    with pytest.raises(processes.Missing, match="TMR-P-LAT"):
        booting.first_samples()


@pytest.mark.parametrize("side", [booting.first_samples, booting.memory_of_guest])
def test_without_the_kernel_the_reason_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: Callable[[], Metrics]
) -> None:
    lab_of(tmp_path, monkeypatch, "debian-rt", "")
    with pytest.raises(processes.Missing, match=r"hardstone lab get debian$"):
        side()


def test_memory_counts_files_once_and_holes_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert booting.private_bytes({"Pss": 900, "Pss_Shmem": 400, "Pss_Anon": 500}) == 500
    assert booting.private_bytes({}) == 0  # it has ended
    with (tmp_path / "recording").open("wb") as file:
        file.write(bytes(8192))
        file.truncate(1 << 26)
    assert 8192 <= booting.file_bytes(tmp_path) < 1 << 20
    lab_of(tmp_path, monkeypatch, "debian", "")
    assert booting.memory_of_guest()["guest_bytes"] >= FILE_BYTES


def test_values_of_signaltest_are_cut_off_microseconds() -> None:
    """Those of the first thread, without the two before the first round trip."""
    told = [(0, 0, 0), (0, 1, 27), (1, 2, 900), (0, 2, 7), (0, 3, 7), (0, 4, 8), (0, 5, 9)]
    lines = ["Using 1 cpus.", *("".join(f"{one:8}:" for one in three)[:-1] for three in told)]
    assert signals.middle_ns("\n".join(lines)) == pytest.approx(8000)


def test_signaltest_without_values_is_missing() -> None:
    with pytest.raises(processes.Missing):
        signals.middle_ns("Using 1 cpus.")
