"""A figure as pages show it."""

from __future__ import annotations

import msgspec

from hardstone.present.wording import amount_text, number_text
from hardstone.systems.subjects import Amount, Missing

BRIEF_CHARACTERS = 32


class ShownFigure(msgspec.Struct, frozen=True):
    """A figure as it is shown. `value`: the exact number, "" of one that is missing; `bound` is
    "below" or "above" for a bound; `source` says where it is from, or why it is missing."""

    text: str
    value: str = ""
    bound: str = ""
    source: str = ""

    @property
    def is_missing(self) -> bool:
        return not self.value


def shown_figure(amount: Amount | Missing, *, is_exact: bool) -> ShownFigure:
    """`is_exact`: with all digits, as a study printed it."""
    return shown_beside(amount, is_exact, None)


def shown_beside(amount: Amount | Missing, is_exact: bool, source: str | None) -> ShownFigure:
    """Without where it is from, where that is `source` and its own statistic."""
    if isinstance(amount, Missing):
        return ShownFigure(amount.reason, source=amount.remedy)
    number = next((n for n in (amount.value, amount.below, amount.above) if n is not None), None)
    bound = "" if amount.value is not None else "below" if amount.below is not None else "above"
    text = amount_text(amount, is_exact=is_exact)
    notes = f" ({'; '.join(amount.notes)})" if amount.notes else ""
    said = f"{amount.source}{notes}"
    is_said = source is not None and said == f"{source} {amount.statistic}"
    return ShownFigure(text, number_text(number), bound, "" if is_said else said)
