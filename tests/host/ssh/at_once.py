"""Tests of a module that begin at once, each at its own desk: most of their time is waiting."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.host.ssh.board import Desk, desk_in

Case = Callable[[Desk], None]
Outcomes = dict[str, Future[None]]


class Cases:
    """Those of a module, by name."""

    def __init__(self) -> None:
        self.known: dict[str, Case] = {}

    def __call__(self, work: Case) -> Case:
        """A decorator."""
        self.known[work.__name__] = work
        return work

    def each(self, *values: Any, names: Sequence[str] = ()) -> Callable[[Any], Any]:
        """A decorator: once with each value, which comes after the desk."""

        def known(work: Callable[[Desk, Any], None]) -> Callable[[Desk, Any], None]:
            for name, value in zip(names or map(str, values), values, strict=True):
                self.known[f"{work.__name__}-{name}"] = partial(with_value, work, value)
            return work

        return known


def with_value(work: Callable[[Desk, Any], None], value: Any, desk: Desk) -> None:
    work(desk, value)


@contextmanager
def begun(cases: dict[str, Case], most: int, variables: dict[str, str]) -> Iterator[Outcomes]:
    """At most so many of them run at the same time."""
    with (
        tempfile.TemporaryDirectory(prefix="hs-", dir="/var/tmp") as folder,
        ThreadPoolExecutor(most) as pool,
    ):
        Path(folder).chmod(0o755)  # for an account of a board that is not root

        def run(number: int, work: Case) -> None:
            own = Path(folder, str(number))
            own.mkdir()
            with desk_in(own) as desk:
                desk.variables = variables
                work(desk)

        names = enumerate(cases)
        yield {name: pool.submit(run, number, cases[name]) for number, name in names}
