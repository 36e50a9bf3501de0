"""A run as metrics, read by the parsers of prometheus_client: of OpenMetrics and of the text format
that the node exporter reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from prometheus_client.samples import Sample

from hardstone.exporters.openmetrics import export_openmetrics
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import Conditions, RunDocument, Series, Trust, Verdict, Worst
from hardstone.store.documents import read_document
from tests.imported import bare, cyclictest, imported_run, linear
from tests.unit.stats import make

Reader = Callable[[str], Iterable[Metric]]
READERS: list[Reader] = [openmetrics.text_string_to_metric_families, read_text]
GOLDEN = Path(__file__).parents[3] / "schema" / "golden"


def exported(document: RunDocument) -> Exported:
    return export_openmetrics([document], Wanted())


def samples(document: RunDocument, reader: Reader = READERS[0]) -> list[Sample]:
    text = exported(document).content.decode()
    assert text.endswith("# EOF\n")
    return [sample for metric in reader(text) for sample in metric.samples]


def values(document: RunDocument, name: str) -> dict[str, float]:
    """The values of a metric by the one label in which its samples differ."""
    found = [one for one in samples(document) if one.name == name]
    if len(found) == 1:
        return {"": found[0].value}
    (differing,) = (
        label for label in found[0].labels if len({one.labels[label] for one in found}) > 1
    )
    return {one.labels[differing]: one.value for one in found}


def of_values(*numbers: int, **changed: object) -> RunDocument:
    series = msgspec.structs.replace(make.series(numbers), **changed)
    return make.document(results=[make.result(series=[series])])


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=["openmetrics", "text"])
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("run-1*.json")), ids=lambda path: path.stem)
def test_both_readers_take_every_run_and_agree(path: Path, reader: Reader) -> None:
    document = read_document(path)
    found = samples(document, reader)
    assert {one.name for one in found} >= {"hardstone_run_info", "hardstone_test_measured"}
    assert all(one.timestamp is None for one in found)
    keys = [(one.name, *sorted(one.labels.items())) for one in found]
    assert len(set(keys)) == len(keys)
    others = samples(document, READERS[0])
    assert {(*key, one.value) for key, one in zip(keys, found, strict=True)} == {
        (one.name, *sorted(one.labels.items()), one.value) for one in others
    }


def test_a_bucket_counts_the_values_up_to_its_limit() -> None:
    numbers = (50, 100, 101, 1000, 1001, 1_990_000, 30_000_000_000)
    document = of_values(*numbers)
    buckets = values(document, "hardstone_duration_seconds_bucket")
    counts = {"1e-07": 2, "2e-07": 3, "1e-06": 4, "2e-06": 5, "0.001": 5, "0.002": 6, "10.0": 6}
    assert buckets.items() >= (counts | {"+Inf": 7}).items()
    assert len(buckets) == 26
    assert values(document, "hardstone_duration_seconds_count") == {"": 7}
    total = values(document, "hardstone_duration_seconds_sum")[""]
    assert total == pytest.approx(sum(numbers) / 1e9)


def buckets_of(document: RunDocument, name: str = "hardstone_duration_seconds") -> dict[str, float]:
    return values(document, f"{name}_bucket")


# The list of the worst values decides 100 us, and leaves 200 us open: 200 us may be 200.999.
WORST = [Worst(value_ns=us * 1000, at_ns=0, index=0) for us in (900, 200, 50)]
DECIDED = msgspec.structs.replace(
    linear([*[40_000] * 7, 50_000, 200_000, 900_000], 10**6, 0), step=1000, worst=WORST
)
BOUNDED = make.series([5, 5, 800_000], limit=1000)
CUT_MS = [1, *[4_999_000] * 8, 9_000_000]  # 5 ms lies within the bucket from 4997120 to 5001215
COUNTS = {
    "a bucket of ours that a limit cuts is above it": (
        of_values(*CUT_MS),
        {"0.005": 1, "0.01": 10},
    ),
    "the extremes are known exactly": (of_values(1, 4_999_000), {"0.005": 2}),
    "values past the last bucket are below no limit but that of the maximum": (
        make.document(results=[make.result(series=[BOUNDED])]),
        {"0.0005": 2, "0.001": 3},
    ),
    "counts never fall from one limit to the next": (
        imported_run(DECIDED),
        {"0.0001": 8, "0.0002": 8, "0.001": 10},
    ),
    "a value of whole microseconds may be up to the next": (
        imported_run(cyclictest([4000, 5000, 5000, 5000])),
        {"5e-06": 1, "1e-05": 4},
    ),
    "overflows whose largest is unknown are below no limit": (
        imported_run(cyclictest([*[4000] * 9, 30_000], buckets=10, max=None)),
        {"1e-05": 9, "10.0": 9, "+Inf": 10},
    ),
}


@pytest.mark.parametrize(("document", "counts"), COUNTS.values(), ids=COUNTS)
def test_what_a_bucket_counts(document: RunDocument, counts: dict[str, int]) -> None:
    assert buckets_of(document).items() >= counts.items()


def test_the_largest_value_of_whole_microseconds_may_be_up_to_the_next() -> None:
    document = imported_run(cyclictest([4000, 5000, 5000, 5000]))
    assert values(document, "hardstone_duration_max_seconds") == {"": 5999e-9}


def test_values_past_the_last_bucket_are_told() -> None:
    document = make.document(results=[make.result(series=[BOUNDED])])
    assert values(document, "hardstone_overflow_values") == {"": 1}


@pytest.mark.parametrize(
    ("unit", "name", "numbers", "counts"),
    [
        ("count", "hardstone_amount", [0, 1, 5000], {"1000.0": 2, "10000.0": 3}),
        # 5 MB/s is cut as 5 ms is: there what is not known counts below it
        (
            "bytes_per_s",
            "hardstone_rate_bytes_per_second",
            [1, *[5_001_000] * 8, 9_000_000],
            {"2000000.0": 1, "5000000.0": 9, "10000000.0": 10},
        ),
    ],
)
def test_other_units_have_metrics_of_their_own(
    unit: str, name: str, numbers: list[int], counts: dict[str, int]
) -> None:
    assert buckets_of(of_values(*numbers, unit=unit), name).items() >= counts.items()


def test_the_run_is_information_and_no_label_of_the_others() -> None:
    system = {"kernel.release": '6.12"\\', "virtual.hypervisor": None}
    document = make.document(system=system, trust=Trust(grade="indicative", reasons=["x"]))
    (info,) = (one for one in samples(document) if one.name == "hardstone_run_info")
    assert info.value == 1 and info.labels["run"] == document.id
    assert info.labels["kernel"] == '6.12"\\' and "hypervisor" not in info.labels
    assert all(
        "run" not in one.labels
        for one in samples(document)
        if one is not info and one.name != "hardstone_run_info"
    )
    trust = values(document, "hardstone_run_trust")
    assert trust == {"full": 0, "indicative": 1, "untrustworthy": 0}
    started = values(document, "hardstone_run_started_timestamp_seconds")
    assert started == {"": 1_795_231_320}


def test_times_that_are_not_those_of_hardware_are_named() -> None:
    document = make.document(system={"virtual.emulated": True})
    (info,) = (one for one in samples(document) if one.name == "hardstone_run_info")
    assert info.labels["incomparable"] == "emulated: not comparable with hardware"


def test_no_count_is_above_the_truth_and_none_far_below() -> None:
    numbers = (np.random.default_rng(7).pareto(1, 4000) * 9000).astype(int)
    buckets = values(of_values(*numbers.tolist()), "hardstone_duration_seconds_bucket")
    for limit, count in buckets.items():
        limit_ns = float(limit) * 1e9
        assert (numbers <= limit_ns * (1 - 2**-10)).sum() <= count <= (numbers <= limit_ns).sum()


def test_verdicts_and_states_are_1_or_0() -> None:
    verdicts = [Verdict(name=name, passed=name == "a", evidence="") for name in ("a", "b")]
    results = [
        make.result("SEM-B-REL", series=[], verdicts=verdicts),
        make.result("SEM-P-SIG", status="denied", series=[]),
        make.result("SEM-P-ARN", complete=False),
        make.result("SEM-P-NEW", interrupted=True),
    ]
    document = make.document(results=results)
    assert values(document, "hardstone_verdict_passed") == {"a": 1, "b": 0}
    measured = values(document, "hardstone_test_measured")
    assert measured == {"SEM-B-REL": 1, "SEM-P-SIG": 0, "SEM-P-ARN": 0, "SEM-P-NEW": 0}


def test_of_several_results_with_the_same_labels_the_worst_is_exported() -> None:
    results = [
        make.result(
            "SIM-S-RT",
            series=[],
            status=status,
            verdicts=[
                Verdict(name="held", passed=held, evidence=""),
                Verdict(name="order", passed=True, evidence=""),
            ],
        )
        for held, status in [(True, "measured"), (False, "timeout"), (True, "measured")]
    ]
    document = make.document(results=results)
    assert values(document, "hardstone_verdict_passed") == {"held": 0, "order": 1}
    assert values(document, "hardstone_test_measured") == {"": 0}
    several = "the worst of several results with the same labels"
    assert exported(document).lost == [
        f"hardstone_test_measured is {several}: SIM-S-RT (1 of 3 failed)",
        f"hardstone_verdict_passed is {several}: SIM-S-RT/held (1 of 3 failed), "
        "SIM-S-RT/order (none of 3 failed)",
    ]


def test_extremes_and_quantiles_are_in_seconds() -> None:
    document = of_values(*range(1000, 2000))
    assert values(document, "hardstone_duration_max_seconds")[""] == 1999e-9
    assert values(document, "hardstone_duration_min_seconds")[""] == 1e-6
    quantiles = values(document, "hardstone_duration_quantile_seconds")
    assert quantiles == {"0.5": 1499e-9, "0.9": 1899e-9, "0.99": 1989e-9}


def test_labels_of_a_series_are_made_fit_and_stay_apart() -> None:
    labels = {"cpu": 3, "le": "x", "load": 'a"b\\\n', "0-9": 1, "0.9": 2}
    (sample,) = (
        one for one in samples(of_values(1, labels=labels)) if one.name == "hardstone_values"
    )
    assert sample.labels["cpu"] == "3" and sample.labels["label_le"] == "x"
    assert sample.labels["load"] == "heavy" and sample.labels["label_load"] == 'a"b\\'
    assert (sample.labels["label_0_9"], sample.labels["label_0_9_"]) == ("1", "2")


def test_a_series_with_the_labels_of_another_is_left_out() -> None:
    document = make.document(results=[make.result(), make.result(values=[4])])
    assert values(document, "hardstone_values") == {"": 3}
    *_, lost = exported(document).lost
    assert lost.startswith("1 series is left out, same labels as another: ")


def test_figures_that_cannot_be_true_are_left_out() -> None:
    document = of_values(1, 2, 3, count=7)
    assert not any(one.name.startswith("hardstone_duration") for one in samples(document))
    assert "figures that cannot be true" in " ".join(exported(document).lost)


@pytest.mark.parametrize(
    ("series", "why"),
    [
        (
            cyclictest([1000, 10**7], is_cut=True),
            "1 series without a histogram, the file has no count of the largest values",
        ),
        (bare(), "the file has no distribution"),
        (cyclictest([1000, 2000], mean=None), "the file has no mean"),
        (linear([-900, 500], 100, -1000), "values below 0"),
        (linear([-900, -500], 100, 0), "values below 0"),
    ],
    ids=["cut", "bare", "no mean", "negative", "underflow"],
)
def test_a_histogram_that_would_lie_is_left_out(series: Series, why: str) -> None:
    document = imported_run(series)
    names = {one.name for one in samples(document)}
    assert "hardstone_duration_max_seconds" in names
    assert ("hardstone_values" in names) == (series.histogram.is_cut is not True)
    is_counted = series.histogram.is_cut is not True and series.histogram.layout != "none"
    assert ("hardstone_overflow_values" in names) == is_counted
    assert "hardstone_duration_seconds_bucket" not in names
    assert why in " ".join(exported(document).lost)


def test_metrics_of_another_tool_name_it() -> None:
    found = samples(imported_run(bare()))
    assert {one.labels["tool"] for one in found} == {"cyclictest"}
    own = {one.name for one in samples(of_values(1)) if "tool" in one.labels}
    assert own == {"hardstone_run_info"}


def test_files_of_two_boards_have_different_targets() -> None:
    def target(name: str, node: str | None) -> str:
        document = imported_run(bare(), name=name, system={"machine.node": node})
        (found,) = {one.labels["target"] for one in samples(document)}
        return found

    assert target("cyclictest", "board-1") == "board-1"
    assert target("cyclictest", "board-2") == "board-2"
    for unnamed in (None, "", "(none)", "localhost", "localhost.localdomain"):
        assert target("rack-3", unnamed) == "rack-3"


def test_quantiles_need_no_mean() -> None:
    series = cyclictest(range(1000, 90_000, 100), mean=None)
    quantiles = values(imported_run(series), "hardstone_duration_quantile_seconds")
    assert quantiles["0.5"] == 45_999e-9
    cut = cyclictest(range(1000, 90_000, 100), buckets=50, is_cut=True)
    names = {one.name for one in samples(imported_run(cut))}
    assert "hardstone_duration_quantile_seconds" not in names


def test_a_figure_that_a_file_lacks_has_no_metric() -> None:
    names = {one.name for one in samples(imported_run(bare(least=None, most=None)))}
    assert "hardstone_duration_mean_seconds" in names
    assert not names & {"hardstone_duration_min_seconds", "hardstone_duration_max_seconds"}


def test_conditions_tell_results_of_one_test_apart() -> None:
    results = [
        make.result(values=[number], conditions=Conditions(load=load, cpu_config="shared"))
        for number, load in enumerate(("none", "heavy"), 1)
    ]
    found = values(make.document(results=results), "hardstone_duration_max_seconds")
    assert found == {"none": 1e-9, "heavy": 2e-9}
