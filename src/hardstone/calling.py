"""Commands in the form that works for this user, from the current folder and with their PATH."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextvars import ContextVar
from pathlib import Path

CAPABILITIES = "cap_sys_nice,cap_ipc_lock=ep"
_NAME = "hardstone"
_OF_A_STORE = re.compile(r" (?:evaluate|runs|show|report|study)\b")
_STORE: ContextVar[Path | None] = ContextVar("store", default=None)
# The PATH of sudo and su, which do not keep the user's own.
_ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ROOT_COMMAND = re.compile(rf"sudo {_NAME}\b(.*)", re.DOTALL)
_SUDO = re.compile(r"(^|[|;&] )sudo ")  # where a command begins
_OWN_COMMAND = re.compile(rf"{_NAME}\b(.*)", re.DOTALL)
_REMEDY = re.compile(r"(?:(.*): )?((?:sudo|hardstone|mkdir|make|rm|ssh|ssh-copy-id|ssh-keygen) .*)")
_SUGGESTED = re.compile(
    r"(?:sudo )?hardstone [A-Za-z0-9 _.=,:@/-]+|sudo sysctl [a-z0-9_.]+=-?[0-9]+"
    r"|sudo apt install stress-ng|sudo chmod a\+rw /dev/cpu_dma_latency"
    r"|mount -t tracefs tracefs /sys/kernel/tracing"
)
_SHELL_WORD = r"(?:[\w@%+=:,./~-]+|'[^']*')"
_GRANTING = re.compile(
    rf"(?:sudo )?setcap {CAPABILITIES} {_SHELL_WORD}|ulimit -r (?:[0-9]+|unlimited)"
    rf"|echo [0-9]+ \| (?:sudo )?tee {_SHELL_WORD}",
    re.ASCII,
)
_PLAIN_REMEDY = re.compile(r"(?:(.*): )?((?:sudo )?hardstone [A-Za-z0-9 _.=,:@/-]+)")


def as_typed(command: str) -> str:
    """`command`, `hardstone ...` or `sudo hardstone ...` in a text, in the form that works here.

    Of other commands and pipes only `sudo` is adapted. Arguments must be quoted already.
    """
    if found := _ROOT_COMMAND.fullmatch(command):
        return as_root(_program(_ROOT_PATH) + _in_store(found[1]))
    if found := _OWN_COMMAND.fullmatch(command):
        search = _ROOT_PATH if _is_sudo() else os.environ.get("PATH", os.defpath)
        return f"{'sudo ' if _is_sudo() else ''}{_program(search)}{_in_store(found[1])}"
    is_one_sudo = command.startswith("sudo ") and not re.search(r"[|;&]|sudo .*sudo ", command)
    return as_root(command[5:]) if is_one_sudo else _without_missing_sudo(command)


def stay_in(store: Path | None) -> None:
    """From now on, commands on runs name the store that the user has named."""
    _STORE.set(store)


def _in_store(arguments: str) -> str:
    store = _STORE.get()
    if store is None or not _OF_A_STORE.match(arguments):
        return arguments
    return f"{arguments} --store {shlex.quote(shortest(store))}"


def _without_missing_sudo(command: str) -> str:
    """`command` with parts that need root; without sudo on the system, in one root shell."""
    if not _SUDO.search(command) or _which("sudo"):
        return command
    plain = _SUDO.sub(r"\1", command)
    if os.geteuid() == 0:
        return plain
    return f"su -c {shlex.quote(f'export PATH=$PATH:/usr/sbin:/sbin; {plain}')}"


def as_root(command: str) -> str:
    """`command` with the rights of root; root needs no sudo, and small systems have none."""
    if os.geteuid() == 0 and not _is_sudo():
        return command
    if _which("sudo"):
        return f"sudo {command}"
    return f"su -c {shlex.quote(f'PATH=$PATH:/usr/sbin:/sbin {command}')}"  # su keeps the PATH


def grant_commands(probe: str, search: str = _ROOT_PATH) -> list[str]:
    """The commands that grant the executable `probe` real-time scheduling and locked memory.

    The last one is setcap. If no folder of `search` has it, the command that installs it is first.
    """
    commands = [as_root(f"setcap {CAPABILITIES} {shlex.quote(shortest(Path(probe)))}")]
    if _which("setcap", path=search) is None and _which("apt-get"):
        commands.insert(0, as_root("apt-get install libcap2-bin"))
    return commands


def harmless(command: object) -> str:
    """`command` of a document or stream, if it is one that a probe suggests; else "".

    It is shown as what to type, and documents come from anywhere.
    """
    is_known = isinstance(command, str) and _SUGGESTED.fullmatch(command)
    return str(command) if is_known else ""


def granting(command: str) -> str:
    """`command` of a document, if it is one that grants real-time scheduling; else ""."""
    return command if _GRANTING.fullmatch(command) else ""


def parted(remedy: str) -> tuple[str, str]:
    """The words of "words: command", and the command; one of the two may be empty.

    Only for the toolkit's own remedies, which quote foreign text.
    """
    found = _REMEDY.fullmatch(remedy)
    return (found[1] or "", found[2]) if found else (remedy, "")


def parted_text(text: str) -> tuple[str, str]:
    """The same for a text that may end in foreign words: accepts plain hardstone commands only."""
    before, _, last = text.rpartition("; ")
    found = _PLAIN_REMEDY.fullmatch(last)
    if not found:
        return text, ""
    words = [part for part in (before, found[1]) if part]
    return "; ".join(words), found[2]


def shortest(path: Path) -> str:
    """`path` relative to the current folder, or absolute if that is shorter; with a slash."""
    whole = str(path.absolute())
    if not _is_folder_of_the_person():
        return whole
    relative = os.path.relpath(whole)
    if "/" not in relative:
        relative = f"./{relative}"
    return min(relative, whole, key=len)


def _program(search: str) -> str:
    """The shell words that start this program when `search` is the PATH."""
    # Under `python -m hardstone` argv[0] is no script: then the one next to that Python.
    places = [Path(sys.argv[0]), Path(sys.executable).parent / _NAME]
    script = next((place for place in places if place.name == _NAME and place.is_file()), None)
    if script is None:
        return f"{shlex.quote(shortest(Path(sys.executable)))} -m {_NAME}"
    found = _which(_NAME, path=search)
    if found is not None and Path(found).samefile(script):
        return _NAME
    return shlex.quote(shortest(script))


def _which(program: str, path: str | None = None) -> str | None:
    import shutil  # with its archives of every kind: most commands name no other program

    return shutil.which(program, path=path)


def _is_sudo() -> bool:
    """Whether another user became root for this command."""
    return os.geteuid() == 0 and os.environ.get("SUDO_UID", "0") != "0"


def _is_folder_of_the_person() -> bool:
    """Whether this is the folder of the user's shell: not so after `make -C`, which left it."""
    if "w" in os.environ.get("MAKEFLAGS", "").partition(" ")[0]:
        return False
    try:
        return Path(os.environ.get("PWD", ".")).samefile(".")
    except OSError:
        return False
