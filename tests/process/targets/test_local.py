"""The local target against executables that do everything a probe must not."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from hardstone.errors import EXIT_UNREACHABLE, EXIT_USAGE, InputError, TargetError
from hardstone.targets import find, find_target
from hardstone.targets.base import ProbeError, ProbeTimeoutError, RunOptions, Stop
from hardstone.targets.lines import split_lines
from hardstone.targets.local import local_target
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.process import ProbeProcess, cannot_start
from hardstone.targets.transport import Limits
from tests.process.targets import sample

LINES = [line.encode() for line in sample.stream()]
PRINT = "lines(" + ", ".join(repr(line) for line in sample.stream()) + ")\n"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[bytes]]:
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
        deadline_s = limits.pop("deadline_s", 60.0)
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


def test_a_whole_stream_arrives_as_sent(run: Callable[..., list[bytes]]) -> None:
    assert run(PRINT) == LINES


def test_arguments_reach_the_probe_one_by_one(tmp_path: Path) -> None:
    target = local_target(sample.executable(tmp_path, "lines(*sys.argv[1:])"))
    planned = sample.planned(params={"a": [1, 2], "b": "x; rm -rf $HOME", "c": []})
    options = RunOptions(
        cpu=1,
        priority=9,
        policy="rr",
        clock="monotonic",
        seed=3,
        counter_hz=5,
        dma_latency_us=0,
        trace=True,
    )
    got = [line.decode() for line in target.run(planned, options, str(tmp_path / "b"), Stop())]
    pairs = set(pairwise(got))
    assert got[:4] == ["run", "TMR-P-LAT", "--json", "--until-eof"]
    assert {("-p", "a=1,2"), ("-p", "b=x; rm -rf $HOME"), ("--cpu", "1")} <= pairs
    assert {("--priority", "9"), ("--policy", "rr"), ("--clock", "monotonic")} <= pairs
    assert {("--seed", "3"), ("--counter-hz", "5"), ("--backing", str(tmp_path / "b"))} <= pairs
    assert ("--dma-latency-us", "0") in pairs and "--trace" in got
    assert not any(text.startswith("c=") for text in got)


def test_a_test_without_limits_gets_none(tmp_path: Path) -> None:
    target = local_target(sample.executable(tmp_path, "lines(*sys.argv[1:])"))
    planned = sample.planned(duration_ns=0)
    got = list(target.run(planned, RunOptions(), None, Stop()))
    assert b"--samples" not in got and b"--duration-ns" not in got
    assert b"--dma-latency-us" not in got and b"--trace" not in got


def test_a_line_that_is_cut_is_passed_on(run: Callable[..., list[bytes]]) -> None:
    assert run("os.write(1, b'whole\\nhal')") == [b"whole", b"hal"]


def test_garbage_is_passed_on_as_it_is(run: Callable[..., list[bytes]]) -> None:
    assert run("os.write(1, b'\\xff\\x00\\n\\x1b[2J')") == [b"\xff\x00", b"\x1b[2J"]


def test_an_exit_code_comes_with_the_words_of_the_probe(run: Callable[..., list[bytes]]) -> None:
    with pytest.raises(ProbeError, match="exit code 2: there is no such test"):
        run("print('there is no such test', file=sys.stderr); sys.exit(2)")


def test_words_of_the_probe_do_not_steer_a_terminal(run: Callable[..., list[bytes]]) -> None:
    said = b"\x1b]0;t\x07red\xc2\x9b31m\xff\xe2\x80\xae!\nmore"
    with pytest.raises(ProbeError) as caught:
        run(f"sys.stderr.buffer.write({said!r}); sys.exit(2)")
    assert str(caught.value).endswith("exit code 2: ?]0;t?red?31m\ufffd?!")


@pytest.mark.parametrize("code", [3, 5])
def test_a_result_that_is_no_measurement_is_a_result(
    run: Callable[..., list[bytes]], code: int
) -> None:
    assert run(f"{PRINT}sys.exit({code})") == LINES


@pytest.mark.parametrize("code", [1, 2, 4, 70])
def test_a_whole_stream_does_not_hide_an_error(run: Callable[..., list[bytes]], code: int) -> None:
    with pytest.raises(ProbeError, match=f"exit code {code}"):
        run(f"{PRINT}sys.exit({code})")
    assert run.got == LINES  # type: ignore[attr-defined]


@pytest.mark.parametrize("code", [3, 5])
@pytest.mark.parametrize("count", [0, 1, len(LINES) - 1])
def test_an_exit_code_of_a_result_without_one(
    run: Callable[..., list[bytes]], code: int, count: int
) -> None:
    body = f"lines(*{[line.decode() for line in LINES[:count]]!r})"
    with pytest.raises(ProbeError, match=f"exit code {code}: it broke"):
        run(f"{body}; print('it broke', file=sys.stderr); sys.exit({code})")
    assert run.got == LINES[:count]  # type: ignore[attr-defined]


def test_a_flood_on_standard_error_blocks_nothing(run: Callable[..., list[bytes]]) -> None:
    assert run("sys.stderr.write('x' * 5_000_000)\n" + PRINT) == LINES


def test_a_probe_that_is_killed(run: Callable[..., list[bytes]]) -> None:
    with pytest.raises(ProbeError, match="killed by signal 9"):
        run("lines('one'); os.kill(os.getpid(), signal.SIGKILL)")
    assert run.got == [b"one"]  # type: ignore[attr-defined]


def test_a_probe_that_never_ends(run: Callable[..., list[bytes]]) -> None:
    with pytest.raises(ProbeTimeoutError, match="did not end within its deadline"):
        run("time.sleep(600)", deadline_s=0.2, end_s=0.2)


def test_a_probe_that_ignores_sigterm(run: Callable[..., list[bytes]]) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); lines(os.getpid()); time.sleep(600)"
    with pytest.raises(ProbeTimeoutError):
        run(body, stop_at_first=True, stop_s=0.1, end_s=0.2)
    pid = int(run.got[0])  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_comes_after_sigterm_is_kept(run: Callable[..., list[bytes]]) -> None:
    body = (
        "def end(*_):\n    lines('last'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); lines('first'); time.sleep(600)"
    )
    with pytest.raises(ProbeTimeoutError):
        run(body, stop_at_first=True, stop_s=0.1, end_s=60.0)
    assert run.got == [b"first", b"last"]  # type: ignore[attr-defined]


def test_a_flood_is_ended(run: Callable[..., list[bytes]]) -> None:
    with pytest.raises(ProbeError, match="more than 1 MiB"):
        run("while True: os.write(1, b'x' * 65536)", most_bytes=1 << 20)


def test_closing_standard_input_asks_to_stop(run: Callable[..., list[bytes]]) -> None:
    stop = Stop()
    stop.set()
    assert run("sys.stdin.read(); lines('kept')", stop=stop) == [b"kept"]


def test_a_probe_that_does_not_stop_when_asked(run: Callable[..., list[bytes]]) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(ProbeTimeoutError, match="did not stop within"):
        run("time.sleep(600)", stop=stop, stop_s=0.2, end_s=0.2)


def test_an_abort_ends_at_once(run: Callable[..., list[bytes]]) -> None:
    stop = Stop()
    stop.abort()
    with pytest.raises(ProbeError, match="ended at once"):
        run("sys.stdin.read(); time.sleep(600)", stop=stop)


def test_a_child_that_holds_the_pipe_does_not_hold_us(run: Callable[..., list[bytes]]) -> None:
    body = "child = os.fork()\nif child == 0:\n    time.sleep(120); os._exit(0)\nlines(child)\n"
    (child,) = run(body)
    os.kill(int(child), signal.SIGKILL)


def test_a_reader_that_leaves_ends_the_probe(tmp_path: Path) -> None:
    path = sample.executable(tmp_path, "lines(os.getpid()); time.sleep(600)")
    process = ProbeProcess([str(path)], Limits(60), Stop())
    chunks = process.chunks()
    pid = int(next(chunks))
    chunks.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class EndsMeanwhile(Stop):
    """The probe ends after a look at its output and before the next step."""

    def __init__(self, go: Path) -> None:
        self._go = go
        super().__init__()

    @property  # type: ignore[override]
    def is_abort(self) -> bool:
        if not self._go.exists():
            self._go.touch()
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return False

    @is_abort.setter
    def is_abort(self, value: bool) -> None:
        assert not value


def test_what_is_written_just_before_the_end_arrives(tmp_path: Path) -> None:
    go = tmp_path / "go"
    body = f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nlines('the last words')"
    process = ProbeProcess(
        [str(sample.executable(tmp_path, body))], Limits(60.0), EndsMeanwhile(go)
    )
    assert b"".join(process.chunks()) == b"the last words\n"


def test_the_probe_has_a_session_of_its_own(run: Callable[..., list[bytes]]) -> None:
    sid, pid = run("lines(os.getsid(0), os.getpid())")
    assert sid == pid


def test_signs_of_life_while_nothing_comes(tmp_path: Path) -> None:
    """The probe is silent until it has seen one."""
    seen = tmp_path / "seen"
    body = f"while not os.path.exists({str(seen)!r}): time.sleep(0.01)\nlines('one')"
    target = local_target(sample.executable(tmp_path, body))
    assert list(target.run(sample.planned(), RunOptions(), None, Stop(), seen.touch)) == [b"one"]


def asked(tmp_path: Path, body: str) -> ProbeTarget:
    return local_target(sample.executable(tmp_path, body))


def test_register_and_facts(tmp_path: Path) -> None:
    for name, ask in (("register", "probe_list"), ("facts", "facts")):
        text = (sample.GOLDEN / f"{name}.json").read_text()
        document = getattr(asked(tmp_path, f"lines({text!r})"), ask)()
        assert document == getattr(sample, name)()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("lines('{')", "cannot be read"),
        ("lines('')", "cannot be read"),
        ("lines('[' * 100000)", "cannot be read"),
        ("os.write(1, b'\\xff\\xfe')", "cannot be read"),
        ("while True: os.write(1, b'x' * 65536)", "more than 16 MiB"),
    ],
)
@pytest.mark.parametrize("ask", ["probe_list", "facts"])
def test_a_document_that_is_none(tmp_path: Path, ask: str, body: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        getattr(asked(tmp_path, body), ask)()
    assert caught.value.exit_code == EXIT_USAGE
    assert "hardstone probe build" in caught.value.remedy


@pytest.mark.parametrize("ask", ["probe_list", "facts"])
@pytest.mark.parametrize(
    ("body", "words"),
    [("sys.exit(70)", "exit code 70"), ("os.kill(os.getpid(), 9)", "killed by signal 9")],
)
def test_a_probe_that_dies_instead_of_answering(
    tmp_path: Path, ask: str, body: str, words: str
) -> None:
    with pytest.raises(TargetError, match=words) as caught:
        getattr(asked(tmp_path, body), ask)()
    assert caught.value.exit_code == EXIT_UNREACHABLE
    assert caught.value.remedy


def test_a_register_of_another_schema(tmp_path: Path) -> None:
    body = 'lines(\'{"schema": "x", "probe_version": "1", "tests": []}\')'
    with pytest.raises(InputError, match="is 'x' and not"):
        asked(tmp_path, body).probe_list()


def test_a_register_that_never_ends(tmp_path: Path) -> None:
    path = sample.executable(tmp_path, "time.sleep(600)")
    with pytest.raises(TargetError, match=r"did not end.*hangs or is busy") as caught:
        local_target(path, limits=Limits(0.2)).probe_list()
    assert caught.value.exit_code == EXIT_UNREACHABLE


def test_a_line_without_an_end_is_passed_on_in_parts() -> None:
    assert list(split_lines([b"abc", b"def", b"g\nhi"], most_bytes=5)) == [b"abcdef", b"g", b"hi"]


@pytest.mark.parametrize("name", ["../../etc", "tmr-p-lat", "", "A-B-C/D", "A" * 99])
def test_a_register_with_impossible_ids(tmp_path: Path, name: str) -> None:
    text = (sample.GOLDEN / "register.json").read_text().replace("TMR-P-LAT", name)
    with pytest.raises(InputError, match="invalid test IDs"):
        asked(tmp_path, f"lines({text!r})").probe_list()


def test_a_probe_that_cannot_be_started(tmp_path: Path) -> None:
    path = tmp_path / "hardstone-probe"
    path.write_bytes(b"\x7fELF not for this machine")
    path.chmod(0o755)
    with pytest.raises(TargetError, match="cannot be started"):
        local_target(path).probe_list()


def test_a_probe_that_vanishes_between_tests(tmp_path: Path) -> None:
    target = asked(tmp_path, PRINT)
    assert list(target.run(sample.planned(), RunOptions(), None, Stop())) == LINES
    (tmp_path / "hardstone-probe").unlink()
    with pytest.raises(TargetError, match="cannot be started"):
        list(target.run(sample.planned(), RunOptions(), None, Stop()))


def test_dump_passes_the_file(tmp_path: Path) -> None:
    target = asked(tmp_path, "lines(*sys.argv[1:])")
    got = target.dump(str(tmp_path / "left"))
    assert got == [b"dump", str(tmp_path / "left").encode(), b"--json"]


def test_the_digest_of_the_executable(tmp_path: Path) -> None:
    digest = asked(tmp_path, "pass").probe_sha256()
    assert digest is not None and len(digest) == 64


def test_the_variable_names_the_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample.executable(tmp_path, "pass")
    monkeypatch.setenv("HARDSTONE_PROBE", str(path))
    assert find.find_probe() == path.resolve()


@pytest.mark.parametrize("kind", ["missing", "folder", "not executable"])
def test_a_variable_that_names_none(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "probe"
    if kind == "folder":
        path.mkdir()
    elif kind == "not executable":
        path.write_text("#!/bin/sh\n")
        path.chmod(0o644)
    monkeypatch.setenv("HARDSTONE_PROBE", str(path))
    with pytest.raises(TargetError) as caught:
        local_target().open()
    assert caught.value.remedy == "HARDSTONE_PROBE names it: correct or unset it"
    words = "does not exist" if kind == "missing" else "is not an executable file"
    assert words in caught.value.cause


def test_the_signal_that_ended_it_is_not_ours(tmp_path: Path) -> None:
    """Only the child's own group is signalled: a bystander lives on."""
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        path = sample.executable(tmp_path, "time.sleep(600)")
        process = ProbeProcess([str(path)], Limits(0.2, end_s=0.1), Stop())
        with pytest.raises(ProbeTimeoutError):
            list(process.chunks())
        assert bystander.poll() is None
    finally:
        bystander.send_signal(signal.SIGKILL)
        bystander.wait()


