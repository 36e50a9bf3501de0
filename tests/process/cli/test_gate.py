"""`hardstone gate`: its files, and pairs on a fake target, judged again too. What it prints is in
golden/gate.txt, and what is wrong usage."""

from __future__ import annotations

import io
import json
import re
import shutil
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest

from hardstone.calling import stay_in
from hardstone.catalogue import load_catalogue
from hardstone.cli.main import run
from hardstone.errors import (
    EXIT_GATE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    TargetError,
)
from hardstone.gate.limits import read_limits
from hardstone.stats.two_runs import AS_ONE, values_for_share, values_needed
from hardstone.store.documents import encode_document
from hardstone.store.store import Store
from hardstone.units import format_count
from tests.conftest import ROOT
from tests.process.cli.conftest import Done, Hardstone, Lab, facts_with, validate
from tests.process.cli.forked import Forked, at_run, interrupt
from tests.process.targets import sample
from tests.waiting import wait_until

TEST = "SEM-P-SIG"
ADDRESS = f"{TEST}/total/wakeup"
QUICK, SLOW = tuple(range(1000, 3000)), tuple(range(2000, 6000, 2))


@pytest.fixture(autouse=True)
def _no_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def scenario(folder: Path, steps: list[Any] | None = None, **changed: Any) -> str:
    """A fake target that is twice as slow under the load heavy."""
    folder.mkdir(exist_ok=True)
    facts = facts_with({"virtual.hypervisor": None})
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


PASSES, FAILS = 'statistic = "max"\nat_most = "3us"', 'statistic = "min"\nat_least = "2us"'


