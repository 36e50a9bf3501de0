"""One screen holds any run, and the lines that matter are on it."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len

from hardstone.catalogue import kind_of, load_catalogue
from hardstone.model import Conditions, Event, Result, RunDocument, Trust, Verdict
from hardstone.present.notices import idle_remarks
from hardstone.stats.contradictions import MARK
from hardstone.terminal.console import make_console
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.screen_bars import bar_lines
from tests.process.targets import sample
from tests.unit.rating.rated_runs import full_run
from tests.unit.stats import make

WORDS = "words that go on and on " * 20


def printed(document: RunDocument, width: int = 80, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        print_screen(document, stream)
    stream.seek(0)
    return stream.read().splitlines()


def battery(*conditions: Conditions, **changed: Any) -> list[Result]:
    """Each test of the register under each of the conditions."""
    return [
        _one(test.id, where, changed) for where in conditions for test in sample.register().tests
    ]


def _one(test: str, where: Conditions, changed: dict[str, Any]) -> Result:
    if kind_of(test) == "behaviour":
        known = load_catalogue().entry(test).means
        verdicts = [Verdict(name=f"{name}/case", passed=True, evidence="-") for name in known]
        return make.result(test, series=[], verdicts=verdicts, conditions=where, **changed)
    return make.result(test, (1000, 2000, 500_000), conditions=where, **changed)


def where(load: str = "none", config: str = "shared") -> Conditions:
    return Conditions(load=load, cpu_config=config, policy="fifo", priority=98, realtime=True)


def is_command(line: str) -> bool:
    return "hardstone " in line or "setcap " in line


def test_the_battery_fits_with_a_line_for_each_family_and_the_decisive_tests() -> None:
    lines = printed(make.document(results=battery(where())))
    assert len(lines) <= MOST_LINES
    for family in ("clock", "timers", "threads", "semaphores", "mutexes"):
        assert any(re.match(rf"{family} +\d+ of \d+ claims hold$", line) for line in lines)
    timed = [one.id for one in sample.register().tests if kind_of(one.id) != "behaviour"]
    shown = [line.split()[0] for line in lines if re.match(r"[A-Z]{3}-[PS]-", line)]
    (left_out,) = [int(line.split()[1]) for line in lines if line.endswith("tests, with --all")]
    assert len(shown) >= 15 and len(shown) + left_out == len(timed)
    assert shown == [one for one in timed if one in shown]


def worst_case(conditions: list[Conditions]) -> RunDocument:
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
        advice=[f"not scheduled as real-time: {WORDS}: sudo setcap x y", *[WORDS] * 20],
        system={"machine.cpu_model": WORDS, "kernel.name": WORDS, "os.name": WORDS},
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 132, 300])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_no_run_is_longer_than_a_screen(width: int, count: int) -> None:
    conditions = [where(f"load-{number}", "shared") for number in range(count)]
    lines = printed(worst_case(conditions), width)
    assert len(lines) <= MOST_LINES
    if width >= 80:
        assert max(len(line) for line in lines if not is_command(line)) <= width


def test_a_failed_claim_stands_with_what_it_means_for_a_program() -> None:
    results = battery(where())
    (round_robin,) = [one for one in results if one.test == "THR-B-RR"]
    round_robin.verdicts[1].passed = False
    text = " ".join(" ".join(printed(make.document(results=results))).split())
    assert "FAIL THR-B-RR fair (case): equal SCHED_RR threads get unequal shares" in text
    assert "1 claim failed: THR-B-RR fair" in text


def bar_of(line: str) -> str:
    return line[line.index("\u2501" if "\u2501" in line else "\u25cf") :]


def test_the_bar_goes_from_the_median_to_the_worst_on_a_logarithmic_scale() -> None:
    short, long = (1000,) * 9 + (10_000,), (1000,) * 9 + (1_000_000,)
    results = [make.result("TMR-P-LAT", short), make.result("SEM-P-SIG", long)]
    lines = {
        line.split()[0]: line
        for line in printed(make.document(results=results))
        if "-P-" in line[:9]
    }
    assert len(bar_of(lines["SEM-P-SIG"])) == pytest.approx(
        3 * len(bar_of(lines["TMR-P-LAT"])), abs=3
    )
    assert lines["SEM-P-SIG"].index("\u2501") == lines["TMR-P-LAT"].index("\u2501")


def test_a_terminal_without_unicode_gets_a_bar_too() -> None:
    lines = printed(make.document(results=[make.result(values=(10, 10, 900))]), encoding="ascii")
    (line,) = [one for one in lines if one.startswith("TMR-P-LAT")]
    assert re.search(r"-+#$", line)


def test_conditions_stand_side_by_side_with_their_ratio_to_the_first() -> None:
    idle = make.result(values=(1000, 2000), conditions=where())
    heavy = make.result(values=(1000, 9000), conditions=where("heavy"))
    lines = printed(make.document(results=[idle, heavy]))
    (line,) = [one for one in lines if one.startswith("TMR-P-LAT")]
    assert line.split()[-3:] == ["9", "us", "x4.5"] and "2 us" in line


def test_of_many_conditions_the_first_and_those_with_the_highest_ratios_are_shown() -> None:
    results = [
        make.result(values=(10, 1000 * number), conditions=where(f"load{number}"))
        for number in (3, 1, 9, 4, 5, 2)
    ]
    (heading,) = [
        one for one in printed(make.document(results=results)) if "load3" in one and "test" in one
    ]
    assert heading.split()[-4:] == ["load3", "load9", "load4", "load5"]


def test_what_to_type_is_never_cut() -> None:
    lines = printed(make.document(results=[make.result()]), 40)
    assert any("show 20261121T032200Z-1a2b3c --all" in line for line in lines)


def test_names_cannot_steer_the_terminal() -> None:
    evil = "\x1b[31mred\x07\u202e"
    result = make.result(evil, status="failed", reason=evil)
    document = make.document(name=evil, results=[result], system={"machine.cpu_model": evil})
    text = "\n".join(printed(document))
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text


def test_a_long_name_does_not_hide_that_the_run_is_incomplete() -> None:
    lines = printed(make.document(name=WORDS, status="incomplete"))
    assert re.search(r"\u2026, incomplete, .* of measuring$", lines[0])
    assert len(lines[0]) <= 80


def test_a_long_load_does_not_hide_the_cpu_configuration() -> None:
    load = "cpu=1ms/100ms@cpu+network=100/s@127.0.0.1:7"
    text = " ".join(printed(make.document(results=[make.result(conditions=where(load))])))
    assert f"load {load}, CPUs shared" in text


def test_wide_characters_do_not_make_a_line_two() -> None:
    wide = "\u6f22\u5b57" * 60
    failed = make.result(wide, status="failed", reason=wide, series=[])
    system = {"machine.cpu_model": wide, "kernel.release": wide}
    document = make.document(
        name=wide, results=[make.result(), make.result(wide), failed], system=system, advice=[wide]
    )
    assert max(cell_len(line) for line in printed(document) if not is_command(line)) <= 80


def test_a_median_of_zero_is_the_farthest_from_its_worst() -> None:
    results = [
        make.result("TMR-P-LAT", (0, 0, 0, 5_000_000)),
        make.result("SEM-P-SIG", (1000, 1000, 3000)),
    ]
    document = make.document(results=results)
    _, zero, other = bar_lines(make_console(io.StringIO()), document, 10)
    assert [span.style for span in zero.spans].count("bold red") == 2
    assert not any(span.style == "bold red" for span in other.spans)


def test_tests_that_are_left_out_may_have_timed_more() -> None:
    slow = [make.result(f"NEW-P-{n:03}", (1, 10**9)) for n in range(40)]
    fast = [one for one in battery(where("heavy")) if kind_of(one.test) == "timing"]
    assert any(
        re.fullmatch(r"and \d+ more tests, with --all", line)
        for line in printed(make.document(results=[*slow, *fast]))
    )


def test_what_the_run_left_changed_comes_with_what_to_type() -> None:
    result = make.result(events=[Event(name="not_put_back", text="governor")])
    lines = printed(make.document(results=[result]))
    assert any(line.endswith("hardstone shield --restore") for line in lines)


def test_a_figure_that_contradicts_others_is_marked() -> None:
    result = make.result()
    result.series[0].count = 7
    (line,) = [
        one
        for one in printed(make.document(results=[result, make.result("SEM-P-SIG")]))
        if one.startswith("TMR-P-LAT wakeup") and one.rstrip().endswith("\u25cf")
    ]
    assert f"3 ns{MARK} " in line


def test_a_derived_series_does_not_stand_for_its_test() -> None:
    results = []
    for load in ("none", "heavy"):
        result = make.result(values=(1000, 2000), conditions=where(load))
        derived = make.series((1, 900_000), "sum")
        derived.derived = "wakeup + wakeup"
        result.series.append(derived)
        results.append(result)
    (line,) = [
        one for one in printed(make.document(results=results)) if one.startswith("TMR-P-LAT")
    ]
    assert line.split()[1] == "wakeup" and "2 us x1.0" in line


def test_only_what_failed_and_counts_is_in_the_colour_of_failure() -> None:
    results = battery(where())
    (fair,) = [one for one in results if one.test == "THR-B-RR"]
    fair.verdicts[1].passed = False
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("TERM", "xterm")
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("COLORTERM", "")
        print_screen(make.document(results=results), stream)
    text = stream.getvalue()
    red, green = "\x1b[1;31m", "\x1b[32m"
    assert f"{red}16 of 17 claims hold, 1 failed" in text and f"{green}7 of 7 claims hold" in text
    assert f"{red}1 claim failed: THR-B-RR fair" in text


def test_of_many_failed_claims_each_family_names_one() -> None:
    results = battery(where())
    for result in results:
        for verdict in result.verdicts:
            verdict.passed = False
    lines = printed(make.document(results=results))
    failed = {line.split()[1][:3] for line in lines if line.startswith("  FAIL")}
    assert failed == {"CLK", "TMR", "THR", "SEM", "MUT"}


def test_reasons_of_trust_that_do_not_fit_are_counted() -> None:
    reasons = [f"reason {number} with some words" for number in range(9)]
    trust = Trust(grade="indicative", reasons=reasons)
    text = " ".join(" ".join(printed(make.document(trust=trust))).split())
    shown = [reason for reason in reasons if reason in text]
    assert shown == reasons[: len(shown)] and shown
    assert f"and {len(reasons) - len(shown)} more" in text


def test_a_long_reason_of_trust_leaves_room_for_those_after_it() -> None:
    reasons = ["virtual machine", "steal time " + "during TMR-P-LAT, " * 9, "no load"]
    for order, said in ((reasons, "virtual machine; no load; and 1 more"), (reasons[1:], "steal")):
        trust = Trust(grade="indicative", reasons=order)
        text = " ".join(" ".join(printed(make.document(trust=trust))).split())
        assert f"indicative: {said}" in text


def on_cpu(cpu: int, worst: int, conditions: Conditions) -> Result:
    result = make.result(values=(1000, worst), conditions=conditions)
    result.series[0].labels = {"part": "total", "cpu": cpu}
    return result


def test_a_condition_that_was_measured_on_another_cpu_has_its_value_and_no_ratio() -> None:
    results = [
        on_cpu(1, 2_000_000, where()),
        on_cpu(0, 9_000_000, where(config="single")),
        on_cpu(1, 6_000_000, where(config="shielded")),
    ]
    (line,) = [one for one in printed(make.document(results=results)) if "TMR-P-LAT wake" in one]
    assert "9 ms, CPU 0" in line and "6 ms x3.0" in line and line.count(" x") == 1


def test_the_highest_place_is_shown_also_where_it_has_no_ratio() -> None:
    results = [on_cpu(1, 1000 + n, where(f"load{n}")) for n in range(8)]
    results.append(on_cpu(0, 9_000_000, where("last")))
    assert "9 ms, CPU 0" in " ".join(printed(make.document(results=results), 132))


def test_of_several_cpus_the_highest_is_compared() -> None:
    results = []
    for config, worst in (("shared", 2_000_000), ("shielded", 5_000_000)):
        result = on_cpu(0, 1500, where(config=config))
        result.series += on_cpu(1, worst, where()).series
        results.append(result)
    (line,) = [one for one in printed(make.document(results=results)) if "TMR-P-LAT wake" in one]
    assert "5 ms x2.5" in line


def test_a_count_of_any_length_stands_apart_from_the_median() -> None:
    result = make.result("CLK-P-BIN", (27, 164_000))
    result.series[0].count = 23_212_032_000
    lines = printed(make.document(results=[result]))
    (line,) = [one for one in lines if re.search(r"\s{2}23.212.032.000 ", one)]
    assert len(line) <= 80


def test_idle_states_that_were_left_alone_are_a_condition() -> None:
    result = make.result(values=(1000, 2000), conditions=where())
    assert "idle states allowed" in " ".join(printed(make.document(results=[result])))
    result.conditions.dma_latency_us = 0
    text = " ".join(printed(make.document(results=[result])))
    assert "idle states allowed" not in text and "cpu_dma_latency 0 us" in text


def test_a_lock_of_memory_is_said_only_where_it_lacks() -> None:
    result = make.result(values=(1000, 2000), conditions=where())
    for is_locked, said in ((True, ""), (False, "memory not locked"), (None, "lock not known")):
        result.conditions.memory_locked = is_locked
        text = " ".join(printed(make.document(results=[result])))
        assert said in text and ("memory" in text) == bool(said)


def test_a_family_that_nobody_judged_is_named() -> None:
    results = [make.result("THR-B-NEW", status="denied", series=[], conditions=where())]
    assert "threads     THR-B-NEW denied" in printed(make.document(results=results))


def test_idle_states_that_only_some_results_were_kept_out_of_are_counted() -> None:
    free = make.result(values=(1000, 2000), conditions=where())
    held = make.result(values=(1000, 2000), conditions=where(config="shielded"))
    held.conditions.dma_latency_us = 0
    document = make.document(results=[free, held])
    text = " ".join(printed(document))
    assert "idle states allowed (1 of 2), cpu_dma_latency 0 us (1 of 2)" in " ".join(text.split())
    (remark,) = idle_remarks(document)
    assert remark.startswith("TMR-P-LAT [shared]: Idle states")
    held.conditions.cpu_config, free.conditions.dma_latency_us = "shared", 0
    text = " ".join(printed(make.document(results=[free, held])))
    assert "cpu_dma_latency 0 us, load" in text and not idle_remarks(document)


def test_the_stars_of_a_run_stand_below_its_trust() -> None:
    lines = printed(full_run())
    (place,) = [number for number, line in enumerate(lines) if line.startswith("stars ")]
    assert lines[place - 1].startswith("trust ")
    assert lines[place].split(maxsplit=1)[1] == "\u2605" * 5 + " 5 of 5; why: --why"
    assert "interrupts 5" in lines[place + 1] and "determinism 5" in "".join(lines[place + 1 :][:2])


def test_a_terminal_without_utf_8_has_the_number() -> None:
    assert any(
        line.startswith("stars       ????? 5 of 5") for line in printed(full_run(), 80, "ascii")
    )


def test_a_run_of_which_nothing_is_rated_has_no_stars() -> None:
    document = make.document(results=[make.result("FIO-P-STR", conditions=where())])
    assert not any(line.startswith("stars") for line in printed(document))


def test_a_part_of_the_battery_has_no_overall_rating() -> None:
    (line,) = [one for one in printed(make.document()) if one.startswith("stars")]
    assert "timers <= 5" in line and "no overall rating" in line


def test_where_room_is_tight_families_that_hold_share_a_line() -> None:
    """The standard run of a busy machine: a few failed claims, and something to say of all else."""
    results = battery(where("heavy"))
    for result in results:
        result.events = [Event(name="load_short", text=WORDS, data={"element": "cpu"})]
        result.environment = {"steal_ns": 5}
        for verdict in result.verdicts:
            verdict.passed = result.test not in ("CLK-B-RES", "THR-B-RR", "THR-B-PRI")
    document = make.document(results=results, trust=Trust(grade="indicative", reasons=[WORDS] * 3))
    lines = printed(document)
    (held,) = [line for line in lines if line.startswith("claims ")]
    assert "all hold: timers" in held and "mutexes" in held and "threads" not in held
    assert any(re.match(r"threads +\d+ of \d+ claims hold, \d+ failed", line) for line in lines)
    assert len(lines) <= MOST_LINES
