"""One screen holds any run, and the lines that matter are on it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from hardstone.calling import as_typed
from hardstone.catalogue import kind_of, load_catalogue
from hardstone.model import Conditions, Event, Result, RunDocument, Trust, Verdict
from hardstone.present.answer import answer_of
from hardstone.present.notices import idle_remarks, timer_remark
from hardstone.terminal.one_screen import MOST_LINES, print_screen, spread_text
from tests.process.targets import sample
from tests.unit.golden import assert_as_stored
from tests.unit.posix import inventories
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
@pytest.mark.parametrize("width", [80, 120, 300])
def test_the_battery_has_its_twelve_rows_at_any_width_and_in_a_pipe(width: int) -> None:
    document = make.document(results=battery(where()), trust=Trust(grade="indicative"))
    lines = screen(document, width)
    assert lines == screen(document, 80) and len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if re.search(r" [A-Z]{3}-[PS]-[A-Z]{3}$", line)]
    names = [row.name for row in load_catalogue().first_screen]
    assert [line[:20].strip() for line in rows] == names


def test_the_four_questions_come_before_the_rows() -> None:
    document = make.document(
        results=[
            make.result(values=(5000,) * 2000, conditions=where("heavy")),
            make.result("SEM-P-SIG", conditions=where("heavy")),
        ],
        trust=Trust(grade="indicative", reasons=["no load"]),
        advice=[
            "problem: The kernel is not preemptible (preemption)",
            "what to type: hardstone doctor",
        ],
        system={"kernel.preemption_model": "none", "kernel.preemption_is_dynamic": False},
    )
    lines = screen(document)
    places = [
        next(number for number, line in enumerate(lines) if line.startswith(label))
        for label in ("how late ", "what next ", "trust ", " " * 20 + "  ")
    ]
    assert places == sorted(places)
    assert "real-time as measured" in flat(" ".join(lines))
    (first,) = [line for line in lines if line.startswith("what next")]
    assert "The kernel is not preemptible" in first


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


@pytest.mark.parametrize("width", range(40, 81, 5))
def test_a_run_of_two_tests_fits_any_terminal_and_keeps_its_judgement(width: int) -> None:
    two = [
        on_cpu(1, 2_000_000, where("heavy")),
        make.result("THR-P-NEW", series=[make.series((5,), "create_of_a_long_name")]),
    ]
    two[0].series.append(make.series((7, 9), "release"))
    for result in two:
        result.conditions = where("heavy")
    two[0].series[0] = make.series((5000,) * 2000 + (2_000_000,))
    lines = screen(make.document(results=two), width)
    assert "soft real-time as measured, load heavy" in flat(" ".join(lines))
    assert max(len(line) for line in lines if "hardstone " not in line) <= width


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
    assert "FAIL THR-B-RR fair (case): equal SCHED_RR threads get unequal" in text
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLORTERM", "")):
            patch.setenv(name, value)
        patch.delenv("NO_COLOR", raising=False)
        print_screen(make.document(results=results), stream)
    text = stream.getvalue()
    assert "\x1b[1;31m  FAIL  " in text


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, 200])
def test_claims_that_are_not_shown_are_counted(count: int) -> None:
    results = battery(where())[:count]
    for verdict in (one for result in results for one in result.verdicts):
        verdict.passed = False
    document = make.document(results=results, system={"kernel.preemption_model": "none"})
    every = len(answer_of(document).failed)
    lines = screen(document)
    shown = [line for line in lines if line.startswith("  FAIL")]
    alone = re.findall(r"FAIL  1 of (\d+): ", shown[0])
    more = [int(line.split()[0]) for line in lines if line.endswith("failed, see --all")]
    assert alone == [str(every)] or len(shown) + sum(more) == every


# Rows, conditions, trust and stars


def on_cpu(cpu: int, worst: int, conditions: Conditions) -> Result:
    result = make.result(values=(1000, worst), conditions=conditions)
    result.series[0].labels = {"part": "total", "cpu": cpu}
    return result


def of_rows() -> Iterator[tuple[str, list[Result]]]:
    denied = make.result("THR-B-NEW", status="denied", series=[], conditions=where(), reason="no")
    yield "a problem of the run", [denied]
    kept = [one for one in battery(where()) if one.test not in ("THR-P-PRE", "MSG-P-LAT")]
    lacking = make.result(
        "MSG-P-LAT", status="unsupported", series=[], reason="no mqueue", conditions=where()
    )
    yield "rows that were not run or are not supported", [*kept, lacking]
    created = make.result("THR-P-NEW", series=[make.series((5000, 9000), "create")])
    created.conditions = where()
    yield "few rows, and another series", [created, make.result(conditions=where())]
    for name, worst_ns in (("good", 2000), ("bad", 50_000_000)):
        trip = make.series((500,) * 30 + (worst_ns,), "round_trip")
        trip.labels = {"kind": "unnamed", "scope": "thread"}
        late = make.result(values=(500,) * 30 + (worst_ns,), conditions=where())
        trips = make.result("SEM-P-RTP", series=[trip], conditions=where())
        yield f"a {name} system", [late, trips]
    wrong = make.result()
    wrong.series[0].count = 7
    yield "a contradictory figure", [wrong, make.result("SEM-P-SIG")]
    wrong = make.result(conditions=where("heavy"))
    wrong.series[0].count = 7
    yield "one of two conditions", [make.result(values=(1, 2), conditions=where()), wrong]
    sent = make.series((5000,) * 30, "send_to_thread")
    sent.labels = {"source": "ipi"}
    both = [make.result("IRQ-P-TLT", series=[sent], conditions=where()), make.result("SEM-P-SIG")]
    both[1].conditions = where()
    yield "what stands for a figure", [*both, make.result(conditions=where())]


def of_conditions() -> Iterator[tuple[str, list[Result]]]:
    results = []
    for load, worst in (("none", 2000), ("heavy", 9000)):
        result = make.result(values=(1000, worst), conditions=where(load))
        derived = make.series((1, 900_000), "sum")  # does not stand for its test
        derived.derived = "wakeup + wakeup"
        result.series.append(derived)
        results.append(result)
    yield "two conditions", results
    # the first, and those with the highest ratios
    many = [
        make.result(values=(10, 1000 * number), conditions=where(f"load{number}"))
        for number in (3, 1, 9, 4, 5, 2)
    ]
    yield "many conditions", many
    elsewhere = on_cpu(0, 9_000_000, where(config="single"))
    same = on_cpu(1, 2_000_000, where()), on_cpu(1, 6_000_000, where(config="shielded"))
    yield "one of them on another CPU has no ratio", [same[0], elsewhere, same[1]]
    results = [on_cpu(1, 1000 + n, where(f"load{n}")) for n in range(8)]
    results.append(on_cpu(0, 9_000_000, where("last")))
    yield "the highest of many is on another CPU", results
    of_two = [on_cpu(0, 1500, where(config=one)) for one in ("shared", "shielded")]
    for result, worst in zip(of_two, (2_000_000, 5_000_000), strict=True):
        result.series += on_cpu(1, worst, where()).series
    yield "of several CPUs the highest", of_two


def of_trust() -> Iterator[tuple[str, RunDocument]]:
    many = [f"reason {number} with some words" for number in range(9)]
    long = ["virtual machine", "steal time " + "during TMR-P-LAT, " * 9, "no load"]
    for name, reasons in (("many", many), ("long", long)):
        trust = Trust(grade="indicative", reasons=reasons)
        yield f"{name} reasons", make.document(results=[make.result()], trust=trust)
    _, results = [*of_rows()][-1]
    counted = {"virtual.time": "instructions"}
    yield "counted instructions", make.document(results=results, system=counted)
    unrated = [make.result("FIO-P-STR", conditions=where())]
    yield "no stars", make.document(results=unrated)


def test_a_test_with_a_table_of_its_own_has_its_line_wherever_it_ran() -> None:
    lines = screen(inventories.document(make.result()))
    assert [line for line in lines if line.startswith("POSIX ")]


@pytest.mark.slow
def test_what_a_screen_says(request: pytest.FixtureRequest) -> None:
    shown = [
        *((name, make.document(results=one)) for name, one in (*of_rows(), *of_conditions())),
        *of_trust(),
    ]
    own = as_typed("hardstone")
    texts = {name: "\n".join(screen(run)).replace(own, "hardstone") for name, run in shown}
    assert_as_stored(request, "screens.txt", texts)


def test_stars_have_their_meaning_where_nothing_but_ascii_is_written() -> None:
    """The others are in tests/process/cli/golden/show.txt."""
    plain = screen(full_run(), 80, "ascii")
    assert "stars     ***** 5 of 5: excellent, hard real-time is met (--why)" in plain
    assert all(line.isascii() for line in plain)


# The distribution on one line


def test_the_distribution_stands_between_its_ends_on_a_logarithmic_scale() -> None:
    series = make.series((1000,) * 500 + (10_000,) * 30 + (1_000_000,))
    text = spread_text(series, 70, is_plain=False)
    assert text.startswith("1 us ") and text.endswith(" 1 ms") and len(text) == 70
    drawn = text[5:-5]
    places = [number for number, one in enumerate(drawn) if one != " "]
    assert places[0] == 0 and places[-1] == len(drawn) - 1
    assert places[1] == pytest.approx(len(drawn) / 3, abs=1)
    assert drawn[places[0]] > drawn[places[1]] > drawn[places[-1]]
    assert spread_text(series, 70, is_plain=True).isascii()


def test_a_distribution_needs_values_and_a_histogram() -> None:
    assert spread_text(make.series((1000,) * 18 + (2000,)), 70, is_plain=True) == ""
    assert spread_text(make.series((1000,) * 30), 70, is_plain=True) == ""
    broken = make.series((1000,) * 29 + (2000,))
    broken.histogram.layout = "unknown"
    assert spread_text(broken, 70, is_plain=True) == ""
    over = make.series((1000,) * 30 + (5000,), limit=1000)
    assert spread_text(over, 70, is_plain=True)[-6] != " "  # what is past the last bucket


# Conditions


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
    assert "cpu_dma_latency 0 us" in text_of(free, held) and not idle_remarks(document)


def test_a_clock_as_coarse_as_the_tick_is_said_of_timers_only() -> None:
    late, made = make.result(), make.result("SEM-P-NEW")
    fine = {"kernel.name": "Linux", "kernel.timer_resolution_ns": 1}
    coarse = {"kernel.name": "NuttX", "kernel.timer_resolution_ns": 1_000_000}
    assert not timer_remark(make.document(results=[late], system=fine))
    assert not timer_remark(make.document(results=[made], system=coarse))
    document = make.document(results=[late, made], system=coarse)
    assert timer_remark(document).startswith("Timers expire at multiples of 1 ms: in TMR-P-LAT ")
    assert not idle_remarks(document)  # its remedy is of Linux
