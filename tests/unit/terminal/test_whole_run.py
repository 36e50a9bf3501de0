"""What the terminal shows of a run: figures at their places, conditions as they were, notes once
each; and of a recording that grows. Variants and warm-up of a test are in its page in docs."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import IO

import msgspec
import numpy as np
import pytest
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

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
    status_text,
)
from hardstone.report.opening import head_of
from hardstone.stats.quantiles import summarise
from hardstone.terminal.console import make_console, print_table, wrapped
from hardstone.terminal.distribution import bar_rows, recording_lines
from hardstone.terminal.explain import print_plan
from hardstone.terminal.one_screen import not_realtime_lines, print_screen
from hardstone.terminal.whole_run import cells_of, note_rows, print_whole
from tests.unit.golden import assert_as_stored
from tests.unit.report import sample
from tests.unit.report.media import flat, printed
from tests.unit.stats import make


def document(*results: Result) -> RunDocument:
    return make.document(results=list(results))


def shown(*results: Result) -> str:
    return printed(print_whole, document(*results))


# Conditions


def ran(test: str = "TMR-P-LAT", **changed: object) -> Result:
    usual = {"load": "none", "cpu_config": "shared", "policy": "fifo", "priority": 98, "cpu": 1}
    locked = {"realtime": True, "memory_locked": True}
    return make.result(test, conditions=Conditions(**(usual | locked | changed)))  # type: ignore[arg-type]


def of_conditions() -> Iterator[tuple[str, list[Result]]]:
    for lengths_s in ((), (6,), (2, 3), (0,)):
        result = ran()
        result.duration_ns = 8_000_000_000
        result.events = [
            Event(name="stopped", text="", data={"least_ns": length_s * 10**9})
            for length_s in lengths_s
        ]
        yield f"stopped for {lengths_s} seconds", [result]
    both = [ran(), ran("CLK-P-BIN")]
    yield "conditions that all tests share", both
    free = ran("SEM-P-RTP", memory_locked=False, cpu=None)
    yield "others say of how many", [*both, free]
    yield "not bound", [free]
    for settings in ([["offline"], ["offline"]], [[], []], [["offline"], []]):
        single = [ran("TMR-P-JIT", cpu_config="single", settings=names) for names in settings]
        yield f"single with {settings}", [ran("TMR-P-JIT"), *single]
    denied = make.result("TMR-P-LAT", status="denied", series=[])
    yield "nothing was measured", [denied]
    yield "not known", [make.result("TMR-P-LAT", status="failed", complete=False)]
    ordinary = Conditions(policy="other", realtime=False)
    for status in ("failed", "timeout"):
        failed = make.result("TMR-P-LAT", status=status, series=[], conditions=Conditions())
        yield f"{status} before scheduling", [failed, ran("CLK-P-BIN")]
        lacking = make.result("TMR-P-LAT", status=status, conditions=ordinary)
        yield f"{status} without real-time", [lacking]
    yield "timeout and denied", [ran("CLK-P-BIN"), failed, denied]


def test_conditions_and_how_a_run_ended(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, results in of_conditions():
        run = document(*results)
        lines = [*(line.plain for line in not_realtime_lines(run)), *headline(run)]
        texts[name] = "\n".join(
            [*lines, f"{results[-1].test}: {result_conditions_text(results[-1])}"]
        )
    assert_as_stored(request, "conditions.txt", texts)
    assert (
        status_text(make.document(results=[make.result(status="failed")], status="interrupted"))
        == "interrupted"
    )


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


def under(config: str, *events: tuple[str, str], test: str = "TMR-P-LAT") -> Result:
    """Under a load that fell short; an event of a load names its element in its data, as in its
    text."""
    reached = [
        LoadReached(element=one, degree="", asked=0.1, reached=0.03, unit="share", processes=2)
        for one in ELEMENTS
    ]
    found = []
    for name, text in events:
        element = text.split(maxsplit=1)[0]
        of_load = name.startswith("load_") and element in ELEMENTS
        found.append(Event(name=name, text=text, data={"element": element} if of_load else {}))
    conditions = Conditions(load="heavy", cpu_config=config)
    return make.result(test, conditions=conditions, events=found, load=reached)


def of_notes() -> Iterator[tuple[str, list[Result]]]:
    late = {place: ("late", f"late by {place} ns") for place in (1, 2)}
    yield "one condition keeps each of its notes", [under("shared", late[1], late[2])]
    other = ("late", "early by 1 ns")
    yield "other words are another note", [under("a", late[1]), under("b", other)]
    same = [under(one, ("late", "late")) for one in "abcd"]
    yield "of many conditions the first is named", same
    off = ("not_offline", "it is read-only")
    single = [under("single", off), under("single", off, test="CLK-P-BIN")]
    yield "CPUs that stayed online are told once", [under("shared"), *single]
    results = [under(one) for one in "abc"]
    for late_ns, result in enumerate(results):
        data = {"kind": "sleep", "late_ns": late_ns}
        result.events = [Event(name="late", text=f"late by {late_ns} ns", data=data)]
    yield "what differs in its figures is told once", results
    short = [("load_short", SHORT.format(one)) for one in ELEMENTS]
    yield "elements that fell short are one line", [under("a", *short)]
    killed = ("load_short", "the keeper was killed")
    yield "a text without a known element is kept whole", [under("a", short[0], killed)]
    ended = ("load_ended_early", "disk : 1 of 2 ended")
    yield "another kind of event is another line", [under("a", short[0], ended)]
    left = ("not_put_back", "/proc/sys/kernel/watchdog: Invalid argument")
    failed = make.result("SEM-P-SIG", status="failed", reason="it broke")
    yield "what was not put back comes first", [failed, under("shielded", short[0], left, left)]
    refused = {"status": "denied", "reason": "EPERM", "remedy": "grant it"}
    tests = [make.result(n, command="hardstone x", **refused) for n in ("TMR-P-LAT", "TMR-P-JIT")]
    yield "what to type is not in the words", tests


def test_notes_and_deviations(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, results in of_notes():
        rows, _ = note_rows(document(*results))
        lines = [f"note: {' / '.join(who.plain.splitlines())}: {text.plain}" for who, text in rows]
        lines += [
            f"{one.kind}: {one.who}: {one.text} [{one.command}]"
            for one in deviations(document(*results))
        ]
        texts[name] = "\n".join(lines)
    assert_as_stored(request, "notes.txt", texts)


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


# Tables: what drawing them costs, and where the words in them are broken


class Cell:
    drawn = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.drawn += 1
        yield "x"

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, 1)


def test_a_row_is_drawn_once() -> None:
    table, cells = Table("name"), [Cell() for _ in range(5)]
    for one in cells:
        table.add_row(one)
    stream = io.StringIO()
    print_table(make_console(stream), table)
    assert stream.getvalue().count("x") == 5
    assert [one.drawn for one in cells] == [1] * 5


ADDRESSES = (
    "SEM-P-NEW/used/unnamed/thread/create",
    "KRN-P-PRE/all/dispatch",
    "THR-P-NEW/run-and-terminate/delete",
)


def test_words_are_broken_at_blanks_first() -> None:
    address = ADDRESSES[0]
    assert wrapped(f"the worst of {address}", 80) == [f"the worst of {address}"]
    assert wrapped(f"the worst of {address}", 40) == ["the worst of", address]
    assert wrapped(f"of {address}", 30) == ["of", "SEM-P-NEW/used/unnamed/thread/", "create"]
    assert wrapped("", 10) == [""] and wrapped("a" * 50, 10) == ["a" * 24, "a" * 24, "aa"]
    assert wrapped("a\x1b[31m/b", 80) == ["a\N{REPLACEMENT CHARACTER}[31m/b"]
