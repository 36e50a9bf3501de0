"""What CI systems and systemd run: share/hardstone and action.yml, with a command that only notes
how it was called, and once with hardstone itself on a fake target."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.process.targets import sample
from tests.programs import needed, ran
from tests.waiting import wait_until

SHARE = ROOT / "share" / "hardstone"
GATE, SOAK = SHARE / "ci" / "gate.sh", SHARE / "systemd" / "soak.sh"
LIMITS = """schema = "hardstone.limits/1"
[[limit]]
address = "SEM-P-SIG/total/wakeup"
statistic = "max"
at_most = "{most}"
"""
# Notes its arguments, one call a line, writes what a gate writes, and ends as CODE_run,
# CODE_gate_limits, ... say.
NOTES = r"""#!/bin/sh
kind=$1
for word; do
  case $word in
  --limits | --baseline) kind=${kind}_${word#--} ;;
  --dry-run) kind=${kind}_dry_run ;;
  esac
done
printf '%s\037' "$@" >>"$NOTED"
echo >>"$NOTED"
for word; do
  case $option in
  --github | --junit) test -n "${SILENT+set}" || echo "## $kind" >"$word" ;;
  esac
  option=$word
done
echo "output of $kind"
eval "exit \${CODE_$kind:-0}"
"""


class Shell:
    """Runs a script with variables that are its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._noted = folder, folder / "noted"
        self.command = folder / "command"
        self.command.write_text(NOTES)
        self.command.chmod(0o755)
        self.limits = "limits.toml"
        (folder / self.limits).write_text(LIMITS.format(most="2us"))
        self.results = folder / "hardstone-results"

    def start(
        self, script: Path, *words: str, program: str = "sh", **variables: str
    ) -> subprocess.Popen[str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        own = {"NOTED": str(self._noted), "HARDSTONE": str(self.command)}
        return subprocess.Popen(
            [program, str(script), *words],
            env={**kept, **own, **variables},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(
        self, script: Path, *words: str, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        self._noted.unlink(missing_ok=True)
        with self.start(script, *words, **variables) as process:
            out, err = process.communicate(timeout=300)
        assert process.returncode == code, out + err
        return subprocess.CompletedProcess(process.args, code, out, err)

    @property
    def calls(self) -> list[list[str]]:
        if not self._noted.exists():
            return []
        return [line.split("\37")[:-1] for line in self._noted.read_text().splitlines()]

    def call(self, name: str) -> list[str]:
        """The one call of this command that is no dry run."""
        (found,) = (one for one in self.calls if one[0] == name and "--dry-run" not in one)
        return found


def summary_of(folder: Path) -> str:
    return (folder / "hardstone-results" / "summary").with_suffix(".md").read_text()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_each_run_is_gated_and_all_is_written(shell: Shell) -> None:
    chosen = {"HARDSTONE_RUN": "--load heavy -D 5m", "HARDSTONE_TARGET": "ssh://root@board"}
    summary = shell.folder / "step"
    summary.write_text("of another step\n")
    shell(GATE, HARDSTONE_LIMITS=shell.limits, GITHUB_STEP_SUMMARY=str(summary), **chosen)
    run, gate, report, *exports = shell.calls
    assert run[:2] == ["run", "TMR-P-LAT"]
    assert run[run.index("--target") + 1] == "ssh://root@board"
    assert run[-4:] == ["--load", "heavy", "-D", "5m"]
    name = run[run.index("--name") + 1]
    assert run[run.index("--repeat") + 1] == "3"
    names = [f"{name} {number} of 3" for number in (1, 2, 3)]
    assert gate[1:4] == names and gate[4:6] == ["--limits", shell.limits]
    assert report[1] == names[-1] and [one[1] for one in exports] == names
    text = summary_of(shell.folder)
    assert text == "## gate_limits\n" + 3 * "output of export\n"
    assert summary.read_text() == "of another step\n" + text


def test_one_run_has_no_number(shell: Shell) -> None:
    shell(GATE, HARDSTONE_LIMITS=shell.limits, HARDSTONE_REPEAT="1")
    assert "--name" in shell.call("run")
    name = shell.call("run")[shell.call("run").index("--name") + 1]
    assert shell.call("gate")[1:3] == [name, "--limits"]


@pytest.mark.parametrize(
    ("limits", "baseline", "code"),
    [(0, 0, 0), (1, 0, 1), (0, 1, 1), (3, 0, 3), (3, 1, 1), (1, 3, 1), (0, 2, 2), (1, 2, 2)],
)
def test_the_worst_outcome_counts(shell: Shell, limits: int, baseline: int, code: int) -> None:
    """FAIL is a fact, INCONCLUSIVE passes nothing, and an error decides nothing."""
    both = {"HARDSTONE_LIMITS": shell.limits, "HARDSTONE_BASELINE": "good"}
    codes = {"CODE_gate_limits": str(limits), "CODE_gate_baseline": str(baseline)}
    shell(GATE, code=code, HARDSTONE_REPEAT="1", **both, **codes)
    called = [one[0] for one in shell.calls]
    assert called == ["show", "run", "gate", "gate", "report", "export"]


@pytest.mark.parametrize(("run", "gate", "code"), [(3, 0, 3), (1, 0, 1), (3, 1, 1), (1, 3, 1)])
def test_what_was_not_measured_whole_does_not_pass(
    shell: Shell, run: int, gate: int, code: int
) -> None:
    """A test that timed out may be in no limit."""
    codes = {"CODE_run": str(run), "CODE_gate_limits": str(gate)}
    shell(GATE, code=code, HARDSTONE_LIMITS=shell.limits, **codes)
    assert shell.call("gate")
    assert summary_of(shell.folder).startswith(f"**hardstone run ended with {run}: ")


def test_nothing_of_an_earlier_job_is_shown(shell: Shell) -> None:
    shell(GATE, HARDSTONE_LIMITS=shell.limits)
    assert "## gate_limits" in summary_of(shell.folder)
    shell(GATE, code=4, HARDSTONE_LIMITS=shell.limits, CODE_run="4")
    assert [one.name for one in shell.results.iterdir()] == ["runs.txt"]
    shell(GATE, code=2, HARDSTONE_LIMITS=shell.limits, CODE_gate_limits="2", SILENT="")
    assert summary_of(shell.folder).startswith("## hardstone gate (limits): not decided")


def test_a_gate_that_writes_nothing_passes_nothing(shell: Shell) -> None:
    """As with HARDSTONE_GATE=--help."""
    shell(GATE, code=2, HARDSTONE_LIMITS=shell.limits, SILENT="")


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_result_that_was_not_written_does_not_pass(shell: Shell, command: str) -> None:
    shell(GATE, code=2, HARDSTONE_LIMITS=shell.limits, **{f"CODE_{command}": "2"})


def test_a_summary_that_cannot_be_written_does_not_pass(shell: Shell) -> None:
    shell(GATE, code=2, HARDSTONE_LIMITS=shell.limits, GITHUB_STEP_SUMMARY="/nowhere/summary")


LASTS = """#!/bin/sh
trap "echo ended > ended; exit 130" TERM
echo > begun
while :; do sleep 0.02; done
"""


def test_a_cancelled_job_leaves_nothing_behind(shell: Shell) -> None:
    """hardstone gets SIGTERM and is waited for; the trap of the script ends with 130."""
    shell.command.write_text(LASTS)
    with shell.start(GATE, HARDSTONE_LIMITS=shell.limits) as script:
        wait_until((shell.folder / "begun").exists)
        script.terminate()
        assert script.wait(300) == 130
    assert (shell.folder / "ended").exists()


# Sent before the first command after the one that starts hardstone.
AT_ONCE = """
send() {
    until test -e begun; do sleep 0.02; done
    trap - DEBUG
    kill -TERM $$
}
set -T
trap 'test -z "$(jobs -p)" || send' DEBUG
"""


def test_a_job_that_is_cancelled_as_hardstone_starts_leaves_nothing_behind(shell: Shell) -> None:
    bash = needed("bash")  # which stops before each command
    shell.command.write_text(LASTS)
    (shell.folder / "at-once").write_text(AT_ONCE)
    with shell.start(
        GATE, program=bash, HARDSTONE_LIMITS=shell.limits, BASH_ENV="at-once"
    ) as script:
        assert script.wait(300) == 130
    assert (shell.folder / "ended").exists()


@pytest.mark.parametrize("code", [2, 4, 5, 70, 130])
def test_what_was_not_measured_is_not(shell: Shell, code: int) -> None:
    done = shell(GATE, code=code, HARDSTONE_LIMITS=shell.limits, CODE_run=str(code))
    assert [one[0] for one in shell.calls] == ["run"]
    assert done.stdout == "output of run\n"


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HARDSTONE_LIMITS": "limits.toml", "HARDSTONE_REPEAT": "0"},
        {"HARDSTONE_LIMITS": "limits.toml", "HARDSTONE_REPEAT": "3; touch here"},
        {"HARDSTONE_LIMITS": "nowhere.toml"},
        {"HARDSTONE_BASELINE": "nothing", "CODE_show": "2"},
    ],
)
def test_wrong_variables(shell: Shell, variables: dict[str, str]) -> None:
    done = shell(GATE, code=2, **variables)
    assert done.stderr.startswith("gate.sh: ") and done.stderr.count("\n") == 1
    assert "run" not in [one[0] for one in shell.calls]


def test_variables_are_words_and_no_commands(shell: Shell) -> None:
    hostile = "$(touch here) `touch here` ; touch here & * ~"
    (shell.folder / hostile).write_text("")
    shell(
        GATE,
        HARDSTONE_LIMITS=hostile,
        HARDSTONE_TARGET=hostile,
        HARDSTONE_RUN=hostile,
        HARDSTONE_TESTS=hostile,
        HARDSTONE_GATE=hostile,
        HARDSTONE_STORE=hostile,
    )
    assert not list(shell.folder.rglob("here"))
    run = shell.call("run")
    assert run[run.index("--target") + 1] == hostile and run[-1] == "~" and "*" in run


def test_with_hardstone_itself(shell: Shell) -> None:
    """A limit that holds and one that does not; the report, the summary and JUnit are whole."""
    steps = {"SEM-P-SIG": sample.stream("SEM-P-SIG", values=range(1000, 3000))}
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    target = sample.scenario(shell.folder, steps, facts=facts)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    shell.command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" -m hardstone "$@"\n'
    )
    done = shell(
        GATE,
        code=1,
        HARDSTONE_LIMITS=shell.limits,
        HARDSTONE_TARGET=f"fake:{target}",
        HARDSTONE_TESTS="SEM-P-SIG",
        HARDSTONE_REPEAT="1",
        HARDSTONE_GATE="--lava",
        HARDSTONE_STORE=str(shell.folder / "store"),
    )
    assert "FAIL" in done.stdout and "\n<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=gate" in done.stdout
    names = sorted(one.stem for one in shell.results.iterdir())
    assert names == ["gate-limits", "junit-limits", "report", "runs", "summary"]
    summary = summary_of(shell.folder)
    assert summary.startswith("## hardstone gate: ") and "\n## hardstone: " in summary


