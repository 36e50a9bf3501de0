"""Explains exit codes 3 and 5 of a run in one line, with the command to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hardstone.calling import grant_commands
from hardstone.cli.messages import tell
from hardstone.doctor import doctor_command
from hardstone.errors import EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY
from hardstone.model import RunDocument, Scalar
from hardstone.targets.base import Target


def tell_code(
    code: int, document: RunDocument, facts: Mapping[str, Scalar], target: Target
) -> None:
    """Explains exit codes that `make` reports as an error although the run is stored."""
    if code == EXIT_PRIVILEGE:
        _tell_denied(document, grantable_probe(facts, target))
    elif code == EXIT_UNTRUSTWORTHY:
        tell(f"exit code {code}: {_untrustworthy(document)}")


def grantable_probe(facts: Mapping[str, Scalar], target: Target) -> str | None:
    """The executable to which capabilities would give the missing rights; None if they would not.

    The probe says what refuses a right, and whether its file's capabilities would take effect.
    """
    is_lacking = (
        facts.get("limits.realtime_cause") == "capability"
        if facts.get("limits.can_realtime") is False
        else facts.get("limits.can_lock") is False
    )
    return target.probe_path() if is_lacking and facts.get("user.can_use_setcap") is True else None


def _tell_denied(document: RunDocument, probe: str | None) -> None:
    denied = sum(result.status == "denied" for result in document.results)
    text = f"exit code {EXIT_PRIVILEGE}: {_of_tests(denied, document)} denied a right or facility"
    if probe is None:
        told = "its result says what to do, and the doctor what grants rights"
        tell(f"{text}; {told}", doctor_command(document.plan.target))
    else:
        tell(f"{text}; grant the probe its rights, then measure again", *grant_commands(probe))


def _untrustworthy(document: RunDocument) -> str:
    if document.trust.grade == "untrustworthy":
        return f"the figures are not trustworthy: {document.trust.reasons[0]}"
    lacking = Counter(
        one.status if one.status != "measured" else "incomplete"
        for one in document.results
        if one.status != "measured" or not one.complete
    )
    kinds = ", ".join(f"{count} {status}" for status, count in lacking.items())
    return f"{_of_tests(lacking.total(), document)} not completed ({kinds})"


def _of_tests(count: int, document: RunDocument) -> str:
    total = len(document.results)
    return f"{count} of {total} measurements {'was' if count == 1 else 'were'}"
