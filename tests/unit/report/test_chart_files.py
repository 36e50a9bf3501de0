"""Charts as files: each stands alone, its CSV has what it draws, and no other file is touched."""

from __future__ import annotations

import csv
import io
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hardstone.comparison.figures import compare_figures
from hardstone.comparison.view import CompareView
from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.report.drawing import Drawer
from hardstone.report.figures import ChartTable, Figure
from hardstone.report.page import figures_of_run
from hardstone.report.sheet import INDEX, table_of, write_chart_files
from hardstone.systems.subjects import Amount
from tests.unit.comparison.compared import made_run, made_view, six_systems, two_systems
from tests.unit.report import sample
from tests.unit.report.media import Sketches


def chart(name: str = "chart-1", **changed: Any) -> Figure:
    spec = {
        "data": {"values": [{"a": 1}, {"a": 2.5}]},
        "layer": [{"mark": "point", "encoding": {"x": {"field": "a", "title": "length (ns)"}}}],
    }
    with Drawer() as drawer:
        figure = Figure(name, "A title", "what it shows", "in words", drawer.draw(spec), None)
    return replace(figure, **changed)


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def only(view: CompareView, address: str) -> CompareView:
    rows = [row for test in view.tests for row in test.rows if row.address == address]
    return replace(view, decisive=rows, tests=[])


@pytest.mark.slow
def test_a_chart_is_three_files_and_a_line_of_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    paths = write_chart_files([chart(), chart("chart-2")], folder)
    names = [f"chart-{n}.{kind}" for n in (1, 2) for kind in ("svg", "png", "csv")]
    assert [one.name for one in paths] == [INDEX, *names]
    assert sorted(one.name for one in folder.iterdir()) == sorted([INDEX, *names])
    index = read(folder / INDEX)
    assert [one["file"] for one in index] == ["chart-1", "chart-2"]
    assert index[0]["title"] == "A title" and index[0]["figures in words"] == "in words"
    assert (folder / "chart-1.png").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.slow
def test_an_svg_file_stands_alone(tmp_path: Path) -> None:
    view = only(two_systems(), "CLK-P-DUR/tick")
    with Drawer() as drawer:
        write_chart_files(compare_figures(view, drawer).summary[:1], tmp_path / "f")
    text = (tmp_path / "f" / "chart-summary-1.svg").read_text()
    root = ElementTree.fromstring(text)  # noqa: S314  our own drawing
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg" and "viewBox" in root.attrib
    assert float(root.attrib["width"]) > 100
    assert "var(" not in text and "#0b5cad" in text
    assert "CLK-P-DUR" in root.findtext(f"{space}title", "")


def test_the_csv_of_bars_has_the_figures_and_where_they_are_from(tmp_path: Path) -> None:
    view = only(six_systems(), "MUT-P-ARN/inherit/acquire")
    found = compare_figures(view, Sketches())
    write_chart_files(found.summary[:1], tmp_path / "f")
    rows = read(tmp_path / "f" / "chart-summary-1.csv")
    assert len(rows) == 2 * len(view.columns)
    for column, cell in zip(view.columns, view.decisive[0].cells, strict=True):
        mine = {one["figure"]: one for one in rows if one["number"] == str(column.number)}
        for which, amount in (("average", cell.mean), ("worst", cell.worst)):
            row = mine[which]
            assert row["system"] == column.id
            if not isinstance(amount, Amount):
                assert (row["value (ns)"], row["missing"]) == ("", amount.reason)
                continue
            assert row["source"] == amount.source
            end = amount.value if amount.value is not None else amount.below
            assert end is not None and float(row["value (ns)"]) == end
            assert row["bound"] == ("" if amount.value is not None else "below")


