"""A guest from its boot to its end, in a QEMU that is made up."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hardstone.errors import EXIT_UNREACHABLE, InputError, TargetError
from hardstone.lab.debian import read_kernel
from hardstone.lab.kernels import add_kernel
from hardstone.lab.lab_folder import lab_folder, make_guest_folder
from hardstone.lab.qemu import console_lines, keep_console, said_last, why_it_ended
from hardstone.targets.base import BrokenStreamError, Notices, ProbeError, ProbeTimeoutError, Stop
from hardstone.targets.lab import LabTransport, lab_target, lab_transport
from hardstone.targets.local import local_target
from hardstone.targets.transport import Limits, collect
from tests.process.lab import made_up
from tests.process.lab.made_up_lab import MadeUpLab
from tests.process.targets import sample
from tests.waiting import LONGEST_S


@pytest.fixture(autouse=True)
def no_guest_is_left(made_up_lab: MadeUpLab) -> Iterator[None]:
    yield
    assert made_up_lab.left() == []


@pytest.fixture
def guest(made_up_lab: MadeUpLab) -> Iterator[LabTransport]:
    transport = lab_transport("made")
    yield transport
    transport.close()
    transport.close()


def boot_error(made_up_lab: MadeUpLab, what: str, settings: str = "made") -> TargetError:
    made_up_lab.play(boot=what)
    transport = lab_transport(settings)
    with pytest.raises(TargetError) as caught:
        transport.open()
    assert made_up_lab.left() == []  # before it is closed
    transport.close()
    assert caught.value.exit_code == EXIT_UNREACHABLE and "\n" not in str(caught.value)
    return caught.value


def call_shield(guest: LabTransport, given: Path = Path("/dev/null")) -> tuple[int, bytes, bytes]:
    out, err = io.BytesIO(), io.BytesIO()
    with given.open("rb") as file:
        return guest.call(["shield"], file, out, err), out.getvalue(), err.getvalue()


def test_one_boot_serves_all_commands_and_is_told(made_up_lab: MadeUpLab) -> None:
    target = lab_target("made,cpus=1")
    told: list[str] = []
    target.open(Notices(step=told.append))
    assert told == ["booting lab:made,cpus=1 (6.1.0-7-amd64, tcg, 1 CPU)"]
    assert target.probe_list().tests and target.facts().facts
    assert len(made_up_lab.boots()) == 1
    target.close()
    assert "a made-up kernel" in made_up_lab.console()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("panic", "ended: Kernel panic - not syncing: no init found"),
        ("port", "no driver for the channel to the lab; switch on CONFIG_VIRTIO_PCI and"),
        ("fail", "QEMU said: qemu-system-x86_64: cannot set up guest memory"),
        ("version", "another version than hardstone; rebuild it: hardstone probe build"),
        ("garbage", "sent an invalid frame"),
        ("flood", "it wrote more than 64 MiB to its console"),
    ],
)
def test_a_boot_that_fails_says_why(made_up_lab: MadeUpLab, what: str, said: str) -> None:
    error = boot_error(made_up_lab, what)
    assert said in str(error) and str(error).startswith(("lab:made ", "the program in lab:made"))


def test_a_boot_that_hangs_is_ended(
    made_up_lab: MadeUpLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_BOOT_S", "0.5")
    made_up_lab.play(stubborn=True)
    error = boot_error(made_up_lab, "hang")
    assert "lab:made did not boot within 0.5 s" in error.cause
    assert error.remedy.endswith("; HARDSTONE_BOOT_S allows more time")


def test_a_qemu_that_cannot_be_executed_is_told(made_up_lab: MadeUpLab) -> None:
    qemu = made_up_lab.programs / "qemu-system-x86_64"
    qemu.write_text("#!/missing/interpreter\n")
    assert f"QEMU said: {qemu}: No such file or directory" in str(boot_error(made_up_lab, ""))
    qemu.unlink()
    error = boot_error(made_up_lab, "")
    assert "runs in qemu-system-x86_64" in error.cause
    assert error.remedy.endswith("apt-get install qemu-system-x86")


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("die", "^lab:made ended: QEMU was ended"),
        ("garbage", "sent an invalid frame"),
        ("errno", "the probe cannot be started there: No such file"),
    ],
)
def test_what_a_command_meets(
    made_up_lab: MadeUpLab, guest: LabTransport, then: str, said: str
) -> None:
    made_up_lab.play(at="list", then=then)
    assert collect(guest, ["facts"], LONGEST_S)
    with pytest.raises(TargetError, match=said):
        collect(guest, ["list"], LONGEST_S)
    if then == "errno":
        assert collect(guest, ["facts"], LONGEST_S)
    else:
        assert made_up_lab.left() == []
        with pytest.raises(TargetError, match="was ended"):
            collect(guest, ["facts"], LONGEST_S)
    assert len(made_up_lab.boots()) == 1


def test_what_is_no_clock_ends_the_guest(made_up_lab: MadeUpLab, guest: LabTransport) -> None:
    made_up_lab.play(wrong_clock=2)
    guest.open()
    with pytest.raises(TargetError, match="sent an invalid frame"):
        guest.clock_check()
    assert made_up_lab.left() == []


@pytest.mark.parametrize("is_stubborn", [False, True])
def test_a_command_past_its_deadline_is_ended_and_with_it_a_guest_that_hangs(
    made_up_lab: MadeUpLab, guest: LabTransport, is_stubborn: bool
) -> None:
    made_up_lab.probe("if sys.argv[1] == 'list': time.sleep(1000)")
    made_up_lab.play(stubborn=is_stubborn)
    guest.open()
    # A busy host may be slow to end it where it can be ended.
    limits = Limits(0.1, end_s=0.1 if is_stubborn else LONGEST_S)
    with pytest.raises(ProbeTimeoutError, match="did not end within its deadline"):
        list(guest.chunks(["list"], limits, Stop()))
    if is_stubborn:
        place = str(made_up_lab.folder / "1.rec")
        for words in (["facts"], ["run", "SEM-P-SIG", "--backing", place]):
            with pytest.raises(TargetError, match="was ended"):
                collect(guest, words, LONGEST_S)
    else:
        assert collect(guest, ["facts"], LONGEST_S)


def test_a_stop_closes_the_input_and_keeps_what_comes(
    made_up_lab: MadeUpLab, guest: LabTransport
) -> None:
    made_up_lab.probe("if sys.argv[1] == 'list': sys.stdin.read(); lines('kept'); sys.exit(0)")
    stop = Stop()
    stop.set()
    assert b"".join(guest.chunks(["list"], Limits(LONGEST_S), stop)) == b"kept\n"


def test_a_guest_that_counts_instructions_is_as_slow_as_it_is(made_up_lab: MadeUpLab) -> None:
    """A deadline is of its time: one of its seconds takes many of this machine's, here 100 s
    in all."""
    for settings, limit_s, wait_s in (("made", 0.5, 1000), ("made,deterministic", 5.0, 5.2)):
        waits = f"time.sleep({wait_s}); lines('late'); sys.exit(0)"
        made_up_lab.probe(f"if sys.argv[1] == 'list': {waits}")
        with closing(lab_transport(settings)) as guest:
            said = guest.chunks(["list"], Limits(limit_s), Stop())
            if settings == "made":
                with pytest.raises(ProbeTimeoutError):
                    list(said)
            else:
                assert b"".join(said) == b"late\n"
                stop = Stop()
                stop.set()
                made_up_lab.probe("if sys.argv[1] == 'list': time.sleep(1000)")
                with pytest.raises(ProbeError, match="cannot be asked to stop"):
                    list(guest.chunks(["list"], Limits(LONGEST_S, end_s=0.1), stop))


def test_a_guest_that_may_boot_slowly_may_answer_slowly(
    made_up_lab: MadeUpLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadline of 1 s is one of 480 s where a boot may take a day, and not three minutes."""
    monkeypatch.setenv("HARDSTONE_BOOT_S", "86400")
    made_up_lab.probe("if sys.argv[1] == 'list': time.sleep(1.2); lines('late'); sys.exit(0)")
    with closing(lab_transport("made")) as guest:
        assert b"".join(guest.chunks(["list"], Limits(1.0), Stop())) == b"late\n"


