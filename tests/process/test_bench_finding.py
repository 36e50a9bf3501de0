"""The arithmetic of `bench.finding`; what it measures is never asserted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from bench import finding, loads, processes
from bench.finding import Found, kept, markdown, pairs, ratio_rows, reading, turned
from bench.rounds import Interval
from hardstone.stats.layout import index_of

PROBE = Path("probe")


def series(values: list[int]) -> dict[str, Any]:
    """As the probe sends it."""
    counts: dict[int, int] = {}
    for value in values:
        counts[index_of(value)] = counts.get(index_of(value), 0) + 1
    worst = [{"value_ns": value} for value in sorted(values)[-32:]]
    buckets = [[index, counts[index]] for index in sorted(counts)]
    histogram = {"layout": "log-linear/10", "buckets": buckets}
    return {"name": "wakeup", "max": max(values), "worst": worst, "histogram": histogram}


def asked_of_the_probe(monkeypatch: pytest.MonkeyPatch, *events: str) -> list[list[str]]:
    """Commands that are run from now on; the worst is their number."""
    commands: list[list[str]] = []

    def run(command: list[str], *more: object) -> processes.Finished:
        commands.append(command)
        lines: list[dict[str, object]] = [
            *({"type": "event", "name": name, "text": name} for name in events),
            {"type": "series", **series([len(commands)] * 40)},
            {"type": "result", "status": "measured", "reason": None},
        ]
        return processes.Finished("\n".join(map(json.dumps, lines)), 0)

    monkeypatch.setattr(processes, "run", run)
    return commands


@pytest.mark.parametrize("count", range(1, 60))
def test_the_interval_is_that_of_the_binomial_distribution(count: int) -> None:
    found = Interval.of(range(1, count + 1))
    outer = int(stats.binom.ppf(0.025, count, 0.5))  # as many may lie below the median
    if outer < 1:
        assert (found.low, found.high) == (None, None)
        return
    assert (found.low, found.high) == (outer, count + 1 - outer)
    held = stats.binom.cdf(count - outer, count, 0.5) - stats.binom.cdf(outer - 1, count, 0.5)
    assert held >= 0.95


def test_the_interval_moves_with_the_values() -> None:
    assert Interval.of([3.0, 1.0, 2.0]) == Interval(2.0)
    assert Interval.of([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]) == Interval(3.5, 1.0, 6.0)


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ([1.5, 1.1, 3, 2, 2, 9], "more"),
        ([0.2, 0.9, 0.5, 0.5, 0.99, 0.1], "less"),
        ([0.5, 1.5, 2, 2, 2, 2], "even"),
        ([5.0, 5.0, 5.0], "too few rounds"),
    ],
)
def test_a_ratio_says_more_only_with_its_whole_interval(ratios: list[float], said: str) -> None:
    assert reading(Interval.of(ratios)) == said


def test_figures_of_a_series() -> None:
    found = loads.figures(series([*range(1, 1001), 5000]))
    assert found[loads.WORST] == 5000
    assert found[loads.LARGEST] == pytest.approx((5000 + sum(range(982, 1001))) / 20)
    assert found[loads.P999] == 1000  # 1000 of 1001 are 99.9 % and a little more


def test_fewer_than_twenty_values_have_a_mean_too() -> None:
    assert loads.figures(series([4, 6]))[loads.LARGEST] == 5


def test_each_load_is_at_each_place_and_every_second_round_is_backwards() -> None:
    sides = loads.compared()
    orders = [[side.name for side in turned(sides, number)] for number in range(10)]
    for place in range(5):
        assert sorted(order[place] for order in orders) == sorted(2 * [side.name for side in sides])
    assert orders[1] == orders[0][::-1]


def test_all_sides_are_measured_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = asked_of_the_probe(monkeypatch)
    beside: list[str] = []

    @contextmanager
    def fake(command: list[str]) -> Iterator[None]:
        beside.append(command[0])
        yield

    monkeypatch.setattr(loads, "beside", fake)
    monkeypatch.setattr(processes, "require", lambda program, package: program)
    for side in loads.compared():
        loads.found_under(side, PROBE, 2.5)
    asked = [command[command.index("--load") + 1] for command in commands]
    assert asked == ["none", "heavy@cpu", loads.ALL, "none", "none"]
    assert beside == ["hackbench", "stress-ng"]
    assert len({tuple(command[: command.index("--load")]) for command in commands}) == 1
    assert all("2500000000" in command for command in commands)


def test_the_storm_without_an_element_has_the_others() -> None:
    whole, plain, last = loads.without(["cpu", "messages"])
    assert whole.load == loads.ALL and whole.load.endswith("kernel@cpu+messages")
    assert plain.load == whole.load.removeprefix("cpu@cpu+")
    assert last.load == whole.load.removesuffix("+messages")
    with pytest.raises(processes.Missing, match="no element hevy: cpu"):
        loads.without(["hevy"])


def test_the_elements_are_those_of_the_mix(probe: Path) -> None:
    """With what heavy has written out: the bench leaves none of the mix out."""
    done = processes.run([str(probe), "load", "--list", "--json"])
    mixes = {one["name"]: one["load"] for one in json.loads(done.stdout)["mixes"]}
    text = mixes["storm"].replace("heavy", mixes["heavy"])
    assert [term.partition("=")[0] for term in text.split("+")] == list(loads.ELEMENTS)


@pytest.mark.parametrize("event", loads.BROKEN)
def test_a_load_that_broke_is_no_figure(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    asked_of_the_probe(monkeypatch, event)
    with pytest.raises(processes.Missing, match=event):
        loads.found_under(loads.Side("heavy", "heavy"), PROBE, 1)


def found_of(*rounds: dict[str, float]) -> Found:
    found = Found()
    for number, one in enumerate(rounds):
        for name, value in one.items():
            found.add(number, name, dict.fromkeys(finding.FIGURES, value))
    return found


def test_ratios_are_formed_within_rounds_that_have_both() -> None:
    found = found_of({"storm": 2, "hackbench": 4}, {"storm": 9}, {"storm": 3, "hackbench": 1})
    assert found.ratios("storm", "hackbench", loads.WORST) == [0.5, 3]
    assert found.values("storm", loads.P999) == [2, 9, 3]


def test_rows_say_the_ratio_with_its_interval() -> None:
    found = found_of(*({"storm": value, "without kernel": 1.0} for value in (2, 4, 4, 4, 4, 5)))
    sides = loads.without(["kernel"])
    (head, row) = ratio_rows(found, finding.LEAVE_OUT, sides)
    assert head == ["load", "by", "worst observed", "mean of the 20 largest", "p99.9"]
    assert row == ["without kernel", "storm", *["0.25 (0.20 to 0.50): less"] * 3]
    assert list(pairs(finding.COMPARE, loads.compared()))[:2] == [
        ("storm", "hackbench"),
        ("storm", "stress-ng"),
    ]
    assert markdown([head, row]).count("\n") == 3


def test_a_round_goes_on_where_it_was_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep, asked = tmp_path / "kept.jsonl", []
    sides = loads.without(["kernel", "messages"])

    def measured(side: loads.Side, probe: Path, seconds: float) -> dict[str, float]:
        asked.append(side.name)
        if len(asked) == 3:
            raise processes.Missing("it did not settle")
        return dict.fromkeys(finding.FIGURES, float(len(asked)))

    monkeypatch.setattr(loads, "found_under", measured)
    first = kept(keep)
    finding.measure(sides, 1, 1, keep, first)
    assert asked == ["storm", "without kernel", "without messages"]
    assert first.broken == [("without messages", "it did not settle")]
    assert "broke: it did not settle" in finding.page(first, finding.LEAVE_OUT, sides, 1)
    again = kept(keep)
    finding.measure(sides, 1, 1, keep, again)
    assert asked[3:] == ["without messages"]
    assert again.values("without messages", loads.WORST) == [4]
    assert math.isclose(again.ratios("without messages", "storm", loads.WORST)[0], 4)


def test_only_its_own_block_is_written(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- finding -->\nold\n<!-- end of finding -->\nb\n")
    finding.write(page, finding.LEAVE_OUT, "new\n")
    assert "old" in page.read_text()
    finding.write(page, finding.COMPARE, "new\n")
    assert page.read_text() == "a\n<!-- finding -->\nnew\n<!-- end of finding -->\nb\n"


def test_the_page_has_both_blocks() -> None:
    text = (finding.ROOT / "bench" / "README.md").read_text()
    for name in finding.BLOCKS.values():
        assert text.count(f"<!-- {name} -->") == text.count(f"<!-- end of {name} -->") == 1
