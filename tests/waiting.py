"""Waits for something that comes about, with one look for each answer: what is so for a moment
only is not looked for twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

LONGEST_S = 300  # only a failure waits so long
LOOK_S = 0.01


def soon(look: Callable[[], Answer], within_s: float = LONGEST_S) -> Answer:
    """The first answer that is true, or the last one."""
    give_up_s = time.monotonic() + within_s
    while not (answer := look()) and time.monotonic() < give_up_s:
        time.sleep(LOOK_S)
    return answer


def wait_until(
    look: Callable[[], Answer], what: str = "it does not come about", within_s: float = LONGEST_S
) -> Answer:
    answer = soon(look, within_s)
    assert answer, what
    return answer
