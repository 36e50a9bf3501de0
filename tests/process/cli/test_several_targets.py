"""evaluate and run on several targets: each is measured, then one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hardstone.errors import (
    EXIT_GATE,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    WORST_FIRST,
    TargetError,
    worst_code,
)
from hardstone.model import TARGETS_SCHEMA
from hardstone.schema import FOLDER, file_name
from hardstone.store import Store
from hardstone.targets.base import Stop
from hardstone.targets.local import LocalTransport
from hardstone.targets.reaching import SILENT, Notices
from tests.process.cli.conftest import Done, Lab
from tests.process.targets import sample
from tests.process.targets.test_transport import playing

Hardstone = Callable[..., Done]
Make = Callable[..., str]
TEST = "SEM-P-SIG"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A fake target in a folder called `name`; `steps` are those of its test."""

    def fake(name: str, steps: list[Any] | None = None, **changed: Any) -> str:
        folder = tmp_path / name
        folder.mkdir()
        return f"fake:{sample.scenario(folder, {TEST: steps or sample.stream(TEST)}, **changed)}"

    return fake


@pytest.fixture
def measure(hardstone: Hardstone, tmp_path: Path) -> Callable[..., Done]:
    def run(*targets: str, options: tuple[object, ...] = ()) -> Done:
        named = [word for target in targets for word in ("--target", target)]
        return hardstone("run", TEST, *named, "--store", tmp_path / "store", *options)

    return run


def stored(tmp_path: Path) -> list[str]:
    """The targets of the stored runs, in the order of measuring."""
    store = Store(tmp_path / "store")
    return [store.load(one.id).plan.target for one in reversed(store.runs())]


