"""What a picture means to show is seen in it: symbols, marks of axes, figures beside their bars.

Of the pictures that are drawn without Vega; test_plots_as_vega holds that Vega draws the same.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from hardstone.report.plot import static_plot
from tests.unit.report.drawings import Drawn, Item, read
from tests.unit.report.plot_specs import specs

BARS = [name for name in specs() if name.split()[1:3] == ["bar", "bar"]]


def drawn(name: str) -> Drawn:
    found = static_plot.draw(specs()[name])
    assert found is not None, name
    return read(found)


def is_line(one: Item) -> bool:
    return one.tag in ("path", "line") and not one.is_closed and len(one.points) == 2


@pytest.mark.parametrize("name", list(specs()))
def test_a_line_has_a_stroke(name: str) -> None:
    """A symbol that is a stroke, of marks that have none, is filled and so not seen."""
    assert all("stroke" in dict(one.look) for one in drawn(name).items if is_line(one))


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("section", ["0%", "25%", "50%", "75%", "90%", "100%"]),
        ("kernels line line point", ["0%", "50%", "90%"]),
    ],
)
def test_an_axis_of_shares_has_all_its_marks(name: str, labels: list[str]) -> None:
    shown = [one for one in drawn(name).texts() if one.text.endswith("%")]
    first = [one for one in shown if one.points[0][0] == shown[0].points[0][0]]
    assert [one.text for one in first][: len(labels)] == labels
    heights = sorted(one.points[0][1] for one in first[: len(labels)])
    assert all(below - above > 11 for above, below in pairwise(heights))


def test_bars_are_drawn_in_some_picture() -> None:
    assert BARS


@pytest.mark.parametrize("name", BARS)
def test_a_figure_stands_beside_the_middle_of_its_bar(name: str) -> None:
    """Texts have the middle of a band; a bar that is moved within its band is beside it."""
    picture = drawn(name)
    boxes = [one for one in picture.items if _is_bar(one)]
    middles = {round(sum(_ends(one)) / 2, 1) for one in boxes}
    small = [one for one in picture.texts() if dict(one.look)["font-size"] == "10px"]
    texts = [one.points[0][1] for one in small]
    assert middles and texts
    for middle in middles:
        # the line on which a text of 10 px stands is 3 px below its middle
        assert min(abs(at - 3 - middle) for at in texts) <= 0.2, middle


def _is_bar(one: Item) -> bool:
    """A rectangle from the left end; symbols of the legend begin elsewhere."""
    places = {x for x, _ in one.points}
    return one.is_closed and len(places) == 2 and min(places) == 0


def _ends(one: Item) -> tuple[float, float]:
    heights = [y for _, y in one.points]
    return min(heights), max(heights)