def test_a_soak_goes_on_until_it_is_complete(shell: Shell) -> None:
    """Nights of one recording: ended in the morning, by a power cut, by a full disk, and complete;
    then another one begins."""
    state = {"STATE_DIRECTORY": str(shell.folder / "state"), "HARDSTONE_METRICS": "metrics.prom"}
    shell(SOAK, "measure", code=130, CODE_latstat="130", HARDSTONE_SOAK="-D 2d -a 0", **state)
    first = shell.call("latstat")
    assert first[-4:] == ["-D", "2d", "-a", "0"]
    name = first[first.index("--name") + 1]
    shell(SOAK, "ended", EXIT_STATUS="130", **state)
    assert shell.call("export")[1:2] == ["last"] and shell.call("export")[-1] == "metrics.prom"
    for ended in (None, "2", "0"):
        shell(SOAK, "measure", **state)
        assert shell.call("latstat")[-2:] == ["--resume", name]
        if ended is not None:
            shell(SOAK, "ended", EXIT_STATUS=ended, **state)
    shell(SOAK, "measure", CODE_latstat_dry_run="2", **state)
    assert "--resume" not in shell.call("latstat")


def test_a_recording_without_anything_left_is_followed_by_another(shell: Shell) -> None:
    """Complete, interrupted in its last moment, removed, or never stored: hardstone says it."""
    begun = shell.folder / "soak-begun"
    begun.write_text("soak-1\n")
    shell(SOAK, "measure", STATE_DIRECTORY=str(shell.folder), CODE_latstat_dry_run="2")
    assert "--resume" not in shell.call("latstat")
    assert begun.read_text() != "soak-1\n"


