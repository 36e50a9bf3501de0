"""Deadlines and projections in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from scipy import stats

from hardstone.comparison.assemble import compare_view
from hardstone.errors import EXIT_USAGE, InputError
from hardstone.model import Loss, Result, RunDocument, Series
from hardstone.present.deadlines import (
    decisive_projection,
    misses_document,
    projections,
    share_lines,
)
from hardstone.stats.projection import LEAST_VALUES, Projection, project
from hardstone.stats.quantiles import PATH_NOT_TAKEN
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from hardstone.terminal.whole_run import print_misses, print_projections
from tests import imported
from tests.process.cli.conftest import Done, hardstone  # noqa: F401
from tests.unit.comparison.made_systems import QNX, switching
from tests.unit.golden import assert_as_stored
from tests.unit.report import sample
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.media import flat, printed, sketched, words
from tests.unit.stats.made_tails import latencies, ordered
from tests.unit.stats.make import document, result, series

SPACE = "\N{NO-BREAK SPACE}"


def run_of(*found: Series, **changed: object) -> RunDocument:
    return document(results=[result(series=list(found), **changed)])


def of(values: Sequence[int]) -> RunDocument:
    return run_of(series(values))


def shown(run: RunDocument, deadline_ns: int) -> str:
    return printed(lambda one, out: print_misses(one, deadline_ns, out), run)


def changed(field: str, value: str, *, test: str = "TMR-P-LAT", **fields: object) -> Result:
    """A result of one value under another condition."""
    found = result(test, values=[7], **fields)
    setattr(found.conditions, field, value)
    return found


def misses() -> Iterator[tuple[str, RunDocument, int]]:
    # no end is rounded inwards: of 3 in 1000 scipy has 1 in 1616.4 to 1 in 114.45, of 5 in 200
    # 1 in 122.456 to 1 in 17.43
    yield "3 of 1000", of([10] * 997 + [50] * 3), 20
    yield "5 of 200", of([10] * 195 + [50] * 5), 20
    yield "none", of([10] * 1000), 20
    yield "all", of([50] * 20), 20
    yield "a value at the deadline keeps it", of([10] * 99 + [20]), 20
    yield "a value above it", of([10] * 99 + [20]), 19
    yield "a bucket that the deadline cuts", of([10] * 90 + [9085] * 10), 9084
    yield "the same, not cut", of([10] * 90 + [9085] * 10), 100
    over = run_of(series([10] * 97 + [60_000] + [5_000_000] * 2, limit=100_000))
    assert over.results[0].series[0].histogram.overflow == 2
    yield "values past the histogram", over, 50_000
    yield "a deadline past it: the maximum is known", over, 1_000_000
    yield "no values", of([]), 2
    wrong = of([1, 2, 3])
    wrong.results[0].series[0].mean = 1e9
    yield "figures that contradict each other", wrong, 2
    counts = msgspec.structs.replace(series([1, 2]), unit="count", name="missed")
    rates = msgspec.structs.replace(series([1, 2]), unit="bytes_per_s", name="throughput")
    yield "no durations", run_of(series([1]), counts, rates), 5
    yield "a series that is no duration", run_of(series([1]), counts), 5
    yield "late wake-ups have two views", run_of(series([1]), series([1], name="release")), 5
    states = [
        result(values=[1]),
        changed("load", "none", complete=False),
        result(values=[7], status="timeout"),
        result("MUT-P-ARC", values=[7], interrupted=True),  # it has its footer all the same
    ]
    yield "states", document(results=states), 5
    other = [result(values=[1]), changed("cpu_config", "shielded"), changed("preemption", "full")]
    yield "what differs between the results", document(results=other), 5
    # as elsewhere: a switch of 9 ns and one of 1 ns are two of 5 ns
    half = msgspec.structs.replace(series([1, 9], name="switch"), derived="half of round_trip")
    for deadline_ns in (10, 5):
        yield f"what is derived bounds nothing: {deadline_ns} ns", run_of(half), deadline_ns


@pytest.mark.slow
def test_misses_in_words(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, run, deadline_ns in misses():
        found = misses_document(run, deadline_ns)
        lines = [
            f"{one.name} {one.status} {one.is_complete} {one.cpu_config} {one.preemption} "
            f"{one.least_count} {one.most_count} of {one.values} {one.derived}"
            for one in found.series
        ]
        head = f"{found.left_out_count} left out, trust {found.trust.grade}"
        texts[name] = "\n".join([head, *lines, shown(run, deadline_ns)])
    assert_as_stored(request, "misses.txt", texts)


@pytest.mark.parametrize(
    ("values", "deadline_ns", "least", "most"),
    [([10] * 997 + [50] * 3, 20, 3, 3), ([10] * 90 + [9085] * 10, 9084, 1, 10)],
)
def test_a_share_has_its_exact_interval(
    values: list[int], deadline_ns: int, least: int, most: int
) -> None:
    (one,) = misses_document(of(values), deadline_ns).series
    assert (one.least_count, one.most_count, one.at_most) == (least, most, None)
    low, high = (
        stats.binomtest(count, len(values)).proportion_ci(0.95, "exact") for count in (least, most)
    )
    assert (one.share_low, one.share_high) == pytest.approx((low.low, high.high), rel=1e-9)


def test_no_miss_bounds_the_share() -> None:
    (one,) = misses_document(of([10] * 1000), 20).series
    assert one.at_most == pytest.approx(1 - 0.05 ** (1 / 1000))


@pytest.mark.parametrize(("count", "has_bound"), [(1, False), (19, False), (20, True)])
def test_few_values_bound_nothing(count: int, has_bound: bool) -> None:
    (one,) = misses_document(of([10] * count), 20).series
    assert (one.at_most is not None) == has_bound
    assert (f"needs 20 values, has {count}" in share_lines(one)) != has_bound
    assert ("at most" in shown(of([10] * count), 20)) == has_bound


def test_no_miss_in_a_file_that_lacks_values_bounds_nothing() -> None:
    one = imported.cyclictest(range(3000, 90_000, 7))
    losses = [Loss(what="values", text="Only the first 3000 of 7989 values.")]
    run = imported.imported_run(one, losses=losses)
    found = misses_document(run, 100_000)
    assert found.series[0].at_most is None and share_lines(found.series[0]) == ["-"]
    assert "missing from the file" in found.notes[-1] and found.notes[-1] in shown_flat(run)
    assert misses_document(imported.imported_run(one), 100_000).series[0].at_most is not None


def test_a_count_that_is_not_known_is_none() -> None:
    run = imported.imported_run(imported.only_mean())
    assert misses_document(run, 100_000).series[0].values is None
    assert "derived - -" in shown_flat(run)


def shown_flat(run: RunDocument) -> str:
    return flat(shown(run, 100_000))


def test_a_run_that_timed_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="nothing was timed"):
        misses_document(document(results=[result(series=[])]), 5)
    counts = msgspec.structs.replace(series([1]), unit="count", name="missed")
    with pytest.raises(InputError, match="counts and throughputs have no deadline"):
        misses_document(run_of(counts), 5)


@pytest.mark.slow
def test_series_that_are_not_printed_are_counted() -> None:
    one = series([1])
    many = [msgspec.structs.replace(one, labels={"n": number}) for number in range(803)]
    said = shown(run_of(*many), 5)
    assert "3 more series, with --json" in said and "n 799" in said and "n 800" not in said


@pytest.mark.slow
def test_lines_have_80_columns() -> None:
    counted = series([10] * 999_990 + [50] * 10)
    counted.histogram.buckets = [(at, 10 * n) for at, n in counted.histogram.buckets]
    counted.count *= 10
    for attack in ATTACKS[:4]:
        counted.labels["part"] = attack
        run = run_of(counted)
        run.name = attack
        assert "10 000 000" in shown(run, 20).replace(SPACE, " ")


STEADY = {"virtual.hypervisor": None, "power.frequency_is_fixed": True}
GUEST = {"virtual.hypervisor": "KVM", "power.frequency_is_fixed": False}


def projected_run(*series: Series, is_steady: bool = True, test: str = "TMR-P-LAT") -> RunDocument:
    system = STEADY if is_steady else GUEST
    counters = {"steal_ns": 0 if is_steady else 5000, "migrations_count": 0 if is_steady else 3}
    one = result(test, series=list(series), environment=counters)
    return document(system=system, results=[one])


def projection_lines(run: RunDocument) -> str:
    return flat(printed(print_projections, run))


def steady(*more: Result, **changed: bool) -> RunDocument:
    run = projected_run(ordered(latencies(1)), **changed)
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
        yield f"{size} values", projected_run(ordered(latencies(1)[:size]))
    counts = msgspec.structs.replace(ordered(latencies(1)), unit="count")
    yield "no durations", projected_run(counts)
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
def test_lines_of_projections_have_80_columns() -> None:
    run = steady(is_steady=False)
    for attack in ATTACKS[:4]:
        run.results[0].series[0].labels["part"] = run.name = attack
        projection_lines(run)


@pytest.mark.slow
def test_the_page_has_the_projection_of_the_decisive_series() -> None:
    low = msgspec.structs.replace(ordered(latencies(2) // 2), name="other")
    page = sketched(projected_run(ordered(latencies(1)), low), sample.SPECS.get)
    assert page.count("Projection of the next maximum: ") == 1
    assert "an interval, not observed" in page and "Nothing is projected" not in page
    assert "maximum of the next 120 000 values" in words(page)


def test_the_page_has_every_reason_of_a_refusal() -> None:
    run = steady(is_steady=False)
    page = words(sketched(run, sample.SPECS.get))
    one = decisive_projection(run.results[0], run)
    assert one is not None and len(one.lines) == 3
    assert all(line in page for line in [*one.lines, *one.meaning])
    assert "Nothing is projected, since:" in page and "Projection, not observed" not in page


@pytest.mark.parametrize("seconds", [99, 100])
def test_the_page_judges_series_of_a_hundred_intervals(seconds: int) -> None:
    run = projected_run(ordered(latencies(1, seconds)))
    assert (decisive_projection(run.results[0], run) is None) == (seconds < 100)
    behaviour = projected_run(ordered(latencies(1, seconds)), test="THR-B-NEW")
    assert decisive_projection(behaviour.results[0], behaviour) is None


def test_every_report_says_what_no_sample_shows() -> None:
    short = projected_run(ordered(latencies(1)[:50]))
    page = words(sketched(short, sample.SPECS.get))
    assert page.count(PATH_NOT_TAKEN) == 1
    assert any(PATH_NOT_TAKEN in one for one in compare_view([QNX, switching([1, 2])]).notes)


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
