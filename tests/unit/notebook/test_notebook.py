"""Runs in Python: how they are found, conditions, published systems, errors in words; and series,
whose arrays and figures stand beside numpy's of the raw values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardstone
from hardstone.errors import InputError, UntrustworthyError
from hardstone.model import Conditions, Result, RunDocument, Series, Verdict, Worst
from hardstone.notebook import Run
from hardstone.notebook.loaded_series import RunSeries
from hardstone.stats.quantiles import misses_of, summarise
from hardstone.store.documents import encode_document
from hardstone.store.store import Store
from hardstone.systems.subjects import subjects_of
from tests import imported
from tests.unit.report.hostile import ATTACKS, hostile_document
from tests.unit.stats.make import document, result, series

FIRST, SECOND = "20261121T032200Z-1a2b3c", "20261122T032200Z-2b3c4d"
LOADS = ("none", "heavy")


def refused(said: str, ask: Callable[..., object], *given: Any, **options: Any) -> None:
    with pytest.raises(InputError, match=said):
        ask(*given, **options)


# Runs


def stored(place: Path, *documents: RunDocument) -> Path:
    (place / "runs").mkdir(parents=True, exist_ok=True)
    for one in documents:
        (place / "runs" / f"{one.id}.json.gz").write_bytes(encode_document(one))
    return place


def under(load: str, **changed: object) -> Result:
    return result(conditions=Conditions(load=load, cpu_config="shared"), **changed)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    two = document(run_id=SECOND, name="morning", results=[under("none"), under("heavy")])
    return stored(tmp_path / "store", document(run_id=FIRST, name="evening"), two)


@pytest.mark.parametrize(
    ("name", "found"),
    [("last", SECOND), ("evening", FIRST), (FIRST, FIRST), (FIRST[:9], FIRST)],
)
def test_a_run_is_found_as_on_the_command_line(store: Path, name: str, found: str) -> None:
    assert hardstone.load(name, store).id == hardstone.load(name, str(store)).id == found
    assert Store(store).load(name).id == found


def test_a_run_of_a_file(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store / "runs" / f"{FIRST}.json.gz"
    assert hardstone.load(path).id == hardstone.load(str(path)).id == FIRST
    monkeypatch.chdir(path.parent)
    assert hardstone.load(path.name).id == FIRST


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("evenign", "there is no run 'evenign'; did you mean evening"),
        ("2026112", "'2026112' matches 2 runs"),
        ("nothing.json", "there is no file nothing.json"),
        ("/", "it is a folder, not a file"),
        ("published:vxworks", "no study has a system 'vxworks'; there are lynx"),
        ("published:", "no study has a system ''"),
        ("", "there is no run ''"),
    ],
)
def test_what_there_is_not_is_told_with_what_there_is(store: Path, name: str, said: str) -> None:
    refused(said, hardstone.load, name, store)


def test_loading_makes_no_store(tmp_path: Path, own_home: Path) -> None:
    refused("there is no store", hardstone.load, "last")
    refused("there is no store", hardstone.load, "last", tmp_path / "none")
    assert not (tmp_path / "none").exists() and not (own_home / "data").exists()


def test_a_test_under_several_conditions_needs_one(store: Path) -> None:
    run = hardstone.load("morning", store)
    assert run.tests == list(run) == ["TMR-P-LAT"] and "TMR-P-LAT" in run and len(run) == 1
    assert [one.conditions["load"] for one in run.systems] == ["none", "heavy"]
    assert run.conditions["load"] == "none; heavy"
    refused("under load none, cpu_config shared / load heavy", run.__getitem__, "TMR-P-LAT")
    assert run.test("TMR-P-LAT", load="heavy").conditions["load"] == "heavy"
    assert run.under(load="none")["TMR-P-LAT"].conditions["load"] == "none"
    refused("nothing under load storm; it has load none", run.test, "TMR-P-LAT", load="storm")
    refused("no test 'TMR'; it has TMR-P-LAT", run.__getitem__, "TMR")


def test_a_test_that_was_repeated_needs_its_number(tmp_path: Path) -> None:
    twice = [under("none", values=(1, 2, 3)), under("none", values=(4, 5, 6))]
    run = hardstone.load("last", stored(tmp_path, document(results=twice)))
    refused("measured 2 times under this condition", run.__getitem__, "TMR-P-LAT")
    assert [run.test("TMR-P-LAT", nth=n).series().max for n in (0, 1)] == [3, 6]
    for nth in (-1, 2):
        refused("2 in all", run.test, "TMR-P-LAT", nth=nth)


def test_how_a_test_ended(tmp_path: Path) -> None:
    claim = Verdict(name="fair", passed=False, evidence="33, 34 %")
    denied = result("THR-B-RR", status="denied", reason="no privilege", series=[], verdicts=[claim])
    test = hardstone.load("last", stored(tmp_path, document(results=[denied])))["THR-B-RR"]
    assert (test.status, test.reason) == ("denied", "no privilege")
    assert test.claims == [("fair", False, "33, 34 %")]
    refused(r"THR-B-RR has no series \(denied: no privilege\)", test.series, "slice")


def test_a_published_system_has_figures_and_bounds() -> None:
    ce7 = hardstone.load("published:ce7")
    assert ce7.is_published and ce7.year == "2012" and ce7.trust == ""
    test = ce7["MUT-P-ARN"]
    assert test.status == "published" and test.series("release").max == 1600.0
    bound = test.series("acquire")
    for name in ("mean", "max"):
        refused("published as a bound", getattr, bound, name)
    refused("published without a distribution; it has mean, max", bound.quantile, 0.5)
    refused("published without a min", getattr, bound, "min")
    assert ce7["THR-P-SLS"].series("switch", 128).max == 14_600.0
    assert ce7["THR-B-RR"].claims[0].evidence == "pass, first slice 100 ms instead of 10 ms"
    refused("has no document", ce7.to_dict)


def test_a_study_under_two_loads_is_two_systems() -> None:
    run = hardstone.load("published:solaris-2proc")
    refused("under load none / load heavy", run.__getitem__, "RSP-P-FIX")
    worst = {load: run.test("RSP-P-FIX", load=load).series("time", "add").max for load in LOADS}
    assert worst == {"none": 10_100_000.0, "heavy": 11_236_500_000.0}
    assert run["MSG-P-LAT"].series("latency", scope="thread").max == 148_700.0
    refused("has no test 'MSG-P-LAT'", run.test, "MSG-P-LAT", load="heavy")


def test_runs_and_published_systems_are_compared_singly_or_as_a_list(store: Path) -> None:
    run = hardstone.load("evening", store)
    path = store / "runs" / f"{SECOND}.json.gz"
    several = hardstone.compare(run, "published:qnx", path, store=store)
    for listed in ([run, "published:qnx", path], (run, ["published:qnx", path])):
        found = hardstone.compare(listed, store=store)
        assert [one["id"] for one in found.systems] == [one["id"] for one in several.systems]
    assert [one["id"] for one in several.systems] == [FIRST, "published:qnx", SECOND, SECOND]


@pytest.mark.parametrize("given", [None, 7, {"a": 1}, b"last", document()])
def test_what_cannot_be_compared_or_loaded_is_refused_in_words(store: Path, given: Any) -> None:
    kind = type(given).__name__
    refused(f"compare takes no {kind}; give runs of hardstone.load", hardstone.compare, [given])
    refused(f"compare takes no {kind}", hardstone.compare, "evening", given, store=store)
    refused(f"load takes no {kind}; give an ID", hardstone.load, given)
    pair = ("published:qnx", "published:ce7")
    refused("reference is a place, not a str", hardstone.compare, *pair, reference="published:qnx")


def test_what_is_given_out_changes_no_run(store: Path) -> None:
    run = hardstone.load("evening", store)
    before = run.to_dict()
    for one in (run.to_dict()["results"], run.tests, run.conditions):
        one.clear()
    run["TMR-P-LAT"].params["x"] = 1
    run["TMR-P-LAT"].series().labels.clear()
    assert run.to_dict() == before and run.tests and run.conditions
    with pytest.raises(AttributeError):
        run.id = "x"  # type: ignore[misc]


@pytest.mark.slow
def test_what_a_notebook_shows_is_escaped_and_short(tmp_path: Path) -> None:
    path = tmp_path / "hostile.json.gz"
    path.write_bytes(encode_document(msgspec.structs.replace(hostile_document(), id=FIRST)))
    run = hardstone.load(path)
    page: str = getattr(run, "_repr_html_")()  # noqa: B009  what a notebook asks for
    assert "<script" not in page and "<img" not in page and len(page) < 20_000
    assert "&lt;script&gt;" in page
    with pytest.raises(InputError) as raised:
        run["\x1b[31m\u202e</script>"]
    for text in (page, repr(run), repr(run.systems[0]), str(raised.value)):
        assert not set("\x00\x1b\u202e") & set(text)
    assert any(attack in run.name for attack in ATTACKS)
    compared: str = getattr(hardstone.compare(run.systems[0], "published:qnx"), "_repr_html_")()  # noqa: B009
    assert "<script" not in compared and "<img" not in compared and "&lt;img" in compared


@pytest.mark.slow
def test_nothing_is_loaded_until_it_is_asked_for(root: Path) -> None:
    program = (
        "import sys, hardstone\n"
        "heavy = {'numpy', 'scipy', 'msgspec', 'hardstone.notebook'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert hardstone.load is hardstone.notebook.load\n"
        "assert heavy - {'scipy'} <= set(sys.modules)\n"  # scipy waits for the first interval
    )
    environment = {"PYTHONPATH": str(root / "src")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_the_door_is_closed_to_other_names() -> None:
    assert set(hardstone.__all__) <= set(dir(hardstone))
    assert all(getattr(hardstone, name) for name in hardstone.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'record'"):
        hardstone.record  # type: ignore[attr-defined]  # noqa: B018


# Series


def opened(*found: Series) -> hardstone.RunTest:
    subjects = subjects_of(document(results=[result(series=list(found))]))
    return Run(tuple(subjects))["TMR-P-LAT"]


def of(values: Any) -> hardstone.RunSeries:
    return opened(series(list(values))).series()


def drawn(seed: int) -> Any:
    return np.random.default_rng(seed).integers(1, 10_000, 1_000)


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=60))
def test_the_histogram_is_that_of_numpy(values: list[int]) -> None:
    one = of(values)
    assert np.all(np.diff(one.edges) > 0) and one.edges.size == one.counts.size + 1
    # by bisection: numpy.histogram takes edges as floats
    places = np.searchsorted(one.edges, np.array(values, dtype=np.int64), side="right") - 1
    assert np.bincount(places, minlength=one.counts.size).tolist() == one.counts.tolist()
    assert int(one.counts.sum()) + one.underflow + one.overflow == one.count == len(values)


def test_figures_are_exact() -> None:
    values = [5, 7, 1_000_003]
    one = of(values)
    assert (one.count, one.min, one.max) == (3, 5, 1_000_003)
    assert one.mean == pytest.approx(np.mean(values))
    assert (one.test, one.name, one.unit) == ("TMR-P-LAT", "wakeup", "ns")
    assert one.labels == {"part": "total"}


def test_a_quantile_is_that_of_the_table() -> None:
    values = np.random.default_rng(1).integers(1_000, 100_000, 20_000)
    raw = series(values.tolist())
    one = opened(raw).series("wakeup")
    for known in summarise(raw).quantiles:
        assert one.quantile(known.q) == known
    exact = np.quantile(values, 0.999, method="inverted_cdf")
    assert one.quantile(0.999).value == pytest.approx(exact, rel=2**-10)
    narrow, wide = one.quantile(0.9, confidence=0.5), one.quantile(0.9, confidence=0.999)
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]
    same = of([1_000_001] * 100)  # not beyond the maximum
    assert same.quantile(0.9).value == same.max == 1_000_001
    assert same.amount("p90").value == 1_000_001  # type: ignore[union-attr]


def test_a_quantile_needs_values_beyond_it() -> None:
    one = of(range(1, 101))
    assert one.quantile(0.9).value == 90
    refused(r"0\.91 needs 112 values, has 100; the deepest is 0\.9", one.quantile, 0.91)
    for q in (0.0, 1.0, -1.0, float("nan")):
        refused("do not lie between 0 and 1", one.quantile, q)


def test_values_above_a_limit() -> None:
    values = drawn(2)
    one = of(values)
    for limit in (0, 1, 999, 1_000.5, 9_999, 10_000):
        found, real = one.above(limit), int((values > limit).sum())
        assert found.low <= real <= found.high
    refused("nan is no limit", one.above, float("nan"))
    tail = one.exceedance()
    real = np.array([(values > value).sum() for value in tail.value])
    assert tail.count.tolist() == real.tolist()
    assert tail.probability == pytest.approx(real / 1_000)


def test_misses_of_a_deadline() -> None:
    values = drawn(4)
    one = of(values)
    for deadline in (1, 999, 5_000.5, 9_999, 10_000):
        assert one.misses(deadline) == misses_of(series(values.tolist()), int(deadline))
    few = of([10, 20, 21])
    assert [few.misses(deadline).count for deadline in (20, 20.5, 21)] == [1, 1, 0]
    narrow, wide = one.misses(5_000, confidence=0.5), one.misses(5_000, confidence=0.999)
    assert wide.low < narrow.low < narrow.high < wide.high
    for wrong in (0, -1, float("nan"), float("inf")):
        refused("is no deadline", one.misses, wrong)
    refused("does not lie between 0 and 1", one.misses, 5, confidence=95)


def test_only_durations_with_values_have_misses() -> None:
    counts = msgspec.structs.replace(series([1, 2]), unit="count")
    refused("is not a duration and has no deadline", opened(counts).series().misses, 5)
    refused("has no values", of([]).misses, 5)
    published = hardstone.load("published:qnx")["THR-P-SLS"].series("switch", 128)
    refused("published without a distribution", published.misses, 5)


def test_worst_values_and_maxima_cannot_be_written() -> None:
    worst = [Worst(value_ns=9, at_ns=1_000, index=1), Worst(value_ns=4, at_ns=2_000, index=2)]
    kept = msgspec.structs.replace(series([3, 9, 4]), worst=worst, maxima_per_s=[3, None, 9])
    one = opened(kept).series()
    assert one.worst["value"].tolist() == [9, 4] and one.worst["at_ns"].tolist() == [1_000, 2_000]
    assert one.maxima_per_s[[0, 2]].tolist() == [3.0, 9.0] and np.isnan(one.maxima_per_s[1])
    assert one.maxima_interval_ns == 1_000_000_000
    for name in ("edges", "counts", "worst", "maxima_per_s"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(one, name)[0] = getattr(one, name)[0]
        with pytest.raises(AttributeError):
            setattr(one, name, 1)


def test_an_empty_series_has_no_figure() -> None:
    one = of([])
    assert one.count == 0 and one.edges.size == one.counts.size == 0
    assert one.exceedance().value.size == 0 and one.above(5).high == 0
    for name in ("min", "mean", "max"):
        refused("has no values", getattr, one, name)
    refused("needs 20 values, has 0", one.quantile, 0.5)


def test_figures_that_contradict_each_other_are_not_given(tmp_path: Path) -> None:
    wrong = msgspec.structs.replace(series([1, 2, 3]), count=5)
    path = tmp_path / "run.json.gz"
    path.write_bytes(encode_document(document(results=[result(series=[wrong])])))
    with pytest.warns(UserWarning, match="holds 3 values but the count is 5"):
        test = hardstone.load(path)["TMR-P-LAT"]
    one = test.series("wakeup")
    assert "cannot be true" in repr(one) and one.notes
    for ask in ("count", "max", "counts", "worst", "overflow"):
        with pytest.raises(UntrustworthyError, match="cannot be true"):
            getattr(one, ask)
    for method in (one.quantile, one.misses):
        with pytest.raises(UntrustworthyError):
            method(0.5)


def test_a_value_past_all_buckets_is_above_a_bound() -> None:
    one = opened(series([10] * 50 + [5_000] * 50, limit=100)).series()
    found = one.quantile(0.9)
    assert found.value is None and found.above == 10 and found.high is None
    assert one.overflow == 50 and one.max == 5_000


def test_labels_choose_between_series() -> None:
    def named(name: str, **labels: int | str) -> Series:
        return msgspec.structs.replace(series([1, 2], name), labels=dict(labels))

    parts = [named("wakeup", part=part, cpu=n) for n in (0, 1) for part in ("total", "interrupt")]
    test = opened(*parts, named("missed", cpu=0))
    assert test.series("wakeup", cpu=1).labels == {"part": "total", "cpu": "1"}
    assert test.series("wakeup", "interrupt", 0).address == "TMR-P-LAT/interrupt/0/wakeup"
    assert test.series("missed").name == "missed" and len(test.all_series) == 5
    refused(r"2 series of TMR-P-LAT match: .*cpu=0; .*cpu=1", test.series, "wakeup")
    refused("no series 'jitter'; it has wakeup, missed", test.series, "jitter")
    refused(r"with cpu=7; there are wakeup, part=total, cpu=0", test.series, "wakeup", cpu=7)


# A run of a file of another tool


def run_of(document: RunDocument) -> Run:
    return Run(tuple(subjects_of(document)))


def series_of(document: RunDocument) -> RunSeries:
    run = run_of(document)
    (found,) = run[run.tests[0]].all_series
    return found


def test_a_run_says_which_file_it_is_from() -> None:
    run = run_of(imported.imported_run(imported.bare()))
    assert run.imported is not None
    assert (run.imported.tool, run.imported.file) == ("cyclictest", "cyclictest-hist.txt")
    assert run.imported.losses == [imported.NO_LOAD_SAID]
    assert "trust indicative, read from a file of cyclictest 2.40" in repr(run)
    assert run_of(document()).imported is None


def test_figures_that_a_file_has_not_are_refused_with_the_reason() -> None:
    bare = series_of(imported.imported_run(imported.bare(1760)))
    assert (bare.count, bare.min, bare.max) == (1760, 2000, 34_000)
    assert bare.statistics() == ["min", "mean", "max"]
    for ask in (lambda: bare.quantile(0.5), bare.exceedance):
        with pytest.raises(InputError, match="minimum, mean and maximum only, so no quantile"):
            ask()
    with pytest.raises(InputError, match="so no share above a deadline"):
        bare.misses(10_000)
    above = bare.above(10_000)
    assert (above.low, above.high) == (1, 1759)


def test_a_mean_of_an_unknown_count() -> None:
    mean = series_of(
        imported.imported_run(result=imported.imported_result(imported.only_mean(), test="zephyr"))
    )
    assert mean.mean == 1200.0
    assert mean.statistics() == ["mean"]
    assert "count not known" in repr(mean)
    for ask in ("min", "max", "count"):
        with pytest.raises(InputError, match=r"the file (has no|does not say)"):
            getattr(mean, ask)


def test_a_cut_histogram_keeps_its_buckets() -> None:
    cut = series_of(
        imported.imported_run(imported.cyclictest([5000] * 90 + [57_000], buckets=20, is_cut=True))
    )
    assert cut.counts.sum() == cut.count == 90
    assert cut.above(10_000).high is None
    with pytest.raises(InputError, match="no count of the values above 20 us"):
        cut.quantile(0.5)


def test_no_package_hides_a_name_of_the_interface() -> None:
    """`hardstone.compare` would be a package of that name, once a command had imported it."""
    assert [one for one in hardstone.__all__ if find_spec(f"hardstone.{one}") is not None] == []
