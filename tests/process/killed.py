"""Ends a process at each of its steps, one after another."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

_STEPS = ("rename", "replace", "link", "mkdir", "fsync", "unlink", "rmdir")


def killed_at_call(count: int, work: Callable[[], object]) -> bool:
    """Whether a process that does `work` and ends at its `count`th call that changes names or waits
    for the disk made as many. It runs nothing that cleans up."""
    child = os.fork()
    if child == 0:
        try:
            _die_at_call(count)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return {0: False, 77: True}[os.waitstatus_to_exitcode(status)]


def _die_at_call(count: int) -> None:
    left = [count]

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os._exit(77)
            return call(*arguments, **more)

        return called

    for name in _STEPS:
        setattr(os, name, dying(getattr(os, name)))
