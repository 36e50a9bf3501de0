"""Charts of a page and on paper: specifications that the library draws, and nothing else does.

On a page the scripts draw a chart when it comes into view. Pictures are made where there are no
scripts: on paper and in files. A converter takes half a second to start. The converter draws one
chart at a time and blocks all other threads of its process, so pictures are made by a pool of
processes. If the pool did not start or lost a process, a picture is made in this process.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self
from xml.etree import ElementTree

import msgspec
from markupsafe import Markup

from hardstone.report.chart_frame import interactive
from hardstone.report.page_frame import json_for_script, renderer
from hardstone.wording import shorten

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from hardstone.model import RunDocument
    from hardstone.report.chart_frame import Spec


_SVG = "http://www.w3.org/2000/svg"
_TAGS = {"svg", "g", "path", "line", "text", "rect", "tspan"}
_ATTRIBUTES = {
    *("viewBox", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "rx", "ry"),
    "dy",  # of the second line of a label
    *("fill", "fill-opacity", "opacity", "display", "stroke", "stroke-width", "stroke-opacity"),
    *("stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin"),
    *("stroke-miterlimit", "text-anchor", "font-size", "font-weight", "font-style"),
}
# Characters that XML forbids, as JSON writes them. They crash the converter's process.
_UNDRAWABLE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u00[01]|[bf])|[\ufffe\uffff]")
_SUSPECT = (b"\\", "\ufffe".encode(), "\uffff".encode())
# Default values of SVG attributes.
_DEFAULTS = {
    "opacity": "1",
    "transform": "translate(0,0)",
    "stroke-width": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "font-weight": "normal",
    "font-style": "normal",
    "text-anchor": "start",
    **dict.fromkeys(("x1", "x2", "y1", "y2"), "0"),
}
_LINES = re.compile(r"(?:[ML][^A-Za-z,]+,[^A-Za-z,]+)+")
_POINT = re.compile(r"([ML])([^A-Za-z,]+),([^A-Za-z,]+)")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")


def render(spec: Spec) -> str:
    """SVG text of a Vega-Lite specification.

    Raises ValueError when the chart cannot be drawn or holds anything but shapes.
    """
    text = encoded(spec)
    return tidy(renderer().vegalite_to_svg(text, allowed_base_urls=[]))


def encoded(spec: Spec) -> str:
    """A specification as JSON; ValueError where it cannot be drawn."""
    found = msgspec.json.encode(spec)
    text = found.decode()
    # To look for these first takes a hundredth of the time.
    if any(one in found for one in _SUSPECT) and _UNDRAWABLE.search(text):
        raise ValueError("a label holds characters that cannot be drawn")
    return text


def tidy(svg: str) -> str:
    """The drawing without redundant parts, hidden from screen readers (the figure has text)."""
    ElementTree.register_namespace("", _SVG)
    try:
        root = ElementTree.fromstring(svg)  # noqa: S314  our own drawing, without a DTD
    except ElementTree.ParseError as error:
        raise ValueError(f"the chart is not readable as SVG: {error}") from error
    view = root.attrib["viewBox"]
    _clean(root)
    _drop_defaults(root, set())
    _flatten(root)
    root.attrib.update({"viewBox": view, "aria-hidden": "true", "focusable": "false"})
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(f' xmlns="{_SVG}"', "", 1)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix("{" + _SVG + "}")


def _clean(element: ElementTree.Element) -> None:
    if _tag(element) not in _TAGS:
        raise ValueError(f"the chart holds a <{_tag(element)[:40]}>")
    element.attrib = {
        key: _value(key, value) for key, value in element.attrib.items() if key in _ATTRIBUTES
    }
    for child in list(element):
        _clean(child)
        if _is_empty(child):
            element.remove(child)


def _drop_defaults(element: ElementTree.Element, inherited: set[str]) -> None:
    """Removes attributes with default values that no outer element overrides."""
    for key, value in _DEFAULTS.items():
        if element.get(key) == value and key not in inherited:
            del element.attrib[key]
    below = inherited | (element.attrib.keys() - {"opacity", "transform"})
    for child in element:
        _drop_defaults(child, below)


def _flatten(element: ElementTree.Element) -> None:
    """Replaces groups without attributes by their children."""
    children: list[ElementTree.Element] = []
    for child in element:
        _flatten(child)
        children += list(child) if _tag(child) == "g" and not child.attrib else [child]
    element[:] = children


def _is_empty(element: ElementTree.Element) -> bool:
    """Whether nothing is drawn: hidden or unpainted paths, empty groups."""
    tag = _tag(element)
    if tag == "g":
        return len(element) == 0
    if tag != "path":
        return False
    painted = element.get("fill") or element.get("stroke")
    return element.get("display") == "none" or not element.get("d") or not painted


def _value(key: str, value: str) -> str:
    if key in ("d", "transform", "x", "y", "x2", "y2"):
        value = _LONG_NUMBER.sub(_rounded, value)
    return _stepped(value) if key == "d" and _LINES.fullmatch(value) else value


def _stepped(path: str) -> str:
    """The path with H and V for lines along the axes, of which curves of steps have many. A point
    that repeats the one before is left out, but not the first one, which may be a dot."""
    parts: list[str] = []
    at = ("", "")
    for command, x, y in _POINT.findall(path):
        is_dot = len(parts) == 0 or parts[-1].startswith("M")
        if command == "M" or (x != at[0] and y != at[1]):
            parts.append(f"{command}{x},{y}")
        elif y != at[1]:
            parts.append(f"V{y}")
        elif x != at[0] or is_dot:
            parts.append(f"H{x}")
        at = (x, y)
    return "".join(parts)


def _rounded(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.1f}"
    return "0" if text in ("0.0", "-0.0") else text.removesuffix(".0")


# What differs from row to row; the other fields are the same for many rows.
_OF_ROW = ("u", "z", "v", "n", "w", "s", "b", "t", "m", "l", "j", "min", "avg", "max")
_MANY_RESULTS = 4
MOST_HELPERS = 4


class Drawing:
    """A chart. `data`: what the scripts of a page draw it from, which shows its figures in words
    until then; None: it is a picture.

    Showing it gives the picture, and waits for it; it is made once, however often it is shown."""

    def __init__(self, spec: Spec, data: Markup | None, picture: Future[str] | None) -> None:
        self.spec = spec
        self.data = data
        self._picture = picture
        self._shown = ""

    def __html__(self) -> str:
        if not self._shown:
            self._shown = self._draw()
        return self._shown

    def _draw(self) -> str:
        try:
            return self._elsewhere() or render(self.spec)
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

    None starts before a picture is needed; it does so while the page is prepared. With 0 helpers
    each picture is made when it is shown.
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

    def draw(self, spec: Spec) -> Drawing:
        """The chart of a Vega-Lite specification, or a message if it cannot be drawn."""
        data = json_for_script(packed(interactive(spec))) if self.has_scripts else None
        begun = self._begun(spec) if self._helpers and not self.has_scripts else None
        return Drawing(spec, data, begun)

    def _begun(self, spec: Spec) -> Future[str] | None:
        try:
            encoded(spec)
        except ValueError:  # said where it is shown
            return None
        return self._submit(spec)

    def _start(self) -> None:
        """Starts the pool. Where it cannot start, it is not tried again."""
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
            with _interrupts_held():  # a process that starts inherits it: Ctrl-C is for this one
                return self._pool.submit(render, spec)
        except (BrokenProcessPool, OSError):  # no process can be started
            return None
        except RuntimeError:  # no thread: nobody would end the processes, nor take their charts
            for process in active_children():
                process.kill()
            self._pool, self._helpers = None, 0
            return None


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Within, Ctrl-C waits."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
    if timed < _MANY_RESULTS:
        return 0
    allowed = getattr(os, "sched_getaffinity", None)
    named = os.environ.get("HARDSTONE_CHART_HELPERS", "")
    most = int(named) if named.isdecimal() else MOST_HELPERS
    return min(len(allowed(0)) if allowed else os.cpu_count() or 1, most, MOST_HELPERS)


def packed(spec: Spec) -> dict[str, Any]:
    """The specification without its data, and the data in compact rows by line."""
    rows = spec["data"]["values"]
    lines = []
    for _, line in groupby(rows, key=_line_key):
        points = list(line)
        fields = [key for key in points[0] if key in _OF_ROW]
        keys = {key: value for key, value in points[0].items() if key not in _OF_ROW}
        values = [[_short(row[key]) for key in fields] for row in points]
        lines.append({"keys": keys, "fields": fields, "points": values})
    rest = {key: value for key, value in spec.items() if key not in ("data", "config")}
    return {"spec": rest, "lines": lines}


def _line_key(row: dict[str, Any]) -> tuple[tuple[str, ...], list[Any]]:
    names = tuple(row)
    return names, [row[name] for name in _of_line(names)]


@lru_cache(maxsize=64)
def _of_line(names: tuple[str, ...]) -> tuple[str, ...]:
    """What all points of a line share."""
    return tuple(name for name in names if name not in _OF_ROW)


def _short(value: float | str | None) -> float | str | None:
    """Five significant digits: more than a screen can show. Whole numbers stay exact."""
    if value is None or isinstance(value, str) or value == int(value):
        return value
    return float(f"{value:.5g}")
