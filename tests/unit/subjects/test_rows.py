"""Which series of several subjects stand in one row."""

from __future__ import annotations

import msgspec

from hardstone.model import Conditions, RunDocument, Series
from hardstone.subjects import (
    Amount,
    MeasuredRun,
    Missing,
    figure_rows,
    published_system,
    subjects_of,
)
from tests.unit.stats.make import document, result, series


def labelled(values: list[int], name: str = "switch", **labels: int | str) -> Series:
    return msgspec.structs.replace(series(values, name), labels=dict(labels))


def switching(run_id: str, *counts: int) -> MeasuredRun:
    found = [labelled([100, 200, 300 + count], threads=count) for count in counts]
    (subject,) = subjects_of(document(run_id=run_id, results=[result("THR-P-SLS", series=found)]))
    return subject


def run_of(found: RunDocument) -> MeasuredRun:
    (subject,) = subjects_of(found)
    return subject


ONE = switching("20261121T032200Z-aaaaaa", 2, 128)
TWO = switching("20261121T032200Z-bbbbbb", 2, 97)
QNX = published_system("qnx")


def test_runs_share_rows_by_name_and_labels() -> None:
    rows = {row.address: row for row in figure_rows([ONE, TWO])}
    assert list(rows) == ["THR-P-SLS/2/switch", "THR-P-SLS/128/switch", "THR-P-SLS/97/switch"]
    assert [one is not None for one in rows["THR-P-SLS/2/switch"].found] == [True, True]
    assert [one is not None for one in rows["THR-P-SLS/128/switch"].found] == [True, False]


def test_a_published_figure_joins_the_row_of_the_measured_one() -> None:
    rows = {row.address: row for row in figure_rows([QNX, ONE])}
    row = rows["THR-P-SLS/128/switch"]
    assert row.first.series is not None
    worst = [one.amount("max") for one in row.found if one]
    assert [one.value for one in worst if isinstance(one, Amount)] == [11500.0, 428.0]
    assert rows["THR-P-SLS/1000/switch"].found[1] is None  # not measured, not invented


def test_a_published_figure_prefers_the_run_with_just_its_number() -> None:
    asked = {"threads": [2, 128]}
    few, many = [
        run_of(document(run_id=f"20261121T032200Z-{name * 6}", results=[one]))
        for name, count in (("a", 97), ("b", 128))
        for one in [result("THR-P-SLS", series=[labelled([1, 2, 3], threads=count)], params=asked)]
    ]
    for runs in ([few, many], [many, few]):
        rows = {row.address: row for row in figure_rows([*runs, QNX])}
        assert rows["THR-P-SLS/97/switch"].found[2] is None
        assert rows["THR-P-SLS/128/switch"].found[2] is not None
        assert rows["THR-P-SLS/128/switch"].notes[2] == ()


def test_published_systems_share_rows_without_a_run() -> None:
    rows = figure_rows([QNX, published_system("ce7")])
    assert len(rows) == len(QNX.held()) and all(None not in row.found for row in rows)


def test_the_cpu_is_no_label_of_a_row_where_each_has_one() -> None:
    def on(cpus: list[int], run_id: str) -> MeasuredRun:
        found = [labelled([1, 2, 3], "wakeup", part="total", cpu=cpu) for cpu in cpus]
        return subjects_of(document(run_id=run_id, results=[result(series=found)]))[0]

    first, second = on([0], "20261121T032200Z-aaaaaa"), on([1], "20261121T032200Z-bbbbbb")
    (row,) = figure_rows([first, second])
    assert row.address == "TMR-P-LAT/total/wakeup" and None not in row.found
    both = on([0, 1], "20261121T032200Z-cccccc")
    assert len(figure_rows([first, both])) == 2


def test_each_condition_of_a_run_is_a_subject() -> None:
    none = result(conditions=Conditions(load="none", cpu_config="shared"))
    heavy = result(values=(7, 8, 9))
    found = subjects_of(document(results=[none, heavy]))
    assert [one.condition.load for one in found] == ["none", "heavy"]
    assert [one.held()[0].amount("max").value for one in found] == [3.0, 9.0]
    assert len({one.label for one in found}) == 2


def test_quantiles_that_the_count_does_not_support_are_missing() -> None:
    (one,) = ONE.held()[:1]
    assert one.statistics() == ["min", "mean", "max"]
    assert isinstance(one.amount("p99"), Missing)
    assert isinstance(one.amount("nonsense"), Missing)


def test_a_figure_says_where_it_is_from() -> None:
    amount = ONE.held()[0].amount("max")
    assert amount.source == "20261121T032200Z-aaaaaa THR-P-SLS/2/switch max"


def test_the_second_series_of_a_name_is_not_taken_for_the_first() -> None:
    twice = [result(values=(1, 2, 3)), result(values=(4, 5, 6))]
    (subject,) = subjects_of(document(results=twice))
    assert [one.amount("max").value for one in subject.held()] == [3.0]