def test_an_unknown_target() -> None:
    for name in ("remote", "", "ssh:host", "fake:", "\x1b[2J"):
        with pytest.raises(InputError) as caught:
            find_target(name)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EMFILE, "ulimit -n"),
        (errno.ENFILE, "too many files open"),
        (errno.EAGAIN, "ulimit -u"),
        (errno.ENOMEM, "memory"),
        (errno.EACCES, "noexec"),
        (errno.ENOEXEC, "built for this machine"),
        (errno.EIO, "hardstone probe path"),
    ],
)
def test_the_remedy_is_that_of_the_cause(number: int, words: str) -> None:
    error = cannot_start("/nowhere", OSError(number, os.strerror(number)))
    assert error.cause == f"the probe /nowhere cannot be started: {os.strerror(number)}"
    assert words in error.remedy
    assert ("built for this machine" in error.remedy) == (number == errno.ENOEXEC)


@contextmanager
def without(what: str, probe: Path) -> Iterator[None]:
    """Takes away what it needs to start."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with probe.open("ab") as file:
        if what == "files":
            resource.setrlimit(resource.RLIMIT_NOFILE, (file.fileno() + 1, before[1]))
        elif what == "access":
            probe.chmod(0o644)
        elif what == "format":
            probe.write_bytes(b"\x7fELF not for this machine")
        elif what == "interpreter":
            probe.write_bytes(b"#!/nowhere/sh\n")
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
        ("quiet", "wait until its build has ended"),
    ],
)
def test_a_probe_that_does_not_start(tmp_path: Path, what: str, words: str) -> None:
    probe = sample.executable(tmp_path, "pass")
    with without(what, probe), pytest.raises(TargetError, match="cannot be started") as caught:
        ProbeProcess([str(probe)], Limits(60), Stop())
    assert words in caught.value.remedy
