"""What a guest wrote to its console, and why it ended. Neither is trusted."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from hardstone.files import replace_file

MOST_CONSOLE_BYTES = 1 << 26  # the guard ends a QEMU that writes more
_MOST_BYTES = 1 << 16
_KEPT_BYTES = 1 << 20
_SHOWN_CHARS = 300
_PANIC = re.compile(r"Kernel panic - not syncing: [^\n]*")
_NO_PORT = "hardstone-lab: no port of virtio-serial"
_NO_DRIVER = "hardstone-lab: no driver for the device"
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[@-_])?")


def console_lines(folder: Path) -> list[str]:
    """The last lines of the console, printable."""
    lines = _printable(_tail(folder / "console")).splitlines()
    return [line.strip() for line in lines if line.strip()]


def said_last(folder: Path) -> str:
    """The last line of the console in a message. It belongs to the cause of an error: from a
    remedy, commands to type are taken."""
    lines = console_lines(folder)
    if not lines:
        return "its console said nothing"
    return f"its console said last: {lines[-1][:_SHOWN_CHARS]}"


def keep_console(folder: Path, log: Path) -> None:
    """Keeps the end of the console as the file `log`, where it can be written: it only helps a
    person."""
    with contextlib.suppress(OSError):
        with (folder / "console").open("rb") as file:
            file.seek(max(0, _size_bytes(folder / "console") - _KEPT_BYTES))
            content = file.read(_KEPT_BYTES)
        log.parent.mkdir(parents=True, exist_ok=True)
        replace_file(log, content, 0o644, is_durable=False)


def why_it_ended(folder: Path) -> tuple[str, str]:
    """Why a guest ended, and what to do about it ("" where nothing is known)."""
    console = "\n".join(console_lines(folder))
    if _NO_PORT in console:
        return (
            "the kernel has no driver for the channel to the lab",
            "switch on CONFIG_VIRTIO_PCI and CONFIG_VIRTIO_CONSOLE, or give the kernel's modules: "
            "hardstone lab add NAME --kernel PATH --modules DIR",
        )
    if _NO_DRIVER in console:
        return (
            "the kernel has no driver for the device",
            "switch on CONFIG_UIO_PCI_GENERIC=m and give the kernel's modules: "
            "hardstone lab add NAME --kernel PATH --modules DIR",
        )
    if found := _PANIC.search(console):
        return found[0][:_SHOWN_CHARS], ""
    if _size_bytes(folder / "console") >= MOST_CONSOLE_BYTES:
        return f"its console wrote {MOST_CONSOLE_BYTES >> 20} MiB and more; {said_last(folder)}", ""
    said = _printable(_tail(folder / "qemu")).strip().splitlines()
    if said:
        return f"QEMU said: {said[-1][:_SHOWN_CHARS]}", ""
    return f"QEMU was ended, or the guest switched itself off; {said_last(folder)}", ""


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_BYTES))
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _printable(text: str) -> str:
    text = _ESCAPES.sub("", text).replace("\r", "\n")
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
