"""Charts drawn side by side, by helper processes where there are many of them.

The converter draws one chart at a time and lets no other thread of its process run
meanwhile. So a helper is a process of its own (helper.py), which reads specifications and
writes drawings. What no helper draws, since it did not start or died, is drawn here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

import msgspec
from markupsafe import Markup

from hardstone.present.wording import shorten
from hardstone.report import svg
from hardstone.report.helper import Answer

if TYPE_CHECKING:
    from hardstone.model import RunDocument
    from hardstone.report.theme import Spec

MANY_RESULTS = 4
MOST_HELPERS = 4
_Item = tuple[str, Future[str]]
_Helper = subprocess.Popen[bytes]


class Drawing:
    """A chart that is being drawn: whoever shows it waits for it."""

    def __init__(self, drawn: Future[str]) -> None:
        self._drawn = drawn

    def __html__(self) -> str:
        try:
            return self._drawn.result()
        except ValueError as error:
            said = f"The chart could not be drawn: {shorten(str(error))}"
            return Markup("<p>{}</p>").format(said)


class Drawer:
    """Draws what is given to it. Leaving its `with` block ends its threads and helpers.

    Helpers are started at once: a converter takes half a second to start, in which the
    page can be prepared. Without any each chart is drawn when it is asked for.
    """

    def __init__(self, helpers: int = 0, command: list[str] | None = None) -> None:
        self._waiting: SimpleQueue[_Item | None] = SimpleQueue()
        self._is_ended = False
        self._command = command or helper_command()
        self._threads = [threading.Thread(target=self._draw_there) for _ in range(helpers)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ended = True
        for _one in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def draw(self, spec: Spec) -> Drawing:
        """The drawing of a Vega-Lite specification, or words why there is none."""
        drawn: Future[str] = Future()
        try:
            item = (svg.encoded(spec), drawn)
        except ValueError as error:
            drawn.set_exception(error)
            return Drawing(drawn)
        if self._threads:
            self._waiting.put(item)
        else:
            _draw_here(*item)
        return Drawing(drawn)

    def _draw_there(self) -> None:
        """Until the end; without a helper what waits is drawn here all the same."""
        with _started(self._command) as helper:
            while (item := self._waiting.get()) is not None:
                if self._is_ended:
                    return
                try:
                    _take(item[1], _asked(helper, item[0]))
                except (OSError, EOFError, msgspec.DecodeError):
                    _draw_here(*item)


def helpers_for(document: RunDocument) -> int:
    """How many helpers the charts of a run are worth: at most one a CPU."""
    timed = sum(1 for result in document.results if result.series)
    if timed < MANY_RESULTS:
        return 0
    return min(_cpus(), MOST_HELPERS)


def _cpus() -> int:
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def helper_command() -> list[str]:
    """What starts a helper; nothing of the current folder is imported in it."""
    return [sys.executable, "-P", "-m", "hardstone.report.helper"]


@contextmanager
def _started(command: list[str]) -> Iterator[_Helper | None]:
    """A helper that is gone afterwards, None where it does not start."""
    try:
        helper = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the tool, whose end ends the helper
        )
    except OSError:
        yield None
        return
    try:
        yield helper
    finally:
        helper.kill()
        helper.communicate()


def _asked(helper: _Helper | None, text: str) -> Answer:
    """The helper's answer; OSError or EOFError where none comes."""
    if helper is None or helper.stdin is None or helper.stdout is None:
        raise EOFError
    helper.stdin.write(text.encode() + b"\n")
    helper.stdin.flush()
    line = helper.stdout.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return msgspec.json.decode(line, type=Answer)


def _take(drawn: Future[str], answer: Answer) -> None:
    if answer.drawing is not None:
        drawn.set_result(answer.drawing)
    else:
        drawn.set_exception(ValueError(answer.problem))


def _draw_here(text: str, drawn: Future[str]) -> None:
    try:
        drawn.set_result(svg.draw(text))
    except ValueError as error:
        drawn.set_exception(error)
