"""POSIX on a terminal of 80 columns, and in a run's other views."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from hardstone.model import Conditions, RunDocument
from hardstone.present.posix_table import posix_tables
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.posix_view import print_posix
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.hostile import ATTACKS
from tests.unit.stats import inventories, make

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def shown(document: RunDocument | None = None) -> str:
    stream = io.StringIO()
    print_posix(document or inventories.document(), stream)
    text = stream.getvalue()
    for line in text.splitlines():
        is_command = line.startswith("    ") and "hardstone " in line  # never wrapped
        assert is_command or cell_len(line.rstrip()) <= 80
    assert "\x1b" not in text
    return text


def words(text: str) -> str:
    return " ".join(text.split())


def line_with(text: str, start: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(start)]
    return words(found)


def test_the_means_stand_apart_and_contradictions_are_said() -> None:
    text = shown()
    assert line_with(text, " timers ") == "timers 200809 200809 works"
    assert line_with(text, " message passing ") == (
        "message passing 200809 200809 fails claimed, but fails"
    )
    assert "mq_open: Function not" in text
    assert line_with(text, " spin locks ") == "spin locks none none works works, not claimed"
    assert line_with(text, " spawn ") == "spawn 0 unknown works"
    assert line_with(text, " typed memory objects ") == "typed memory objects -1 none missing"
    assert line_with(text, " memlock  ") == "memlock 200809 200809 denied"
    assert line_with(text, "1003.1b real-time") == "1003.1b real-time 11 of 14"
    assert "headers and sysconf" in text
    assert "1003.1h and 1003.21 are named only" in words(text)


def test_a_call_that_is_missing_is_not_one_that_fails() -> None:
    found = inventories.result(inventories.events({"spawn": "200809 200809 missing"}))
    assert "claimed, but missing" in shown(inventories.document(found=found))


def test_limits_clocks_priorities_and_profiles() -> None:
    text = shown()
    assert line_with(text, "timer max") == "timer max 16 (too low) 32"
    assert line_with(text, "sigqueue max") == "sigqueue max not told 32"
    assert "SCHED_FIFO 99, SCHED_RR 99 priorities; POSIX requires 32" in text
    assert line_with(text, "PSE52") == "PSE52 satisfied"
    assert line_with(text, "PSE53 ") == "PSE53 next: 2 missing message passing, sporadic server"
    assert line_with(text, "PSE54") == (
        "PSE54 3 missing, 1 of them not tried as PSE53 and typed memory objects"
    )
    assert line_with(text, "realtime ") == "realtime 1 ns -"
    assert "pass priorities 32: fifo: 99 levels" in text
    assert "FAIL claims are true" in text


def test_features_have_an_answer_by_options_and_by_measurements() -> None:
    held = make.result("THR-B-PRI", series=[], verdicts=[inventories.claim("levels", "x")])
    broken = make.result(
        "KRN-P-PRE", [10, 20, 9000], verdicts=[inventories.claim("a", "x", is_true=False)]
    )
    text = shown(inventories.document(held, broken))
    assert "priority scheduling yes THR-B-PRI 1 claim holds" in words(text)
    assert "power-fail notice not in POSIX PWR-B-SIG not in this run" in words(text)
    assert "1 of 1 claims failed: a;" in words(text)
    assert "worst observed 9 us" in words(text)
    assert "to measure what this run lacks:\n    " in text


def test_a_label_that_says_nothing_alone_has_its_name() -> None:
    access = make.series([400, 3000], "access")
    access.labels = {"locked": "yes"}
    locked = make.result("MEM-B-LCK", series=[access], verdicts=[inventories.claim("a", "x")])
    assert "(access, locked yes; 2 values)" in words(shown(inventories.document(locked)))


def test_figures_that_are_no_hardwares_are_marked() -> None:
    system = {"virtual.emulated": True}
    text = shown(inventories.document(make.result("KRN-P-PRE"), system=system))
    assert "(emulated)" in words(text)


def test_the_published_coverage_stands_beside() -> None:
    text = words(shown())
    assert "this system, Linux full (21 options)" not in text
    assert "full (20 options)" in text
    assert "partial: no message passing; prioritized io in part; not known: memlock" not in text
    for cell in ("final standard", "third-party product", "partial: no timers,"):
        assert cell in text
    assert "Obenland 2000" in text


def test_a_result_without_an_inventory_says_why() -> None:
    denied = inventories.result([], status="denied", reason="no right", remedy="ask", verdicts=[])
    text = words(shown(inventories.document(found=denied)))
    assert "not whole: denied: no right: ask" in text
    assert "process locking not known" in text
    assert "not known: " in text and " full " not in text.partition("Solaris 8")[0][-400:]


def test_what_was_left_out_is_said() -> None:
    bad = [*inventories.events(), inventories.options("1003.1b", {"bad": "\x1b[31mno [red]"})]
    assert "left out: not HEADERS SYSCONF CALL" in words(
        shown(inventories.document(found=inventories.result(bad)))
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_texts_are_escaped(attack: str) -> None:
    events = [
        *inventories.events(),
        inventories.event("posix_option_why", option="spin_locks", call=attack, why=attack),
        inventories.options(attack, {"a": attack}),
    ]
    other = make.result("THR-B-PRI", series=[], status="denied", reason=attack)
    found = inventories.result(events, verdicts=[inventories.claim(attack, attack)])
    shown(inventories.document(other, found=found))


@pytest.mark.parametrize("columns", ["40", "60", "120"])
def test_other_widths(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    stream = io.StringIO()
    print_posix(inventories.document(), stream)
    assert "PSE53" in stream.getvalue()


def test_the_whole_run_has_both_views_and_no_events_of_them() -> None:
    stream = io.StringIO()
    print_whole(inventories.document(), stream)
    text = stream.getvalue()
    assert "message passing" in text and "Solaris 8" in text
    assert "posix_options in words" not in text


def test_one_screen_has_a_line_of_it() -> None:
    stream = io.StringIO()
    print_screen(inventories.document(), stream)
    lines = stream.getvalue().splitlines()
    assert len(lines) <= MOST_LINES
    place = next(number for number, line in enumerate(lines) if line.startswith("POSIX "))
    told = words(" ".join(lines[place : place + 2]))
    assert "1003.1b 11 of 14" in told and "satisfies PSE51, PSE52" in told


def test_several_results_have_a_section_each() -> None:
    results = [
        inventories.result(conditions=Conditions(load=load, cpu_config="shared"))
        for load in ("none", "heavy")
    ]
    document = make.document(results=results)
    assert [one.title for one in posix_tables(document)] == [
        "POS-B-INV under none",
        "POS-B-INV under heavy",
    ]
    assert "POS-B-INV under heavy" in shown(document)
