"""What a comparison computes once is what is computed singly."""

from __future__ import annotations

from hardstone.present.compare_build import compare_view
from hardstone.present.compare_medians import Medians
from hardstone.stats.contradictions import told, trust_of
from hardstone.stats.histogram import bins_of
from hardstone.stats.kernel_operations import kernel_time_of
from hardstone.stats.two_runs import compare_quantile, quantile_ends
from tests.unit.present.made_systems import cells_at, run_with, spread, switching
from tests.unit.stats.blocked import kernel_result
from tests.unit.stats.make import instrument, result, series


def test_ends_that_are_known_give_the_same_ratio() -> None:
    first, other = series(spread(500, 1)), series(spread(560, 2))
    for quantum in (0.0, 40.0):
        ends = (
            quantile_ends(first, 0.5, quantum=quantum),
            quantile_ends(other, 0.5, quantum=quantum),
        )
        known = compare_quantile(first, other, 0.5, quantum=quantum, ends=ends)
        assert known == compare_quantile(first, other, 0.5, quantum=quantum)


def test_the_ratio_of_a_cell_is_that_of_the_two_series() -> None:
    coarse = instrument()
    coarse.quantum_ns = 52.0
    first, other = switching(spread(500, 1)), switching(spread(560, 2), instrument=coarse)
    cell = cells_at(compare_view([first, other]), "THR-P-SLS/2/switch")[1]
    pair = first.held()[0].series, other.held()[0].series
    assert cell.ratio == compare_quantile(*pair, 0.5, quantum=52.0)


def test_the_median_is_the_figure_of_the_series() -> None:
    few = switching([1, 2, 3])
    for run in (switching(spread(500)), few):
        held = run.held()[0]
        assert Medians([held]).figure(0) == held.amount("p50")


def test_the_kernel_s_sections_as_a_whole_do_not_need_the_operations() -> None:
    one = kernel_result()
    alone, full = kernel_time_of(one, is_whole_only=True), kernel_time_of(one)
    assert alone is not None and full is not None
    assert alone.operations == [] and full.operations
    assert alone.whole.blocking is not None and full.whole.blocking is not None
    assert alone.whole.blocking.lengths == full.whole.blocking.lengths
    assert alone.whole.kernel_share == full.whole.kernel_share


def test_the_trust_of_a_run_is_that_of_its_document() -> None:
    wrong = series([1, 2, 3])
    wrong.count = 7
    for run in (run_with(result()), run_with(result(series=[wrong]))):
        assert run.trust == trust_of(run.document)
        assert bool(run.contradictions) is (run.trust.grade == "untrustworthy")


def test_contradictions_that_are_known_are_told_without_another_look() -> None:
    wrong = series([1, 2, 3])
    wrong.count = 7
    run = run_with(result(series=[wrong]))
    assert told(run.document, run.contradictions) == told(run.document) != []
    assert told(run.document, []) == []


def test_bins_have_the_edges_of_buckets_of_any_kind_of_pair() -> None:
    one = series([3, 3, 900, 70_000])
    bins = bins_of(one.histogram)
    one.histogram.buckets = [list(pair) for pair in one.histogram.buckets]  # type: ignore[misc]
    again = bins_of(one.histogram)
    assert again.lower.tolist() == bins.lower.tolist() and again.count.tolist() == [2, 1, 1]
    assert all(
        low <= value <= high
        for low, value, high in zip(bins.lower, [3, 900, 70_000], bins.upper, strict=True)
    )
