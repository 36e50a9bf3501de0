"""What is said of the next maximum, in the terminal and on the page; both outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.errors import EXIT_USAGE
from hardstone.model import Result, RunDocument, Series
from hardstone.present.deadlines import LEAST_VALUES, decisive_projection, projections
from hardstone.stats.projection import Projection, project
from hardstone.stats.quantiles import PATH_NOT_TAKEN
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from hardstone.terminal.whole_run import print_projections
from tests.process.cli.conftest import Done, hardstone  # noqa: F401
from tests.unit.comparison.made_systems import QNX, switching
from tests.unit.golden import assert_as_stored
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


def runs() -> Iterator[tuple[str, RunDocument]]:
    yield "projected", steady()
    yield "refused, with every reason", steady(is_steady=False)
    for name, wrong, mean in (("the series", 0, 1.0), ("another series", 1, 1e6)):
        run = steady(result("THR-P-SLS", values=(1, 2, 3)))
        run.results[wrong].series[0].mean = mean
        yield f"figures of {name} contradict each other", run
    for size in (LEAST_VALUES - 1, LEAST_VALUES):
        yield f"{size} values", run_of(ordered(latencies(1)[:size]))
    counts = msgspec.structs.replace(ordered(latencies(1)), unit="count")
    yield "no durations", run_of(counts)
    short = steady(result("SIM-S-RT"), result("SIM-S-RT"), result("THR-P-SLS"))
    yield "what is left out is counted by test", short
    twice = steady(result("SIM-S-RT"), result("THR-P-SLS"))
    twice.results[1] = twice.results[0]
    yield "each interval is at its level alone", twice


@pytest.mark.slow
def test_projections_in_words(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, run in runs():
        meanings = [one.meaning for found in run.results for one in projections(found, run)]
        told = "\n".join(dict.fromkeys(line for lines in meanings for line in lines))
        # the sign of a shape of almost nothing depends on the machine
        text = printed(print_projections, run).replace("shape -0.00", "shape 0.00")
        texts[name] = text + told
    assert_as_stored(request, "projections.txt", texts)
    found = project((run := steady()).results[0].series[0], run.results[0], run)
    assert isinstance(found, Projection)
    interval = f"{found.low_ns / 1000:.1f} to {found.high_ns / 1000:.1f} us"
    assert interval in flat(texts["projected"])


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
