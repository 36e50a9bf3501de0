"""The command line of QEMU, by architecture and accelerator."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hardstone.lab.kernels import Kernel
from hardstone.lab.qemu import Machine, boot_line_of, cpu_count
from hardstone.lab.settings import parse_settings

X86 = ["console=ttyS0", "no_timer_check"]
ARM = ["console=ttyAMA0"]
ENDS = ["quiet", "panic=-1"]
TSC = ["tsc=reliable", "clocksource=tsc"]
REPEATABLE = ["nokaslr", "norandmaps", "random.trust_cpu=off", "random.trust_bootloader=off"]


@pytest.fixture(autouse=True)
def made_up_emulators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for arch in ("x86_64", "aarch64"):
        program = tmp_path / f"qemu-system-{arch}"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def command(
    arch: str,
    accel: str,
    folder: str = "/f",
    host_tsc_khz: int | None = None,
    device: str | None = None,
    unpacked: Path | None = None,
) -> list[str]:
    place = Path("/k")
    kernel = Kernel(
        name="made", arch=arch, release="", package="", sha256="0" * 64, append="kernels=own",
        image=place / "image", config=None, busybox=place / "busybox", modules=(),
    )  # fmt: skip
    machine = Machine(
        kernel=kernel, initramfs=Path("/i"), accel=accel, cpus=1, memory_mib=256, append="mine=1",
        host_tsc_khz=host_tsc_khz, device=device, unpacked=unpacked,
    )  # fmt: skip
    return machine.command(Path(folder), (7, 8))


def after(words: list[str], option: str) -> list[str]:
    return [words[i + 1] for i, word in enumerate(words) if word == option]


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("accel", ["kvm", "tcg", "icount"])
def test_every_guest_is_without_network_and_tells_how_it_runs(arch: str, accel: str) -> None:
    words = command(arch, accel)
    assert Path(words[0]).name == f"qemu-system-{arch}" and after(words, "-nic") == ["none"]
    assert after(words, "-smp") == ["1"] and after(words, "-m") == ["256M"]
    line = after(words, "-append")[0].split()
    assert f"hardstone.lab={accel}" in line and line[-2:] == ["kernels=own", "mine=1"]
    assert ("-icount" in words) == (accel == "icount") == ("nokaslr" in line)
    assert ("socket,id=port,fd=7" in words) == (accel != "icount")
    for bell, descriptor in enumerate((7, 8)):
        is_there = f"file,id=bell{bell},path=/dev/fd/{descriptor}" in words
        assert is_there == (accel == "icount")


@pytest.mark.parametrize(
    ("arch", "accel", "words"),
    [
        ("x86_64", "kvm", [*X86, *ENDS, "hardstone.lab=kvm"]),
        ("x86_64", "tcg", [*X86, *ENDS, "hardstone.lab=tcg", *TSC, "tsc_early_khz=2596122"]),
        ("x86_64", "icount", [*X86, *ENDS, "hardstone.lab=icount", *TSC, *REPEATABLE]),
        ("aarch64", "kvm", [*ARM, *ENDS, "hardstone.lab=kvm"]),
        ("aarch64", "tcg", [*ARM, *ENDS, "hardstone.lab=tcg"]),
        ("aarch64", "icount", [*ARM, *ENDS, "hardstone.lab=icount", *REPEATABLE]),
    ],
)
def test_a_kernel_s_command_line_has_these_words_and_no_others(
    arch: str, accel: str, words: list[str]
) -> None:
    (line,) = after(command(arch, accel, host_tsc_khz=2596122), "-append")
    assert sorted(line.split()[:-2]) == sorted(words)
    assert line.split()[-2:] == ["kernels=own", "mine=1"]  # a person's words are the last


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("accel", "said", "counts", "clock"),
    [
        ("kvm", "kvm", [], []),
        ("tcg", "tcg,thread=multi", [], []),
        (
            "icount",
            "tcg,thread=single",
            ["shift=1,sleep=off"],
            ["base=2026-01-01T00:00:00,clock=vm"],
        ),
    ],
)
def test_only_a_guest_that_counts_instructions_has_a_time_of_its_own(
    arch: str, accel: str, said: str, counts: list[str], clock: list[str]
) -> None:
    words = command(arch, accel)
    assert after(words, "-accel") == [said]
    assert (after(words, "-icount"), after(words, "-rtc")) == (counts, clock)


@pytest.mark.parametrize(
    ("arch", "accel", "cpu"),
    [
        ("x86_64", "kvm", "host"),
        ("x86_64", "tcg", "max"),
        ("x86_64", "icount", "qemu64"),
        ("aarch64", "kvm", "host"),
        ("aarch64", "tcg", "cortex-a57"),
        ("aarch64", "icount", "cortex-a57"),
    ],
)
def test_the_board_and_the_cpu(arch: str, accel: str, cpu: str) -> None:
    words = command(arch, accel)
    assert after(words, "-cpu") == [cpu]
    assert after(words, "-machine") == ([] if arch == "x86_64" else ["virt"])


def test_a_deterministic_guest_has_one_cpu_and_others_those_asked_for_or_two_at_most() -> None:
    assert cpu_count(parse_settings("k,deterministic")) == 1
    assert cpu_count(parse_settings("k,cpus=3")) == 3
    assert cpu_count(parse_settings("k")) == min(2, len(os.sched_getaffinity(0)))


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("k", ""),
        ("k,preempt=full", "preempt=full"),
        ("k,append=a=1 b", "a=1 b"),
        ("k,preempt=full,append=preempt=none", "preempt=full preempt=none"),
    ],
)
def test_a_target_s_words_for_the_kernel(target: str, line: str) -> None:
    assert boot_line_of(parse_settings(target)) == line


def test_commas_in_paths_are_doubled() -> None:
    words = command("x86_64", "icount", "/a,b")
    shown = [word for word in words if "/a," in word]
    assert len(shown) == 3 and all("/a,,b/" in word for word in shown)


@pytest.mark.parametrize(
    ("arch", "accel", "is_given"),
    [
        ("x86_64", "tcg", True),
        ("x86_64", "kvm", False),
        ("x86_64", "icount", False),  # its counter counts instructions
        ("aarch64", "tcg", False),
    ],
)
def test_a_guest_is_told_the_frequency_of_a_counter_that_is_this_machine_s(
    arch: str, accel: str, is_given: bool
) -> None:
    (line,) = after(command(arch, accel, host_tsc_khz=2596122), "-append")
    assert ("tsc_early_khz=2596122" in line.split()) == is_given
    assert "tsc_early_khz" not in after(command(arch, accel), "-append")[0]


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("accel", ["kvm", "tcg", "icount"])
def test_a_device_comes_behind_those_of_every_guest_and_is_named_to_the_kernel(
    arch: str, accel: str
) -> None:
    without, with_device = command(arch, accel), command(arch, accel, device="edu")
    (line,), (before,) = after(with_device, "-append"), after(without, "-append")
    assert line.split()[-3:] == ["hardstone.uio=1234:11e8", "kernels=own", "mine=1"]
    assert line.replace("hardstone.uio=1234:11e8 ", "") == before
    added = [*without, "-device", "edu,addr=0x13"]
    assert [word for word in with_device if word != line] == [
        word for word in added if word != before
    ]


def test_an_unpacked_kernel_is_booted_in_place_of_the_image_and_the_boot_line_says_so() -> None:
    packed = command("x86_64", "tcg")
    unpacked = command("x86_64", "tcg", unpacked=Path("/u"))
    assert (after(packed, "-kernel"), after(unpacked, "-kernel")) == (["/k/image"], ["/u"])
    said = " hardstone.boot=vmlinux"
    assert said in after(unpacked, "-append")[0] and said not in after(packed, "-append")[0]
    assert [word.replace(said, "") for word in unpacked if word != "/u"] == [
        word for word in packed if word != "/k/image"
    ]
