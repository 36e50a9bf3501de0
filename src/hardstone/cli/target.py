"""`hardstone target`: the systems that SSH or a console reaches, by name; and whether measuring
works there.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Container
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import msgspec

from hardstone.cli import completion
from hardstone.cli.help import WHAT, WHERE, Option, declare_group
from hardstone.cli.left_runs import collect, runs_on
from hardstone.cli.messages import notice_messages, print_json, tell
from hardstone.cli.options import json_option, quiet_option
from hardstone.errors import (
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNTRUSTWORTHY,
    HardstoneError,
    InputError,
    PrivilegeError,
    worst_code,
)

if TYPE_CHECKING:
    from hardstone.doctor.diagnose import Diagnosis, Finding, Step
    from hardstone.model import Facts, Scalar
    from hardstone.targets.base import Target
    from hardstone.targets.named import NamedTarget, SshSettings

_ORDER = ("add", "list", "check", "collect", "remove")
_ROUND_TRIPS = 3


@declare_group(
    "target",
    "hardstone target add board ssh://root@192.0.2.7",
    "hardstone target check board",
    "hardstone evaluate --target board",
    order=_ORDER,
    no_args_is_help=False,
)
def command() -> None:
    """Name systems behind SSH or a console, and check them.

    --target NAME measures the target NAME. The names are in targets.toml in the folder
    $XDG_CONFIG_HOME/hardstone (HARDSTONE_TARGETS_FILE names another file), which you may also edit
    yourself. Keys, ports and jump hosts are those of ssh: its configuration applies.
    """


@command.command(
    "add",
    examples=(
        "hardstone target add board ssh://root@192.0.2.7",
        "hardstone target add rack ssh://anna@rack:2222 --sudo --keep-probe",
        "hardstone target add nuttx console:/dev/ttyACM0,baud=921600",
    ),
)
@click.argument("name")
@click.argument("url", metavar="URL")
@click.option(
    "--sudo",
    cls=Option,
    group=WHERE,
    is_flag=True,
    help="Run the probe as root there, through sudo -n.",
)
@click.option(
    "--keep-probe",
    cls=Option,
    group=WHERE,
    is_flag=True,
    help="Leave the probe there after a run, in the cache folder of its user.",
)
@click.option(
    "--folder",
    cls=Option,
    group=WHERE,
    metavar="PATH",
    help="Put the files of runs into a folder in PATH there (default: a folder that takes them).",
)
@click.option(
    "--build-there",
    cls=Option,
    group=WHAT,
    is_flag=True,
    help="Compile the probe there, with that system's compiler and libc.",
)
@click.option(
    "--replace", "replaces", cls=Option, group=WHAT, is_flag=True, help="Replace a target NAME."
)
def add(name: str, url: str, *, replaces: bool, **how: Any) -> int:
    """Give a system that SSH or a console reaches a name.

    URL is ssh://[USER@]HOST[:PORT], or console: and a port with its settings. The options are for
    SSH. Nothing is connected. Comments and the order of the file stay.
    """
    from hardstone.targets.named import SshSettings, add_target, parse_url

    settings = replace(parse_url(url), name=name)
    given = {option: value for option, value in how.items() if value}
    if isinstance(settings, SshSettings):
        settings = replace(settings, **how)
    elif given:
        raise InputError(
            f"--{next(iter(given)).replace('_', '-')} is for a target over SSH",
            "leave it out; a console's settings are in its URL: console:PORT,KEY=VALUE",
        )
    before = add_target(settings, replaces=replaces)
    click.echo(f"{name}: {_described(settings)}")
    if before is not None:
        is_same = before == settings
        tell("the target is the same as before" if is_same else f"it was {_described(before)}")
    tell("to check it", f"hardstone target check {name}")
    return EXIT_OK


@command.command("list", examples=("hardstone target list", "hardstone target list --json"))
@json_option
def list_targets(as_json: bool) -> int:
    """List the targets that have a name."""
    from hardstone.targets.named import named_targets

    found = list(named_targets().values())
    if as_json:
        print_json([{"name": one.name, "url": one.url, **_choices(one)} for one in found])
        return EXIT_OK
    from hardstone.terminal.console import (
        make_console,
        make_table,
        print_command,
        print_table,
        words,
    )

    console = make_console()
    if not found:
        console.print(words("no target has a name yet; to name one:"))
        print_command(console, "hardstone target add NAME ssh://USER@HOST")
        return EXIT_OK
    table = make_table()
    for head in ("name", "url"):
        table.add_column(head, no_wrap=True)
    table.add_column("settings", overflow="fold", ratio=1)
    for one in found:
        table.add_row(words(one.name), words(one.url), words(_settings_text(one) or "-"))
    print_table(console, table)
    return EXIT_OK


@command.command(
    "remove", examples=("hardstone target remove board", "hardstone target remove board rack")
)
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=completion.named_targets
)
def remove(names: tuple[str, ...]) -> int:
    """Remove names of targets.

    Nothing is connected: results that wait there can still be collected by URL.
    """
    from hardstone.targets.named import remove_targets

    for one in remove_targets(names):
        tell(f"removed {one.name}, which was {one.url}")
    return EXIT_OK


command.command(
    "collect",
    examples=("hardstone target collect", "hardstone target collect board -o report.html"),
)(collect)


def _described(settings: NamedTarget) -> str:
    return ", ".join(part for part in (settings.url, _settings_text(settings)) if part)


def _settings_text(settings: NamedTarget) -> str:
    shown = (name.replace("_", " ") if value is True else f"{name} {value}"
             for name, value in _choices(settings).items() if value)  # fmt: skip
    return ", ".join(shown)


def _choices(settings: NamedTarget) -> dict[str, Scalar]:
    from hardstone.targets.named import SshSettings

    if not isinstance(settings, SshSettings):
        return {}  # all of a console's are in its URL
    return {
        "sudo": settings.sudo,
        "keep_probe": settings.keep_probe,
        "folder": settings.folder,
        "build_there": settings.build_there,
    }


class Missing(msgspec.Struct, kw_only=True):
    """A right that the probe lacks on a target: the doctor's rule, and what to do there."""

    rule: str
    title: str
    found: str
    steps: list[Step]


