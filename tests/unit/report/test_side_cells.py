"""What a cell of the side by side claims: quantiles that all have, counts where they differ."""

from __future__ import annotations

import io

import numpy as np
import pytest

from hardstone.model import Conditions, Result, RunDocument
from hardstone.present.load_table import load_table
from hardstone.terminal.whole_run import print_whole
from tests.unit.report import matrix, sample
from tests.unit.report.sketches import sketched
from tests.unit.stats import make


def under(under_load: str, counts: dict[str, int], scale: int = 1_000, **more: object) -> Result:
    """Series by name with so many values each, the worst by the order of the names."""
    return make.result(
        conditions=Conditions(load=under_load),
        series=[
            sample.series(name, scale * (place + 1) + np.arange(count))
            for place, (name, count) in enumerate(counts.items())
        ],
        **more,
    )


def table_of(*results: Result) -> str:
    page = sketched(make.document(results=list(results)))
    return page[page.index('id="beside"') : page.index("The charts show ")]


def summary_of(monkeypatch: pytest.MonkeyPatch, document: RunDocument) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    print_whole(document, out)
    return out.getvalue()


def test_a_quantile_is_shown_where_the_fewest_values_allow_it() -> None:
    alike = table_of(under("none", {"wakeup": 20_000}), under("heavy", {"wakeup": 20_000}))
    assert alike.count("p99.9 ") == 2
    apart = table_of(under("none", {"wakeup": 20_000}), under("heavy", {"wakeup": 200}))
    assert "p99.9 " not in apart and apart.count("p90 ") == 2


@pytest.mark.parametrize(("count", "is_told"), [(1000, False), (950, False), (800, True)])
def test_counts_stand_in_the_cells_where_they_differ(count: int, is_told: bool) -> None:
    shown = table_of(under("none", {"wakeup": 1000}), under("heavy", {"wakeup": count}))
    assert (f"{count} values" in shown) == is_told


def test_every_series_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = dict.fromkeys(("alpha", "beta", "gamma", "delta", "epsilon", "zeta"), 100)
    both = [under(load, counts) for load in ("none", "heavy")]
    text = summary_of(monkeypatch, make.document(results=both))
    assert [name for name in counts if name in text] == list(counts)
    assert "more series" not in text


def test_the_load_average_stands_below_the_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [
        under(
            load,
            {"wakeup": 100},
            load=sample_load if load != "none" else [],
            environment={"load_average_1min_milli": milli},
        )
        for load, milli, sample_load in (
            ("none", 300, []),
            ("storm", 203_110, [matrix.reached()[0]]),
            ("storm", 242_270, [matrix.reached()[0]]),
        )
    ]
    table = load_table(make.document(results=results))
    assert table is not None
    assert (table.rows[-1].name, table.rows[-1].reached) == ("load average", ["203 to 242"])
    assert [row.load for row in table.rows] == ["storm"] * len(table.rows)
    del results[1].environment["load_average_1min_milli"]
    del results[2].environment["load_average_1min_milli"]
    unknown = load_table(make.document(results=results))
    assert unknown is not None and unknown.rows[-1].name == "cpu"
