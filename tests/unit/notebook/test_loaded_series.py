"""Series in Python: their arrays and figures beside numpy's of the raw values."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardstone
from hardstone.errors import InputError, UntrustworthyError
from hardstone.model import Series, Worst
from hardstone.stats.miss_interval import misses_of
from hardstone.stats.summary import summarise
from hardstone.store.documents import encode_document
from tests.unit.stats.make import document, result, series


def opened(tmp_path: Path, *found: Series) -> hardstone.RunTest:
    path = tmp_path / "run.json.gz"
    path.write_bytes(encode_document(document(results=[result(series=list(found))])))
    return hardstone.load(path)["TMR-P-LAT"]


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=60))
def test_the_histogram_is_that_of_numpy(values: list[int]) -> None:
    (test,) = _tests(series(values))
    one = test.series("wakeup")
    assert np.all(np.diff(one.edges) > 0) and one.edges.size == one.counts.size + 1
    # by bisection: numpy.histogram takes edges as floats
    places = np.searchsorted(one.edges, np.array(values, dtype=np.int64), side="right") - 1
    assert np.bincount(places, minlength=one.counts.size).tolist() == one.counts.tolist()
    assert int(one.counts.sum()) + one.underflow + one.overflow == one.count == len(values)


def _tests(*found: Series) -> list[hardstone.RunTest]:
    from hardstone.notebook import Run
    from hardstone.subjects import subjects_of

    run = Run(tuple(subjects_of(document(results=[result(series=list(found))]))))
    return [run[test] for test in run]


def test_figures_are_exact(tmp_path: Path) -> None:
    values = [5, 7, 1_000_003]
    one = opened(tmp_path, series(values)).series()
    assert (one.count, one.min, one.max) == (3, 5, 1_000_003)
    assert one.mean == pytest.approx(np.mean(values))
    assert (one.test, one.name, one.unit, one.labels) == (
        "TMR-P-LAT",
        "wakeup",
        "ns",
        {"part": "total"},
    )


def test_a_quantile_is_that_of_the_table(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(1_000, 100_000, 20_000)
    raw = series(values.tolist())
    one = opened(tmp_path, raw).series("wakeup")
    for known in summarise(raw).quantiles:
        assert one.quantile(known.q) == known
    exact = np.quantile(values, 0.999, method="inverted_cdf")
    assert one.quantile(0.999).value == pytest.approx(exact, rel=2**-10)
    narrow, wide = one.quantile(0.9, confidence=0.5), one.quantile(0.9, confidence=0.999)
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]


def test_a_quantile_is_not_beyond_the_maximum(tmp_path: Path) -> None:
    one = opened(tmp_path, series([1_000_001] * 100)).series()
    assert one.quantile(0.9).value == one.max == 1_000_001
    assert one.amount("p90").value == 1_000_001  # type: ignore[union-attr]


def test_a_quantile_needs_values_beyond_it(tmp_path: Path) -> None:
    one = opened(tmp_path, series(range(1, 101))).series()
    assert one.quantile(0.9).value == 90
    with pytest.raises(InputError, match=r"100 values are too few .* the deepest is 0\.9"):
        one.quantile(0.91)
    for q in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="do not lie between 0 and 1"):
            one.quantile(q)


def test_values_above_a_limit(tmp_path: Path) -> None:
    values = np.random.default_rng(2).integers(1, 10_000, 1_000)
    one = opened(tmp_path, series(values.tolist())).series()
    for limit in (0, 1, 999, 1_000.5, 9_999, 10_000):
        found, real = one.above(limit), int((values > limit).sum())
        assert found.low <= real <= found.high
    with pytest.raises(InputError, match="nan is no limit"):
        one.above(float("nan"))


def test_misses_of_a_deadline(tmp_path: Path) -> None:
    values = np.random.default_rng(4).integers(1, 10_000, 1_000)
    raw = series(values.tolist())
    one = opened(tmp_path, raw).series()
    for deadline in (1, 999, 5_000.5, 9_999, 10_000):
        found, real = one.misses(deadline), int((values > deadline).sum())
        least = found.count if found.least_count is None else found.least_count
        assert least <= real <= found.count and found.total == 1_000
        assert found.low <= real / 1_000 <= found.high
        assert found == misses_of(raw, int(deadline))
    few = opened(tmp_path, series([10, 20, 21])).series()
    assert [few.misses(deadline).count for deadline in (20, 20.5, 21)] == [1, 1, 0]
    narrow, wide = one.misses(5_000, confidence=0.5), one.misses(5_000, confidence=0.999)
    assert wide.low < narrow.low < narrow.high < wide.high
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="is no deadline"):
            one.misses(wrong)
    with pytest.raises(InputError, match="does not lie between 0 and 1"):
        one.misses(5, confidence=95)


def test_only_durations_with_values_have_misses(tmp_path: Path) -> None:
    counts = msgspec.structs.replace(series([1, 2]), unit="count")
    with pytest.raises(InputError, match="is no duration and has no deadline"):
        opened(tmp_path, counts).series().misses(5)
    with pytest.raises(InputError, match="has no values"):
        opened(tmp_path, series([])).series().misses(5)
    wrong = msgspec.structs.replace(series([1, 2]), mean=9.0)
    with pytest.warns(), pytest.raises(UntrustworthyError):
        opened(tmp_path, wrong).series().misses(5)
    with pytest.raises(InputError, match="published without a distribution"):
        hardstone.load("published:qnx")["THR-P-SLS"].series("switch", 128).misses(5)


def test_the_exceedance_is_that_of_the_values(tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(1, 10_000, 1_000)
    tail = opened(tmp_path, series(values.tolist())).series().exceedance()
    real = [(values > value).sum() for value in tail.value]
    assert tail.count.tolist() == real
    assert tail.probability == pytest.approx(np.array(real) / 1_000)


def test_worst_values_and_maxima(tmp_path: Path) -> None:
    kept = msgspec.structs.replace(
        series([3, 9, 4]),
        worst=[Worst(value_ns=9, at_ns=1_000, index=1), Worst(value_ns=4, at_ns=2_000, index=2)],
        maxima_per_s=[3, None, 9],
    )
    one = opened(tmp_path, kept).series()
    assert one.worst["value"].tolist() == [9, 4] and one.worst["at_ns"].tolist() == [1_000, 2_000]
    assert one.maxima_per_s[[0, 2]].tolist() == [3.0, 9.0] and np.isnan(one.maxima_per_s[1])
    assert one.maxima_interval_ns == 1_000_000_000


@pytest.mark.parametrize("name", ["edges", "counts", "worst", "maxima_per_s"])
def test_no_array_can_be_written(tmp_path: Path, name: str) -> None:
    kept = msgspec.structs.replace(
        series([3, 9]), worst=[Worst(value_ns=9, at_ns=1, index=1)], maxima_per_s=[9]
    )
    one = opened(tmp_path, kept).series()
    with pytest.raises(ValueError, match="read-only"):
        getattr(one, name)[0] = getattr(one, name)[0]
    with pytest.raises(AttributeError):
        setattr(one, name, 1)


def test_an_empty_series_has_no_figure(tmp_path: Path) -> None:
    one = opened(tmp_path, series([])).series()
    assert one.count == 0 and one.edges.size == one.counts.size == 0
    assert one.exceedance().value.size == 0 and one.above(5).high == 0
    for name in ("min", "mean", "max"):
        with pytest.raises(InputError, match="has no values"):
            getattr(one, name)
    with pytest.raises(InputError, match="0 values are too few"):
        one.quantile(0.5)


def test_figures_that_contradict_each_other_are_not_given(tmp_path: Path) -> None:
    wrong = msgspec.structs.replace(series([1, 2, 3]), count=5)
    with pytest.warns(UserWarning, match="holds 3 values but the count is 5"):
        test = opened(tmp_path, wrong)
    one = test.series("wakeup")
    assert "contradict" in repr(one) and one.notes
    for ask in ("count", "max", "counts", "worst", "overflow"):
        with pytest.raises(UntrustworthyError, match="contradicts itself"):
            getattr(one, ask)
    with pytest.raises(UntrustworthyError):
        one.quantile(0.5)


def test_a_value_past_all_buckets_is_above_a_bound(tmp_path: Path) -> None:
    one = opened(tmp_path, series([10] * 50 + [5_000] * 50, limit=100)).series()
    found = one.quantile(0.9)
    assert found.value is None and found.above == 10 and found.high is None
    assert one.overflow == 50 and one.max == 5_000


def test_labels_choose_between_series(tmp_path: Path) -> None:
    def of(name: str, **labels: int | str) -> Series:
        return msgspec.structs.replace(series([1, 2], name), labels=dict(labels))

    parts = [of("wakeup", part=part, cpu=cpu) for cpu in (0, 1) for part in ("total", "interrupt")]
    test = opened(tmp_path, *parts, of("missed", cpu=0))
    assert test.series("wakeup", cpu=1).labels == {"part": "total", "cpu": "1"}
    assert test.series("wakeup", "interrupt", 0).address == "TMR-P-LAT/interrupt/0/wakeup"
    assert test.series("missed").name == "missed"
    assert len(test.all_series) == 5
    with pytest.raises(InputError, match=r"2 series of TMR-P-LAT match: .*cpu=0; .*cpu=1"):
        test.series("wakeup")
    with pytest.raises(InputError, match="no series 'jitter'; it has wakeup, missed"):
        test.series("jitter")
    with pytest.raises(InputError, match=r"with cpu=7; there are wakeup, part=total, cpu=0"):
        test.series("wakeup", cpu=7)
