"""The tire on a terminal of 80 columns: one screen for a sweep, and all of it."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from hardstone.model import RunDocument
from hardstone.terminal.beside_published import print_beside_published
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.tire_view import print_tire
from hardstone.terminal.whole_run import print_whole
from tests.unit.stats import make
from tests.unit.stats.tires import real_fast, real_time, sweep, whole_sweep


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def lines_of(
    document: RunDocument, encoding: str = "utf-8", *, is_whole: bool = False
) -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    (print_whole if is_whole else print_tire)(document, stream)
    stream.seek(0)
    found = stream.read().splitlines()
    assert all(cell_len(line.rstrip()) <= 80 for line in found if "hardstone " not in line)
    assert not any("\x1b" in line for line in found)
    return found


@pytest.mark.slow
def test_a_sweep_fits_on_one_screen() -> None:
    found = lines_of(whole_sweep())
    assert len(found) <= MOST_LINES
    text = "\n".join(found)
    assert "fifo, none 1 12 000 40 000 0 of 100" in " ".join(text.split())
    assert "hard map: \u25cf missed" in text
    assert "other is faster and misses more deadlines" in text
    assert "held is not never" in text
    assert "releases were missed" not in text


def test_counts_and_bounds_of_long_points_are_not_cut() -> None:
    document = sweep(*(real_time(n, released=10_000) for n in (400, 800, 1200, 1600)))
    text = " ".join("\n".join(lines_of(document)).split())
    assert "0 of 10 000 < 0.030 %" in text


@pytest.mark.slow
def test_a_terminal_without_utf_8_has_other_marks() -> None:
    text = "\n".join(lines_of(whole_sweep(), "ascii"))
    assert "hard map: # missed, . none missed" in text
    assert "  1  ....#" in text


@pytest.mark.slow
def test_all_of_it_has_model_study_and_statement() -> None:
    text = " ".join(" ".join(lines_of(whole_sweep(), is_whole=True)).split())
    for part in (
        "simulation in real time: what held",
        "real-time is not real-fast",
        "a step by the cost model",
        "published: Garre et al. 2014, on Intel i7-3930K 3.2 GHz, 6 cores with hyper-threading",
        "Xenomai 2.6.2.1 (Linux 3.5.7) any 14 000",
        "Pre-test of the study: step 500 us",
        "this run, other, heavy 4 none 400",
    ):
        assert part in text


@pytest.mark.slow
def test_a_large_sweep_still_fits() -> None:
    many = [
        real_time(4 * n, threads, missed=n > 35, policy=policy, load=load, released=2)
        for n in range(1, 71)
        for threads in (1, 2)
        for policy in ("fifo", "rr", "other")
        for load in ("none", "heavy")
    ]
    assert len(lines_of(sweep(*many))) <= MOST_LINES


@pytest.mark.slow
def test_many_curves_still_fit() -> None:
    many = [
        real_time(n, threads, missed=n > 8 * threads, load=load)
        for n in (400, 800)
        for threads in range(1, 25)
        for load in ("none", "heavy", "cpu", "disk")
    ]
    found = lines_of(sweep(*many))
    assert len(found) <= MOST_LINES
    assert any("more, with --all" in line for line in found)


def test_a_sweep_as_fast_as_possible_has_its_times() -> None:
    document = sweep(*(real_fast(n, threads) for n in (400, 800, 1200) for threads in (1, 2)))
    text = " ".join(" ".join(lines_of(document)).split())
    assert "SIM-P-RF fifo 1 400 2.40 s 50 ms 200 + 4" in text
    assert "simulation as fast as possible" in " ".join(lines_of(document, is_whole=True))


def test_a_battery_has_a_line_on_its_screen() -> None:
    stream = io.StringIO()
    print_screen(sweep(real_time(400, 2), real_fast(400, 2)), stream)
    text = " ".join(stream.getvalue().split())
    assert "simulation 0 of 100 steps missed their deadline (share < 3.0 %): 400 masses" in text


def test_a_missed_deadline_of_a_battery_stands_out_as_a_count() -> None:
    stream = io.StringIO()
    print_screen(sweep(real_time(400, 2, missed=4)), stream)
    text = " ".join(stream.getvalue().split())
    assert "stands out SIM-S-RT: 4 of 100 steps missed their deadline" in text
    assert "4 ns" not in text


@pytest.mark.slow
def test_hostile_names_and_counts_are_harmless() -> None:
    odd = real_time(
        400,
        2,
        policy="\x1b[31m<b>",
        load="l" * 500,
        data={"missed_count": -1, "released_count": "many", "semaphore_blocked_count": 2**60},
        status="denied",
        reason="\x1b]0;title\x07" + "why " * 400,
    )
    document = sweep(odd, odd, odd, odd)
    lines_of(document)
    lines_of(document, is_whole=True)


def test_other_runs_show_nothing_of_it() -> None:
    text = "\n".join(lines_of(make.document(), is_whole=True))
    assert "simulation" not in text
    assert "Garre" not in text


@pytest.mark.slow
def test_published_numbers_of_masses_come_from_all_points(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_beside_published(whole_sweep(["none"]))
    text = " ".join(capsys.readouterr().out.split())
    assert "most without a miss 14000 masses" in text
    assert "12 000 (fifo, 1" in text
    assert "not measured with 12 threads" in text
