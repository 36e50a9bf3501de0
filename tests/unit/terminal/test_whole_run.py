"""What the terminal shows of a run: figures at their places, conditions as they were."""

from __future__ import annotations

import io
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from hardstone.calling import as_typed
from hardstone.model import Conditions, Event, Plan, PlannedTest, Result, RunDocument, Verdict
from hardstone.present.headline import headline, result_conditions_text
from hardstone.stats.summary import summarise
from hardstone.terminal.plan import print_plan
from hardstone.terminal.run_rows import not_realtime_lines
from hardstone.terminal.series_table import cells_of
from hardstone.terminal.whole_run import print_whole
from tests.unit.report import sample
from tests.unit.stats import make


def header(*results: Result) -> list[str]:
    document = make.document(results=list(results))
    return [*(line.plain for line in not_realtime_lines(document)), *headline(document)]


def printed(document: RunDocument) -> str:
    stream = io.StringIO()
    print_whole(document, stream)
    return stream.getvalue()


def ran(test: str, *, locked: bool = True, cpu: int | None = 1, **changed: object) -> Result:
    conditions = Conditions(
        load="none",
        cpu_config="shared",
        policy="fifo",
        priority=98,
        cpu=cpu,
        realtime=True,
        memory_locked=locked,
    )
    return make.result(test, conditions=conditions, **changed)


def conditions_of(*results: Result) -> str:
    (line,) = [line for line in header(*results) if ", load " in line or line.startswith("load ")]
    return line


def lowered(*, passed: bool) -> str:
    name, evidence = "lowered_setschedparam/fifo", "mover went on, first ran"
    verdict = Verdict(name=name, passed=passed, evidence=evidence)
    result = make.result("THR-B-NEW", series=[], verdicts=[verdict])
    return " ".join(printed(make.document(results=[result])).split())


def test_a_verdict_that_does_not_count_is_no_failure() -> None:
    said = lowered(passed=False)
    assert "FAIL" not in said
    assert "fail lowered setschedparam: fifo mover went on, first ran" in said
    assert "(does not count for a rating: The study of 2012 found" in said
    assert "pass lowered setschedparam: fifo" in lowered(passed=True)


def test_a_verdict_that_counts_is_a_failure() -> None:
    verdict = Verdict(name="lower/fifo", passed=False, evidence="new ran")
    result = make.result("THR-B-NEW", series=[], verdicts=[verdict])
    said = printed(make.document(results=[result]))
    assert "FAIL lower: fifo" in said and "does not count" not in said


def test_conditions_that_all_tests_share_are_said_once() -> None:
    said = conditions_of(ran("TMR-P-LAT"), ran("CLK-P-BIN"))
    assert (
        said == "policy fifo 98, CPU 1, memory locked, idle states allowed, load none, CPUs shared"
    )


def test_a_condition_of_some_tests_says_of_how_many() -> None:
    said = conditions_of(
        ran("TMR-P-LAT"), ran("CLK-P-BIN"), ran("SEM-P-RTP", locked=False, cpu=None)
    )
    assert said == (
        "policy fifo 98, CPU 1 (2 of 3), memory locked (2 of 3), idle states allowed, load none, "
        "CPUs shared"
    )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ([["offline"], ["offline"]], "CPUs shared, single (others offline)"),
        ([[], []], "CPUs shared, single (others online)"),
        ([["offline"], []], "CPUs shared, single (others offline in 1 of 2)"),
    ],
)
def test_single_says_where_the_other_cpus_were(settings: list[list[str]], text: str) -> None:
    under = [ran("TMR-P-JIT") for _ in settings]
    for result, names in zip(under, settings, strict=True):
        result.conditions.cpu_config, result.conditions.settings = "single", names
    assert conditions_of(ran("TMR-P-JIT"), *under).endswith(text)
    assert "single (others " in result_conditions_text(under[0].conditions)


def test_a_thread_that_is_not_bound_is_told() -> None:
    free = ran("CLK-P-BIN", cpu=None)
    assert "not bound to a CPU" in conditions_of(free)
    assert ", not bound to a CPU," in result_conditions_text(free.conditions)


