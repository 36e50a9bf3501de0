"""A specification of every chart that is drawn without Vega."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from hardstone.model import Series, Unit
from hardstone.present.kernel_history import kernel_history
from hardstone.present.overview import timings
from hardstone.report.charts import (
    blocking_chart,
    distribution_chart,
    exceedance_chart,
    glance,
    loss_chart,
    over_time,
    phase_chart,
    section_chart,
    spread_chart,
)
from hardstone.report.compare_figures import compare_figures
from hardstone.report.figures import KINDS
from hardstone.report.groups import group
from hardstone.report.theme import Spec
from hardstone.report.tire_figures import tire_figures
from hardstone.stats.kernel_operations import kernel_time_of
from hardstone.stats.noise_points import GapPoint
from hardstone.stats.sustained import Step
from hardstone.stats.tire_points import points_of
from tests.unit.present.compared import made_run, made_view, six_systems, twenty_systems
from tests.unit.report import sample
from tests.unit.report.media import Sketches
from tests.unit.stats.blocked import kernel_result
from tests.unit.stats.tires import whole_sweep


@cache
def specs() -> dict[str, Spec]:
    """By the name of the chart and of what it shows."""
    made = (_of_a_run, _of_odd_series, _others, _of_sweeps, _of_kernels, _of_comparisons)
    return {name: spec for one in made for name, spec in one()}


def _of_a_run() -> Iterator[tuple[str, Spec]]:
    """Of each kind of chart, one of each make: panels, dashes, colours."""
    run = sample.document(count=3000)
    yield "glance", glance.chart(timings(run))
    results = [one for one in run.results if one.test in ("TMR-P-JIT", "TMR-P-LAT", "SEM-P-SIG")]
    for kind in KINDS:
        for result in results:
            shown = [one for one in result.series if kind.shows(one)]
            if shown:
                yield f"{kind.title} {result.test}", kind.module.chart(group(shown), shown[0].unit)


def _of_odd_series() -> Iterator[tuple[str, Spec]]:
    units: tuple[Unit, ...] = ("ns", "count", "bytes_per_s")
    for unit in units:
        odd = [
            sample.series("a <b>&\"'", np.array([0, 0, 0]), unit=unit),
            sample.series("b", np.array([-5, 4, 2**40]), unit=unit),
            sample.series("c", np.array([7, 7]), unit=unit),
            sample.series("c", np.array([9, 8]), unit=unit),
        ]
        for kind in KINDS if unit == "ns" else KINDS[-1:]:
            shown = [one for one in odd if kind.shows(one)]
            if shown:
                yield f"odd {kind.title} {unit}", kind.module.chart(group(shown), unit)
    alike = [_latencies("first", 3), _latencies("second", 3), _latencies("third", 4)]
    yield "alike", exceedance_chart.chart(group(alike), "ns")
    yield "unsorted", _backwards(exceedance_chart.chart(group(alike), "ns"))
    yield "limits", distribution_chart.chart(group(alike[:1]), "ns", [1000, 2_000, 10**6])
    silent = [_latencies("silent", 5, silent_s=(1, 3, 4))]
    joined = group(silent)
    yield "unsorted gaps", _backwards(over_time.chart(joined, "ns"))
    yield "joins", over_time.with_joins(over_time.chart(joined, "ns"), joined, [2 * 10**9])


def _backwards(spec: Spec) -> Spec:
    """A line is drawn from left to right, whatever the order of its rows."""
    return {**spec, "data": {"values": spec["data"]["values"][::-1]}}


def _latencies(name: str, seed: int, silent_s: tuple[int, ...] = ()) -> Series:
    values = np.random.default_rng(seed).lognormal(7.5, 0.4, 6000).astype(np.int64)
    return sample.series(name, values, silent_s=silent_s)


def _others() -> Iterator[tuple[str, Spec]]:
    points = [GapPoint(at * 1e4 - 9e5, 250 + at * at, at % 4 == 0) for at in range(180)]
    yield "phase", phase_chart.chart(points, has_tick=True)
    yield "gaps", phase_chart.chart(points, has_tick=False)
    steps = [Step("timer", 10**at, 1000, 100 - 20 * at, 0, 0, False, at > 3) for at in range(2, 6)]
    yield "loss", loss_chart.chart(steps)
    dots = [
        spread_chart.Dot(name, kind, 1.5 + at * len(kind), at == 2)
        for at, name in enumerate(("PREEMPT_RT", "Linux", "other"))
        for kind in ("wake-up", "switch", "interrupt")
    ]
    yield "spread", spread_chart.chart(dots, ["Linux", "PREEMPT_RT", "nothing", "other"])


def _of_sweeps() -> Iterator[tuple[str, Spec]]:
    """But for the maps, which are left to Vega."""
    for loads in (["none"], ["none", "heavy"]):
        document = whole_sweep(loads)
        for figure in tire_figures(document, points_of(document), Sketches(), live=False):
            if not figure.id.startswith(("tire-hard", "tire-soft")):
                yield f"{figure.id} {len(loads)}", figure.drawing.spec


def _of_kernels() -> Iterator[tuple[str, Spec]]:
    time = kernel_time_of(kernel_result())
    assert time is not None and time.reference is not None
    found = [time.whole, *time.operations]
    yield "section", section_chart.chart(found, kernel_history())
    yield "blocking", blocking_chart.chart([*found, time.reference])


def _of_comparisons() -> Iterator[tuple[str, Spec]]:
    """One of each make."""
    kernels = [kernel_result(seed) for seed in range(1, 8)]
    views = {
        "six": six_systems(),
        "20": twenty_systems(),
        "kernels": made_view([made_run(n, results=[one]) for n, one in enumerate(kernels, 1)]),
    }
    seen = set()
    for name, view in views.items():
        for spec in (
            one.drawing.spec for one in compare_figures(view, Sketches(), live=False).all()
        ):
            made = _make(spec), "facet" in spec
            if made not in seen:
                seen.add(made)
                yield f"{name} {made[0]}", spec


def _make(spec: Spec) -> str:
    return " ".join(layer["mark"]["type"] for layer in spec.get("spec", spec)["layer"])
