"""`hardstone lab`: the kernels that can be booted in a virtual machine of this machine."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hardstone.cli.help import WHAT, Option, declare_group
from hardstone.cli.messages import print_json, tell, tell_error
from hardstone.cli.options import json_option, quiet_option
from hardstone.errors import EXIT_OK, TargetError

if TYPE_CHECKING:
    from hardstone.lab.debian import Steps
    from hardstone.lab.kernels import Kernel

_FILE = click.Path(path_type=Path)


@declare_group(
    "lab",
    "hardstone lab get debian-rt",
    "hardstone evaluate --target lab:debian-rt",
    no_args_is_help=False,
)
def command() -> None:
    """Fetch, add, list or remove kernels for virtual machines.

    --target lab:NAME measures the kernel NAME.
    """


@command.command(
    "get", examples=("hardstone lab get debian", "hardstone lab get debian-rt@6.12 --arch arm64")
)
@click.argument("what", metavar="debian|debian-rt[@VERSION]")
@click.option(
    "--arch",
    cls=Option,
    group=WHAT,
    metavar="[amd64|arm64]",
    help="Architecture (default: this machine's).",
)
@quiet_option
def get(what: str, arch: str | None, quiet: bool) -> int:
    """Fetch Debian's standard or PREEMPT_RT kernel with apt.

    VERSION is for example 6.12, 6.1.192 or 6.1.192-2 (default: the kernel of the release). apt uses
    the sources of this machine, checks their signatures, and keeps the package lists in a folder of
    the lab. Nothing is installed; root is not needed.
    """
    from hardstone.lab.debian import get_debian, parse_wanted

    wanted = parse_wanted(what, arch)
    with _steps_shown(quiet=quiet) as steps:
        kernel, before = get_debian(wanted, steps)
    return _print_stored(kernel, before)


@command.command(
    "add",
    examples=(
        "hardstone lab add mine --kernel arch/x86/boot/bzImage --config .config",
        "hardstone lab add mine --kernel bzImage --modules lib/modules/6.12.1",
    ),
)
@click.argument("name")
@click.option(
    "--kernel",
    cls=Option,
    group=WHAT,
    type=_FILE,
    metavar="PATH",
    required=True,
    help="Image of the kernel: bzImage or Image.",
)
@click.option(
    "--modules",
    cls=Option,
    group=WHAT,
    type=_FILE,
    metavar="DIR",
    help="Its modules: the folder lib/modules/RELEASE.",
)
@click.option(
    "--config",
    cls=Option,
    group=WHAT,
    type=_FILE,
    metavar="FILE",
    help="Its configuration, to check it.",
)
@click.option(
    "--append",
    cls=Option,
    group=WHAT,
    metavar="TEXT",
    default="",
    help="Append TEXT to its command line.",
)
@click.option(
    "--busybox",
    cls=Option,
    group=WHAT,
    type=_FILE,
    metavar="PATH",
    help="A static busybox (default: this machine's).",
)
def add(name: str, kernel: Path, **more: Any) -> int:
    """Add a kernel that you built or downloaded.

    The files are copied. An existing kernel NAME is replaced. Without --modules the kernel must
    have virtio_pci and virtio_console built in.
    """
    from hardstone.lab.debian import read_kernel
    from hardstone.lab.kernels import add_kernel
    from hardstone.lab.lab_folder import check_name

    check_name(name)
    return _print_stored(*add_kernel(name, read_kernel(kernel, **more)))


@command.command("list", examples=("hardstone lab list", "hardstone lab list --json"))
@json_option
def list_kernels(as_json: bool) -> int:
    """List the kernels of the lab."""
    from hardstone.lab.kernels import all_kernels, damaged_kernels

    kernels, damaged = all_kernels(), damaged_kernels()
    missing = _missing_emulators({kernel.arch for kernel in kernels})
    if as_json:
        rows = [
            {
                "name": kernel.name,
                "arch": kernel.arch,
                "release": kernel.release or None,
                "package": kernel.package or None,
                "append": kernel.append,
                "sha256": kernel.sha256,
                "image": str(kernel.image),
                "has_emulator": kernel.arch not in missing,
            }
            for kernel in kernels
        ]
        print_json(rows)
    elif kernels:
        _print_kernels(kernels, missing)
    elif not damaged:
        from hardstone.terminal.console import make_console, print_command, words

        console = make_console()
        console.print(words("no kernels yet; to fetch one:"))
        print_command(console, "hardstone lab get debian")
    for name, reason in damaged.items():
        tell(f"{name} is damaged: {reason}; to remove it", f"hardstone lab remove {name}")
    for error in missing.values():
        tell_error(error)
    return EXIT_OK


@command.command(
    "remove", examples=("hardstone lab remove mine", "hardstone lab remove debian debian-rt")
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def remove(names: tuple[str, ...]) -> int:
    """Remove kernels from the lab."""
    from hardstone.lab.kernels import check_known, remove_kernel

    asked = list(dict.fromkeys(names))
    for name in asked:
        check_known(name)
    for name in asked:
        remove_kernel(name)
        tell(f"removed {name}")
    return EXIT_OK


def _print_stored(kernel: Kernel, before: Kernel | None) -> int:
    """Says what was stored, what it replaced, and what to type next."""
    click.echo(f"{kernel.name}: {_described(kernel)}")
    if before is not None:
        is_same = (before.sha256, before.package) == (kernel.sha256, kernel.package)
        tell("the kernel is the same as before" if is_same else f"it was {_described(before)}")
    for error in _missing_emulators({kernel.arch}).values():
        tell_error(error)
    tell("to measure it", f"hardstone evaluate --target lab:{kernel.name}")
    return EXIT_OK


def _described(kernel: Kernel) -> str:
    parts = [kernel.release or "unknown release", kernel.arch, kernel.package, kernel.append]
    return ", ".join(part for part in parts if part)


def _missing_emulators(arches: set[str]) -> dict[str, TargetError]:
    from hardstone.lab.qemu import emulator

    missing = {}
    for arch in sorted(arches):
        try:
            emulator(arch)
        except TargetError as error:
            missing[arch] = error
    return missing


@contextmanager
def _steps_shown(*, quiet: bool) -> Iterator[Steps]:
    """What `get_debian` reports its steps and its downloads to."""
    from hardstone.lab.debian import Steps
    from hardstone.terminal.console import make_console

    if quiet:
        yield Steps()
        return
    console = make_console(sys.stderr)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield Steps(step=tell)
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TransferSpeedColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(
        *columns, TransferSpeedColumn(), console=console, transient=True, redirect_stdout=False
    ) as progress:
        task = progress.add_task("", total=None, visible=False)

        def step(text: str) -> None:
            progress.update(task, visible=False)
            tell(text)

        def download(done_bytes: int, total_bytes: int) -> None:
            known = max(done_bytes, total_bytes)
            progress.update(task, completed=done_bytes, total=known, visible=True)

        yield Steps(step, download)


def _print_kernels(kernels: Sequence[Kernel], without_emulator: Container[str]) -> None:
    """Prints one row for each kernel; `without_emulator`: architectures that lack their QEMU."""
    from hardstone.terminal.console import make_console, make_table, print_table, words

    table = make_table()
    table.add_column("name", no_wrap=True)
    table.add_column("arch", no_wrap=True)
    table.add_column("release", overflow="fold")
    table.add_column("version", overflow="fold")
    has_append = any(one.append for one in kernels)
    if has_append:
        table.add_column("append", overflow="fold", ratio=1)
    table.add_column("QEMU", no_wrap=True)
    for one in kernels:
        cells = [
            one.name,
            one.arch,
            one.release or "?",
            one.package.removeprefix(f"linux-image-{one.release}=") or "-",
        ]
        cells += [one.append or "-"] if has_append else []
        cells.append("missing" if one.arch in without_emulator else "yes")
        table.add_row(*(words(cell) for cell in cells))
    print_table(make_console(), table)
