"""Why more threads held fewer masses: what the figures show, and nothing else."""

from __future__ import annotations

import pytest

from hardstone.model import Result
from hardstone.present.why_late import all_causes
from hardstone.simulation.results import points_of
from hardstone.simulation.scaling import scaling_texts
from hardstone.terminal.one_screen import print_screen
from tests.unit.report.media import flat, printed
from tests.unit.simulation.tires import costs, opening, real_time, sweep
from tests.unit.stats import recorded

MILLISECOND_NS = 1_000_000


def texts(*results: Result) -> list[str]:
    for one in results:
        one.events.append(costs())
    document = sweep(*opening(), *results)
    return scaling_texts(document, points_of(document))


def held(threads: int, masses: int = 800, step_ns: int = 100_000) -> Result:
    return real_time(masses, threads, step_ns=step_ns)


def missed(threads: int, masses: int = 800, step_ns: int = 300_000, **changed: object) -> Result:
    return real_time(masses, threads, missed=3, step_ns=step_ns, **changed)  # type: ignore[arg-type]


def test_it_says_who_held_how_much_and_what_was_seen_there() -> None:
    stolen = missed(4, environment={"steal_ns": 10 * MILLISECOND_NS})
    (text,) = texts(held(1), held(4, 400), stolen)
    assert text.startswith(
        "fifo: 4 threads held 400 masses, 1 thread held at least 800. At 800 masses 3 of 100 steps "
        "missed with 4 threads; a step takes 300 us on average, 100 us with 1 thread. Seen there: "
        "4 threads share 2 CPUs; hand-overs, switches and semaphore operations cost only "
    )
    assert "; the hypervisor took 10 ms; the mean step fills 3 % of its period" in text


def test_coordination_is_named_only_where_a_step_became_longer() -> None:
    (longer,) = texts(held(1), missed(2, step_ns=6 * MILLISECOND_NS))
    assert "of a step by the cost model" in longer and "only" in longer
    assert "fills" not in longer and "hypervisor" not in longer
    (close,) = texts(held(1, step_ns=295_000), missed(2))
    assert "cost only" not in close and "by the cost model" in close
    (shorter,) = texts(held(1, step_ns=9 * MILLISECOND_NS), missed(2, step_ns=8 * MILLISECOND_NS))
    assert shorter.endswith("9 ms with 1 thread. The figures do not show the cause.")


def test_without_figures_it_claims_nothing() -> None:
    bare = missed(2, data={"cpus_count": None})
    bare.series = [one for one in bare.series if one.name != "step_time"]
    (text,) = texts(held(1), bare)
    assert text.endswith("3 of 100 steps missed with 2 threads. The figures do not show the cause.")


@pytest.mark.parametrize(
    "results",
    [
        [held(1), held(2)],
        [held(1), held(2, 400)],  # 800 was not measured with 2 threads
        [held(1), missed(2, 1200)],
        [missed(1), held(2)],  # more threads held more
        [real_time(800, 1, policy="other"), missed(2)],  # another policy
    ],
)
def test_it_says_nothing_where_more_threads_did_not_hold_less(results: list[Result]) -> None:
    assert texts(*results) == []


def points() -> list[Result]:
    return [held(1, 400), held(1), missed(2), missed(2, 400)]


def test_the_screen_says_it_and_why_other_tests_ran() -> None:
    shown = flat(printed(print_screen, sweep(*opening(), *points())))
    assert "2 threads held no number of masses, 1 thread held at least 800." in shown
    said = "THR-P-SLS and SEM-P-SHF ran first to time a switch and a hand-over (cost model)"
    assert said in shown
    assert "ran first" not in printed(print_screen, sweep(*points()))


def test_the_lateness_of_the_cost_models_tests_is_not_explained_in_a_sweep() -> None:
    late = recorded.with_cause(migrations_count=1)
    late.test = "THR-P-SLS"
    assert all_causes(sweep(late), 3)
    assert all_causes(sweep(late, *points()), 3) == []
