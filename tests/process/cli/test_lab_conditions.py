"""What a person sees of a guest, and what can go wrong with one: one line, an exit code, nothing
left. The QEMU is made up."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNREACHABLE, EXIT_USAGE
from hardstone.lab.debian import read_kernel
from hardstone.lab.kernels import add_kernel
from hardstone.lab.lab_folder import make_guest_folder
from hardstone.store.store import Store
from tests.process.cli.conftest import Hardstone
from tests.process.cli.forked import Forked
from tests.process.lab import made_up
from tests.process.lab.made_up_lab import MadeUpLab
from tests.waiting import wait_until

BOOTING = "hardstone: booting lab:made,cpus=1 (6.1.0-7-amd64, tcg, 1 CPU)"
TARGET = ("--target", "lab:made,cpus=1")
COMMANDS = [
    ("run", "SEM-P-SIG", *TARGET),
    ("doctor", *TARGET),
    ("load", "cpu", "-D", "1", *TARGET),
    ("shield", *TARGET, "--show"),
]
each_command = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeUpLab]:
    made = MadeUpLab(tmp_path / "made-up-lab")
    made.stand_in(monkeypatch)
    yield made
    assert made.left() == []


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Store(tmp_path / "data" / "hardstone")


@pytest.mark.parametrize(
    ("words", "boot", "said"),
    [
        *((one, "panic", "Kernel panic - not syncing: no init found") for one in COMMANDS),
        (COMMANDS[0], "fail", "QEMU said: qemu"),
    ],
)
def test_a_guest_that_does_not_boot_is_one_line_and_4(
    hardstone: Hardstone, lab: MadeUpLab, words: tuple[str, ...], boot: str, said: str
) -> None:
    lab.play(boot=boot)
    done = hardstone(*words)
    assert (done.code, done.out) == (EXIT_UNREACHABLE, "")
    (line,) = (line for line in done.told if line != BOOTING)
    assert said in line and done.typed == []


@each_command
def test_without_qemu_it_is_4_and_says_what_to_install(
    hardstone: Hardstone, lab: MadeUpLab, words: tuple[str, ...]
) -> None:
    (lab.programs / "qemu-system-x86_64").unlink()
    done = hardstone(*words)
    assert (done.code, len(done.told)) == (EXIT_UNREACHABLE, 1)
    assert done.typed[0].endswith("apt-get install qemu-system-x86")


def test_a_kernel_of_another_architecture_needs_its_own_qemu(
    hardstone: Hardstone, lab: MadeUpLab
) -> None:
    paths: dict[str, Any] = made_up.make_kernel(lab.folder / "arm", "6.1.0-7-arm64")
    paths["image"].write_bytes(made_up.arm64_image())
    paths["busybox"].write_bytes(made_up.busybox("aarch64"))
    paths["modules"] = made_up.make_tree(lab.folder / "arm", "6.1.0-7-arm64", "aarch64")
    add_kernel("arm", read_kernel(**paths))
    done = hardstone("run", "SEM-P-SIG", "--target", "lab:arm")
    assert (done.code, len(done.told)) == (EXIT_UNREACHABLE, 1)
    assert done.typed[0].endswith("apt-get install qemu-system-arm")
    done = hardstone("run", "SEM-P-SIG", "--target", "lab:arm,accel=kvm")
    assert (done.code, len(done.told)) == (EXIT_UNREACHABLE, 1)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        *((words, signal.SIGINT) for words in COMMANDS),
        *((COMMANDS[0], one) for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)),
    ],
)
def test_an_end_while_it_boots_ends_all(
    lab: MadeUpLab, words: tuple[str, ...], number: signal.Signals
) -> None:
    lab.play(boot="hang")
    with Forked(*words) as tool:
        wait_until(lab.boots)
        tool.send(number)
        code = tool.wait()
        if number == signal.SIGINT:
            lines = [line for line in tool.err.splitlines() if line not in ("", BOOTING)]
            assert (code, tool.out, lines) == (EXIT_INTERRUPTED, "", ["hardstone: interrupted"])
    assert lab.left() == []


def test_a_boot_is_told_unless_quiet(hardstone: Hardstone, lab: MadeUpLab) -> None:
    assert BOOTING in hardstone(*COMMANDS[0]).told
    assert hardstone(*COMMANDS[0], "--quiet").told == []
    assert hardstone("doctor", *TARGET).told == [BOOTING]
    assert hardstone("doctor", *TARGET, "--quiet", "--json").told == []


def test_a_guest_that_dies_in_a_test_keeps_what_was_finished(
    hardstone: Hardstone, lab: MadeUpLab, store: Store
) -> None:
    lab.play(at="SEM-P-RTP", then="die")
    done = hardstone("run", "SEM-P-SIG", "SEM-P-RTP", "MUT-P-ARC", *TARGET)
    assert done.code == EXIT_UNREACHABLE
    document = store.load("last")
    first, second, third = document.results
    assert (document.status, first.status) == ("incomplete", "measured")
    assert first.series[0].count == 2000
    assert second.status == "failed" and "lab:made,cpus=1 ended" in str(second.reason)
    assert third.status == "skipped" and "lab:made,cpus=1 ended" in str(third.reason)
    assert len(lab.boots()) == 1
    assert document.clock_check is not None  # as it was after the first test


def test_a_kill_of_tool_and_guard_is_cleaned_up_by_the_next_command(
    hardstone: Hardstone, lab: MadeUpLab, store: Store
) -> None:
    begun = f"open({str(lab.folder / 'runs')!r}, 'w').close()"
    lab.probe(f"if sys.argv[1] == 'run': {begun}; time.sleep(1000)")
    with Forked(*COMMANDS[0]) as tool:
        wait_until((lab.folder / "runs").exists)
        living, lock = make_guest_folder(lab.memory)
        # in this order the guard may have begun: it is killed in the midst of its work
        tool.send(signal.SIGKILL)
        for pid, command in lab.processes().items():
            if b"guard.py" in command:
                with contextlib.suppress(ProcessLookupError):  # or it has done all of it by now
                    os.kill(pid, signal.SIGKILL)
        tool.wait()
    wait_until(lambda: not lab.processes())
    assert hardstone("runs", "--json").document[0]["status"] == "incomplete"
    assert list(lab.memory.iterdir()) == [living]
    os.close(lock)
    assert hardstone("runs").code == EXIT_OK


def test_a_measurement_on_this_machine_is_waited_for(lab: MadeUpLab) -> None:
    with Path(os.environ["HARDSTONE_LOCK_FILE"]).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Forked(*COMMANDS[1], "--json") as tool:
            tool.wait_for("Another hardstone measurement is running on this machine (pid ")
            assert lab.boots() == []
            fcntl.flock(lock, fcntl.LOCK_UN)
            tool.wait()
            assert tool.err.splitlines()[1:] == [BOOTING] and len(lab.boots()) == 1


def test_three_at_once_take_turns(lab: MadeUpLab, store: Store) -> None:
    notes = lab.folder / "notes"
    lab.probe(
        "def note(what):\n"
        f"    with open({str(notes)!r}, 'a') as file: file.write(what)\n"
        "if sys.argv[1] == 'run': note('('); time.sleep(1); note(')')"
    )
    with contextlib.ExitStack() as stack:
        tools = [stack.enter_context(Forked(*COMMANDS[0], "--quiet")) for _ in range(3)]
        assert [tool.wait() for tool in tools] == [EXIT_OK] * 3, [tool.err for tool in tools]
    assert len(lab.boots()) == 3 and len(store.runs()) == 3
    assert notes.read_text() == "()()()"


def limited(size_bytes: int) -> Callable[[], None]:
    """Files may not grow beyond that, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [(100, "cannot write the initramfs to"), (1 << 20, "cannot be started: File too large")],
)
def test_a_disk_or_memory_without_room_is_one_line_and_4(
    lab: MadeUpLab, size_bytes: int, said: str
) -> None:
    with Forked(*COMMANDS[1], "--quiet", before=limited(size_bytes)) as tool:
        assert (tool.wait(), tool.out) == (EXIT_UNREACHABLE, ""), tool.err
        assert len(tool.err.splitlines()) == 1 and said in tool.err
    assert not list((lab.folder / "lab").rglob("*.tmp*"))


@pytest.mark.parametrize(
    ("model", "asked", "code"),
    [
        ("lazy", ",preempt=full", EXIT_USAGE),
        ("full", ",preempt=none", EXIT_USAGE),
        (None, ",preempt=full", EXIT_USAGE),
        ("full", ",preempt=full", EXIT_OK),
        ("lazy", "", EXIT_OK),
    ],
)
def test_a_kernel_that_did_not_switch_to_the_model_asked_for_is_2(
    hardstone: Hardstone, lab: MadeUpLab, store: Store, model: str | None, asked: str, code: int
) -> None:
    lab.probe("", **({} if model is None else {"kernel__preemption_model": model}))
    done = hardstone("run", "SEM-P-SIG", "--quiet", "--target", f"lab:made,cpus=1{asked}")
    assert (done.code, len(store.runs())) == (code, int(code == EXIT_OK)), done.err
    if code == EXIT_OK:
        assert done.told == []
    else:
        (line,) = done.told
        assert f"preemption model is {model}, and not {asked.removeprefix(',preempt=')}" in line
