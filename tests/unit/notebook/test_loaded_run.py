"""Runs in Python: how they are found, conditions, published systems, and errors in words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import hardstone
from hardstone.errors import HardstoneError, InputError
from hardstone.model import Conditions, RunDocument, Verdict
from hardstone.store import Store
from hardstone.store.documents import encode_document
from tests.unit.report.hostile import ATTACKS, hostile_document
from tests.unit.stats.make import document, result

FIRST, SECOND = "20261121T032200Z-1a2b3c", "20261122T032200Z-2b3c4d"


def stored(place: Path, *documents: RunDocument) -> Path:
    (place / "runs").mkdir(parents=True, exist_ok=True)
    for one in documents:
        (place / "runs" / f"{one.id}.json.gz").write_bytes(encode_document(one))
    return place


def under(load: str, config: str = "shared", **changed: object) -> object:
    return result(conditions=Conditions(load=load, cpu_config=config), **changed)  # type: ignore[arg-type]


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
        ("published:vxworks", "no study has a system 'vxworks'"),
        ("published:", "no study has a system ''"),
        ("", "there is no run ''"),
    ],
)
def test_what_there_is_not_is_told_with_what_there_is(store: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        hardstone.load(name, store)


def test_loading_makes_no_store(tmp_path: Path, own_home: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        hardstone.load("last")
    with pytest.raises(InputError, match="there is no store"):
        hardstone.load("last", tmp_path / "none")
    assert not (tmp_path / "none").exists() and not (own_home / "data").exists()


def test_a_test_under_several_conditions_needs_one(store: Path) -> None:
    run = hardstone.load("morning", store)
    assert run.tests == list(run) == ["TMR-P-LAT"] and "TMR-P-LAT" in run and len(run) == 1
    assert [one.conditions["load"] for one in run.systems] == ["none", "heavy"]
    assert run.conditions["load"] == "none; heavy"
    with pytest.raises(InputError, match="under load none, cpu_config shared / load heavy"):
        run["TMR-P-LAT"]
    assert run.test("TMR-P-LAT", load="heavy").conditions["load"] == "heavy"
    assert run.under(load="none")["TMR-P-LAT"].conditions["load"] == "none"
    with pytest.raises(InputError, match="nothing under load storm; it has load none"):
        run.test("TMR-P-LAT", load="storm")
    with pytest.raises(InputError, match=r"no test 'TMR'; it has TMR-P-LAT"):
        run["TMR"]


def test_a_test_that_was_repeated_needs_its_number(tmp_path: Path) -> None:
    twice = [under("none", values=(1, 2, 3)), under("none", values=(4, 5, 6))]
    run = hardstone.load("last", stored(tmp_path, document(results=twice)))
    with pytest.raises(InputError, match="measured 2 times under this condition"):
        run["TMR-P-LAT"]
    assert [run.test("TMR-P-LAT", nth=n).series().max for n in (0, 1)] == [3, 6]
    for nth in (-1, 2):
        with pytest.raises(InputError, match="2 in all"):
            run.test("TMR-P-LAT", nth=nth)


def test_how_a_test_ended(tmp_path: Path) -> None:
    claim = Verdict(name="fair", passed=False, evidence="33, 34 %")
    denied = result("THR-B-RR", status="denied", reason="no privilege", series=[], verdicts=[claim])
    test = hardstone.load("last", stored(tmp_path, document(results=[denied])))["THR-B-RR"]
    assert (test.status, test.reason) == ("denied", "no privilege")
    assert test.claims == [("fair", False, "33, 34 %")]
    with pytest.raises(InputError, match=r"THR-B-RR has no series \(denied: no privilege\)"):
        test.series("slice")


def test_a_published_system_has_figures_and_bounds() -> None:
    ce7 = hardstone.load("published:ce7")
    assert ce7.is_published and ce7.year == "2012" and ce7.trust == ""
    test = ce7["MUT-P-ARN"]
    assert test.status == "published" and test.series("release").max == 1600.0
    bound = test.series("acquire")
    for name in ("mean", "max"):
        with pytest.raises(InputError, match="published as a bound"):
            getattr(bound, name)
    with pytest.raises(InputError, match="published without a distribution; it has mean, max"):
        bound.quantile(0.5)
    with pytest.raises(InputError, match="published without a min"):
        assert bound.min
    assert ce7["THR-P-SLS"].series("switch", 128).max == 14_600.0
    assert ce7["THR-B-RR"].claims[0].evidence == "pass, first slice 100 ms instead of 10 ms"
    with pytest.raises(InputError, match="has no document"):
        ce7.to_dict()


def test_a_study_under_two_loads_is_two_systems() -> None:
    run = hardstone.load("published:solaris-2proc")
    with pytest.raises(InputError, match="under load none / load heavy"):
        run["RSP-P-FIX"]
    worst = {load: run.test("RSP-P-FIX", load=load).series("time", "add").max for load in LOADS}
    assert worst == {"none": 10_100_000.0, "heavy": 11_236_500_000.0}
    assert run["MSG-P-LAT"].series("latency", scope="thread").max == 148_700.0
    with pytest.raises(InputError, match="has no test 'MSG-P-LAT'"):
        run.test("MSG-P-LAT", load="heavy")


LOADS = ("none", "heavy")


def test_what_is_given_out_changes_no_run(store: Path) -> None:
    run = hardstone.load("evening", store)
    before = run.to_dict()
    copy = run.to_dict()
    copy["results"].clear()
    run.tests.clear()
    run.conditions.clear()
    run["TMR-P-LAT"].params["x"] = 1
    run["TMR-P-LAT"].series().labels.clear()
    assert run.to_dict() == before and run.tests and run.conditions
    with pytest.raises(AttributeError):
        run.id = "x"  # type: ignore[misc]


@pytest.mark.slow
def test_what_a_notebook_shows_is_escaped_and_short(tmp_path: Path) -> None:
    path = tmp_path / "hostile.json.gz"
    hostile = msgspec.structs.replace(hostile_document(), id=FIRST)
    path.write_bytes(encode_document(hostile))
    run = hardstone.load(path)
    page = html_of(run)
    assert "<script" not in page and "<img" not in page and len(page) < 20_000
    assert "&lt;script&gt;" in page
    for text in (page, repr(run), repr(run.systems[0]), str(_error(run))):
        assert not any(char in text for char in "\x00\x1b\u202e")
    assert any(attack in run.name for attack in ATTACKS)


def html_of(one: object) -> str:
    """What a notebook asks for."""
    name = "_repr_html_"
    found: str = getattr(one, name)()
    return found


def _error(run: hardstone.Run) -> HardstoneError:
    with pytest.raises(InputError) as raised:
        run["\x1b[31m\u202e</script>"]
    return raised.value


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
