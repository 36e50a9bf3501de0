"""`hardstone gate` as typed: exit codes, files, wrong options, and pairs on a fake target."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest
from jsonschema import Draft202012Validator

from hardstone.calling import stay_in
from hardstone.catalogue import load_catalogue
from hardstone.cli.main import run
from hardstone.errors import EXIT_GATE, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNTRUSTWORTHY, EXIT_USAGE
from hardstone.gate import GATE_SCHEMA, read_limits
from hardstone.schema import FOLDER, file_name
from hardstone.stats.dependent_values import values_for_share, values_needed
from hardstone.stats.two_runs import AS_ONE
from hardstone.store import Store
from hardstone.store.documents import encode_document
from hardstone.units import format_count
from lint_docs import refused
from tests.conftest import ROOT
from tests.process.cli.conftest import Done
from tests.process.targets import sample

Hardstone = Callable[..., Done]
TEST = "SEM-P-SIG"
ADDRESS = f"{TEST}/total/wakeup"
QUICK, SLOW = tuple(range(1000, 3000)), tuple(range(2000, 6000, 2))


@pytest.fixture(autouse=True)
def _no_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def scenario(folder: Path, steps: list[Any] | None = None, **changed: Any) -> str:
    """A fake target that is twice as slow under the load heavy."""
    folder.mkdir(exist_ok=True)
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"]["virtual.hypervisor"] = None
    slow = [{"test": TEST, "load": "heavy", "steps": sample.stream(TEST, values=SLOW)}]
    fields: dict[str, Any] = {"facts": facts, "under": slow} | changed
    tests = {TEST: steps or sample.stream(TEST, values=QUICK)}
    return f"fake:{sample.scenario(folder, tests, **fields)}"


@pytest.fixture
def gate(hardstone: Hardstone, tmp_path: Path) -> Hardstone:
    return lambda *words: hardstone("gate", *words, "--store", tmp_path / "store")


@pytest.fixture
def stored(hardstone: Hardstone, tmp_path: Path) -> str:
    """The ID of a run; the store has no other."""
    target = scenario(tmp_path / "fake")
    store = tmp_path / "store"
    done = hardstone("run", TEST, "--target", target, "--store", store, "--json", "-q")
    assert done.code == EXIT_OK, done.err
    return str(done.document["id"])


def limits(folder: Path, *entries: str) -> Path:
    body = "".join(f'[[limit]]\naddress = "{ADDRESS}"\n{entry}\n' for entry in entries)
    path = folder / "limits.toml"
    path.write_text(f'schema = "hardstone.limits/1"\n{body}')
    return path


PASSES, FAILS, OPEN = (
    'statistic = "max"\nat_most = "3us"',
    'statistic = "min"\nat_least = "2us"',
    'statistic = "p99.9"\nat_most = "3us"',
)


@pytest.mark.parametrize(
    ("entries", "code", "last"),
    [
        ((PASSES,), EXIT_OK, "PASS: 1 PASS"),
        ((PASSES, OPEN), EXIT_UNTRUSTWORTHY, "INCONCLUSIVE: 1 INCONCLUSIVE, 1 PASS"),
        ((PASSES, OPEN, FAILS), EXIT_GATE, "FAIL: 1 FAIL, 1 INCONCLUSIVE, 1 PASS"),
    ],
)
def test_the_exit_code_is_that_of_the_worst(
    gate: Hardstone, stored: str, tmp_path: Path, entries: tuple[str, ...], code: int, last: str
) -> None:
    done = gate("last", "--limits", limits(tmp_path, *entries))
    assert (done.code, done.out.splitlines()[-1]) == (code, last), done.err
    assert stored in done.out and done.err == ""
    assert max(map(len, done.out.splitlines())) <= 80
    firsts = [line.split()[0] for line in done.out.splitlines() if ADDRESS in line]
    assert firsts == [one for one in ("FAIL", "INCONCLUSIVE", "PASS") if one in firsts]


@pytest.mark.usefixtures("stored")
def test_files_and_json(gate: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    junit, summary = tmp_path / "junit.xml", tmp_path / "summary"
    summary.write_text("of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    path = limits(tmp_path, PASSES, FAILS)
    done = gate("last", "--limits", path, "--json", "--junit", junit, "--github")
    assert done.code == EXIT_GATE and done.document["outcome"] == "FAIL"
    contract = json.loads((FOLDER / file_name(GATE_SCHEMA)).read_text())
    Draft202012Validator(contract).validate(done.document)
    assert Tree.parse(junit).getroot().get("failures") == "1"  # noqa: S314 - our own
    assert summary.read_text().startswith("of another step\n## hardstone gate: ")
    own = tmp_path / "own"
    assert gate("last", "--limits", path, "--github", own).code == EXIT_GATE
    assert own.read_text().startswith("## hardstone gate: ")
    assert "of another" in summary.read_text() and summary.read_text().count("## hardstone") == 1


def test_nothing_suggested_is_no_success(gate: Hardstone, stored: str) -> None:
    done = gate("--suggest", "last", "--test", "ZZZ*")
    assert done.code == EXIT_UNTRUSTWORTHY and "0 limits, 0 left out" in done.err


def test_suggested_limits_are_passed(gate: Hardstone, stored: str, tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    done = gate("--suggest", "last", "--margin", "50%", "-o", path)
    assert done.code == EXIT_OK and "limits, 0 left out" in done.err
    assert stored in path.read_text() and "50 %" in path.read_text()
    assert gate("last", "--limits", path).code == EXIT_OK
    assert gate("--suggest", "last", "--margin", "50%").out == path.read_text()


def test_against_a_run_and_a_study(gate: Hardstone, stored: str) -> None:
    done = gate("last", "--baseline", stored)
    assert done.code == EXIT_UNTRUSTWORTHY and "nothing was checked" in done.out
    assert "hardstone gate --pairs" in " ".join(done.out.split())
    study = gate("last", "--baseline", "published:qnx", "--test", "MUT-*")
    assert study.code == EXIT_UNTRUSTWORTHY and "missing" in study.out
    assert "2012" in study.out and "Atom" in study.out
    assert gate("published:qnx", "--baseline", "published:qnx").code == EXIT_OK
    assert gate("published:ce7", "--baseline", "published:qnx").code == EXIT_GATE


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "nothing to hold it against"),
        (("last",), "nothing to hold it against"),
        (("last", "--limits", "x", "--suggest"), "--limits and --suggest"),
        (("--limits", "{limits}"), "RUN is missing"),
        (("--pairs", "12"), "TEST is missing"),
        (("nobody", "--limits", "{limits}"), "no run 'nobody'"),
        (("published:nobody", "--limits", "{limits}"), "no study has a system 'nobody'"),
        (("last", "--limits", "{none}"), "cannot be read"),
        (("last", "--limits", "{limits}", "--test", "ABC*"), "has no limit for a test 'ABC*'"),
        (("last", "--limits", "{limits}", "--deadline", "5us"), "--deadline needs --pairs"),
        (("last", "--limits", "{limits}", "--target", "local"), "--target needs --pairs"),
        (("last", "--limits", "{limits}", "--no-tails"), "--tails needs --pairs"),
        (("last", "--limits", "{limits}", "--margin", "5%"), "--margin needs --suggest"),
        (("last", "--limits", "{limits}", "--github"), "$GITHUB_STEP_SUMMARY is not set"),
        (("last", "--limits", "{limits}", "--junit", "{folder}/no/x"), "there is no folder"),
        (("last", "--limits", "{limits}", "--junit", "/dev/null"), "not a regular file"),
        (("last", "--suggest", "--margin", "lots"), "'lots' is not a margin"),
        (("last", "--suggest", "--margin", "0%"), "'0%' is not a margin"),
        (("published:qnx", "--suggest"), "limits are made from runs"),
        (("published:qnx", "--baseline", "last"), "has no distribution"),
        (("last", "--limits", "{limits}", "--alpha", "5%"), "--alpha needs --pairs"),
        (("--again", "x", "--pairs", "12", TEST), "--pairs and --again"),
        (("--again", "x", "--target", "local"), "--target needs --pairs"),
        (("--again", "x", "-o", "y"), "--output needs --suggest"),
        (("--again", "missing.json"), "missing.json cannot be read"),
        (("--again", "x", TEST, TEST), "--again judges one series"),
        (("--pairs", "12", TEST, "--alpha", "0%"), "'0%' is not a level up to 10 %"),
        (("--pairs", "12", TEST, "--alpha", "0.01"), "'0.01' is not a level"),
        (("--pairs", "12", TEST, "--margin", "x"), "--margin: 'x' is not a margin"),
        (("--pairs", "9", TEST), "fewer than 10 pairs decide nothing"),
        (("--pairs", "x", TEST), "'x' is not a number of pairs"),
        (("--pairs", "31", TEST), "give 10 to 30; 12 is usual"),
        (("--pairs", "999", TEST), "'999' is not a number of pairs"),
        (("--pairs", "12", TEST, "CLK-P-DUR"), "--pairs measures one test"),
        (("--pairs", "12", TEST, "--deadline", "soon"), "--deadline: 'soon' is not a duration"),
        (("--pairs", "12", TEST, "--first", "'"), "--first: No closing quotation"),
        (("--pairs", "12", TEST, "--first", "--frob"), "--first: No such option"),
        (("--pairs", "12", TEST, "--second", "--json"), "--second: --json is not for one side"),
        (("--pairs", "12", TEST, "--second", "-o x"), "--second: --output is not for one side"),
        (("--pairs", "12", TEST, "--second", "--name x"), "--second: --name is not for one side"),
        (("--pairs", "12", TEST, "--second", "TMR-P-LAT"), "it names another test"),
        (("--pairs", "12", TEST, "--second", "--help"), "see hardstone run --help"),
        (("--pairs", "12", TEST, *("--target", "local") * 3), "3 targets"),
        (
            ("--pairs", "12", TEST, "--target", "local", "--first", "--target local"),
            "one target for each side",
        ),
        (("--pairs", "12", "SEM-B-LCK", "--target", "{fake}"), "tests behaviour and times nothing"),
        (("--pairs", "12", "SEM-P-NONE", "--target", "{fake}"), "SEM-P-NONE"),
        (("--pairs", "12", TEST, "--target", "{fake}", "--second", "--load frob"), "frob"),
        (
            ("--pairs", "12", TEST, "--target", "{fake}", "--second", "--load none,heavy"),
            "B has 2 measurements",
        ),
    ],
)
@pytest.mark.usefixtures("stored")
def test_what_is_wrong_is_told_in_one_line(
    gate: Hardstone, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    places = {
        "limits": limits(tmp_path, PASSES),
        "none": tmp_path / "none",
        "folder": tmp_path,
        "fake": scenario(tmp_path / "fake"),
    }
    done = gate(*(word.format(**places) for word in words))
    assert done.code == EXIT_USAGE, done.err
    messages = done.told
    assert len(messages) == 1 and told in " ".join([*messages, *done.typed]), done.err
    assert done.out == "" and len(Store(tmp_path / "store").runs()) == 1


def test_a_broken_limits_file_names_each_limit(
    gate: Hardstone, stored: str, tmp_path: Path
) -> None:
    path = limits(tmp_path, PASSES, PASSES.replace("max", "\\u001bworst"), PASSES)
    done = gate(stored, "--limits", path)
    assert done.code == EXIT_USAGE
    assert [line.split(": ")[2] for line in done.told] == ["limit 2", "limit 3"]
    assert "\x1b" not in done.err


# ---- pairs ----


def pairs(gate: Hardstone, target: str, *options: object, count: int = 10) -> Done:
    return gate("--pairs", count, TEST, "--target", target, *options)


def names(tmp_path: Path) -> list[str]:
    return sorted(one.name for one in Store(tmp_path / "store").runs())


def test_twelve_pairs_are_the_default(gate: Hardstone, tmp_path: Path) -> None:
    target = scenario(tmp_path / "fake", [*sample.stream(TEST, status="denied", reason="EPERM")])
    assert "of 12, A: about" in gate(TEST, "--pairs", "--target", target).err


def test_equal_sides_pass_and_each_run_is_stored(gate: Hardstone, tmp_path: Path) -> None:
    done = pairs(gate, scenario(tmp_path / "fake"))
    assert done.code == EXIT_OK, done.err
    assert "PASS: 2 PASS" in done.out and "B/A 1 (1 to 1, 99 %)" in done.out
    shown = done.out.replace("\n", "")
    assert f"B: fake:{tmp_path}" in shown and f"against A: fake:{tmp_path}" in shown
    order = re.findall(r"pair [0-9]+ of 10, ([AB]): about", done.err)
    assert "".join(order) == "ABBA" * 5
    assert names(tmp_path) == sorted(f"gate {a} {n} of 10" for a in "AB" for n in range(1, 11))
    assert "pair 2 of 10, B: about" in done.err
    assert max(map(len, done.out.splitlines())) <= 80 or "fake:" in done.out


def test_a_slower_side_fails(gate: Hardstone, tmp_path: Path) -> None:
    done = pairs(gate, scenario(tmp_path / "fake"), "--second", "--load heavy", "-q", "--json")
    assert done.code == EXIT_GATE and done.err == ""
    contract = json.loads((FOLDER / file_name(GATE_SCHEMA)).read_text())
    Draft202012Validator(contract).validate(done.document)
    assert {one["outcome"] for one in done.document["checks"]} == {"FAIL"}
    assert done.document["systems"][0].endswith("--load heavy")
    runs = Store(tmp_path / "store")
    for pair in done.document["pairs"]:
        assert runs.load(pair["first"]).plan.load == "none"
        assert runs.load(pair["second"]).plan.load == "heavy"


def test_two_targets_are_a_and_b(gate: Hardstone, tmp_path: Path) -> None:
    a = scenario(tmp_path / "a", sample.stream(TEST, values=SLOW))
    b = scenario(tmp_path / "b", sample.stream(TEST, values=QUICK))
    assert pairs(gate, a, "--target", b, "-q").code == EXIT_OK
    own = gate("--pairs", 10, TEST, "--first", f"--target {b}", "--second", f"--target {a}", "-q")
    assert own.code == EXIT_GATE


def test_a_virtual_machine_gates_medians_unless_told(gate: Hardstone, tmp_path: Path) -> None:
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"]["virtual.hypervisor"] = "kvm"
    target = scenario(tmp_path / "fake", facts=facts)
    done = pairs(gate, target, "-q")
    assert "PASS: 1 PASS" in done.out and "only medians are judged" in done.out
    measured = tmp_path / "pairs.json"
    measured.write_text(pairs(gate, target, "-q", "--json").out)
    again = gate("--again", measured)
    assert "PASS: 1 PASS" in again.out and "only medians are judged" in again.out
    tails = pairs(gate, target, "-q", "--tails")
    assert "PASS: 2 PASS" in tails.out and "only medians" not in tails.out


@pytest.mark.slow
def test_a_target_that_vanishes_costs_its_pair(gate: Hardstone, tmp_path: Path) -> None:
    facts, state = tmp_path / "facts", tmp_path / "count"
    probe = flaky(tmp_path, facts, state, broken=(5,))
    os.environ["HARDSTONE_PROBE"] = str(probe)
    try:
        done = gate("--pairs", 11, TEST, "-q")
    finally:
        del os.environ["HARDSTONE_PROBE"]
    assert done.code == EXIT_OK, (done.out, done.err)
    assert "left out: pair 3: A: " in done.out and "10 pairs" in done.out
    assert len(names(tmp_path)) == 22


def test_pairs_that_cannot_decide_any_more_are_not_run(gate: Hardstone, tmp_path: Path) -> None:
    target = scenario(tmp_path / "fake", [*sample.stream(TEST, status="denied", reason="EPERM")])
    done = pairs(gate, target, count=12)
    assert done.code == EXIT_UNTRUSTWORTHY and len(names(tmp_path)) == 6
    assert "ended after 3 pairs: the others decide nothing; A: denied: EPERM" in done.err
    done = gate("--pairs", 10, f"{TEST}/total/jitter", "--target", scenario(tmp_path / "b"), "-q")
    assert done.code == EXIT_UNTRUSTWORTHY and len(names(tmp_path)) == 8
    assert "no series with total, jitter" in " ".join(done.out.split())


# ---- again ----


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of ten pairs with a slower second side, and their outcome."""
    folder = tmp_path_factory.mktemp("pairs")
    target, store = scenario(folder / "fake"), str(folder / "store")
    sides = ["--target", target, "--second", "--load heavy"]
    with redirect_stdout(io.StringIO()) as out:
        code = run(["gate", "--pairs", "10", TEST, *sides, "-q", "--json", "--store", store])
    stay_in(None)
    assert code == EXIT_GATE
    (folder / "gate.json").write_text(out.getvalue())
    return folder


