"""Limits on the figures of a file of another tool: what the file does not have is never passed."""

from __future__ import annotations

import pytest

from hardstone.gate.against_run import check_against_runs
from hardstone.gate.pairs import PairedRun, why_left_out
from hardstone.model import Loss, RunDocument, Series
from hardstone.stats.run_gate import Outcome
from hardstone.systems.published import parse_address
from hardstone.systems.subjects import subjects_of
from tests import imported
from tests.unit.gate.made import checked

ADDRESS = "TMR-P-LAT/total/0/wakeup"
QUIET = [2500 + 37 * number % 9000 for number in range(3000)]
BARE = imported.bare(1760)
CUT = imported.cyclictest([*QUIET, *[57_000] * 80], buckets=20, is_cut=True)
OVERFLOWED = imported.cyclictest([*QUIET, *[57_000] * 80], buckets=20)


@pytest.mark.parametrize(
    ("series", "entry", "outcome", "said"),
    [
        # 34 us are up to 34 999 ns
        (BARE, 'statistic = "max"\nat_most = "35us"', "PASS", "as observed"),
        (BARE, 'statistic = "max"\nat_most = "34500ns"', "INCONCLUSIVE", "within the step"),
        (BARE, 'statistic = "max"\nat_most = "33999ns"', "FAIL", "proof"),
        (BARE, 'statistic = "min"\nat_least = "2us"', "PASS", "as observed"),
        (BARE, 'statistic = "min"\nat_least = "2500ns"', "INCONCLUSIVE", "within the step"),
        (BARE, 'statistic = "min"\nat_least = "3us"', "FAIL", "proof"),
        (BARE, 'statistic = "p50"\nat_most = "1s"', "INCONCLUSIVE", "maximum only, so no quantile"),
        (BARE, 'statistic = "mean"\nat_most = "1s"', "INCONCLUSIVE", "no standard deviation"),
        (BARE, 'above = "40us"\nat_most = 0', "PASS", "as observed"),
        (BARE, 'above = "10us"\nat_most = 5', "INCONCLUSIVE", "so no share above a deadline"),
        (BARE, 'above = "10us"\nat_most = 0', "FAIL", "proof"),
        (BARE, 'above = "10us"\nat_most = "1 in 2"', "INCONCLUSIVE", "not measured"),
        (CUT, 'statistic = "p50"\nat_most = "1s"', "INCONCLUSIVE", "no count of the values above"),
        (CUT, 'above = "10us"\nat_most = 5000', "INCONCLUSIVE", "no count of the values above"),
        (CUT, 'above = "10us"\nat_most = 5', "FAIL", "proof"),
        (CUT, 'statistic = "max"\nat_most = "1ms"', "PASS", "as observed"),
        (OVERFLOWED, 'above = "30us"\nat_most = 5', "INCONCLUSIVE", "80 values are above the last"),
        (OVERFLOWED, 'above = "30us"\nat_most = 80', "PASS", "as observed"),
        (imported.bare(most=None), 'statistic = "max"\nat_most = "1s"', "INCONCLUSIVE",
         "not measured: the file has no maximum"),
        (imported.bare(least=None), 'statistic = "min"\nat_least = "1ns"', "INCONCLUSIVE",
         "not measured: the file has no minimum"),
        (imported.bare(mean=None), 'statistic = "mean"\nat_most = "1s"', "INCONCLUSIVE",
         "not measured: the file has no mean"),
        (imported.bare(most=None), 'above = "1s"\nat_most = 0', "INCONCLUSIVE", "not measured"),
    ],
)  # fmt: skip
def test_a_limit_on_a_file(series: Series, entry: str, outcome: Outcome, said: str) -> None:
    found = checked(imported.imported_run(series), entry, _address(series))
    assert (found.outcome, said in found.reason) == (outcome, True), found


def test_a_quantile_in_the_step_of_the_maximum_is_judged_by_the_end_of_the_step() -> None:
    series = imported.cyclictest([3000] * 3000)
    for limit, outcome in (("3999ns", "PASS"), ("3500ns", "INCONCLUSIVE"), ("2999ns", "FAIL")):
        entry = f'statistic = "p50"\nat_most = "{limit}"'
        found = checked(imported.imported_run(series), entry, _address(series))
        assert (found.outcome, found.value) == (outcome, 3000), found


def _address(series: Series) -> str:
    return "/".join(["TMR-P-LAT", *map(str, series.labels.values()), series.name])


@pytest.mark.parametrize(
    ("what", "entry", "said"),
    [
        ("unit", 'statistic = "max"\nat_most = "1us"', "import it with --unit"),
        ("count", 'above = "40us"\nat_most = 3', "does not say how many values there were"),
    ],
)
def test_what_is_assumed_decides_nothing(what: str, entry: str, said: str) -> None:
    losses = [Loss(what=what, text="It is not said.")]  # type: ignore[arg-type]
    found = checked(imported.imported_run(BARE, losses=losses), entry, _address(BARE))
    assert found.outcome == "INCONCLUSIVE"
    assert said in found.reason


MISSES_VALUES = [Loss(what="values", text="Only the first 3000 of 7989 values.")]


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        ('statistic = "max"\nat_most = "1s"', "INCONCLUSIVE"),
        ('statistic = "max"\nat_most = "1us"', "FAIL"),
        ('statistic = "p50"\nat_most = "1s"', "INCONCLUSIVE"),
        ('statistic = "p50"\nat_most = "1us"', "INCONCLUSIVE"),
        ('above = "1s"\nat_most = 0', "INCONCLUSIVE"),
        ('above = "20us"\nat_most = 0', "FAIL"),
        ('above = "20us"\nat_most = "99 %"', "INCONCLUSIVE"),
    ],
)
def test_missing_values_pass_no_limit(entry: str, outcome: Outcome) -> None:
    """One of them may be the largest, so only values that are there prove anything."""
    document = imported.imported_run(OVERFLOWED, losses=MISSES_VALUES)
    found = checked(document, entry, _address(OVERFLOWED))
    assert found.outcome == outcome, found
    assert outcome == "FAIL" or "missing from the file" in found.reason


def test_a_run_with_missing_values_is_no_baseline() -> None:
    whole = imported.cyclictest(QUIET)
    lacking = imported.imported_run(whole, losses=MISSES_VALUES)
    assert "missing from the file" in why_left_out(
        parse_address(ADDRESS), (PairedRun(lacking), PairedRun(lacking))
    )


def test_a_file_without_a_distribution_is_no_baseline_and_no_side_of_a_pair() -> None:
    whole, bare = imported.imported_run(OVERFLOWED), imported.imported_run(BARE)
    address = parse_address(ADDRESS)
    for document, said in ((bare, "so no quantile"), (whole, "80 values are in no bucket")):
        pair = PairedRun(document), PairedRun(document)
        assert said in why_left_out(address, pair)
    assert _notes(bare)


def _notes(document: RunDocument) -> list[str]:
    found = check_against_runs(
        subjects_of(document),
        [subjects_of(document)] * 3,
        difference=0.1,
        is_wanted=lambda _: True,
        more="",
    )
    assert all(one.outcome != "PASS" for one in found.checks)
    return [one for one in found.notes if "without a distribution" in one]
