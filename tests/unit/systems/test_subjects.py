"""What can be compared: published systems, every figure as it is in published.json and nothing
invented; and which series of several subjects stand in one row."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import Conditions, RunDocument, Scalar, Series, Trust
from hardstone.preemption.tables import why_not_divided
from hardstone.stats.consistency import why_incomparable
from hardstone.systems.published import parse_address
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    Missing,
    figure_rows,
    published_system,
    subjects_of,
    why_apart,
    why_run_apart,
)
from tests import imported
from tests.unit.stats.make import document, result, series


def amount(key: str, address: str, statistic: str, load: str | None = None) -> Amount | Missing:
    system = published_system(key) if load is None else published_system(key, load)
    return {one.address: one for one in system.held()}[address].amount(statistic)


def test_values_have_the_unit_of_the_series() -> None:
    tick = amount("qnx", "CLK-P-DUR/tick", "mean")
    assert (tick.value, tick.unit) == (2200.0, "ns")
    source = "dedicated-systems-2012/timings published:qnx THR-P-SLS/128/switch max"
    switch = amount("qnx", "THR-P-SLS/128/switch", "max")
    assert switch == Amount("ns", "max", source, value=11500.0)
    throughput = amount("lynx", "MSG-P-THR/mq/8192/thread/throughput", "min")
    assert (throughput.value, throughput.unit) == (46_200_000.0, "bytes_per_s")


def test_a_bound_stays_a_bound() -> None:
    mean = amount("ce7", "MUT-P-ARN/inherit/acquire", "mean")
    assert (mean.value, mean.below, mean.highest, mean.lowest) == (None, 100.0, 100.0, 0.0)
    worst = amount("linux", "THR-P-PRE/thread/preemption", "max")
    assert (worst.above, worst.highest, worst.lowest) == (1e6, None, 1e6)


# ---- rows ----


def labelled(values: list[int], name: str = "switch", **labels: int | str) -> Series:
    return msgspec.structs.replace(series(values, name), labels=dict(labels))


def run_of(found: RunDocument) -> MeasuredRun:
    (subject,) = subjects_of(found)
    return subject


def switching(letter: str, *counts: int, **changed: object) -> MeasuredRun:
    found = [labelled([100, 200, 300 + count], threads=count) for count in counts]
    results = [result("THR-P-SLS", series=found, **changed)]
    return run_of(document(run_id=f"20261121T032200Z-{letter * 6}", results=results))


ONE, TWO = switching("a", 2, 128), switching("b", 2, 97)
QNX = published_system("qnx")


def test_runs_share_rows_by_name_and_labels() -> None:
    rows = {row.address: [one is not None for one in row.found] for row in figure_rows([ONE, TWO])}
    assert list(rows.items()) == [
        ("THR-P-SLS/2/switch", [True, True]),
        ("THR-P-SLS/128/switch", [True, False]),
        ("THR-P-SLS/97/switch", [False, True]),
    ]


def test_a_published_figure_joins_the_row_of_the_measured_one() -> None:
    rows = {row.address: row for row in figure_rows([QNX, ONE])}
    row = rows["THR-P-SLS/128/switch"]
    assert row.first.series is not None
    assert [one.amount("max").value for one in row.found] == [11500.0, 428.0]
    assert rows["THR-P-SLS/1000/switch"].found[1] is None  # not measured, not invented


def test_a_published_figure_prefers_the_run_with_just_its_number() -> None:
    asked = {"threads": [2, 128]}
    few, many = switching("a", 97, params=asked), switching("b", 128, params=asked)
    for runs in ([few, many], [many, few]):
        rows = {row.address: row for row in figure_rows([*runs, QNX])}
        assert rows["THR-P-SLS/97/switch"].found[2] is None
        assert rows["THR-P-SLS/128/switch"].found[2] is not None
        assert rows["THR-P-SLS/128/switch"].notes[2] == ()


def test_published_systems_share_rows_without_a_run() -> None:
    rows = figure_rows([QNX, published_system("ce7")])
    assert len(rows) == len(QNX.held()) and all(None not in row.found for row in rows)


def test_the_cpu_is_no_label_of_a_row_where_each_has_one() -> None:
    def on(letter: str, *cpus: int) -> MeasuredRun:
        found = [labelled([1, 2, 3], "wakeup", part="total", cpu=cpu) for cpu in cpus]
        run_id = f"20261121T032200Z-{letter * 6}"
        return run_of(document(run_id=run_id, results=[result(series=found)]))

    first, second, both = on("a", 0), on("b", 1), on("c", 0, 1)
    (row,) = figure_rows([first, second])
    assert row.address == "TMR-P-LAT/total/wakeup" and None not in row.found
    assert len(figure_rows([first, both])) == 2


def test_each_condition_of_a_run_is_a_subject() -> None:
    none = result(conditions=Conditions(load="none", cpu_config="shared"))
    found = subjects_of(document(results=[none, result(values=(7, 8, 9))]))
    assert [one.condition.load for one in found] == ["none", "heavy"]
    assert [one.held()[0].amount("max").value for one in found] == [3.0, 9.0]
    assert len({one.label for one in found}) == 2


def test_a_figure_says_where_it_is_from_and_what_its_count_does_not_support_is_missing() -> None:
    (one, *_) = ONE.held()
    assert one.amount("max").source == "20261121T032200Z-aaaaaa THR-P-SLS/2/switch max"
    assert one.statistics() == ["min", "mean", "max"]
    assert isinstance(one.amount("p99"), Missing)
    assert isinstance(one.amount("nonsense"), Missing)


def test_the_second_series_of_a_name_is_not_taken_for_the_first() -> None:
    subject = run_of(document(results=[result(values=(1, 2, 3)), result(values=(4, 5, 6))]))
    assert [one.amount("max").value for one in subject.held()] == [3.0]


_EMULATED = {"virtual.emulated": True}
_COUNTED = {"virtual.time": "instructions"}
_UNKNOWN = {"virtual.emulated": None}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (_EMULATED, "emulated: not comparable with hardware"),
        (_COUNTED, "time is an instruction count: not comparable with hardware"),
        (_UNKNOWN, "may be emulated: not comparable with hardware"),
    ],
)
def test_one_rule_on_other_times_says_the_same_everywhere(
    facts: dict[str, Scalar], reason: str
) -> None:
    """The decision and its words: beside a published system, beside a run of hardware, between the
    sides of a switch of the preemption model, and for a gate."""
    guest, host = document(system=facts), document(system={})
    (of_guest,), (of_host,) = subjects_of(guest), subjects_of(host)
    assert why_apart(of_guest) == why_apart(of_guest, of_host) == reason
    assert why_apart(of_guest, published_system("qnx")) == why_run_apart(guest) == reason
    assert why_incomparable(host, guest) == reason
    assert why_not_divided({}, facts) == [f"no improvement is given: {reason}"]
    assert why_apart(of_host) == why_apart(of_guest, of_guest) == ""
    assert why_apart(of_host, of_guest).startswith("measured on hardware: not comparable with ")


def test_a_run_that_is_not_trustworthy_is_compared_with_nothing() -> None:
    (poor,) = subjects_of(document(trust=Trust(grade="untrustworthy", reasons=["throttled"])))
    assert why_apart(poor) == why_apart(poor, poor) == "not trustworthy: throttled"
    (good,) = subjects_of(document())
    assert not why_apart(good)


def test_a_figure_that_the_file_of_another_tool_lacks_says_why() -> None:
    (run,) = subjects_of(imported.imported_run(imported.bare(most=None)))
    (held,) = run.held()
    assert held.statistics() == ["min", "mean"]
    said = {"p50": "the file has minimum and mean only, so no quantile"}
    said["max"] = "the file has no maximum"
    for statistic, reason in said.items():
        found = held.amount(statistic)
        assert isinstance(found, Missing)
        assert found.reason == reason


@pytest.mark.parametrize(
    ("typed", "test"),
    [
        ("tmr-p-lat/wakeup", "TMR-P-LAT"),
        ("oslat/1/turn", "oslat"),
        ("rtla-osnoise/x", "rtla-osnoise"),
    ],
)
def test_ids_of_tests_are_typed_in_any_case_and_tools_as_they_are_named(
    typed: str, test: str
) -> None:
    assert parse_address(typed).test == test
