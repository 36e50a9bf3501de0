"""What a guest wrote to its console: not trusted, and the reason of its end in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.lab.guest_console import console_lines, keep_console, said_last, why_it_ended

PANIC = b"[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"


def write(folder: Path, console: bytes, qemu: bytes = b"") -> None:
    (folder / "console").write_bytes(console)
    (folder / "qemu").write_bytes(qemu)


def test_a_panic_is_the_reason_wherever_it_stands(tmp_path: Path) -> None:
    write(tmp_path, b"boot\r\n" + PANIC + b"\r\n[    1.3] Rebooting\r\n", b"qemu: something\n")
    reason, remedy = why_it_ended(tmp_path)
    assert reason == PANIC[10:].decode() and remedy == ""


def test_a_kernel_without_driver_is_told_what_to_switch_on(tmp_path: Path) -> None:
    write(tmp_path, b"hardstone-lab: no port of virtio-serial\r\n" + PANIC)
    reason, remedy = why_it_ended(tmp_path)
    assert "no driver" in reason and "CONFIG_VIRTIO_CONSOLE" in remedy and "--modules" in remedy


def test_a_kernel_without_a_driver_for_the_device_is_told_what_to_switch_on(tmp_path: Path) -> None:
    write(tmp_path, b"hardstone-lab: no driver for the device 1234:11e8\r\n")
    reason, remedy = why_it_ended(tmp_path)
    assert "for the device" in reason and "CONFIG_UIO_PCI_GENERIC" in remedy


def test_qemu_gives_the_reason_where_the_console_has_none(tmp_path: Path) -> None:
    write(tmp_path, b"Linux\n", b"warning: x\nqemu-system-x86_64: no \x1b[31mmemory\n")
    assert why_it_ended(tmp_path)[0] == "QEMU said: qemu-system-x86_64: no memory"
    write(tmp_path, b"Linux\n")
    why, remedy = why_it_ended(tmp_path)
    assert why.startswith("QEMU was ended") and why.endswith("; its console said last: Linux")
    assert remedy == ""


def test_without_files_there_is_an_answer(tmp_path: Path) -> None:
    assert why_it_ended(tmp_path)[0] and console_lines(tmp_path) == []
    assert said_last(tmp_path) == "its console said nothing"


@pytest.mark.parametrize(
    ("console", "lines"),
    [
        (b"\x1b[0m\x1b[2Jred\x1b[31;1m and\x1bM blue", ["red and blue"]),
        (b"one\r\ntwo\rthree\n\n  \n", ["one", "two", "three"]),
        (b"bell\x07 null\0 del\x7f", ["bell? null? del?"]),
        (b"bad \xff\xfe utf", ["bad �� utf"]),
        ("csi \x9b31m bidi \u202e end".encode(), ["csi ?31m bidi ? end"]),
        (b"\x1b]0;title\x07rest", ["0;title?rest"]),
        (b"\x1b[\x1b[31m31m", ["31m"]),
    ],
)
def test_escapes_and_hostile_bytes_are_made_printable(
    tmp_path: Path, console: bytes, lines: list[str]
) -> None:
    write(tmp_path, console)
    assert console_lines(tmp_path) == lines
    write(tmp_path, b"", console)
    assert why_it_ended(tmp_path)[0].isprintable()


def test_only_the_end_is_read_and_little_of_a_long_line_is_shown(tmp_path: Path) -> None:
    write(tmp_path, b"first\n" + b"x" * (1 << 20))
    assert "first" not in console_lines(tmp_path)
    assert said_last(tmp_path) == f"its console said last: {'x' * 300}"
    write(tmp_path, b"Kernel panic - not syncing: " + b"y" * 5000)
    assert len(why_it_ended(tmp_path)[0]) == 300


def test_the_console_is_kept_where_that_is_possible(tmp_path: Path) -> None:
    write(tmp_path, b"raw \x1b[31m bytes")
    keep_console(tmp_path, tmp_path / "new" / "folder" / "log")
    assert (tmp_path / "new" / "folder" / "log").read_bytes() == b"raw \x1b[31m bytes"
    keep_console(tmp_path, tmp_path / "qemu" / "log")  # below a file
    keep_console(tmp_path / "missing", tmp_path / "log")
    assert not (tmp_path / "log").exists()
