"""`show --deadline`: misses with their exact interval, in the terminal and as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len
from scipy import stats

from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY, EXIT_USAGE, InputError
from hardstone.model import Result, RunDocument, Series
from hardstone.present.deadline_misses import (
    CUT,
    DERIVED,
    LATENESS,
    count_text,
    misses_document,
    share_lines,
)
from hardstone.stats.miss_interval import INDEPENDENT
from hardstone.store import Store
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.terminal.misses_view import print_misses
from tests.process.cli.conftest import Done, hardstone  # noqa: F401
from tests.unit.report.hostile import ATTACKS
from tests.unit.stats.make import document, result, series

SPACE = "\N{NO-BREAK SPACE}"


def run_of(*found: Series, **changed: object) -> RunDocument:
    return document(results=[result(series=list(found), **changed)])


def texts(run: RunDocument, deadline_ns: int) -> tuple[str, list[str]]:
    (one,) = misses_document(run, deadline_ns).series
    return count_text(one), share_lines(one)


def printed(run: RunDocument, deadline_ns: int) -> str:
    stream = io.StringIO()
    print_misses(run, deadline_ns, stream)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_share_has_its_exact_interval() -> None:
    run = run_of(series([10] * 997 + [50] * 3))
    (one,) = misses_document(run, 20).series
    wanted = stats.binomtest(3, 1000).proportion_ci(0.95, "exact")
    assert (one.share_low, one.share_high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert (one.least_count, one.most_count, one.values, one.at_most) == (3, 3, 1000, None)
    # 1 in 1616.4 to 1 in 114.45: no end is rounded inwards
    assert texts(run, 20) == ("3", [f"1 in{SPACE}333", f"1 in{SPACE}1{SPACE}620 to 1 in{SPACE}114"])


def test_neither_end_is_rounded_inwards() -> None:
    """scipy has 1 in 122.456 to 1 in 17.43."""
    run = run_of(series([10] * 195 + [50] * 5))
    assert texts(run, 20)[1][1] == f"1 in{SPACE}123 to 1 in{SPACE}17"


def test_without_a_miss_the_share_is_at_most_three_in_that_many() -> None:
    run = run_of(series([10] * 1000))
    (one,) = misses_document(run, 20).series
    assert one.at_most == pytest.approx(1 - 0.05 ** (1 / 1000))
    assert texts(run, 20) == ("none", [f"at most 1 in{SPACE}334"])
    assert "at most: what no miss in that many values shows with 95 %" in printed(run, 20)


def test_a_value_at_the_deadline_keeps_it() -> None:
    run = run_of(series([10] * 99 + [20]))
    assert texts(run, 20)[0] == "none" and texts(run, 19)[0] == "1"


def test_a_bucket_that_the_deadline_cuts_shows_both_counts() -> None:
    run = run_of(series([10] * 90 + [9085] * 10))
    assert texts(run, 9084) == ("1 to 10", [f"1 in{SPACE}10", "0.025 % to 18 %"])
    (one,) = misses_document(run, 9084).series
    low, high = stats.binomtest(1, 100), stats.binomtest(10, 100)
    assert one.share_low == pytest.approx(low.proportion_ci(0.95, "exact").low, rel=1e-9)
    assert one.share_high == pytest.approx(high.proportion_ci(0.95, "exact").high, rel=1e-9)
    said = " ".join(printed(run, 9084).split())
    assert CUT in said and INDEPENDENT in said
    assert CUT not in " ".join(printed(run, 100).split())


def test_values_past_the_histogram_count_as_misses() -> None:
    over = series([10] * 97 + [60_000] + [5_000_000] * 2, limit=100_000)
    assert over.histogram.overflow == 2
    assert texts(run_of(over), 50_000)[0] == "3"
    # a deadline beyond the buckets: one value is known to be above, the maximum
    assert texts(run_of(over), 1_000_000)[0] == "1 to 2"


def test_all_missed() -> None:
    assert texts(run_of(series([50] * 20)), 20) == ("20", ["100 %", "83 % to 100 %"])


@pytest.mark.parametrize("values", [[], [1, 2, 3]])
def test_series_without_figures_say_why(values: list[int]) -> None:
    one = series(values)
    if values:
        one.mean = 1e9
    what = "figures of the series contradict each other" if values else "no values"
    assert texts(run_of(one), 2) == ("-", [what])
    assert INDEPENDENT not in " ".join(printed(run_of(one), 2).split())


def test_series_that_are_no_durations_are_left_out() -> None:
    counts = msgspec.structs.replace(series([1, 2]), unit="count", name="missed")
    rates = msgspec.structs.replace(series([1, 2]), unit="bytes_per_s", name="throughput")
    found = misses_document(run_of(series([1]), counts, rates), 5)
    assert [one.name for one in found.series] == ["wakeup"] and found.left_out_count == 2
    assert "2 series are no durations, and left out" in printed(
        run_of(series([1]), counts, rates), 5
    )
    assert "1 series is no duration, and left out" in printed(run_of(series([1]), counts), 5)
    with pytest.raises(InputError, match="counts and throughputs have no deadline"):
        misses_document(run_of(counts), 5)
    with pytest.raises(InputError, match="nothing was timed"):
        misses_document(document(results=[result(series=[])]), 5)


def test_late_wakeups_have_two_views() -> None:
    both = run_of(series([1]), series([1], name="release"))
    assert LATENESS in misses_document(both, 5).notes
    assert LATENESS not in misses_document(run_of(series([1])), 5).notes


def test_conditions_and_states_are_named() -> None:
    other: Result = result(values=[7, 8])
    other.conditions.load = "none"
    other.complete = False
    late = result(values=[7], status="timeout")
    cut = result("MUT-P-ARC", values=[7])
    cut.interrupted = True  # it has its footer all the same
    run = document(results=[result(values=[1]), other, late, cut])
    said = printed(run, 5)
    assert "TMR-P-LAT [heavy]\N{SPACE}" in said and "TMR-P-LAT [none] (incomplete)" in said
    assert "TMR-P-LAT [heavy] (timeout)" in said and "MUT-P-ARC [heavy] (incomplete)" in said
    states = [(one.status, one.is_complete) for one in misses_document(run, 5).series]
    assert states == [
        ("measured", True),
        ("measured", False),
        ("timeout", True),
        ("measured", False),
    ]


def test_what_differs_between_results_is_named() -> None:
    other, model = result(values=[7]), result(values=[8])
    other.conditions.cpu_config = "shielded"
    model.conditions.preemption = "full"
    run = document(results=[result(values=[1]), other, model])
    found = misses_document(run, 5).series
    assert [(one.cpu_config, one.preemption) for one in found] == [
        ("shared", ""),
        ("shielded", ""),
        ("shared", "full"),
    ]
    said = printed(run, 5)
    assert "shielded" in said and "full" in said


@pytest.mark.slow
def test_series_that_are_not_printed_are_counted() -> None:
    many = [msgspec.structs.replace(series([1]), labels={"n": one}) for one in range(803)]
    said = printed(run_of(*many), 5)
    assert "3 more series, with --json" in said and "n 799" in said and "n 800" not in said


def test_what_is_derived_is_marked() -> None:
    half = msgspec.structs.replace(series([1], name="switch"), derived="half of round_trip")
    assert "switch, total, derived" in printed(run_of(half), 5)
    assert misses_document(run_of(half), 5).series[0].derived == "half of round_trip"


def test_what_is_derived_bounds_nothing() -> None:
    """As elsewhere: a switch of 9 ns and one of 1 ns are two of 5 ns."""
    half = msgspec.structs.replace(series([1, 9], name="switch"), derived="half of round_trip")
    (one,) = misses_document(run_of(half), 10).series
    assert one.at_most is None and texts(run_of(half), 10) == ("none", ["-"])
    assert DERIVED in misses_document(run_of(half), 10).notes
    assert "at most" not in printed(run_of(half), 10)
    assert texts(run_of(half), 5) == ("1", ["50 %", "1.2 % to 99 %"])
    assert DERIVED not in misses_document(run_of(series([1])), 10).notes


def test_the_trust_of_the_run_stands_below() -> None:
    run = run_of(series([1]))
    assert f"trust: {run.trust.grade}" in printed(run, 5)
    assert misses_document(run, 5).trust == run.trust
    run.results[0].series[0].mean = 1e9
    assert misses_document(run, 5).trust.grade == "untrustworthy"


@pytest.mark.slow
def test_lines_have_80_columns() -> None:
    long = [10] * 9_999_990 + [50] * 10
    counted = series(long)
    for attack in ATTACKS[:4]:
        counted.labels["part"] = attack
        run = run_of(counted)
        run.name = attack
        text = printed(run, 20)
        assert "\x1b" not in text and max(map(cell_len, text.splitlines())) <= 80


@pytest.fixture
def stored(tmp_path: Path) -> list[str | Path]:
    counts = msgspec.structs.replace(series([1, 2]), unit="count", name="missed")
    run = document(results=[result(values=[10] * 99 + [90_000]), result("MUT-P-ARC", values=[7])])
    run.results.append(result("SIM-S-RT", series=[counts]))
    write_document(open_place(Store(tmp_path / "store").path), run)
    return ["show", run.id, "--store", tmp_path / "store"]


def test_show_deadline(
    hardstone: Callable[..., Done],  # noqa: F811
    stored: list[str | Path],
) -> None:
    shown = hardstone(*stored, "--deadline", "50us")
    assert shown.code == EXIT_OK and not shown.err
    assert "values above 50us" in shown.out and "MUT-P-ARC" in shown.out
    some = hardstone(*stored, "TMR-*", "--deadline", "0.05ms")
    assert some.code == EXIT_OK and "MUT-P-ARC" not in some.out


def test_show_deadline_as_json(
    hardstone: Callable[..., Done],  # noqa: F811
    stored: list[str | Path],
) -> None:
    shown = hardstone(*stored, "--deadline", "50us", "--json")
    found = json.loads(shown.out)
    assert (found["schema"], found["deadline_ns"]) == ("hardstone.misses/1", 50_000)
    first, second = found["series"]
    assert (first["test"], first["most_count"], first["values"]) == ("TMR-P-LAT", 1, 100)
    assert (second["most_count"], second["share_low"]) == (0, 0.0)
    assert second["at_most"] == pytest.approx(0.95) and found["left_out_count"] == 1
    one = hardstone(*stored, "MUT-*", "--deadline", "50us", "--json")
    assert len(json.loads(one.out)["series"]) == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--deadline", "-5us"], "'-5us' is not a duration"),
        (["--deadline", "100"], "'100' is not a duration"),
        (["--deadline", "5MB"], "'5MB' is not a duration"),
        (["--deadline", "10Hz"], "'10Hz' is not a duration"),
        (["--deadline", ""], "'' is not a duration"),
        (["--deadline", "nan"], "'nan' is not a duration"),
        (["--deadline", "0us"], "not a duration above zero"),
        (["--deadline", "400d"], "is too long"),
        (["--deadline", "0.5ns"], "not a whole number of nanoseconds"),
        (["--deadline", "1us", "--all"], "--deadline takes no --all"),
        (["--deadline", "1us", "--project", "TMR-*"], "--deadline takes no --all"),
        (["--deadline", "1us", "--published"], "--deadline takes no --all"),
        (["--deadline", "1us", "--why"], "--why takes no"),
        (["--deadline", "1us", "SIM-S-RT"], "counts and throughputs have no deadline"),
        (["--deadline", "1us", "X"], "the run has no test 'X'"),
    ],
)
def test_a_deadline_that_is_none_is_one_line(
    hardstone: Callable[..., Done],  # noqa: F811
    stored: list[str | Path],
    typed: list[str],
    said: str,
) -> None:
    for form in ([], ["--json"]):
        refused = hardstone(*stored, *typed, *form)
        assert refused.code == EXIT_USAGE and not refused.out
        assert said in refused.err and len(refused.err.splitlines()) <= 2


def test_a_contradictory_run_exits_as_elsewhere(
    hardstone: Callable[..., Done],  # noqa: F811
    tmp_path: Path,
) -> None:
    run = run_of(series([1, 2, 3]))
    run.results[0].series[0].mean = 1e9
    write_document(open_place(Store(tmp_path / "store").path), run)
    shown = hardstone("show", run.id, "--deadline", "1us", "--store", tmp_path / "store")
    assert shown.code == EXIT_UNTRUSTWORTHY and "contradict" in shown.out
