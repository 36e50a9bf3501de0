"""The report of one run as PDF: a page with the answer, one with machine and conditions, then
pages for each test.

A page is one SVG, which the library of the charts turns into PDF; it needs no browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from hardstone.files import regular_target, replace_file
from hardstone.kernel.page import fill_kernel
from hardstone.model import RunDocument
from hardstone.posix.page import posix_sheets
from hardstone.posix.tables import posix_tables
from hardstone.preemption.page import preemption_sheet
from hardstone.preemption.tables import pairs_in
from hardstone.present.answer import Answer, NextStep, answer_of, title_of
from hardstone.present.overview import conditions_text
from hardstone.report.drawing import Drawer, helpers_for
from hardstone.report.figures import Figure, pictures
from hardstone.report.latency_pages import PartPage
from hardstone.report.lead import lead_chart, worst_second_chart
from hardstone.report.opening import Head, head_of
from hardstone.report.page import settings_of, with_readable_histograms
from hardstone.report.results import Section, SpecLookup, section_of
from hardstone.report.sheet import Sheet, bind
from hardstone.simulation.page import tire_page, tire_sheets
from hardstone.stats.conditions import comparisons_in, listed_results
from hardstone.stats.quantiles import PATH_NOT_TAKEN

_MOST_RESULTS = 40
_MOST_REASONS = 6
_LIMITS_ABREAST = 4
_CAUSES_EACH = 15  # of a page, of four lines


def render_pdf(
    document: RunDocument,
    spec_lookup: SpecLookup,
    *,
    drawer: Drawer | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> bytes:
    """The report of `document` as PDF; the arguments are those of `render_html`."""
    with nullcontext(drawer) if drawer else Drawer(helpers_for(document)) as drawing:
        head = head_of(document)
        conditions = "; ".join(filter(None, (conditions_text(document), head.steps)))
        readable = with_readable_histograms(document)
        compared = comparisons_in(readable)
        settings = settings_of(readable, spec_lookup, drawing, limits, compared)
        sections = [
            section_of(one, f"result-{number}", settings)
            for number, one in enumerate(listed_results(readable), 1)
        ]
        answer = answer_of(document)
        lead = [
            lead_chart(document, answer, drawing, limits=limits, is_narrow=True),
            worst_second_chart(answer, drawing, is_narrow=True),
        ]
        title = title_of(document, answer)
        sheets = [
            _opening(title, head, answer, [one for one in lead if one is not None]),
            _cover(head, sections),
        ]
        sheets += [preemption_sheet(head.subject, pair) for pair in pairs_in(readable)]
        for table in posix_tables(readable):
            sheets += posix_sheets(head.subject, table)
        tire = tire_page(readable, drawing, other=beside)
        sheets += tire_sheets(head.subject, tire) if tire else []
        for section in sections:
            sheets += _pages(head, conditions, section)
        return bind(head.name, f"hardstone report, run {document.id}", sheets)


def write_pdf(
    document: RunDocument,
    path: Path,
    spec_lookup: SpecLookup,
    *,
    drawer: Drawer | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> None:
    """Writes the report to `path` as `write_html` does."""
    target = regular_target(path)
    data = render_pdf(document, spec_lookup, drawer=drawer, limits=limits, beside=beside)
    replace_file(regular_target(target), data, None, is_durable=False)


def _headed(head: Head, conditions: str, section: Section, title: str) -> Sheet:
    sheet = Sheet()
    sheet.text(head.subject, 8, colour="quiet")
    sheet.text(f"{head.name}; {conditions}", 8, colour="quiet")
    reasons = "; ".join(head.trust_reasons[:_MOST_REASONS])
    sheet.text(f"Trust: {head.trust}{f' ({reasons})' if reasons else ''}", 8, colour="quiet")
    sheet.gap()
    under = f" under {section.under}" if section.under else ""
    sheet.text(f"{section.test}{under}: {title}", 14, bold=True)
    return sheet


_LOOKS = {"good": "good", "fair": "fair", "poor": "series-2", "bad": "bad", "unjudged": "ink"}


def _opening(title: str, head: Head, answer: Answer, lead: Sequence[Figure]) -> Sheet:
    """The answer: how late, why, what next, and how far to trust it."""
    sheet = Sheet()
    sheet.text("hardstone report: how real-time is this system?", 9, colour="quiet")
    sheet.text(title, 20, bold=True)
    sheet.text(head.subject, 10)
    sheet.text(f"{head.name}. {head.status.capitalize()}. {head.summary}", 9, colour="quiet")
    sheet.gap()
    sheet.text(f"{answer.sentence}.", 13, colour=_LOOKS[answer.grade], bold=True)
    sheet.gap()
    for banner in head.banners:
        sheet.text(banner.title, 11, colour="bad" if banner.grave else "fair", bold=True)
        for line in banner.lines:
            sheet.text(line, 9)
        sheet.gap()
    sheet.drawings(pictures(lead), columns=2)
    for one in lead:
        sheet.text(f"{one.title}: {one.about}", 8, colour="quiet")
    if answer.late is not None:
        _paragraph(sheet, "Why", [f"{answer.late.place}: {answer.cause}"])
    _paragraph(sheet, "What next", [_step_text(one) for one in answer.steps])
    _paragraph(sheet, f"Trust: {head.trust}", head.trust_reasons)
    sheet.gap()
    sheet.text(PATH_NOT_TAKEN, 8, colour="quiet")
    return sheet


def _paragraph(sheet: Sheet, title: str, lines: Sequence[str]) -> None:
    if lines:
        sheet.gap()
        sheet.text(title, 11, bold=True)
        for line in lines:
            sheet.text(line, 9)


def _step_text(step: NextStep) -> str:
    return f"{step.text}: {step.command}" if step.command else step.text


def _cover(head: Head, sections: Sequence[Section]) -> Sheet:
    """The run: its facts and the outcome of each test."""
    sheet = Sheet.headed(head.subject, head.name)
    sheet.text(f"{head.status.capitalize()}. {head.summary}", 10)
    sheet.text(f"Trust: {head.trust}", 10)
    sheet.gap()
    sheet.table(["", ""], [[name, value] for name, value in head.facts], is_numeric=False)
    sheet.gap()
    rows = [
        [f"{one.test} {one.under}".strip(), one.label, one.outcome]
        for one in sections[:_MOST_RESULTS]
    ]
    sheet.table(["Test", "Status", "Outcome"], rows, is_numeric=False)
    return sheet


def _pages(head: Head, conditions: str, section: Section) -> Iterator[Sheet]:
    """The pages of a result; none where it has nothing but a status, which the first page has."""
    if not section.shown:
        return
    for part in section.parts:
        sheet = _headed(head, conditions, section, part.title)
        _fill_part(sheet, part)
        yield sheet
    if section.kernel:
        sheet = _headed(head, conditions, section, "kernel time by operation")
        fill_kernel(sheet, section.kernel)
        yield sheet
    sheet = _headed(head, conditions, section, section.title or "figures")
    if section.status != "measured":
        sheet.text(f"{section.label}: {section.reason}", 9, colour="fair", bold=True)
    for warning in section.warnings:
        sheet.text(warning, 9, colour="fair")
    for name, meaning in section.moments:
        sheet.text(f"{name.replace('_', ' ')}: {meaning}.", 8)
    sheet.text("; ".join(f"{name} {value}" for name, value in section.setting), 8, colour="quiet")
    _fill_figures(sheet, section)
    yield sheet
    if section.late:
        yield _late(head, conditions, section)
    yield from _other_late(head, conditions, section)


def _fill_part(sheet: Sheet, part: PartPage) -> None:
    for start in range(0, max(len(part.limits), 1), _LIMITS_ABREAST):
        chosen = slice(start, start + _LIMITS_ABREAST)
        above = [f"Above {limit}" for limit in part.limits[chosen]]
        rows = [
            [row.label, row.points, row.mean, row.worst, *row.above[chosen]] for row in part.rows
        ]
        sheet.gap(4)
        sheet.table(["CPU", "Points", "Mean", "Worst observed", *above], rows)
    sheet.gap(6)
    if part.note:
        sheet.text(part.note, 8)
    if part.figures:
        sheet.text(part.figures[0].about, 8, colour="quiet")
    sheet.gap(6)
    sheet.drawings(pictures(part.figures))


def _fill_figures(sheet: Sheet, section: Section) -> None:
    for claim in section.claims:
        sheet.text(
            f"{claim.word}: {claim.name}: {claim.evidence}",
            8.5,
            colour="bad" if claim.look == "failed" else "ink",
        )
    table = section.table
    if table is not None and table.rows:
        sheet.gap(4)
        rows = [
            [row.label, row.worst, *(cell.value for cell in row.quantiles), row.mean, row.count]
            for row in table.rows
        ]
        sheet.table(["Series", "Worst observed", *table.levels, "Average", "Values"], rows)
    if section.published:
        for published in section.published.lines:
            sheet.text(f"Published, {published.series}: {published.text}", 8, colour="quiet")
        commands = ", ".join(section.published.commands)
        sheet.text(f"{section.published.remark} {commands}", 8, colour="quiet")
    for found in section.noise:
        sheet.gap(6)
        sheet.text(f"What took the CPU: {found.title}", 8)
        heads = [column.capitalize() for column in section.noise_columns]
        sheet.table(heads, [row.cells for row in found.rows])
        for remark in found.remarks:
            sheet.text(remark, 7.5, colour="quiet")
    sheet.gap(10)
    for note in section.notes:
        sheet.text(note, 8)
    if section.projection:
        one = section.projection
        said = f"{one.label}: {one.outcome}: {'; '.join(one.lines)}. {PATH_NOT_TAKEN}"
        sheet.text(said, 7.5, colour="quiet")
    sheet.drawings(pictures(section.figures), columns=2 if len(section.figures) > 2 else 1)


def _late(head: Head, conditions: str, section: Section) -> Sheet:
    sheet = _headed(head, conditions, section, "why the worst values were late")
    sheet.text(section.late_note, 8, colour="quiet")
    for one in section.late:
        sheet.gap(4)
        cpu = "" if one.cpu == "-" else f", CPU {one.cpu}"
        sheet.text(f"{one.value} at {one.when}{cpu}, {one.series}", 9, bold=True)
        sheet.text(one.cause, 9)
        sheet.text(", ".join(one.counters), 7.5, colour="quiet")
    return sheet


def _other_late(head: Head, conditions: str, section: Section) -> Iterator[Sheet]:
    said = section.late_by_cause
    for start in range(0, len(said), _CAUSES_EACH):
        sheet = _headed(head, conditions, section, "why the other worst values were late")
        for values, cause in said[start : start + _CAUSES_EACH]:
            sheet.gap(4)
            sheet.text(f"{values}: {cause}", 8)
        yield sheet
