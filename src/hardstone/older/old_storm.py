"""Names the load of a run from before the element `messages` as it was measured.

The mix `storm` was without that element then, and a load of today with the same name is another
one. What each result reached says which of them it was. Pure.
"""

from __future__ import annotations

import msgspec

from hardstone.model import PlannedTest, Result, RunDocument

_FOREIGN = "stress-ng:"
_MIX, _EACH = "storm", "@cpu"
_NEW = "messages"
_OPTION = "--load"


def storm_as_measured(document: RunDocument) -> RunDocument:
    """`document`, with its storm written out if one of its results had it without `messages`."""
    if not any(map(_had_old_storm, document.results)):
        return document
    plan = msgspec.structs.replace(
        document.plan,
        load=_written_out(document.plan.load),
        loads=[_written_out(load) for load in document.plan.loads],
        tests=[_with_load(test) for test in document.plan.tests],
        command=_command(document.plan.command),
    )
    for result in document.results:
        where = result.conditions
        where.load = None if where.load is None else _written_out(where.load)
    reasons = [_reason(text, document.plan.loads) for text in document.trust.reasons]
    trust = msgspec.structs.replace(document.trust, reasons=reasons)
    return msgspec.structs.replace(document, plan=plan, trust=trust)


def _had_old_storm(result: Result) -> bool:
    elements = {one.element for one in result.load}
    has_mix = {_MIX, _MIX + _EACH} & set(_terms(result.conditions.load or ""))
    return bool(has_mix and elements and _NEW not in elements)


def _terms(load: str) -> list[str]:
    return load.partition(_FOREIGN)[0].rstrip("+").split("+")


def _written_out(loads: str) -> str:
    """A load, or loads joined by commas; options of stress-ng stay."""
    head, marker, options = loads.partition(_FOREIGN)
    written = ["+".join(map(_term, load.split("+"))) for load in head.split(",")]
    return ",".join(written) + marker + options


def _term(term: str) -> str:
    """In the one form that the plan writes."""
    if term not in (_MIX, _MIX + _EACH):
        return term
    each = term.removeprefix(_MIX)
    return f"heavy{each}+storm=240{each}+build=1{each}+kernel{each}"


def _with_load(test: PlannedTest) -> PlannedTest:
    return msgspec.structs.replace(test, load=_written_out(test.load))


def _command(words: list[str]) -> list[str]:
    pairs = zip(["", *words], words, strict=False)
    return [_written_out(word) if before == _OPTION else word for before, word in pairs]


def _reason(text: str, loads: list[str]) -> str:
    """Reasons name a test by its load where a run has several: "TMR-P-LAT [storm, shared]"."""
    for load in loads:
        for end in (",", "]"):
            text = text.replace(f"[{load}{end}", f"[{_written_out(load)}{end}")
    return text
