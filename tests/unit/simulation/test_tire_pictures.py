"""Pictures of the tire: the scale, the parts of a step, and words for both."""

from __future__ import annotations

from typing import Any

import pytest

import tire_picture
from hardstone import schema
from hardstone.model import Result
from hardstone.report.chart_frame import interactive
from hardstone.report.drawing import render
from hardstone.simulation.charts import (
    MOST_FRAMES,
    blocks_chart,
    frames_chart,
    has_behind,
    shown_frames,
    shown_steps,
)
from hardstone.simulation.page import MOST_VARIANTS, blocks_tables, picture_figures
from hardstone.simulation.results import StepBlocks, blocks_of, frames_of
from hardstone.store.documents import read_document
from tests.unit.report.media import Sketches
from tests.unit.stats import make
from tests.unit.stats.made_tables import MS, blocks, frame, steps


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = spec["data"]["values"]
    return values


def of(*tables: Any) -> Result:
    return make.result("SIM-S-RT", tables=list(tables))


def falling(count: int = 3) -> Result:
    return of(*(frame(40 * number, height_m=0.8 - 0.1 * number) for number in range(count)))


def two_threads(*, late: int = 0, **data: Any) -> StepBlocks:
    first = blocks(steps(5, late=late), thread=0, **data)
    (found,) = blocks_of(of(first, blocks(steps(5), thread=1, **data)))
    return found


def parts(spec: dict[str, Any], step: int, thread: str) -> dict[str, tuple[float, float]]:
    """Begin and end of each part in ms."""
    return {
        row["c"]: (row["min"] / MS, row["max"] / MS)
        for row in rows(spec)
        if row["p"] == f"step {step}" and row.get("y", "").startswith(thread)
    }


def scale_of(spec: dict[str, Any], axis: str) -> tuple[float, float]:
    low, high = spec["spec"]["layer"][0]["encoding"][axis]["scale"]["domain"]
    return low, high


@pytest.mark.parametrize("height_m", [0.31, 0.8, 40.0])
def test_a_metre_is_as_long_upwards_as_across(height_m: float) -> None:
    spec = frames_chart(frames_of(of(frame(0, height_m=height_m), frame(9, height_m=0.3))))
    each = {"x": spec["spec"]["width"], "y": spec["spec"]["height"]}
    across, upwards = (
        each[axis] / (scale_of(spec, axis)[1] - scale_of(spec, axis)[0]) for axis in "xy"
    )
    assert across == pytest.approx(upwards, rel=1e-3)


def test_all_of_the_tire_and_the_floor_are_in_a_panel_for_each_moment() -> None:
    spec = frames_chart(frames_of(falling()))
    for axis, field in (("x", "v"), ("y", "w")):
        low, high = scale_of(spec, axis)
        assert all(low <= row[field] <= high for row in rows(spec))
    assert scale_of(spec, "y")[0] < 0
    assert spec["facet"]["sort"] == ["0 ms", "40 ms", "80 ms"]
    assert [row["w"] for row in rows(spec) if row["n"] == 0] == [1.1, 1.0, 0.9]


def test_of_many_moments_the_first_and_the_last_are_shown() -> None:
    frames = frames_of(of(*(frame(at_ms) for at_ms in range(30))))
    shown = shown_frames(frames)
    assert len(shown) == len(set(shown)) == MOST_FRAMES
    assert (shown[0], shown[-1]) == (frames[0], frames[-1])
    large = frames_of(of(frame(0, masses=4000, rows=512)))
    assert len(rows(frames_chart(large))) <= 128


def test_a_step_has_its_parts_one_after_another() -> None:
    found = parts(blocks_chart(two_threads()), 2, "1")
    assert found == {
        "wait": (0, 0.02),
        "read": (0.02, 1.02),
        "compute": (1.02, 6.02),
        "write": (6.02, 8.02),
    }


def test_what_is_left_of_a_late_step_is_no_wait() -> None:
    spec = blocks_chart(two_threads(late=3))
    assert shown_steps(two_threads(late=3)) == [2, 3, 4]
    assert parts(spec, 3, "0")["compute"] == (1.02, 15.02)
    late = parts(spec, 4, "0")
    assert late["behind"] == (0, 7.02)
    assert late["wait"] == pytest.approx((7.02, 7.04))
    assert "behind" not in parts(spec, 4, "1")
    assert has_behind(two_threads(late=3)) and not has_behind(two_threads())


def test_the_solver_with_a_barrier_reads_nothing_and_waits_at_it() -> None:
    table = [[row[0], row[1], row[2], row[2], *row[4:]] for row in steps(3)]
    (found,) = blocks_of(of(blocks(table, solver="barrier")))
    assert list(parts(blocks_chart(found), 2, "0")) == ["wait", "compute", "barrier"]


