"""Published figures in the report of a run: beside each series that they may be compared with."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import ClockCheck, Conditions, Result, RunDocument, Trust
from hardstone.report.literature import PublishedBeside, PublishedFigures
from hardstone.report.pdf import render_pdf
from tests.unit.comparison.made_systems import labelled
from tests.unit.report.media import Sketches, sketched, texts_of, words
from tests.unit.stats.make import document, result

QNX = "QNX Neutrino 6.5: 2.8 us, Windows Embedded Compact 7: 5.9 us, Linux 2.6.33.7.2-rt30: 27.7 us"
REALTIME = Conditions(load="none", cpu_config="shared", policy="fifo", realtime=True)


def switches(*threads: int, **changed: object) -> Result:
    found = [labelled([900] * 200, "switch", threads=one) for one in threads]
    return result("THR-P-SLS", series=found, **({"conditions": REALTIME} | changed))


def beside(found: Result, **changed: object) -> PublishedBeside | None:
    run: RunDocument = document(results=[found], **changed)  # type: ignore[arg-type]
    return PublishedFigures(run).beside(found)


def lines(found: Result, **changed: object) -> list[tuple[str, str]]:
    published = beside(found, **changed)
    return [(one.series, one.text) for one in published.lines] if published else []


def test_each_series_has_what_was_published_of_it() -> None:
    two, ten = lines(switches(2, 10))
    assert two[0] == "switch, threads 2"
    assert two[1].startswith(f"{QNX} (Dedicated Systems 2012); RTAI 3.9.1: 12.06 us")
    assert two[1].endswith("Linux 2.6.38: 125.435 us (Garre et al. 2014)")
    assert ten == (
        "switch, threads 10",
        "QNX Neutrino 6.5: 11.9 us, Windows Embedded Compact 7: 6.7 us, Linux 2.6.33.7.2-rt30: "
        "24.2 us (Dedicated Systems 2012)",
    )


def test_the_studies_are_named_with_their_command() -> None:
    found = beside(switches(2))
    assert found is not None and found.commands == [
        "hardstone study dedicated-systems-2012 20261121T032200Z-1a2b3c",
        "hardstone study garre-2014 20261121T032200Z-1a2b3c",
    ]


def test_a_study_under_a_load_says_so() -> None:
    wakeup = labelled([4_000] * 200, "wakeup", part="total")
    ((_, text),) = lines(result("TMR-P-LAT", series=[wakeup], conditions=REALTIME))
    assert "Solaris, engineering build of 2007: 32 us (latstat 2007, load nightly kernel" in text


@pytest.mark.parametrize(
    "facts",
    [{"virtual.emulated": True}, {"virtual.time": "instructions"}, {"virtual.emulated": None}],
)
def test_no_published_figure_stands_beside_another_kind_of_time(facts: dict[str, object]) -> None:
    assert lines(switches(2)) and not lines(switches(2), system=facts)


def test_no_published_figure_stands_beside_what_cannot_be_trusted() -> None:
    poor = Trust(grade="untrustworthy", reasons=["throttled"])
    assert not lines(switches(2), trust=poor)
    wrong = ClockCheck(host_ns=10**9, target_ns=10**10, uncertainty_ns=0)
    assert not lines(switches(2), clock_check=wrong)
    contradictory = switches(2)
    contradictory.series[0].max = 1
    assert not lines(contradictory)
    ordinary = msgspec.structs.replace(REALTIME, policy="other", realtime=False)
    assert not lines(switches(2, conditions=ordinary))


def test_other_parameters_and_labels_have_no_published_figure() -> None:
    assert not lines(switches(3))  # the studies have 2, 10, 128 and 1000 threads
    assert not lines(switches(97))
    block = labelled([10_000_000] * 200, "time", kind="add")
    same = result("RSP-P-FIX", series=[block], params={"block_ns": 10_000_000}, conditions=REALTIME)
    other = msgspec.structs.replace(same, params={"block_ns": 1_000_000})
    assert "LynxOS 3.0.1: 9.9 ms" in lines(same)[0][1] and not lines(other)


def test_figures_under_another_load_are_left_out() -> None:
    block = labelled([10_000_000] * 200, "time", kind="add")

    def under(load: str) -> list[tuple[str, str]]:
        where = msgspec.structs.replace(REALTIME, load=load)
        params = {"block_ns": 10_000_000}
        return lines(result("RSP-P-FIX", series=[block], params=params, conditions=where))

    assert "Solaris 8, 2 CPUs: 10.1 ms" in under("none")[0][1]
    assert "Solaris 8, 2 CPUs: 11.2365 s" in under("heavy")[0][1]
    assert under("storm") == []


@pytest.mark.slow
def test_page_and_paper_have_them() -> None:
    run = document(results=[switches(2)])
    page = words(sketched(run))
    assert f"published, switch, threads 2 : {QNX} (Dedicated Systems 2012)" in page
    assert "hardstone study garre-2014 20261121T032200Z-1a2b3c" in page
    paper = " ".join(texts_of(render_pdf(run, lambda test: None, drawer=Sketches())))
    assert "Published, switch, threads 2: QNX Neutrino 6.5: 2.8 us" in paper
    guest = document(results=[switches(2)], system={"virtual.emulated": True})
    assert "published, switch" not in words(sketched(guest))
