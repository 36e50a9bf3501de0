"""`hardstone study`: the parts of each paper on made-up targets, cut off, resumed and laid out; and
the answers of `hardstone questionnaire`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
)
from hardstone.store.place import default_root
from hardstone.store.store import RunEntry, Store
from hardstone.study.papers import load_papers
from hardstone.study.procedure import measured_tests
from hardstone.study.questionnaire import load_questions, template
from tests import sweeps
from tests.process.cli.conftest import Hardstone, Lab, facts_with, validate
from tests.process.cli.forked import at_run, interrupt
from tests.process.targets import sample

PAPERS = list(load_papers())
SHORT = "latstat-2007"  # with --quick three parts
LONGER = "dedicated-systems-2012"  # four


def fake(folder: Path, tests: dict[str, list[str]] | None = None, **changed: Any) -> str:
    """A fake target on which every test works: a root's machine of two CPUs."""
    folder.mkdir(exist_ok=True)
    own = sweeps.facts(**{"user.effective_id": 0, "tracing.tracer": "nop"})
    facts = facts_with(own | changed.pop("facts", {}))
    works = {one.id: sample.stream(one.id) for one in sample.register().tests}
    sweep = [
        {"test": "SIM-S-RT", "params": {"masses": "..900"}, "steps": sweeps.held()},
        {"test": "SIM-S-RT", "params": {"masses": "901.."}, "steps": sweeps.missing()},
        {
            "test": "SIM-P-RF",
            "params": {"masses": "1.."},
            "steps": sweeps.stream(None, "SIM-P-RF", 7),
        },
    ]
    fields = {"facts": facts, "shield": sample.shield_look(), "under": sweep} | changed
    return f"fake:{sample.scenario(folder, works | (tests or {}), **fields)}"


@pytest.fixture
def target(tmp_path: Path) -> str:
    return fake(tmp_path / "target")


def stored() -> list[tuple[str, str]]:
    """Name and status of the stored runs, in the order of measuring."""
    return [(one.name, one.status) for one in Store().runs()]


