"""Real output in documents, between `<!-- output: COMMAND -->` and `<!-- end -->`.

`<!-- measured: COMMAND -->` is the same for a command whose figures differ from run to run. Such
blocks are refreshed only on request, all those of a document in one store.

A block that boots kernels of the lab is kept as it is, and the reason told, where one of them
or its QEMU is missing; so is one of a target that SSH reaches and that has no name here.
`<!-- fails -->` in the next line: the target cannot be reached, which is what the block shows.

`samples` in the folder of the commands has `tests/samples`: files of other tools.

`<!-- shown: ADDRESSES -->` in the next line keeps some lines of the output, named as in sed:
`/PATTERN/` each line that matches, `/PATTERN/../PATTERN/` each stretch from one to the other.
Lines that were left out are a line `...`; without an address only the command is shown.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from hardstone.lab.lab_folder import lab_folder
from hardstone.targets.named import named_targets, targets_file

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- (output|measured): (.+?) -->\n(.*?)<!-- end -->\n", re.DOTALL)
# Whether another run was measuring is not part of a command's output.
WAITING = re.compile(r"hardstone: .*\banother hardstone measurement\b", re.IGNORECASE)
SHOWN = re.compile(r"<!-- shown:(.*?) -->\n")
FAILS = re.compile(r"<!-- fails -->\n")
LAB_KERNEL = re.compile(r"lab:([^,\s]+)")
BOARD = re.compile(r"(?:--target|target (?:check|collect)) ([A-Za-z0-9._-]+)(?= |$)")
UNREACHABLE = 4
PLACES = ("HARDSTONE_LAB_DIR", "XDG_CACHE_HOME")  # where `home` is not looked into
ADDRESS = re.compile(r" /(.+?)/(?:\.\./(.+?)/)?(?= |$)")
PROGRAMS = {
    "hardstone": ROOT / ".venv" / "bin" / "hardstone",
    "hardstone-probe": ROOT / "build" / "probe" / "hardstone-probe",
}


def refresh(
    text: str,
    *,
    measure: bool,
    matching: str = "",
    afterwards: Callable[[Path], None] = lambda home: None,
) -> str:
    """`text` with the current output in its blocks; of those that `measure`, in those whose
    command has `matching` in it.

    `afterwards` gets the home in which the commands ran, before it is removed.
    """
    with tempfile.TemporaryDirectory(prefix="hardstone-") as home:

        def replace(match: re.Match[str]) -> str:
            kind, command, old = match.groups()
            if kind == "measured" and not (measure and matching in command):
                return match[0]
            missing = why_no_guest(command) or why_no_board(command)
            if missing:
                print(f"kept as it is: {command}: {missing}")
                return match[0]
            fails = FAILS.match(old)
            choice = SHOWN.match(old, fails.end() if fails else 0)
            codes = (UNREACHABLE,) if fails else (0, 1, 3)
            lines = run(command, home, codes).splitlines()
            shown = "\n".join([f"$ {command}", *(kept(lines, choice[1]) if choice else lines)])
            options = "".join(found[0] for found in (fails, choice) if found)
            head = f"<!-- {kind}: {command} -->\n{options}"
            return f"{head}```text\n{shown}\n```\n<!-- end -->\n"

        fresh = BLOCK.sub(replace, text)
        afterwards(Path(home))
        return fresh


def kept(lines: list[str], addresses: str) -> list[str]:
    """The lines that `addresses` name. ValueError for an address without a line."""
    chosen: set[int] = set()
    for first, last in ADDRESS.findall(addresses):
        found = _stretches(lines, first, last)
        if not found:
            raise ValueError(f"no line is /{first}/{f'../{last}/' if last else ''} any more")
        chosen |= found
    if ADDRESS.sub("", addresses).strip():
        raise ValueError(f"these are no addresses: {addresses}")
    shown: list[str] = []
    for at, line in enumerate(lines):
        if at in chosen:
            shown.append(line)
        elif chosen and shown[-1:] != ["..."]:
            shown.append("...")
    return shown


def _stretches(lines: list[str], first: str, last: str) -> set[int]:
    """Numbers of the lines from each that matches `first` to the next that matches `last`."""
    found: set[int] = set()
    for at, line in enumerate(lines):
        if re.search(first, line):
            rest = range(at, len(lines))
            end = next((to for to in rest if re.search(last, lines[to])), None) if last else at
            found |= set(range(at, at if end is None else end + 1))
    return found


def why_no_guest(command: str) -> str:
    """What the kernels of the lab that `command` names lack here; "" if nothing."""
    named = dict.fromkeys(LAB_KERNEL.findall(command))
    if not named:
        return ""
    words = [PROGRAMS["hardstone"], "lab", "list", "--json"]
    done = subprocess.run(words, capture_output=True, check=True)
    kernels = {one["name"]: one for one in json.loads(done.stdout)}
    for name in named:
        if name not in kernels:
            return f"{name} is not in the lab: hardstone lab get {name}"
        if not kernels[name]["has_emulator"]:
            return f"there is no QEMU for {kernels[name]['arch']}: hardstone lab list says more"
    return ""


def why_no_board(command: str) -> str:
    """Which named target of `command` whoever runs this does not have; "" if none."""
    for name in BOARD.findall(command):
        if name != "local" and name not in named_targets():
            return f"{name} has no address: hardstone target add {name} ssh://USER@HOST"
    return ""


def _lend_lab(home: str) -> None:
    """The kernels of the lab of whoever runs this, in `home`: they are too large to fetch anew."""
    lab = Path(home) / ".cache" / "hardstone" / "lab"
    if not lab.is_symlink() and lab_folder().is_dir():
        lab.parent.mkdir(parents=True)
        lab.symlink_to(lab_folder())


def _lend_samples(home: str) -> None:
    """Files of other tools and a run document, so that documents can show what becomes of them."""
    samples, run = Path(home) / "samples", Path(home) / "run.json"
    if not samples.is_symlink():
        samples.symlink_to(ROOT / "tests" / "samples")
        run.symlink_to(ROOT / "schema" / "golden" / "run-1-intervals.json")


def run(command: str, home: str, codes: tuple[int, ...] = (0, 1, 3)) -> str:
    """Output of one of our programs with `home`, shown as `~`, as its home.

    RuntimeError if it ends with none of `codes`.
    """
    _lend_lab(home)
    _lend_samples(home)
    program, *arguments = shlex.split(command)
    inherited = {name: value for name, value in os.environ.items() if name not in PLACES}
    environment = {
        **inherited,
        "HOME": home,
        # What a command says to type names it as the documents do.
        "PATH": f"{PROGRAMS['hardstone'].parent}:{os.environ.get('PATH', os.defpath)}",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "HARDSTONE_TARGETS_FILE": str(targets_file()),
        "COLUMNS": "92",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    done = subprocess.run(
        [PROGRAMS[program], *arguments],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in codes:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout}")
    # Where sudo needs a whole path, it is that of the clone.
    shown = done.stdout.replace(home, "~").replace(str(PROGRAMS["hardstone"]), "hardstone")
    lines = shown.splitlines()
    lines = [line for line in lines if not WAITING.match(line)]
    return "\n".join(line.rstrip() for line in lines).strip("\n")
