"""Facts about the machine by topic, facts that changed, and the instrument."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.facts import load_facts
from hardstone.model import Instrument, Moved, RunDocument, Scalar
from hardstone.present.wording import fact_text
from hardstone.stats.conditions import names_in
from hardstone.units import format_count, format_ns

Rows = list[tuple[str, str]]


def fact_groups(system: Mapping[str, Scalar]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Facts (name, value, meaning) grouped by the part before the first dot, in order of arrival.
    The meaning is empty if the register does not have the fact."""
    known = load_facts()
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, value in system.items():
        topic, dot, rest = name.partition(".")
        group = groups.setdefault(topic if dot else "other", [])
        meaning = known[name].meaning if name in known else ""
        group.append((rest if dot else topic, fact_text(name, value), meaning))
    return list(groups.items())


def moved_rows(moved: list[Moved]) -> list[tuple[str, str, str]]:
    """Facts that differed at the end: (name, before, after)."""
    return [(m.fact, fact_text(m.fact, m.before), fact_text(m.fact, m.after)) for m in moved]


def instrument_rows(instrument: Instrument) -> Rows:
    """What the probe measured about its own clock."""
    reason = f" ({instrument.reason})" if instrument.reason else ""
    found = [
        ("Clock", instrument.clock),
        ("Counter trusted", ("yes" if instrument.trusted else "no") + reason),
        ("Counter frequency", _frequency(instrument.counter_hz)),
        ("Calibration, spread of anchors", _ppb(instrument.calibration_ppb)),
        ("Drift from start to end", _ppb(instrument.drift_ppb)),
        ("Quantum (smallest step)", f"{instrument.quantum_ns:.4g} ns"),
        ("Cost of recording a value", f"{instrument.record_step_ns:.3g} ns"),
        ("Perturbation (loop with and without)", f"{instrument.perturbation_ns:.3g} ns"),
    ]
    return [(name, value) for name, value in found if value]


def skew_rows(instrument: Instrument) -> list[tuple[str, str, str, str]]:
    """Offset between counters: (CPUs, offset, bound, whether the interval contains 0)."""
    return [
        (
            f"{skew.cpu_a} to {skew.cpu_b}",
            f"{skew.offset_ns:.1f} ns",
            f"+-{skew.bound_ns:.1f} ns",
            "consistent" if skew.consistent else "INCONSISTENT: cross-CPU figures are invalid",
        )
        for skew in instrument.skew
    ]


def pair_rows(document: RunDocument) -> list[tuple[str, ...]]:
    """Cost of an empty pair of time stamps, for the run and for each test."""
    owned = [("whole run", document.instrument)]
    names = names_in(document)
    owned += [(names.name(result), result.instrument) for result in document.results]
    return [_pair_row(owner, found) for owner, found in owned if found is not None]


def _pair_row(owner: str, instrument: Instrument) -> tuple[str, ...]:
    pair = instrument.pair
    return (
        owner,
        instrument.clock,
        format_ns(pair.median),
        format_ns(pair.min),
        format_ns(pair.mean),
        format_ns(pair.p99),
        format_ns(pair.max),
        format_count(pair.count),
        _ppb(instrument.drift_ppb) or "-",
    )


def _frequency(hertz: int | None) -> str:
    return f"{hertz / 1e6:.6f} MHz" if hertz else ""


def _ppb(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f} ppb"
