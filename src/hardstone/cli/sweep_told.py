"""What a person is told while a sweep runs, and of its curves at the end."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console

from hardstone.campaign import CampaignEvent, MeasuringStarted
from hardstone.cli.messages import tell
from hardstone.cli.progress import LiveReporter, PlainReporter, QuietReporter, Reporter, suitable
from hardstone.cli.sweep_run import SweepRun
from hardstone.model import Plan, PlannedTest, Result, RunDocument
from hardstone.present.wording import shorten
from hardstone.simulation.sweep import (
    Curve,
    Sweeper,
    coarse_curves,
    curve_of,
    ended_curves,
    is_whole,
    masses_of,
)
from hardstone.units import format_span

_MOST_TOLD = 12


class _Timed:
    """Tells a sweep what happens before a reporter does: `count` and `left_ns` are those of it."""

    def __init__(self, reporter: Reporter, sweep: SweepRun) -> None:
        self._reporter = reporter
        self._sweep = sweep

    def __enter__(self) -> Self:
        self._reporter.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._reporter.__exit__(kind, error, trace)

    def take(self, event: CampaignEvent) -> None:
        self._sweep.take(event)
        self._reporter.take(event)


class _PlainReporter(PlainReporter):
    def __init__(self, sweep: SweepRun) -> None:
        super().__init__()
        self._sweep = sweep

    def start_text(self, plan: Plan) -> str:
        return _start_text(plan, self._sweep)

    def begin_text(self, event: MeasuringStarted, name: str) -> str:
        left = format_span(self._sweep.left_ns() + event.planned.expected_ns)
        return f"{self._sweep.count + 1}  {point_text(event.planned, name)}  about {left} left"


class _LiveReporter(LiveReporter):
    def __init__(self, console: Console, sweep: SweepRun) -> None:
        super().__init__(console)
        self._sweep = sweep

    def begin_text(self, event: MeasuringStarted, name: str) -> str:
        return f"{point_text(event.planned, name)}  {self._sweep.count + 1}"

    def left_ns(self, plan: Plan, done_ns: int) -> int:
        return self._sweep.left_ns()


def make_sweep_reporter(sweep: SweepRun, *, quiet: bool) -> Reporter:
    """The reporter of a sweep that suits standard error."""
    found = suitable(
        QuietReporter,
        lambda: _PlainReporter(sweep),
        lambda console: _LiveReporter(console, sweep),
        quiet=quiet,
    )
    return _Timed(found, sweep)


def point_text(one: PlannedTest | Result, name: str) -> str:
    """A point after the name of its test: "SIM-S-RT [heavy]  400 masses, 2 threads, fifo"."""
    curve = curve_of(one)
    masses = masses_of(one)
    if curve is None:
        return f"{name}  {masses} masses, pictures" if masses else name
    threads = f"{curve.threads} thread{'' if curve.threads == 1 else 's'}"
    parts = [f"{masses} masses", threads, curve.policy]
    return f"{name}  {', '.join([*parts, *_solver(curve)])}"


def tell_curves(sweeper: Sweeper, document: RunDocument) -> None:
    """Says which curves ended early, with the reason, and which are coarse."""
    curves = sweeper.curves.main
    ended = ended_curves(curves, document.results)
    coarse = coarse_curves(sweeper.sweep, curves, document.results)
    if len(ended) == len(curves) and not any(
        is_whole(one) and one.status == "measured" and curve_of(one) in ended
        for one in document.results
    ):
        tell(f"no point was measured: {shorten(next(iter(ended.values())), 300)}")
        return
    _tell_each("ended early", ended, sweeper)
    timed = document.status == "complete" and sweeper.sweep.within_ns
    remedy = "; more time or fewer curves: --within, --threads" if timed else ""
    _tell_each(f"are coarse{remedy}", coarse, sweeper)


def _tell_each(what: str, found: Mapping[Curve, str], sweeper: Sweeper) -> None:
    if not found:
        return
    tell(f"{len(found)} of {len(sweeper.curves.main)} curves {what}")
    for curve, why in list(found.items())[:_MOST_TOLD]:
        tell(f"{_curve_text(curve, sweeper)}: {shorten(why, 200)}")
    if len(found) > _MOST_TOLD:
        tell(f"and {len(found) - _MOST_TOLD} more")


def _curve_text(curve: Curve, sweeper: Sweeper) -> str:
    conditions = {(one.load, one.cpu_config) for one in sweeper.curves.main}
    parts = [f"{curve.threads} thread{'' if curve.threads == 1 else 's'}", curve.policy]
    parts += _solver(curve)
    parts += [f"load {curve.load}", f"CPUs {curve.cpu_config}"] if len(conditions) > 1 else []
    return ", ".join(parts)


def _solver(curve: Curve) -> list[str]:
    return [] if curve.solver == "semaphore" else [curve.solver]


def _start_text(plan: Plan, sweep: SweepRun) -> str:
    curves = len(sweep.sweeper.curves.main)
    span = format_span(sweep.left_ns() + sum(one.expected_ns for one in plan.tests))
    before = f", {sweep.count} points are there" if sweep.count else ""
    return f"{curves} curve{'' if curves == 1 else 's'}, about {span}{before}"
