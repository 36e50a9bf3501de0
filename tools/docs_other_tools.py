"""The page of other tools: which of their files are read, and what they measure."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.importers.recognise import all_formats, tool_title
from hardstone.systems.moments import OWN, QUESTIONS, Moments, ToolMoments, load_moments

HEAD = """\
# Other tools

`hardstone import FILE` reads what these tools write ([how]({how})). A figure of another tool is
comparable with one of hardstone if both are taken between the same two moments, and the second
moment is seen in the same kind of thread. It is then stored under the test of hardstone, and
`hardstone compare` puts both into one row. All others are stored under the name of their tool.

The data is `src/hardstone/systems/moments.toml`.
"""
_HOW = "docs/how-to/import-results.md"
_THREADS = {"user": "a thread in user space", "kernel": "a kernel thread", "handler": "a handler"}


def page() -> str:
    tools = load_moments()
    return "\n".join(
        [HEAD.format(how=_HOW.replace("docs", "..", 1)), *_questions(tools), *_tools(tools)]
    )


def _questions(tools: dict[str, ToolMoments]) -> Iterator[str]:
    """For each question the figures that answer it."""
    yield "## What may be compared\n"
    yield "| figure | same moments as hardstone | other moments |"
    yield "| --- | --- | --- |"
    for question, title in QUESTIONS.items():
        rows = [
            (f"{tool.title} (`{name}`)", one)
            for key, tool in tools.items()
            for name, one in tool.series.items()
            if one.question == question and key != OWN
        ]
        if not rows:
            continue
        same = [name for name, one in rows if not one.differs]
        other = [name for name, one in rows if one.differs]
        yield f"| {title} | {', '.join(same) or '-'} | {', '.join(other) or '-'} |"
    yield ""


def _tools(tools: dict[str, ToolMoments]) -> Iterator[str]:
    for key, tool in tools.items():
        if key == OWN:
            continue
        yield f"## {tool.title}\n"
        yield f"Of {tool.package}: <{tool.source}>.\n"
        formats = [one.title for one in all_formats() if tool_title(one) == tool.title]
        if formats:
            kinds = [title.partition(", ")[2] or "text" for title in formats]
            yield f"Read: {'; '.join(kinds)}.\n"
        yield from _notes(tool)
        yield "| figure | from | to | seen in | stored as | compared with hardstone |"
        yield "| --- | --- | --- | --- | --- | --- |"
        yield from (_row(name, one) for name, one in tool.series.items())
        yield ""


def _notes(tool: ToolMoments) -> Iterator[str]:
    notes = [*tool.notes]
    if tool.core:
        notes.append(f"{tool.core} schedules its threads, not Linux.")
    if notes:
        yield "\n".join(f"- {_escaped(note)}" for note in notes) + "\n"


def _row(name: str, one: Moments) -> str:
    labels = "".join(f", {label} {value}" for label, value in one.labels.items())
    stored = f"{one.test} {one.series}{labels}"
    verdict = f"no: it {one.differs}" if one.differs else "yes"
    cells = [f"`{name}`", one.begin, one.end, _THREADS[one.thread], f"`{stored}`", verdict]
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
