"""`hardstone posix`: measured on fake targets, read from the store, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.errors import EXIT_OK, EXIT_UNREACHABLE, EXIT_USAGE, worst_code
from hardstone.model import Descriptor, StreamEvent, StreamFooter, StreamVerdict
from hardstone.posix.analysis import TEST
from hardstone.store.store import Store
from tests.process.cli.conftest import Hardstone, validate
from tests.process.targets import sample
from tests.unit.posix import inventories

Scenario = Callable[..., str]


def inventory(odd: dict[str, str] | None = None) -> list[str]:
    """The stream of a test that reports an inventory."""
    header, instrument = sample.stream(TEST)[:2]
    ended = sample.stream(TEST, status="denied")[-2]
    result = json.loads(ended) | {"status": "measured", "reason": None}
    found = inventories.result(inventories.events(odd))
    events = [StreamEvent(**msgspec.structs.asdict(one)) for one in found.events]
    verdicts = [StreamVerdict(**msgspec.structs.asdict(one)) for one in found.verdicts]
    body = [header, instrument, *_encoded(events), *_encoded(verdicts), json.dumps(result)]
    footer = StreamFooter(lines=len(body), events=len(events), series=0, verdicts=len(verdicts))
    return [*body, *_encoded([footer])]


def _encoded(found: list[Any]) -> list[str]:
    return [msgspec.json.encode(one).decode() for one in found]


def register() -> dict[str, Any]:
    """The golden register, with the test if it lacks it."""
    found: dict[str, Any] = msgspec.to_builtins(sample.register())
    if all(one["id"] != TEST for one in found["tests"]):
        like: Descriptor = next(one for one in sample.register().tests if one.id == "TMR-B-EDGE")
        named = msgspec.to_builtins(like) | {"id": TEST, "params": [], "series": []}
        found["tests"].append(named)
    return found


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Makes a fake target of its own name, on which the test does `steps`."""

    def make(name: str = "one", steps: list[Any] | None = None) -> str:
        folder = tmp_path / name
        folder.mkdir()
        steps = inventory(inventories.ODD) if steps is None else steps
        return f"fake:{sample.scenario(folder, {TEST: steps}, register=register())}"

    return make


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "hardstone"


def words(text: str) -> str:
    return " ".join(text.split())


def test_it_measures_and_stores_and_is_shown_again(
    hardstone: Hardstone, scenario: Scenario
) -> None:
    done = hardstone("posix", "--target", scenario(), "--name", "odd", "--quiet")
    assert done.code == EXIT_OK, done.err
    document = Store().load("last")
    assert document.name == "odd" and [one.test for one in document.results] == [TEST]
    assert document.id in done.out and done.err == ""
    assert hardstone("posix", "odd").out == done.out


def test_json_holds_the_schema(hardstone: Hardstone, scenario: Scenario) -> None:
    measured = hardstone("posix", "--target", scenario(), "--json", "-q")
    read = hardstone("posix", "last", "--json")
    assert measured.code == read.code == EXIT_OK
    assert measured.document == read.document
    validate(read.document)
    (answer,) = read.document["answers"]
    options = {one["name"]: one for one in answer["inventory"]["options"]}
    assert options["message_passing"]["contradictions"] == ["claimed_but_fails"]
    assert options["spawn"]["sysconf"] is None and not options["spawn"]["is_sysconf_known"]
    coverage = {one["part"]: one["coverage"] for one in answer["coverage"]}
    assert coverage == {"1003.1a": "full", "1003.1b": "partial", "1003.1c": "full"}
    assert {one["judgement"] for point in answer["points"] for one in point["measured"]} == {
        "absent"
    }


def test_several_targets_have_a_section_each(
    hardstone: Hardstone, scenario: Scenario, tmp_path: Path
) -> None:
    targets = [scenario("one"), scenario("two", inventory({}))]
    done = hardstone("posix", "--target", targets[0], "--target", targets[1], "-q")
    assert done.code == EXIT_OK
    assert done.out.count("\nSolaris 8 ") == 2
    assert words(done.out).index("11 of 14") < words(done.out).index("14 of 14")
    assert len(Store().runs()) == 2
    # one that is not reached is told, and the others are measured
    missing = tmp_path / "gone.json"
    missing.write_text("{}")
    named = [word for one in (f"fake:{missing}", *targets) for word in ("--target", one)]
    done = hardstone("posix", *named, "--json", "-q")
    (not_run,) = done.document["not_run"]
    assert len({one["run"] for one in done.document["answers"]}) == 2
    assert done.code == worst_code([not_run["exit_code"]]) != EXIT_OK
    assert "was not measured" in done.err


def test_a_denied_test_says_so_and_exits_as_run_does(
    hardstone: Hardstone, scenario: Scenario
) -> None:
    denied = scenario("denied", sample.stream(TEST, status="denied", reason="no right"))
    done = hardstone("posix", "--target", denied, "-q")
    assert done.code == hardstone("run", TEST, "--target", denied, "-q").code != EXIT_OK
    assert "incomplete: denied: no right" in done.out
    assert "full (" not in done.out


def test_a_probe_without_the_test_is_a_plain_error(hardstone: Hardstone, tmp_path: Path) -> None:
    found = register()
    found["tests"] = [one for one in found["tests"] if one["id"] != TEST]
    old = f"fake:{sample.scenario(tmp_path, {}, register=found)}"
    done = hardstone("posix", "--target", old, "-q")
    assert done.code in (EXIT_USAGE, EXIT_UNREACHABLE) and TEST in done.err
    assert len(done.told) == 1
