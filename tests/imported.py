"""Runs as an import makes them, for tests of what computes, shows, compares and exports them.

    imported_run(cyclictest(range(3000, 90_000, 7)))

Times are in ns. The figures of `cyclictest` are those that the tool would print: whole
microseconds, cut off below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hardstone.model import (
    RUN_SCHEMA,
    Conditions,
    Histogram,
    Imported,
    Loss,
    Plan,
    Result,
    RunDocument,
    Scalar,
    Series,
    Tool,
    Trust,
)
from hardstone.stats.histogram import histogram_of
from hardstone.stats.identity import edges_of, parse_layout
from hardstone.stats.trust import grade_run

US = 1000
CPU_0 = {"part": "total", "cpu": 0}


def _series(raw: np.ndarray | None = None, **changed: object) -> Series:
    fields: dict[str, object] = {"name": "wakeup", "labels": dict(CPU_0), "unit": "ns"}
    if raw is not None:
        fields |= {"count": raw.size, "min": int(raw.min()), "max": int(raw.max())}
        fields |= {"mean": float(raw.mean()), "stddev": None}
    return Series(**(fields | changed))


def cyclictest(
    values_ns: Sequence[int], *, buckets: int = 1000, is_cut: bool = False, **changed: object
) -> Series:
    """A series with a histogram of whole microseconds, as of `cyclictest -h BUCKETS`: the values
    above overflow or, with `is_cut`, are lost."""
    raw = np.asarray(values_ns, dtype=np.int64) // US * US
    limit = buckets * US - 1
    histogram = histogram_of(raw, layout=f"linear/{US}/0", limit=limit)
    if histogram.overflow and dict(histogram.buckets).get(buckets - 1) is None:
        histogram.buckets.append((buckets - 1, 0))  # where the overflow begins
    count = raw.size
    if is_cut:
        count -= histogram.overflow
        histogram.overflow, histogram.is_cut = 0, True
    return _series(raw, **{"count": count, "histogram": histogram, "step": US, **changed})


def linear(
    values: Sequence[int], width: int, first: int, *, limit: int | None = None, name: str = "wakeup"
) -> Series:
    """A series of exact values with linear buckets, which begin at `first`."""
    raw = np.asarray(values, dtype=np.int64)
    layout = f"linear/{width}/{first}"
    most = edges_of(parse_layout(layout).last, parse_layout(layout))[1] if limit is None else limit
    return _series(raw, name=name, histogram=histogram_of(raw, layout=layout, limit=most))


def bare(
    count: int = 1000,
    *,
    least: int | None = 2000,
    mean: float | None = 5000.0,
    most: int | None = 34_000,
    **changed: object,
) -> Series:
    """A series without a distribution, as of `cyclictest -q`."""
    fields: dict[str, object] = {"count": count, "min": least, "mean": mean, "max": most}
    fields |= {"histogram": Histogram(layout="none", buckets=[], overflow=count)}
    return _series(**({"stddev": None, "step": US} | fields | changed))


def only_mean(mean: float = 1200.0, name: str = "switch") -> Series:
    """A mean of values whose count the file does not say, as Zephyr's benchmark prints it."""
    return bare(
        1,
        least=None,
        mean=mean,
        most=None,
        name=name,
        labels={"thread": "k_to_k"},
        derived="mean of values whose count the file does not say",
        histogram=Histogram(layout="none", buckets=[], overflow=1, is_cut=True),
    )


NO_LOAD_SAID = Loss(what="conditions", text="The file does not say what load was running.")


def imported_result(*series: Series, test: str = "TMR-P-LAT", **changed: object) -> Result:
    fields: dict[str, object] = {
        "test": test,
        "status": "measured",
        "conditions": Conditions(policy="fifo", priority=90, realtime=True),
        "series": list(series),
        "duration_ns": 8_000_000_000,
    }
    return Result(**(fields | changed))


def imported_run(
    *series: Series,
    tool: str = "cyclictest",
    version: str | None = "2.40",
    form: str = "histogram file",
    command: str | None = "cyclictest -m -S -p 90 -i 500 -D 8 -q -h 1000",
    losses: Sequence[Loss] = (NO_LOAD_SAID,),
    unknown: Mapping[str, str] | None = None,
    result: Result | None = None,
    system: Mapping[str, Scalar] | None = None,
    **changed: object,
) -> RunDocument:
    """A run of one result with `series`, or with `result`; graded as an import grades it."""
    fields: dict[str, object] = {
        "schema": RUN_SCHEMA,
        "id": "20261121T032200Z-1a2b3c",
        "name": "cyclictest-hist",
        "started_utc": "2026-11-21T03:22:00Z",
        "finished_utc": "2026-11-21T03:22:00Z",
        "status": "complete",
        "trust": Trust(grade="indicative"),
        "tool": Tool(version="0.1.0"),
        "system": dict(system or {}),
        "plan": Plan(name="cyclictest-hist", profile="imported", target="imported", tests=[]),
        "instrument": None,
        "results": [result or imported_result(*series)],
        "imported": Imported(
            tool=tool,
            version=version,
            format=form,
            file="cyclictest-hist.txt",
            sha256="0" * 64,
            size_bytes=4096,
            command=command,
            losses=list(losses),
            unknown=dict(unknown or {}),
        ),
    }
    document = RunDocument(**(fields | changed))
    document.trust = grade_run(document)
    return document
