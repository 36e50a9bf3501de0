"""What is said of the next maximum, in the terminal and on the page; both outcomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import EXIT_USAGE
from hardstone.model import Result, RunDocument, Series
from hardstone.present.compare_build import compare_view
from hardstone.present.projection_text import (
    LEAST_VALUES,
    PATH_NOT_TAKEN,
    decisive_projection,
    projections,
)
from hardstone.stats.projection import Projection, Refusal, project
from hardstone.stats.tail_checks import REASONS
from hardstone.store import Store
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.terminal.projection_view import print_projections
from tests.process.cli.conftest import Done, hardstone  # noqa: F401
from tests.unit.present.made_systems import QNX, switching
from tests.unit.report import sample
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.media import flat, paper, printed, sketched, words
from tests.unit.stats.made_tails import latencies, ordered
from tests.unit.stats.make import document, result

STEADY = {"virtual.hypervisor": None, "power.frequency_is_fixed": True}
GUEST = {"virtual.hypervisor": "KVM", "power.frequency_is_fixed": False}


def run_of(*series: Series, is_steady: bool = True, test: str = "TMR-P-LAT") -> RunDocument:
    system = STEADY if is_steady else GUEST
    counters = {"steal_ns": 0 if is_steady else 5000, "migrations_count": 0 if is_steady else 3}
    one = result(test, series=list(series), environment=counters)
    return document(system=system, results=[one])


def shown(run: RunDocument) -> str:
    return flat(printed(print_projections, run))


def steady(*more: Result, **changed: bool) -> RunDocument:
    run = run_of(ordered(latencies(1)), **changed)
    run.results += more
    return run


@pytest.mark.slow
def test_a_projection_has_its_interval_and_what_it_holds_for() -> None:
    run = steady()
    (one,) = projections(run.results[0], run)
    found = project(run.results[0].series[0], run.results[0], run)
    assert isinstance(found, Projection) and one.is_projected
    assert "largest of the next 120\N{NO-BREAK SPACE}000 values" in one.lines[0]
    assert "95% interval" in one.lines[0] and "if nothing changes" in one.lines[1]
    text = shown(run)
    assert "projection, not observed:" in text and "no projection" not in text
    assert text.endswith(PATH_NOT_TAKEN)
    assert f"{found.low_ns / 1000:.1f} to {found.high_ns / 1000:.1f} us" in text


@pytest.mark.slow
def test_a_refusal_has_every_reason_as_a_line() -> None:
    run = steady(is_steady=False)
    found = project(run.results[0].series[0], run.results[0], run)
    assert isinstance(found, Refusal) and len(found.reasons) == 3
    (one,) = projections(run.results[0], run)
    assert one.lines == [reason.text for reason in found.reasons] and not one.is_projected
    assert one.meaning == [REASONS[reason.code] for reason in found.reasons]
    lines = printed(print_projections, run).splitlines()
    assert [line.rstrip() for line in lines if line.startswith("- ")] == [
        f"- {reason.text}" for reason in found.reasons
    ]
    assert "no projection:" in lines


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "whose"), [(0, "the series"), (1, "the run")])
def test_contradictions_refuse(wrong: int, whose: str) -> None:
    run = steady(result("THR-P-SLS", values=(1, 2, 3)))
    assert projections(run.results[0], run)[0].is_projected
    run.results[wrong].series[0].mean = 1.0 if wrong == 0 else 1e6
    (one,) = projections(run.results[0], run)
    said = f"{'other ' if wrong else ''}figures of {whose} contradict each other"
    assert one.lines == [said] and not one.is_projected


def test_short_series_are_counted_and_not_judged() -> None:
    for size, is_short in ((LEAST_VALUES - 1, True), (LEAST_VALUES, False)):
        run = run_of(ordered(latencies(1)[:size]))
        assert len(projections(run.results[0], run)) == (not is_short)
        assert ("no projection: 1 series has fewer than 10" in shown(run)) == is_short
    counts = run_of(msgspec.structs.replace(ordered(latencies(1)), unit="count"))
    assert projections(counts.results[0], counts) == []  # no durations


@pytest.mark.slow
def test_lines_have_80_columns() -> None:
    run = steady(is_steady=False)
    for attack in ATTACKS[:4]:
        run.results[0].series[0].labels["part"] = run.name = attack
        shown(run)


@pytest.mark.slow
def test_the_page_has_the_projection_of_the_decisive_series() -> None:
    low = msgspec.structs.replace(ordered(latencies(2) // 2), name="other")
    page = sketched(run_of(ordered(latencies(1)), low), sample.SPECS.get)
    assert page.count('<details class="projection">') == 1
    assert "an interval, not observed" in page and "Nothing is projected" not in page
    assert "largest of the next 120 000 values" in words(page)


def test_the_page_has_every_reason_of_a_refusal() -> None:
    run = steady(is_steady=False)
    page = words(sketched(run, sample.SPECS.get))
    one = decisive_projection(run.results[0], run)
    assert one is not None and len(one.lines) == 3
    assert all(line in page for line in [*one.lines, *one.meaning])
    assert "Nothing is projected, since:" in page and "Projection, not observed" not in page


@pytest.mark.parametrize("seconds", [99, 100])
def test_the_page_judges_series_of_a_hundred_intervals(seconds: int) -> None:
    run = run_of(ordered(latencies(1, seconds)))
    assert (decisive_projection(run.results[0], run) is None) == (seconds < 100)
    behaviour = run_of(ordered(latencies(1, seconds)), test="THR-B-NEW")
    assert decisive_projection(behaviour.results[0], behaviour) is None


def test_every_report_says_what_no_sample_shows() -> None:
    short = run_of(ordered(latencies(1)[:50]))
    page = words(sketched(short, sample.SPECS.get))
    assert page.count(PATH_NOT_TAKEN) == 1
    assert any(PATH_NOT_TAKEN in one for one in compare_view([QNX, switching([1, 2])]).notes)


@pytest.mark.slow
def test_series_that_are_left_out_are_counted_by_test() -> None:
    run = steady(result("SIM-S-RT"), result("SIM-S-RT"), result("THR-P-SLS"))
    text = shown(run)
    assert "SIM-S-RT: no projection: 2 series have fewer" in text
    assert "THR-P-SLS: no projection: 1 series has fewer" in text
    assert "Each interval is at its level alone" not in text
    run.results[1] = run.results[0]
    assert "Each interval is at its level alone" in shown(run)


@pytest.mark.slow
def test_the_pdf_says_it_too() -> None:
    text = " ".join(paper(steady(), sample.SPECS.get))
    assert text.count(PATH_NOT_TAKEN) == 2 and "projection, not observed" in text


@pytest.mark.slow
def test_show_project(
    hardstone: Callable[..., Done],  # noqa: F811
    tmp_path: Path,
) -> None:
    run = steady()
    write_document(open_place(Store(tmp_path / "store").path), run)
    place = ["--store", tmp_path / "store"]
    whole = hardstone("show", run.id, "TMR-*", "--project", *place)
    assert whole.code == 0 and "projection, not observed:" in whole.out
    for wrong in (["--project"], ["TMR-P-LAT", "--project", "--all"], ["--why", "--project"]):
        refused = hardstone("show", run.id, *wrong, *place)
        assert refused.code == EXIT_USAGE and "--project" in refused.err and not refused.out
