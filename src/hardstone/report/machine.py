"""Facts about the machine by topic, what moved, and the instrument."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import Instrument, Moved, Result, Scalar
from hardstone.report.text import fact_text
from hardstone.units import format_count, format_ns

Rows = list[tuple[str, str]]


def fact_groups(system: Mapping[str, Scalar]) -> list[tuple[str, Rows]]:
    """Facts grouped by what stands before the first dot, in the order they came."""
    groups: dict[str, Rows] = {}
    for name, value in system.items():
        topic, dot, rest = name.partition(".")
        group = groups.setdefault(topic if dot else "other", [])
        group.append((rest if dot else topic, fact_text(name, value)))
    return list(groups.items())


def moved_rows(moved: list[Moved]) -> list[tuple[str, str, str]]:
    """Facts that differed at the end: (name, before, after)."""
    return [(m.fact, fact_text(m.fact, m.before), fact_text(m.fact, m.after)) for m in moved]


def instrument_rows(instrument: Instrument) -> Rows:
    """What the probe found out about its own clock."""
    reason = f" ({instrument.reason})" if instrument.reason else ""
    pair = instrument.pair
    found = [
        ("Clock", instrument.clock),
        ("Counter trusted", ("yes" if instrument.trusted else "no") + reason),
        ("Counter frequency", _frequency(instrument.counter_hz)),
        ("Calibration, spread of anchors", _ppb(instrument.calibration_ppb)),
        ("Drift from start to end", _ppb(instrument.drift_ppb)),
        ("Quantum (smallest step)", f"{instrument.quantum_ns:.4g} ns"),
        ("Empty pair of time stamps, median", format_ns(pair.median)),
        ("minimum", format_ns(pair.min)),
        ("mean", format_ns(pair.mean)),
        ("99 %", format_ns(pair.p99)),
        ("worst observed", f"{format_ns(pair.max)} in {format_count(pair.count)}"),
        ("Cost of recording a value", f"{instrument.record_step_ns:.3g} ns"),
        ("Perturbation (loop with and without)", f"{instrument.perturbation_ns:.3g} ns"),
    ]
    return [(name, value) for name, value in found if value]


def skew_rows(instrument: Instrument) -> list[tuple[str, str, str, str]]:
    """Offset between counters: (CPUs, offset, bound, whether the interval holds 0)."""
    return [
        (
            f"{skew.cpu_a} to {skew.cpu_b}",
            f"{skew.offset_ns:.1f} ns",
            f"+-{skew.bound_ns:.1f} ns",
            "consistent" if skew.consistent else "INCONSISTENT: cross-CPU figures are void",
        )
        for skew in instrument.skew
    ]


def instruments_by_test(results: list[Result]) -> list[tuple[str, ...]]:
    """Pair cost and drift as each test found them: (test, clock, median, 99 %, max, drift)."""
    return [
        (
            result.test,
            result.instrument.clock,
            format_ns(result.instrument.pair.median),
            format_ns(result.instrument.pair.p99),
            format_ns(result.instrument.pair.max),
            _ppb(result.instrument.drift_ppb) or "-",
        )
        for result in results
        if result.instrument is not None
    ]


def _frequency(hertz: int | None) -> str:
    return f"{hertz / 1e6:.6f} MHz" if hertz else ""


def _ppb(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f} ppb"