def by_name(store: Store) -> list[RunEntry]:
    """The parts of one call: those of one second have no order in the store."""
    return sorted(store.runs(), key=lambda one: one.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_a_whole_study(hardstone: Hardstone, target: str, name: str) -> None:
    done = hardstone("study", name, "--quick", "--json", "--target", target)
    assert done.code == EXIT_OK, done.err
    count = len(stored())
    assert sorted(stored()) == [
        (f"study {name} quick {number}/{count}", "complete") for number in range(1, count + 1)
    ]
    tests = {one.test for run in Store().runs() for one in Store().load(run.id).plan.tests}
    assert tests >= set(measured_tests(name))
    parts = [one for one in done.told if one.startswith("hardstone: part ")]
    assert parts[0].startswith(f"hardstone: part 1 of {count}: ") and parts[0].endswith(
        "left in all"
    )
    assert len(parts) == count
    (told,) = (one for one in done.told if " stored: " in one)
    assert all(run.id in told for run in Store().runs())
    validate(done.document)
    exhibits = done.document["exhibits"]
    numbers = [one.number for one in load_papers()[name].exhibits]
    assert [one["number"] for one in exhibits][: len(numbers)] == numbers
    cells = [
        row["cells"][place] for one in exhibits for row in one["rows"] for place in one["columns"]
    ]
    lacking = [one for one in cells if one["kind"] == "not measured"]
    assert lacking and all(one["reason"] and one["value"] is None for one in lacking)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_the_command_of_each_part_makes_its_plan_again(
    hardstone: Hardstone, target: str, name: str
) -> None:
    for length in ("--quick", "--as-published"):
        found = hardstone("study", name, length, "--dry-run", "--json", "--target", target)
        plans = found.document["plans"]
        assert [one["study"]["number"] for one in plans] == [*range(1, len(plans) + 1)]
        for plan in plans:
            again = hardstone(*plan["command"], "--dry-run", "--json").document
            assert again | {"study": plan["study"]} == plan
    assert Store().runs() == []


@pytest.mark.slow
def test_what_cannot_be_had_is_said_before_the_first_part(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    target = fake(tmp_path / "user", facts={"user.effective_id": 1000})
    done = hardstone("study", SHORT, "--quick", "--target", target)
    said = next(one for one in done.told if "Not available here: CPU configuration shielded" in one)
    assert done.told.index(said) < next(
        place for place, one in enumerate(done.told) if "part 1 of 2" in one
    )
    plans = [Store().load(run.id).plan for run in by_name(Store())]
    assert [(one.loads, one.cpu_configs) for one in plans] == [
        (["latstat"], ["shared"]),
        (["none"], ["shared"]),
    ]


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured_and_says_how_to_go_on(
    hardstone: Hardstone, tmp_path: Path, target: str, lab: Lab
) -> None:
    watched = at_run(lab, target, 13, interrupt)  # parts 1 and 2 have 11 tests
    done = hardstone("study", LONGER, "--quick", "--target", watched)
    assert done.code == EXIT_INTERRUPTED
    assert dict(stored()) == {
        f"study {LONGER} quick 1/4": "complete",
        f"study {LONGER} quick 2/4": "complete",
        f"study {LONGER} quick 3/4": "interrupted",
    }
    assert "Table 8" in done.out  # of part 1
    (told,) = (one for one in done.told if "stopped in part 3 of 4" in one)
    assert told.endswith("to measure the rest:")
    assert done.typed[-1].endswith(f"study {LONGER} --quick --target lab:watched --resume")
    at_run(lab, target, 1000, interrupt)
    again = hardstone(*done.typed[-1].split()[1:])
    assert again.code == EXIT_OK, again.err
    parts = [one.split(":")[1].strip() for one in again.told if "hardstone: part " in one]
    assert parts == ["part 3 of 4", "part 4 of 4"]
    assert sorted(name for name, status in stored() if status == "complete") == [
        f"study {LONGER} quick {number}/4" for number in (1, 2, 3, 4)
    ]
    # all parts of both calls are one study: the one that was cut off is not laid out again
    # ("last" may be that one: the runs of one second are in any order)
    done = hardstone("study", LONGER, f"study {LONGER} quick 4/4", "--json")
    used = done.document["columns"][-1]["id"]
    complete = {run.id for run in Store().runs() if run.status == "complete"}
    assert {one for one in complete if one in used} == complete
    assert not any(run.id in used for run in Store().runs() if run.status != "complete")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "runs", "command"),
    [
        ("latstat-2007", 1, "hardstone latstat --resume"),
        ("dedicated-systems-2012", 17, "hardstone run --resume"),
        ("garre-2014", 8, "hardstone simulate realtime --resume"),
    ],
)
def test_a_part_that_can_be_resumed_itself(
    hardstone: Hardstone, target: str, lab: Lab, name: str, runs: int, command: str
) -> None:
    watched = at_run(lab, target, runs, interrupt)
    done = hardstone("study", name, "--quick", "--target", watched)
    assert done.code == EXIT_INTERRUPTED
    cut = next(run.id for run in Store().runs() if run.status == "interrupted")
    assert any(one.endswith(f"{command} {cut}") for one in done.typed), done.typed