def test_the_csv_of_a_curve_is_what_is_drawn(tmp_path: Path) -> None:
    found = compare_figures(two_systems(), Sketches()).by_test["CLK-P-DUR"]
    for figure in found[1:4]:
        write_chart_files([figure], tmp_path / figure.id)
        (path,) = (tmp_path / figure.id).glob("chart-*.csv")
        rows = read(path)
        drawn = figure.drawing.spec["data"]["values"]
        kind = figure.id.rpartition("-")[2]
        field, head = {
            "exceedance": ("s", "share"),
            "shift": ("m", "ratio"),
            "time": ("v", "largest (ns)"),
        }[kind]
        assert [float(row[head]) for row in rows if row[head]] == [
            row[field] for row in drawn if row.get(field) is not None
        ]
        assert all("CLK-P-DUR/tick" in row["source"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_counts_of_a_histogram_add_up(tmp_path: Path, count: int) -> None:
    """Overlaid and, from four systems on, in panels with wider bins."""
    view = made_view([made_run(number) for number in range(1, count + 1)])
    figure = compare_figures(view, Sketches()).by_test["CLK-P-DUR"][4]
    assert ("facet" in figure.drawing.spec) == (count == 4)
    write_chart_files([figure], tmp_path / "f")
    (path,) = (tmp_path / "f").glob("chart-*.csv")
    for column in view.columns:
        mine = [one for one in read(path) if one["number"] == str(column.number)]
        assert sum(int(one["values"]) for one in mine) == 20_000


@pytest.mark.parametrize("title", ["length (ns)", "length (ns) (log)"])
def test_a_chart_without_a_table_has_the_rows_of_its_specification(title: str) -> None:
    """What a column holds does not depend on the scale of the axis."""
    spec = deepcopy(chart().drawing.spec)
    spec["layer"][0]["encoding"]["x"]["title"] = title
    table = table_of(spec, "run 1 TEST")
    assert table == ChartTable(["length (ns)", "source"], [[1, "run 1 TEST"], [2.5, "run 1 TEST"]])


@pytest.mark.slow
def test_every_chart_of_a_report_has_files(run: RunDocument, tmp_path: Path) -> None:
    figures = figures_of_run(run, sample.SPECS.get, Sketches())
    assert len(figures) > 8
    paths = write_chart_files(figures, tmp_path / "f", f"run {run.id}")
    tables = [one for one in paths if one.suffix == ".csv" and one.name != INDEX]
    assert len(tables) == len(figures)
    for path in tables:
        rows = read(path)
        assert rows and all(row["source"].startswith(f"run {run.id}") for row in rows)


def test_a_chart_that_cannot_be_drawn_has_its_data(tmp_path: Path) -> None:
    with Drawer() as drawer:
        broken = drawer.draw({"data": {"values": [{"a": 1}]}, "mark": "\x07", "layer": []})
    paths = write_chart_files([chart(drawing=broken)], tmp_path / "f")
    assert [one.name for one in paths] == [INDEX, "chart-1.csv"]


def tree(folder: Path) -> dict[str, str]:
    return {str(one): one.read_text() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", r"has other files, such as thesis\.txt"),
        ("linked", "a link, not a file"),
        ("link", "a link, not a folder"),
        ("file", "cannot be written"),
        ("no/where", "there is no folder"),
    ],
)
def test_a_place_that_is_not_for_charts_is_left_alone(tmp_path: Path, name: str, said: str) -> None:
    for folder in ("folder", "linked", "empty"):
        (tmp_path / folder).mkdir()
    for file in ("folder/thesis.txt", "file"):
        (tmp_path / file).write_text("mine")
    (tmp_path / "linked" / "chart-1.svg").symlink_to(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    before = tree(tmp_path)
    with pytest.raises(InputError, match=said):
        write_chart_files([chart()], tmp_path / name)
    assert tree(tmp_path) == before


@pytest.mark.slow
def test_names_of_files_are_safe_and_differ(tmp_path: Path) -> None:
    odd = ["../../etc/passwd", "a b", "A_B", "\x00", "index", "x" * 900]
    paths = write_chart_files([chart(name) for name in odd], tmp_path / "f")
    names = {one.name for one in paths if one.suffix == ".csv"}
    wanted = {"etc-passwd", "a-b", "a-b-2", "chart", "index-2", "x" * 80}
    assert names == {INDEX, *(f"{one}.csv" for one in wanted)}
    assert all(one.parent == tmp_path / "f" and one.exists() for one in paths)


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(1)", "-2+3"])
def test_a_text_is_no_formula(tmp_path: Path, text: str) -> None:
    table = ChartTable(["label", "value (ns)"], [[text, -2.0], ["-", None]])
    write_chart_files([chart(table=table, title=text)], tmp_path / "f")
    rows = read(tmp_path / "f" / "chart-1.csv")
    assert rows == [{"label": f"'{text}", "value (ns)": "-2"}, {"label": "-", "value (ns)": ""}]


def test_numbers_are_exact(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 2.0**53, 1e-9, float("nan"), float("inf"), 7]
    table = ChartTable(["v"], [[one] for one in values])
    write_chart_files([chart(table=table)], tmp_path / "f")
    text = (tmp_path / "f" / "chart-1.csv").read_text().split()
    assert text == ["v", repr(0.1 + 0.2), str(2**53), "1e-09", "nan", "inf", "7"]
