"""Charts of a page and on paper: specifications that the library draws, and nothing else does.

On a page the scripts draw a chart when it comes into view. A picture is made of those that lead
the page, and of all where there are no scripts: on paper and in files. The converter draws one
chart at a time and blocks all other threads of its process, so pictures are made by a pool of
processes. If the pool did not start or lost a process, a picture is made in this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

from markupsafe import Markup

from hardstone.report import svg
from hardstone.report.page_frame import json_for_script
from hardstone.report.theme import interactive
from hardstone.wording import shorten

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from hardstone.model import RunDocument
    from hardstone.report.theme import Spec

# What differs from row to row; the other fields are the same for many rows.
_OF_ROW = ("u", "z", "v", "n", "w", "s", "b", "t", "m", "l", "j", "min", "avg", "max")


MANY_RESULTS = 4
MOST_HELPERS = 4


class Drawing:
    """A chart. `data`: what the scripts of a page draw it from; None: it is a picture only.
    `has_picture`: the page shows its picture before scripts run, and not its figures in words.

    Showing it gives the picture, and waits for it; it is made once, however often it is shown."""

    def __init__(
        self, spec: Spec, data: Markup | None, picture: Future[str] | None, *, has_picture: bool
    ) -> None:
        self.spec = spec
        self.data = data
        self.has_picture = has_picture
        self._picture = picture
        self._shown = ""

    def __html__(self) -> str:
        if not self._shown:
            self._shown = self._draw()
        return self._shown

    def _draw(self) -> str:
        try:
            return self._elsewhere() or svg.render(self.spec)
        except ValueError as error:
            said = f"The chart could not be drawn: {shorten(str(error))}"
            return Markup("<p>{}</p>").format(said)

    def _elsewhere(self) -> str:
        """The picture of the pool; empty if there is none."""
        if self._picture is not None:
            from concurrent.futures.process import BrokenProcessPool

            with contextlib.suppress(BrokenProcessPool, OSError):
                return self._picture.result()
        return ""


class Drawer:
    """Makes the charts of a page or of paper. Leaving its `with` block ends the processes.

    None starts before a picture is needed, since a converter takes half a second to start; it
    does so while the page is prepared. With 0 helpers each picture is made when it is shown.
    `has_scripts`: the page draws its charts itself.
    """

    def __init__(self, helpers: int = 0, *, has_scripts: bool = False) -> None:
        self.has_scripts = has_scripts
        self._helpers = helpers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def draw(self, spec: Spec, *, leads: bool = False) -> Drawing:
        """The chart of a Vega-Lite specification, or a message if it cannot be drawn. `leads`: a
        page begins with it, and has its picture even if scripts draw it again."""
        data = json_for_script(packed(interactive(spec))) if self.has_scripts else None
        has_picture = leads or not self.has_scripts
        begun = self._begun(spec) if has_picture and self._helpers else None
        return Drawing(spec, data, begun, has_picture=has_picture)

    def _begun(self, spec: Spec) -> Future[str] | None:
        try:
            svg.encoded(spec)
        except ValueError:  # said where it is shown
            return None
        return self._submit(spec)

    def _start(self) -> None:
        """The pool; none, now or later, where it cannot be."""
        # What most reports do without takes a while to load.
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # A forked copy would inherit locks of threads that it does not have.
        method = get_context("spawn")
        with contextlib.suppress(OSError, ImportError):  # no semaphore: /dev/shm is read-only
            self._pool = ProcessPoolExecutor(self._helpers, mp_context=method, initializer=_begin)
        if self._pool is None:
            self._helpers = 0

    def _submit(self, spec: Spec) -> Future[str] | None:
        if self._pool is None:
            self._start()
        if self._pool is None:
            return None
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import active_children

        try:
            return self._pool.submit(svg.render, spec)
        except (BrokenProcessPool, OSError):  # no process can be started
            return None
        except RuntimeError:  # no thread: nobody would end the processes, nor take their charts
            for process in active_children():
                process.kill()
            self._pool, self._helpers = None, 0
            return None


def _begin() -> None:
    """Leaves Ctrl-C to the parent, and ends this process when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def helpers_for(document: RunDocument) -> int:
    """How many processes to start for the charts of a run, at most one per CPU and no more than
    `$HARDSTONE_CHART_HELPERS`, which may be 0."""
    timed = sum(1 for result in document.results if result.series)
    if timed < MANY_RESULTS:
        return 0
    allowed = getattr(os, "sched_getaffinity", None)
    named = os.environ.get("HARDSTONE_CHART_HELPERS", "")
    most = int(named) if named.isdecimal() else MOST_HELPERS
    return min(len(allowed(0)) if allowed else os.cpu_count() or 1, most, MOST_HELPERS)


def packed(spec: Spec) -> dict[str, Any]:
    """The specification without its data, and the data in compact rows by line."""
    rows = spec["data"]["values"]
    lines = [_packed_line(list(part)) for _, part in groupby(rows, key=_line_key)]
    rest = {key: value for key, value in spec.items() if key not in ("data", "config")}
    return {"spec": rest, "lines": lines}


def _line_key(row: dict[str, Any]) -> tuple[tuple[str, ...], list[Any]]:
    names = tuple(row)
    return names, [row[name] for name in _of_line(names)]


@lru_cache(maxsize=64)
def _of_line(names: tuple[str, ...]) -> tuple[str, ...]:
    """What all points of a line share."""
    return tuple(name for name in names if name not in _OF_ROW)


def _packed_line(rows: list[dict[str, Any]]) -> dict[str, Any]:
    fields = [key for key in rows[0] if key in _OF_ROW]
    keys = {key: value for key, value in rows[0].items() if key not in _OF_ROW}
    points = [[_short(row[key]) for key in fields] for row in rows]
    return {"keys": keys, "fields": fields, "points": points}


def _short(value: float | str | None) -> float | str | None:
    """Five significant digits: more than a screen can show. Whole numbers stay exact."""
    if value is None or isinstance(value, str) or value == int(value):
        return value
    return float(f"{value:.5g}")
