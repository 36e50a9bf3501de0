"""Commands as this person types them, from the folder and with the PATH that they have."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from contextvars import ContextVar
from pathlib import Path

CAPABILITIES = "cap_sys_nice,cap_ipc_lock=ep"
_NAME = "hardstone"
_OF_A_STORE = re.compile(r" (?:evaluate|runs|show|report)\b")
_STORE: ContextVar[Path | None] = ContextVar("store", default=None)
# What sudo and su search: of the person's own PATH nothing is left there.
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ROOT_COMMAND = re.compile(rf"sudo {_NAME}\b(.*)", re.DOTALL)
_SUDO = re.compile(r"(^|[|;&] )sudo ")  # where a command begins
_OWN_COMMAND = re.compile(rf"{_NAME}\b(.*)", re.DOTALL)
_REMEDY = re.compile(r"(?:(.*): )?((?:sudo|hardstone|mkdir|make|rm) .*)")
_PLAIN_REMEDY = re.compile(r"(?:(.*): )?((?:sudo )?hardstone [A-Za-z0-9 _.=,@-]+)")


def as_typed(command: str) -> str:
    """`command` of a text, `hardstone ...` or `sudo hardstone ...`, as it works here.

    Of others, pipes too, only `sudo` is looked at. Arguments must be quoted already.
    """
    if found := _ROOT_COMMAND.fullmatch(command):
        return as_root(_program(ROOT_PATH) + _in_store(found[1]))
    if found := _OWN_COMMAND.fullmatch(command):
        search = ROOT_PATH if _is_sudo() else os.environ.get("PATH", os.defpath)
        return f"{'sudo ' if _is_sudo() else ''}{_program(search)}{_in_store(found[1])}"
    return as_root(command[5:]) if _is_one_sudo(command) else _without_missing_sudo(command)


def stay_in(store: Path | None) -> None:
    """Commands on runs are for the store that the person has named, from now on."""
    _STORE.set(store)


def _in_store(arguments: str) -> str:
    store = _STORE.get()
    if store is None or not _OF_A_STORE.match(arguments):
        return arguments
    return f"{arguments} --store {shlex.quote(shortest(store))}"


def _is_one_sudo(command: str) -> bool:
    """`sudo` and one program: not a pipe, nor several commands, of which one has it."""
    return command.startswith("sudo ") and not re.search(r"[|;&]|sudo .*sudo ", command)


def _without_missing_sudo(command: str) -> str:
    """Several commands of which some need root: where there is no sudo, one shell of root's."""
    if not _SUDO.search(command) or shutil.which("sudo"):
        return command
    plain = _SUDO.sub(r"\1", command)
    if os.geteuid() == 0:
        return plain
    return f"su -c {shlex.quote(f'export PATH=$PATH:/usr/sbin:/sbin; {plain}')}"


def as_root(command: str) -> str:
    """`command` with the rights of root: root needs nothing, small systems have no sudo."""
    if os.geteuid() == 0 and not _is_sudo():
        return command
    if shutil.which("sudo"):
        return f"sudo {command}"
    return f"su -c {shlex.quote(f'PATH=$PATH:/usr/sbin:/sbin {command}')}"  # su keeps the PATH


def grant_commands(probe: str, search: str = ROOT_PATH) -> list[str]:
    """What gives the executable `probe` real-time scheduling and locked memory.

    The last command is setcap; where no folder of `search` has it, what installs it comes first.
    """
    commands = [as_root(f"setcap {CAPABILITIES} {shlex.quote(shortest(Path(probe)))}")]
    if shutil.which("setcap", path=search) is None and shutil.which("apt-get"):
        commands.insert(0, as_root("apt-get install libcap2-bin"))
    return commands


def parted(remedy: str) -> tuple[str, str]:
    """The words of "words: command", and the command; one of the two may be empty.

    For remedies of the toolkit's own, which quote what they did not choose.
    """
    found = _REMEDY.fullmatch(remedy)
    return (found[1] or "", found[2]) if found else (remedy, "")


def parted_text(text: str) -> tuple[str, str]:
    """The same for a text whose last clause may be of others: plain hardstone commands only."""
    before, _, last = text.rpartition("; ")
    found = _PLAIN_REMEDY.fullmatch(last)
    if not found:
        return text, ""
    words = [part for part in (before, found[1]) if part]
    return "; ".join(words), found[2]


def shortest(path: Path) -> str:
    """`path` from the current folder, or from the root where that is shorter; with a slash."""
    whole = str(path.absolute())
    if not _is_folder_of_the_person():
        return whole
    relative = os.path.relpath(whole)
    if "/" not in relative:
        relative = f"./{relative}"
    return min(relative, whole, key=len)


def _program(search: str) -> str:
    """The shell words that start this program where `search` is the PATH."""
    script = _script()
    if script is None:
        return f"{shlex.quote(shortest(Path(sys.executable)))} -m {_NAME}"
    found = shutil.which(_NAME, path=search)
    if found is not None and Path(found).samefile(script):
        return _NAME
    return shlex.quote(shortest(script))


def _script() -> Path | None:
    """The command as it was called; of `python -m hardstone` the one beside that Python."""
    places = [Path(sys.argv[0]), Path(sys.executable).parent / _NAME]
    own = [place for place in places if place.name == _NAME and place.is_file()]
    return own[0] if own else None


def _is_sudo() -> bool:
    """Whether the person is another one, who became root for this command."""
    return os.geteuid() == 0 and os.environ.get("SUDO_UID", "0") != "0"


def _is_folder_of_the_person() -> bool:
    """Not after `make -C`, which went elsewhere than the shell that its person types in."""
    if "w" in os.environ.get("MAKEFLAGS", "").partition(" ")[0]:
        return False
    try:
        return Path(os.environ.get("PWD", ".")).samefile(".")
    except OSError:
        return False
