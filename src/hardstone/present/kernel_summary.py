"""KRN-P-PRE in a line: the operations that make others wait longest, and HP's figure."""

from __future__ import annotations

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument
from hardstone.present.quantile_text import level_text, quantile_value
from hardstone.present.section_text import length_text, percent
from hardstone.present.wording import shorten
from hardstone.stats.conditions import listed, names_in
from hardstone.stats.kernel_operations import KernelTime, kernel_time_of
from hardstone.stats.section_time import SectionLength

_MOST_LINES = 2


def kernel_lines(document: RunDocument) -> list[tuple[str, str]]:
    """A line for each result of KRN-P-PRE that has figures, as (result, text)."""
    names = names_in(document)
    told = [(names.name(one), _line(one)) for one in document.results]
    return [(who, text) for who, text in told if text][:_MOST_LINES]


def _line(result: Result) -> str:
    try:
        found = kernel_time_of(result)
    except InputError:  # the run is shown as contradictory
        return ""
    return summary(found) if found else ""


def summary(found: KernelTime) -> str:
    """ "worst at p99: exit 289 us; 90 % of kernel time in sections shorter than 149 us, ..."."""
    parts = [one for one in (_worst(found),) if one]
    lengths = found.whole.blocking.lengths if found.whole.blocking else {}
    known = {q: one for q, one in lengths.items() if one is not None}
    if known:
        shares = ", ".join(f"{percent(q)} in sections {_shorter(one)}" for q, one in known.items())
        parts.append(f"of kernel time {shares}")
    return "; ".join(parts)


def _worst(found: KernelTime) -> str:
    """The operations of the first rank. One that is like the reference is never among them."""
    first = [one for one in found.operations if one.rank == 1]
    level = level_text(found.q)
    if not first:
        is_any_like = any(one.is_like_reference for one in found.operations)
        return (
            f"at {level} no operation is distinguishable from the reference" if is_any_like else ""
        )
    are = listed(shorten(one.name, 24) for one in first)
    alike = ", not distinguishable" if len(first) > 1 else ""
    is_compared = found.reference is not None and found.reference.quantile is not None
    alone = "" if is_compared else ", without a reference"
    return f"worst at {level}: {are} ({quantile_value(first[0].quantile, 'ns')}{alike}{alone})"


def _shorter(one: SectionLength) -> str:
    """ "< 149 us", with what says that a few releases made it."""
    text = length_text(one) if one.is_below else f"< {length_text(one)}"
    return text if one.high_ns is not None else f"{text} (unbounded at 95 %)"