@pytest.mark.parametrize(("failing", "code"), [("CODE_runs", "2"), ("CODE_latstat_dry_run", "5")])
def test_what_cannot_be_known_ends_no_recording(shell: Shell, failing: str, code: str) -> None:
    """A store that cannot be read, a right that is missing tonight."""
    begun = shell.folder / "soak-begun"
    begun.write_text("soak-1\n")
    ended = 2 if failing == "CODE_runs" else 1
    shell(SOAK, "measure", code=ended, STATE_DIRECTORY=str(shell.folder), **{failing: code})
    assert begun.read_text() == "soak-1\n"
    assert all(one[0] == "runs" or "--dry-run" in one for one in shell.calls)


@pytest.mark.parametrize(
    ("status", "is_kept", "has_metrics"),
    [
        ("130", True, True),
        ("143", True, True),
        ("0", True, True),
        ("3", True, True),
        ("1", False, True),
        ("2", True, False),
        ("5", True, False),
        ("KILL", True, False),
    ],
)
def test_what_ends_a_night(shell: Shell, status: str, is_kept: bool, has_metrics: bool) -> None:
    """After a night that measured nothing the metrics keep their time, so that an alert on old
    ones works."""
    state = {"STATE_DIRECTORY": str(shell.folder), "HARDSTONE_METRICS": "metrics.prom"}
    begun = shell.folder / "soak-begun"
    begun.write_text("soak-1\n")
    shell(SOAK, "ended", EXIT_STATUS=status, **state)
    assert begun.exists() == is_kept and bool(shell.calls) == has_metrics


