"""Limits from runs: read again, passed by each of them, with the margin and its origin."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.gate import Limit, check_limits, limits_text, read_limits, suggest_limits
from hardstone.model import RunDocument, Trust
from tests.unit.gate.made import TESTS, behaviour, run, spread, systems
from tests.unit.stats import make


def suggested(*runs: RunDocument, margin: float = 0.25) -> tuple[str, list[Limit]]:
    found = suggest_limits([systems(one) for one in runs], margin)
    text = limits_text(found, [one.id for one in runs], margin)
    used = [one.limit for one in found if not one.left_out]
    return text, read_limits(text.encode(), TESTS) if used else []


def test_what_comes_out_is_read_again_and_passes() -> None:
    document = make.document(results=[*run().results, behaviour(True, True)])
    text, limits = suggested(document)
    assert [(one.statistic, one.wanted) for one in limits] == [
        ("max", "at most 62.5 us"),
        ("p50", "at most 12.7 us"),
        ("p99", "at most 20.8 us"),
        ("claims", "all claims hold"),
    ]
    assert {(one.load, one.cpu_config, one.policy) for one in limits} == {
        ("heavy", "shared", "fifo")
    }
    assert {one.outcome for one in check_limits(limits, systems(document))} == {"PASS"}
    assert "a margin of 25 %" in text and "# observed 50 us; plus 25 %" in text
    assert document.id in text
    suggestions = suggest_limits([systems(document)], 0.25)
    assert [one.limit for one in suggestions] == limits


def test_preemption_models_of_one_run_share_their_limits() -> None:
    """A limit cannot name a model, so that it holds under each: the worst of them decides."""
    models = {"full": 10_000, "none": 10_400}
    runs = [
        run(spread(4000, middle=middle), conditions={"preemption": model})
        for model, middle in models.items()
    ]
    document = make.document(results=[one.results[0] for one in runs])
    _, limits = suggested(document)
    assert [(one.statistic, one.wanted) for one in limits] == [
        ("max", "at most 65 us"),
        ("p50", "at most 14.5 us"),
    ]
    assert {one.outcome for one in check_limits(limits, systems(document))} == {"PASS"}


def test_the_worst_run_decides() -> None:
    quick, slow = run(spread(2000)), run(spread(2000, middle=20_000), run_id="20261121T032200Z-b")
    text, limits = suggested(quick, slow, margin=0.5)
    assert limits[0].wanted == "at most 150 us"
    assert "# observed 100 us (worst of 2 runs); plus 50 %" in text


def test_of_a_rate_the_least_counts() -> None:
    rate = msgspec.structs.replace(make.series([50_000_000, 60_000_000]), unit="bytes_per_s")
    _, limits = suggested(run(test="MSG-P-THR", series=[rate]))
    assert [one.wanted for one in limits] == ["at least 40 MB/s"]


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([run(trust=Trust(grade="untrustworthy", reasons=["X"]))], "untrustworthy: X"),
        ([run(complete=False)], "cut off before its end"),
        ([make.document(results=[behaviour(True, False)])], "FAIL: claim1: seen 1"),
        ([run(), make.document(results=[])], "the run has no TMR-P-LAT"),
        ([run(), run(status="denied", series=[], reason="EPERM")], "denied, EPERM"),
    ],
)
def test_a_limit_that_its_runs_do_not_pass_does_not_come_out(
    runs: list[RunDocument], told: str
) -> None:
    text, limits = suggested(*runs)
    assert limits == []
    assert "# left out: " in text and told in text


def test_emulated_figures_make_limits_that_say_so() -> None:
    text, limits = suggested(run(system={"virtual.emulated": True}))
    assert limits and all(one.is_emulated for one in limits)
    assert "emulated = true" in text


@pytest.mark.slow
@settings(max_examples=20)
@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_hostile_names_stay_words(load: str, label: str, name: str) -> None:
    """No line of it becomes TOML of its own."""
    series = msgspec.structs.replace(make.series([1000, 2000]), labels={"part": label, "b": name})
    document = run(series=[series], conditions={"load": load or "x"})
    text, limits = suggested(document)
    if not limits:
        read_limits(f'{text}\n[[limit]]\naddress="SEM-B-LCK"\nclaims="hold"'.encode(), TESTS)
    assert {one.load for one in limits} <= {load or "x"}
    assert all(check.outcome == "PASS" for check in check_limits(limits, systems(document)))


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=50), min_size=1, max_size=4),
    st.floats(0.001, 10),
)
def test_no_run_fails_a_limit_made_from_it(values: list[list[int]], margin: float) -> None:
    runs = [run(one) for one in values]
    _, limits = suggested(*runs, margin=margin)
    for one in runs:
        assert {check.outcome for check in check_limits(limits, systems(one))} <= {"PASS"}