def test_each_target_has_its_run_and_all_have_one_table(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    slow = sample.stream(TEST, values=tuple(range(3000, 9000, 3)))
    names = [make("a"), make("b", slow)]
    done = measure(*names)
    assert done.code == EXIT_OK, done.err
    assert sorted(stored(tmp_path)) == sorted(names)
    assert f"target 1 of 2: {names[0]}" in done.err and f"target 2 of 2: {names[1]}" in done.err
    table = done.out[done.out.index("test, series") :]
    assert "worst observed" in table and " x3.0" in table
    assert done.out.count("all of it ") == 2  # each run's own screen


def test_emulated_figures_have_no_ratio_beside_others(
    measure: Callable[..., Done], make: Make
) -> None:
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"]["virtual.emulated"] = True
    done = measure(make("a"), make("b", facts=facts))
    assert "no ratio: it is emulated" in " ".join(done.out.split())
    assert "(emulated)" in done.out
    assert " x1.0" not in done.out


def test_json_is_one_document_of_all_runs(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    names = [make("a"), make("b"), f"fake:{tmp_path / 'nowhere.json'}"]
    done = measure(*names, options=("--json",))
    assert [run["plan"]["target"] for run in done.document["runs"]] == names[:2]
    assert {run["schema"] for run in done.document["runs"]} == {"hardstone.run/3"}
    (missing,) = done.document["not_run"]
    assert (missing["target"], missing["exit_code"]) == (names[2], EXIT_USAGE)
    assert "cannot be read" in missing["reason"]
    assert done.document["schema"] == TARGETS_SCHEMA
    contract = json.loads((FOLDER / file_name(TARGETS_SCHEMA)).read_text())
    Draft202012Validator(contract).validate(done.document)


def test_json_of_one_target_stays_the_run(measure: Callable[..., Done], make: Make) -> None:
    assert measure(make("a"), options=("--json",)).document["schema"] == "hardstone.run/3"


class Gone(LocalTransport):
    """Not there. `lab:interrupted`: Ctrl-C comes while it is waited for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = f"lab:{name}"

    def open(self, notices: Notices = SILENT) -> None:
        if self.name == "lab:interrupted":
            raise KeyboardInterrupt
        raise TargetError("no answer\x1b", "plug it in")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_target_that_is_not_there_keeps_no_other_from_it(
    measure: Callable[..., Done],
    make: Make,
    tmp_path: Path,
    lab: Lab,
    place: int,
) -> None:
    lab(Gone)
    names = [make("a"), make("b"), make("c")]
    names[place] = "lab:gone"
    done = measure(*names)
    assert done.code == EXIT_UNREACHABLE
    assert set(stored(tmp_path)) == set(names) - {names[place]}
    assert done.told[-1] == "hardstone: lab:gone was not measured: no answer\\x1b; plug it in"
    assert "worst observed" in done.out[done.out.index("test, series") :]


def test_one_run_alone_has_no_table(measure: Callable[..., Done], make: Make, lab: Lab) -> None:
    lab(Gone)
    done = measure(make("a"), "lab:gone")
    assert (done.code, "test, series" in done.out) == (EXIT_UNREACHABLE, False)


def test_a_wrong_name_is_told_before_anything_is_measured(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    done = measure(make("a"), "lba:debian")
    assert (done.code, len(done.told), done.out) == (EXIT_USAGE, 1, "")
    assert "unknown target 'lba:debian'" in done.err
    assert not (tmp_path / "store").exists()


def test_a_wrong_request_ends_at_the_first_target(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    done = measure(make("a"), make("b"), options=("--samples", "0"))
    assert done.code == EXIT_USAGE
    assert "--samples" in done.err and "target 2 of 2" not in done.err
    assert not (tmp_path / "store").exists()


def test_a_request_that_only_a_later_target_refuses(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"].update({"cpu.allowed": "0", "cpu.online": "0", "cpu.count": 1})
    names = [make("a"), make("b", facts=facts), make("c")]
    done = measure(*names, options=("--cpu", "2"))
    assert done.code == EXIT_USAGE
    assert set(stored(tmp_path)) == {names[0], names[2]}
    assert done.told[-1].startswith(f"hardstone: {names[1]} was not measured: ")


def test_a_report_in_one_file_is_refused(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    done = measure(make("a"), make("b"), options=("-o", tmp_path / "r.html"))
    assert (done.code, len(done.told), done.out) == (EXIT_USAGE, 1, "")
    assert "one file cannot hold the reports of 2 runs" in done.err
    assert not (tmp_path / "store").exists()


def test_evaluate_writes_a_report_of_each(hardstone: Hardstone, make: Make, tmp_path: Path) -> None:
    targets = ["--target", make("a"), "--target", make("b")]
    hardstone("evaluate", *targets, "--store", tmp_path / "store")
    assert len(list((tmp_path / "store" / "reports").glob("*.html"))) == 2


def test_a_target_twice_shows_how_well_it_repeats(
    measure: Callable[..., Done], make: Make, tmp_path: Path
) -> None:
    name = make("a")
    done = measure(name, name)
    assert done.code == EXIT_OK
    assert stored(tmp_path) == [name, name]
    assert "#1" in done.out and "#2" in done.out and " x1.0" in done.out


def test_a_dry_run_shows_each_plan(
    measure: Callable[..., Done], make: Make, tmp_path: Path, lab: Lab
) -> None:
    lab(Gone)
    names = [make("a"), "lab:gone", make("c")]
    done = measure(*names, options=("--dry-run",))
    assert done.code == EXIT_UNREACHABLE
    told = "".join(done.out.split())  # a long name is folded
    assert [name in told for name in names] == [True, False, True]
    done = measure(*names, options=("--dry-run", "--json"))
    assert [plan["target"] for plan in done.document["plans"]] == [names[0], names[2]]
    assert [one["target"] for one in done.document["not_run"]] == [names[1]]
    assert not (tmp_path / "store").exists()


def test_quiet_shows_no_progress(measure: Callable[..., Done], make: Make) -> None:
    done = measure(make("a"), make("b"), options=("--quiet",))
    assert done.err == ""


def test_ctrl_c_between_two_targets_ends_the_whole(
    measure: Callable[..., Done], make: Make, tmp_path: Path, lab: Lab
) -> None:
    lab(Gone)
    names = [make("a"), "lab:interrupted", make("c")]
    done = measure(*names)
    assert done.code == EXIT_INTERRUPTED
    assert stored(tmp_path) == [names[0]]
    assert [line for line in done.told if "was not measured" in line] == [
        f"hardstone: {name} was not measured: the command was interrupted" for name in names[1:]
    ]


class Stopped(LocalTransport):
    """Ctrl-C comes during the test."""

    def chunks(self, arguments: Any, limits: Any, stop: Stop, *rest: Any) -> Generator[bytes]:
        if arguments[0] == "run":
            stop.set()
        return super().chunks(arguments, limits, stop, *rest)


def test_ctrl_c_during_a_run_ends_the_whole(
    measure: Callable[..., Done], make: Make, tmp_path: Path, lab: Lab
) -> None:
    probe = playing(tmp_path, sample.stream(TEST))
    lab(lambda name: Stopped(probe))
    done = measure("lab:stopped", make("b"))
    assert done.code == EXIT_INTERRUPTED
    assert len(stored(tmp_path)) == 1
    assert done.told[-1].endswith("was not measured: the command was interrupted")


def test_the_worst_code_is_that_of_the_command(measure: Callable[..., Done], make: Make) -> None:
    denied = make("a", sample.stream(TEST, status="denied", reason="no right"))
    assert measure(denied, make("b")).code == EXIT_PRIVILEGE


@pytest.mark.parametrize(
    ("codes", "worst"),
    [
        ([], EXIT_OK),
        ([EXIT_OK, EXIT_OK], EXIT_OK),
        ([EXIT_OK, EXIT_UNTRUSTWORTHY], EXIT_UNTRUSTWORTHY),
        ([EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY], EXIT_PRIVILEGE),
        ([EXIT_GATE, EXIT_PRIVILEGE], EXIT_GATE),
        ([EXIT_USAGE, EXIT_GATE], EXIT_USAGE),
        ([EXIT_USAGE, EXIT_UNREACHABLE], EXIT_UNREACHABLE),
        ([EXIT_UNREACHABLE, EXIT_INTERRUPTED], EXIT_INTERRUPTED),
        ([EXIT_INTERRUPTED, EXIT_INTERNAL], EXIT_INTERNAL),
    ],
)
def test_the_order_of_the_codes(codes: list[int], worst: int) -> None:
    assert worst_code(codes) == worst_code(codes[::-1]) == worst


def test_the_order_is_in_the_documents() -> None:
    root = Path(__file__).resolve().parents[3]
    told = (root / "docs/how-to/compare-targets.md").read_text()
    assert ", ".join(map(str, WORST_FIRST)) in told
