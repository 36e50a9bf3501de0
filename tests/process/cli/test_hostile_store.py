"""Every command on a store with one odd member: what it costs, and what it must not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.cli.conftest import Done
from tests.process.store import odd

Hardstone = Callable[..., Done]
COMMANDS = {
    "runs": ["runs"],
    "show last": ["show", "last"],
    "show old": ["show", odd.OLD],
    "run": ["run", "SEM-P-SIG", "--quiet"],
}
# The whole of it, members by kinds by commands, is some minutes: here each member meets
# the kinds that have done harm, and every command.
KINDS = ("pipe", "link-to-itself", "link-to-foreign")


@pytest.fixture(autouse=True)
def no_other_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests leave in memory-backed storage is not of these stores."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


def words(command: str, place: Path, target: str) -> list[str]:
    where = ["--target", target] if command == "run" else []
    return [*COMMANDS[command], *where, "--store", str(place)]


@pytest.mark.parametrize("name", ["ssh:nobody@nowhere", "fake:/no/scenario.json", "", "\\u001b"])
def test_a_run_of_a_target_that_is_unknown_by_now_is_recovered(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Its finished results are in the journal; what its memory holds is out of reach."""
    place = odd.build(tmp_path)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "memory"))
    journal = place / "journals" / odd.CUT / "journal.jsonl"
    text = journal.read_text()
    assert '"target":"local","is_noisy":false' in text
    journal.write_text(
        text.replace('"target":"local","is_noisy":false', f'"target":"{name}","is_noisy":true')
    )
    done = hardstone("runs", "--store", place)
    assert done.code == 0 and "internal error" not in done.err and "\x1b" not in done.err
    assert odd.CUT in done.out
    assert not (place / "journals" / odd.CUT).exists()


@pytest.mark.parametrize("member", odd.MEMBERS)
def test_a_broken_member_costs_itself(
    hardstone: Hardstone,
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    member: str,
) -> None:
    for number, kind in enumerate(KINDS):
        root = tmp_path / f"{number}"
        place = odd.build(root)
        monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(root / "memory"))
        odd.put(root, member, kind)
        for command in COMMANDS:
            done = hardstone(*words(command, place, target))
            said = f"{command}, {kind}: {done.err}"
            assert done.code == odd.expected_code(member, kind, command), said
            assert len(set(done.err.splitlines())) == done.err.count("\n") <= 4, said
            assert "internal error" not in done.err and "\x1b" not in done.err, said
        assert odd.is_foreign_whole(root), kind


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("store/index.sqlite", "it is a pipe, not a file; move it away"),
        ("store/journals.lock", "it is a pipe, not a file; move it away"),
        (f"store/journals/{odd.CUT}", "it is a pipe, not a folder; move it away"),
        (f"store/journals/{odd.CUT}/lock", "it is a pipe, not a file; move it away"),
        (f"store/journals/{odd.CUT}/journal.jsonl", "it is a pipe, not a file"),
        (f"store/runs/{odd.OLD}.json.gz", "it is a pipe, not a file; move it away"),
        ("store/journals", "Not a directory; move the file that is in the way"),
    ],
)
def test_it_is_told_in_one_line(
    hardstone: Hardstone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    member: str,
    said: str,
) -> None:
    place = odd.build(tmp_path / "root")
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "root/memory"))
    hardstone("runs", "--store", place)  # what was cut off is recovered: only the odd is left
    if "journals/" in member:
        (place / "runs" / f"{odd.CUT}.json.gz").unlink()
        odd.cut_off(place, tmp_path / f"root/memory/hardstone-{odd.CUT}-abcdefgh")
    odd.put(tmp_path / "root", member, "pipe")
    done = hardstone("runs", "--store", place)
    (line,) = done.err.splitlines()
    assert said in line and str(place) in line
    assert odd.NEW in done.out


def test_the_newest_run_if_damaged_is_named_with_the_next_step(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    place = odd.build(tmp_path / "root")
    odd.put(tmp_path / "root", f"store/runs/{odd.NEW}.json.gz", "empty")
    hardstone("runs", "--store", place)
    for command in ("show", "report"):
        done = hardstone(command, "last", "--store", place)
        (line,), (typed,) = done.told, done.typed
        assert done.code == 2 and done.out == ""
        assert f"run {odd.NEW} cannot be read" in line
        assert f"hardstone show {odd.OLD}" in typed
    assert not list((place / "reports").iterdir())


def test_a_report_replaces_a_link_and_not_where_it_leads(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    place = odd.build(tmp_path / "root")
    report = odd.put(tmp_path / "root", f"store/reports/{odd.NEW}.html", "link-to-foreign")
    assert hardstone("report", odd.NEW, "--store", place).code == 0
    assert odd.is_foreign_whole(tmp_path / "root")
    assert not report.is_symlink() and b"<html" in report.read_bytes()


# Everything is imported by then, whoever may read it.
CLOSED = """
import os, shutil, sys
from pathlib import Path
from hardstone.cli.main import run
from tests.process.store import odd

root = Path(sys.argv[1])
COMMANDS = {"runs": ["runs"], "show last": ["show", "last"], "show old": ["show", odd.OLD]}

def build(folder):
    os.environ["HARDSTONE_MEMORY_DIR"] = str(folder / "memory")
    return odd.build(folder)

place = build(root / "warm")
for words in COMMANDS.values():
    run([*words, "--store", str(place)])
if os.geteuid() == 0:
    os.seteuid(65534)
for member in odd.MEMBERS:
    place = build(root / "one")
    path = root / "one" / member
    if not os.path.lexists(path):
        odd.put(root / "one", member, "garbage")
    path.chmod(0)
    for command, words in COMMANDS.items():
        code = run([*words, "--store", str(place)])
        if code != odd.expected_code(member, "closed", command):
            print(member, command, code)
    if path.exists():
        path.chmod(0o700)
    shutil.rmtree(root / "one")
"""


def test_what_may_not_be_read_costs_itself(root: Path, own_home: Path) -> None:
    """As a user that permissions are for: in a folder of its own, since tmp_path is closed."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
        environment.pop("XDG_RUNTIME_DIR", None)
        done = subprocess.run(
            [sys.executable, "-c", CLOSED, folder],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr
    assert [line for line in done.stdout.splitlines() if "store/" in line[:9]] == []
