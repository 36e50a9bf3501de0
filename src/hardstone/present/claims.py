"""Claims about behaviour: their verdicts, and whether they count for a rating."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.catalogue import load_catalogue
from hardstone.model import Descriptor, Verdict
from hardstone.present.wording import spoken


@dataclass(frozen=True)
class Claim:
    """A verdict with the text of its claim from the register.

    `uncounted`: why it does not count for a rating; empty if it counts.
    """

    name: str
    claim: str
    passed: bool
    evidence: str
    uncounted: str = ""

    @property
    def word(self) -> str:
        if self.passed:
            return "pass"
        return "fail" if self.uncounted else "FAIL"

    @property
    def look(self) -> str:
        """The CSS class of the verdict."""
        if self.passed:
            return "passed"
        return "uncounted" if self.uncounted else "failed"


def claim_of(verdict: Verdict, test: str, spec: Descriptor | None = None) -> Claim:
    """A verdict of `test` as a claim. `spec`: the descriptor of the test, if known."""
    known = {one.name: one.claim for one in spec.verdicts} if spec else {}
    name, slash, case = verdict.name.partition("/")
    shown = f"{spoken(name)}{slash and ': '}{case}"
    uncounted = load_catalogue().entry(test).why_uncounted(verdict.name)
    return Claim(shown, known.get(name, ""), verdict.passed, verdict.evidence, uncounted)


def claims_text(claims: list[Claim]) -> str:
    """How many claims hold or failed, in a few words."""
    looks = [one.look for one in claims]
    failed, uncounted = looks.count("failed"), looks.count("uncounted")
    if failed:
        return f"{failed} of {len(looks)} claims failed"
    if uncounted:
        held = len(looks) - uncounted
        return f"{held} of {len(looks)} claims hold, the others do not count for a rating"
    return f"{len(looks)} claims hold"
