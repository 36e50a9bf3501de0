"""Rows that no template writes escape all that comes from files."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hardstone.present.compare_view import SystemColumn
from hardstone.report.compare_lines import SeriesGroup, SystemLine
from hardstone.report.series_rows import series_rows
from hardstone.report.shown_figure import ShownFigure
from tests.unit.report.hostile import ATTACKS

TAGS = {"tbody", "tr", "th", "td", "span", "small", "code", "b", "data"}
ATTRIBUTES = {"class", "scope", "colspan", "title", "value"}


class Read(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, list[str]] = {}
        self.text = ""
        self.feed(str(text))  # of Markup all that is added is escaped
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data}")


def line(said: str, **others: Any) -> SystemLine:
    """All its texts are `said`, but those that the tool counts or calculates."""
    column = cast(SystemColumn, SimpleNamespace(number=1, label=said, mark=said))
    given: dict[str, Any] = {
        "column": column,
        "source": said,
        "mean": ShownFigure(said, "1.5", "below", said),
        "median": ShownFigure(said, source=said),
        "worst": ShownFigure(said, "2"),
        "predictability": said,
        "ratio": said,
        "outcome": said,
        "look": said,
        "remarks": [said],
        "why": said,
        "worst_why": said,
        "more": [(said, ShownFigure(said, "3"))],
        "is_plain": False,
    }
    return SystemLine(**(given | others))


def group(said: str, lines: list[SystemLine]) -> SeriesGroup:
    return SeriesGroup(
        label=said,
        address=said,
        is_rate=False,
        is_divided=True,
        lines=lines,
        absent=[(said, said)],
        common=[said],
    )


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_becomes_code(attack: str, is_wide: bool) -> None:
    written = series_rows(group(attack, [line(attack)]), has_names=True, is_wide=is_wide)
    read = Read(written)
    assert read.tags <= TAGS
    assert set(read.attributes) <= ATTRIBUTES
    assert "\x1b" not in written
    assert "\u202e" not in written


def test_each_text_is_shown() -> None:
    """Whatever has a sign of markup arrives as that sign."""
    said = "<i>&\"'"
    read = Read(series_rows(group(said, [line(said)]), has_names=True, is_wide=False))
    # Label, address, note; name, mark, three figures, predictability, ratio, outcome, two refusals,
    # remark, further statistic with its name; absent.
    assert read.text.count(said) == 3 + 2 + 3 + 3 + 2 + 1 + 2 + 2
    assert read.attributes["title"] == [said] * 3
    assert read.attributes["value"] == ["1.5", "2", "3"]


def test_of_many_systems_a_row_says_less() -> None:
    bare = line("x", median=ShownFigure("not measured"), is_plain=True, mean=ShownFigure("y", "1"))
    wide = Read(series_rows(group("g", [bare]), has_names=False, is_wide=True))
    narrow = Read(series_rows(group("g", [bare]), has_names=False, is_wide=False))
    assert "not measured" in narrow.text
    assert narrow.attributes["title"] == ["x"]
    assert "not measured" not in wide.text
    assert "title" not in wide.attributes