class More(msgspec.Struct, kw_only=True):
    """What the doctor finds besides rights, counted in words, and the command that shows it."""

    found: str
    command: str


class Check(msgspec.Struct, kw_only=True):
    """What `target check` found. `exit_code`: 0 if measuring as real-time works there. `problem`:
    why not, in words; `remedy`: what to do here. None: not known."""

    name: str
    url: str | None = None
    exit_code: int = EXIT_OK
    problem: str | None = None
    remedy: str | None = None
    kernel: str | None = None
    machine: str | None = None
    user: str | None = None
    probe_version: str | None = None
    libc: str | None = None
    round_trip_ns: int | None = None
    can_realtime: bool | None = None
    can_lock: bool | None = None
    missing: list[Missing] = []
    doctor: More | None = None
    left: list[str] = []


@command.command(
    "check",
    examples=("hardstone target check", "hardstone target check board ssh://root@192.0.2.8"),
)
@click.argument("names", metavar="[NAME|URL]...", nargs=-1, shell_complete=completion.targets)
@json_option
@quiet_option
def check(names: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Check whether measuring as real-time works on targets.

    Without names all targets that have one are checked. Each is connected, and the probe runs there
    for a moment and measures nothing. The check says what the system is, how far away, which rights
    are missing and what to type there. The exit code is 0 only if the probe may use real-time
    scheduling and lock memory on all of them; 3: not known, 4: unreachable, 5: rights are missing.
    """
    from hardstone.targets import find_target
    from hardstone.targets.named import named_targets

    asked = list(dict.fromkeys(names)) or list(named_targets())
    if not asked:
        raise InputError(
            "no target has a name yet", "name one: hardstone target add NAME ssh://USER@HOST"
        )
    targets = [find_target(name) for name in asked]
    found = []
    for target in targets:
        found.append(check_of(target, quiet=quiet or as_json))
        if not as_json:
            click.echo("\n" if len(found) > 1 else "", nl=False)
            _print_check(found[-1])
    if as_json:
        print_json(found)
    return worst_code(one.exit_code for one in found)


def check_of(target: Target, *, quiet: bool = False) -> Check:
    """Reaches `target` and asks its probe; whatever fails is in the result."""
    from hardstone.targets.named import named_console, ssh_settings

    settings = ssh_settings(target.name)
    reached = settings or named_console(target.name)
    result = Check(name=target.name, url=None if reached is None else reached.url)
    try:
        with closing(target):
            target.open(notice_messages(quiet=quiet))
            _look(target, settings, result)
    except HardstoneError as error:
        result.exit_code = error.exit_code
        result.problem = error.cause.removeprefix(f"{result.name}: ")
        result.remedy = error.remedy or None
        if settings is not None and settings.sudo and isinstance(error, PrivilegeError):
            _look_without_sudo(settings, result)
    return result


def _look_without_sudo(settings: SshSettings, result: Check) -> None:
    """What else there is to say of a target whose sudo refuses; the refusal stays the problem."""
    from hardstone.targets.probe_target import ProbeTarget
    from hardstone.targets.ssh import SshTransport

    problem = (result.exit_code, result.problem, result.remedy)
    try:
        with closing(ProbeTarget(SshTransport(replace(settings, sudo=False)))) as target:
            target.open()
            _look(target, settings, result)
    except HardstoneError:
        pass  # the first error says what to do next
    result.exit_code, result.problem, result.remedy = problem


def _look(target: Target, settings: SshSettings | None, result: Check) -> None:
    """Puts into `result` what the open target says of itself."""
    from hardstone.cli.doctor import examined
    from hardstone.wording import kernel_text, machine_text

    result.left = _left(result.name, result.url)
    facts, diagnosis = examined(target)
    known = facts.facts
    result.round_trip_ns = _round_trip_ns(target)
    result.kernel, result.machine = kernel_text(known), machine_text(known)
    result.user = _user_text(known)
    result.probe_version, result.libc = facts.probe_version, facts.libc
    result.can_realtime = _claim(known.get("limits.can_realtime"))
    result.can_lock = _claim(known.get("limits.can_lock"))
    rights = _missing_rights(facts, diagnosis, target.probe_path())
    result.missing = [
        Missing(rule=one.rule, title=one.title, found=one.found, steps=one.steps) for one in rights
    ]
    if (
        rights
        and settings is not None
        and not settings.sudo
        and known.get("user.effective_id") != 0
    ):
        result.missing[-1].steps.append(_as_root(settings))
    result.doctor = _more(diagnosis, {one.rule for one in rights})
    result.exit_code, result.problem = _judged(result, diagnosis)


def _judged(result: Check, diagnosis: Diagnosis) -> tuple[int, str | None]:
    """The exit code of a target that answered, and why it is not 0."""
    lacks = [
        words
        for words, may in (
            ("real-time scheduling", result.can_realtime),
            ("locked memory", result.can_lock),
        )
        if may is False
    ]
    if any(one.rule == "selftest" and one.state == "found" for one in diagnosis.findings):
        return EXIT_UNTRUSTWORTHY, "the probe computes wrongly there"
    if lacks:
        return EXIT_PRIVILEGE, f"not granted there: {' and '.join(lacks)}"
    if result.can_realtime is None:
        return EXIT_UNTRUSTWORTHY, "the probe does not say whether real-time scheduling is granted"
    return EXIT_OK, None


def _as_root(settings: SshSettings) -> Step:
    from hardstone.doctor.diagnose import Step

    words = ["hardstone", "target", "add"]
    words += ["NAME"] if settings.name == settings.url else [settings.name]
    words += [settings.url, "--sudo"]
    words += ["--keep-probe"] if settings.keep_probe else []
    words += ["--folder", settings.folder] if settings.folder is not None else []
    words += ["--build-there"] if settings.build_there else []
    words += [] if settings.name == settings.url else ["--replace"]
    return Step(
        words=f"run the probe as root there, where sudo asks for nothing: {shlex.join(words)}"
    )


def _more(diagnosis: Diagnosis, shown: Container[str]) -> More | None:
    from hardstone.doctor.diagnose import LEVEL_NAMES, LEVELS, doctor_command

    counts: Counter[str] = Counter(
        one.level
        for one in diagnosis.findings
        if one.state == "found" and one.level in LEVELS[:2] and one.rule not in shown
    )
    if not counts:
        return None
    found = (
        f"{counts[level]} {LEVEL_NAMES[level]}{'' if counts[level] == 1 else 's'}"
        for level in LEVELS[:2]
        if counts[level]
    )
    return More(found=" and ".join(found), command=doctor_command(diagnosis.target))


def _missing_rights(facts: Facts, diagnosis: Diagnosis, probe_path: str | None) -> list[Finding]:
    """The doctor's findings about rights; of real-time scheduling the one that names the cause."""
    from hardstone.doctor.diagnose import load_rules, realtime_refusal

    rules = load_rules()
    refusal = realtime_refusal(facts.facts, probe_path)
    rights = [
        one
        for one in diagnosis.findings
        if one.state == "found"
        and rules[one.rule].topic == "rights"
        and one.rule != "realtime-priority"
    ]
    return [*([] if refusal is None else [refusal]), *rights]


def _claim(value: Scalar) -> bool | None:
    return value if isinstance(value, bool) else None


def _user_text(facts: dict[str, Scalar]) -> str | None:
    from hardstone.wording import short

    number, name = facts.get("user.effective_id"), facts.get("user.name")
    if number is None:
        return None
    return "root" if number == 0 else short(name or f"user {number}")


def _round_trip_ns(target: Target) -> int | None:
    """The shortest time in which a question about its clock comes back; None where the target's
    clock is this machine's."""
    import time

    took = []
    for _ in range(_ROUND_TRIPS):
        begin_ns = time.monotonic_ns()
        if target.clock_check() is None:
            return None
        took.append(time.monotonic_ns() - begin_ns)
    return min(took)


def _left(name: str, url: str | None) -> list[str]:
    """The runs of the default store that wait on a target, each in words."""
    from hardstone.store.store import Store

    return [
        f"run {one.id}{', for which a program here waits' if one.is_recorded else ''}"
        for one in runs_on(Store().left(), name, url)
    ]


def _print_check(result: Check) -> None:
    """All of it on standard output: of several targets it stays together."""
    from rich.table import Table

    from hardstone.calling import parted
    from hardstone.doctor.screen import print_steps
    from hardstone.targets.console.address import SCHEME
    from hardstone.terminal.console import (
        make_console,
        print_command,
        print_table,
        print_wrapped,
        words,
    )

    console = make_console()
    # The options of a console's own name may come in another order than those of its URL.
    is_url = result.url in (None, result.name) or result.name.startswith(SCHEME)
    title = result.name if is_url else f"{result.name}: {result.url}"
    console.print(words(title, "bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    for label, text in _rows(result):
        grid.add_row(words(label, "dim"), words(text))
    if grid.row_count:
        print_table(console, grid, indent=2)

    def say(text: str, style: str = "", indent: int = 2) -> None:
        print_wrapped(console, text, " " * indent, style)

    for one in result.missing:
        say(f"{one.title} [{one.rule}]", "bold")
        where = "" if result.url is None else f" on {result.name}"
        say(f"{one.found} What to do{where}:" if one.steps else one.found, indent=4)
        print_steps(console, one.steps, result.name)
    if result.left:
        say("to collect what waits there:")
        print_command(console, f"hardstone target collect {shlex.quote(result.name)}")
    if result.doctor is not None:
        say(f"the doctor finds {result.doctor.found}; to see what to change:")
        print_command(console, result.doctor.command)
    if result.problem is None:
        say("ready: measuring as real-time works", "green")
    else:
        say(f"not ready: {result.problem}", "bold red")
        text, typed = parted(result.remedy or "")
        if text:
            say(f"{text}:" if typed else text)
        if typed:
            print_command(console, typed)


def _rows(result: Check) -> list[tuple[str, str]]:
    from hardstone.units import format_ns

    user = result.user and f"runs as {result.user}"
    trip_ns = result.round_trip_ns
    rows = [
        ("kernel", result.kernel),
        ("machine", result.machine),
        ("probe", ", ".join(filter(None, (result.probe_version, result.libc, user)))),
        ("round trip", None if trip_ns is None else format_ns(trip_ns)),
        ("real-time", _granted(result.can_realtime) if result.kernel else None),
        ("locked memory", _granted(result.can_lock) if result.kernel else None),
        ("waiting", "; ".join(result.left)),
    ]
    return [(label, text) for label, text in rows if text]


def _granted(claim: bool | None) -> str:
    return "not known" if claim is None else "granted" if claim else "refused"