def test_a_guest_that_counts_instructions_answers_one_command_after_another(
    made_up_lab: MadeUpLab,
) -> None:
    made_up_lab.probe("if sys.argv[1] == 'shield': lines('x' * 100000); sys.exit(7)")
    with closing(lab_target("made,deterministic")) as target:
        target.open()
        assert target.probe_list().tests and target.facts().facts and target.clock_check() is None
    with closing(lab_transport("made,deterministic")) as guest:
        for _ in range(2):
            assert call_shield(guest) == (7, b"x" * 100000 + b"\n", b"")
    assert all("-icount" in words for words in made_up_lab.boots())


def test_a_flood_is_cut_and_an_abort_ends_the_guest(
    made_up_lab: MadeUpLab, guest: LabTransport
) -> None:
    made_up_lab.probe("while sys.argv[1] == 'list': lines('x' * 65536)")
    with pytest.raises(BrokenStreamError, match="more than 1 MiB"):
        list(guest.chunks(["list"], Limits(LONGEST_S, most_bytes=1 << 20), Stop()))
    assert collect(guest, ["facts"], LONGEST_S)
    stop = Stop()
    stop.abort()
    with pytest.raises(ProbeError, match="ended at once, on request"):
        list(guest.chunks(["list"], Limits(LONGEST_S), stop))
    assert made_up_lab.left() == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.stderr.write('no\\x1bgood\\n'); sys.exit(9)", r"exit code 9: no\?good$"),
        ("os.kill(os.getpid(), 11)", "killed by signal 11$"),
    ],
)
def test_the_end_of_a_command_is_told(
    made_up_lab: MadeUpLab, guest: LabTransport, body: str, said: str
) -> None:
    made_up_lab.probe(f"if sys.argv[1] == 'list':\n    {body}")
    with pytest.raises(ProbeError, match=said):
        collect(guest, ["list"], LONGEST_S)


