"""`hardstone load` and `hardstone shield`: what the probe is given, and their exit codes."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.process.cli.conftest import Hardstone
from tests.process.cli.forked import Forked
from tests.process.targets import sample

HEADER = {
    "type": "header",
    "schema": "hardstone.load/1",
    "probe_version": "0.1.0",
    "load": "cpu",
    "started_utc_ns": 1,
}
CPU = {
    "type": "load",
    "element": "cpu",
    "degree": "10ms/100ms",
    "asked": 0.1,
    "reached": 0.0998,
    "least": 0.0997,
    "unit": "share",
    "processes": 2,
    "counters": {"busy_ns": 250_000_000, "cpu_ns": 200_000_000},
}
SEARCH = {**CPU, "element": "search", "degree": "", "asked": None, "unit": "rounds_per_s"}
FOOTER = {"type": "footer", "lines": 3}
RUNS = {"type": "event", "name": "load_runs", "text": "every process works", "at_ns": None}
Says = Callable[..., None]


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Makes a probe that takes every text for a load, and then says these lines."""

    listed = (sample.GOLDEN / "loads.json").read_text()

    def make(*lines: Any, check: str = "", code: int = 0) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        body = (
            "import json\n"
            f"if sys.argv[2] == '--list':\n    print({listed!r}); sys.exit(0)\n"
            f"if sys.argv[2] == '--check':\n    sys.stderr.write({check!r}); sys.exit({code})\n"
            f"open({str(tmp_path / 'asked')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
            f"lines(*{texts!r})\n"
        )
        monkeypatch.setenv("HARDSTONE_PROBE", str(sample.executable(tmp_path, body)))

    return make


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({**RUNS, "name": "load_short", "text": "cpu reached 1 %"}, 3),
        ({**RUNS, "name": "load_unseen", "text": "interrupt: of 10 timers 2 were seen"}, 3),
        ({**RUNS, "name": "load_limited", "text": "disk: no room"}, 0),
    ],
)
def test_a_load_that_is_short_or_unseen_exits_3_and_a_limit_is_no_failure(
    hardstone: Hardstone, says: Says, event: dict[str, Any], code: int
) -> None:
    says(HEADER, RUNS, event | {"text": f"{event['text']}\x1b[31m"}, CPU, FOOTER)
    done = hardstone("load", "cpu", "-D", "1")
    assert (done.code, done.err) == (code, f"hardstone: {event['text']}\\x1b[31m\n")
    assert "\x1b" not in done.out


@pytest.mark.parametrize(("code", "expected"), [(2, 2), (5, 5), (70, 4)])
def test_what_the_probe_refuses(hardstone: Hardstone, says: Says, code: int, expected: int) -> None:
    says(check="hardstone-probe: load: no such thing; write cpu\n", code=code)
    done = hardstone("load", "cpu")
    assert done.code == expected
    assert "no such thing" in done.err
    assert "hardstone-probe: " not in done.err


def test_options_reach_the_probe_as_words_and_a_load_in_its_one_form(
    hardstone: Hardstone, says: Says, tmp_path: Path
) -> None:
    says(HEADER, FOOTER)
    hardstone("load", "stress-ng:--cpu 1; rm -rf x", "-D", "2s", "--cpus", "0")
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked[:2] == ["load", "stress-ng:--cpu 1; rm -rf x"]
    assert asked[-4:] == ["--cpus", "0", "--duration-ns", "2000000000"]
    document = hardstone("load", " search+cpu=0.01s/0.1s", "--json").document
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked[1] == document["load"] == "cpu=10ms/100ms+search"


@pytest.mark.parametrize("line", ["nonsense", '{"type":"other"}', '{"type":"load"}'])
def test_lines_that_are_none(hardstone: Hardstone, says: Says, line: str) -> None:
    says(HEADER, line, FOOTER)
    done = hardstone("load", "cpu")
    assert done.code == 2
    assert len(done.told) == 1


def test_no_footer(hardstone: Hardstone, says: Says) -> None:
    says(HEADER, CPU)
    assert hardstone("load", "cpu").code == 3


# ---- shield ----

Shield = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def shield(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[str]]]:
    """Exit code, and the words that the probe was given."""
    probe = sample.executable(tmp_path, "lines(repr(sys.argv)); sys.exit(7)")

    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))

    def call(*words: str) -> tuple[int, list[str]]:
        with Forked("shield", *words) as tool:
            code, given = tool.wait(), ast.literal_eval(tool.out)
        assert given[0] == str(probe)
        return code, given[1:]

    return call


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ("--show", "--show --text"),
        ("--show --json", "--show --json"),
        ("--restore", "--restore --text"),
        ("--restore --forget", "--restore --forget --text"),
        ("-- ls -l -- 'x y'", "--text -- ls -l -- 'x y'"),
        ("ls --show", "--text -- ls --show"),
        (
            "-a 1 --priority 5 --policy rr --verbose -- true",
            "--cpu 1 --policy rr --priority 5 --verbose --text -- true",
        ),
        (
            "--cpus 1-2 --settings cpuset -- '$(id)'",
            "--cpus 1-2 --settings cpuset --text -- '$(id)'",
        ),
    ],
)
def test_the_words_are_passed_on(shield: Shield, words: str, passed: str) -> None:
    assert shield(*shlex.split(words)) == (7, ["shield", *shlex.split(passed)])


def test_what_is_reserved(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs no right."""
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    with Forked("shield", "--show", "--json") as tool:
        assert tool.wait() == 0
        shown = json.loads(tool.out)
    assert shown["schema"] == "hardstone.shield/1"
    names = {"cpuset", "interrupts", "workqueues", "timers", "watchdog", "governor", "dma_latency"}
    assert {setting["name"] for setting in shown["settings"]} == names
