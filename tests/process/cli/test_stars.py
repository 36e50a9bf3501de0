"""Stars on the command line: where they are shown, and where each comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from hardstone.formula import FORMULA
from hardstone.model import RunDocument, Verdict
from hardstone.store import Store
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.subjects import published_ids
from tests.process.cli.conftest import Done
from tests.unit.rating.rated_runs import conditions, full_run, labelled, planned, result_of, results
from tests.unit.report.hostile import ATTACKS

Hardstone = Callable[..., Done]
RUN_ID = "20261120T000000Z-000001"


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[RunDocument], list[str]]:
    """Stores a run; the options that find it."""

    def store(document: RunDocument) -> list[str]:
        write_document(open_place(Store(tmp_path / "store").path), document)
        return ["--store", str(tmp_path / "store")]

    return store


Keep = Callable[[RunDocument], list[str]]


def slow_switch() -> RunDocument:
    document = full_run(run_id=RUN_ID)
    result_of(document, "THR-P-SLS").series[0] = labelled("switch", {"threads": "2"}, 1000, 300_000)
    return document


def words(text: str) -> str:
    return " ".join(text.split())


def assert_narrow(text: str) -> None:
    wide = [line for line in text.splitlines() if cell_len(line.rstrip()) > 80]
    assert [line for line in wide if "hardstone " not in line] == []


def test_why_names_figure_score_and_what_half_a_star_takes(
    hardstone: Hardstone, keep: Keep
) -> None:
    done = hardstone("show", "last", "--why", *keep(slow_switch()))
    assert done.code == 0 and done.err == ""
    assert_narrow(done.out)
    text = words(done.out)
    assert "worst THR-P-SLS/2/switch 300 us -> 1.12, decides" in text
    assert f"source {RUN_ID} THR-P-SLS/2/switch max" in text
    assert "half more the worst observed THR-P-SLS/2/switch at most 159 us" in text
    assert "which holds it down: threads has 1.81, and overall is at most 1.5 more" in text
    assert FORMULA in text and "docs/method/rating.md" in text


def test_why_names_failed_behaviours_and_gaps(hardstone: Hardstone, keep: Keep) -> None:
    document = full_run(results=[one for one in results() if one.test != "MSG-P-LAT"])
    claims = result_of(document, "SEM-B-REL").verdicts
    claims += [Verdict(name=f"mixed/{k}", passed=False, evidence="-") for k in ("sysv", "futex")]
    text = words(hardstone("show", "last", "--why", *keep(document)).out)
    assert "fails SEM-B-REL mixed (sysv, futex), so at most 2" in text
    assert "missing worst of MSG-P-LAT/mq/64/thread/latency: not run" in text
    assert "messages \u2605\u2605\u2605\u2605\u2605 at most 5" in text


def test_why_says_which_condition_is_the_headline(hardstone: Hardstone, keep: Keep) -> None:
    document = full_run(
        results=[*results(where=conditions("none")), *results(where=conditions("heavy"))],
        plan=planned(["none", "heavy"], ["shared"]),
    )
    store = keep(document)
    text = words(hardstone("show", "last", "--why", *store).out)
    assert text.index("load heavy") < text.index("load none")
    assert "headline: heavy: the first CPU configuration under load" in text
    assert "stars \u2605\u2605\u2605\u2605\u2605 5 of 5 (without load)" in text
    screen = words(hardstone("show", "last", *store).out)
    assert "stars \u2605\u2605\u2605\u2605\u2605 5 of 5; heavy: the first CPU" in screen


def test_why_as_json_has_every_figure_with_its_source(hardstone: Hardstone, keep: Keep) -> None:
    document = hardstone("show", "last", "--why", "--json", *keep(slow_switch())).document
    assert document["formula"] == FORMULA and len(document["systems"]) == 1
    (system,) = document["systems"]
    assert (system["id"], system["rating"]["overall"]) == (RUN_ID, 3.5)
    figures = [one for part in system["rating"]["categories"] for one in part["figures"]]
    assert len(figures) > 40 and all(RUN_ID in one["amount"]["source"] for one in figures)


@pytest.mark.parametrize("key", published_ids())
def test_why_of_a_published_system(hardstone: Hardstone, key: str) -> None:
    done = hardstone("show", f"published:{key}", "--why")
    assert done.code == 0 and done.out.startswith(f"published:{key} ")
    assert_narrow(done.out)
    document = hardstone("show", f"published:{key}", "--why", "--json").document
    assert document["systems"][0]["conditions"]["study"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "published:qnx"), "has no run to show"),
        (("show", "published:vxworks", "--why"), "no study has a system 'vxworks'"),
        (("show", "published:qnx", "TMR-*"), "has no run to show"),
        (("show", "published:qnx", "--deadline", "100us"), "has no run to show"),
        (("show", "published:qnx", "TMR-*", "--why"), "takes no TEST"),
        (("show", "last", "--why", "--all"), "takes no TEST, --all"),
        (("show", "last", "--why", "--published"), "--published"),
        (("list", "runs"), "'runs' is not 'published'"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    hardstone: Hardstone, arguments: tuple[str, ...], said: str
) -> None:
    done = hardstone(*arguments)
    assert done.code == 2 and done.out == ""
    assert len(done.told) == 1 and said in done.told[0]


def test_a_list_of_runs_has_stars(hardstone: Hardstone, keep: Keep) -> None:
    keep(full_run(run_id="20261121T000000Z-000002"))
    virtual = full_run(system={"virtual.hypervisor": "KVM", "virtual.emulated": False})
    keep(msgspec.structs.replace(virtual, id="20261122T000000Z-000003"))
    store = keep(msgspec.structs.replace(full_run(results=results()[:3]), id=RUN_ID))
    lines = hardstone("runs", *store).out.splitlines()
    found = {line.split()[0]: line.split()[2] for line in lines if "evening" in line}
    assert list(found.values()) == ["-", "5.0", "5.0*"]
    assert any(line.startswith("* not the full rating") for line in lines)
    entries = hardstone("runs", "--json", *store).document
    assert [one["stars"] for one in entries] == [None, 5.0, 5.0]
    assert [one["rated_as"] for one in entries] == ["", "", "virtual machine"]


def test_published_systems_are_listed_with_both_ratings(hardstone: Hardstone) -> None:
    done = hardstone("list", "published")
    assert done.code == 0
    assert_narrow(done.out)
    lines = [line.split() for line in done.out.splitlines() if line.startswith("published:")]
    assert [line[0].removeprefix("published:") for line in lines] == published_ids()
    found = {line[0]: line[2:] for line in lines}
    assert found["published:ce7"] == ["4.5", "<=", "4.5"]
    assert found["published:lynx"] == ["-", "-"]
    rows = hardstone("list", "published", "--json").document
    assert {row["id"]: row["study_stars"] for row in rows}["published:linux-rt"] == 3.0
    assert all(row["study"] and row["year"] and row["figure_count"] for row in rows)


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_names_do_nothing_to_a_terminal(
    hardstone: Hardstone, keep: Keep, attack: str
) -> None:
    document = full_run(name=attack[:200])
    claim = Verdict(name=f"mixed/{attack}"[:4000], passed=False, evidence=attack)
    result_of(document, "SEM-B-REL").verdicts.append(claim)
    store = keep(document)
    for call in (("show", "last", "--why"), ("show", "last"), ("runs",)):
        done = hardstone(*call, *store)
        assert done.code == 0
        assert not any(ord(one) < 32 and one != "\n" for one in done.out), call


def test_a_measurement_ends_with_its_stars(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    store = ["--store", str(tmp_path / "store")]
    done = hardstone("run", "TMR-P-LAT", "--target", target, *store)
    (line,) = [one for one in done.out.splitlines() if one.startswith("stars ")]
    assert "timers <= " in line and "no overall rating (why: --why)" in words(done.out)
    why = hardstone("show", "last", "--why", *store)
    assert why.code == 0 and "stars no overall rating: no worst figure" in words(why.out)
