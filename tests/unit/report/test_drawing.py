"""Charts drawn by helpers: the same page, whatever becomes of a helper."""

from __future__ import annotations

import errno
import html
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hardstone.model import RunDocument
from hardstone.report import drawing
from hardstone.report.drawing import Drawer, Drawing
from hardstone.report.page import render_html

SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
LAYERED = {"data": SPEC["data"], "layer": [{"mark": {"type": "point"}}]}


@pytest.fixture(autouse=True)
def helpers_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no test runs."""
    monkeypatch.delenv("HARDSTONE_CHART_HELPERS")


def no_bundle() -> None:
    return None


@pytest.mark.slow
def test_a_page_without_scripts_has_drawings_and_with_helpers_the_same(run: RunDocument) -> None:
    signals = [one for one in run.results if one.test == "SEM-P-SIG"]
    document = msgspec.structs.replace(run, results=signals)
    with Drawer() as here, Drawer(2) as there:
        page = render_html(document, bundle=no_bundle, drawer=here)
        assert page.count("<svg ") > 3
        assert "<script" not in page and "script-src 'none'" in html.unescape(page)
        assert render_html(document, bundle=no_bundle, drawer=there) == page


@pytest.mark.slow
def test_a_helper_starts_with_the_first_picture_and_ends_with_the_drawer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The scripts of a page draw its charts: no picture is made, so no converter starts. Ctrl-C
    while a helper loads its modules is for the tool alone: a terminal sends it to all."""
    with Drawer(2, has_scripts=True) as drawer:
        assert drawer.draw(LAYERED).data is not None
        assert multiprocessing.active_children() == []
        drawer.has_scripts = False
        first = drawer.draw(SPEC)
        (process,) = multiprocessing.active_children()
        os.kill(process.pid or 0, signal.SIGINT)
        assert first.data is None and first.__html__() == drawing.render(SPEC)
        assert multiprocessing.active_children() == [process]
    assert multiprocessing.active_children() == []
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_what_a_helper_draws_fails_to_draw_or_does_not_live_to_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Drawer(1) as drawer:
        wrong, control = drawer.draw({"mark": "<b>"}), drawer.draw({"mark": "\x07"})
        with monkeypatch.context() as patch:  # a converter that would fail in this process
            patch.setitem(sys.modules, "vl_convert", None)
            assert drawer.draw(SPEC).__html__().startswith("<svg ")
        assert_said(wrong, control)
        (process,) = multiprocessing.active_children()
        process.kill()
        process.join()
        found = [drawer.draw(SPEC) for _ in range(2)]
        assert [one.__html__() for one in found] == [drawing.render(SPEC)] * 2


def assert_said(wrong: Drawing, control: Drawing) -> None:
    """What cannot be drawn is said, and is no markup."""
    assert wrong.__html__().startswith("<p>The chart could not be drawn: ")
    assert "<b>" not in wrong.__html__()
    assert "characters that cannot be drawn" in control.__html__()


@pytest.mark.parametrize(
    ("named", "count"),
    [("0", 0), ("1", 1), ("", None), ("-1", None), ("many", None), ("999999", None)],
)
def test_fewer_helpers_may_be_asked_for_and_no_nonsense(
    run: RunDocument, monkeypatch: pytest.MonkeyPatch, named: str, count: int | None
) -> None:
    usual = drawing.helpers_for(run)
    assert 1 <= usual <= drawing.MOST_HELPERS
    monkeypatch.setenv("HARDSTONE_CHART_HELPERS", named)
    assert drawing.helpers_for(run) == (usual if count is None else count)
    few = msgspec.structs.replace(run, results=run.results[:4])
    assert drawing.helpers_for(few) == 0


@pytest.fixture
def no_python() -> Iterator[None]:
    multiprocessing.set_executable("/nowhere/python")
    yield
    multiprocessing.set_executable(sys.executable)


@pytest.mark.slow
@pytest.mark.usefixtures("no_python")
def test_what_a_process_that_cannot_start_does_not_draw_is_drawn_here() -> None:
    with Drawer(1) as drawer:
        found = [drawer.draw(SPEC) for _ in range(3)]
        assert [one.__html__() for one in found] == [drawing.render(SPEC)] * 3


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


def test_without_semaphores_all_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where /dev/shm is missing or read-only."""
    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)
    with Drawer(1) as drawer:
        assert drawer.draw(SPEC).__html__() == drawing.render(SPEC)


def no_thread(_: object) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.slow
def test_without_threads_all_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the limit of ulimit -u; no process is left that the tool would wait for."""
    monkeypatch.setattr("concurrent.futures.process._ExecutorManagerThread.start", no_thread)
    with Drawer(2) as drawer:
        found = [drawer.draw(SPEC) for _ in range(2)]
        assert [one.__html__() for one in found] == [drawing.render(SPEC)] * 2
    for process in multiprocessing.active_children():
        process.join()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_tool_that_is_killed_leaves_no_process() -> None:
    program = (
        "import multiprocessing, time\n"
        "from hardstone.report.drawing import Drawer\n"
        "if __name__ == '__main__':\n"
        "    drawer = Drawer(1)\n"
        "    drawer.draw({'mark': 'point'}).__html__()\n"
        "    (one,) = multiprocessing.active_children()\n"
        "    print(one.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as tool:
        assert tool.stdout is not None
        place = Path(f"/proc/{int(tool.stdout.readline())}")
        assert place.exists()
        tool.kill()
    while place.exists() and not _is_dead(place):
        time.sleep(0.01)


def _is_dead(place: Path) -> bool:
    """Ended, and not waited for yet by whoever adopted it."""
    try:
        return ") Z " in (place / "stat").read_text()
    except OSError:
        return True