@pytest.fixture
def measured(once: Path, tmp_path: Path) -> Path:
    """A copy of the outcome, beside one of the store."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "gate.json"


def test_stored_pairs_are_judged_again_alike(gate: Hardstone, measured: Path) -> None:
    before = names(measured.parent)
    first = json.loads(measured.read_text())
    done = gate("--again", measured, "--json")
    assert done.code == EXIT_GATE and names(measured.parent) == before
    same = ("outcome", "checks", "pairs", "statistics", "systems", "against", "judged_by")
    assert {key: done.document[key] for key in same} == {key: first[key] for key in same}
    assert "judged again from stored runs" in done.document["notes"]
    assert not any("otherwise" in note for note in done.document["notes"])
    assert not any("no proof" in note for note in done.document["notes"])
    measured.write_text(done.out)  # what it prints can be judged again, too
    assert gate("--again", measured).code == EXIT_GATE


def test_other_limits_decide_otherwise_and_say_so(gate: Hardstone, measured: Path) -> None:
    done = gate("--again", measured, "--margin", "400%", "--no-tails")
    assert done.code == EXIT_OK and "PASS: 1 PASS" in done.out
    told = " ".join(done.out.split())
    assert (
        "at most 400 % higher than A" in told and "a reason to measure anew, and no proof" in told
    )
    late = gate("--again", measured, "--deadline", "3us", "--json").document
    assert late["checks"][0]["statistic"] in ("p50", "p99", "above 3 us")
    assert "above 3 us" in {one["statistic"] for one in late["checks"]}
    # ten pairs reach 2**-10 at least: of three statistics, with Holm, not 0.1 %
    strict = gate("--again", measured, "--alpha", "0.1%", "--json")
    assert strict.code == EXIT_UNTRUSTWORTHY
    assert {one["confidence"] for one in strict.document["statistics"]} == {0.999}


def test_another_series_of_the_test_may_be_judged(gate: Hardstone, measured: Path) -> None:
    done = gate("--again", measured, ADDRESS)
    assert done.code == EXIT_GATE and "no proof" in " ".join(done.out.split())
    none = gate("--again", measured, f"{TEST}/total/jitter")
    assert none.code == EXIT_UNTRUSTWORTHY and "no series with" in " ".join(none.out.split())
    other = gate("--again", measured, "CLK-P-DUR")
    assert other.code == EXIT_USAGE and "CLK-P-DUR was not measured" in other.err


def test_a_pair_that_did_not_count_does_not_count_again(gate: Hardstone, measured: Path) -> None:
    document = json.loads(measured.read_text())
    document["pairs"][2] |= {"second": None, "left_out": "B: the target is gone"}
    measured.write_text(json.dumps(document))
    done = gate("--again", measured, "--json")
    assert done.document["pairs"] == document["pairs"] and done.code == EXIT_UNTRUSTWORTHY
    assert {one["pairs_count"] for one in done.document["statistics"]} == {9}
    document["judged_by"]["address"] = f"{TEST}/total/jitter"  # nothing counted then
    measured.write_text(json.dumps(document))
    other = gate("--again", measured, ADDRESS, "--json")
    assert {one["pairs_count"] for one in other.document["statistics"]} == {0}


def test_what_a_file_says_of_a_pair_does_not_take_it_away(gate: Hardstone, measured: Path) -> None:
    document = json.loads(measured.read_text())
    document["pairs"][2]["left_out"] = "B: the run is interrupted"
    measured.write_text(json.dumps(document))
    done = gate("--again", measured, "--json")
    assert done.code == EXIT_GATE and done.document["pairs"][2]["left_out"] == ""


def _swapped(pairs: list[dict[str, str]]) -> None:
    for one in pairs:
        one["first"], one["second"] = one["second"], one["first"]


def _twice(pairs: list[dict[str, str]]) -> None:
    for one in pairs:
        one["second"] = one["first"]


def _one_pair(pairs: list[dict[str, str]]) -> None:
    pairs[:] = pairs[:1] * len(pairs)


def _later_first(pairs: list[dict[str, str]]) -> None:
    pairs.reverse()


@pytest.mark.parametrize("edit", [_swapped, _twice, _one_pair, _later_first])
def test_only_pairs_that_were_measured_as_such_are_judged(
    gate: Hardstone, measured: Path, edit: Callable[[list[dict[str, str]]], None]
) -> None:
    """B was slower: the sides swapped, or A against itself, would pass."""
    document = json.loads(measured.read_text())
    edit(document["pairs"])
    measured.write_text(json.dumps(document))
    done = gate("--again", measured)
    assert done.code == EXIT_USAGE and not done.out
    assert "was not measured as " in done.err and " in pair " in done.err


def _renamed(measured: Path, old: str, new: str) -> None:
    """Every stored run whose name ends with `old`."""
    store = Store(measured.parent / "store")
    for pair in json.loads(measured.read_text())["pairs"]:
        for one in (pair["first"], pair["second"]):
            document = store.load(one)
            if document.name.endswith(old):
                document.name = document.name.removesuffix(old) + new
                path = store.path_of(one)
                path.unlink()
                path.write_bytes(encode_document(document))


@pytest.mark.parametrize(
    "change", [{"margin": 4.0}, {"alpha": 0.02}, {"has_tails": False}, {"deadline_ns": 3000}]
)
def test_a_question_that_was_written_into_the_file_is_told(
    gate: Hardstone, measured: Path, change: dict[str, object]
) -> None:
    document = json.loads(measured.read_text())
    document["judged_by"] |= change
    measured.write_text(json.dumps(document))
    done = gate("--again", measured)
    told = " ".join(done.out.split())
    assert "the file says otherwise of these pairs" in told and "and no proof" in told


def test_pairs_that_are_left_away_at_the_end_decide_nothing(
    gate: Hardstone, measured: Path
) -> None:
    _renamed(measured, "of 10", "of 12")
    done = gate("--again", measured)
    assert done.code == EXIT_UNTRUSTWORTHY and "fewer pairs than asked for" in done.out


def test_pairs_of_several_measurements_are_none(gate: Hardstone, measured: Path) -> None:
    _renamed(measured, "7 of 10", "7 of 12")
    done = gate("--again", measured)
    assert done.code == EXIT_USAGE and "of several measurements" in done.err


def test_what_was_chosen_later_stays_so(gate: Hardstone, measured: Path) -> None:
    done = gate("--again", measured, "--margin", "400%", "--json")
    assert done.document["judged_by"]["is_chosen_later"]
    measured.write_text(done.out)
    again = gate("--again", measured)
    assert again.code == EXIT_OK and "and no proof" in " ".join(again.out.split())


def test_pairs_that_were_cut_are_never_decided(gate: Hardstone, measured: Path) -> None:
    document = json.loads(measured.read_text())
    document["judged_by"]["is_cut"] = True
    measured.write_text(json.dumps(document))
    assert gate("--again", measured).code == EXIT_UNTRUSTWORTHY


def test_a_run_that_is_gone_is_an_error(gate: Hardstone, measured: Path) -> None:
    """Who removes runs decides which pairs count."""
    gone = json.loads(measured.read_text())["pairs"][4]["second"]
    Store(measured.parent / "store").path_of(gone).unlink()
    done = gate("--again", measured)
    assert done.code == EXIT_USAGE and not done.out
    assert f"run {gone} of pair 5 is not in this store" in done.err and "--store DIR" in done.err


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("schema", "hardstone.gate/2", "has the schema 'hardstone.gate/2'"),
        ("kind", "limits", "no interleaved pairs"),
        ("pairs", [], "no interleaved pairs"),
        ("pairs", [{"first": "last", "second": "last"}] * 10, "run last of pair 1 is not in"),
        ("pairs", [{"first": "../x", "second": None}] * 10, "run ../x of pair 1 is not in"),
        ("pairs", [{"first": None, "second": None}] * 10, "a run of pair 1 is not in"),
        ("pairs", [{"first": None, "second": None}] * 31, "31 pairs, of at most 30"),
        ("pairs", [{"first": 5}], "no outcome of a gate"),
        ("judged_by", None, "does not say what its pairs were asked"),
        ("judged_by", {"address": TEST, "alpha": 0.7}, "is impossible"),
        ("judged_by", {"address": TEST, "margin": -1}, "is impossible"),
        ("judged_by", {"address": TEST, "deadline_ns": 0}, "is impossible"),
        ("judged_by", {"address": "/"}, "is not the address of a figure"),
        ("systems", [], "does not say what its pairs were asked"),
    ],
)
def test_a_file_that_is_no_such_outcome_is_one_line(
    gate: Hardstone, measured: Path, key: str, value: object, said: str
) -> None:
    measured.write_text(json.dumps(json.loads(measured.read_text()) | {key: value}))
    done = gate("--again", measured)
    assert done.code == EXIT_USAGE and not done.out
    assert said in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"schema": NaN}', b"[" * 100_000, b"\xff", b"null", b"\x1b[31m"]
)
def test_a_file_that_is_no_document_is_one_line(
    gate: Hardstone, tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    done = gate("--again", path)
    assert done.code == EXIT_USAGE and "no outcome of a gate" in done.err
    assert len(done.err.splitlines()) == 1 and "\x1b" not in done.err


def flaky(folder: Path, facts: Path, state: Path, broken: tuple[int, ...], more: str = "") -> Path:
    """A probe whose runs of the numbers `broken` fail."""
    found = json.loads((sample.GOLDEN / "facts.json").read_text())
    found["facts"]["virtual.hypervisor"] = None
    facts.write_text(json.dumps(found))
    register = json.dumps(json.loads((sample.GOLDEN / "register.json").read_text()))
    body = (
        f"if sys.argv[1] == 'list':\n    lines({register!r}); sys.exit(0)\n"
        f"if sys.argv[1] == 'facts':\n    lines(open({str(facts)!r}).read()); sys.exit(0)\n"
        f"with open({str(state)!r}, 'a') as file:\n    file.write('x')\n"
        f"number = os.path.getsize({str(state)!r})\n{more}"
        f"if number in {broken!r}:\n    lines('{{'); sys.exit(70)\n"
        f"lines(*{sample.stream(TEST, values=QUICK)!r})\n"
    )
    return sample.executable(folder, body)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, root: Path) -> None:
    """In the fifth run, which is A of pair 3."""
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    wait = f"if number == 5:\n    open({str(ready)!r}, 'w').close(); sys.stdin.read()\n"
    probe = flaky(tmp_path, tmp_path / "facts", tmp_path / "count", (), wait)
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from hardstone.cli.main import main; main()"),
            *("gate", "--pairs", "10", TEST, "--store", str(tmp_path / "store")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "HARDSTONE_PROBE": str(probe)},
    )
    try:
        ready.read_text()  # a pipe with a name: waits for its writer
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    finally:
        process.kill()
    assert process.returncode == EXIT_INTERRUPTED, err
    assert "interrupted in pair 3 of 10; 5 runs are stored" in err and "hardstone runs" in err
    assert "INCONCLUSIVE" in out and "PASS" not in out.replace("INCONCLUSIVE", "")
    assert names(tmp_path) == [
        *("gate A 1 of 10", "gate A 2 of 10", "gate A 3 of 10"),
        *("gate B 1 of 10", "gate B 2 of 10"),
    ]


# ---- the page ----

PAGE = (ROOT / "docs/how-to/gate-a-change.md").read_text()
BLOCKS = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_limits_of_the_page_are_read() -> None:
    (block,) = [one for one in BLOCKS if "[[limit]]" in one]
    found = read_limits(block.encode(), load_catalogue().ids())
    assert [one.figure for one in found] == ["max", "above 50 us", "claims"]


def test_the_numbers_of_values_on_the_page_are_those_of_the_code() -> None:
    page = " ".join(PAGE.split())
    assert f"those of one {AS_ONE}th of the values" in page
    p50, p99, p999 = (format_count(values_needed(q)) for q in (0.5, 0.99, 0.999))
    told = f"A median takes about {p50} values, p99 about {p99}, p99.9 about {p999};"
    assert told.replace("\N{NO-BREAK SPACE}", " ") in page
    assert f"takes {values_for_share(1 / 10_000) / 1e6:.1f} million values" in page


def test_the_commands_of_the_page_for_ci_are_understood() -> None:
    lines = [line.strip().removeprefix("- ") for one in BLOCKS for line in one.splitlines()]
    commands = [line.removeprefix("run: ") for line in lines]
    commands = [line for line in commands if line.startswith("hardstone ")]
    assert len(commands) == 4
    for command in commands:
        assert refused(shlex.split(command)[1:], is_mention=False) == ""
