"""A run as metrics, for the text-file collector of the node exporter.

The text is OpenMetrics 1.0 and Prometheus' text format 0.0.4 at once: only gauges and classic
histograms, no time stamps (the collector refuses them), and `# EOF`, which the older format takes
for a comment. Times are in seconds. Source: the OpenMetrics specification 1.0.0, the text format
0.0.4 of Prometheus, and the README of node_exporter.

A bucket of a histogram counts the values that are known to be at most `le`: values of a bucket of
ours that `le` cuts, and values past our last bucket, are counted above it. So no share below a
limit is larger than measured (docs/decisions/0071). Of rates it counts those that may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hardstone.exporters.exportable import (
    Held,
    LeftOut,
    held_series,
    of_other_time,
    why_no_distribution,
)
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import Result, RunDocument, Series, TrustGrade, Unit
from hardstone.stats.conditions import listed
from hardstone.stats.consistency import why_not_comparable_to_hardware
from hardstone.stats.histogram import above, bins_of
from hardstone.stats.identity import NO_DISTRIBUTION, highest_of
from hardstone.stats.quantiles import summarise
from hardstone.wording import is_rate, one_line

Labels = Mapping[str, str]
_GRADES: tuple[TrustGrade, ...] = ("full", "indicative", "untrustworthy")
_NS = 1e9


def _ladder(first: int, last: int) -> tuple[int, ...]:
    """1, 2 and 5 of each power of ten from 10**first on, and 10**last."""
    steps = (digit * 10**power for power in range(first, last) for digit in (1, 2, 5))
    return (*steps, 10**last)


@dataclass(frozen=True)
class _Quantity:
    """How the series of one unit are named. `ladder` has the limits of the buckets, in the unit of
    the series; `divisor` makes the base unit of them."""

    name: str
    suffix: str
    what: str
    ladder: tuple[int, ...]
    divisor: float = 1.0

    def metric(self, statistic: str = "") -> str:
        middle = f"_{statistic}" if statistic else ""
        return f"hardstone_{self.name}{middle}{self.suffix}"


# The limits are the same for every run, so that a series of Prometheus goes on with the next run.
_QUANTITIES: dict[Unit, _Quantity] = {
    "ns": _Quantity("duration", "_seconds", "Durations", _ladder(2, 10), _NS),
    "count": _Quantity("amount", "", "Amounts", (0, *_ladder(0, 6))),
    "bytes_per_s": _Quantity("rate", "_bytes_per_second", "Rates", _ladder(3, 11)),
}


@dataclass
class _Families:
    """Lines of each metric: those of one metric stand together, each once for the same labels."""

    kinds: dict[str, tuple[str, str]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)

    def declare(self, name: str, kind: str, text: str) -> list[str]:
        self.kinds[name] = (kind, text)
        return self.lines.setdefault(name, [])

    def gauge(self, name: str, text: str, labels: Labels, value: float) -> None:
        self.declare(name, "gauge", text).append(f"{name}{_labels(labels)} {_number(value)}")

    def text(self) -> str:
        parts = []
        for name, (kind, text) in self.kinds.items():
            parts += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *self.lines[name]]
        return "".join(f"{line}\n" for line in [*parts, "# EOF"])


def export_openmetrics(documents: Sequence[RunDocument], _: Wanted) -> Exported:
    """The metrics of one run; series whose figures cannot be true are left out."""
    (document,) = documents
    families, left, partly = _Families(), LeftOut(), LeftOut("a histogram")
    _add_run(families, document)
    lost = [*of_other_time(document), *_add_claims(families, document)]
    seen: set[str] = set()
    for held in held_series(document, left):
        labels = _series_labels(document, held)
        key = held.series.unit + _labels(labels)
        if key in seen:
            left.add(held, "same labels as another")
            continue
        seen.add(key)
        _add_series(families, held, labels, partly)
    lost += [*left.sentences(), *partly.sentences()]
    return Exported(families.text().encode(), lost)


def _add_run(families: _Families, document: RunDocument) -> None:
    facts = document.system
    imported = document.imported
    labels = {
        "target": _target(document),
        "run": document.id,
        "name": document.name,
        "tool": "hardstone" if imported is None else imported.tool,
        "version": document.tool.version if imported is None else imported.version,
        "profile": document.plan.profile,
        "status": document.status,
        "kernel": facts.get("kernel.release"),
        "preemption": facts.get("kernel.preemption"),
        "machine": facts.get("machine.cpu_model") or facts.get("machine.arch"),
        "hypervisor": facts.get("virtual.hypervisor"),
        "incomparable": why_not_comparable_to_hardware(document),
    }
    known = {
        name: one_line(str(value)) for name, value in labels.items() if value not in (None, "")
    }
    families.gauge("hardstone_run_info", "The run that all metrics are of.", known, 1)
    target = _target_labels(document)
    started = datetime.fromisoformat(document.started_utc).timestamp()
    text = "When the run started: metrics of the text-file collector have no time stamp."
    families.gauge("hardstone_run_started_timestamp_seconds", text, target, started)
    for grade in _GRADES:
        text = "1 for the trust grade of the run, 0 for the others."
        is_grade = float(document.trust.grade == grade)
        families.gauge("hardstone_run_trust", text, {**target, "grade": grade}, is_grade)


def _add_claims(families: _Families, document: RunDocument) -> list[str]:
    """What was measured, and which verdicts passed; of several with the same labels the worst.
    Returns a sentence for each metric of which there are several."""
    measured, passed = _Claims("hardstone_test_measured"), _Claims("hardstone_verdict_passed")
    for result in document.results:
        labels = _result_labels(document, result)
        is_whole = result.complete and not result.interrupted
        measured.add(labels, result.test, result.status == "measured" and is_whole)
        for verdict in result.verdicts:
            named = {**labels, "verdict": one_line(verdict.name)}
            passed.add(named, f"{result.test}/{verdict.name}", verdict.passed)
    text = "1 if the test was measured to its end, 0 if it failed or could not run."
    measured.write(families, text)
    passed.write(families, "1 if the claim about behaviour holds, 0 if it does not.")
    return [*measured.sentences(), *passed.sentences()]


@dataclass
class _Claims:
    """Values of a metric that are 1 or 0, by their labels, and what each is of."""

    metric: str
    found: dict[str, tuple[Labels, str, list[bool]]] = field(default_factory=dict)

    def add(self, labels: Labels, what: str, holds: bool) -> None:
        self.found.setdefault(_labels(labels), (labels, what, []))[2].append(holds)

    def write(self, families: _Families, text: str) -> None:
        for labels, _, held in self.found.values():
            families.gauge(self.metric, text, labels, float(all(held)))

    def sentences(self) -> Iterator[str]:
        """ "METRIC is the worst of several results with the same labels: A (1 of 3 failed)"."""
        names = [
            f"{what} ({held.count(False) or 'none'} of {len(held)} failed)"
            for _, what, held in self.found.values()
            if len(held) > 1
        ]
        if names:
            several = "the worst of several results with the same labels"
            yield f"{self.metric} is {several}: {listed(names)}"


def _add_series(families: _Families, held: Held, labels: Labels, partly: LeftOut) -> None:
    series, quantity = held.series, _QUANTITIES[held.series.unit]
    if series.histogram.is_cut is not True:
        _add_counts(families, series, labels)
    figures = {
        ("min", "Smallest value"): series.min,
        ("mean", "Mean"): series.mean,
        ("max", "Largest value observed"): highest_of(series),
    }
    for (statistic, word), value in figures.items():
        if value is not None:
            name = quantity.metric(statistic)
            families.gauge(name, f"{word} of a series.", labels, value / quantity.divisor)
    _add_quantiles(families, series, quantity, labels)
    why = _why_no_histogram(series)
    if why:
        partly.add(held, why)
        return
    _add_histogram(families, series, quantity, labels)


def _why_no_histogram(series: Series) -> str:
    """Why a histogram would be refused by a reader, or lie; "" where it would not."""
    if why := why_no_distribution(series):
        return why
    if series.mean is None:
        return "the file has no mean"
    bins = bins_of(series.histogram)
    has_negative = bins.underflow > 0 or bool((bins.lower < 0).any())
    return "values below 0, so the sum is no counter" if has_negative else ""


def _add_counts(families: _Families, series: Series, labels: Labels) -> None:
    families.gauge("hardstone_values", "Number of values of a series.", labels, series.count)
    if series.histogram.layout == NO_DISTRIBUTION:
        return
    outside = {"underflow": series.histogram.underflow, "overflow": series.histogram.overflow}
    for name, count in outside.items():
        text = f"Values of a series {'below' if name == 'underflow' else 'past'} all buckets."
        families.gauge(f"hardstone_{name}_values", text, labels, count)


def _add_quantiles(
    families: _Families, series: Series, quantity: _Quantity, labels: Labels
) -> None:
    for one in summarise(series).quantiles:
        if one.value is not None:
            named = {**labels, "q": f"{one.q:.8g}"}
            text = "Quantile of a series: upper edge of its bucket."
            value = one.value / quantity.divisor
            families.gauge(quantity.metric("quantile"), text, named, value)


def _add_histogram(
    families: _Families, series: Series, quantity: _Quantity, labels: Labels
) -> None:
    name = quantity.metric()
    known = "that may be" if is_rate(series.unit) else "known to be"
    text = f"{quantity.what} of a series; a bucket counts the values {known} at most le."
    lines = families.declare(name, "histogram", text)
    at_most = 0
    for limit in quantity.ladder:
        at_most = max(at_most, _at_most(series, limit))
        named = {**labels, "le": _number(limit / quantity.divisor)}
        lines.append(f"{name}_bucket{_labels(named)} {at_most}")
    lines.append(f"{name}_bucket{_labels({**labels, 'le': '+Inf'})} {series.count}")
    total = (series.mean or 0.0) * series.count / quantity.divisor
    lines.append(f"{name}_sum{_labels(labels)} {_number(total)}")
    lines.append(f"{name}_count{_labels(labels)} {series.count}")


def _at_most(series: Series, limit: int) -> int:
    """The least that the number of values up to `limit` can be; of rates, which are worse where
    they are lower, the most."""
    found = above(series, limit)
    if is_rate(series.unit):
        return series.count - found.low
    return 0 if found.high is None else series.count - found.high


def _target_labels(document: RunDocument) -> dict[str, str]:
    """What was measured, and by which tool if not by hardstone."""
    labels = {"target": one_line(_target(document))}
    if document.imported is not None:
        labels["tool"] = one_line(document.imported.tool)
    return labels


# What boards are called whose hostname nobody set.
_NO_NODE = frozenset({"", "(none)", "localhost", "localhost.localdomain"})


def _target(document: RunDocument) -> str:
    """The target of a plan. A file of another tool has none: its machine, else the run's name, so
    that the files of two boards have different labels."""
    if document.imported is None:
        return document.plan.target
    node = one_line(str(document.system.get("machine.node") or ""))
    return document.name if node in _NO_NODE else node


def _result_labels(document: RunDocument, result: Result) -> dict[str, str]:
    """Target and conditions, without the run: the next run goes on with the same series."""
    where = result.conditions
    labels = {
        "test": result.test,
        "load": where.load,
        "cpu_config": where.cpu_config,
        "preemption": where.preemption,
        "settings": ",".join(where.settings),
    }
    known = {name: one_line(value) for name, value in labels.items() if value}
    return {**_target_labels(document), **known}


_OURS = frozenset(
    {
        *("target", "tool", "test", "load", "cpu_config", "preemption", "settings", "series"),
        *("le", "q", "quantile", "verdict"),
    }
)
_FIT = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*", re.ASCII)
_UNFIT = re.compile(r"[^a-zA-Z0-9_]", re.ASCII)


def _series_labels(document: RunDocument, held: Held) -> dict[str, str]:
    labels = _result_labels(document, held.result)
    labels["series"] = one_line(held.series.name)
    for own, value in held.series.labels.items():
        name = own if _FIT.fullmatch(own) and own not in _OURS else f"label_{_UNFIT.sub('_', own)}"
        while name in labels:
            name += "_"
        labels[name] = one_line(str(value))
    return labels


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    """As Go writes it in the shortest form: "1e-06", "0.0001", "10.0"."""
    return repr(float(value))
