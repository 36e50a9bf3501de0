"""The cost model against its formula, and what it needs."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, Event, Result, RunDocument
from hardstone.stats.tire_costs import Model, NoModel, model_of, models_of
from hardstone.stats.tire_points import points_of
from tests.unit.stats.make import result
from tests.unit.stats.tires import labelled, real_fast, real_time, sweep

SPRING, MASS, SEMAPHORE, SWITCH, HAND_OVER = 5.0, 3.0, 20.0, 1000, 4000


def with_costs(one: Result, **changed: object) -> Result:
    data = {"spring_ns": SPRING, "mass_ns": MASS, "semaphore_ns": SEMAPHORE, "masses_count": 400}
    one.events.append(Event(name="tire_costs", text="", data=data | changed))  # type: ignore[arg-type]
    return one


def inputs(load: str = "none") -> list[Result]:
    where = Conditions(load=load, cpu_config="shared")
    switch = [
        labelled("switch", "ns", [SWITCH] * 4, {"threads": 2}),
        labelled("switch", "ns", [9 * SWITCH] * 4, {"threads": 128}),
    ]
    shuffle = [
        labelled("shuffle", "ns", [9], {"kind": "mutex", "scope": "thread"}),
        labelled("shuffle", "ns", [HAND_OVER] * 4, {"kind": "unnamed", "scope": "thread"}),
    ]
    return [
        result("THR-P-SLS", series=switch, conditions=where),
        result("SEM-P-SHF", series=shuffle, conditions=where),
    ]


def only(document: RunDocument) -> Model | NoModel:
    (found,) = models_of(document, points_of(document))
    return found


def test_one_thread_has_springs_and_masses_only() -> None:
    found = only(sweep(with_costs(real_time(400, 1, step_ns=7000))))
    assert isinstance(found, Model)
    assert found.model_ns == 1.5 * 400 * SPRING + 400 * MASS
    assert found.semaphore is None
    assert found.extended_ns is None
    assert found.residual_ns == 7000 - found.model_ns


def test_threads_have_the_terms_of_the_paper() -> None:
    counts = {"involuntary_count": 30, "semaphore_operations_count": 1600}
    point = real_time(402 - 2, 3, step_ns=50_000, data={**counts, "semaphore_blocked_count": 80})
    found = only(sweep(with_costs(point), *inputs()))
    assert isinstance(found, Model)
    each = 400 // 3
    assert {one.name: one.ns for one in found.terms} == {
        "spring": pytest.approx((2 * each + 1) * SPRING),
        "mass": pytest.approx(each * MASS),
        "hand-over": pytest.approx(4 * each * (80 / 1600) * HAND_OVER),
        "switch": pytest.approx(30 / (3 * 100) * SWITCH),
    }
    assert found.semaphore is not None
    assert found.semaphore.ns == pytest.approx(4 * each * SEMAPHORE)
    assert found.residual_ns == pytest.approx(50_000 - found.model_ns)
    assert found.extended_residual_ns == pytest.approx(
        50_000 - found.model_ns - 4 * each * SEMAPHORE
    )
    assert any("3 threads on 2 CPUs" in note for note in found.notes)


def test_real_fast_steps_come_from_the_total_time() -> None:
    fast = with_costs(real_fast(400, 1, totals=[60_000_000, 66_000_000]))
    fast.params["simulated_s"] = 60
    found = only(sweep(fast))
    assert isinstance(found, Model)
    assert found.measured_ns == pytest.approx(63_000_000 / 6000)


def test_inputs_of_another_condition_are_told() -> None:
    point = with_costs(real_time(load="heavy"))
    found = only(sweep(point, *inputs("none")))
    assert isinstance(found, Model)
    assert [note for note in found.notes if "was measured under load none" in note] == list(
        found.notes
    )
    same = only(sweep(point, *inputs("none"), *inputs("heavy")))
    assert isinstance(same, Model)
    assert same.notes == ()


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (sweep(real_time(), *inputs()), "tire_costs"),
        (sweep(with_costs(real_time(), spring_ns=0), *inputs()), "spring"),
        (sweep(with_costs(real_time(), mass_ns=-3.0), *inputs()), "mass"),
        (sweep(with_costs(real_time(), mass_ns="<b>"), *inputs()), "mass"),
        (sweep(with_costs(real_time(), mass_ns=float("nan")), *inputs()), "mass"),
        (sweep(with_costs(real_time()), inputs()[0]), "SEM-P-SHF"),
        (sweep(with_costs(real_time()), inputs()[1]), "THR-P-SLS"),
        (
            sweep(with_costs(real_time(data={"involuntary_count": None})), *inputs()),
            "context switches",
        ),
        (
            sweep(with_costs(real_time(data={"semaphore_blocked_count": -2})), *inputs()),
            "semaphore operations",
        ),
        (sweep(with_costs(real_time(solver="barrier")), *inputs()), "solver semaphore"),
    ],
)
def test_without_an_input_there_is_no_model(document: RunDocument, why: str) -> None:
    found = only(document)
    assert isinstance(found, NoModel)
    assert why in found.why


def test_a_point_without_times_has_no_model() -> None:
    point = with_costs(real_time())
    point.series = point.series[:2]
    document = sweep(point, *inputs())
    found = model_of(document, points_of(document)[0])
    assert isinstance(found, NoModel)
    assert "no step" in found.why
