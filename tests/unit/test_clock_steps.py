"""A clock with coarse steps is named before any figure, and a value of few steps is marked,
wherever the figures of a run are shown."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.screen import comparison_lines
from hardstone.comparison.sheet import render_compare_pdf
from hardstone.model import Instrument, PairCost, RunDocument
from hardstone.stats.quantiles import instrument_limit
from hardstone.systems.subjects import subjects_of
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from hardstone.units import format_cost, format_read
from tests.unit.report.media import Sketches, printed, sketched, texts_of, words
from tests.unit.stats import make

STEPS = "clock rdtime, steps of 100 ns: a value may be 1 step off (~ below 1 us)"


def instrument(quantum_ns: float = 100.0, pair: int = 0) -> Instrument:
    cost = PairCost(count=9, min=0, median=pair, p99=pair, mean=1.0, max=900)
    return replace(make.instrument(clock="rdtime"), quantum_ns=quantum_ns, pair=cost)


def a_run(own: Instrument, run_id: str = "20261121T032200Z-1a2b3c") -> RunDocument:
    values = [100] * 30 + [400] * 30
    one = make.result("SEM-P-SIG", series=[make.series(values)], instrument=own)
    return make.document(run_id=run_id, results=[one], instrument=own)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "<100 ns"),
        (101, "<200 ns"),  # the end of a bucket
        (200, "~200 ns"),
        (949, "~900 ns"),
        (1000, "1 us"),
        (8_500, "8.50 us"),
        (-100, "~-100 ns"),
    ],
)
def test_a_value_of_few_steps_is_marked(value: int, text: str) -> None:
    assert format_read(value, 100.0) == text


@pytest.mark.parametrize(
    ("cost", "quantum", "text"),
    [
        (0, 100.0, "less than a step of 100 ns"),
        (101, 100.0, "less than 2 steps of 100 ns"),
        (300, 100.0, "~300 ns"),
        (0, 16.0, "0 ns"),
        (20, 0.42, "20 ns"),
    ],
)
def test_the_cost_of_a_pair_of_time_stamps(cost: int, quantum: float, text: str) -> None:
    assert format_cost(cost, quantum) == text


def test_the_limit_of_an_instrument_is_at_least_its_step() -> None:
    said = "at the instrument's limit: a pair of time stamps costs less than a step of 100 ns"
    assert instrument_limit(make.series([400] * 9), instrument()) == said
    assert instrument_limit(make.series([4000] * 9), instrument()) is None


def shown(name: str, own: Instrument) -> str:
    run = a_run(own)
    if name == "page":
        return words(sketched(run)).partition("Skip to the results")[2]
    if name == "comparison":
        view = compare_view(
            [*subjects_of(run), *subjects_of(a_run(own, "20261121T032300Z-1a2b3d"))]
        )
        return "\n".join(line.plain for line in comparison_lines(view, 80))
    return printed({"screen": print_screen, "all": print_whole}[name], run, 80, "utf-8")


FIGURE = re.compile(r"\b400 ns")


@pytest.mark.parametrize("name", ["screen", "all", "page", "comparison"])
def test_steps_come_before_figures_and_few_are_marked(name: str) -> None:
    text = shown(name, instrument())
    first = FIGURE.search(text)
    assert first is not None, text
    assert 0 <= text.find(STEPS) < first.start(), text
    assert not re.search(r"(?<!~)\b400 ns", text), text
    fine = shown(name, instrument(quantum_ns=16.0, pair=20))
    assert "rdtime, steps" not in fine, fine
    assert re.search(r"(?<!~)\b400 ns", fine), fine


def test_the_steps_that_were_measured_are_not_marked() -> None:
    own = instrument()
    step = replace(make.series([100] * 30), name="step")
    run = make.document(results=[make.result("CLK-B-RES", series=[step])], instrument=own)
    text = printed(print_whole, run, 80, "utf-8")
    assert "<200 ns" not in text
    assert len(re.findall(r" 100 ns", text.partition("observed")[2])) >= 3, text


def test_the_paper_of_a_comparison_names_the_steps() -> None:
    runs = (a_run(instrument(), f"20261121T032{number}00Z-1a2b3c") for number in (2, 3))
    view = compare_view([one for run in runs for one in subjects_of(run)])
    text = " ".join(texts_of(render_compare_pdf(view, drawer=Sketches())))
    assert STEPS in text and "~400 ns" in text
