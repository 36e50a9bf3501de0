"""The probe over transports that are not this process' child: a console, and one that is lost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hardstone.campaign.campaign import Campaign
from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_UNREACHABLE, InputError, PrivilegeError, TargetError
from hardstone.model import ClockCheck
from hardstone.plan.make import Request, make_plan
from hardstone.store.store import Store
from hardstone.targets.base import ProbeError, RunOptions, Stop, Target
from hardstone.targets.local import LocalTransport
from hardstone.targets.probe_target import ProbeTarget, check_load
from hardstone.targets.transport import Limits
from tests.process.targets import sample
from tests.waiting import LONGEST_S

TEST = "TMR-P-LAT"
PATIENT = Limits(LONGEST_S, stop_s=LONGEST_S)
NOISE = (b"[    1.234567] random: crng init done\r\n", b"\r\nlogin: ", b"\xff\x00\n")


class Console(LocalTransport):
    """Others write before and after what the probe sends."""

    name = "console"
    is_noisy = True

    def chunks(self, *words: Any) -> Generator[bytes]:
        yield NOISE[0]
        yield from super().chunks(*words)
        yield from NOISE[1:]


class Unplugged(LocalTransport):
    """Lost as soon as a test runs."""

    name = "unplugged"

    def chunks(self, arguments: Sequence[str], *more: Any) -> Generator[bytes]:
        if arguments[0] == "run":
            raise TargetError("unplugged does not answer", "plug it in")
        return super().chunks(arguments, *more)


def playing(folder: Path, stream: Sequence[str] = (), end: str = "") -> Path:
    """A probe that knows facts, list and selftest, and sends `stream` for a test."""
    texts = {name: (sample.GOLDEN / f"{name}.json").read_text() for name in ("facts", "register")}
    body = (
        f"texts = {texts | {'list': texts['register']}!r}\n"
        f"if sys.argv[1] in texts: lines(texts[sys.argv[1]].replace('\\n', ''))\n"
        f"elif sys.argv[1] == 'selftest': lines(*{sample.selftest()!r})\n"
        f"else:\n    lines(*{list(stream)!r})\n    {end or 'pass'}\n"
    )
    return sample.executable(folder, body)


def test_documents_arrive_over_a_console(tmp_path: Path) -> None:
    target: Target = ProbeTarget(Console(playing(tmp_path)), limits=PATIENT)
    assert (target.name, target.is_noisy) == ("console", True)
    assert target.probe_list() == sample.register()
    assert target.facts() == sample.facts()
    found = target.selftest()
    assert found is not None and all(one.passed for one in found.checks)
    with pytest.raises(InputError, match="cannot be read"):  # noise alone
        ProbeTarget(Console(sample.executable(tmp_path, "pass")), limits=PATIENT).facts()


def test_the_clock_of_the_system_is_that_of_its_transport() -> None:
    check = ClockCheck(host_ns=10, target_ns=11, uncertainty_ns=1)

    class Clocked(LocalTransport):
        def clock_check(self) -> ClockCheck | None:
            return check

    assert ProbeTarget(Clocked()).clock_check() == check
    assert ProbeTarget(LocalTransport()).clock_check() is None


@pytest.mark.parametrize("is_whole", [True, False])
def test_noise_behind_the_footer_hides_no_result(tmp_path: Path, is_whole: bool) -> None:
    """Exit codes 3 and 5 belong to a result; without a footer they are failures."""
    stream = sample.stream(TEST)[: None if is_whole else -1]

    class Late(Console):
        def chunks(self, *words: Any) -> Generator[bytes]:
            failure = None
            try:
                yield from LocalTransport.chunks(self, *words)
            except ProbeError as error:
                failure = error
            yield from NOISE
            if failure:
                raise failure

    lines = ProbeTarget(Late(playing(tmp_path, stream, "sys.exit(3)")), limits=PATIENT).run(
        sample.planned(), RunOptions(), None, Stop()
    )
    if is_whole:
        assert [line.decode() for line in lines if line.startswith(b"{")] == stream
    else:
        with pytest.raises(ProbeError, match="exit code 3"):
            list(lines)


def test_a_transport_that_is_lost_ends_the_run(tmp_path: Path) -> None:
    target = ProbeTarget(Unplugged(playing(tmp_path)))
    plan = make_plan(Request(tests=(TEST,)), sample.register(), load_catalogue())
    outcome = Campaign(target, Store(tmp_path / "store")).run(plan, sample.facts())
    assert outcome.exit_code == EXIT_UNREACHABLE
    assert "unplugged does not answer" in (outcome.document.results[0].reason or "")


@pytest.mark.parametrize(
    ("code", "kind"), [(2, InputError), (5, PrivilegeError), (70, TargetError)]
)
def test_a_load_is_checked_over_the_transport(
    tmp_path: Path, code: int, kind: type[Exception]
) -> None:
    said = "hardstone-probe: no such element; see hardstone load --help"
    body = (
        "assert sys.argv[1:] == ['load', '--check', 'cqu']\n"
        f"print({said!r}, file=sys.stderr); sys.exit({code})"
    )
    probe = sample.executable(tmp_path, body)
    transport = LocalTransport(probe)
    with pytest.raises(kind, match="no such element") as caught:
        check_load(transport, "cqu", None)
    if code != 70:
        assert str(caught.value) == "no such element; see hardstone load --help"
