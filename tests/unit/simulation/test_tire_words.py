"""The tire in words: nothing is rounded in favour of the system. A whole sweep is in
tests/unit/report/golden, odd ones are in golden/tire.txt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Result, RunDocument
from hardstone.simulation.prediction import prediction_events
from hardstone.simulation.results import points_of
from hardstone.simulation.tables import (
    bound_rows,
    cost_table,
    deadlines_missed,
    denied_lines,
    map_texts,
    paused_lines,
    percent,
    period_rows,
    point_rows,
    prediction_table,
    published_points,
    published_tire,
    residual_text,
    statement_texts,
    texts_between,
    tire_lines,
)
from tests.unit.golden import assert_as_stored
from tests.unit.simulation.tires import (
    costs,
    costs_only,
    opening,
    parts_of,
    planned_curves,
    real_fast,
    real_time,
    simulation,
    sweep,
    timed_costs,
    whole_sweep,
)

REFUSED = {"status": "denied", "reason": "no", "series": [], "events": []}


def with_event(found: Result, name: str, **changed: int) -> Result:
    event = simulation(400, 2, **changed)
    event.name = name
    found.events.append(event)
    return found


def with_step(found: Result) -> Result:
    found.params["step_ns"] = 500_000
    return found


def told(document: RunDocument) -> str:
    points = points_of(document)
    lines = [f"bound: {' | '.join(row.cells)}; {row.note}" for row in bound_rows(document, points)]
    lines += [f"point: {' | '.join(row)}" for row in point_rows(document, points)]
    for one in map_texts(document, points):
        lines += [f"map {one.ends}", *(f"{threads} {line}" for threads, line in one.lines)]
    for one in map_texts(document, points, columns=4):
        lines += [f"narrow map: {line}" for _, line in one.lines]
    lines += [f"{row}" for text in statement_texts(document, points) for row in text.rows]
    costed = cost_table(document, points)
    lines += [f"cost: {' | '.join(row)}" for row in costed.rows]
    lines += [f"lacking: {one}" for one in costed.lacking] + costed.notes
    study = published_tire(document, points)
    if len(study.headings) > 4:
        lines += [" | ".join(row) for row in (study.headings, *study.rows)]
    predicted = prediction_table(document, points)
    lines += [f"predicted: {' | '.join(row)}" for row in predicted.rows] + predicted.lacking
    lines += [f"period: {' | '.join(row)}" for row in period_rows(document, points)]
    lines += [*denied_lines(points), *paused_lines(points), *tire_lines(document)]
    return "\n".join([*lines, deadlines_missed(document)])


def sweeps() -> Iterator[tuple[str, RunDocument]]:
    yield "held up to a miss", sweep(real_time(400), real_time(800), real_time(1200, missed=2))
    yield "without a miss the largest is no limit", sweep(real_time(400), real_time(800))
    yield "what was refused is not said to have held none", sweep(real_time(400, **REFUSED))
    never = real_time(400, missed=50), real_time(800, missed=100)
    yield "what never held shows its smallest point", sweep(*never)
    yield (
        "islands, and points that do not count",
        sweep(
            real_time(400, missed=1),
            real_time(800),
            real_time(200, **REFUSED | {"reason": "no memory"}),
            real_time(100, interrupted=True),
        ),
    )
    far = with_event(real_time(400), "simulation_out_of_step")
    yield "a thread far ahead ends a simulation", sweep(far)
    yield "CPU time and switches", sweep(real_time(400, missed=3), real_fast(400))
    yield (
        "the map has a column for each number of masses",
        sweep(
            real_time(400, 1),
            real_time(800, 1, missed=2),
            real_time(1200, 1, interrupted=True),
            real_time(400, 2),
            real_time(1200, 2),
        ),
    )
    many = (real_time(4 * n, 1, missed=n == 7) for n in range(1, 13))
    yield "narrow maps show the worst of neighbours", sweep(*many)
    yield (
        "other steps are other curves",
        sweep(
            *(
                change(real_time(n, 1, policy=one))
                for one in ("fifo", "other")
                for n, change in ((4000, lambda one: one), (400, with_step))
            )
        ),
    )
    paused = with_event(real_fast(400, 1), "real_fast_paused", lost_ns=50_000_000)
    yield "paused", sweep(paused, real_fast(800, 1))
    yield "costs of a whole sweep", whole_sweep(["none"])
    costed = real_time()
    costed.events.append(costs())
    yield "the inputs of costs are only those of the document", sweep(costed)
    yield "with all inputs", sweep(costed, *opening())
    like = real_time(400), with_step(real_time(800)), real_time(1200, solver="barrier")
    yield "only runs like the study stand beside it", sweep(*like)
    emulated = sweep(*like)
    emulated.system["virtual.hypervisor"] = "TCG"
    yield "nothing emulated stands beside it", emulated
    timed = real_time(400, 2), real_time(800, 2, missed=4)
    for one, masses in zip(timed, (400, 800), strict=True):
        one.events.append(timed_costs(masses, 2))
        one.series += parts_of(one, dispatch_ns=50_000, idle_ns=9_000_000)
    before = costs_only(timed_costs(400, 2), timed_costs(10_000, 2))
    before.events += prediction_events(before, planned_curves(1, 2, 4))
    yield (
        "predicted before the first point, and the parts of a period",
        sweep(*opening(), before, *timed, real_time(400, 4)),
    )
    yield "a battery", sweep(real_time(400, 2, missed=3), real_fast(400, 1))
    refusal = {"status": "denied", "reason": "admission refused", "remedy": "fewer threads"}
    refused = (real_time(n, **refusal, series=[]) for n in (400, 800))
    yield "a refusal once, with its remedy", sweep(*refused)


@pytest.mark.slow
def test_odd_sweeps_in_words(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "tire.txt", {name: told(one) for name, one in sweeps()})


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0"),
        (0.0295, "3.0 %"),
        (0.0300, "3.0 %"),
        (0.03001, "3.1 %"),
        (0.00051, "0.051 %"),
        (0.005, "0.50 %"),
        (0.195, "20 %"),
        (1.0, "100 %"),
        (0.00003, "1 in\N{NO-BREAK SPACE}33\N{NO-BREAK SPACE}300"),
    ],
)
def test_a_share_is_rounded_up(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.slow
@given(st.floats(0.0001, 1))
def test_no_share_is_shown_smaller_than_it_is(share: float) -> None:
    assert float(percent(share).removesuffix(" %")) / 100 >= share * (1 - 1e-8)


@pytest.mark.slow
def test_an_emulated_kernel_stands_beside_no_hardware() -> None:
    names = ("6.12", "6.12-rt")
    first, second = whole_sweep(), whole_sweep()
    found = texts_between(first, second, names)
    assert not isinstance(found, str) and {one.conclusion for one in found} == {"Not decided."}
    second.system["virtual.hypervisor"] = "TCG"
    assert "emulated" in str(texts_between(first, second, names))
    first.system["virtual.hypervisor"] = "TCG"
    assert not isinstance(texts_between(first, second, names), str)


@pytest.mark.parametrize(
    ("residual", "text"), [(None, "-"), (42.0, "+42 %"), (-100.0, "-100 %"), (0.0, "+0 %")]
)
def test_a_residual_has_a_sign(residual: float | None, text: str) -> None:
    assert residual_text(residual, 100.0) == text


def test_the_published_points_are_those_of_the_study() -> None:
    found = [(one.system[:5], one.threads, one.held, one.missed_from) for one in published_points()]
    assert found[:2] == [("Xenom", None, 14_000, None), ("Xenom", 12, 57_000, None)]
    assert found[2:] == [("Linux", 1, None, 6_000), ("Linux", 12, None, 24_000)]
