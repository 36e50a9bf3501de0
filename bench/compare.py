"""What comparing costs: twenty runs of the whole battery in one report, and one run.

The runs are copies of one that is stored, with the counts of its buckets drawn anew: as many
figures as twenty boards have, and no two runs alike.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np

from bench import processes, toolkit
from bench.comparison import Comparison
from bench.rounds import Metrics, Side, Spread
from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series
from hardstone.stats.conditions import conditions_in
from hardstone.store.documents import read_document, write_document
from hardstone.store.place import Place, default_root
from hardstone.store.store import Store

MANY = 20
MOST_ROUNDS = 3  # each compares 44 runs, and the first makes twenty of them: half a minute
LEAST_TESTS = 30  # of a run of the whole battery
SOURCE = "HARDSTONE_BENCH_RUN"
GOALS = {
    "compare_ns": 6e9,
    "compare_bytes": 5e6,
    "report_ns": 2.5e9,
    "report_bytes": 2.5e6,
}


def source_run() -> RunDocument:
    """The run whose copies are compared: the file that $HARDSTONE_BENCH_RUN names, else the newest
    stored one of the whole battery. Missing where there is none."""
    named = os.environ.get(SOURCE)
    try:
        if named:
            return read_document(Path(named))
        found = [one for one in _stored().runs() if one.tests >= LEAST_TESTS]
        if found:
            return _stored().load(found[-1].id)
    except InputError as error:
        raise processes.Missing(str(error)) from None
    raise processes.Missing("no run of the whole battery is stored: hardstone evaluate")


def _stored() -> Store:
    if not default_root().is_dir():
        raise processes.Missing(f"{default_root()} holds no runs: hardstone evaluate")
    return Store()


def copies(source: RunDocument, count: int) -> list[RunDocument]:
    """`count` runs of one condition whose figures agree with each other, and differ from run to
    run."""
    condition = conditions_in(source)[0]
    rng = np.random.default_rng(20261125)
    chosen = [
        one
        for one in source.results
        if (one.conditions.load, one.conditions.cpu_config) == condition[:2]
    ]
    return [
        msgspec.structs.replace(
            source,
            id=f"20261125T20{number:02d}00Z-{number:06x}",
            name=f"board {number}",
            results=[_drawn_result(one, rng) for one in chosen],
        )
        for number in range(1, count + 1)
    ]


def _drawn_result(result: Result, rng: np.random.Generator) -> Result:
    return msgspec.structs.replace(result, series=[_drawn(one, rng) for one in result.series])


def _drawn(series: Series, rng: np.random.Generator) -> Series:
    """With other counts between the first and the last bucket, which hold minimum and maximum."""
    buckets = [pair for pair in series.histogram.buckets if pair[1]]
    inner = np.array([count for _, count in buckets[1:-1]], dtype=np.int64)
    drawn = np.maximum(rng.poisson(inner), 0).tolist()
    mixed = [
        *buckets[:1],
        *((index, count) for (index, _), count in zip(buckets[1:-1], drawn, strict=True) if count),
        *(buckets[1:] and buckets[-1:]),
    ]
    histogram = msgspec.structs.replace(series.histogram, buckets=mixed)
    count = histogram.underflow + sum(count for _, count in mixed) + histogram.overflow
    return msgspec.structs.replace(series, histogram=histogram, count=count)


class Comparing:
    """Compares `count` of twenty runs in one page, again and again."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = folder / "twenty-runs", count

    def __call__(self) -> Metrics:
        runs, page = _runs_in(self._folder)[: self._count], self._folder / f"{self._count}.html"
        command = [toolkit.HARDSTONE, "compare", *runs, "--store", str(self._folder)]
        done = processes.run([*command, "-o", str(page)], fine=(0, toolkit.UNTRUSTWORTHY))
        return {"compare_ns": done.wall_ns, "compare_bytes": page.stat().st_size}


def report_of_battery(folder: Path) -> Side:
    """The report of one of the runs."""

    def make() -> Metrics:
        place = folder / "twenty-runs"
        page = place / "one.html"
        command = [toolkit.HARDSTONE, "report", _runs_in(place)[0], "--store", str(place)]
        done = processes.run([*command, "-o", str(page)], fine=(0, toolkit.UNTRUSTWORTHY))
        return {"report_ns": done.wall_ns, "report_bytes": page.stat().st_size}

    return make


def _runs_in(folder: Path) -> list[str]:
    """The IDs of the twenty runs, which are made the first time."""
    runs = folder / "runs"
    if not runs.is_dir():
        source = source_run()
        runs.mkdir(parents=True)
        for one in copies(source, MANY):
            write_document(Place(folder), one)
    return sorted(path.name.removesuffix(".json.gz") for path in runs.glob("*.json.gz"))


def comparisons(folder: Path) -> list[Comparison]:
    many = {
        "compare_ns": (f"comparison of {MANY} runs of the battery", "s"),
        "compare_bytes": ("size of that comparison", "MB"),
    }
    one = {
        "report_ns": ("report of a run of the battery", "ms"),
        "report_bytes": ("size of that report", "MB"),
    }

    def scaling(_: Spread) -> str:
        return f"for {MANY // 2} times the runs"

    return [
        Comparison(
            "compare",
            many,
            Comparing(folder, MANY),
            Comparing(folder, 2),
            "two runs",
            reading=scaling,
            goals=GOALS,
            most_rounds=MOST_ROUNDS,
        ),
        Comparison("report-battery", one, report_of_battery(folder), goals=GOALS),
    ]
