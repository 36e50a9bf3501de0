"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from hardstone.cli import completion
from hardstone.cli.help import CONDITIONS, HOW_LONG, LAB, OUTPUT, WHAT, WHERE, Option
from hardstone.errors import InputError, printable
from hardstone.units import parse_duration_ns

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _StoreFolder(click.Path):
    """A folder with a name: an empty text would mean the current folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if not os.fspath(value).strip():
            raise InputError(
                "--store: the name of the folder is empty", "name one, or leave out --store"
            )
        return super().convert(value, param, ctx)


class _Wait(click.ParamType):  # type: ignore[type-arg]
    """A time that may be 0, in seconds."""

    name = "time"

    def __init__(self, option_name: str = "--wait") -> None:
        self._option = option_name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return 0.0 if str(value) == "0" else parse_duration_ns(str(value)) / 1e9
        except ValueError as error:
            raise InputError(f"{self._option}: {error}", "give a time such as 30s or 10m") from None


_SYSTEM_UNDER_TEST = (
    "System under test: local, ssh://[USER@]HOST[:PORT], console:PORT[,KEY=VALUE...], a name of "
    "hardstone target list, lab:NAME[,KEY=VALUE...], or fake:FILE."
)
_OUTPUT_FILE = click.Path(dir_okay=False, path_type=Path)
PRIORITY_HELP = "Real-time priority (default: the maximum less 1; the studies used max)."


def option(*names: str, group: str, **how: Any) -> Any:
    """A field of a command's options that people type: its names, its group in the help, and `how`
    click reads it."""
    how |= {"cls": Option, "group": group}
    unless = True if how.get("is_flag") and "flag_value" not in how else None
    default = () if how.get("multiple") else False if unless else None
    return field(default=how.get("default", default), metadata={"names": names, "how": how})


def shared(kind: type[Any], name: str, **changed: Any) -> Any:
    """The same option in another command, with what is `changed` there."""
    (one,) = [one for one in fields(kind) if one.name == name]
    how = {**one.metadata["how"], **changed}
    return field(default=one.default, metadata={**one.metadata, "how": how})


def resume_option(help_text: str) -> Any:
    """The option --resume of a command, without a run or with one."""
    return option(
        "--resume", group=WHAT, is_flag=False, flag_value="", metavar="[RUN]", help=help_text
    )


def read_count(option_name: str, text: str, least: int, most: int, what: str, remedy: str) -> int:
    """A whole number of `what` from `least` to `most`; InputError for anything else."""
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    if not is_number or not least <= int(text) <= most:
        raise InputError(
            f"{option_name}: '{printable(text)[:40]}' is not a number of {what}", remedy
        )
    return int(text)


def options_of(kind: type[Any]) -> Callable[[Decorated], Decorated]:
    """The command takes one `kind`, a dataclass of options in the order of its fields, in place of
    an argument for each."""
    declared = [one for one in fields(kind) if "names" in one.metadata]

    def decorate(work: Decorated) -> Decorated:
        @wraps(work)
        def command(*arguments: Any, **values: Any) -> Any:
            own = {one.name: values.pop(one.name) for one in declared}
            return work(*arguments, options=kind(**own), **values)

        for one in reversed(declared):
            how = click.option(*one.metadata["names"], one.name, **one.metadata["how"])
            command = how(command)
        return cast("Decorated", command)

    return decorate


def typed_options(context: click.Context) -> set[str]:
    """The names of the options that were typed, and not left to their defaults."""
    source = click.core.ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is source}


def fitting(kind: type[Any], options: Any) -> dict[str, Any]:
    """The fields of the dataclass `kind` that `options` has too."""
    found = (one.name for one in fields(kind) if hasattr(options, one.name))
    return {name: getattr(options, name) for name in found}


LAB_PREFIX = "lab:"
_LAB = "lab_"  # before the key of a setting, so that none has the name of another option


@dataclass(frozen=True, kw_only=True)
class GuestOptions:
    """Settings of a kernel of the lab, for a command with a --cpus of its own."""

    lab_memory: str | None = option(
        "--memory", group=LAB, metavar="SIZE", help="Memory of the guest: 512M, 2G."
    )
    lab_preempt: str | None = option(
        "--preempt",
        group=LAB,
        metavar="[none|voluntary|full|lazy]",
        help="Preemption model that the kernel is booted with.",
    )
    lab_accel: str | None = option(
        "--accel",
        group=LAB,
        metavar="[auto|kvm|tcg]",
        help="How the guest's processor is run (default: KVM where it works).",
    )
    lab_deterministic: bool = option(
        "--deterministic",
        group=LAB,
        is_flag=True,
        help="Time counts instructions, on one CPU; a run repeats to the nanosecond.",
    )
    lab_device: str | None = option(
        "--device",
        group=LAB,
        metavar="[edu]",
        help="Add a device whose interrupts programs can raise (/dev/uio0).",
    )
    lab_append: str | None = option(
        "--append", group=LAB, metavar="TEXT", help="Append TEXT to the kernel's command line."
    )


@dataclass(frozen=True, kw_only=True)
class LabOptions(GuestOptions):
    """Settings of a kernel of the lab."""

    lab_cpus: str | None = option(
        "--cpus", group=LAB, is_common=True, metavar="N", help="Number of CPUs of the guest."
    )


@dataclass(frozen=True, kw_only=True)
class MachineOption:
    """The target of a command that measures nothing."""

    target: str = option(
        "--target",
        group=WHERE,
        metavar="NAME",
        show_default=True,
        help="Machine: local, ssh://[USER@]HOST[:PORT], console:PORT[,KEY=VALUE...], a name of "
        "hardstone target list, or lab:NAME[,KEY=VALUE...].",
        default="local",
        shell_complete=completion.targets,
    )


@dataclass(frozen=True, kw_only=True)
class TargetOption:
    """One system under test."""

    target: str = option(
        "--target",
        group=WHERE,
        is_common=True,
        metavar="NAME",
        show_default=True,
        help=_SYSTEM_UNDER_TEST,
        default="local",
        shell_complete=completion.targets,
    )


@dataclass(frozen=True, kw_only=True)
class TargetsOption:
    """Systems under test."""

    target: tuple[str, ...] = option(
        "--target",
        group=WHERE,
        is_common=True,
        metavar="NAME",
        show_default=True,
        help=f"{_SYSTEM_UNDER_TEST} Repeat it to measure several in turn and compare them.",
        default=("local",),
        multiple=True,
        shell_complete=completion.targets,
    )


@dataclass(frozen=True, kw_only=True)
class PolicyOption:
    """How the measuring threads are scheduled."""

    policy: str = option(
        "--policy",
        group=CONDITIONS,
        metavar="[fifo|rr|other]",
        default="fifo",
        show_default=True,
        help="Scheduling policy of the measuring threads.",
    )


@dataclass(frozen=True, kw_only=True)
class ConditionOptions:
    """Conditions of a plan: each command that measures has them."""

    load: tuple[str, ...] = option(
        "--load",
        group=CONDITIONS,
        is_common=True,
        multiple=True,
        default=("none",),
        metavar="LOADS",
        show_default=True,
        help="Run each test under each of these loads: none,heavy,heavy@cpu,cpu=10ms/100ms. See "
        "hardstone load --help.",
    )
    cpu_config: tuple[str, ...] = option(
        "--cpu-config",
        group=CONDITIONS,
        is_common=True,
        multiple=True,
        default=("shared",),
        metavar="CONFIGS",
        show_default=True,
        help="Run each test in each of these CPU configurations: shared, single (other CPUs "
        "offline), shielded (other work kept off the CPU).",
    )
    dma_latency: str | None = option(
        "--dma-latency",
        group=CONDITIONS,
        metavar="US",
        help="Maximum idle-state exit latency during tests; 0 disables deep idle, as cyclictest "
        "does.",
    )
    clock: str = option(
        "--clock",
        group=CONDITIONS,
        metavar="[auto|monotonic]",
        default="auto",
        show_default=True,
        help="Clock: the processor's counter if it passes its checks (auto), or clock_gettime.",
    )
    seed: str = option(
        "--seed",
        group=CONDITIONS,
        default="0",
        metavar="N",
        show_default=True,
        help="Seed of the random numbers.",
    )
    trace: bool = option(
        "--trace",
        group=CONDITIONS,
        is_flag=True,
        help="Keep the kernel's trace around the worst values (needs root and tracefs).",
    )
    name: str = option(
        "--name", group=OUTPUT, default="", metavar="TEXT", help="Name of the run, to find it by."
    )


@dataclass(frozen=True, kw_only=True)
class OutcomeOptions:
    """What becomes of a run: each command that measures has them."""

    output: Path | None = option(
        "-o",
        "--output",
        group=OUTPUT,
        is_common=True,
        type=_OUTPUT_FILE,
        metavar="FILE",
        help="Write the report to FILE, in the format of its suffix, such as .html or .pdf.",
    )
    export_json: Path | None = option(
        "--export-json",
        group=OUTPUT,
        type=_OUTPUT_FILE,
        metavar="FILE",
        help="Write the run document to FILE as JSON.",
    )
    export_csv: Path | None = option(
        "--export-csv",
        group=OUTPUT,
        type=_OUTPUT_FILE,
        metavar="FILE",
        help="Write count, min, median, mean, quantiles and max of each series to FILE.",
    )
    as_json: bool = option(
        "--json", group=OUTPUT, is_flag=True, help="Print one JSON document instead of text."
    )
    dry_run: bool = option(
        "--dry-run", group=OUTPUT, is_flag=True, help="Print the plan and measure nothing."
    )
    quiet: bool = option("-q", "--quiet", group=OUTPUT, is_flag=True, help="Show no progress.")
    store: Path | None = option(
        "--store",
        group=WHERE,
        type=_StoreFolder(path_type=Path),
        metavar="DIR",
        help="Folder of the stored runs (default: $XDG_DATA_HOME/hardstone).",
    )
    wait_s: float | None = option(
        "--wait",
        group=WHERE,
        type=_Wait(),
        metavar="TIME",
        help="If another measurement runs on the machine, wait at most TIME for it to finish "
        "(default: no limit).",
    )
    detach: bool = option(
        "--detach",
        group=WHERE,
        is_flag=True,
        help="Start the tests on a target that SSH reaches and leave; hardstone target collect "
        "gets the results.",
    )
    look_s: float | None = option(
        "--look",
        group=WHERE,
        type=_Wait("--look"),
        metavar="TIME",
        help="Look at a running test over SSH every TIME; each look is a connection to the target, "
        "and trust says so (default: never).",
    )


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What is measured, and for how long."""

    params: tuple[str, ...] = option(
        "-p",
        "--param",
        group=WHAT,
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a parameter of a test; lists with commas. hardstone explain TEST lists them.",
    )
    duration: str | None = option(
        "-D",
        "--duration",
        group=HOW_LONG,
        is_common=True,
        metavar="TIME",
        help="Measuring time of each test: 300 (seconds), 30s, 5m, 24h.",
    )
    profile: str = option(
        "--profile",
        group=HOW_LONG,
        metavar="[quick|standard|soak]",
        default="quick",
        show_default=True,
        help="Length of each test; all tests take about 1 minute (quick), 10 minutes (standard) or "
        "hours (soak).",
    )
    samples: str | None = option(
        "--samples",
        group=HOW_LONG,
        metavar="N",
        help="Samples of each series, instead of the profile's number.",
    )
    interval: str | None = option(
        "-i",
        "--interval",
        group=WHAT,
        metavar="US",
        help="Period in us, for tests with the parameter interval_ns.",
    )
    cpu: str | None = option(
        "-a",
        "--cpu",
        group=CONDITIONS,
        is_common=True,
        metavar="N",
        help="Run the measuring threads of all tests on CPU N.",
    )
    priority: str | None = option(
        "--priority",
        group=CONDITIONS,
        metavar="N|max",
        help=PRIORITY_HELP,
    )
    compare_preemption: bool = option(
        "--compare-preemption",
        group=CONDITIONS,
        is_flag=True,
        help="Measure with kernel preemption off, then on, and compare (needs root, or a kernel of "
        "the lab).",
    )
    folder: str | None = option(
        "--dir",
        group=WHERE,
        metavar="PATH",
        help="Folder for the files of FIO tests and their load (default: that of the store).",
    )


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(
    LabOptions, OutcomeOptions, TargetsOption, ConditionOptions, PolicyOption, PlanOptions
):
    """All options of commands that measure tests. `watched`: a threshold at which measuring goes
    on; `is_recording`: hours of one test."""

    watched: str | None = None
    is_recording: bool = False


