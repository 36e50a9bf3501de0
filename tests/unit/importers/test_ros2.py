"""performance_test of ROS 2: files that are not as the samples, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.importers.one_file import losses, read, refused

MADE = Path(__file__).parents[2] / "samples" / "made"
CSV = (MADE / "ros2-performance_test.csv").read_text()
OLD = (MADE / "ros2-performance_test-2019.csv").read_text()
JSON = (MADE / "ros2-performance_test.json").read_text()


def test_json_whose_counts_add_up_over_rows() -> None:
    document = json.loads(JSON)
    document["analysis_results"][1]["latency_n"] = 9999
    reading = read(json.dumps(document))
    assert reading.series[0].count == 100 + 98
    assert "count" in losses(reading)


@pytest.mark.parametrize(("unit", "factor"), [("us", 1e-3), ("ns", 1e-6), ("s", 1e3)])
def test_the_unit_is_that_of_the_columns(unit: str, factor: float) -> None:
    assert read(CSV.replace("(ms)", f"({unit})")).series[0].max == round(1_873_000 * factor)


def test_columns_in_another_order_and_new_ones() -> None:
    lines = CSV.splitlines()
    start = lines.index("---EXPERIMENT-START---") + 1
    turned = [",".join(["x", *line.replace("\t", " ").split(",")[::-1]]) for line in lines[start:]]
    text = "\n".join([*lines[:start], turned[0], *("1," + row[2:] for row in turned[1:])]) + "\n"
    assert read(text).series[0].mean == read(CSV).series[0].mean


def test_latencies_between_two_clocks_may_be_negative() -> None:
    one = read(CSV.replace("0.0698", "-0.5")).series[0]
    assert (one.min, one.max) == (-500_000, 1_873_000)


def test_limits_of_types_are_no_latency() -> None:
    text = CSV.replace("inf", "9.223e+12", 1).replace("-inf", "-9.223e+12", 1)
    assert read(text).series[0].maxima_per_s[0] is None


def test_rows_that_are_not_seconds_have_no_maxima() -> None:
    reading = read(CSV.replace("1.000191", "7.000191"))
    assert reading.series[0].maxima_per_s == () and "time" in losses(reading)


def test_a_log_that_ends_early() -> None:
    assert not read(CSV).is_cut
    assert read(CSV.replace("runtime (sec): 5", "runtime (sec): 60")).is_cut


def test_a_last_row_that_is_cut() -> None:
    assert read(CSV[:-3]).series[0].count == 2997  # in its last cell
    reading = read(CSV[: CSV.rindex("0.5512")])
    assert reading.is_cut
    assert reading.series[0].count == 2997


def test_two_logs_in_one_file_are_refused() -> None:
    assert refused(CSV + CSV).endswith("a second experiment begins")


def test_the_log_of_a_publisher_is_refused() -> None:
    rows = CSV[: CSV.index("2.000511")]
    assert refused(rows) == "no row has a latency"


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"latency_min": "1"}, "analysis_results[0].latency_min: '1' is not a number"),
        ({"latency_max": 1e-6}, "analysis_results[0]: minimum 71200, mean 103000 and maximum"),
        ({"num_samples_received": -1}, "analysis_results[0].num_samples_received: '-1' is not"),
    ],
)
def test_broken_json_is_refused(changes: dict[str, Any], cause: str) -> None:
    document = json.loads(JSON)
    document["analysis_results"][0] |= changes
    assert refused(json.dumps(document)).startswith(cause)
    assert refused(JSON[:900]).startswith("line ")