def test_a_command_has_the_streams_of_its_caller(
    made_up_lab: MadeUpLab, guest: LabTransport, tmp_path: Path
) -> None:
    made_up_lab.probe(
        "if sys.argv[1] == 'shield':\n"
        "    sys.stderr.write('beside'); lines(sys.stdin.read().upper()); sys.exit(7)"
    )
    (tmp_path / "input").write_text("words")
    assert call_shield(guest, tmp_path / "input") == (7, b"WORDS\n", b"beside")


def test_input_reaches_a_command_that_writes_all_the_time(
    made_up_lab: MadeUpLab, guest: LabTransport, tmp_path: Path
) -> None:
    made_up_lab.probe(
        "import select\n"
        "if sys.argv[1] == 'shield':\n"
        "    left = 6000\n"
        "    while left and not select.select([sys.stdin], [], [], 0.05)[0]:\n"
        "        lines('tick'); left -= 1\n"
        "    sys.exit(7 if left else 8)"
    )
    (tmp_path / "input").write_text("words")
    assert call_shield(guest, tmp_path / "input")[0] == 7


def test_a_boot_line_that_a_kernel_would_cut_is_refused(made_up_lab: MadeUpLab) -> None:
    files = made_up.make_kernel(made_up_lab.folder / "long")
    add_kernel("long", read_kernel(**files, append="y" * 1000))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="characters too long"):
        lab_transport(f"long,append={'x' * 1000}").open()
    assert made_up_lab.boots() == []


def test_what_the_lab_adds_to_a_boot_line_is_in_its_length(made_up_lab: MadeUpLab) -> None:
    """The rate of the counter, and that the kernel was unpacked, are known last."""
    holds_a_kernel(made_up_lab, append="z" * 950)
    with closing(lab_transport("made,append=x")) as guest:
        guest.open()
    (words,) = made_up_lab.boots()
    room = 2047 - len(words[words.index("-append") + 1])
    longest = f"made,append=x{'y' * room}"
    with closing(lab_transport(longest)) as guest:
        guest.open()
    with pytest.raises(InputError, match="1 characters too long"):
        lab_transport(f"{longest}y").open()


