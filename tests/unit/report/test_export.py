"""A run as JSON and as CSV: what every other program reads."""

from __future__ import annotations

import csv
import io
import json

import msgspec
import pytest

from hardstone.model import RunDocument
from hardstone.report.export import COLUMNS, run_csv, run_json
from hardstone.store.documents import parse_document
from tests import imported
from tests.unit.stats import make


def rows_of(document: RunDocument) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run_csv(document).decode())))


def test_the_json_is_the_run_document() -> None:
    document = make.document()
    assert parse_document(run_json(document), "it") == document
    assert json.loads(run_json(document))["schema"] == document.schema


def test_a_count_that_the_file_does_not_say_is_empty() -> None:
    (row,) = rows_of(imported.imported_run(imported.only_mean()))
    assert (row["count"], row["mean"]) == ("", "1200")


def test_values_that_no_bucket_has_leave_the_quantiles_empty() -> None:
    """Nobody knows which they are: the rank of no value is known."""
    series = imported.cyclictest([3000] * 1000)
    (row,) = rows_of(imported.imported_run(msgspec.structs.replace(series, count=1001)))
    assert (row["count"], row["max"]) == ("1001", "3000")
    assert not any(row[name] for name in ("median", "p90", "p99"))


def test_each_series_is_a_row_with_exact_figures() -> None:
    values = [*range(1, 1001)]
    series = msgspec.structs.replace(make.series(values), labels={"cpu": 3})
    document = make.document(results=[make.result("TMR-P-LAT", series=[series])])
    (row,) = rows_of(document)
    assert list(row) == list(COLUMNS)
    assert (row["run"], row["test"], row["status"]) == (document.id, "TMR-P-LAT", "measured")
    assert (row["series"], row["labels"], row["unit"]) == ("wakeup", "cpu 3", "ns")
    assert (row["count"], row["min"], row["max"]) == ("1000", "1", "1000")
    assert float(row["mean"]) == 500.5 and float(row["stddev"]) == pytest.approx(288.8, abs=0.1)
    assert abs(int(row["median"]) - 500) <= 1 and abs(int(row["p99"]) - 990) <= 1
    assert row["p99.9"] == ""  # one value lies beyond it: that is no quantile


def test_a_test_without_series_has_a_row_that_says_why_there_are_no_figures() -> None:
    document = make.document(results=[make.result("SEM-P-SIG", status="denied", series=[])])
    (row,) = rows_of(document)
    assert (row["test"], row["status"], row["series"], row["max"]) == (
        "SEM-P-SIG",
        "denied",
        "",
        "",
    )


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)"])
def test_no_cell_is_a_formula(text: str) -> None:
    series = msgspec.structs.replace(make.series([1, 2, 3], name=text), labels={text: 1})
    document = make.document(results=[make.result(text, series=[series])])
    (row,) = rows_of(document)
    assert row["test"] == row["series"] == f"'{text}" and row["labels"].startswith("'")
    assert all(not cell.startswith(("=", "+", "-", "@")) for cell in row.values())


def test_untrusted_text_stays_in_its_cell() -> None:
    series = make.series([1, 2, 3], name='a,"b\r\n=c\x1b[2J')
    (row,) = rows_of(make.document(results=[make.result(series=[series])]))
    assert row["series"].startswith('a,"b') and row["count"] == "3" and "\x1b" not in row["series"]
