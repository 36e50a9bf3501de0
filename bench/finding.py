"""What a load finds: the late wake-ups of TMR-P-LAT under each load, all in each round.

Every round measures every load once, in an order that turns from round to round. Each figure is
compared within a round; the ratio is the median over the rounds, with an interval. `--leave-out`
compares the storm with itself without one element: what is then missing is what the element brings.
`--write` puts the tables into bench/README.md. Each measurement is kept in a file (`--keep`) at
once, and `--again` goes on with those that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import loads, processes
from bench.rounds import Interval, Metrics, Spread
from bench.run import PROBE, ROOT, machine

FIGURES = {
    loads.WORST: "worst observed",
    loads.LARGEST: f"mean of the {loads.TOP} largest",
    loads.P999: "p99.9",
}
PEERS = (loads.HACKBENCH, loads.STRESS_NG)
COMPARE, LEAVE_OUT = "compare", "leave-out"
BLOCKS = {COMPARE: "finding", LEAVE_OUT: "leave-out"}


@dataclass
class Found:
    """Figures by load, and the reason where there are none, of each round."""

    rounds: list[dict[str, Metrics]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)

    def add(self, number: int, name: str, metrics: Metrics | None, reason: str = "") -> None:
        self.rounds += [{} for _ in range(number + 1 - len(self.rounds))]
        if metrics is None:
            self.broken.append((name, reason))
        else:
            self.rounds[number][name] = metrics

    def values(self, name: str, figure: str) -> list[float]:
        return [one[name][figure] for one in self.rounds if name in one]

    def ratios(self, name: str, peer: str, figure: str) -> list[float]:
        """Formed within each round that has both."""
        both = [one for one in self.rounds if name in one and peer in one]
        return [one[name][figure] / one[peer][figure] for one in both]


def turned(sides: Sequence[loads.Side], number: int) -> list[loads.Side]:
    """Each load comes at each place of a round, and after another one in odd rounds."""
    start = number // 2 % len(sides)
    order = [*sides[start:], *sides[:start]]
    return order[::-1] if number % 2 else order


def measure(
    sides: Sequence[loads.Side], rounds: int, seconds: float, keep: Path, found: Found
) -> None:
    """Measures what `found` does not have; each measurement is a line of `keep` at once."""
    for number in range(rounds):
        for side in turned(sides, number):
            if number < len(found.rounds) and side.name in found.rounds[number]:
                continue
            metrics, reason = _one(side, seconds)
            found.add(number, side.name, metrics, reason)
            line = {"round": number, "load": side.name, "figures": metrics, "reason": reason}
            with keep.open("a") as file:
                file.write(json.dumps(line) + "\n")
            shown = reason if metrics is None else _shown(metrics)
            print(f"round {number + 1} of {rounds}, {side.name}: {shown}", flush=True)


def _shown(metrics: Metrics) -> str:
    return ", ".join(f"{title} {_ms(metrics[key])}" for key, title in FIGURES.items())


def _one(side: loads.Side, seconds: float) -> tuple[Metrics | None, str]:
    try:
        return loads.found_under(side, PROBE, seconds), ""
    except processes.Missing as missing:
        return None, str(missing)


def kept(path: Path) -> Found:
    """What an earlier run kept; a load that was broken is measured again."""
    found = Found()
    for line in path.read_text().splitlines() if path.exists() else []:
        one = json.loads(line)
        if one["figures"] is not None:
            found.add(one["round"], one["load"], one["figures"])
    return found


def pairs(mode: str, sides: Sequence[loads.Side]) -> Iterator[tuple[str, str]]:
    """Whose ratio is formed."""
    if mode == LEAVE_OUT:
        yield from ((side.name, loads.STORM) for side in sides[1:])
        return
    for own in (loads.STORM, loads.HEAVY):
        yield from ((own, peer) for peer in (*PEERS, loads.NONE))


def reading(ratio: Interval) -> str:
    if ratio.low is None or ratio.high is None:
        return "too few rounds"
    return "more" if ratio.low > 1 else "less" if ratio.high < 1 else "even"


def figure_rows(found: Found, sides: Sequence[loads.Side]) -> list[list[str]]:
    """Median over the rounds, least and largest, of each figure under each load."""
    rows = [["load", *FIGURES.values(), "rounds"]]
    for side in sides:
        values = [found.values(side.name, figure) for figure in FIGURES]
        cells = [_spread(Spread.of(one)) if one else "-" for one in values]
        rows.append([side.name, *cells, str(len(values[0]))])
    return rows


def ratio_rows(found: Found, mode: str, sides: Sequence[loads.Side]) -> list[list[str]]:
    rows = [["load", "by", *FIGURES.values()]]
    for own, peer in pairs(mode, sides):
        ratios = [found.ratios(own, peer, figure) for figure in FIGURES]
        rows.append([own, peer, *(_ratio(one) for one in ratios)])
    return rows


def _ratio(ratios: list[float]) -> str:
    if not ratios:
        return "-"
    ratio = Interval.of(ratios)
    bounds = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.median:.2f}{bounds}: {reading(ratio)}"


def _spread(spread: Spread) -> str:
    return f"{_ms(spread.median)} ({_ms(spread.min)} to {_ms(spread.max)})"


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms"


def markdown(rows: list[list[str]]) -> str:
    table = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in table)


def page(found: Found, mode: str, sides: Sequence[loads.Side], seconds: float) -> str:
    said = f"{machine()}; {len(found.rounds)} rounds of {seconds:g} s under each load.\n\n"
    said += markdown(figure_rows(found, sides)) + "\n" + markdown(ratio_rows(found, mode, sides))
    if found.broken:
        said += "\n" + "".join(f"- {name} broke: {why}\n" for name, why in found.broken)
    return said


def write(path: Path, mode: str, text: str) -> None:
    name = BLOCKS[mode]
    block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->\n)", re.DOTALL)
    path.write_text(block.sub(lambda match: f"{match[1]}{text}{match[2]}", path.read_text()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument(
        "--leave-out",
        metavar="ELEMENTS",
        help=f"each of these in turn: all, or some of {','.join(loads.ELEMENTS)}",
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="default: build/MODE.jsonl")
    parser.add_argument("--again", action="store_true", help="go on with the kept measurements")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    mode = LEAVE_OUT if given.leave_out else COMPARE
    names = list(loads.ELEMENTS) if given.leave_out == "all" else (given.leave_out or "").split(",")
    try:
        sides = loads.without(names) if mode == LEAVE_OUT else loads.compared()
    except processes.Missing as missing:
        parser.error(str(missing))
    keep = given.keep or ROOT / "build" / f"{mode}.jsonl"
    if not given.again:
        keep.unlink(missing_ok=True)
    found = kept(keep)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    measure(sides, given.rounds, given.seconds, keep, found)
    text = page(found, mode, sides, given.seconds)
    print(text)
    if given.write:
        write(ROOT / "bench" / "README.md", mode, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