@pytest.mark.parametrize("asked", ["none", "full"])
def test_a_command_without_facts_does_not_run_under_another_model(
    made_up_lab: MadeUpLab, asked: str
) -> None:
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"]["kernel.preemption_model"] = "none"
    made_up_lab.probe(
        f"if sys.argv[1] == 'facts': lines({json.dumps(facts)!r}); sys.exit(0)\n"
        "if sys.argv[1] == 'shield': sys.exit(7)"
    )
    with closing(lab_transport(f"made,preempt={asked}")) as guest:
        if asked == "none":
            assert call_shield(guest)[0] == 7
            return
        with pytest.raises(InputError, match="model is none, and not full as asked"):
            call_shield(guest)
        with pytest.raises(InputError, match="model is none, and not full as asked"):
            list(guest.chunks(["load", "cpu"], Limits(LONGEST_S), Stop()))


@pytest.mark.parametrize("speed", [1, 10**6])
def test_both_clocks_are_read_at_two_moments(
    made_up_lab: MadeUpLab, guest: LabTransport, speed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the two readings are uncertain, and nothing of the time between them."""
    made_up_lab.play(speed=speed)
    real_ns = time.monotonic_ns
    began_ns = real_ns()
    guest.open()
    check = guest.clock_check()
    assert check is not None
    assert 0 < check.host_ns <= real_ns() - began_ns
    assert abs(check.target_ns - speed * check.host_ns) <= speed * check.uncertainty_ns
    is_the_host_s = abs(check.target_ns - check.host_ns) <= check.uncertainty_ns
    assert is_the_host_s == (speed == 1)
    hour_ns = 3600 * 10**9
    monkeypatch.setattr(time, "monotonic_ns", lambda: real_ns() + hour_ns)
    check = guest.clock_check()
    assert check is not None
    assert 0 < check.uncertainty_ns < hour_ns <= check.host_ns


def test_a_command_finds_nothing_in_the_recording_of_the_one_before(
    made_up_lab: MadeUpLab, guest: LabTransport, tmp_path: Path
) -> None:
    guest.open()
    memory = guest.memory("20260101T000000Z-abcdef", tmp_path)
    path = memory.path_for(1)
    (words,) = made_up_lab.boots()
    (shared,) = (word for word in words if ",id=recording," in word)
    made_up_lab.probe(  # what the guest has at its own name is the memory that QEMU shares with it
        "assert sys.argv[2:] == ['--backing', 'memory:/run/recording']\n"
        f"with open({shared.partition('mem-path=')[2]!r}, 'r+b') as recording:\n"
        "    lines(max(recording.read(4096)))\n"
        "    recording.seek(0)\n"
        "    recording.write(bytes([1]) * 4096)\n"
        "sys.exit(0)"
    )
    said = [collect(guest, ["run", "--backing", path], LONGEST_S) for _ in range(2)]
    assert said == [b"0\n", b"0\n"]
    assert Path(path).read_bytes()[:4096] == bytes([1]) * 4096
    memory.remove()


def test_a_boot_removes_what_killed_guests_left_and_no_living_one(
    made_up_lab: MadeUpLab, guest: LabTransport
) -> None:
    abandoned, lock = make_guest_folder(made_up_lab.memory)
    (abandoned / "recording").write_bytes(b"values")
    os.close(lock)
    living, lock = make_guest_folder(made_up_lab.memory)
    (living / "recording").write_bytes(b"values")
    guest.open()
    left = (abandoned.exists(), (living / "recording").exists())
    os.close(lock)
    shutil.rmtree(living)
    shutil.rmtree(abandoned, ignore_errors=True)
    assert left == (False, True)


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf", "86401", "\x1b"])
def test_a_limit_that_is_none_is_refused_and_missing_memory_told_before_the_boot(
    made_up_lab: MadeUpLab, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("HARDSTONE_BOOT_S", text)
        with pytest.raises(InputError, match=r"BOOT_S=.* is not a time in seconds") as caught:
            lab_transport("made").open()
        assert "\x1b" not in str(caught.value)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(made_up_lab.folder / "missing"))
    with pytest.raises(TargetError, match=r"no memory file system has 66 MiB free.*HARDSTONE_MEM"):
        lab_transport("made").open()
    assert made_up_lab.boots() == []


def test_closing_never_fails(made_up_lab: MadeUpLab, guest: LabTransport) -> None:
    guest.open()
    (made_up_lab.folder / "lab" / "consoles").write_text("not a folder")
    for process, command in made_up_lab.processes().items():
        if b"guard.py" in command:
            os.kill(process, signal.SIGKILL)
    guest.close()
    assert made_up_lab.left() == []


def accelerators(made_up_lab: MadeUpLab) -> list[str]:
    return [words[words.index("-accel") + 1] for words in made_up_lab.boots()]


def patience_with(what: str) -> Callable[[str], float]:
    """Little with a KVM that hangs; emulation has its time, however busy this machine is."""
    return lambda accel: 0.5 if (what, accel) == ("hang", "kvm") else LONGEST_S


def begun(what: str, seen: list[str]) -> list[str]:
    """With a KVM that was given up before a busy machine let it write down that it began."""
    return ["kvm", *seen] if what == "hang" and "kvm" not in seen else seen


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("fail", "QEMU said"),
        ("panic", "Kernel panic"),
        ("hang", "did not boot within 0.5 s (kvm)"),
    ],
)
def test_kvm_that_does_not_boot_is_left_for_emulation_unless_it_was_asked_for(
    made_up_lab: MadeUpLab, what: str, said: str
) -> None:
    made_up_lab.play(kvm=what)
    steps: list[str] = []
    warned: list[str] = []
    target = lab_target("made", lambda arch: None, patience_with(what))
    target.open(Notices(steps.append, warned.append))
    assert begun(what, accelerators(made_up_lab)) == ["kvm", "tcg,thread=multi"]
    assert [one.split(", ")[1] for one in steps] == ["kvm", "tcg"]
    (line,) = warned
    assert said in line and line.endswith(
        "the guest is emulated instead, and its figures are not those of hardware"
    )
    target.close()
    made_up_lab.folder.joinpath("log").unlink(missing_ok=True)
    with pytest.raises(TargetError) as caught:
        lab_target("made,accel=kvm", lambda arch: None, patience_with(what)).open()
    assert begun(what, accelerators(made_up_lab)) == ["kvm"]
    assert json.dumps(str(caught.value)).count("lab:made,accel=kvm") == 1


@pytest.mark.parametrize("is_known", [True, False])
def test_a_guest_is_told_the_frequency_of_this_machine_s_counter(
    made_up_lab: MadeUpLab,
    guest: LabTransport,
    probe: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_known: bool,
) -> None:
    """The probe of this lab does not run on this machine, the one that was built does."""
    if is_known:
        monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
        clock = local_target(limits=Limits(LONGEST_S)).facts().instrument
        is_known = clock.clock == "tsc" and clock.trusted and bool(clock.counter_hz)
    guest.open()
    (words,) = made_up_lab.boots()
    line = words[words.index("-append") + 1].split()
    told = [word for word in line if word.startswith("tsc_early_khz=")]
    assert len(told) == is_known
    if is_known:
        khz = int(told[0].partition("=")[2])
        assert abs(khz * 1000 / clock.counter_hz - 1) < 1e-4


def holds_a_kernel(made_up_lab: MadeUpLab, append: str = "") -> None:
    """The image of the kernel "made" has one inside, as those of Debian have."""
    kernel = made_up.vmlinux()
    image = made_up.packed_bzimage(gzip.compress(kernel, mtime=0))
    files = made_up.make_kernel(made_up_lab.folder / "packed", image=image)
    add_kernel("made", read_kernel(**files, append=append))  # type: ignore[arg-type]


def booted(made_up_lab: MadeUpLab) -> list[str]:
    """What was booted, without the names that come after `vmlinux`."""
    paths = [words[words.index("-kernel") + 1] for words in made_up_lab.boots()]
    return [Path(path).name.partition("-")[0] for path in paths]


@pytest.mark.parametrize(
    ("target", "obstacle", "what"),
    [
        ("made", "none", "vmlinux"),
        ("made,deterministic", "none", "vmlinux"),
        ("made", None, "image"),
    ],
)
def test_an_emulated_guest_boots_the_unpacked_kernel(
    made_up_lab: MadeUpLab, target: str, obstacle: str | None, what: str
) -> None:
    holds_a_kernel(made_up_lab)
    for _ in range(2):
        with closing(lab_transport(target, lambda arch: obstacle)) as guest:
            guest.open()
    assert booted(made_up_lab) == [what, what]
    kept = list((lab_folder() / "kernels" / "made").glob("vmlinux-*"))
    assert bool(kept) == (what == "vmlinux")


def test_an_unpacked_kernel_that_cannot_be_entered_is_left_for_the_image_without_a_word(
    made_up_lab: MadeUpLab,
) -> None:
    holds_a_kernel(made_up_lab)
    made_up_lab.play(unpacked="silent")
    told: list[str] = []
    with closing(lab_transport("made,cpus=1")) as guest:
        guest.open(Notices(step=told.append, warn=told.append))
        assert collect(guest, ["facts"], LONGEST_S)
    assert told == ["booting lab:made,cpus=1 (6.1.0-7-amd64, tcg, 1 CPU)"]
    assert booted(made_up_lab) == ["vmlinux", "image"]


@pytest.mark.parametrize(
    ("unpacked", "image", "boots"),
    [
        ("panic", "", ["vmlinux"]),
        ("silent", "panic", ["vmlinux", "image"]),
        ("silent", "silent", ["vmlinux", "image"]),
    ],
)
def test_a_kernel_that_says_why_it_ends_is_not_booted_again(
    made_up_lab: MadeUpLab, unpacked: str, image: str, boots: list[str]
) -> None:
    holds_a_kernel(made_up_lab)
    made_up_lab.play(unpacked=unpacked)
    said = "QEMU was ended" if image == "silent" else "Kernel panic - not syncing"
    assert said in str(boot_error(made_up_lab, image))
    assert booted(made_up_lab) == boots


# Its console: not trusted, and the reason of its end in it

PANIC = b"[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"


def write(folder: Path, console: bytes, qemu: bytes = b"") -> None:
    (folder / "console").write_bytes(console)
    (folder / "qemu").write_bytes(qemu)


def test_the_reason_is_the_console_s_or_else_qemu_s(tmp_path: Path) -> None:
    write(tmp_path, b"hardstone-lab: no driver for the device 1234:11e8\r\n", b"qemu: x\n")
    why, remedy = why_it_ended(tmp_path)
    assert "for the device" in why and "CONFIG_UIO_PCI_GENERIC" in remedy
    write(tmp_path, b"hardstone-lab: no port of virtio-serial\r\n" + PANIC)
    why, remedy = why_it_ended(tmp_path)
    assert "no driver" in why and "--modules" in remedy
    write(tmp_path, b"boot\r\n" + PANIC + b"\r\n[    1.3] Rebooting\r\n")
    assert why_it_ended(tmp_path) == (PANIC[10:].decode(), "")
    write(tmp_path, b"Linux\n", b"warning: x\nqemu-system-x86_64: no \x1b[31mmemory\n")
    assert why_it_ended(tmp_path)[0] == "QEMU said: qemu-system-x86_64: no memory"
    write(tmp_path, b"Linux\n")
    why, remedy = why_it_ended(tmp_path)
    assert why.startswith("QEMU was ended") and why.endswith(
        "; the last line on its console: Linux"
    )
    assert remedy == ""
    nowhere = tmp_path / "nowhere"
    assert why_it_ended(nowhere)[0] and console_lines(nowhere) == []
    assert said_last(nowhere) == "its console was silent"


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
    assert said_last(tmp_path) == f"the last line on its console: {'x' * 300}"
    write(tmp_path, b"Kernel panic - not syncing: " + b"y" * 5000)
    assert len(why_it_ended(tmp_path)[0]) == 300


def test_the_console_is_kept_where_that_is_possible(tmp_path: Path) -> None:
    write(tmp_path, b"raw \x1b[31m bytes")
    keep_console(tmp_path, tmp_path / "new" / "folder" / "log")
    assert (tmp_path / "new" / "folder" / "log").read_bytes() == b"raw \x1b[31m bytes"
    keep_console(tmp_path, tmp_path / "qemu" / "log")  # below a file
    keep_console(tmp_path / "missing", tmp_path / "log")
    assert not (tmp_path / "log").exists()