def test_no_metrics_without_an_exporter(shell: Shell) -> None:
    for metrics in ({"HARDSTONE_METRICS": ""}, {}):
        shell(SOAK, "ended", STATE_DIRECTORY=str(shell.folder), EXIT_STATUS="0", **metrics)
        assert not shell.calls


def test_a_night_ends_as_ctrl_c_does(shell: Shell) -> None:
    """timeout sends SIGINT after HARDSTONE_NIGHT and keeps the exit code of hardstone."""
    shell.command.write_text("#!/bin/sh\ntrap 'exit 130' INT\nwhile :; do sleep 0.02; done\n")
    state = {"STATE_DIRECTORY": str(shell.folder), "HARDSTONE_NIGHT": "0.2"}
    shell(SOAK, "measure", code=130, **state)


def test_the_unit_is_one_that_systemd_reads(tmp_path: Path) -> None:
    analyse = needed("systemd-analyze", "systemd")
    for one in (SHARE / "systemd").glob("hardstone-soak.*"):
        text = one.read_text().replace("/usr/share/hardstone", str(SHARE))
        (tmp_path / one.name).write_text(text.replace("Documentation=", "#"))
    command = [analyse, "verify", *map(str, tmp_path.iterdir())]
    done = ran(command)
    assert done.returncode == 0 and not done.stderr, done.stderr


def _steps() -> list[dict[str, object]]:
    return yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]


def test_the_action_passes_every_input(shell: Shell, tmp_path: Path) -> None:
    """Its inputs are those of gate.sh; its steps run here as GitHub runs them, in bash -e."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {name: str(one["default"]) for name, one in action["inputs"].items()}
    inputs |= {"command": str(shell.command), "limits": shell.limits, "run-options": "-D 5m"}
    used = set()
    environment = tmp_path / "environment"
    variables = {"GITHUB_ENV": str(environment), "RUNNER_TEMP": str(tmp_path)}
    variables["NOTED"] = str(tmp_path / "noted")
    for step in _steps():
        if "run" not in step:
            continue
        text = str(step["run"])
        assert "${{" not in text  # an input in a script would be a command
        given = dict(variables)
        for name, value in step["env"].items():  # type: ignore[attr-defined]
            if value.startswith("${{ inputs."):
                used.add(value[len("${{ inputs.") : -len(" }}")])
                given[name] = inputs[value[len("${{ inputs.") : -len(" }}")]]
            else:
                assert value == "${{ github.action_path }}"
                given[name] = str(ROOT)
        if environment.exists():
            given |= dict(line.split("=", 1) for line in environment.read_text().splitlines())
        done = ran(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", text],
            env={"PATH": os.environ["PATH"], **given},
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    assert used | {"results", "artifact"} == set(inputs)
    assert [one[0] for one in shell.calls][:3] == ["run", "gate", "report"]
    assert shell.call("run")[-2:] == ["-D", "5m"]


@pytest.mark.parametrize("name", ["gitlab.yml", "lava-job.yaml"])
def test_the_jobs_use_variables_of_the_script(name: str) -> None:
    """Every HARDSTONE_ variable of a job is one that gate.sh explains, or the place of gate.sh."""
    text = (SHARE / "ci" / name).read_text()
    assert yaml.safe_load(text)
    words = {one.strip('"$:=') for one in text.replace("=", " ").replace(":", " ").split()}
    named = {one for one in words if one.startswith("HARDSTONE_")} - {"HARDSTONE_GATE_SH"}
    explained = GATE.read_text().partition("set -u")[0]
    assert named and all(f"#   {one} " in explained for one in named)
    assert "gate.sh" in text
