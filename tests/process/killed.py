"""Ends a process at each of its steps, one after another, or at a named moment."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Collection
from typing import Any

STEPS = ("rename", "replace", "link", "mkdir", "fsync", "unlink", "rmdir")


def killed_at_call(count: int, work: Callable[[], object], steps: Collection[str] = STEPS) -> bool:
    """Whether a process that does `work` and is killed before its `count`th call of `steps` made as
    many. It runs nothing that cleans up."""

    def counted() -> None:
        _die_at_call(count, steps)
        work()
        os._exit(0)

    return _ended(counted)


def killed_after(work: Callable[[], object]) -> None:
    """A process that does `work` and then is killed."""

    def dying() -> None:
        work()
        os.kill(os.getpid(), signal.SIGKILL)

    assert _ended(dying)


def _ended(work: Callable[[], object]) -> bool:
    """Whether the process that did `work` was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return {0: False, -signal.SIGKILL: True}[os.waitstatus_to_exitcode(status)]


def _die_at_call(count: int, steps: Collection[str]) -> None:
    left = [count]

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **more)

        return called

    for name in steps:
        setattr(os, name, dying(getattr(os, name)))
