"""A store with one run more than it should show, and what may stand where a file should.

The newest run is NEW, an older one OLD; CUT was cut off and waits in its journal.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from tests.process.store.fake_probe import Here
from tests.unit.stats import make

OLD = "20261120T000000Z-00000a"
NEW = "20261121T000000Z-00000b"
CUT = "20261119T000000Z-00000c"
FOREIGN = b"precious\n"
_BACKING = f"memory/hardstone-{CUT}-abcdefgh"

# Where a store and what stands beside it in memory may hold anything. The name of a
# member is its path from the folder that `build` fills.
MEMBERS = (
    "store/index.sqlite",
    "store/journals.lock",
    f"store/runs/{OLD}.json.gz",
    f"store/runs/{NEW}.json.gz",
    "store/runs/20261122T000000Z-00000d.json.gz",
    f"store/runs/{NEW}.summary.json",
    f"store/runs/{CUT}.summary.json",
    "store/runs/notes",
    f"store/runs/.{CUT}.json.gz.1.tmp",
    f"store/journals/{CUT}",
    f"store/journals/{CUT}/journal.jsonl",
    f"store/journals/{CUT}/lock",
    f"store/journals/{CUT}/reserve",
    f"store/journals/{CUT}/slot-1-a",
    f"store/journals/{CUT}/failed-1-x",
    f"store/journals/{CUT}/failed-1-{'9' * 200}",
    "store/journals/20261118T000000Z-00000e",
    f"store/reports/{NEW}.html",
    _BACKING,
    f"{_BACKING}/journal",
    f"{_BACKING}/run.json.gz",
    f"{_BACKING}/1.rec",
    "memory/hardstone-20200101T000000Z-00000f-abcdefgh/journal",
    "store/reports",
    "store/journals",
    "store/runs",
)


def build(root: Path) -> Path:
    """A store below `root`, its memory-backed folder, and a foreign file; the store."""
    memory = root / "memory"
    memory.mkdir(parents=True)
    (root / "foreign").write_bytes(FOREIGN)
    place = root / "store"
    for run_id in (OLD, NEW):
        at = f"{run_id[:4]}-{run_id[4:6]}-{run_id[6:8]}T00:00:00Z"
        document = make.document(run_id=run_id, name=f"name of {run_id}", started_utc=at)
        write_document(open_place(place), document)
    Store(place).runs()
    (place / "reports").mkdir()
    cut_off(place, root / _BACKING)
    return place


def cut_off(place: Path, backing: Path) -> None:
    """What a killed run leaves: a journal, and a folder in memory with a recording."""
    document = make.document(run_id=CUT, results=[], status="incomplete", finished_utc=None)
    store = Store(place)
    with store.journal(document, Here()) as journal:
        journal.result(make.result("SEM-P-SIG"))
        made = Path(journal.backing_file("TMR-P-LAT"))
        made.write_bytes(b"recorded")
    lines = place / "journals" / CUT / "journal.jsonl"
    lines.write_bytes(lines.read_bytes().replace(os.fsencode(made.parent), os.fsencode(backing)))
    shutil.move(made.parent, backing)
    (backing / "journal").write_bytes(os.fsencode(place / "journals" / CUT))


def _link(to: str) -> Callable[[Path, Path], None]:
    return lambda path, root: path.symlink_to(to)


def _garbage(path: Path, _: Path) -> None:
    path.write_bytes(b"\xff\x00garbage\n\x1b[31m" * 99)


def _huge(path: Path, _: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 * 2**30)


def _folder(path: Path, _: Path) -> None:
    path.mkdir()
    (path / "not-utf8-\udcff\n\x1b[31m").write_bytes(FOREIGN)


def _database(path: Path, _: Path) -> None:
    """One whose list of runs does not end."""
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("PRAGMA user_version = 4")
        base.execute(
            "CREATE VIEW runs AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT 1"
            " FROM n) SELECT id, 1 AS name, 1 AS started_utc FROM n"
        )


def _another_run(path: Path, _: Path) -> None:
    document = make.document(run_id="20200202T000000Z-abcdef")
    path.write_bytes(gzip.compress(msgspec.json.encode(document)))


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "pipe": lambda path, _: os.mkfifo(path),
    "link-to-itself": lambda path, _: path.symlink_to(path.name),
    "link-to-zero": _link("/dev/zero"),
    "dangling-link": lambda path, root: path.symlink_to(root / "made-elsewhere"),
    "link-to-foreign": lambda path, root: path.symlink_to(root / "foreign"),
    "folder": _folder,
    "empty": lambda path, _: path.write_bytes(b""),
    "garbage": _garbage,
    "huge": _huge,
    "database": _database,
    "another-run": _another_run,
}


def put(root: Path, member: str, kind: str) -> Path:
    """Put `kind` in the place of `member`; its path."""
    path = root / member
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](path, root)
    return path


def is_foreign_whole(root: Path) -> bool:
    """Whether nothing was changed or made outside of the store."""
    is_made = os.path.lexists(root / "made-elsewhere")
    return (root / "foreign").read_bytes() == FOREIGN and not is_made


def expected_code(member: str, kind: str, command: str) -> int:
    """The exit code of "runs", "show last", "show old", "report last" or "run".

    2 only where what the command needs is what is broken.
    """
    name = member.removeprefix("store/")
    needed = {
        "show last": ("runs/20261122", f"runs/{NEW}.json"),
        "show old": (f"runs/{OLD}.json",),
        "report last": ("runs/20261122", f"runs/{NEW}.json"),
    }
    is_needed = name.startswith(needed.get(command, ("-",)))
    if name == "runs":
        # Into a new folder, what was cut off is recovered, and is the last run.
        is_needed = command == "show old" if kind == "folder" else True
    if kind != "folder" and name in ("journals", "reports"):
        is_needed = command == {"journals": "run", "reports": "report last"}[name]
    if name == f"reports/{NEW}.html":
        is_needed = command == "report last" and kind in ("pipe", "folder")
    return 2 if is_needed else 0
