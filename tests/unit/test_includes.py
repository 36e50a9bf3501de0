"""Which room of the probe may include what: the table of docs/design.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.probe_tree import Room, files, includes, read_rooms

SOURCE = ROOT / "probe" / "src"
PAGES = ROOT / "docs" / "reference" / "tests"
ROOMS = read_rooms((ROOT / "docs" / "design.md").read_text())

REGISTER = "family/register.c"
ENTRY = re.compile(r"\bTEST\(([a-z]\w+)\)")
DESCRIPTOR = re.compile(r'^const struct test (\w+) = \{\s*\.id = "([^"]*)"', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def room_of(file: str) -> tuple[Room, str] | None:
    """The room that has a file, and its own name."""
    names = ((room, room.own_name(file)) for room in ROOMS)
    return next(((room, name) for room, name in names if name is not None), None)


def wrong_way_in(room: Room, own: str, included: str) -> str | None:
    there = room_of(included)
    if there is None or there[1] == own:
        return None
    door, name = there
    if name != "base/" and not {name, included} & set(room.may_include):
        return f"{own} may not include {included}"
    is_door = door.has_door(included.removeprefix(name))
    return None if is_door else f"{included} is no door of {name}"


def wrong_include(source: Path, file: str, included: str) -> str | None:
    if ".." in included or not (source / included).is_file():
        return f"{included} is not there: includes start at probe/src"
    if not included.endswith(".h"):
        return f"{included} is no header"
    here = room_of(file)
    return wrong_way_in(*here, included) if here else None


def wrong_includes(source: Path) -> list[str]:
    told = []
    for file in files(source):
        if room_of(file) is None:
            told.append(f"{file}: is in no room")
        reasons = [wrong_include(source, file, included) for included in includes(source, file)]
        told += [f"{file}: {reason}" for reason in reasons if reason]
    return told


def descriptors(source: Path) -> list[tuple[str, str, str]]:
    """(file, symbol, ID) of every test."""
    texts = {file: (source / file).read_text() for file in files(source)}
    return [(file, *found) for file, text in texts.items() for found in DESCRIPTOR.findall(text)]


def wrong_names(source: Path) -> list[str]:
    told = []
    families: dict[str, str] = {}
    for file, symbol, test_id in descriptors(source):
        name = test_id.lower().replace("-", "_")
        family = families.setdefault(test_id[:3], file.rpartition("/")[0])
        if (symbol, file) != (name, f"{family}/{name}.c"):
            told.append(f"{file}: {test_id} is the symbol {name} in {family}/{name}.c")
    return told


def named_outside(source: Path) -> list[str]:
    """Tests that anybody but the register names."""
    homes = {symbol: file for file, symbol, _ in descriptors(source)}
    told = []
    for file in files(source):
        words = set(re.findall(r"\w+", COMMENT.sub("", (source / file).read_text())))
        named = {name for name in homes.keys() & words if file not in (homes[name], REGISTER)}
        told += [f"{file}: names {name}" for name in sorted(named)]
    return told


def test_every_include_is_allowed() -> None:
    assert wrong_includes(SOURCE) == []


def test_the_table_has_nothing_that_is_not_there() -> None:
    here = [(file, *found) for file in files(SOURCE) if (found := room_of(file))]
    headers = {file for file, _, _ in here if file.endswith(".h")}
    names = {name for _, _, name in here}
    assert {room.name for room in ROOMS} == {room.name for _, room, _ in here}
    doors = {f"{room.name}{door}" for room in ROOMS for door in room.doors if door.endswith(".h")}
    assert doors - headers == set()
    assert {one for room in ROOMS for one in room.may_include} - headers - names == set()


def test_a_test_is_named_as_its_id() -> None:
    assert wrong_names(SOURCE) == []


def test_every_test_has_the_page_of_its_name() -> None:
    ids = {test_id.lower() for _, _, test_id in descriptors(SOURCE)}
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == ids


def test_only_the_register_names_tests() -> None:
    assert named_outside(SOURCE) == []
    entries = ENTRY.findall((SOURCE / REGISTER).read_text())
    assert sorted(entries) == sorted(symbol for _, symbol, _ in descriptors(SOURCE))


# A tree that keeps the rule, and what each file of it may have in addition that breaks it.
TREE = {
    "base/clock.h": "",
    "base/clock.c": '#include "base/clock.h"\n',
    "realtime/burst.h": "",
    "realtime/run_delay.h": "",
    "run/run.h": '#include "base/clock.h"\n',
    "run/stream.h": "",
    "load/load.h": "",
    "shield/shield.h": "",
    "command/args.h": "",
    "port/port.h": "",
    "port/linux/files.h": '#include "port/port.h"\n',
    "family/shared/peer.h": "",
    "family/mutex/lock_kind.h": "",
    "family/timer/mechanism.h": '#include "realtime/burst.h"\n#include "port/port.h"\n',
    "family/timer/tmr_p_lat.c": '#include "family/timer/mechanism.h"\n#include "run/run.h"\n'
    '#include "family/shared/peer.h"\n/* as tmr_p_jit */\n'
    'const struct test tmr_p_lat = {\n    .id = "TMR-P-LAT",\n};\n',
    "family/timer/tmr_p_jit.c": 'const struct test tmr_p_jit = {\n    .id = "TMR-P-JIT",\n};\n',
}
LAT = "family/timer/tmr_p_lat.c"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for file, text in TREE.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return tmp_path


def test_a_tree_that_keeps_the_rule_passes(tree: Path) -> None:
    assert wrong_includes(tree) == wrong_names(tree) == named_outside(tree) == []


@pytest.mark.parametrize(
    ("file", "included", "reason"),
    [
        (LAT, "load/load.h", "family/timer/ may not include load/load.h"),
        (LAT, "shield/shield.h", "family/timer/ may not include shield/shield.h"),
        (LAT, "command/args.h", "family/timer/ may not include command/args.h"),
        (LAT, "family/mutex/lock_kind.h", "family/timer/ may not include family/mutex/lock_kind.h"),
        (LAT, "port/linux/files.h", "family/timer/ may not include port/linux/files.h"),
        (LAT, "run/stream.h", "family/timer/ may not include run/stream.h"),
        (LAT, "realtime/run_delay.h", "realtime/run_delay.h is no door of realtime/"),
        (LAT, "family/timer/tmr_p_jit.c", "family/timer/tmr_p_jit.c is no header"),
        (LAT, "mechanism.h", "mechanism.h is not there: includes start at probe/src"),
        (LAT, "../timer/mechanism.h", "../timer/mechanism.h is not there: includes start at"),
        ("family/shared/peer.h", "family/timer/mechanism.h", "family/shared/ may not include"),
        ("run/run.h", "family/shared/peer.h", "run/ may not include family/shared/peer.h"),
        ("base/clock.h", "run/run.h", "base/ may not include run/run.h"),
        ("load/load.h", "command/args.h", "load/ may not include command/args.h"),
        ("attic/old.h", "base/clock.h", "is in no room"),
    ],
)
def test_a_wrong_include_is_found(tree: Path, file: str, included: str, reason: str) -> None:
    (tree / file).parent.mkdir(exist_ok=True)
    with (tree / file).open("a") as text:
        text.write(f'#  include "{included}"\n')
    (told,) = wrong_includes(tree)
    assert told.startswith(f"{file}: {reason}")


@pytest.mark.parametrize(
    ("file", "symbol", "test_id"),
    [
        ("family/timer/latency.c", "tmr_p_lat", "TMR-P-LAT"),
        ("family/timer/tmr_p_gap.c", "timer_gap", "TMR-P-GAP"),
        ("family/timer/tmr_p_gap.c", "tmr_p_gap", "TMR-P-GAPS"),
        ("family/tools/tmr_p_gap.c", "tmr_p_gap", "TMR-P-GAP"),
    ],
)
def test_a_wrong_name_is_found(tree: Path, file: str, symbol: str, test_id: str) -> None:
    (tree / file).parent.mkdir(exist_ok=True)
    (tree / file).write_text(f'const struct test {symbol} = {{\n    .id = "{test_id}",\n}};\n')
    assert len(wrong_names(tree)) == 1


def test_a_test_that_is_named_outside_the_register_is_found(tree: Path) -> None:
    (tree / "run/stream.h").write_text("extern const struct test tmr_p_jit;\n")
    (tree / REGISTER).write_text("TEST(tmr_p_jit)\n")
    assert named_outside(tree) == ["run/stream.h: names tmr_p_jit"]
