"""Charts drawn by helpers: the same page, whatever becomes of a helper."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import msgspec
import pytest

from hardstone.model import RunDocument
from hardstone.report import drawing, helper, svg
from hardstone.report.drawing import Drawer
from hardstone.report.page import render_html

SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
ANSWERS_ONCE = 'import sys; sys.stdin.readline(); print(\'{"drawing": "first"}\', flush=True)'


def no_bundle() -> None:
    return None


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_page_with_helpers_is_the_page_without(run: RunDocument) -> None:
    with Drawer() as here, Drawer(2) as there:
        page = render_html(run, bundle=no_bundle, drawer=here)
        assert page.count("<svg ") > 8
        assert render_html(run, bundle=no_bundle, drawer=there) == page


def test_the_charts_of_a_large_run_are_drawn_elsewhere(
    run: RunDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the Python that runs: here by one that knows one drawing only."""
    only = tmp_path / "python"
    answer = 'while read -r line; do echo \'{"drawing": "<svg elsewhere>"}\'; done'
    only.write_text(f"#!/bin/sh\n{answer}\n")
    only.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(only))
    assert 1 <= drawing.helpers_for(run) <= drawing.MOST_HELPERS
    page = render_html(run, bundle=no_bundle)
    assert page.count("<svg elsewhere>") > 8
    assert "<svg class" not in page


def test_a_small_run_starts_no_helper(run: RunDocument) -> None:
    few = msgspec.structs.replace(run, results=run.results[:4])
    assert drawing.helpers_for(few) == 0


@pytest.mark.parametrize(
    "command",
    [
        ["/nowhere/python"],
        python("pass"),
        python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        python("import sys; sys.stdin.readline(); print('garbage', flush=True)"),
        python("import sys; sys.stdin.readline(); print('{\"drawing\": 5}', flush=True)"),
        python("import sys; sys.stdin.readline(); print('{\"drawing\": ', end='', flush=True)"),
        python("import sys; sys.stdin.readline(); sys.stdout.buffer.write(b'\\xff\\n')"),
    ],
)
def test_what_a_helper_does_not_draw_is_drawn_here(command: list[str]) -> None:
    with Drawer(1, command) as drawer:
        found = [drawer.draw(SPEC) for _ in range(3)]
        assert [one.__html__() for one in found] == [svg.render(SPEC)] * 3


def test_a_helper_that_dies_between_two_charts_costs_nothing() -> None:
    with Drawer(1, python(ANSWERS_ONCE)) as drawer:
        found = [drawer.draw(SPEC) for _ in range(2)]
        assert [one.__html__() for one in found] == ["first", svg.render(SPEC)]


@pytest.mark.parametrize("helpers", [0, 1])
def test_a_chart_that_cannot_be_drawn_is_said_and_the_next_one_drawn(helpers: int) -> None:
    with Drawer(helpers) as drawer:
        wrong, control = drawer.draw({"mark": "<b>"}), drawer.draw({"mark": "\x07"})
        good = drawer.draw(SPEC)
        assert wrong.__html__().startswith("<p>The chart could not be drawn: ")
        assert "<b>" not in wrong.__html__()
        assert "characters that cannot be drawn" in control.__html__()
        assert good.__html__().startswith("<svg ")


def test_leaving_ends_the_helpers(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    program = f"import os, sys; open({str(place)!r}, 'w').write(str(os.getpid())); {ANSWERS_ONCE}"
    with Drawer(1, python(f"{program}; sys.stdin.readline()")) as drawer:
        assert drawer.draw(SPEC).__html__() == "first"
        assert Path(f"/proc/{place.read_text()}").exists() or sys.platform != "linux"
    assert not Path(f"/proc/{place.read_text()}").exists()


def test_a_helper_answers_every_line_and_ends_with_its_input() -> None:
    sink = io.BytesIO()
    helper.main(io.BytesIO(b'{"mark": 5}\n' + svg.encoded(SPEC).encode() + b"\n"), sink)
    first, second = (
        msgspec.json.decode(line, type=helper.Answer) for line in sink.getvalue().splitlines()
    )
    assert first.drawing is None and first.problem
    assert second.drawing == svg.render(SPEC)