@pytest.mark.slow
def test_a_quiet_study_has_its_page_and_is_laid_out_again(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    """Resuming a whole study measures nothing. Commands to type name the store."""
    place = tmp_path / "elsewhere"
    where = ("--target", target, "--store", place)
    done = hardstone("study", SHORT, "--quick", "-q", *where)
    first, _, last = by_name(Store(place))
    page = place / "reports" / f"{SHORT}-{last.id}.html"
    assert done.code == EXIT_OK and f"hardstone: page: {page}" in done.told and page.is_file()
    assert not any(one.startswith("hardstone: part") for one in done.told)
    assert done.typed[-1].endswith(f"study {SHORT} {first.id} --store {place}")
    assert Store().runs() == []
    again = hardstone("study", SHORT, "--quick", "--resume", *where)
    assert again.code == EXIT_OK and len(by_name(Store(place))) == 3
    assert "Total latency" in again.out
    other = hardstone("study", SHORT, "--resume", *where)
    assert other.code == EXIT_USAGE and other.told == [
        "hardstone: no part of this study is stored with these options; leave out --resume, or see "
        "what is stored:"
    ]


@pytest.mark.slow
def test_a_part_that_is_denied(hardstone: Hardstone, tmp_path: Path) -> None:
    denied = sample.stream("KRN-P-PRE", status="denied", reason="no right")
    target = fake(tmp_path / "denied", {"KRN-P-PRE": denied})
    done = hardstone("study", "hp-1987", "--quick", "--target", target)
    assert done.code == EXIT_PRIVILEGE and len(stored()) == 5
    failed = sample.stream("KRN-P-PRE", status="timeout", reason="too long")
    target = fake(tmp_path / "failed", {"KRN-P-PRE": failed})
    done = hardstone("study", "hp-1987", "--quick", "--target", target)
    assert done.code == EXIT_UNTRUSTWORTHY


@pytest.mark.slow
def test_several_targets_are_columns(hardstone: Hardstone, tmp_path: Path, lab: Lab) -> None:
    names = [
        fake(tmp_path / one, facts={"kernel.release": f"6.1.{one}", "kernel.preemption": "full"})
        for one in ("1", "2")
    ]
    words = [word for one in names for word in ("--target", one)]
    done = hardstone("study", SHORT, "--quick", *words)
    assert done.code == EXIT_OK, done.err
    assert [one.target for one in Store().runs()].count(names[0]) == 3
    assert "target 2 of 2" in done.err
    firsts = {Store().load(one.id).plan.study.first for one in Store().runs()}  # type: ignore
    assert len(firsts) == 2 and "" in firsts  # one call
    found = hardstone("study", SHORT, "last", "--json").document
    own = [one["title"] for one in found["columns"] if not one["is_published"]]
    assert len(own) == 4  # of each target one with a reserved CPU and one without


@pytest.mark.slow
def test_resume_on_several_targets(hardstone: Hardstone, tmp_path: Path, lab: Lab) -> None:
    """Ctrl-C on the first target: the second one has nothing stored yet."""
    second = fake(tmp_path / "second")
    watched = at_run(lab, fake(tmp_path / "first"), 13, interrupt)
    words = ("study", LONGER, "--quick", "--target", watched, "--target", second)
    done = hardstone(*words)
    assert done.code == EXIT_INTERRUPTED
    assert f"hardstone: {second} was not measured: the command was interrupted" in done.told
    at_run(lab, fake(tmp_path / "first"), 1000, interrupt)
    again = hardstone(*words, "--resume")
    assert again.code == EXIT_OK, again.err
    complete = [one for one in Store().runs() if one.status == "complete"]
    assert sorted(one.target for one in complete) == sorted([watched] * 4 + [second] * 4)
    calls = {
        ((study := Store().load(one.id).plan.study) and study.first) or one.id for one in complete
    }
    assert len(calls) == 1


@pytest.mark.slow
def test_a_target_that_is_not_there(hardstone: Hardstone, target: str, tmp_path: Path) -> None:
    gone = f"fake:{tmp_path / 'nowhere.json'}"
    words = ("study", SHORT, "--quick", "--target", target, "--target", gone)
    done = hardstone(*words)
    assert done.code == EXIT_USAGE and "Total latency" in done.out
    assert done.told[-1].startswith(f"hardstone: {gone} was not measured: ")
    found = hardstone(*words, "--json").document
    assert [one["target"] for one in found["not_run"]] == [gone]
    validate(found)
    alone = hardstone("study", SHORT, "--target", gone)
    assert alone.code == EXIT_USAGE and alone.out == ""


@pytest.mark.slow
def test_a_target_that_vanishes_in_a_part(hardstone: Hardstone, tmp_path: Path) -> None:
    target = fake(tmp_path / "gone", {"THR-B-NEW": [{"vanish": True}]})  # type: ignore[list-item]
    done = hardstone("study", LONGER, "--quick", "--target", target)
    assert done.code == EXIT_UNREACHABLE
    assert "Table 8" in done.out and "stopped in part 3 of 4" in done.err


@pytest.mark.slow
def test_published_needs_no_store_and_no_target(hardstone: Hardstone, tmp_path: Path) -> None:
    """What is shown of each paper is in tests/unit/study."""
    page = tmp_path / "page.html"
    done = hardstone("study", "obenland-2000", "--published", "--json", "-o", page)
    assert done.told == [f"hardstone: page: {page}"] and page.stat().st_size > 1000
    assert not default_root().exists()
    validate(done.document)
    assert done.document["study"] == "obenland-2000"
    assert all(one["is_published"] for one in done.document["columns"])
    (table,) = (one for one in done.document["exhibits"] if one["number"] == "Table 8")
    row = next(
        one
        for one in table["rows"]
        if one["address"] == "RSP-P-FIX/add/time" and one["load"] == "heavy"
    )
    assert {key: row["cells"][1][key] for key in ("kind", "text", "value", "unit")} == {
        "kind": "published",
        "text": "11\N{NO-BREAK SPACE}236.5 ms",
        "value": 11_236_500_000.0,
        "unit": "ns",
    }
    assert row["cells"][1]["source"]
    kinds = [
        row["cells"][place]["kind"]
        for one in done.document["exhibits"]
        for row in one["rows"]
        for place in one["columns"]
    ]
    counts = done.document["counts"]
    assert {kind: kinds.count(kind) for kind in counts} == counts


@pytest.mark.slow
def test_stored_runs_of_other_commands_are_laid_out(hardstone: Hardstone, target: str) -> None:
    hardstone("run", "RSP-P-FIX", "--load", "none,heavy", "--target", target, "--name", "mine")
    done = hardstone("study", "obenland", "mine")
    assert done.code == EXIT_OK and "Table 8" in done.out
    assert len(stored()) == 1
    missing = hardstone("study", "obenland", "nothing")
    assert missing.code == EXIT_USAGE and "there is no run 'nothing'" in missing.err


def test_list_as_json(hardstone: Hardstone) -> None:
    found = hardstone("study", "list", "--json").document
    assert [one["study"] for one in found] == PAPERS
    assert all(0 < one["about_min"] <= 15 for one in found)
    assert found[3]["tests"] == ["TMR-P-LAT"] and "Table 8" in found[0]["exhibits"]


ANSWERS = """
schema = "hardstone.questionnaire/1"
system = "Mine\\u001b 3"
[support]
answer = "yes"
evidence = "a contract"
"""


@pytest.mark.slow
def test_a_questionnaire_stands_among_the_exhibits(hardstone: Hardstone, tmp_path: Path) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text(ANSWERS)
    words = ("--published", "--questionnaire", answers)
    done = hardstone("study", LONGER, *words)
    assert done.code == EXIT_OK and "yes: a contract" in done.out and "\x1b" not in done.out
    found = hardstone("study", LONGER, *words, "--json").document
    validate(found)
    numbers = [one["number"] for one in found["exhibits"]]
    assert numbers[numbers.index("Table 4") + 1] == "no number: questionnaire"
    plain = hardstone("study", LONGER, "--published", "--json").document
    assert found["counts"] == plain["counts"]  # words are in no count
    other = hardstone("study", "hp", *words)
    assert other.code == EXIT_USAGE and "questions of dedicated-systems-2012" in other.err
    answers.write_text("broken")
    for more in (words, words[1:]):  # also before anything is measured
        assert hardstone("study", LONGER, *more).code == EXIT_USAGE
    assert Store().runs() == []


# ---- questionnaire ----


def test_answers_are_shown_beside_the_study(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "answers.toml"
    text = template().replace('system = ""', 'system = "Debian \\u001b[31m13"')
    start = text.index("[source]")
    asked = text[start:].replace('"not known"', '"yes"', 1).replace('""', '"kernel.org"', 1)
    path.write_text(text[:start] + asked)
    done = hardstone("questionnaire", path)
    assert (done.code, done.err) == (EXIT_OK, "")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80 and "\x1b" not in done.out
    place = lines.index("source: yes")
    assert lines[place + 1 : place + 5] == [
        "  Can you read all of its source?",
        "  kernel.org",
        "  - QNX Neutrino 6.5 (patch 2530): not all source is open (access on request)",
        "  + Linux 2.6.33.7.2-rt30: source at hand",
    ]
    assert all(f"{one.id}: " in done.out for one in load_questions())
    assert f"1 yes, 0 partly, 0 no, {len(load_questions()) - 1} not known." in done.out
