"""Average and worst of systems as bars, and how predictable each system is."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.compare.view import ComparedCell, ComparedRow, CompareView, SystemColumn
from hardstone.model import Unit
from hardstone.present.wording import amount_text, is_rate, shorten
from hardstone.report.chart_table import ChartTable, Value
from hardstone.report.charts import pair_chart, spread_chart
from hardstone.report.charts.frame import unit_title
from hardstone.report.charts.pair_chart import AVERAGE, WORST, Bar, Kind
from hardstone.report.charts.system_style import Standard
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure
from hardstone.report.system_figure import (
    WHO,
    row_name,
    standards_for,
    system_figure,
    system_name,
    who,
)
from hardstone.systems.subjects import Amount, Missing

_REASON_CHARACTERS = 30
_KIND_CHARACTERS = 46
_TICK = "tick"
_ABOUT = "Above: average, below: worst{least}. The axis is logarithmic and does not begin at zero."
_HOLLOW = " Hollow: only a bound is published, and the value lies below it."
_BEYOND = " Triangle to the right: the value lies above."
_GREY = " Grey: may not be compared with the reference."
_EQUALS = (
    ' "= tick": the worst exceeds the average by the tick\'s duration, within 20 %: a tick may '
    "explain it."
)
_DOTS = (
    "Worst over mean: the further left, the more predictable. More values usually show a larger "
    "worst: compare the counts first."
)


def has_pair(row: ComparedRow) -> bool:
    """Whether any system has an average or a worst."""
    return any(isinstance(one, Amount) for cell in row.cells for one in (cell.mean, cell.worst))


def pair_figure(
    row: ComparedRow,
    columns: Sequence[SystemColumn],
    standards: Sequence[Standard],
    name: str,
    drawer: Drawer,
    *,
    live: bool,
) -> Figure:
    """A pair of bars for each system, published ones too."""
    pairs = zip(columns, row.cells, strict=True)
    found = [bar for column, cell in pairs for bar in _bars(column, cell)]
    title = row_name(row)
    spec = pair_chart.chart(found, row.unit, _axis_title(row.unit), standards_for(row, standards))
    spoken = [
        f"{column.number} {shorten(column.label)}: {_spoken(cell)}"
        for column, cell in zip(columns, row.cells, strict=True)
    ]
    return system_figure(
        name,
        f"{title}: average and worst",
        _about(found, row.unit),
        f"Average and worst, {title}. {'; '.join(spoken)}.",
        spec,
        _table(row, columns),
        drawer,
        live=live,
    )


def _axis_title(unit: Unit) -> str:
    return {"ns": "duration", "count": "count", "bytes_per_s": "throughput"}[unit]


def _amount(cell: ComparedCell, which: str) -> Amount | Missing:
    return cell.mean if which == AVERAGE else cell.worst


def _is_grey(cell: ComparedCell, which: str) -> bool:
    return cell.is_grey or (which == WORST and bool(cell.worst_why))


def _bars(column: SystemColumn, cell: ComparedCell) -> list[Bar]:
    mean, worst = cell.mean, cell.worst
    if isinstance(mean, Missing) and isinstance(worst, Missing) and mean.reason == worst.reason:
        reason = shorten(worst.reason, _REASON_CHARACTERS)
        return [Bar(system_name(column), AVERAGE, "nothing", None, reason)]
    return [_bar(column, cell, which) for which in (AVERAGE, WORST)]


def _bar(column: SystemColumn, cell: ComparedCell, which: str) -> Bar:
    amount = _amount(cell, which)
    name = system_name(column)
    if isinstance(amount, Missing):
        return Bar(name, which, "missing", None, shorten(amount.reason, _REASON_CHARACTERS))
    kind, end = _kind(amount)
    text = amount_text(amount, is_exact=column.is_published)
    return Bar(name, which, kind, end, text + _remark(cell, which), _is_grey(cell, which))


def _kind(amount: Amount) -> tuple[Kind, float | None]:
    if amount.value is not None:
        return "value", amount.value
    return ("below", amount.below) if amount.below is not None else ("above", amount.above)


def _remark(cell: ComparedCell, which: str) -> str:
    """What stands beside the figure: that the worst equals the tick, or that there are remarks."""
    if which == AVERAGE or not cell.marks:
        return ""
    return " = tick" if any(_TICK in one for one in cell.marks) else " *"


def _about(found: Sequence[Bar], unit: Unit) -> str:
    about = _ABOUT.format(least=", which is the least" if is_rate(unit) else " observed")
    kinds = {one.kind for one in found}
    about += _HOLLOW if "below" in kinds else ""
    about += _BEYOND if "above" in kinds else ""
    about += _GREY if any(one.is_grey for one in found) else ""
    about += _EQUALS if any(one.text.endswith("= tick") for one in found) else ""
    return about + (" *: see the table." if any(one.text.endswith(" *") for one in found) else "")


def _spoken(cell: ComparedCell) -> str:
    if isinstance(cell.mean, Missing) and isinstance(cell.worst, Missing):
        return shorten(cell.worst.reason, _REASON_CHARACTERS)
    told = [f"{which} {_words(_amount(cell, which))}" for which in (AVERAGE, WORST)]
    grey = f"not comparable, {cell.why}" if cell.is_grey else ""
    if cell.worst_why and not grey:
        grey = f"worst not comparable, {cell.worst_why}"
    why = [shorten(grey, 80)] if grey else []
    return ", ".join([*told, *map(shorten, cell.marks), *why])


def _words(amount: Amount | Missing) -> str:
    if isinstance(amount, Missing):
        return shorten(amount.reason, _REASON_CHARACTERS)
    return amount_text(amount)


def _table(row: ComparedRow, columns: Sequence[SystemColumn]) -> ChartTable:
    value = unit_title("value", row.unit)
    head = [*WHO, "series", "figure", value, "bound", "missing", "not comparable", "remarks"]
    rows = [
        [*who(column), row.address, *_cells(cell, which)]
        for column, cell in zip(columns, row.cells, strict=True)
        for which in (AVERAGE, WORST)
    ]
    return ChartTable([*head, "source"], rows)


def _cells(cell: ComparedCell, which: str) -> list[Value]:
    amount = _amount(cell, which)
    remarks = "; ".join([*cell.marks, *cell.notes])
    grey = (cell.why or cell.worst_why) if _is_grey(cell, which) else ""
    if isinstance(amount, Missing):
        return [which, None, "", amount.reason, grey, remarks, ""]
    kind, end = _kind(amount)
    told = "; ".join([*filter(None, [remarks]), *amount.notes])
    return [which, end, "" if kind == "value" else kind, "", grey, told, amount.source]


def spread_figure(view: CompareView, drawer: Drawer, *, live: bool) -> Figure | None:
    """Worst over mean of the decisive rows; None where no system has both."""
    dots = []
    rows: list[list[Value]] = []
    shown, left_out = _spread_rows(view)
    for row in shown:
        for column, cell in zip(view.columns, row.cells, strict=True):
            if cell.predictability is None:
                continue
            is_grey = _is_grey(cell, WORST)
            kind = row_name(row, _KIND_CHARACTERS)
            dots.append(spread_chart.Dot(system_name(column), kind, cell.predictability, is_grey))
            rows.append([*who(column), row.address, cell.predictability, _source(cell)])
    if not dots:
        return None
    names = [system_name(column) for column in view.columns]
    spoken = [
        f"{name}: {'; '.join(told)}"
        for name in names
        if (told := [f"{one.kind} {one.ratio:.3g}" for one in dots if one.name == name])
    ]
    return system_figure(
        "chart-predictability",
        "Predictability: worst over mean",
        _DOTS + left_out + (_GREY if any(one.is_grey for one in dots) else ""),
        f"Worst over mean. {'. '.join(spoken)}.",
        spread_chart.chart(dots, names),
        ChartTable([*WHO, "series", "worst over mean", "source"], rows),
        drawer,
        live=live,
    )


def _spread_rows(view: CompareView) -> tuple[list[ComparedRow], str]:
    """The rows with dots: as many as differ in colour and shape, those of most systems; and words
    on the others."""
    known = {
        row.address: sum(cell.predictability is not None for cell in row.cells)
        for row in view.decisive
        if not is_rate(row.unit)
    }
    chosen = sorted(known, key=lambda address: -known[address])[: spread_chart.MOST_KINDS]
    count = sum(1 for address in known if known[address] and address not in chosen)
    left_out = f" {count} more decisive figures are in the tables only." if count else ""
    return [row for row in view.decisive if row.address in chosen], left_out


def _source(cell: ComparedCell) -> str:
    return cell.worst.source if isinstance(cell.worst, Amount) else ""
