"""What people share of a run: the opening of its report as one picture, and a badge.

Both are SVG that holds shapes and escaped text only; the library of the charts turns the picture
into PNG.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import escape

from hardstone.files import regular_target, replace_file
from hardstone.model import RunDocument
from hardstone.present.answer import Answer, answer_of
from hardstone.present.origin import origin_text, tool_title
from hardstone.present.overview import conditions_text
from hardstone.report.drawing import render
from hardstone.report.lead import lead_of, lead_spec
from hardstone.report.sheet import coloured, palette, png, width_of
from hardstone.stats.consistency import trust_of
from hardstone.wording import short, shorten, target_text, time_machine

WIDTH, HEIGHT = 1200, 630
_MARGIN = 56
_ROOM = WIDTH - 2 * _MARGIN
_FONT = 'font-family="Liberation Sans, Arial, sans-serif"'
_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_CHART = (600, 160)
_MOST_LINES = 2
_SHARE = 0.52  # of the size of a bold letter is its width, on average
_COLOURS = {
    "good": "good",
    "fair": "fair",
    "poor": "series-2",
    "bad": "bad",
    "unjudged": "quiet",
}
_TRUST = {
    "full": "Trust: full",
    "indicative": "Trust: indicative only",
    "untrustworthy": "Not trustworthy",
}


def write_picture(document: RunDocument, path: Path, *, limits: Sequence[int] = ()) -> None:
    """Writes the opening of the report to `path`, as PNG or as SVG by its suffix.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    target = regular_target(path)
    drawn = picture(document, limits)
    is_png = path.suffix.lower() == ".png"
    data = png(drawn, 1.0) if is_png else drawn.encode("utf-8", "replace")
    replace_file(regular_target(target), data, None, is_durable=False)


def write_badge(document: RunDocument, path: Path) -> None:
    """Writes the badge to `path` as `write_picture` does."""
    target = regular_target(path)
    replace_file(target, badge(document).encode("utf-8", "replace"), None, is_durable=False)


def picture(document: RunDocument, limits: Sequence[int] = ()) -> str:
    """Machine, answer and distribution of a run as SVG of WIDTH by HEIGHT."""
    answer = answer_of(document)
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{palette()["page"]}"/>']
    grade = palette()[_COLOURS[answer.grade]]
    parts.append(f'<rect width="14" height="{HEIGHT}" fill="{grade}"/>')
    kernel = [short(document.system.get(f"kernel.{one}")) for one in ("name", "release")]
    imported = document.imported
    where = target_text(document) if imported is None else origin_text(imported)
    machine = ", ".join(filter(None, (where, " ".join(kernel).strip())))
    y = 66.0
    parts.append(_line(machine, y, 24, "quiet"))
    for text in _wrapped(answer.sentence, 40):
        y += 54
        parts.append(_line(text, y, 40, "ink", is_bold=True))
    y += 24
    parts += _chart(document, answer, limits, y)
    day = document.started_utc[:10]
    trust = _TRUST[trust_of(document).grade]
    whose = f"hardstone, {day}" if imported is None else "Read by hardstone, not measured by it"
    foot = f"{whose}. {trust}; {conditions_text(document, is_brief=True)}"
    parts.append(_line(foot, HEIGHT - 26, 19, "quiet"))
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    words = f"<title>{_escaped(f'{machine}: {answer.sentence}', 300)}</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{words}{"".join(parts)}</svg>\n'
    )


def _chart(
    document: RunDocument, answer: Answer, limits: Sequence[int], top: float
) -> Iterator[str]:
    """The distribution as large as there is room for; nothing where no time was measured."""
    lead = lead_of(document, answer)
    if lead is None:
        return
    drawn = coloured(render(lead_spec(lead, limits, size=_CHART)))
    box = _BOX.search(drawn)
    if box is None:
        return
    wide, high = float(box[1]), float(box[2])
    scale = min(_ROOM / wide, (HEIGHT - 60 - top) / high)
    place = f'x="{_MARGIN}" y="{top:.0f}" width="{wide * scale:.0f}" height="{high * scale:.0f}"'
    body = drawn.partition(">")[2]
    yield f'<svg {place} viewBox="0 0 {wide:g} {high:g}" {_FONT}>{body}'


def _wrapped(text: str, size: float) -> list[str]:
    lines = textwrap.wrap(_plain(text, 300), int(_ROOM / (size * _SHARE)))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], " ".join(lines[_MOST_LINES - 1 :])]
    return lines


def _line(text: str, y: float, size: float, colour: str, *, is_bold: bool = False) -> str:
    """A line of text, cut off where it does not fit."""
    share = _SHARE if is_bold else 0.5
    look = ' font-weight="600"' if is_bold else ""
    return (
        f'<text x="{_MARGIN}" y="{y:.0f}" font-size="{size:g}" fill="{palette()[colour]}" {_FONT}'
        f"{look}>{_escaped(text, int(_ROOM / (size * share)))}</text>"
    )


_LABEL = "real-time"
_BADGE_HEIGHT = 20
_BADGE_SIZE = 11
_BADGE_CHARACTERS = 60


def badge(document: RunDocument) -> str:
    """A badge as SVG: "real-time | worst wake-up 22.4 ms", in the colour of the grade."""
    answer = answer_of(document)
    message = _plain(badge_text(document, answer), _BADGE_CHARACTERS)
    widths = [round(width_of(text, _BADGE_SIZE) * 1.08) + 12 for text in (_LABEL, message)]
    left, whole = widths[0], sum(widths)
    texts = ((_LABEL, 0, left), (message, left, widths[1]))
    letters = "".join(
        f'<text x="{start + width / 2:g}" y="14" textLength="{width - 12}" '
        f'lengthAdjust="spacingAndGlyphs">{_escaped(text, _BADGE_CHARACTERS)}</text>'
        for text, start, width in texts
    )
    words = _escaped(f"{_LABEL}: {message}", 2 * _BADGE_CHARACTERS)
    colour = palette()[_COLOURS[answer.grade]]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{_BADGE_HEIGHT}" '
        f'role="img" aria-label="{words}"><title>{words}</title>'
        f'<rect width="{whole}" height="{_BADGE_HEIGHT}" rx="3" fill="#3c434b"/>'
        f'<path d="M{left} 0h{widths[1] - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{widths[1] - 3}z" '
        f'fill="{colour}"/>'
        f'<g fill="#ffffff" text-anchor="middle" font-size="{_BADGE_SIZE}" '
        f'font-family="Verdana, DejaVu Sans, Geneva, sans-serif">{letters}</g></svg>\n'
    )


def badge_text(document: RunDocument, answer: Answer) -> str:
    """The message of a badge. It says where the figure does not stand for real-time under load."""
    if trust_of(document).grade == "untrustworthy":
        return "run not trustworthy"
    if answer.figure is None:
        return answer.sentence
    worst = f"worst {answer.what} {answer.figure.worst_text}"
    if document.imported is not None:
        worst += f" ({tool_title(document.imported)})"
    if kind := time_machine(document.system):  # a badge stands alone: no figure that could flatter
        return f"not judged, {kind}"
    if answer.grade == "unjudged":
        return f"{worst}, not judged"
    return f"{worst}, without load" if "without load" in answer.judgement else worst


def _plain(text: str, most: int) -> str:
    """One line of characters that XML can hold."""
    line = shorten(text, most)
    return "".join(one if one.isprintable() else " " for one in line)


def _escaped(text: str, most: int) -> str:
    return str(escape(_plain(text, most)))