def test_nothing_was_measured_is_said_only_where_it_is_true() -> None:
    denied = make.result("TMR-P-LAT", status="denied", series=[])
    assert "nothing was measured" in conditions_of(denied)
    repeated = make.result("TMR-P-LAT", status="failed", complete=False)
    said = conditions_of(repeated)
    assert "nothing was measured" not in said
    assert "how the tests ran is not known" in said


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_what_failed_before_scheduling_is_no_lack_of_realtime(status: str) -> None:
    failed = make.result("TMR-P-LAT", status=status, series=[], conditions=Conditions())
    assert "not scheduled as real-time" not in " ".join(header(failed, ran("CLK-P-BIN")))
    ordinary = Conditions(policy="other", realtime=False)
    lacking = make.result("TMR-P-LAT", status=status, conditions=ordinary)
    assert header(lacking)[0] == "not scheduled as real-time"


def row_of(values: Sequence[int]) -> list[str]:
    document = make.document(results=[make.result(values=values)])
    (line,) = [line for line in printed(document).splitlines() if line.startswith(" wakeup")]
    return line.split()[-7:]


def test_the_deepest_quantile_stands_in_the_table() -> None:
    """1 to 20 000 ns: of 0.5, 0.9, 0.99 and 0.999 the last one, as an upper edge."""
    line = " ".join(row_of(range(1, 20_001)))
    assert "p99.9 20.0 us" in line, line


def test_the_number_of_waiters_stands_beside_each_figure() -> None:
    """Also where it is the same in all rows: the system may have given fewer than asked for."""
    found = [
        msgspec.structs.replace(
            make.series([10, 20], "acquire"),
            labels={"kind": "unnamed", "scope": scope, "waiters": 97},
        )
        for scope in ("thread", "process")
    ]
    result = msgspec.structs.replace(make.result("SEM-P-ARC"), series=found)
    text = printed(make.document(results=[result]))
    for scope in ("thread", "process"):
        assert f"  {scope}, waiters 97 " in text


def test_a_dry_run_does_not_claim_any_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    test = PlannedTest(
        test="TMR-P-LAT", params={}, samples=1, duration_ns=0, deadline_ns=1, expected_ns=1
    )
    print_plan(Plan(name="n", profile="quick", target="local", tests=[test]))
    shown = capsys.readouterr().out
    assert "any CPU" not in shown and "CPU left to the probe" in shown


def test_loads_that_are_cut_in_columns_are_spelled_out_below() -> None:
    long = [f"stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu {n}" for n in (1, 2)]
    results = [make.result(conditions=Conditions(load=load)) for load in long]
    lines = printed(make.document(results=results)).splitlines()
    assert "stress-ng:…--cpu 2: stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu 2" in lines
    claims = [make.result(series=[], conditions=Conditions(load=load)) for load in long]
    for one in claims:
        one.verdicts = [Verdict(name="in_order", passed=True, evidence="seen")]
    claimed = printed(make.document(results=claims))
    assert "behaviours of TMR-P-LAT [stress-ng:…--cpu 2]" in claimed
    assert lines[lines.index("loads with shortened names") + 1] in claimed.splitlines()
    short = [make.result(conditions=Conditions(load=load)) for load in ("none", "heavy")]
    assert "heavy: heavy" not in printed(make.document(results=short))


def test_what_an_event_says_to_type_stands_on_a_line_of_its_own() -> None:
    text = "was refused; grant it (setcap); what to type"
    tests = [ran("CLK-P-BIN"), ran("TMR-P-JIT")]
    for test in tests:
        test.events = [Event(name="not_realtime", text=text, data={"command": "hardstone doctor"})]
    out = printed(make.document(results=tests))
    told = [line.strip() for line in out.partition("notes")[2].splitlines()]
    (command,) = [line for line in told if "hardstone doctor" in line]
    assert command == as_typed("hardstone doctor")
    assert "grant it (setcap); what to type" in out


@pytest.mark.parametrize("held_us", [None, 0])
def test_a_wake_up_says_that_idle_states_were_left_alone(held_us: int | None) -> None:
    result = ran("TMR-P-LAT")
    result.conditions.dma_latency_us = held_us
    text = " ".join(printed(make.document(results=[result])).split())
    assert ("--dma-latency 0" in text) == (held_us is None)
    assert ("cpu_dma_latency 0 us" in text) == (held_us == 0)


def test_an_idle_remark_sends_no_codes_to_the_terminal() -> None:
    result = ran("TMR-P-LAT")
    result.conditions.settings = ["single\x1b[31m\x07"]
    text = printed(make.document(results=[result]))
    assert "with single" in text
    assert "\x1b" not in text and "\x07" not in text


def test_of_a_throughput_the_least_is_shown_as_the_worst() -> None:
    windows = sample.series("throughput", np.array([2_000_000, 3_000_000]), unit="bytes_per_s")
    *_, worst = cells_of(summarise(windows), 1.0, "", "")
    assert worst.plain == "2 MB/s"
