"""What is done again where others of this machine, or its host, can spoil it; and still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.e2e.running import Stream, run

ATTEMPTS = 3
STOLEN_NS = 20_000_000
NOISE = (
    "what else keeps the CPU from running at that moment (the host of a virtual machine, another "
    "real-time program) cannot be told from what is looked for: done again, at most twice"
)


def until_quiet(attempt: Callable[[], list[str]]) -> None:
    """Passes when one of the attempts gives no complaints; NOISE says why there are some."""
    complaints: list[list[str]] = []
    while len(complaints) < ATTEMPTS:
        complaints.append(attempt())
        if not complaints[-1]:
            return
    pytest.fail(f"each of {ATTEMPTS} attempts: {complaints} ({NOISE})")


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
    """The first run into which nobody else on this machine has cut, as its result asks."""

    def attempt() -> Stream:
        stream = run(probe, *words, *quick, variables=variables)
        assert stream.code == stream.told_code, stream.stderr
        return stream

    stream = uncut(attempt)
    assert "throttled" not in stream.events, stream.events["throttled"].text
    return stream


def uncut(attempt: Callable[[], Stream]) -> Stream:
    """The first of the runs into which nobody else on this machine has cut, or else the last."""
    for _ in range(ATTEMPTS - 1):
        if not is_cut(stream := attempt()):
            return stream
    return attempt()


def is_cut(stream: Stream) -> bool:
    """What the host took is told as a gap."""
    return "throttled" in stream.events or ("idle_gap" in stream.events and is_stolen_from(stream))


def is_stolen_from(stream: Stream) -> bool:
    """Whether the host took the time of a lost burst, all in all."""
    return (stream.result.environment.get("steal_ns") or 0) >= STOLEN_NS
