"""At least ten runs of one system in a comparison: which are one, and what is said over them."""

from __future__ import annotations

from statistics import median

import msgspec
import pytest

from hardstone.model import Result, Trust
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_view import PlainTable
from hardstone.present.wording import format_value
from hardstone.subjects import MeasuredRun, Subject
from tests.unit.present.made_systems import QNX, labelled, run_with, spread
from tests.unit.stats.make import document, result

SYSTEM = {"virtual.hypervisor": None, "kernel.release": "6.12.0-rt", "machine.node": "one"}
# Of n = 10 values the 2nd and 9th: 1 - 2 P(X <= 1), X binomial (10, 1/2), is 0.979.
TEN = range(10)
MIXED = (9, 6, 1, 4, 8, 5, 2, 3, 0, 7)  # in the order in which they ran: without a trend


def switch(number: int, size: int = 200, **changed: object) -> Result:
    values = [int(one) for one in spread(1000 + 30 * number, number, size - 1)] + [20_000 + number]
    one = labelled(values, "switch", threads=2)
    return result("THR-P-SLS", series=[one], **changed)


def a_run(number: int, one: Result | None = None, **changed: object) -> MeasuredRun:
    return run_with(one or switch(number), **({"system": SYSTEM} | changed))


def tables(*subjects: Subject) -> list[PlainTable]:
    view = compare_view(list(subjects))
    return [one for one in view.tables if one.anchor.startswith("runs-of-one-system")]


def ten() -> list[Subject]:
    return [a_run(number) for number in MIXED]


def test_ten_runs_have_the_median_over_runs_with_its_order_statistics() -> None:
    subjects = ten()
    (found,) = tables(*subjects)
    (row,) = found.rows
    cells = dict(zip(found.columns, row, strict=True))
    means = sorted(one.held()[0].series.mean or 0 for one in subjects)  # type: ignore[union-attr]
    assert cells["runs"] == "10" and cells["series"].startswith("THR-P-SLS switch")
    middle, low, high = (format_value(one, "ns") for one in (median(means), means[1], means[8]))
    assert cells["mean"] == f"{middle} ({low.removesuffix(' us')} to {high})"
    assert len({format_value(one, "ns") for one in (means[0], means[1], means[8], means[9])}) == 4
    assert cells["worst of a run"].startswith("20.0 us (20.0 to 20.0 us")
    assert cells["worst of all runs"] == "20.0 us"
    assert "1 to 10 are runs of one machine" in found.about


def test_nine_runs_have_none() -> None:
    assert tables(*ten()[:9]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"system": SYSTEM | {"machine.node": "two"}},
        {"system": SYSTEM | {"kernel.release": "6.13.0-rt"}},
        {"system": SYSTEM | {"power.governor": "powersave"}},
        {"plan": msgspec.structs.replace(document().plan, target="ssh:board")},
        {"trust": Trust(grade="untrustworthy", reasons=["slowed down for heat"])},
    ],
)
def test_a_run_of_another_machine_kernel_or_trust_is_not_counted(other: dict[str, object]) -> None:
    strange = a_run(9, **other)
    assert tables(*ten()[:9], strange) == []
    (found,) = tables(*ten(), strange)
    assert found.rows[0][1] == "10"


@pytest.mark.parametrize(("name", "value"), [("load", "none"), ("cpu_config", "shielded")])
def test_a_run_under_another_condition_is_not_counted(name: str, value: str) -> None:
    usual = result().conditions
    other = msgspec.structs.replace(usual, **{name: value})
    assert tables(*ten()[:9], a_run(9, switch(9, conditions=other))) == []
    (found,) = tables(*ten()[:9], a_run(9, switch(9, conditions=usual)))
    assert found.rows[0][1] == "10"


def test_what_is_left_out_is_said() -> None:
    poor = a_run(11, trust=Trust(grade="untrustworthy", reasons=["slowed down for heat"]))
    (found,) = tables(*ten(), poor)
    assert any("1 more of this system: left out" in one for one in found.notes)
    assert not any("left out" in one for one in tables(*ten())[0].notes)


@pytest.mark.slow
def test_a_series_measured_with_other_parameters_has_no_row() -> None:
    alike = [a_run(number, switch(number, params={"interval_ns": 5})) for number in TEN]
    assert tables(*alike)
    alike[3] = a_run(3, switch(3, params={"interval_ns": 6}))
    assert tables(*alike) == []


def test_worst_of_unlike_counts_has_no_median() -> None:
    subjects = [*ten()[:9], a_run(MIXED[9], switch(MIXED[9], size=400))]
    (found,) = tables(*subjects)
    cells = dict(zip(found.columns, found.rows[0], strict=True))
    assert cells["worst of a run"] == "unlike counts"
    assert cells["mean"] != "-" and cells["worst of all runs"] == "20.0 us"


def test_two_systems_of_ten_runs_have_a_table_each() -> None:
    other = [a_run(number, system=SYSTEM | {"kernel.release": "6.13"}) for number in TEN]
    found = tables(*ten(), *other)
    assert [one.anchor for one in found] == ["runs-of-one-system", "runs-of-one-system-2"]
    assert [one.about[8:16] for one in found] == ["1 to 10 ", "11 to 20"]


def test_published_systems_are_no_runs() -> None:
    (found,) = tables(QNX, *ten())
    assert "2 to 11" in found.about


def test_emulated_runs_stand_apart_from_hardware() -> None:
    emulated = SYSTEM | {"virtual.hypervisor": "TCG", "virtual.emulated": True}
    guests = [a_run(number, system=emulated) for number in TEN]
    assert tables(*guests)
    assert tables(a_run(0), *guests) == []


def at(number: int, minute: int) -> MeasuredRun:
    return a_run(number, started_utc=f"2026-11-25T20:{minute:02d}:00Z")


def test_runs_that_depend_on_the_one_before_have_no_interval() -> None:
    (found,) = tables(*(at(number, number) for number in TEN))
    cells = dict(zip(found.columns, found.rows[0], strict=True))
    assert cells["mean"].endswith(" us (runs depend)")
    assert cells["p50"].endswith(" us (runs depend)")
    assert cells["worst of a run"].endswith(" us (runs depend)")
    assert any(
        "Runs depend: a figure of the series goes with that of the run before" in one
        for one in found.notes
    )


def test_the_order_is_that_in_which_they_ran_and_not_that_of_the_command() -> None:
    rising = [at(number, minute) for minute, number in enumerate(MIXED)]
    rising.sort(key=lambda one: one.held()[0].series.mean or 0)
    (found,) = tables(*rising)
    assert all(" to " in one and "depend" not in one for one in found.rows[0][2:5])
    assert "1 to 10" in found.about
