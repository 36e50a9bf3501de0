"""A run as an HdrHistogram log, read by hdrhistogram."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from hardstone.exporters.hdr import export_hdr
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import Conditions, Histogram, Result, RunDocument, Series
from hardstone.stats.histogram import bins_of
from hardstone.stats.quantiles import quantile_of_series
from tests.imported import bare, cyclictest, linear
from tests.unit.stats import make

hdrh = pytest.importorskip("hdrh.histogram", reason="hdrhistogram is not installed")
log = pytest.importorskip("hdrh.log", reason="hdrhistogram is not installed")


def exported(document: RunDocument) -> Exported:
    return export_hdr([document], Wanted())


def read(document: RunDocument, folder: Path) -> dict[str, hdrh.HdrHistogram]:
    """The histograms of the log by their tags."""
    path = folder / "run.hlog"
    path.write_bytes(exported(document).content)
    reader = log.HistogramLogReader(str(path), hdrh.HdrHistogram(1, 2**40, 3))
    found = {}
    while (one := reader.get_next_interval_histogram()) is not None:
        found[one.get_tag()] = one
    reader.close()
    return found


def read_one(series: Series, folder: Path) -> hdrh.HdrHistogram:
    (one,) = read(make.document(results=[make.result(series=[series])]), folder).values()
    return one


def made_up(**changed: object) -> Series:
    return msgspec.structs.replace(make.series([1, 2]), **changed)


def counts_of(one: hdrh.HdrHistogram) -> list[tuple[int, int]]:
    """Upper edge and count of each bucket in use."""
    return [
        (item.value_iterated_to, item.count_at_value_iterated_to)
        for item in one.get_recorded_iterator()
    ]


@pytest.mark.parametrize("most", [2000, 2**20, 2**40])
def test_every_bucket_is_read_with_its_edge_and_count(most: int, tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(0, most, 3000)
    series = make.series([*values.tolist(), most])
    bins = bins_of(series.histogram)
    assert counts_of(read_one(series, tmp_path)) == [
        *zip(bins.upper.tolist(), bins.count.tolist(), strict=True)
    ]


@pytest.mark.slow
def test_the_figures_are_those_of_the_document(tmp_path: Path) -> None:
    """By the values themselves: the library reads here what the library wrote."""
    values = np.sort((np.random.default_rng(5).pareto(2, 20_000) * 9000).astype(int) + 900)
    series = make.series(values.tolist())
    document = make.document(results=[make.result(series=[series], duration_ns=2_100_000_000)])
    ((tag, one),) = read(document, tmp_path).items()
    assert tag == "TMR-P-LAT/total/wakeup:load=heavy:cpus=shared"
    assert one.get_end_time_stamp() - one.get_start_time_stamp() == 2100
    assert one.get_total_count() == series.count == 20_000
    assert one.get_min_value() == one.get_lowest_equivalent_value(series.min)
    assert one.get_max_value() == one.get_highest_equivalent_value(series.max)
    assert one.get_mean_value() == pytest.approx(series.mean, rel=1e-3)
    line = exported(document).content.decode().splitlines()[-1]
    assert line.split(",")[3] == f"{values[-1] / 1e6:.6f}"
    for q in (0.5, 0.9, 0.99, 0.999):
        found = one.get_value_at_percentile(100 * q)
        value, ours = int(values[round(q * 20_000) - 1]), quantile_of_series(series, q)
        assert value <= found <= value * 1.001 and ours is not None and found == ours.value


def test_counts_of_every_length_are_read(tmp_path: Path) -> None:
    counts = [(3 * power, 2**power - 1) for power in range(1, 62)]
    count = sum(one for _, one in counts)
    histogram = Histogram(layout="log-linear/10", buckets=counts)
    series = made_up(count=count, min=3, mean=170.0, max=183, histogram=histogram)
    one = read_one(series, tmp_path)
    assert counts_of(one) == counts and one.get_total_count() == count


def test_intervals_have_tags_times_and_maxima(tmp_path: Path) -> None:
    results = [
        make.result(
            values=[100, number * 10**6],
            conditions=Conditions(load=f"cpu=1,x y{number}", cpu_config="shared"),
            started_utc=f"2026-11-21T03:2{9 - number}:00Z",
            duration_ns=1_500_000_000,
        )
        for number in (1, 2)
    ]
    document = make.document(results=results)
    found = read(document, tmp_path)
    assert list(found) == [
        "TMR-P-LAT/total/wakeup:load=cpu=1;x_y2:cpus=shared",
        "TMR-P-LAT/total/wakeup:load=cpu=1;x_y1:cpus=shared",
    ]
    starts = [one.get_start_time_stamp() for one in found.values()]
    assert starts == [1_795_231_620_000, 1_795_231_680_000]
    lengths = [one.get_end_time_stamp() - one.get_start_time_stamp() for one in found.values()]
    assert lengths == [1500, 1500]
    lines = exported(document).content.decode().splitlines()
    assert [line.split(",")[3] for line in lines if line.startswith("Tag=")] == [
        "2.000000",
        "1.000000",
    ]


def test_two_series_of_one_name_have_two_tags(tmp_path: Path) -> None:
    document = make.document(results=[make.result(), make.result()])
    first, second = read(document, tmp_path)
    assert second == f"{first}~2"


def test_values_outside_of_the_buckets_are_never_flattering(tmp_path: Path) -> None:
    series = make.series([-7, 5, 800_000, 900_000], limit=1000)
    series.possible_min = -9
    one = read_one(series, tmp_path)
    assert one.get_total_count() == 4
    assert counts_of(one) == [(0, 1), (5, 1), (900_095, 2)]
    made = exported(make.document(results=[make.result(series=[series])]))
    assert [text.partition(": ")[2] for text in made.lost] == [
        "1 values below 0 are counted at 0",
        "2 values past the last bucket are counted at the largest of them",
    ]
    assert all(f"#{text}\n" in made.content.decode() for text in made.lost)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "digits"), [(7, 3), (13, 4), (16, 5)])
def test_other_layouts_are_held_by_as_many_digits(bits: int, digits: int, tmp_path: Path) -> None:
    series = make.series([1, 10**4, 10**5 + 1], layout=f"log-linear/{bits}")
    one = read_one(series, tmp_path)
    assert one.significant_figures == digits
    uppers = [1, bins_of(series.histogram).upper.tolist()[1], 10**5 + 1]
    assert all(found >= upper for (found, _), upper in zip(counts_of(one), uppers, strict=True))
    assert one.get_max_value() >= 10**5 + 1


def test_linear_buckets_of_another_tool_count_at_their_upper_edge(tmp_path: Path) -> None:
    values = [7000, 7500, 8000, 123_000, 123_456, 2_000_000]
    one = read_one(cyclictest(values), tmp_path)
    assert one.significant_figures == 3 and one.get_total_count() == len(values)
    found = counts_of(one)
    assert [count for _, count in found] == [2, 1, 2, 1]
    uppers = [7999, 8999, 123_999, 2_000_999]  # the last one overflowed
    assert all(
        upper <= edge < upper * 1.001 for (edge, _), upper in zip(found, uppers, strict=True)
    )


def test_no_value_is_beyond_the_extremes_of_wide_buckets(tmp_path: Path) -> None:
    assert counts_of(read_one(linear([3000, 5000], 10_000, 0), tmp_path)) == [(5003, 2)]
    below = linear([-500, -200, 10], 100, -1000)
    assert counts_of(read_one(below, tmp_path)) == [(0, 2), (10, 1)]
    (lost,) = exported(make.document(results=[make.result(series=[below])])).lost
    assert lost.endswith("2 values below 0 are counted at 0")


def test_values_below_0_alone_are_an_interval(tmp_path: Path) -> None:
    """Readers pass over a line with a negative maximum."""
    assert counts_of(read_one(linear([-500, -200], 100, -1000), tmp_path)) == [(0, 2)]


def left_out(**changed: object) -> list[Result]:
    return [make.result(series=[made_up(**changed)])]


@pytest.mark.parametrize(
    ("results", "why"),
    [
        (left_out(unit="count"), "not a time"),
        (left_out(count=3), "figures that cannot be true"),
        ([make.result(series=[cyclictest([1000, 10**7], is_cut=True)])], "no count of the largest"),
        ([make.result(series=[bare()])], "no distribution"),
        (
            [make.result(series=[cyclictest([1000, 10**7], max=None)])],
            "values are past the buckets, and the largest is not known",
        ),
        (
            [make.result(series=[cyclictest([1000, 10**7], max=2**63 - 1)])],
            "values are past the largest that a histogram of the log can hold",
        ),
        (
            left_out(
                count=2**62,
                mean=1.5,
                histogram=Histogram(layout="log-linear/10", buckets=[(1, 2**61), (2, 2**61)]),
            ),
            "more values than a histogram of the log can count",
        ),
    ],
    ids=["unit", "wrong", "cut", "bare", "unbounded", "beyond", "many"],
)
def test_what_the_log_cannot_hold_is_told(results: list[Result], why: str, tmp_path: Path) -> None:
    document = make.document(results=results)
    assert read(document, tmp_path) == {}
    (lost,) = exported(document).lost
    assert why in lost and "TMR-P-LAT/total/" in lost
