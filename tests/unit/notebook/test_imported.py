"""A run of a file of another tool in Python."""

from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.notebook import Run
from hardstone.notebook.loaded_series import RunSeries
from hardstone.systems.subjects import subjects_of
from tests import imported
from tests.unit.stats import make


def run_of(document: RunDocument) -> Run:
    return Run(tuple(subjects_of(document)))


def series_of(document: RunDocument) -> RunSeries:
    run = run_of(document)
    (found,) = run[run.tests[0]].all_series
    return found


def test_a_run_says_which_file_it_is_from() -> None:
    run = run_of(imported.imported_run(imported.bare()))
    assert run.imported is not None
    assert (run.imported.tool, run.imported.file) == ("cyclictest", "cyclictest-hist.txt")
    assert run.imported.losses == [imported.NO_LOAD_SAID]
    assert "trust indicative, read from a file of cyclictest 2.40" in repr(run)
    assert run_of(make.document()).imported is None


def test_figures_that_a_file_has_not_are_refused_with_the_reason() -> None:
    bare = series_of(imported.imported_run(imported.bare(1760)))
    assert (bare.count, bare.min, bare.max) == (1760, 2000, 34_000)
    assert bare.statistics() == ["min", "mean", "max"]
    for ask in (lambda: bare.quantile(0.5), bare.exceedance):
        with pytest.raises(InputError, match="minimum, mean and maximum only, so no quantile"):
            ask()
    with pytest.raises(InputError, match="so no share above a deadline"):
        bare.misses(10_000)
    above = bare.above(10_000)
    assert (above.low, above.high) == (1, 1759)


def test_a_mean_of_an_unknown_count() -> None:
    mean = series_of(
        imported.imported_run(result=imported.imported_result(imported.only_mean(), test="zephyr"))
    )
    assert mean.mean == 1200.0
    assert mean.statistics() == ["mean"]
    assert "count not known" in repr(mean)
    for ask in ("min", "max", "count"):
        with pytest.raises(InputError, match=r"the file (has no|does not say)"):
            getattr(mean, ask)


def test_a_cut_histogram_keeps_its_buckets() -> None:
    cut = series_of(
        imported.imported_run(imported.cyclictest([5000] * 90 + [57_000], buckets=20, is_cut=True))
    )
    assert cut.counts.sum() == cut.count == 90
    assert cut.above(10_000).high is None
    with pytest.raises(InputError, match="no count of the values above 20 us"):
        cut.quantile(0.5)
