"""What other systems have of the calls that the probe asks for: docs/reference/other-systems.md.

    python tools/other_systems.py                    writes the table into the page
    python tools/other_systems.py --check            fails if the page has another one
    python tools/other_systems.py --build FOLDER reads the answers of a Meson build
    python tools/other_systems.py --headers FOLDER... looks for declarations

What is asked for stands in probe/meson.build alone. The answers are in tools/other_systems.toml;
--build and --headers print the lines for it. A declaration is weaker than a link: a system may
declare a call that its configuration leaves out.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MESON = ROOT / "probe/meson.build"
PORTS = ROOT / "probe/src/port"
DATA = ROOT / "tools/other_systems.toml"
PAGE = ROOT / "docs/reference/other-systems.md"
MARKS = ("<!-- calls -->", "<!-- end of calls -->", "<!-- ports -->", "<!-- end of ports -->")
MOST_HEADER_BYTES = 2_000_000
LANGUAGE = {"return", "sizeof"}
# Constants that decide whether a feature is there, beside its calls.
CONSTANTS = re.compile(
    r"\b(?:PTHREAD_(?!MUTEX_INITIALIZER)\w+|SCHED_SPORADIC|O_ASYNC|SIGIO|FIONREAD|O_D?SYNC|SIGSTOP|"
    r"CLOCK_\w+_CPUTIME_ID|POSIX_TYPED_MEM_\w+)\b"
)


@dataclass(frozen=True)
class Feature:
    """A feature of probe/meson.build and the names that the program which finds it uses."""

    macro: str
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.macro.removeprefix("HS_HAS_").lower().replace("_", " ")


def features(text: str) -> list[Feature]:
    """The features that a meson.build finds by programs, in its order."""
    table = text[text.index("feature_calls = {") :]
    found = []
    for macro, program in re.findall(r"^  '(HS_HAS_\w+)': '(.*)',$", table, re.MULTILINE):
        calls = set(re.findall(r"\b([a-z_][a-z0-9_]*)\(", program)) - LANGUAGE
        members = set(re.findall(r"\bi\.(si_\w+)", program))
        names = sorted(calls | members | set(CONSTANTS.findall(program)))
        found.append(Feature(macro, tuple(names)))
    return found


def of_build(folder: Path) -> dict[str, bool]:
    """Each feature as Meson found it by linking a program."""
    commands = json.loads((folder / "compile_commands.json").read_text())
    found = re.findall(r"-D(HS_HAS_\w+)=([01])\b", commands[0]["command"])
    return {macro: answer == "1" for macro, answer in found}


def declared(folders: Iterable[Path]) -> set[str]:
    """All words of the headers outside of comments."""
    words: set[str] = set()
    for folder in folders:
        for file in sorted(folder.rglob("*.h")):
            if file.is_file() and file.stat().st_size <= MOST_HEADER_BYTES:
                text = file.read_text(encoding="utf-8", errors="replace")
                words.update(
                    re.findall(r"\w+", re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S))
                )
    return words


def missing_names(all_of: Sequence[Feature], words: set[str]) -> dict[str, list[str]]:
    """Features of which the headers lack a name, and those names."""
    lacking = {one.macro: [name for name in one.names if name not in words] for one in all_of}
    return {macro: names for macro, names in lacking.items() if names}


def contract() -> dict[str, int]:
    """How many functions of the contract each file of a port has."""
    return {
        file.name: len(
            re.findall(r"^[a-z][\w *]*?\bport_\w+\([^;]*?\)\n\{", file.read_text(), re.M)
        )
        for file in sorted((PORTS / "posix").glob("*.c"))
    }


def cell(system: Mapping[str, Any], macro: str) -> str:
    if macro in system.get("unknown", ()):
        return "?"
    if system.get("known") is not None and macro not in system["known"]:
        return "-" if macro in system["lacks"] else "?"
    return "-" if macro in system["lacks"] else "yes"


def calls_table(systems: Sequence[Mapping[str, Any]], all_of: Sequence[Feature]) -> str:
    names = [system["name"] for system in systems]
    lines = [
        f"| what the probe asks for | {' | '.join(names)} |",
        "| --- |" + " --- |" * len(names),
    ]
    for one in all_of:
        cells = " | ".join(cell(system, one.macro) for system in systems)
        calls = ", ".join(f"`{name}`" for name in one.names)
        lines.append(f"| **{one.title}**: {calls} | {cells} |")
    return "\n".join(lines)


def ports_table(systems: Sequence[Mapping[str, Any]]) -> str:
    sizes = contract()
    lines = [
        "| system | answers from | lacks | port: files, functions | state |",
        "| --- | --- | --- | --- | --- |",
    ]
    for system in systems:
        files = system["files"]
        count = sum(sizes[file] for file in files)
        of = ", ".join(f"`{file}`" for file in files)
        lacks = str(len(system["lacks"]))
        if system.get("known") is not None:
            lacks += " known"
        answers = f"{system['how']}: {system['source']}"
        work = f"{of}: {count}" + (f"; {system['beside']}" if system.get("beside") else "")
        lines.append(f"| {system['name']} | {answers} | {lacks} | {work} | {system['state']} |")
    return "\n".join(lines)


def page_with(text: str, systems: Sequence[Mapping[str, Any]], all_of: Sequence[Feature]) -> str:
    """The page with both tables between their marks."""
    for begin, end, table in (
        (MARKS[0], MARKS[1], calls_table(systems, all_of)),
        (MARKS[2], MARKS[3], ports_table(systems)),
    ):
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return text


def stored(path: Path = DATA) -> list[dict[str, Any]]:
    systems: list[dict[str, Any]] = tomllib.loads(path.read_text())["system"]
    return systems


def complaints(systems: Sequence[Mapping[str, Any]], all_of: Sequence[Feature]) -> list[str]:
    """What a system's answers name that the probe does not ask for, or leave out."""
    asked = {one.macro for one in all_of}
    found = []
    for system in systems:
        named = {*system["lacks"], *system.get("known", ()), *system.get("unknown", ())}
        found += [f"{system['name']}: {macro} is not asked for" for macro in sorted(named - asked)]
        files = set(system["files"]) - set(contract())
        found += [f"{system['name']}: no file of the contract: {file}" for file in sorted(files)]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--headers", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    all_of = features(MESON.read_text())
    if options.build:
        lacks = [macro for macro, has in of_build(options.build).items() if not has]
        print(f"lacks = {json.dumps(lacks)}")
        return 0
    if options.headers:
        for macro, names in missing_names(all_of, declared(options.headers)).items():
            print(f"{macro}: {' '.join(names)}")
        return 0
    systems = stored()
    if wrong := complaints(systems, all_of):
        print("\n".join(wrong))
        return 1
    text = PAGE.read_text()
    wanted = page_with(text, systems, all_of)
    if options.check and wanted != text:
        print(f"{PAGE}: run tools/other_systems.py")
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
