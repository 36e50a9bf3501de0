"""What is done again because others cut into it, and what never is."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import Conditions, StreamEvent, StreamResult
from tests.running import STOLEN_NS, UNCUT_ATTEMPTS, Stream, uncut


def stream(code: int, *events: str, status: str = "failed", steal_ns: int = 0) -> Stream:
    lines: list[object] = [StreamEvent(name=name, at_ns=0, data={}, text="said") for name in events]
    if status:
        lines.append(
            StreamResult(
                status=status,  # type: ignore[arg-type]
                reason=None,
                remedy=None,
                interrupted=False,
                duration_ns=1,
                conditions=Conditions(),
                environment={"steal_ns": steal_ns},
            )
        )
    return Stream("TMR-P-LAT", code, b"\n".join(map(msgspec.json.encode, lines)))


@pytest.mark.parametrize(
    ("found", "is_excused"),
    [
        (stream(3, "throttled"), True),
        (stream(0, "idle_gap", status="measured", steal_ns=STOLEN_NS), True),
        (stream(0, "idle_gap", status="measured", steal_ns=STOLEN_NS - 1), False),
        (stream(0, status="measured"), False),
        (stream(-11, "throttled"), False),
        (stream(0, "throttled"), False),
        (stream(-6, "throttled", status=""), False),
        (stream(99, "idle_gap", status="measured", steal_ns=STOLEN_NS), False),
    ],
)
def test_a_run_that_crashes_or_ends_otherwise_than_it_says_is_not_done_again(
    found: Stream, is_excused: bool
) -> None:
    calls: list[Stream] = []

    def attempt() -> list[Stream]:
        calls.append(found)
        return [found]

    assert uncut(attempt) == [found]
    assert len(calls) == (UNCUT_ATTEMPTS if is_excused else 1)
