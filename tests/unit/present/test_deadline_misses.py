"""`show --deadline`: misses with their exact interval, in the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
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
from tests.unit.report.media import flat, printed
from tests.unit.stats.make import document, result, series

SPACE = "\N{NO-BREAK SPACE}"


def run_of(*found: Series, **changed: object) -> RunDocument:
    return document(results=[result(series=list(found), **changed)])


def texts(run: RunDocument, deadline_ns: int) -> tuple[str, list[str]]:
    (one,) = misses_document(run, deadline_ns).series
    return count_text(one), share_lines(one)


def shown(run: RunDocument, deadline_ns: int) -> str:
    return printed(lambda one, out: print_misses(one, deadline_ns, out), run)


@pytest.mark.parametrize(
    ("values", "deadline_ns", "count", "lines"),
    [
        # no end is rounded inwards: of 3 in 1000 scipy has 1 in 1616.4 to 1 in 114.45, of 5 in 200
        # 1 in 122.456 to 1 in 17.43
        ([10] * 997 + [50] * 3, 20, "3", ["1 in 333", "1 in 1 620 to 1 in 114"]),
        ([10] * 195 + [50] * 5, 20, "5", ["1 in 40", "1 in 123 to 1 in 17"]),
        ([10] * 1000, 20, "none", ["at most 1 in 334"]),
        ([50] * 20, 20, "20", ["100 %", "83 % to 100 %"]),
        # a value at the deadline keeps it
        ([10] * 99 + [20], 20, "none", ["at most 1 in 33"]),
        ([10] * 99 + [20], 19, "1", ["1 in 100", "1 in 3 960 to 1 in 18"]),
        # a bucket that the deadline cuts shows both counts
        ([10] * 90 + [9085] * 10, 9084, "1 to 10", ["1 in 10", "0.025 % to 18 %"]),
    ],
)
def test_misses_in_words(values: list[int], deadline_ns: int, count: str, lines: list[str]) -> None:
    found, said = texts(run_of(series(values)), deadline_ns)
    assert (found, [one.replace(SPACE, " ") for one in said]) == (count, lines)


def test_a_share_has_its_exact_interval() -> None:
    (one,) = misses_document(run_of(series([10] * 997 + [50] * 3)), 20).series
    wanted = stats.binomtest(3, 1000).proportion_ci(0.95, "exact")
    assert (one.share_low, one.share_high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert (one.least_count, one.most_count, one.values, one.at_most) == (3, 3, 1000, None)
    none = run_of(series([10] * 1000))
    (one,) = misses_document(none, 20).series
    assert one.at_most == pytest.approx(1 - 0.05 ** (1 / 1000))
    assert "at most: what no miss in that many values shows with 95 %" in shown(none, 20)
    cut = run_of(series([10] * 90 + [9085] * 10))
    (one,) = misses_document(cut, 9084).series
    low, high = stats.binomtest(1, 100), stats.binomtest(10, 100)
    assert one.share_low == pytest.approx(low.proportion_ci(0.95, "exact").low, rel=1e-9)
    assert one.share_high == pytest.approx(high.proportion_ci(0.95, "exact").high, rel=1e-9)
    said = flat(shown(cut, 9084))
    assert CUT in said and INDEPENDENT in said and CUT not in flat(shown(cut, 100))


def test_values_past_the_histogram_count_as_misses() -> None:
    over = series([10] * 97 + [60_000] + [5_000_000] * 2, limit=100_000)
    assert over.histogram.overflow == 2
    assert texts(run_of(over), 50_000)[0] == "3"
    # a deadline beyond the buckets: one value is known to be above, the maximum
    assert texts(run_of(over), 1_000_000)[0] == "1 to 2"


@pytest.mark.parametrize("values", [[], [1, 2, 3]])
def test_series_without_figures_say_why(values: list[int]) -> None:
    one = series(values)
    if values:
        one.mean = 1e9
    what = "figures of the series contradict each other" if values else "no values"
    assert texts(run_of(one), 2) == ("-", [what])
    assert INDEPENDENT not in flat(shown(run_of(one), 2))


def test_series_that_are_no_durations_are_left_out() -> None:
    counts = msgspec.structs.replace(series([1, 2]), unit="count", name="missed")
    rates = msgspec.structs.replace(series([1, 2]), unit="bytes_per_s", name="throughput")
    found = misses_document(run_of(series([1]), counts, rates), 5)
    assert [one.name for one in found.series] == ["wakeup"] and found.left_out_count == 2
    both = shown(run_of(series([1]), counts, rates), 5)
    assert "2 series are no durations, and left out" in both
    assert "1 series is no duration, and left out" in shown(run_of(series([1]), counts), 5)
    with pytest.raises(InputError, match="counts and throughputs have no deadline"):
        misses_document(run_of(counts), 5)
    with pytest.raises(InputError, match="nothing was timed"):
        misses_document(document(results=[result(series=[])]), 5)


def test_late_wakeups_have_two_views() -> None:
    both = run_of(series([1]), series([1], name="release"))
    assert LATENESS in misses_document(both, 5).notes
    assert LATENESS not in misses_document(run_of(series([1])), 5).notes


def test_conditions_and_states_are_named() -> None:
    other: Result = result(values=[7, 8], complete=False)
    other.conditions.load = "none"
    cut = result("MUT-P-ARC", values=[7], interrupted=True)  # it has its footer all the same
    late = result(values=[7], status="timeout")
    run = document(results=[result(values=[1]), other, late, cut])
    said = shown(run, 5)
    assert "TMR-P-LAT [heavy]\N{SPACE}" in said and "TMR-P-LAT [none] (incomplete)" in said
    assert "TMR-P-LAT [heavy] (timeout)" in said and "MUT-P-ARC [heavy] (incomplete)" in said
    states = [(one.status, one.is_complete) for one in misses_document(run, 5).series]
    assert states == [*(("measured", n == 0) for n in range(2)), ("timeout", True), states[1]]


def test_what_differs_between_results_is_named() -> None:
    found = [result(values=[n]) for n in (1, 7, 8)]
    found[1].conditions.cpu_config = "shielded"
    found[2].conditions.preemption = "full"
    run = document(results=found)
    told = [(one.cpu_config, one.preemption) for one in misses_document(run, 5).series]
    assert told == [("shared", ""), ("shielded", ""), ("shared", "full")]
    assert "shielded" in shown(run, 5) and "full" in shown(run, 5)


@pytest.mark.slow
def test_series_that_are_not_printed_are_counted() -> None:
    one = series([1])
    many = [msgspec.structs.replace(one, labels={"n": number}) for number in range(803)]
    said = shown(run_of(*many), 5)
    assert "3 more series, with --json" in said and "n 799" in said and "n 800" not in said


def test_what_is_derived_is_marked_and_bounds_nothing() -> None:
    """As elsewhere: a switch of 9 ns and one of 1 ns are two of 5 ns."""
    half = msgspec.structs.replace(series([1, 9], name="switch"), derived="half of round_trip")
    run = run_of(half)
    found = misses_document(run, 10)
    (one,) = found.series
    assert one.at_most is None and one.derived == "half of round_trip" and DERIVED in found.notes
    assert texts(run, 10) == ("none", ["-"]) and texts(run, 5) == ("1", ["50 %", "1.2 % to 99 %"])
    assert "switch, total, derived" in shown(run, 10) and "at most" not in shown(run, 10)
    assert DERIVED not in misses_document(run_of(series([1])), 10).notes


def test_the_trust_of_the_run_stands_below() -> None:
    run = run_of(series([1]))
    assert f"trust: {run.trust.grade}" in shown(run, 5)
    assert misses_document(run, 5).trust == run.trust
    run.results[0].series[0].mean = 1e9
    assert misses_document(run, 5).trust.grade == "untrustworthy"


@pytest.mark.slow
def test_lines_have_80_columns() -> None:
    counted = series([10] * 999_990 + [50] * 10)
    counted.histogram.buckets = [(at, 10 * n) for at, n in counted.histogram.buckets]
    counted.count *= 10
    for attack in ATTACKS[:4]:
        counted.labels["part"] = attack
        run = run_of(counted)
        run.name = attack
        assert "10 000 000" in shown(run, 20).replace(SPACE, " ")


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
    whole = hardstone(*stored, "--deadline", "50us")
    assert whole.code == EXIT_OK and not whole.err
    assert "values above 50us" in whole.out and "MUT-P-ARC" in whole.out
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
        *(
            (["--deadline", typed], f"'{typed}' is not a duration")
            for typed in ("-5us", "100", "5MB", "10Hz", "", "nan")
        ),
        (["--deadline", "0us"], "not a duration above zero"),
        (["--deadline", "400d"], "is too long"),
        (["--deadline", "0.5ns"], "not a whole number of nanoseconds"),
        *(
            (["--deadline", "1us", *other], "--deadline takes no --all")
            for other in (["--all"], ["--project", "TMR-*"], ["--published"])
        ),
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