def test_a_deadline_is_drawn_where_it_is_near_and_told_where_not() -> None:
    assert {row["t"] for row in rows(blocks_chart(two_threads())) if "t" in row} == {10 * MS}
    far = of(blocks(steps(3, period_ns=100 * MS)))
    assert not any("t" in row for row in rows(blocks_chart(blocks_of(far)[0])))
    (figure,) = picture_figures(far, "a", Sketches())
    assert "The deadline is 100 ms after the release." in figure.about


def test_steps_without_a_release_count_from_their_first_thread() -> None:
    table = [[row[0], row[2], *row[2:]] for row in steps(3)]
    spec = blocks_chart(blocks_of(of(blocks(table)))[0])
    assert parts(spec, 1, "0")["read"] == (0, 1)
    assert "first thread" in spec["spec"]["layer"][0]["encoding"]["x"]["title"]
    assert not any("t" in row for row in rows(spec))


@pytest.mark.parametrize(("threads", "most"), [(2, 3), (18, 2), (32, 1)])
def test_many_threads_have_fewer_steps(threads: int, most: int) -> None:
    tables = [blocks(steps(5), thread=number, threads=threads) for number in range(threads)]
    (found,) = blocks_of(of(*tables))
    assert len(shown_steps(found)) == most


@pytest.mark.slow
def test_every_picture_is_drawn_still_and_live() -> None:
    vl_convert = pytest.importorskip("vl_convert")
    for spec in (frames_chart(frames_of(falling())), blocks_chart(two_threads(late=3))):
        assert render(spec).startswith("<svg ")
        assert vl_convert.vegalite_to_vega(interactive(spec))["marks"]
    floors = render(frames_chart(frames_of(falling(2)))).count('stroke-width="1.5"')
    assert floors == 2  # once a moment
    flat, thin, deep = frame(0), frame(0), frame(0, height_m=-5)
    flat.columns["y_um"] = [1, *[0] * 19]
    thin.columns["x_um"] = [7] * 20
    for one in (flat, thin, deep):
        assert "<path" in render(frames_chart(frames_of(of(one))))
    still = [[1, 5, 5, 5, 5, 5]]
    assert "<svg" in render(blocks_chart(blocks_of(of(blocks(still)))[0]))


def test_figures_have_words_for_who_sees_none() -> None:
    tire, of_steps = picture_figures(
        of(*falling().tables, blocks(steps(5, late=3))), "a", Sketches(has_scripts=True)
    )
    assert tire.alt.startswith(
        "The tire of 40 masses: after 0 ms 0.60 m wide and 0.60 m high, its lowest mass 0.50 m"
    )
    assert "step 3: 1 thread, the last one ended after 17" in of_steps.alt
    assert tire.drawing.data and of_steps.drawing.data
    assert {tire.id, of_steps.id} == {"a-tire", "a-blocks-0"}


def test_a_table_has_the_same_in_figures() -> None:
    ((title, headings, found),) = blocks_tables(of(blocks(steps(3)), blocks(steps(3), thread=1)))
    assert title == "Steps of 400 masses, 2 threads, semaphore, fifo, load heavy"
    assert headings == ("thread", "CPU", "steps", "read", "compute", "write", "wait")
    assert found[1] == ("1", "1", "3", "1 ms", "5 ms", "2 ms", "2 ms")


def test_the_number_of_pictures_is_bounded() -> None:
    many = [blocks(steps(2), policy=f"p{number}") for number in range(20)]
    assert len(picture_figures(of(*many), "a", Sketches())) == MOST_VARIANTS
    assert picture_figures(of(), "a", Sketches()) == []


def test_what_a_target_sent_is_no_markup() -> None:
    bad = blocks(steps(2), solver="<script>x</script>", policy="\x00\ud7ff\u202e")
    (figure,) = picture_figures(of(bad), "a", Sketches(has_scripts=True))
    assert figure.drawing.data and "<script>" not in figure.drawing.data
    assert "\x00" not in figure.title and "\u202e" not in figure.title


def test_a_real_run_has_its_pictures() -> None:
    run = read_document(schema.FOLDER / "golden" / "run-1-tables.json")
    for result in run.results:
        first, last = frames_of(result)
        assert (first.at_ns, first.points_um[0]) == (0, (0, 1_100_000))
        assert min(y for _, y in last.points_um) == 0
        found = picture_figures(result, "a", Sketches())
        assert len(found) == 1 + len(blocks_of(result))
    assert [blocks_of(result)[0].period_ns for result in run.results] == [10 * MS, None]


def test_the_picture_of_the_documents_follows_light_and_dark() -> None:
    lines = (schema.FOLDER / "golden" / "stream-1-sim-p-rf-tables.jsonl").read_bytes().splitlines()
    drawing = tire_picture.drawing(lines, "SIM-P-RF")
    assert drawing.startswith("<svg xmlns=") and drawing.endswith("</svg>\n")
    used = {part.split(")")[0] for part in drawing.split("var(")[1:]}
    assert used and all(drawing.count(f"{name}:#") == 2 for name in used)
