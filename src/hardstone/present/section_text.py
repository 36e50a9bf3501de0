"""Lengths of sections as text: a value, "< 598 ns" where it is below what can be told."""

from __future__ import annotations

from hardstone.present.wording import range_text
from hardstone.stats.section_time import SectionLength
from hardstone.units import format_ns

NOT_KNOWN = "-"


def length_text(one: SectionLength | None) -> str:
    """ "187 us", "< 598 ns", "-" where there are too few releases."""
    if one is None:
        return NOT_KNOWN
    return f"< {format_ns(one.value_ns)}" if one.is_below else format_ns(one.value_ns)


def whole_length(one: SectionLength | None) -> str:
    """Both on one line: "187 us (160 to 204 us)"."""
    return NOT_KNOWN if one is None else f"{length_text(one)} ({length_interval(one)})"


def percent(share: float) -> str:
    """ "95 %"."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def length_interval(one: SectionLength | None) -> str:
    """ "160 to 204 us", "0 to 690 ns", "95.2 us to unbounded"; empty for None."""
    if one is None:
        return ""
    high = "unbounded" if one.high_ns is None else format_ns(one.high_ns)
    return range_text(format_ns(one.low_ns) if one.low_ns else "0", high)


def rate_text(per_s: float) -> str:
    """ "7500 /s", "0.33 /s": two digits, no more than the rate has."""
    if per_s < 10:
        return f"{per_s:.2g} /s"
    digits = len(str(round(per_s))) - 2
    return f"{round(per_s, -digits):.0f} /s"
