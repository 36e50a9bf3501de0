"""What the terminal shows of a run: figures at their places, conditions as they were, notes once
each; and of a recording that grows. Variants and warm-up of a test are in its page in docs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO

import msgspec
import numpy as np
import pytest

from hardstone.cli.recording import Progress, recording_view
from hardstone.model import (
    Conditions,
    Event,
    LoadReached,
    Plan,
    PlannedTest,
    Repeat,
    Result,
    RunDocument,
    Verdict,
    Worst,
)
from hardstone.present.notices import deviations
from hardstone.present.overview import (
    conditions_text,
    headline,
    result_conditions_text,
    state_text,
    status_text,
)
from hardstone.report.opening import head_of
from hardstone.stats.quantiles import summarise
from hardstone.terminal.console import make_console
from hardstone.terminal.distribution import bar_rows, recording_lines
from hardstone.terminal.explain import print_plan
from hardstone.terminal.one_screen import not_realtime_lines, print_screen
from hardstone.terminal.whole_run import cells_of, note_rows, print_whole
from tests.unit.report import sample
from tests.unit.report.media import flat, printed
from tests.unit.stats import make


def document(*results: Result) -> RunDocument:
    return make.document(results=list(results))


def shown(*results: Result) -> str:
    return printed(print_whole, document(*results))


# Conditions


@pytest.mark.parametrize(
    ("lengths_ns", "told"),
    [
        ((), ""),
        ((6_000_000_000,), " (6 s or more of it stopped)"),
        ((2_000_000_000, 3_000_000_000), " (5 s or more of it stopped)"),
        ((0,), ""),
    ],
)
def test_time_in_which_the_program_was_stopped_is_no_measuring(
    lengths_ns: tuple[int, ...], told: str
) -> None:
    result = make.result(duration_ns=8_000_000_000)
    result.events = [
        Event(name="stopped", text="", data={"least_ns": length_ns}) for length_ns in lengths_ns
    ]
    assert state_text(document(result)).endswith(f", 8 s of measuring{told}")


def header(*results: Result) -> list[str]:
    found = document(*results)
    return [*(line.plain for line in not_realtime_lines(found)), *headline(found)]


def conditions_of(*results: Result) -> str:
    (line,) = [line for line in header(*results) if ", load " in line or line.startswith("load ")]
    return line


def ran(test: str = "TMR-P-LAT", **changed: object) -> Result:
    usual = {"load": "none", "cpu_config": "shared", "policy": "fifo", "priority": 98, "cpu": 1}
    locked = {"realtime": True, "memory_locked": True}
    return make.result(test, conditions=Conditions(**(usual | locked | changed)))  # type: ignore[arg-type]


def test_conditions_that_all_tests_share_are_said_once_and_others_say_of_how_many() -> None:
    same = "policy fifo 98, {}, memory locked{}, idle states allowed, load none, CPUs shared"
    both = ran(), ran("CLK-P-BIN")
    assert conditions_of(*both) == same.format("CPU 1", "")
    free = ran("SEM-P-RTP", memory_locked=False, cpu=None)
    assert conditions_of(*both, free) == same.format("2 of 3 tests pinned to CPU 1", " (2 of 3)")
    assert "not bound to a CPU" in conditions_of(free)
    assert ", not bound to a CPU," in result_conditions_text(free)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ([["offline"], ["offline"]], "CPUs shared, single (others offline)"),
        ([[], []], "CPUs shared, single (others online)"),
        ([["offline"], []], "CPUs shared, single (others offline in 1 of 2)"),
    ],
)
def test_single_says_where_the_other_cpus_were(settings: list[list[str]], text: str) -> None:
    single = [ran("TMR-P-JIT", cpu_config="single", settings=names) for names in settings]
    assert conditions_of(ran("TMR-P-JIT"), *single).endswith(text)
    assert "single (others " in result_conditions_text(single[0])


def test_nothing_was_measured_is_said_only_where_it_is_true() -> None:
    denied = make.result("TMR-P-LAT", status="denied", series=[])
    assert "nothing was measured" in conditions_of(denied)
    said = conditions_of(make.result("TMR-P-LAT", status="failed", complete=False))
    assert "nothing was measured" not in said and "how the tests ran is not known" in said


def test_a_repeat_says_which_of_how_many_it_is() -> None:
    plan = make.plan_of([], repeat=Repeat(number=3, count=10, first="20261121T032200Z-000000"))
    denied = make.result("TMR-P-LAT", status="denied", series=[])
    for found in (ran(), denied):
        run = make.document(results=[found], plan=plan, name="renamed")
        text = conditions_text(run)
        assert text.endswith(", repeat 3 of 10")
        assert text in flat(printed(print_whole, run)) and text in head_of(run).summary
        assert "repeat 3 of 10" in flat(printed(print_screen, run))
        assert "repeat" not in conditions_text(document(found))


def test_a_run_is_complete_only_where_its_tests_were_measured() -> None:
    measured, failed = make.result("CLK-P-BIN"), make.result("TMR-P-LAT", status="failed")
    denied = make.result("SEM-P-ARC", status="denied", series=[])
    assert status_text(make.document(results=[measured])) == "complete"
    said = status_text(make.document(results=[measured, failed, denied]))
    assert said == "1 failed, 1 denied of 3"
    assert status_text(make.document(results=[failed], status="interrupted")) == "interrupted"


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_what_failed_before_scheduling_is_no_lack_of_realtime(status: str) -> None:
    failed = make.result("TMR-P-LAT", status=status, series=[], conditions=Conditions())
    assert "not scheduled as real-time" not in " ".join(header(failed, ran("CLK-P-BIN")))
    ordinary = Conditions(policy="other", realtime=False)
    lacking = make.result("TMR-P-LAT", status=status, conditions=ordinary)
    assert header(lacking)[0] == "not scheduled as real-time"


def test_a_dry_run_does_not_claim_any_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    limits = {"samples": 1, "duration_ns": 0, "deadline_ns": 1, "expected_ns": 1}
    test = PlannedTest(test="TMR-P-LAT", params={}, **limits)
    print_plan(Plan(name="n", profile="quick", target="local", tests=[test]))
    out = capsys.readouterr().out
    assert "any CPU" not in out and "CPU left to the probe" in out


@pytest.mark.parametrize("held_us", [None, 0])
def test_a_wake_up_says_that_idle_states_were_left_alone(held_us: int | None) -> None:
    text = flat(shown(ran(dma_latency_us=held_us, settings=["single\x1b[31m\x07"])))
    assert ("--dma-latency 0" in text) == (held_us is None)
    assert ("cpu_dma_latency 0 us" in text) == (held_us == 0)
    assert ("with single" in text) == (held_us is None)


# Figures


def claimed(name: str, passed: bool) -> str:
    verdict = Verdict(name=f"{name}/fifo", passed=passed, evidence="mover went on, first ran")
    return flat(shown(make.result("THR-B-NEW", series=[], verdicts=[verdict])))


def test_a_verdict_that_fails_is_a_failure_if_it_counts() -> None:
    said = claimed("lowered_setschedparam", False)
    assert "fail lowered setschedparam: fifo mover went on, first ran" in said
    assert "(not rated: The study of 2012 found" in said and "FAIL" not in said
    assert "pass lowered setschedparam: fifo" in claimed("lowered_setschedparam", True)
    said = claimed("lower", False)
    assert "FAIL lower: fifo" in said and "does not count" not in said


def test_the_number_of_waiters_stands_beside_each_figure() -> None:
    """Also where it is the same in all rows: the system may have given fewer than asked for."""
    labels = [{"kind": "unnamed", "scope": one, "waiters": 97} for one in ("thread", "process")]
    series = make.series([10, 20], "acquire")
    found = [msgspec.structs.replace(series, labels=one) for one in labels]
    text = shown(make.result("SEM-P-ARC", series=found))
    assert "  thread, waiters 97 " in text and "  process, waiters 97 " in text


@pytest.mark.parametrize(("part", "label"), [("interrupt", "cpu 1, interrupt"), ("total", "cpu 1")])
def test_a_part_of_a_latency_is_not_taken_for_the_whole(part: str, label: str) -> None:
    """rtla has the interrupt of a wake-up alone."""
    found = [
        msgspec.structs.replace(make.series([10, 20], "wakeup"), labels={"cpu": cpu, "part": part})
        for cpu in (0, 1)
    ]
    assert f"  {label}  " in shown(make.result("TMR-P-LAT", series=found))


def test_of_a_throughput_the_least_is_shown_as_the_worst() -> None:
    windows = sample.series("throughput", np.array([2_000_000, 3_000_000]), unit="bytes_per_s")
    *_, worst = cells_of(summarise(windows), 1.0, "", "")
    assert worst.plain == "2 MB/s"


def test_short_loads_are_not_spelled_out() -> None:
    """Long ones are: tests/unit/report/golden/conditions-whole.txt."""
    short = [make.result(conditions=Conditions(load=load)) for load in ("none", "heavy")]
    assert "heavy: heavy" not in shown(*short)


# Notes

SHORT = "{} reached 3.0 % of a CPU (requested: 10.0 %)"
ELEMENTS = ("cpu", "disk", "memory")


def told(name: str, text: str) -> Event:
    """An event of a load names its element in its data, as in its text."""
    element = text.split(maxsplit=1)[0]
    of_load = name.startswith("load_") and element in ELEMENTS
    return Event(name=name, text=text, data={"element": element} if of_load else {})


def under(config: str, *events: tuple[str, str], test: str = "TMR-P-LAT") -> Result:
    reached = [
        LoadReached(element=one, degree="", asked=0.1, reached=0.03, unit="share", processes=2)
        for one in ELEMENTS
    ]
    return make.result(
        test,
        conditions=Conditions(load="heavy", cpu_config=config),
        events=[told(name, text) for name, text in events],
        load=reached,
    )


def noted(*results: Result) -> list[tuple[str, str]]:
    rows, _ = note_rows(document(*results))
    return [(who.plain, text.plain) for who, text in rows]


LATE = {place: ("late", f"late by {place} ns") for place in (1, 2)}
OFF = ("not_offline", "it is read-only")


@pytest.mark.parametrize(
    ("results", "rows"),
    [
        # one condition keeps each of its notes, and other words are another note
        (
            [under("shared", LATE[1], LATE[2])],
            [("TMR-P-LAT", "late by 1 ns"), ("TMR-P-LAT", "late by 2 ns")],
        ),
        (
            [under("a", LATE[1]), under("b", ("late", "early by 1 ns"))],
            [("TMR-P-LAT [a]", "late by 1 ns"), ("TMR-P-LAT [b]", "early by 1 ns")],
        ),
        # one of many conditions names the first and counts the others
        (
            [under(one, ("late", "late")) for one in "abcd"],
            [("TMR-P-LAT [a]\nand 3 more conditions", "late")],
        ),
        # CPUs that stayed online are told once for all tests
        (
            [under("shared"), under("single", OFF), under("single", OFF, test="CLK-P-BIN")],
            [("TMR-P-LAT [single]\nCLK-P-BIN [single]", "it is read-only")],
        ),
    ],
)
def test_a_note_is_told_once(results: list[Result], rows: list[tuple[str, str]]) -> None:
    assert noted(*results) == rows


def test_what_differs_in_its_figures_is_told_once_for_all_conditions() -> None:
    results = [under(one) for one in "abc"]
    for late_ns, result in enumerate(results):
        data = {"kind": "sleep", "late_ns": late_ns}
        result.events = [Event(name="late", text=f"late by {late_ns} ns", data=data)]
    said = "late by 0 ns (and 2 similar, in the report)"
    assert noted(*results) == [("TMR-P-LAT [a]", said)]


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        # elements that fell short are one line that names all
        (
            [("load_short", SHORT.format(one)) for one in ELEMENTS],
            [f"load: {SHORT.format('cpu')}; also short: disk, memory"],
        ),
        # a text without a known element is kept whole, and another kind of event is another line
        (
            [("load_short", SHORT.format("cpu")), ("load_short", "the keeper was killed")],
            [f"load: {SHORT.format('cpu')}", "load: the keeper was killed"],
        ),
        (
            [("load_short", SHORT.format("cpu")), ("load_ended_early", "disk : 1 of 2 ended")],
            [f"load: {SHORT.format('cpu')}", "load: disk : 1 of 2 ended"],
        ),
    ],
)
def test_a_load_that_fell_short(events: list[tuple[str, str]], texts: list[str]) -> None:
    found = deviations(document(under("a", *events)))
    assert [one.text for one in found if one.kind == "load"] == texts


def test_what_was_not_put_back_stands_first_and_once_with_what_to_type() -> None:
    left = ("not_put_back", "/proc/sys/kernel/watchdog: Invalid argument")
    result = under("shielded", ("load_short", SHORT.format("cpu")), left, left)
    other = make.result("SEM-P-SIG", status="failed", reason="it broke")
    first, *others = deviations(document(other, result))
    assert (first.kind, first.who) == ("left", "TMR-P-LAT [shielded]")
    assert first.text == f"not restored: {left[1]}"
    assert first.command == "sudo hardstone shield --restore"
    assert all(one.kind != "left" for one in others)
    assert left[1] not in str(noted(other, result))


def test_what_to_type_is_not_in_the_words_of_a_deviation() -> None:
    refused = {"status": "denied", "reason": "EPERM", "remedy": "grant it"}
    tests = [make.result(n, command="hardstone x", **refused) for n in ("TMR-P-LAT", "TMR-P-JIT")]
    found = deviations(document(*tests))
    assert [one.text for one in found] == ["denied: EPERM; grant it", "denied: EPERM"]
    assert [one.command for one in found] == ["hardstone x", "hardstone x"]


# A recording


def recording(*values_of_cpu: Sequence[int]) -> RunDocument:
    found = []
    for cpu, values in enumerate(values_of_cpu):
        series = make.series(values)
        series.labels |= {"cpu": cpu}
        series.worst = [Worst(value_ns=max(values), at_ns=18 * 10**9, index=0)]
        found.append(series)
    return document(make.result(series=found))


def recorded(run: RunDocument, encoding: str = "utf-8") -> list[str]:
    def show(document: RunDocument, out: IO[str]) -> None:
        console = make_console(out)
        for line in recording_lines(document, console):
            console.print(line)

    return printed(show, run, encoding=encoding).splitlines()


USUAL = [15_000] * 990 + [46_000] * 500


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_recording_has_a_line_for_each_cpu_and_a_histogram(encoding: str) -> None:
    run = recording([*USUAL, 2_350_000], [*USUAL, 90_000, 700_000])
    rows = recorded(run, encoding)
    figures = [row.replace("\xa0", " ").split("  ") for row in rows]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in figures]
    assert cells[1] == ["0", "1 491", "15 us", "15.0 us", "46.0 us", "2.35 ms", "18 s"]
    assert cells[2] == ["1", "1 492", "15 us", "15.0 us", "46.0 us", "700 us", "18 s"]
    assert [(row[0], row[1]) for row in cells[4:]][:2] == [("10 us", "1 980"), ("20 us", "1 000")]
    assert cells[-1][:2] == ["2 ms", "1"] and len(rows) <= 4 + 10
    bar = "#" if encoding == "ascii" else "\N{FULL BLOCK}"
    assert bar * 54 in rows[4] and rows[-1].endswith(bar) and "?" not in "".join(rows)
    screen = printed(print_screen, run, encoding=encoding).splitlines()
    assert [row for row in screen if row in rows] == rows and len(screen) <= 30


def test_of_many_cpus_the_latest_have_a_line() -> None:
    rows = recorded(recording(*([1_000, 2_000 + cpu] for cpu in range(20))))
    shown = [row.split()[0] for row in rows[1:9]]
    assert shown == [str(cpu) for cpu in range(12, 20)]
    assert rows[9] == "and 12 CPUs with a lower maximum, with --all"


def test_a_recording_hides_nothing_that_the_histogram_does_not_hold() -> None:
    run = document(make.result(series=[make.series([5_000, 90_000], limit=50_000)]))
    assert recorded(run)[-1] == "1 value is above the range of the histogram"
    assert recorded(run)[1].split()[4] == "-"  # no p99 of two values
    histogram = run.results[0].series[0].histogram
    histogram.layout, histogram.buckets = "linear/1000/10000", []
    histogram.underflow, histogram.overflow = 1, 1
    assert bar_rows(run.results[0].series, make_console(io.StringIO()))[-2:] == [
        "1 value is below the buckets of the file",
        "1 value is above the range of the histogram",
    ]
    run.results[0].series[0].histogram.layout = "nonsense"
    assert "90 us!" in recorded(run)[1]


@pytest.mark.parametrize("results", [[], [make.result("SEM-P-ARN")], [make.result()] * 2])
def test_other_runs_are_no_recording(results: list[Result]) -> None:
    assert recorded(document(*results)) == []


@pytest.mark.parametrize(
    ("largest", "in_first"),
    [
        (600_000, 1),  # 18 steps
        (1_100_000, 3),  # 19: the first row holds two
        (11_000_000, 6),  # 22: it holds five
    ],
)
def test_a_wide_distribution_keeps_the_rows_of_its_tail(largest: int, in_first: int) -> None:
    values = [1, 3, 3, 7, 11, 23, largest]
    rows = bars(values)
    assert len(rows) == 18
    assert (rows[0], rows[-1][2]) == (["1", "ns", str(in_first)], "1")
    assert sum(int(row[2]) for row in rows) == len(values)


def bars(values: Sequence[int]) -> list[list[str]]:
    """Of each row of the distribution its begin, with the unit, and its count."""
    progress = Progress(elapsed_ns=60 * 10**9, left_ns=540 * 10**9, rate_hz=None)
    result = make.result(values=values)

    def show(_: RunDocument, out: IO[str]) -> None:
        console = make_console(out)
        console.print(recording_view("TMR-P-LAT", result, "", progress, console))

    lines = printed(show, document()).splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("from "))
    return [line.split()[:3] for line in lines[head + 1 :]]
