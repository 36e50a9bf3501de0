"""Which accelerator runs a guest, by what this machine shows."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.lab.accel import choose_accel, kvm_obstacle
from hardstone.lab.settings import parse_settings

INTEL = "processor\t: 0\nflags\t\t: fpu vme vmx smx\nbugs\t\t: spectre\n"
AMD = "flags\t\t: fpu svm\n"
# As in a guest; other lines and longer words name it.
NONE = "model name\t: vmx\nflags\t\t: fpu vmxnet svm_lock\nvmx flags\t: vnmi\n"


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "kvm"
    path.touch()
    return path


def cpuinfo(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    return path


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.parametrize(("text", "can"), [(INTEL, True), (AMD, True), (NONE, False), ("", False)])
def test_the_processor_says_whether_it_virtualises(
    tmp_path: Path, device: Path, text: str, can: bool
) -> None:
    assert (kvm_obstacle("x86_64", device, cpuinfo(tmp_path, text)) is None) is can


def test_another_architecture_and_a_missing_device_are_obstacles(
    tmp_path: Path, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = cpuinfo(tmp_path, INTEL)
    assert "the kernel aarch64" in str(kvm_obstacle("aarch64", device, info))
    assert "there is no" in str(kvm_obstacle("x86_64", tmp_path / "missing", info))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "group kvm" in str(kvm_obstacle("x86_64", device, info))


def test_arm_shows_no_flag_for_it(
    tmp_path: Path, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert kvm_obstacle("aarch64", device, tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("settings", "obstacle", "expected"),
    [
        ("k", None, "kvm"),
        ("k", "no", "tcg"),
        ("k,accel=kvm", None, "kvm"),
        ("k,accel=tcg", None, "tcg"),
        ("k,accel=tcg", "no", "tcg"),
        ("k,deterministic", None, "icount"),
        ("k,deterministic,accel=tcg", "no", "icount"),
    ],
)
def test_what_is_asked_for_and_what_can_be_had(
    settings: str, obstacle: str | None, expected: str
) -> None:
    assert choose_accel(parse_settings(settings), "x86_64", lambda arch: obstacle) == expected


def test_kvm_that_cannot_be_had_is_an_error_with_the_reason() -> None:
    with pytest.raises(InputError, match="KVM cannot run this guest: it rains"):
        choose_accel(parse_settings("k,accel=kvm"), "x86_64", lambda arch: "it rains")