def _decorator_of(kind: type[Any], name: str) -> Callable[[Decorated], Decorated]:
    """One option of `kind`, for a command that takes few."""
    (one,) = [one for one in fields(kind) if one.name == name]
    return click.option(*one.metadata["names"], name, **one.metadata["how"])


target_option = _decorator_of(TargetOption, "target")
machine_option = _decorator_of(MachineOption, "target")
store_option = _decorator_of(OutcomeOptions, "store")
output_option = _decorator_of(OutcomeOptions, "output")
json_option = _decorator_of(OutcomeOptions, "as_json")
quiet_option = _decorator_of(OutcomeOptions, "quiet")
files_option = click.option(
    "--files",
    cls=Option,
    group=OUTPUT,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write each chart as SVG and PNG, and its data as CSV, to the new folder DIR.",
)


def lab_targets(names: Sequence[str], options: GuestOptions) -> list[str]:
    """`names` with the options of the lab that were given, each kernel of the lab in its one form.

    InputError for such an option and a target that is not of the lab, and for wrong settings.
    """
    given = {  # by key, as in a target's name: a flag has no value
        name.removeprefix(_LAB): "" if value is True else value
        for name, value in fitting(LabOptions, options).items()
        if value not in (None, False)
    }
    return [_lab_target(name, given) for name in names]


def lab_target(name: str, options: GuestOptions) -> str:
    """The same for one target."""
    return lab_targets([name], options)[0]


def _lab_target(name: str, given: Mapping[str, str]) -> str:
    if not name.startswith(LAB_PREFIX):
        if given:
            raise InputError(
                f"--{next(iter(given))} is for kernels of the lab, and the target is '{name[:60]}'",
                "leave it out, or name a kernel with --target lab:NAME",
            )
        return name
    from hardstone.lab.settings import parse_settings, with_settings

    settings = parse_settings(name.removeprefix(LAB_PREFIX))
    return LAB_PREFIX + with_settings(settings, **given).name


def one_array_thread() -> None:
    """Keeps numpy's library, before it is loaded, from starting a thread for each CPU: that takes
    longer than a report gains by them, and ends this program where no thread can be started.

    Only for commands that start no program of the user, which would inherit the setting, and where
    threads are refused."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
