"""Charts of runs, tests, series and comparisons in a notebook."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert  # type: ignore[import-untyped,unused-ignore]

import hardstone
from hardstone.errors import InputError, UntrustworthyError
from hardstone.model import Conditions, RunDocument
from hardstone.notebook import Run, RunSeries
from hardstone.systems.subjects import subjects_of
from tests.unit.report import sample
from tests.unit.report.hostile import hostile_document
from tests.unit.stats.make import document, result

BUNDLE = "_repr_mimebundle_"  # what a notebook calls


def run_of(one: RunDocument) -> Run:
    return Run(tuple(subjects_of(one)))


@pytest.fixture(scope="module")
def run() -> Run:
    return run_of(sample.document(count=3000))


@pytest.fixture(scope="module")
def wakeup(run: Run) -> RunSeries:
    return run["TMR-P-LAT"].series("wakeup", part="total", cpu=0)


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("", "Histogram"),
        ("histogram", "Histogram"),
        ("exceedance", "Exceedance"),
        ("time", "Over time"),
        ("range", "Average and worst observed"),
    ],
)
def test_a_series_is_drawn_as_in_the_report(wakeup: RunSeries, kind: str, title: str) -> None:
    chart = wakeup.plot(kind)
    assert chart.title == title
    assert repr(chart) == f"<Chart {title}: TMR-P-LAT/total/0/wakeup>"
    text = json.dumps(chart.to_dict())
    assert "var(--" not in text  # a notebook has no style of ours
    # The oldest Vega-Lite that the schema allows.
    assert "<svg" in vl_convert.vegalite_to_svg(text, vl_version="5.8", allowed_base_urls=[])


def test_a_notebook_gets_vega_lite_and_svg(wakeup: RunSeries) -> None:
    chart = wakeup.plot()
    shown = getattr(chart, BUNDLE)()
    assert set(shown) == {"application/vnd.vegalite.v5+json", "image/svg+xml", "text/plain"}
    assert shown["application/vnd.vegalite.v5+json"] == chart.to_dict()
    assert shown["image/svg+xml"] == chart.to_svg()
    root = ElementTree.fromstring(chart.to_svg())  # noqa: S314
    assert root.tag.endswith("}svg")
    changed = chart.to_dict()
    changed["layer"].clear()
    assert chart.to_dict()["layer"]


def test_a_chart_is_saved_by_its_suffix(wakeup: RunSeries, tmp_path: Path) -> None:
    chart = wakeup.plot()
    for suffix, start in ((".svg", b"<svg"), (".PNG", b"\x89PNG"), (".json", b'{"$schema"')):
        chart.save(tmp_path / f"wakeup{suffix}")
        assert (tmp_path / f"wakeup{suffix}").read_bytes().startswith(start)
    with pytest.raises(InputError, match="is not a format"):
        chart.save(tmp_path / "wakeup.gif")


def test_what_cannot_be_drawn_says_why(run: Run, wakeup: RunSeries) -> None:
    with pytest.raises(InputError, match="there is no chart 'pie'"):
        wakeup.plot("pie")
    few = run_of(document(results=[result(values=range(9))]))["TMR-P-LAT"].series("wakeup")
    assert few.plot().title == "Average and worst observed"
    with pytest.raises(InputError) as found:
        few.plot("histogram")
    assert "too few values for 'histogram'" in str(found.value)
    assert found.value.remedy == "it can be drawn as range"
    wrong = result(values=range(90))
    wrong.series[0].max = 5
    test = run_of(document(results=[wrong]))["TMR-P-LAT"]
    for plot in (test.plot, test.series("wakeup").plot):
        with pytest.raises(UntrustworthyError):
            plot()
    with pytest.raises(InputError, match="without a distribution"):
        hardstone.load("published:qnx")["THR-P-SLS"].series("switch", 128).plot()
    with pytest.raises(InputError, match="no values to draw"):
        hardstone.load("published:qnx")["THR-P-SLS"].plot()


def test_a_run_is_drawn_as_its_report_begins(run: Run) -> None:
    chart = run.plot(limits=[1_000_000])
    assert chart.title.startswith("Wake-up latency")
    assert "limit 1 ms" in json.dumps(chart.to_dict())
    with pytest.raises(InputError, match="no distribution"):
        hardstone.load("published:qnx").plot()
    with pytest.raises(InputError, match="no distribution"):
        run_of(document(results=[result(series=[])])).plot()


def test_a_row_of_a_comparison_is_drawn() -> None:
    conditions = Conditions(load="none", cpu_config="shared", policy="fifo", realtime=True)
    values = sample.latencies(np.random.default_rng(1), 500, 900)
    series = sample.series("switch", values, threads=128)
    own = run_of(document(results=[result("THR-P-SLS", series=[series], conditions=conditions)]))
    found = hardstone.compare(own, "published:qnx")
    address = next(row["address"] for row in found.rows("THR-P-SLS") if "128" in row["address"])
    chart = found.plot(address)
    assert chart.title.endswith("average and worst")
    assert "11.5 us" in json.dumps(chart.to_dict())  # what the study published
    with pytest.raises(InputError, match="there is no row 'THR'"):
        found.plot("THR")


@pytest.mark.slow
def test_no_text_of_a_run_becomes_code_in_a_notebook() -> None:
    for test in run_of(hostile_document()).systems[0]:
        for one in run_of(hostile_document()).systems[0].test(test, nth=0).all_series:
            try:
                drawn = one.plot().to_svg()
            except InputError:
                continue
            assert "<script" not in drawn and "onerror=" not in drawn.replace("&#34;", "")


@pytest.mark.slow
def test_a_notebook_that_draws_nothing_loads_no_drawing() -> None:
    import subprocess

    code = "import sys, hardstone.notebook; print([m for m in sys.modules if 'report' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
