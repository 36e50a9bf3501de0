"""Draws charts: the common ones at once, others in parallel, in a pool of processes.

The converter of Vega draws one chart at a time and blocks all other threads of its process. If
the pool did not start or lost a process, the chart is drawn in this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Self

from markupsafe import Markup

from hardstone.report import svg
from hardstone.wording import shorten

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from hardstone.model import RunDocument
    from hardstone.report.theme import Spec

MANY_RESULTS = 4
MOST_HELPERS = 4


class Drawing:
    """A chart that is drawn, or is being drawn. Showing it waits for the drawing; it is drawn
    once, however often it is shown."""

    def __init__(self, spec: Spec, drawn: str | Future[str] | None) -> None:
        self.spec = spec
        self._drawn = None if isinstance(drawn, str) else drawn
        self._shown = drawn if isinstance(drawn, str) else ""

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
        """The drawing of the pool; empty if there is none."""
        if self._drawn is not None:
            from concurrent.futures.process import BrokenProcessPool

            with contextlib.suppress(BrokenProcessPool, OSError):
                return self._drawn.result()
        return ""


class Drawer:
    """Draws charts. Leaving its `with` block ends the processes.

    None starts before a chart needs Vega, since a converter takes half a second to start; it does
    so while the page is prepared. With 0 helpers each chart is drawn when it is shown.
    """

    def __init__(self, helpers: int = 0) -> None:
        self._helpers = helpers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def draw(self, spec: Spec) -> Drawing:
        """The drawing of a Vega-Lite specification, or a message if it fails."""
        return Drawing(spec, self._drawn(spec) if self._helpers else None)

    def _drawn(self, spec: Spec) -> str | Future[str] | None:
        try:
            return svg.plotted(spec) or self._submit(spec)
        except ValueError:  # said where it is shown
            return None

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
            return self._pool.submit(svg.by_vega, spec)
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
