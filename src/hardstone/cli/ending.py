"""Explains exit codes 3 and 5 of a run in one line, with the command to type next."""

from __future__ import annotations

import os
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

    Root has all capabilities. A container, or a control group without budget, refuses the rights
    all the same. A file system mounted nosuid ignores the capabilities of files.
    """
    path = target.probe_path()
    user = facts.get("user.effective_id")
    is_ordinary = isinstance(user, int) and user > 0
    is_lacking = False in (facts.get("limits.can_realtime"), facts.get("limits.can_lock"))
    is_withheld = (
        facts.get("virtual.container") is not None
        or facts.get("limits.group_rt_runtime_us") == 0
        or facts.get("probe.port", "linux") != "linux"
    )
    if path is None or not (is_ordinary and is_lacking) or is_withheld:
        return None
    try:
        return None if os.statvfs(path).f_flag & os.ST_NOSUID else path
    except OSError:
        return None


def _tell_denied(document: RunDocument, probe: str | None) -> None:
    denied = sum(result.status == "denied" for result in document.results)
    text = f"exit code {EXIT_PRIVILEGE}: {_of_tests(denied, document)} denied a right or facility"
    if probe is None:
        tell(f"{text}; the doctor says what grants it", doctor_command(document.plan.target))
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
