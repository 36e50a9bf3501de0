"""From a finished run to an exit code and to advice."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.doctor import realtime_refusal
from hardstone.errors import (
    EXIT_GATE,
    EXIT_INTERRUPTED,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    worst_code,
)
from hardstone.event_names import THRESHOLD
from hardstone.model import Result, RunDocument, Scalar
from hardstone.stats.trust import has_run

_GRANTED_BEFORE = "before the run it was granted; the notes of the results name what refused it"


def exit_code(
    document: RunDocument, *, is_target_gone: bool = False, is_broken: bool = False
) -> int:
    """0 only if every requested test was measured and can be trusted.

    `is_target_gone`: it cannot be reached, or its probe does not answer. `is_broken`: the probe
    sent something else than a stream, which is bad input. A behaviour that fails is a finding about
    the system and not an error.
    """
    results = document.results
    is_whole = all(map(is_measured, results))
    applies = {
        EXIT_INTERRUPTED: document.status == "interrupted",
        EXIT_UNREACHABLE: is_target_gone,
        EXIT_USAGE: is_broken,
        EXIT_GATE: any(map(crossed_threshold, results)),
        EXIT_PRIVILEGE: any(map(_is_denied, results)),
        EXIT_UNTRUSTWORTHY: not is_whole or document.trust.grade == "untrustworthy",
    }
    return worst_code(code for code, is_so in applies.items() if is_so)


def standing_code(document: RunDocument) -> int:
    """What all parts of a resumed run say together; how its last one ended is another matter."""
    is_crossed = any(map(crossed_threshold, document.results))
    is_doubtful = document.trust.grade == "untrustworthy"
    return worst_code(
        code
        for code, is_so in ((EXIT_GATE, is_crossed), (EXIT_UNTRUSTWORTHY, is_doubtful))
        if is_so
    )


def is_measured(result: Result) -> bool:
    """Whether the test ran to its end and everything it sent arrived."""
    return result.status == "measured" and result.complete


def crossed_threshold(result: Result) -> bool:
    """Whether a value passed the limit that the user gave, which is a failed gate; also where
    measuring went on."""
    is_event = any(event.name == THRESHOLD for event in result.events)
    return is_event and (result.status == "measured" or result.complete)


def realtime_advice(
    document: RunDocument, facts: Mapping[str, Scalar], probe_path: str | None
) -> list[str]:
    """What to grant if tests ran without the real-time scheduling that was requested."""
    is_refused = facts.get("limits.can_realtime") is False
    is_lacking = any(
        result.conditions.realtime is False
        if has_run(result)
        else is_refused and _is_denied(result)
        for result in document.results
    )
    if document.plan.policy == "other" or not is_lacking:
        return []
    refusal = realtime_refusal(facts, probe_path or "hardstone-probe")
    if refusal is None:
        return [f"not scheduled as real-time: {_GRANTED_BEFORE}"]
    steps = [f"type: {one.command}" if one.command else one.words for one in refusal.steps[:1]]
    reason = facts.get("limits.realtime_reason")
    return ["not scheduled as real-time: " + "; ".join(map(str, filter(None, [reason, *steps])))]


def _is_denied(result: Result) -> bool:
    return result.status == "denied"
