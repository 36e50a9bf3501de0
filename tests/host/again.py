"""What is done again where others of this machine, or its host, can spoil it; and still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.running import ATTEMPTS, Stream, run

QUIET_ATTEMPTS = 8  # where a host spoils every third, all of them once in 6561

NOISE = (
    "what else keeps the CPU from running at that moment (the host of a virtual machine, another "
    "real-time program) cannot be told from what is looked for: done again"
)


def until_quiet(attempt: Callable[[], list[str]]) -> None:
    """Passes when one of the attempts gives no complaints; NOISE says why there are some."""
    complaints: list[list[str]] = []
    while len(complaints) < QUIET_ATTEMPTS:
        complaints.append(attempt())
        if not complaints[-1]:
            return
    pytest.fail(f"each of {QUIET_ATTEMPTS} attempts: {complaints} ({NOISE})")


def unless_within(what: str, got: float, least: float, most: float) -> list[str]:
    return [] if least <= got <= most else [f"{what} is {got}, not {least} to {most}"]


def unless_same(what: str, got: object, wanted: object) -> list[str]:
    return [] if got == wanted else [f"{what}: {got}, not {wanted}"]


def in_every_run(look: Callable[[], set[str]], expected: set[str] | None = None) -> set[str]:
    """What is found each time, until that is as expected (nothing, else). A host that stretches
    a slice or a round adds to some of the runs; what is wrong is in all."""
    always = look()
    for _ in range(1, ATTEMPTS):
        if always == (expected or set()):
            break
        always &= look()
    return always


def undisturbed(
    probe: Path, words: Sequence[str], quick: Sequence[str], **variables: str
) -> Stream:
    """A run into which nobody else on this machine has cut, as its result asks."""
    stream = run(probe, *words, *quick, variables=variables)
    assert stream.code == stream.told_code, stream.stderr
    assert "throttled" not in stream.events, stream.events["throttled"].text
    return stream
