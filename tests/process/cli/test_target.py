"""`hardstone target`: what a check of a target says, and where names count. How targets are named
is in golden/target.txt."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from click.shell_completion import ShellComplete

from hardstone.cli.main import hardstone as whole
from hardstone.cli.target import check_of
from hardstone.errors import PrivilegeError, TargetError
from hardstone.memory import LEFT_NAME
from hardstone.model import ClockCheck, Facts
from hardstone.store.store import Store
from hardstone.targets.base import SILENT, Notices
from hardstone.targets.fake import FakeTarget
from hardstone.targets.named import SshSettings
from tests.process.cli.conftest import Hardstone
from tests.process.targets import sample
from tests.unit.doctor.machine import machine
from tests.unit.stats import make

NO_RIGHTS = {
    "limits__can_realtime": False,
    "limits__realtime_cause": "capability",
    "limits__realtime_reason": "no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0",
    "limits__can_lock": False,
    "limits__memlock_bytes": 65536,
    "limits__granted_rtprio": None,
    "user__id": 1000,
    "user__effective_id": 1000,
    "user__name": "anna",
    "user__can_use_setcap": True,
}


def facts(**changed: Any) -> Facts:
    found = sample.facts()
    found.facts = machine(**changed)
    return found


def fake(folder: Path, found: Facts, selftest: list[str] | None = None) -> FakeTarget:
    document = msgspec.to_builtins(found)
    lines = sample.selftest() if selftest is None else selftest
    return FakeTarget(sample.scenario(folder, {}, facts=document, selftest=lines))


class Board(FakeTarget):
    """A fake that has a name, is away, or refuses."""

    def __init__(self, folder: Path, name: str, found: Facts) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(sample.scenario(folder, {}, facts=msgspec.to_builtins(found)))
        self.name = name
        self.refusal: Exception | None = None
        self.closed = 0

    def open(self, notices: Notices = SILENT) -> None:
        if self.refusal is not None:
            raise self.refusal
        super().open(notices)

    def close(self) -> None:
        self.closed += 1

    def clock_check(self) -> ClockCheck | None:
        return ClockCheck(host_ns=1, target_ns=1, uncertainty_ns=1)


def test_a_damaged_file_is_told_by_each_command(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "targets.toml"
    path.write_text("[targets.board]\nurl = 1\n")
    monkeypatch.setenv("HARDSTONE_TARGETS_FILE", str(path))
    for words in (["list"], ["check"], ["remove", "board"], ["add", "a", "ssh://a"]):
        done = hardstone("target", *words)
        assert done.code == 2 and "targets.board.url must be a text in quotes" in done.err, words
    assert "targets.board.url" in hardstone("doctor", "--target", "board").err


# ---- check ----


def test_missing_rights_are_told_with_what_to_type(hardstone: Hardstone, tmp_path: Path) -> None:
    target = fake(tmp_path, facts(**NO_RIGHTS))
    done = hardstone("target", "check", target.name)
    assert done.code == 5
    assert "not granted there: real-time scheduling and locked memory" in done.out
    assert "Real-time scheduling is refused [realtime-priority]" in done.out
    assert "/etc/security/limits.d/99-hardstone-realtime.conf" in done.out
    assert "setcap" not in done.out  # no path of a file on a fake
    [found] = hardstone("target", "check", "--json", target.name).document
    rules = [one["rule"] for one in found["missing"]]
    assert rules[0] == "realtime-priority" and "memory-lock" in rules
    assert len(rules) == len(set(rules))
    assert all(one["steps"] for one in found["missing"][:2])


NO_BUDGET = {
    "limits__can_realtime": False,
    "limits__realtime_cause": "group_budget",
    "limits__group_rt_runtime_us": 0,
}


@pytest.mark.parametrize(
    ("changed", "code", "problem", "rules"),
    [
        (
            {"limits__can_lock": False, "user__effective_id": 1000},
            *(5, "not granted there: locked memory", ["memory-lock"]),
        ),
        # the empty budget is named, and not the rights
        (NO_BUDGET, 5, "not granted there: real-time scheduling", ["group-budget"]),
        ({"limits__can_realtime": None}, 3, "does not say", []),
    ],
)
def test_what_is_missing(
    tmp_path: Path, changed: dict[str, Any], code: int, problem: str, rules: list[str]
) -> None:
    known = facts(**changed)
    known.facts = {name: one for name, one in known.facts.items() if one is not None}
    found = check_of(fake(tmp_path, known))
    assert found.exit_code == code and problem in str(found.problem)
    assert [one.rule for one in found.missing] == rules


def test_a_probe_that_computes_wrongly_is_not_trusted(tmp_path: Path) -> None:
    found = check_of(fake(tmp_path, facts(), sample.selftest(tire_rest="it fell")))
    assert (found.exit_code, found.problem) == (3, "the probe computes wrongly there")


def test_a_target_that_is_away_ends_only_its_own_check(tmp_path: Path) -> None:
    board = Board(tmp_path, "ssh://root@board", facts())
    board.refusal = TargetError(
        "ssh://root@board: it does not answer", "check that it is on: ssh root@board"
    )
    found = check_of(board)
    assert found.exit_code == 4 and found.problem == "it does not answer"
    assert found.remedy == "check that it is on: ssh root@board" and board.closed
    assert found.url == "ssh://root@board" and found.kernel is None


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch) -> dict[str, Board]:
    """Stands in for SSH: the fake of each name."""
    known: dict[str, Board] = {}
    module = ModuleType("hardstone.targets.ssh")
    module.SshTransport = lambda settings: known[_key(settings)]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    probes = ModuleType("hardstone.targets.probe_target")
    probes.ProbeTarget = lambda transport: transport  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, probes.__name__, probes)
    return known


def _key(settings: SshSettings) -> str:
    return f"{settings.name}{'#' if settings.sudo else ''}"


def test_all_named_targets_are_checked(
    hardstone: Hardstone, tmp_path: Path, boards: dict[str, Board]
) -> None:
    hardstone("target", "add", "board", "ssh://root@192.0.2.7")
    hardstone("target", "add", "rack", "ssh://anna@rack")
    boards["board"] = Board(tmp_path / "a", "board", facts())
    boards["rack"] = Board(tmp_path / "b", "rack", facts(**NO_RIGHTS))
    done = hardstone("target", "check")
    assert done.code == 5
    assert done.out.index("board: ssh://root@192.0.2.7") < done.out.index("rack: ssh://anna@rack")
    assert "round trip    " in done.out and "\x1b" not in done.out
    assert "What to do on rack:" in done.out
    # Typed there: sudo stays, whoever types here.
    assert "sudo tee /etc/security/limits.d/99-hardstone-realtime.conf" in done.out
    assert "hardstone target add rack ssh://anna@rack --sudo --replace" in done.out
    boards["rack"].refusal = TargetError("rack: it does not answer")
    assert hardstone("target", "check").code == 4
    [board, rack] = hardstone("target", "check", "board", "rack", "board", "--json").document
    assert board["left"] == [] and board["round_trip_ns"] > 0
    assert rack["exit_code"] == 4 and rack["url"] == "ssh://anna@rack"


def test_where_sudo_refuses_the_rest_is_told_too(
    hardstone: Hardstone, tmp_path: Path, boards: dict[str, Board]
) -> None:
    hardstone("target", "add", "rack", "ssh://anna@rack", "--sudo")
    boards["rack#"] = Board(tmp_path / "a", "rack", facts())
    boards["rack#"].refusal = PrivilegeError("rack: sudo refuses", "allow it: sudo visudo")
    boards["rack"] = Board(tmp_path / "b", "rack", facts(**NO_RIGHTS))
    [found] = hardstone("target", "check", "--json").document
    assert (found["exit_code"], found["problem"]) == (5, "sudo refuses")
    assert found["remedy"] == "allow it: sudo visudo"
    assert found["kernel"] and found["can_realtime"] is False and found["user"] == "anna"
    assert boards["rack"].closed
    boards["rack"].refusal = TargetError("gone")
    [found] = hardstone("target", "check", "--json").document
    assert (found["exit_code"], found["kernel"]) == (5, None)


def test_a_name_works_wherever_a_target_is_named(
    hardstone: Hardstone, tmp_path: Path, boards: dict[str, Board]
) -> None:
    hardstone("target", "add", "board", "ssh://root@192.0.2.7")
    boards["board"] = Board(tmp_path, "board", facts())
    found = hardstone("doctor", "--target", "board", "--json").document
    assert found["target"] == "board" and boards["board"].closed
    assert "did you mean board?" in hardstone("doctor", "--target", "bord").err


def test_a_run_that_waits_there_is_told(
    hardstone: Hardstone, tmp_path: Path, boards: dict[str, Board]
) -> None:
    hardstone("target", "add", "board", "ssh://root@192.0.2.7")
    boards["board"] = Board(tmp_path / "a", "board", facts())
    document = make.document(plan=make.plan_of([sample.planned()], target="board"))
    with Store().journal(document, boards["board"]):
        folder = Store().path / "journals" / document.id
        (folder / LEFT_NAME).write_text("{}")
        done = hardstone("target", "check", "board")
    assert f"waiting       run {document.id}, for which a program here waits" in done.out
    assert "hardstone target collect board" in done.out


def completed(*words: str) -> list[str]:
    complete = ShellComplete(whole, {}, "hardstone", "_HARDSTONE_COMPLETE")
    return [one.value for one in complete.get_completions(list(words[:-1]), words[-1])]


def test_a_shell_completes_the_names(hardstone: Hardstone) -> None:
    hardstone("target", "add", "board", "ssh://a")
    hardstone("target", "add", "lathe", "ssh://b")
    assert completed("run", "--target", "") == ["local", "board", "lathe"]
    assert completed("run", "--target", "l") == ["local", "lathe"]
    assert completed("target", "check", "b") == ["board"]
    assert completed("target", "remove", "") == ["board", "lathe"]


def test_a_damaged_file_completes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "targets.toml"
    path.write_text("[")
    monkeypatch.setenv("HARDSTONE_TARGETS_FILE", str(path))
    assert completed("run", "--target", "") == ["local"]