@pytest.mark.usefixtures("stored")
def test_files_and_json(gate: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    junit, summary = tmp_path / "junit.xml", tmp_path / "summary"
    summary.write_text("of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    path = limits(tmp_path, PASSES, FAILS)
    done = gate("last", "--limits", path, "--json", "--junit", junit, "--github")
    assert done.code == EXIT_GATE and done.document["outcome"] == "FAIL"
    validate(done.document)
    assert Tree.parse(junit).getroot().get("failures") == "1"  # noqa: S314 - our own
    assert summary.read_text().startswith("of another step\n## hardstone gate: ")
    own = tmp_path / "own"
    assert gate("last", "--limits", path, "--github", own).code == EXIT_GATE
    assert own.read_text().startswith("## hardstone gate: ")
    assert "of another" in summary.read_text() and summary.read_text().count("## hardstone") == 1


def test_suggested_limits_are_passed(gate: Hardstone, stored: str, tmp_path: Path) -> None:
    path = tmp_path / "made.toml"
    done = gate("--suggest", "last", "--margin", "50%", "-o", path)
    assert done.code == EXIT_OK and "limits, 0 left out" in done.err
    assert stored in path.read_text() and "50 %" in path.read_text()
    assert gate("last", "--limits", path).code == EXIT_OK
    assert gate("--suggest", "last", "--margin", "50%").out == path.read_text()


# ---- pairs ----


def pairs(gate: Hardstone, target: str, *options: object, asked: int = 10) -> Done:
    return gate("--pairs", asked, TEST, "--target", target, *options)


def names(tmp_path: Path) -> list[str]:
    return sorted(one.name for one in Store(tmp_path / "store").runs())


def test_equal_sides_pass_and_each_run_is_stored(gate: Hardstone, tmp_path: Path) -> None:
    done = pairs(gate, scenario(tmp_path / "fake"))
    assert done.code == EXIT_OK and "PASS: 2 PASS" in done.out, done.err
    order = re.findall(r"pair [0-9]+ of 10, ([AB]): about", done.err)
    assert "".join(order) == "ABBA" * 5
    assert names(tmp_path) == sorted(f"gate {a} {n} of 10" for a in "AB" for n in range(1, 11))


def test_a_slower_side_fails(once: Path) -> None:
    document = json.loads((once / "gate.json").read_text())
    validate(document)
    assert {one["outcome"] for one in document["checks"]} == {"FAIL"}
    assert document["systems"][0].endswith("--load heavy")
    runs = Store(once / "store")
    for pair in document["pairs"]:
        assert runs.load(pair["first"]).plan.load == "none"
        assert runs.load(pair["second"]).plan.load == "heavy"


def test_each_side_may_name_its_target(gate: Hardstone, tmp_path: Path) -> None:
    slow = scenario(tmp_path / "slow", sample.stream(TEST, values=SLOW))
    quick = scenario(tmp_path / "quick")
    sides = ("--first", f"--target {slow}", "--second", f"--target {quick}")
    assert gate("--pairs", 10, TEST, *sides, "-q").code == EXIT_OK


def test_a_virtual_machine_gates_medians_unless_told(gate: Hardstone, tmp_path: Path) -> None:
    target = scenario(tmp_path / "fake", facts=facts_with({"virtual.hypervisor": "kvm"}))
    measured = tmp_path / "pairs.json"
    measured.write_text(pairs(gate, target, "-q", "--json").out)
    again = gate("--again", measured)
    assert "PASS: 1 PASS" in again.out and "only medians are judged" in again.out
    tails = gate("--again", measured, "--tails")
    assert "PASS: 2 PASS" in tails.out and "only medians" not in tails.out


def vanish() -> None:
    raise TargetError("the target is gone", "")


def test_a_target_that_vanishes_costs_its_pair(gate: Hardstone, lab: Lab, tmp_path: Path) -> None:
    target = at_run(lab, scenario(tmp_path / "fake"), 5, vanish)
    done = pairs(gate, target, "-q", asked=11)
    assert done.code == EXIT_OK, (done.out, done.err)
    assert "left out: pair 3: A: " in done.out and "10 pairs" in done.out
    assert len(names(tmp_path)) == 22


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(lab: Lab, tmp_path: Path) -> None:
    """In the fifth run, which is A of pair 3."""
    target = at_run(lab, scenario(tmp_path / "fake"), 5, interrupt)
    sides = ("--pairs", 10, TEST, "--target", target)
    with Forked("gate", *sides, "--store", tmp_path / "store") as tool:
        assert tool.wait() == EXIT_INTERRUPTED, tool.err
        told, out = tool.err, tool.out
    assert "interrupted in pair 3 of 10; 5 runs are stored" in told and "hardstone runs" in told
    assert "INCONCLUSIVE" in out and "PASS" not in out.replace("INCONCLUSIVE", "")
    assert names(tmp_path) == [
        *("gate A 1 of 10", "gate A 2 of 10", "gate A 3 of 10"),
        *("gate B 1 of 10", "gate B 2 of 10"),
    ]


def test_pairs_that_cannot_decide_any_more_are_not_run(gate: Hardstone, tmp_path: Path) -> None:
    target = scenario(tmp_path / "fake")
    done = gate("--pairs", 10, f"{TEST}/total/jitter", "--target", target, "-q")
    assert done.code == EXIT_UNTRUSTWORTHY and len(names(tmp_path)) == 2 * 1
    assert "no series with total, jitter" in " ".join(done.out.split())


# ---- again ----


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of ten pairs with a slower second side, and their outcome."""
    folder = tmp_path_factory.mktemp("pairs")
    target, store = scenario(folder / "fake"), str(folder / "store")
    sides = ["--target", target, "--second", "--load heavy"]
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = run(["gate", "--pairs", "10", TEST, *sides, "-q", "--json", "--store", store])
    stay_in(None)
    assert (code, err.getvalue()) == (EXIT_GATE, "")
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
    told = " ".join(done.out.split())
    assert done.code == EXIT_OK and "PASS: 1 PASS" in told
    assert "at most 400 % higher than A" in told
    assert "a reason to measure again, and no proof" in told
    late = gate("--again", measured, "--deadline", "3us", "--json").document
    assert late["checks"][0]["statistic"] in ("p50", "p99", "above 3 us")
    assert "above 3 us" in {one["statistic"] for one in late["checks"]}
    # ten pairs reach 2**-10 at least: of three statistics, with Holm, not 0.1 %
    strict = gate("--again", measured, "--alpha", "0.1%", "--json")
    assert strict.code == EXIT_UNTRUSTWORTHY
    assert {one["confidence"] for one in strict.document["statistics"]} == {0.999}
    assert strict.document["judged_by"]["is_chosen_later"]
    measured.write_text(gate("--again", measured, "--margin", "400%", "--json").out)
    later = gate("--again", measured)
    assert later.code == EXIT_OK and "and no proof" in " ".join(later.out.split())


def test_another_series_of_the_test_may_be_judged(gate: Hardstone, measured: Path) -> None:
    done = gate("--again", measured, ADDRESS)
    assert done.code == EXIT_GATE and "no proof" in " ".join(done.out.split())
    none = gate("--again", measured, f"{TEST}/total/jitter")
    assert none.code == EXIT_UNTRUSTWORTHY and "no series with" in " ".join(none.out.split())
    other = gate("--again", measured, "CLK-P-DUR")
    assert other.code == EXIT_USAGE and "CLK-P-DUR was not measured" in other.err


Edit = Callable[[dict[str, Any]], object]
Again = Callable[..., Done]


@pytest.fixture
def again(gate: Hardstone, measured: Path) -> Again:
    """Judges the pairs again once the file of their outcome was edited."""

    def call(edit: Edit, *words: object) -> Done:
        document = json.loads(measured.read_text())
        edit(document)
        measured.write_text(json.dumps(document))
        return gate("--again", measured, *words)

    return call


def test_a_pair_that_did_not_count_does_not_count_again(again: Again) -> None:
    gone = {"second": None, "left_out": "B: the target is gone"}
    done = again(lambda one: one["pairs"][2].update(gone), "--json")
    assert done.code == EXIT_UNTRUSTWORTHY and done.document["pairs"][2].items() >= gone.items()
    assert {one["pairs_count"] for one in done.document["statistics"]} == {9}
    unseen = f"{TEST}/total/jitter"  # nothing counted then
    other = again(lambda one: one["judged_by"].update(address=unseen), ADDRESS, "--json")
    assert {one["pairs_count"] for one in other.document["statistics"]} == {0}


def swap(document: dict[str, Any]) -> None:
    for pair in document["pairs"]:
        pair["first"], pair["second"] = pair["second"], pair["first"]


def double(document: dict[str, Any]) -> None:
    for pair in document["pairs"]:
        pair["second"] = pair["first"]


NOT_AS_SUCH, OTHERWISE = "was not measured as ", "the file says otherwise of these pairs"


@pytest.mark.parametrize(
    ("edit", "code", "said"),
    [
        # B was slower: the sides swapped, or A against itself, would pass
        (swap, EXIT_USAGE, NOT_AS_SUCH),
        (double, EXIT_USAGE, NOT_AS_SUCH),
        (lambda one: one.update(pairs=one["pairs"][:1] * 10), EXIT_USAGE, NOT_AS_SUCH),
        (lambda one: one["pairs"].reverse(), EXIT_USAGE, NOT_AS_SUCH),
        (lambda one: one["judged_by"].update(margin=4.0), EXIT_OK, OTHERWISE),
        (lambda one: one["judged_by"].update(alpha=0.02), EXIT_GATE, OTHERWISE),
        (lambda one: one["judged_by"].update(has_tails=False), EXIT_GATE, OTHERWISE),
        (lambda one: one["judged_by"].update(deadline_ns=3000), EXIT_GATE, OTHERWISE),
        (lambda one: one["judged_by"].update(is_cut=True), EXIT_UNTRUSTWORTHY, "INCONCLUSIVE"),
        # what it says of a pair does not take it away
        (lambda one: one["pairs"][2].update(left_out="B: interrupted"), EXIT_GATE, "10 pairs"),
    ],
)
def test_only_what_was_measured_and_asked_is_judged(
    again: Again, edit: Edit, code: int, said: str
) -> None:
    done = again(edit)
    told = " ".join((done.out + done.err).split())
    assert (done.code, said in told) == (code, True), told
    assert code != EXIT_USAGE or not done.out
    assert said != OTHERWISE or "and no proof" in told


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
    ("old", "new", "code", "said"),
    [
        ("of 10", "of 12", EXIT_UNTRUSTWORTHY, "fewer pairs than requested"),
        ("7 of 10", "7 of 12", EXIT_USAGE, "of several measurements"),
    ],
)
def test_only_all_pairs_of_one_measurement_decide(
    gate: Hardstone, measured: Path, old: str, new: str, code: int, said: str
) -> None:
    _renamed(measured, old, new)
    done = gate("--again", measured)
    assert done.code == code and said in done.out + done.err


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
        ("pairs", [{"first": None, "second": None}] * 31, "31 pairs; the most is 30"),
        ("pairs", [{"first": 5}], "not the outcome of a gate"),
        ("judged_by", None, "does not state the request of its pairs"),
        ("judged_by", {"address": TEST, "alpha": 0.7}, "is impossible"),
        ("judged_by", {"address": TEST, "margin": -1}, "is impossible"),
        ("judged_by", {"address": TEST, "deadline_ns": 0}, "is impossible"),
        ("judged_by", {"address": "/"}, "is not the address of a figure"),
        ("systems", [], "does not state the request of its pairs"),
    ],
)
def test_a_file_that_is_no_such_outcome_is_one_line(
    again: Again, key: str, value: object, said: str
) -> None:
    done = again(lambda one: one.update({key: value}))
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
    assert done.code == EXIT_USAGE and "not the outcome of a gate" in done.err
    assert len(done.err.splitlines()) == 1 and "\x1b" not in done.err


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
    stated = f"A median needs about {p50} values, p99 about {p99}, p99.9 about {p999}"
    assert stated.replace("\N{NO-BREAK SPACE}", " ") in page
    assert f"takes {values_for_share(1 / 10_000) / 1e6:.1f} million values" in page


# ---- repeats ----


def repeats(hardstone: Hardstone, store: Path, target: str, *options: object) -> Done:
    return hardstone("run", TEST, "--target", target, "--store", store, "--repeat", *options)


def test_runs_that_are_repeated_are_the_baselines_of_another(
    hardstone: Hardstone, gate: Hardstone, tmp_path: Path
) -> None:
    store, target = tmp_path / "store", scenario(tmp_path / "fake")
    done = repeats(hardstone, store, target, 10, "--name", "good")
    assert done.code == EXIT_OK and "run 10 of 10: about" in done.err
    assert names(tmp_path) == sorted(f"good {number} of 10" for number in range(1, 11))
    first = next(one.id for one in Store(store).runs() if one.name == "good 1 of 10")
    assert {one.repeats for one in Store(store).runs()} == {first}
    assert any(f"--baseline {first}" in one for one in done.typed)
    hardstone("run", TEST, "--target", target, "--store", store, "--name", "new", "-q")
    found = gate("new", "--baseline", "good", "--json")
    assert found.code == EXIT_OK and len(found.document["baselines"]) == 10, found.out
    validate(found.document)
    slow = scenario(tmp_path / "slow", sample.stream(TEST, values=SLOW))
    made_s = int(time.time())
    wait_until(lambda: int(time.time()) > made_s)  # ids count seconds: the others are older
    hardstone("run", TEST, "--target", slow, "--store", store, "--name", "slow", "-q")
    assert gate("slow", "--baseline", "good").code == EXIT_GATE
    # one is named: the others of the store are of the same system and plan
    few = gate("slow", "--baseline", "new")
    assert few.code == EXIT_GATE and "10 more runs of the same system and plan" in few.out


def test_repeats_that_were_cut_off_go_on(hardstone: Hardstone, tmp_path: Path, lab: Lab) -> None:
    store = tmp_path / "store"
    target = at_run(lab, scenario(tmp_path / "fake"), 3, interrupt)
    cut = repeats(hardstone, store, target, 4, "--name", "good")
    assert cut.code == EXIT_INTERRUPTED and "2 complete runs are stored" in cut.err
    assert any(" run --resume " in one for one in cut.typed)
    wrong = hardstone("run", "--resume", "--store", store, "--name", "other")
    assert (
        wrong.code == EXIT_USAGE
        and "--name: repeats are resumed with their first options" in wrong.err
    )
    done = hardstone("run", "--resume", "--store", store)
    assert done.code == EXIT_OK and "run 3 of 4" in done.err and "run 2 of 4" not in done.err
    complete = sorted(one.name for one in Store(store).runs() if one.status == "complete")
    assert complete == [f"good {number} of 4" for number in range(1, 5)]
    again = hardstone("run", "--repeat", 4, "--resume", "--store", store)
    assert again.code == EXIT_USAGE and "all repeats are complete" in again.err
    last = hardstone("run", "--resume", "good", "--store", store)
    assert last.code == EXIT_USAGE and "all 4 repeats" in last.err


def test_repeats_with_a_parameter_that_the_probe_lacks_do_not_go_on(
    hardstone: Hardstone, tmp_path: Path, lab: Lab
) -> None:
    store, fit = tmp_path / "store", scenario(tmp_path / "fake")
    cut = repeats(hardstone, store, at_run(lab, fit, 2, interrupt), 3)
    assert cut.code == EXIT_INTERRUPTED
    path = Path(fit.removeprefix("fake:"))
    path.write_text(path.read_text().replace('"kinds"', '"sorts"'))
    done = hardstone("run", "--resume", "--store", store)
    assert done.code == EXIT_USAGE and "this probe does not know the parameter 'kinds'" in done.err
    assert "resume it with the version that started it" in done.err and len(names(tmp_path)) == 2
