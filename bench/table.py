"""The results as lines for a terminal and as a table for README.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.rounds import Rounds, Spread

SCALES = {
    "ns": 1,
    "ms": 1e6,
    "s": 1e9,
    "KiB": 1024,
    "MiB": 1024**2,
    "MB": 1e6,
    "MB/s": 1e6,
    "faults": 1,
}
EVEN = 0.03
HEAD = ["what", "hardstone", "peer", "ratio", "reading", "measured on"]
BLOCK = re.compile(r"(<!-- results -->\n).*?(<!-- end -->\n)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """One metric, ready to be read. `note` says why a column is empty."""

    title: str
    unit: str = ""
    own: str = "-"
    peer_name: str = ""
    peer: str = "-"
    ratio: str = "-"
    reading: str = ""
    note: str = ""
    rounds: int = 0


def smaller_is_better(ratio: Spread) -> str:
    if _is_even(ratio):
        return "even"
    return "hardstone is better" if ratio.max < 1 else "hardstone is worse"


def agreement(ratio: Spread) -> str:
    """Where both sides time the system, so that a ratio praises or blames neither."""
    return f"a check: {abs(ratio.median - 1):.0%} apart"


def _is_even(ratio: Spread) -> bool:
    return ratio.min <= 1 + EVEN and ratio.max >= 1 - EVEN


def measured(
    title: str,
    unit: str,
    rounds: Rounds,
    metric: str,
    peer_name: str,
    note: str,
    reading: Callable[[Spread], str] = smaller_is_better,
) -> Row:
    """`reading` puts the ratio of own by peer into words; by default smaller is better."""
    ratio = rounds.ratio(metric)
    peer = rounds.peer.get(metric)
    return Row(
        title=title,
        unit=unit,
        own=_spread(Spread.of(rounds.own[metric]), SCALES[unit]),
        peer_name=peer_name,
        peer=_spread(Spread.of(peer), SCALES[unit]) if peer else "-",
        ratio=_spread(ratio, 1) if ratio else "-",
        reading=reading(ratio) if ratio else "",
        note=note,
        rounds=len(rounds.own[metric]),
    )


def skipped(name: str, reason: str) -> Row:
    return Row(title=name, note=reason)


def line(row: Row) -> str:
    if row.own == "-":
        return f"{row.title}: skipped: {row.note}"
    text = f"{row.title}: {row.own} {row.unit}"
    if row.peer != "-":
        text += f"; {row.peer_name}: {row.peer} {row.unit}; ratio {row.ratio}: {row.reading}"
    return f"{text} ({row.note})" if row.note else text


def write(path: Path, rows: list[Row], machine: str) -> None:
    """Puts `rows` into the table of `path`. Rows that were not measured anew stay, with the machine
    that they were measured on."""
    text = path.read_text()
    block = BLOCK.search(text)
    kept = {} if block is None else _rows_by_key(block[0])
    found = [(row.rounds, _cells(row)) for row in rows]
    fresh = {_key(cells): [*cells, f"{machine}; {count} rounds"] for count, cells in found}
    table = [HEAD, ["---"] * len(HEAD), *({**kept, **fresh}).values()]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    said = f"Median over the rounds (least to largest).\n\n{body}\n"
    path.write_text(BLOCK.sub(lambda match: f"{match[1]}{said}{match[2]}", text))


def _cells(row: Row) -> list[str]:
    peer = f"{row.peer_name}: {row.peer} {row.unit}" if row.peer != "-" else row.note or "-"
    own = f"{row.own} {row.unit}" if row.own != "-" else f"skipped: {row.note}"
    said = [row.reading, row.note if row.peer != "-" else ""]
    return [row.title, own, peer, row.ratio, "; ".join(filter(None, said)) or "-"]


def _key(cells: list[str]) -> tuple[str, str]:
    """A row is known by what was measured and against whom."""
    return cells[0], cells[2].partition(":")[0]


def _rows_by_key(block: str) -> dict[tuple[str, str], list[str]]:
    lines = [line for line in block.splitlines() if line.startswith("| ")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {_key(cells): cells for cells in rows if len(cells) == len(HEAD)}


def _spread(spread: Spread, scale: float) -> str:
    median, least, most = (
        _digits(value / scale) for value in (spread.median, spread.min, spread.max)
    )
    return median if least == most else f"{median} ({least} to {most})"


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
