"""Options for kernels of the lab, and commands that run on a target without measuring."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from hardstone.cli.lab_options import lab_targets
from hardstone.errors import EXIT_UNREACHABLE, EXIT_USAGE, InputError, TargetError
from hardstone.targets import find_transport
from hardstone.targets.local import LocalTransport
from hardstone.targets.reaching import SILENT, Notices
from tests.process.cli.conftest import Done, Lab
from tests.process.targets import sample
from tests.process.targets.test_transport import playing

Hardstone = Callable[..., Done]
ALL = {
    "lab_cpus": "4",
    "lab_memory": "2G",
    "lab_preempt": "full",
    "lab_accel": "tcg",
    "lab_deterministic": False,
    "lab_device": "edu",
    "lab_append": "mitigations=off, quiet",
}


def test_options_become_settings_of_every_target() -> None:
    settings = "cpus=4,memory=2048M,preempt=full,accel=tcg,device=edu,append=mitigations=off, quiet"
    assert lab_targets(["lab:a", "lab:b"], ALL) == [f"lab:a,{settings}", f"lab:b,{settings}"]


def test_a_flag_that_is_given() -> None:
    assert lab_targets(["lab:a"], {"lab_deterministic": True}) == ["lab:a,deterministic"]


def test_without_options_a_target_of_the_lab_has_its_one_form() -> None:
    names = ["local", "lab:a,preempt=none,memory=1G,cpus=2", "fake:x"]
    assert lab_targets(names, {"lab_cpus": None, "cpu": "3"}) == [
        "local",
        "lab:a,cpus=2,memory=1024M,preempt=none",
        "fake:x",
    ]


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (["local"], {"lab_preempt": "full"}, "--preempt is for kernels of the lab"),
        (["lab:a", "fake:f"], {"lab_deterministic": True}, "the target is 'fake:f'"),
        (["lab:a,cpus=2"], {"lab_cpus": "4"}, "--cpus 4"),
        (["lab:a"], {"lab_cpus": "0"}, "from 1 to 255"),
        (
            ["lab:a"],
            {"lab_memory": "lots"},
            "--memory lots is not a size from 128M to 1024G; write --memory 512M",
        ),
        (["lab:a,memory=lots"], {}, "memory=lots is not a size from 128M to 1024G; write memory=5"),
        (["lab:a"], {"lab_append": "\n"}, "--append .: the kernel's command line"),
        (["lab:a"], {"lab_preempt": ""}, "known: none"),
        (["lab:a"], {"lab_device": "e1000"}, "--device e1000 is not known; known: edu"),
        (["lab:a"], {"lab_cpus": "2", "lab_deterministic": True}, "has one CPU"),
        (["lab:"], {}, "no name of a kernel"),
        (["lab:a,colour=red"], {}, "unknown setting"),
    ],
)
def test_what_cannot_be(names: list[str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        lab_targets(names, options)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "SEM-P-SIG"),
        ("evaluate",),
        ("doctor",),
        ("doctor", "--explain", "swap"),
        ("load", "cpu", "-D", "1"),
        ("shield", "--show"),
    ],
    ids=" ".join,
)
def test_an_option_of_the_lab_needs_one(hardstone: Hardstone, words: tuple[str, ...]) -> None:
    done = hardstone(*words[:1], "--preempt", "full", *words[1:])
    assert (done.code, len(done.told)) == (EXIT_USAGE, 1)
    assert "--preempt is for kernels of the lab" in done.err and done.out == ""


@pytest.mark.parametrize("name", ["", "remote", "local:", "ssh:host", "\x1b[2J", "Lab:a"])
@pytest.mark.parametrize(
    "words", [("load", "cpu", "-D", "1"), ("shield", "--show"), ("doctor",), ("run", "SEM-P-SIG")]
)
def test_a_target_that_is_none(hardstone: Hardstone, words: tuple[str, ...], name: str) -> None:
    done = hardstone(words[0], "--target", name, *words[1:])
    assert (done.code, len(done.told)) == (EXIT_USAGE, 1)
    assert "known targets: local, lab:NAME" in done.err and "fake:FILE" in done.err
    assert "\x1b" not in done.err


@pytest.mark.parametrize("words", [("load", "cpu", "-D", "1"), ("shield", "--show")])
def test_a_scenario_can_run_nothing_else(
    hardstone: Hardstone, target: str, words: tuple[str, ...]
) -> None:
    done = hardstone(words[0], "--target", target, *words[1:])
    assert done.code == EXIT_USAGE
    assert "plays the results of tests and can run nothing else" in done.err


class Guest(LocalTransport):
    """A guest whose probe is a program here; it tells what happens to it."""

    def __init__(self, settings: str, probe: Path) -> None:
        super().__init__(probe)
        self.name = f"lab:{settings}"
        self.told: list[Any] = []

    def open(self, notices: Notices = SILENT) -> None:
        self.told.append("open")

    def close(self) -> None:
        self.told.append("close")

    def call(
        self, arguments: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        self.told.append(list(arguments))
        stdout.write(b"from COMMAND\n")
        stderr.write(b"could not be moved\n")
        for stream in (stdout, stderr):
            stream.flush()
        return 42


@pytest.fixture
def guests(lab: Lab, tmp_path: Path) -> list[Guest]:
    """Every guest that was made, whose probe takes `cpu` for a load."""
    listed = (sample.GOLDEN / "loads.json").read_text()
    lines = [
        {"type": "header", "schema": "hardstone.load/2", "probe_version": "0", "load": "cpu",
         "started_utc_ns": 1},
        {"type": "footer", "lines": 1},
    ]  # fmt: skip
    body = (
        f"if sys.argv[2] == '--list':\n    print({listed!r}); sys.exit(0)\n"
        f"if sys.argv[2] == '--check':\n    sys.exit(0)\n"
        f"lines(*{[json.dumps(line) for line in lines]!r})\n"
    )
    probe = sample.executable(tmp_path, body)
    made: list[Guest] = []

    def make(settings: str) -> Guest:
        made.append(Guest(settings, probe))
        return made[-1]

    lab(make)
    return made


def test_a_load_runs_in_the_guest(hardstone: Hardstone, guests: list[Guest]) -> None:
    words = ["--target", "lab:a,cpus=2", "--preempt", "none", "cpu", "-D", "1", "--json"]
    done = hardstone("load", *words, "--cpus", "0")
    assert done.code == 0, done.err
    assert done.document["target"] == "lab:a,cpus=2,preempt=none"
    (guest,) = guests
    assert guest.name == "lab:a,cpus=2,preempt=none"
    assert guest.told == ["open", "close"]


def test_a_shield_has_the_streams_and_the_code_of_the_command(
    hardstone: Hardstone, guests: list[Guest]
) -> None:
    done = hardstone("shield", "--target", "lab:a", "--accel", "tcg", "-a", "1", "--", "ls", "-l")
    assert (done.code, done.out, done.err) == (42, "from COMMAND\n", "could not be moved\n")
    (guest,) = guests
    assert guest.name == "lab:a,accel=tcg"
    asked = ["shield", "--cpu", "1", "--text", "--", "ls", "-l"]
    assert guest.told == ["open", asked, "close"]


@pytest.mark.parametrize("words", [("load", "cpu", "-D", "1"), ("shield", "--show")])
def test_a_guest_that_does_not_boot(
    hardstone: Hardstone, guests: list[Guest], words: tuple[str, ...], monkeypatch: Any
) -> None:
    def fail(guest: Guest, notices: Notices) -> None:
        raise TargetError("the kernel panicked", "look at its console")

    monkeypatch.setattr(Guest, "open", fail)
    done = hardstone(words[0], "--target", "lab:a", *words[1:])
    assert (done.code, len(done.told)) == (EXIT_UNREACHABLE, 1)
    assert "the kernel panicked; look at its console" in done.err
    assert [guest.told for guest in guests] == [["close"]]


def test_a_target_without_a_way_for_commands(hardstone: Hardstone, lab: Lab) -> None:
    lab(lambda settings: LocalTransport())
    done = hardstone("shield", "--target", "lab:a", "--", "true")
    assert done.code == EXIT_USAGE
    assert "no command can be run on the target 'lab:a'" in done.err


def test_local_is_this_machine() -> None:
    assert isinstance(find_transport("local"), LocalTransport)


@pytest.fixture
def playing_guests(lab: Lab, tmp_path: Path) -> list[Guest]:
    """Every guest that was made; each has the facts of the sample machine, and one test."""
    probe = playing(tmp_path, sample.stream("SEM-P-SIG"))
    made: list[Guest] = []

    def make(settings: str) -> Guest:
        made.append(Guest(settings, probe))
        return made[-1]

    lab(make)
    return made


def test_the_doctor_examines_the_guest(hardstone: Hardstone, playing_guests: list[Guest]) -> None:
    done = hardstone("doctor", "--target", "lab:a", "--append", "isolcpus=1", "--json")
    assert done.document["target"] == "lab:a,append=isolcpus=1"
    assert playing_guests[-1].told == ["open", "close"]


def test_a_run_is_stored_under_what_was_booted(
    hardstone: Hardstone, playing_guests: list[Guest], tmp_path: Path
) -> None:
    words = ["--target", "lab:a", "--preempt", "none", "--cpus", "2", "--store", tmp_path / "store"]
    done = hardstone("run", "SEM-P-SIG", *words, "--json")
    assert done.code == 0, done.err
    plan = done.document["plan"]
    assert plan["target"] == "lab:a,cpus=2,preempt=none"
    again = hardstone(*plan["command"], "--dry-run", "--json")
    assert again.document["target"] == plan["target"]
    assert [guest.told for guest in playing_guests] == [["open", "close"]] * 2


def test_two_kernels_differ_in_one_option_of_their_names(
    hardstone: Hardstone, playing_guests: list[Guest], tmp_path: Path
) -> None:
    targets = ["--target", "lab:a,preempt=none", "--target", "lab:a,preempt=full"]
    words = [*targets, "--deterministic", "--store", tmp_path / "store"]
    done = hardstone("run", "SEM-P-SIG", *words)
    assert done.code == 0, done.err
    told = " ".join(done.out[done.out.index("test, series") - 200 :].split())
    assert "preempt=none," in told and "preempt=full," in told and "deterministic" in told
    asked = {guest.name for guest in playing_guests if guest.told}
    assert asked == {"lab:a,preempt=none,deterministic", "lab:a,preempt=full,deterministic"}
