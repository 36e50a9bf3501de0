"""One screen holds any run, and the lines that matter are on it."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any

import pytest

from hardstone.catalogue import kind_of, load_catalogue
from hardstone.model import Conditions, Event, Result, RunDocument, Trust, Verdict
from hardstone.present.notices import idle_remarks
from hardstone.stats.consistency import MARK
from hardstone.terminal.console import make_console
from hardstone.terminal.one_screen import MOST_LINES, bar_lines, print_screen
from tests.process.targets import sample
from tests.unit.report.media import flat, printed
from tests.unit.stats import make
from tests.unit.systems.rated_runs import full_run

GRANT = "sudo setcap cap_sys_nice,cap_ipc_lock=ep y"
WORDS = "words that go on and on " * 20


def screen(document: RunDocument, width: int = 80, encoding: str = "utf-8") -> list[str]:
    return printed(print_screen, document, width, encoding).splitlines()


def lines_of(*results: Result, **changed: Any) -> list[str]:
    return screen(make.document(results=list(results), **changed))


def text_of(*results: Result, **changed: Any) -> str:
    return flat(" ".join(lines_of(*results, **changed)))


def line_of(start: str, *results: Result) -> str:
    (found,) = [line for line in lines_of(*results) if line.startswith(start)]
    return found


def battery(*conditions: Conditions, **changed: Any) -> list[Result]:
    """Each test of the register under each of the conditions."""
    tests = [one.id for one in sample.register().tests]
    return [_one(test, where, changed) for where in conditions for test in tests]


def _one(test: str, where: Conditions, changed: dict[str, Any]) -> Result:
    if kind_of(test) != "behaviour":
        return make.result(test, (1000, 2000, 500_000), conditions=where, **changed)
    known = load_catalogue().entry(test).means
    verdicts = [Verdict(name=f"{name}/case", passed=True, evidence="-") for name in known]
    return make.result(test, series=[], verdicts=verdicts, conditions=where, **changed)


def where(load: str = "none", config: str = "shared", **changed: Any) -> Conditions:
    fields = {"policy": "fifo", "priority": 98, "realtime": True} | changed
    return Conditions(load=load, cpu_config=config, **fields)


# Any run fits


@cache
def worst_case(count: int) -> RunDocument:
    conditions = [where(f"load-{number}", "shared") for number in range(count)]
    results = battery(*conditions)
    for number, result in enumerate(results):
        for verdict in result.verdicts:
            verdict.passed = False
        result.events = [
            Event(name="throttled", text=WORDS),
            Event(name="not_put_back", text=f"{WORDS}{number}"),
            Event(name="load_short", text=f"{WORDS}{number}", data={"element": "cpu"}),
        ]
        result.environment = {"steal_ns": 5}
    extra = [make.result(f"NEW-P-{n:03}", (n, n + 1), conditions=conditions[0]) for n in range(90)]
    lacking = [
        make.result(f"OLD-P-{n:03}", status="denied", series=[], reason=f"{n} {WORDS}")
        for n in range(30)
    ]
    broken = make.result("BAD-P-ONE")
    broken.series[0].count = 70
    return make.document(
        name=WORDS,
        results=[*results, *extra, *lacking, broken],
        trust=Trust(grade="untrustworthy", reasons=[WORDS] * 30),
        advice=[
            f"not scheduled as real-time: {WORDS}; type: {GRANT}",
            *[WORDS] * 20,
        ],
        system={"machine.cpu_model": WORDS, "kernel.name": WORDS, "os.name": WORDS},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "width"), [(1, 40), (1, 80), (2, 80), (2, 132), (9, 40), (9, 80), (9, 300)]
)
def test_no_run_is_longer_than_a_screen(count: int, width: int) -> None:
    assert len(screen(worst_case(count), width)) <= MOST_LINES


@pytest.mark.slow
def test_the_battery_fits_with_a_line_for_each_family_and_the_decisive_tests() -> None:
    lines = lines_of(*battery(where()))
    assert len(lines) <= MOST_LINES
    for family in ("clock", "timers", "threads", "semaphores", "mutexes"):
        assert any(re.match(rf"{family} +\d+ of \d+ claims hold$", line) for line in lines)
    timed = [one.id for one in sample.register().tests if kind_of(one.id) != "behaviour"]
    shown = [line.split()[0] for line in lines if re.match(r"[A-Z]{3}-[PS]-", line)]
    (left_out,) = [int(line.split()[1]) for line in lines if line.endswith("tests, with --all")]
    assert len(shown) >= 15 and len(shown) + left_out == len(timed)
    assert shown == [one for one in timed if one in shown]


@pytest.mark.slow
def test_where_room_is_tight_families_that_hold_share_a_line() -> None:
    """The standard run of a busy machine: a few failed claims, and something to say of all else."""
    results = battery(where("heavy"))
    for result in results:
        result.events = [Event(name="load_short", text=WORDS, data={"element": "cpu"})]
        result.environment = {"steal_ns": 5}
        for verdict in result.verdicts:
            verdict.passed = result.test not in ("CLK-B-RES", "THR-B-RR", "THR-B-PRI")
    lines = lines_of(*results, trust=Trust(grade="indicative", reasons=[WORDS] * 3))
    (held,) = [line for line in lines if line.startswith("claims ")]
    assert "all hold: timers" in held and "mutexes" in held and "threads" not in held
    assert any(re.match(r"threads +\d+ of \d+ claims hold, \d+ failed", line) for line in lines)
    assert len(lines) <= MOST_LINES


def test_names_cannot_steer_the_terminal_or_make_a_line_two() -> None:
    for name in ("\x1b[31mred\x07\u202e", "\u6f22\u5b57" * 60):
        failed = make.result(name, status="failed", reason=name, series=[])
        system = {"machine.cpu_model": name, "kernel.release": name}
        results = [make.result(), make.result(name), failed]
        lines_of(*results, name=name, system=system, advice=[name])


def test_what_matters_is_never_cut() -> None:
    lines = screen(make.document(results=[make.result()]), 40)
    assert any("show 20261121T032200Z-1a2b3c --all" in line for line in lines)
    lines = lines_of(make.result(), name=WORDS, status="incomplete")
    assert re.search(r"\u2026, incomplete, .* of measuring$", lines[0])
    load = "cpu=1ms/100ms@cpu+network=100/s@127.0.0.1:7"
    assert f"load {load}, CPUs shared" in text_of(make.result(conditions=where(load)))
    left = make.result(events=[Event(name="not_put_back", text="governor")])
    assert any(line.endswith("hardstone shield --restore") for line in lines_of(left))
    many = make.result("CLK-P-BIN", (27, 164_000))
    many.series[0].count = 23_212_032_000  # a count of any length stands apart from the median
    assert any(re.search(r"\s{2}23.212.032.000 ", line) for line in lines_of(many))


# Claims


def failing(*tests: str) -> list[Result]:
    results = battery(where())
    for result in results:
        if result.test in tests:
            result.verdicts[1].passed = False
    return results


@pytest.mark.slow
def test_a_failed_claim_stands_with_what_it_means_and_in_the_colour_of_failure() -> None:
    results = failing("THR-B-RR")
    text = text_of(*results)
    assert "FAIL THR-B-RR fair (case): equal SCHED_RR threads get unequal shares" in text
    assert "1 claim failed: THR-B-RR fair" in text
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLORTERM", "")):
            patch.setenv(name, value)
        patch.delenv("NO_COLOR", raising=False)
        print_screen(make.document(results=results), stream)
    text = stream.getvalue()
    red, green = "\x1b[1;31m", "\x1b[32m"
    assert f"{red}16 of 17 claims hold, 1 failed" in text and f"{green}7 of 7 claims hold" in text
    assert f"{red}1 claim failed: THR-B-RR fair" in text


@pytest.mark.slow
def test_of_many_failed_claims_each_family_names_one() -> None:
    results = battery(where())
    for verdict in (one for result in results for one in result.verdicts):
        verdict.passed = False
    lines = lines_of(*results)
    failed = {line.split()[1][:3] for line in lines if line.startswith("  FAIL")}
    assert failed == {"CLK", "TMR", "THR", "SEM", "MUT"}


def test_a_family_that_nobody_judged_is_named() -> None:
    denied = make.result("THR-B-NEW", status="denied", series=[], conditions=where())
    assert "threads     THR-B-NEW denied" in lines_of(denied)


# Timings


def bar_of(line: str) -> str:
    return line[line.index("\u2501" if "\u2501" in line else "\u25cf") :]


def test_the_bar_goes_from_the_median_to_the_worst_on_a_logarithmic_scale() -> None:
    values = {"TMR-P-LAT": 10_000, "SEM-P-SIG": 1_000_000}
    results = [make.result(test, (1000,) * 9 + (worst,)) for test, worst in values.items()]
    latency, signal = (line_of(test, *results) for test in values)
    assert len(bar_of(signal)) == pytest.approx(3 * len(bar_of(latency)), abs=3)
    assert signal.index("\u2501") == latency.index("\u2501")
    plain = make.document(results=[make.result("SEM-P-SIG", (10, 10, 900))])
    (line,) = [one for one in screen(plain, 80, "ascii") if one.startswith("SEM-P-SIG")]
    assert re.search(r"-+#$", line)


def test_a_median_of_zero_is_the_farthest_from_its_worst() -> None:
    results = [
        make.result("TMR-P-LAT", (0, 0, 0, 5_000_000)),
        make.result("SEM-P-SIG", (1000, 1000, 3000)),
    ]
    document = make.document(results=results)
    _, zero, other = bar_lines(make_console(io.StringIO()), document, 10)
    assert [span.style for span in zero.spans].count("bold red") == 2
    assert not any(span.style == "bold red" for span in other.spans)


@pytest.mark.slow
def test_tests_that_are_left_out_may_have_timed_more() -> None:
    slow = [make.result(f"NEW-P-{n:03}", (1, 10**9)) for n in range(40)]
    fast = [one for one in battery(where("heavy")) if kind_of(one.test) == "timing"]
    lines = lines_of(*slow, *fast)
    assert any(re.fullmatch(r"and \d+ more tests, with --all", line) for line in lines)


def test_a_figure_that_contradicts_others_is_marked() -> None:
    result = make.result()
    result.series[0].count = 7
    lines = lines_of(result, make.result("SEM-P-SIG"))
    (line,) = [one for one in lines if re.match("TMR-P-LAT wakeup.*\u25cf *$", one)]
    assert f"3 ns{MARK} " in line
    result.conditions = where("heavy")
    line = line_of("TMR-P-LAT wakeup ", make.result(values=(1, 2), conditions=where()), result)
    assert "2 ns " in line and f"3 ns{MARK} " in line


# Conditions


def on_cpu(cpu: int, worst: int, conditions: Conditions) -> Result:
    result = make.result(values=(1000, worst), conditions=conditions)
    result.series[0].labels = {"part": "total", "cpu": cpu}
    return result


def test_conditions_stand_side_by_side_with_their_ratio_to_the_first() -> None:
    results = []
    for load, worst in (("none", 2000), ("heavy", 9000)):
        result = make.result(values=(1000, worst), conditions=where(load))
        derived = make.series((1, 900_000), "sum")  # does not stand for its test
        derived.derived = "wakeup + wakeup"
        result.series.append(derived)
        results.append(result)
    line = line_of("TMR-P-LAT", *results).split()
    assert line[1] == "wakeup" and line[-3:] == ["9", "us", "x4.5"] and "2 us" in " ".join(line)


def test_of_many_conditions_the_first_and_those_with_the_highest_ratios_are_shown() -> None:
    results = [
        make.result(values=(10, 1000 * number), conditions=where(f"load{number}"))
        for number in (3, 1, 9, 4, 5, 2)
    ]
    (heading,) = [one for one in lines_of(*results) if "load3" in one and "test" in one]
    assert heading.split()[-4:] == ["load3", "load9", "load4", "load5"]


def test_a_condition_that_was_measured_on_another_cpu_has_its_value_and_no_ratio() -> None:
    line = line_of(
        "TMR-P-LAT wake",
        on_cpu(1, 2_000_000, where()),
        on_cpu(0, 9_000_000, where(config="single")),
        on_cpu(1, 6_000_000, where(config="shielded")),
    )
    assert "9 ms, CPU 0" in line and "6 ms x3.0" in line and line.count(" x") == 1
    results = [on_cpu(1, 1000 + n, where(f"load{n}")) for n in range(8)]
    results.append(on_cpu(0, 9_000_000, where("last")))  # the highest is shown all the same
    assert "9 ms, CPU 0" in " ".join(screen(make.document(results=results), 132))
    of_two = [on_cpu(0, 1500, where(config=one)) for one in ("shared", "shielded")]
    for result, worst in zip(of_two, (2_000_000, 5_000_000), strict=True):
        result.series += on_cpu(1, worst, where()).series
    assert "5 ms x2.5" in line_of("TMR-P-LAT wake", *of_two)  # of several CPUs the highest


@pytest.mark.parametrize(
    ("changed", "said", "unsaid"),
    [
        ({}, "idle states allowed", "cpu_dma_latency"),
        ({"dma_latency_us": 0}, "cpu_dma_latency 0 us", "idle states allowed"),
        ({"memory_locked": True}, "", "memory"),
        ({"memory_locked": False}, "memory not locked", "lock not known"),
        ({"memory_locked": None}, "lock not known", "memory not locked"),
    ],
)
def test_what_a_condition_says(changed: dict[str, Any], said: str, unsaid: str) -> None:
    text = text_of(make.result(values=(1000, 2000), conditions=where(**changed)))
    assert said in text and unsaid not in text


def test_idle_states_that_only_some_results_were_kept_out_of_are_counted() -> None:
    free = make.result(values=(1000, 2000), conditions=where())
    held = make.result(values=(1000, 2000), conditions=where("none", "shielded", dma_latency_us=0))
    document = make.document(results=[free, held])
    said = "idle states allowed (1 of 2), cpu_dma_latency 0 us (1 of 2)"
    assert said in text_of(free, held)
    (remark,) = idle_remarks(document)
    assert remark.startswith("TMR-P-LAT [shared]: Idle states")
    held.conditions.cpu_config, free.conditions.dma_latency_us = "shared", 0
    assert "cpu_dma_latency 0 us, load" in text_of(free, held) and not idle_remarks(document)


# Trust and stars


def test_reasons_of_trust_that_do_not_fit_are_counted() -> None:
    reasons = [f"reason {number} with some words" for number in range(9)]
    text = text_of(make.result(), trust=Trust(grade="indicative", reasons=reasons))
    shown = [reason for reason in reasons if reason in text]
    assert shown == reasons[: len(shown)] and shown
    assert f"and {len(reasons) - len(shown)} more" in text
    reasons = ["virtual machine", "steal time " + "during TMR-P-LAT, " * 9, "no load"]
    for order, said in ((reasons, "virtual machine; no load; and 1 more"), (reasons[1:], "steal")):
        trust = Trust(grade="indicative", reasons=order)
        assert f"indicative: {said}" in text_of(make.result(), trust=trust)


def test_stars_without_their_character_and_of_what_is_not_rated() -> None:
    """The others are in tests/process/cli/golden/show.txt."""
    plain = screen(full_run(), 80, "ascii")
    assert any(line.startswith("stars       ????? 5 of 5") for line in plain)
    assert "no overall rating" in line_of("stars", make.result())
    assert "timers <= 5" in line_of("stars", make.result())
    unrated = lines_of(make.result("FIO-P-STR", conditions=where()))
    assert not any(line.startswith("stars") for line in unrated)
