"""The local target against executables that do everything a probe must not."""

from __future__ import annotations

import os
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from hardstone.errors import (
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    HardstoneError,
    InputError,
    TargetError,
)
from hardstone.targets import build, find_target
from hardstone.targets.base import Notices, ProbeError, ProbeTimeoutError, RunOptions, Stop
from hardstone.targets.local import ProbeProcess, local_target
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.transport import Limits, split_lines
from tests.process.targets import sample
from tests.waiting import LONGEST_S

LINES = [line.encode() for line in sample.stream()]
PRINT = "lines(" + ", ".join(repr(line) for line in sample.stream()) + ")\n"
PATIENT = Limits(LONGEST_S, stop_s=LONGEST_S)
Run = Callable[..., list[bytes]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a fake probe with a body; what came before an error is in `run.got`.

    With `stop_at_first` it is asked to stop once its first line is here, however long it
    took to start.
    """

    def play(
        body: str, *, stop: Stop | None = None, stop_at_first: bool = False, **limits: float
    ) -> list[bytes]:
        stop = stop or Stop()
        play.got = []  # type: ignore[attr-defined]
        most = int(limits.pop("most_bytes", 1 << 28))
        deadline_s = limits.pop("deadline_s", LONGEST_S)
        target = local_target(
            sample.executable(tmp_path, body),
            limits=Limits(deadline_s, most_bytes=most, **limits),
        )
        for line in target.run(sample.planned(), RunOptions(), None, stop):
            play.got.append(line)  # type: ignore[attr-defined]
            if stop_at_first:
                stop.set()
        return play.got  # type: ignore[attr-defined, no-any-return]

    return play


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (PRINT, LINES),
        ("os.write(1, b'whole\\nhal')", [b"whole", b"hal"]),
        ("os.write(1, b'\\xff\\x00\\n\\x1b[2J')", [b"\xff\x00", b"\x1b[2J"]),
        (f"sys.stderr.write('x' * 5_000_000)\n{PRINT}", LINES),
        (f"{PRINT}sys.exit(3)", LINES),
        (f"{PRINT}sys.exit(5)", LINES),
    ],
    ids=["whole", "cut", "garbage", "much on standard error", "unsupported", "denied"],
)
def test_what_was_sent_arrives(run: Run, body: str, sent: list[bytes]) -> None:
    """Whatever it is; codes 3 and 5 are those of a result that is no measurement."""
    assert run(body) == sent


def test_arguments_reach_the_probe_one_by_one(tmp_path: Path) -> None:
    target = local_target(sample.executable(tmp_path, "lines(*sys.argv[1:])"), limits=PATIENT)
    planned = sample.planned(params={"a": [1, 2], "b": "x; rm -rf $HOME", "c": []})
    asked = {"cpu": 1, "priority": 9, "policy": "rr", "clock": "monotonic", "seed": 3}
    asked |= {"counter_hz": 5, "dma_latency_us": 0}
    options = RunOptions(**asked, trace=True)  # type: ignore[arg-type]
    got = [line.decode() for line in target.run(planned, options, str(tmp_path / "b"), Stop())]
    assert got[:4] == ["run", "TMR-P-LAT", "--json", "--until-eof"]
    pairs = {(f"--{name.replace('_', '-')}", str(value)) for name, value in asked.items()}
    pairs |= {("-p", "a=1,2"), ("-p", "b=x; rm -rf $HOME"), ("--backing", str(tmp_path / "b"))}
    assert pairs <= set(pairwise(got)) and "--trace" in got
    assert not any(text.startswith("c=") for text in got)
    without_limits = sample.planned(duration_ns=0)
    got = [line.decode() for line in target.run(without_limits, RunOptions(), None, Stop())]
    assert not {"--samples", "--duration-ns", "--dma-latency-us", "--trace"} & set(got)
    file = str(tmp_path / "left")
    assert [line.decode() for line in target.dump(file)] == ["dump", file, "--json"]
    digest = target.probe_sha256()
    assert digest is not None and len(digest) == 64


def test_words_of_the_probe_do_not_steer_a_terminal(run: Run) -> None:
    said = b"\x1b]0;t\x07red\xc2\x9b31m\xff\xe2\x80\xae!\nmore"
    with pytest.raises(ProbeError) as caught:
        run(f"sys.stderr.buffer.write({said!r}); sys.exit(2)")
    assert str(caught.value).endswith("exit code 2: ?]0;t?red?31m\ufffd?!")


Told = tuple[str, dict[str, float], str, list[bytes]]


def _breaks(count: int, code: int) -> Told:
    sent = LINES[:count]
    body = f"lines(*{[line.decode() for line in sent]!r}); print('it broke', file=sys.stderr)"
    return f"{body}; sys.exit({code})", {}, f"exit code {code}: it broke", sent


@pytest.mark.parametrize(
    ("body", "limits", "words", "sent"),
    [
        *((f"{PRINT}sys.exit({code})", {}, f"exit code {code}", LINES) for code in (1, 2, 4, 70)),
        *(_breaks(count, code) for count in (0, 1, len(LINES) - 1) for code in (3, 5)),
        ("lines('one'); os.kill(os.getpid(), 9)", {}, "killed by signal 9", [b"one"]),
        ("signal.pause()", {"deadline_s": 0.2, "end_s": 0.2}, "not end within its deadline", []),
        ("while 1: os.write(1, b'x' * 65536)", {"most_bytes": 1 << 16}, "more than 0 MiB", []),
    ],
    ids=range(13),
)
def test_an_end_without_a_result_is_an_error_and_keeps_what_came(
    run: Run, body: str, limits: dict[str, float], words: str, sent: list[bytes]
) -> None:
    """Codes 3 and 5 are of a result: without one they are errors, as others are with one."""
    with pytest.raises(ProbeTimeoutError if "deadline_s" in limits else ProbeError, match=words):
        run(body, **limits)
    assert run.got == sent  # type: ignore[attr-defined]


def test_a_probe_that_ignores_sigterm_is_killed_and_what_comes_after_it_is_kept(run: Run) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); lines(os.getpid()); signal.pause()"
    with pytest.raises(ProbeTimeoutError):
        run(body, stop_at_first=True, stop_s=0.1, end_s=0.2)
    pid = int(run.got[0])  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    body = (
        "def end(*_):\n    lines('last'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); lines('first'); signal.pause()"
    )
    with pytest.raises(ProbeTimeoutError):
        run(body, stop_at_first=True, stop_s=0.1, end_s=LONGEST_S)
    assert run.got == [b"first", b"last"]  # type: ignore[attr-defined]


def test_closing_standard_input_asks_to_stop(run: Run) -> None:
    stop = Stop()
    stop.set()
    assert run("sys.stdin.read(); lines('kept')", stop=stop, stop_s=LONGEST_S) == [b"kept"]


@pytest.mark.parametrize(
    ("is_abort", "body", "words"),
    [
        (False, "signal.pause()", "did not stop within"),
        (True, "sys.stdin.read(); signal.pause()", "ended at once"),
    ],
)
def test_a_probe_that_does_not_stop_when_asked(
    run: Run, is_abort: bool, body: str, words: str
) -> None:
    stop = Stop()
    stop.abort() if is_abort else stop.set()
    with pytest.raises(ProbeError if is_abort else ProbeTimeoutError, match=words):
        run(body, stop=stop, stop_s=0.2, end_s=0.2)


def test_a_child_that_holds_the_pipe_does_not_hold_us(run: Run) -> None:
    """It is in the session of the probe, which is one of its own."""
    body = "child = os.fork()\nif child == 0:\n    signal.pause(); os._exit(0)\nlines(child)\n"
    child, sid, pid = run(f"{body}lines(os.getsid(0), os.getpid())")
    os.kill(int(child), signal.SIGKILL)
    assert sid == pid


def test_a_reader_that_leaves_ends_the_probe(tmp_path: Path) -> None:
    path = sample.executable(tmp_path, "lines(os.getpid()); signal.pause()")
    process = ProbeProcess([str(path)], Limits(LONGEST_S), Stop())
    chunks = process.chunks()
    pid = int(next(chunks))
    chunks.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe that a probe waits at until it is opened here."""
    os.mkfifo(tmp_path / "gate")
    return tmp_path / "gate"


class EndsMeanwhile(Stop):
    """The probe ends after a look at its output and before the next step."""

    def __init__(self, gate: Path) -> None:
        self._gate: Path | None = gate
        super().__init__()

    @property  # type: ignore[override]
    def is_abort(self) -> bool:
        if self._gate is not None:
            self._gate.write_bytes(b"")
            self._gate = None
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return False

    @is_abort.setter
    def is_abort(self, value: bool) -> None:
        assert not value


def test_what_is_written_just_before_the_end_arrives(tmp_path: Path, gate: Path) -> None:
    body = f"open({str(gate)!r}).read(); lines('the last words')"
    command = [str(sample.executable(tmp_path, body))]
    process = ProbeProcess(command, Limits(LONGEST_S), EndsMeanwhile(gate))
    assert b"".join(process.chunks()) == b"the last words\n"


def test_signs_of_life_while_nothing_comes(tmp_path: Path, gate: Path) -> None:
    """The probe is silent until it has seen one."""
    body = f"open({str(gate)!r}).read(); lines('one')"
    target = local_target(sample.executable(tmp_path, body), limits=PATIENT)
    signs: list[int] = []

    def on_idle(said: str = "") -> None:
        assert not said
        signs.append(1)
        if len(signs) == 1:
            gate.write_bytes(b"")

    assert list(target.run(sample.planned(), RunOptions(), None, Stop(), on_idle)) == [b"one"]


STOPPED = re.compile(r"the probe is stopped \(state T: .*; continue it with kill -CONT (\d+); ")
STOPS = "lines('first'); os.kill(os.getpid(), signal.SIGSTOP); lines('second')"


def test_a_stopped_probe_is_told_and_goes_on(tmp_path: Path) -> None:
    """Long before its deadline; the signal that is named continues it."""
    target = local_target(sample.executable(tmp_path, STOPS), limits=PATIENT)
    told: list[str] = []

    def on_idle(said: str = "") -> None:
        if found := STOPPED.match(said):
            told.append(said)
            os.kill(int(found[1]), signal.SIGCONT)

    lines = list(target.run(sample.planned(), RunOptions(), None, Stop(), on_idle))
    assert lines == [b"first", b"second"]
    assert len(told) == 1


def test_a_probe_that_is_stopped_at_its_facts_is_told(tmp_path: Path) -> None:
    text = (sample.GOLDEN / "facts.json").read_text()
    body = f"os.kill(os.getpid(), signal.SIGSTOP); lines({text!r})"
    target = local_target(sample.executable(tmp_path, body), limits=PATIENT)
    told: list[str] = []

    def warn(said: str) -> None:
        command, _, rest = said.partition(": ")
        if found := STOPPED.match(rest):
            told.append(command)
            os.kill(int(found[1]), signal.SIGCONT)

    target.open(Notices(warn=warn))
    assert target.facts() == sample.facts()
    assert told == ["hardstone-probe facts"]


def test_a_stopped_probe_is_ended_with_what_it_has(run: Run) -> None:
    body = (
        f"def end(*_):\n    lines('kept'); sys.exit(0)\nsignal.signal(signal.SIGTERM, end); {STOPS}"
    )
    # The deadline begins before the probe does, which a busy host may start after it.
    for deadline_s in (3.0, 30.0, LONGEST_S):
        with pytest.raises(ProbeTimeoutError) as caught:
            run(body, deadline_s=deadline_s, halted_s=0.5, end_s=LONGEST_S)
        if "was stopped" in caught.value.cause:
            break
    assert re.search(r"was stopped \(state T: .*\) for .* and was ended", caught.value.cause)
    assert run.got == [b"first", b"kept"]  # type: ignore[attr-defined]


def test_what_reaches_a_probe_elsewhere_is_not_taken_for_it(tmp_path: Path) -> None:
    """A login to another machine that is stopped says nothing of the probe there."""
    said: list[str] = []
    limits = Limits(3.0, expected_s=0.0, halted_s=60.0)
    process = ProbeProcess([str(sample.executable(tmp_path, STOPS))], limits, Stop())
    with pytest.raises(ProbeTimeoutError, match="did not end within its deadline"):
        list(process.chunks(lambda text="": said.append(text)))
    assert not any("stopped" in text for text in said)


def asked(tmp_path: Path, body: str) -> ProbeTarget:
    return local_target(sample.executable(tmp_path, body), limits=PATIENT)


def test_register_and_facts(tmp_path: Path) -> None:
    for name, ask in (("register", "probe_list"), ("facts", "facts")):
        text = (sample.GOLDEN / f"{name}.json").read_text()
        document = getattr(asked(tmp_path, f"lines({text!r})"), ask)()
        assert document == getattr(sample, name)()


def test_facts_without_the_counter_do_not_wait_for_its_calibration(tmp_path: Path) -> None:
    text = (sample.GOLDEN / "facts.json").read_text()
    body = f"lines({text!r}) if sys.argv[1:] == ['facts', '--json', '--clock', 'monotonic'] else 0"
    assert asked(tmp_path, body).facts(with_counter=False) == sample.facts()
    with pytest.raises(InputError):
        asked(tmp_path, body).facts()


def test_the_probe_that_was_built_computes_rightly(probe: Path) -> None:
    found = local_target(probe, limits=PATIENT).selftest()
    assert found is not None and [one for one in found.checks if not one.passed] == []
    names = [one.name for one in found.checks]
    assert len(names) == len(set(names)) and {"clock_conversion", "tire_same_bits"} < set(names)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("lines('{')", InputError, "cannot be read"),
        ("lines('')", InputError, "cannot be read"),
        ("lines('[' * 100000)", InputError, "cannot be read"),
        ("os.write(1, b'\\xff\\xfe')", InputError, "cannot be read"),
        ("while True: os.write(1, b'x' * 65536)", InputError, "more than 16 MiB"),
        ("sys.exit(70)", TargetError, "exit code 70"),
        ("os.kill(os.getpid(), 9)", TargetError, "killed by signal 9"),
    ],
)
@pytest.mark.parametrize("ask", ["probe_list", "facts"])
def test_a_document_that_is_none(
    tmp_path: Path, ask: str, body: str, kind: type[HardstoneError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        getattr(asked(tmp_path, body), ask)()
    assert caught.value.exit_code == (EXIT_USAGE if kind is InputError else EXIT_UNREACHABLE)
    assert ("hardstone probe build" if kind is InputError else " ") in caught.value.remedy


@pytest.mark.parametrize(("code", "is_rebuilt"), [(3, False), (70, True)])
def test_a_probe_that_gives_up_in_time_is_not_to_be_rebuilt(
    tmp_path: Path, code: int, is_rebuilt: bool
) -> None:
    body = f"print('hardstone-probe: ended after 45 s', file=sys.stderr); sys.exit({code})"
    with pytest.raises(TargetError, match="ended after 45 s") as caught:
        asked(tmp_path, body).facts()
    assert caught.value.exit_code == EXIT_UNREACHABLE
    assert ("rebuild" in caught.value.remedy) == is_rebuilt


REGISTER = (sample.GOLDEN / "register.json").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": "x", "probe_version": "1", "tests": []}', "has the schema 'x', not"),
        *(
            (REGISTER.replace("TMR-P-LAT", name), "invalid test IDs")
            for name in ("../../etc", "tmr-p-lat", "", "A-B-C/D", "A" * 99)
        ),
    ],
    ids=range(6),
)
def test_an_impossible_register(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        asked(tmp_path, f"lines({text!r})").probe_list()


def test_a_register_that_never_ends(tmp_path: Path) -> None:
    path = sample.executable(tmp_path, "signal.pause()")
    with pytest.raises(TargetError, match=r"did not end.*hangs or is busy") as caught:
        local_target(path, limits=Limits(0.2)).probe_list()
    assert caught.value.exit_code == EXIT_UNREACHABLE


def test_a_line_without_an_end_is_passed_on_in_parts() -> None:
    assert list(split_lines([b"abc", b"def", b"g\nhi"], most_bytes=5)) == [b"abcdef", b"g", b"hi"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "does not exist"),
        ("folder", "is not an executable file"),
        ("not executable", "is not an executable file"),
        ("a probe", ""),
    ],
)
def test_the_variable_names_the_probe(
    kind: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hardstone-probe"
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        sample.executable(tmp_path, "pass").chmod(0o644 if kind == "not executable" else 0o755)
    monkeypatch.setenv("HARDSTONE_PROBE", str(path))
    if kind == "a probe":
        assert build.find_probe() == path.resolve()
        return
    with pytest.raises(TargetError) as caught:
        local_target().open()
    assert caught.value.remedy == "HARDSTONE_PROBE names it: correct or unset it"
    assert words in caught.value.cause


def test_an_unknown_target() -> None:
    for name in ("remote", "", "ssh:host", "fake:", "\x1b[2J"):
        with pytest.raises(InputError) as caught:
            find_target(name)
        assert str(caught.value).isprintable()


@contextmanager
def without(what: str, probe: Path) -> Iterator[None]:
    """Takes away what it needs to start."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    contents = {"format": b"\x7fELF not for this machine", "interpreter": b"#!/nowhere/sh\n"}
    with probe.open("ab") as file:
        if what == "files":
            resource.setrlimit(resource.RLIMIT_NOFILE, (file.fileno() + 1, before[1]))
        elif what == "access":
            probe.chmod(0o644)
        elif what == "all":
            probe.unlink()
        elif what in contents:
            probe.write_bytes(contents[what])
        if what != "quiet":
            file.close()
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("files", "ulimit -n"),
        ("access", "noexec"),
        ("format", "built for this machine"),
        ("interpreter", "built for this machine"),
        ("quiet", "wait until the build has finished"),
        ("all", "hardstone probe build"),
    ],
)
def test_a_probe_that_does_not_start(tmp_path: Path, what: str, words: str) -> None:
    probe = sample.executable(tmp_path, "pass")
    with without(what, probe), pytest.raises(TargetError, match="cannot be started") as caught:
        ProbeProcess([str(probe)], Limits(LONGEST_S), Stop())
    assert words in caught.value.remedy
