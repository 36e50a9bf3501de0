"""performance_test of ROS 2: files that are not as the samples, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import read, refused, sample, told

CSV = sample("made/ros2-performance_test.csv").decode()
JSON = sample("made/ros2-performance_test.json").decode()


def json_with(row: int, **changes: object) -> str:
    document = json.loads(JSON)
    document["analysis_results"][row] |= changes
    return json.dumps(document)


TEXTS = {
    "JSON whose counts add up over rows": json_with(1, latency_n=9999),
    "JSON with a text for a minimum": json_with(0, latency_min="1"),
    "JSON with a maximum below the minimum": json_with(0, latency_max=1e-6),
    "JSON with a negative count": json_with(0, num_samples_received=-1),
    **{f"columns in {unit}": CSV.replace("(ms)", f"({unit})") for unit in ("us", "ns", "s")},
    "latencies between two clocks may be negative": CSV.replace("0.0698", "-0.5"),
    "limits of types are no latency": CSV.replace("inf", "9.223e+12", 1).replace(
        "-inf", "-9.223e+12", 1
    ),
    "rows that are not seconds have no maxima": CSV.replace("1.000191", "7.000191"),
    "a log that ends early": CSV.replace("runtime (sec): 5", "runtime (sec): 60"),
    "a log that is cut in its last cell": CSV[:-3],
    "a log that is cut in its last row": CSV[: CSV.rindex("0.5512")],
    "two logs": CSV + CSV,
    "the log of a publisher": CSV[: CSV.index("2.000511")],
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "ros2.txt", {name: told(text) for name, text in TEXTS.items()})


def test_columns_in_another_order_and_new_ones() -> None:
    lines = CSV.splitlines()
    start = lines.index("---EXPERIMENT-START---") + 1
    turned = [",".join(["x", *line.replace("\t", " ").split(",")[::-1]]) for line in lines[start:]]
    text = "\n".join([*lines[:start], turned[0], *("1," + row[2:] for row in turned[1:])]) + "\n"
    assert read(text).series[0].mean == read(CSV).series[0].mean


def test_what_is_no_json() -> None:
    """The rest is in the words of Python's library."""
    assert refused(JSON[:900]).startswith("line ")
