"""Charts as files: SVG and PNG that stand alone, and what they draw as CSV."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from markupsafe import escape

from hardstone.errors import InputError
from hardstone.files import check_folder, check_regular, remedy_of, replace_file
from hardstone.report.figures import ChartTable, Figure, Value
from hardstone.report.sheet import coloured, palette
from hardstone.report.theme import Spec
from hardstone.wording import one_line

INDEX = "index.csv"
_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
_FONT = 'font-family="Liberation Sans, Arial, sans-serif"'
_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_SAFE = re.compile(r"[^a-z0-9-]+")
_PNG_SCALE = 2.0
_LONGEST_NAME = 80
_FORMULA = ("=", "+", "-", "@")
_KEYS = {"c": "series", "p": "panel", "d": "view", "y": "row", "h": "kind"}
_HIDDEN = {"i", "o", "e"}  # what a drawing needs to tell its lines apart
_FALLBACK = {"min": "low", "max": "high", "avg": "average"}


def write_chart_files(figures: Iterable[Figure], folder: Path, source: str = "") -> list[Path]:
    """Writes each figure to `folder` as ID.svg, ID.png and ID.csv, and `index.csv`, which says
    what each one is. Returns the paths.

    `source` is where the data are from, for charts that do not say it themselves. The folder is
    made; one that holds anything but files of these names is left alone. InputError for that, and
    for what cannot be written.
    """
    named = _named(figures)
    files: dict[str, bytes] = {INDEX: _index(named)}
    for name, figure in named.items():
        drawing = standing_alone(figure)
        if drawing:
            files[f"{name}.svg"] = drawing.encode("utf-8", "replace")
            files[f"{name}.png"] = _png(drawing)
        place = f"{source} {figure.subject}".strip()
        files[f"{name}.csv"] = _csv(figure.table or table_of(figure.drawing.spec, place))
    try:
        _make(folder, set(files))
        for name, data in files.items():
            replace_file(folder / name, data, None, is_durable=False)
    except OSError as error:
        cause = f"--files: {folder} cannot be written: {error.strerror or error}"
        raise InputError(cause, remedy_of(error, "name another folder with --files")) from error
    return [folder / name for name in files]


def figures_in(part: object) -> Iterator[Figure]:
    """Every figure within the parts of a page, in their order."""
    if isinstance(part, Figure):
        yield part
    elif isinstance(part, dict):
        for one in part.values():
            yield from figures_in(one)
    elif isinstance(part, list | tuple):
        for one in part:
            yield from figures_in(one)
    elif is_dataclass(part):
        for one in fields(part):
            yield from figures_in(getattr(part, one.name))


def _named(figures: Iterable[Figure]) -> dict[str, Figure]:
    """By the name of their files: the ID, of which only small letters, digits and "-" are kept."""
    found: dict[str, Figure] = {}
    for figure in figures:
        name = base = _SAFE.sub("-", figure.id.lower()).strip("-")[:_LONGEST_NAME] or "chart"
        number = 2
        while name in found or f"{name}.csv" == INDEX:
            name, number = f"{base}-{number}", number + 1
        found[name] = figure
    return found


def _make(folder: Path, names: set[str]) -> None:
    """OSError or InputError unless `folder` may be filled with files of these names."""
    if not folder.parent.is_dir():
        cause = f"--files: there is no folder {folder.parent}"
        raise InputError(cause, f"mkdir -p {shlex.quote(str(folder.parent))}")
    folder.mkdir(exist_ok=True)
    check_folder(folder)
    for one in sorted(folder.iterdir()):
        if one.name not in names:
            cause = f"--files: {folder} has other files, such as {one_line(one.name)[:60]}"
            raise InputError(cause, "name a new folder with --files")
        check_regular(one.lstat().st_mode)


def standing_alone(figure: Figure) -> str:
    """The chart as an SVG file, in the colours of light; empty if it cannot be drawn."""
    drawn = figure.drawing.__html__()
    box = _BOX.search(drawn)
    if box is None:
        return ""
    body = coloured(drawn.partition(">")[2])
    size = f'width="{box[1]}" height="{box[2]}" viewBox="0 0 {box[1]} {box[2]}"'
    words = f"<title>{_words(figure.title)}</title><desc>{_words(figure.alt)}</desc>"
    paper = f'<rect width="100%" height="100%" fill="{palette()["page"]}"/>'
    return f'<svg {_NAMESPACE} {size} role="img" {_FONT}>{words}{paper}{body}\n'


def _words(text: str) -> str:
    return str(escape(one_line(text)))


def _png(drawing: str) -> bytes:
    import vl_convert  # type: ignore[import-untyped,unused-ignore]

    return bytes(vl_convert.svg_to_png(drawing, scale=_PNG_SCALE))


def _index(named: dict[str, Figure]) -> bytes:
    rows: list[list[Value]] = [
        [name, figure.title, figure.about, figure.alt] for name, figure in named.items()
    ]
    return _csv(ChartTable(["file", "title", "what it shows", "figures in words"], rows))


def _csv(table: ChartTable) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(one) for one in row] for row in table.rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Value) -> str:
    """Numbers exact; a text that a spreadsheet would take for a formula begins with a quote."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = one_line(value)
        return f"'{text}" if len(text) > 1 and text.startswith(_FORMULA) else text
    is_whole = isfinite(value) and value == int(value)
    return repr(int(value)) if is_whole else repr(float(value))


def table_of(spec: Spec, source: str = "") -> ChartTable:
    """The rows of a specification, under the headings that the chart itself has for them.

    A value of 0 or less stands at 0.5 on a logarithmic axis, and here too.
    """
    rows: list[dict[str, Any]] = spec["data"]["values"]
    names = list(dict.fromkeys(key for row in rows for key in row))
    shown = [name for name in names if name not in _HIDDEN]
    titles = _titles(spec)
    heads = [titles.get(name) or _KEYS.get(name) or _FALLBACK.get(name, name) for name in shown]
    found: list[list[Value]] = [[*(row.get(name) for name in shown), source] for row in rows]
    return ChartTable([*heads, "source"], found)


def _titles(spec: Spec) -> dict[str, str]:
    """What tooltips and axes call each field; tooltips name units."""
    layers: Sequence[Spec] = spec.get("spec", spec).get("layer", [])
    found: dict[str, str] = {}
    for layer in layers:
        encoding = layer.get("encoding", {})
        tips = encoding.get("tooltip", [])
        axes = [one for one in encoding.values() if isinstance(one, dict)]
        for one in [*tips, *axes]:
            title = one.get("title")
            if isinstance(title, str) and "field" in one:
                found.setdefault(one["field"], title.removesuffix(" (log)"))
    return found
