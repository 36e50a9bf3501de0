"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

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
                "--store: the name of the folder is empty", "name one, or leave it out"
            )
        return super().convert(value, param, ctx)


class _Wait(click.ParamType):  # type: ignore[type-arg]
    """A time that may be 0, in seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return 0.0 if str(value) == "0" else parse_duration_ns(str(value)) / 1e9
        except ValueError as error:
            raise InputError(f"--wait: {error}", "give a time such as 30s or 10m") from None


_SYSTEM_UNDER_TEST = "System under test: local, lab:NAME[,KEY=VALUE...], or fake:FILE."


def option(*names: str, **how: Any) -> Any:
    """A field of a command's options that people type: its names, and `how` click reads it."""
    unless = True if how.get("is_flag") and "flag_value" not in how else None
    default = () if how.get("multiple") else False if unless else None
    return field(default=how.get("default", default), metadata={"names": names, "how": how})


def shared(kind: type[Any], name: str) -> Any:
    """The same option in another command."""
    (one,) = [one for one in fields(kind) if one.name == name]
    return field(default=one.default, metadata=one.metadata)


def resume_option(help_text: str) -> Any:
    """The option --resume of a command, without a run or with one."""
    return option("--resume", is_flag=False, flag_value="", metavar="[RUN]", help=help_text)


def read_count(option_name: str, text: str, least: int, most: int, what: str, remedy: str) -> int:
    """A whole number of `what` from `least` to `most`; InputError for anything else."""
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    if not is_number or not least <= int(text) <= most:
        raise InputError(
            f"{option_name}: '{printable(text)[:40]}' is not a number of {what}", remedy
        )
    return int(text)


def options_of(kind: type[Any], *, lab_after: str = "") -> Callable[[Decorated], Decorated]:
    """The command takes one `kind`, a dataclass of options in the order of its fields, in place of
    an argument for each. Those of the lab come after `lab_after`, by default last."""
    of_lab = [one for one in fields(LabOptions) if hasattr(kind, one.name)]
    of_lab.sort(key=lambda one: one.name != "lab_cpus")
    others = [one for one in fields(kind) if "names" in one.metadata]
    others = [one for one in others if not one.name.startswith(_LAB)]
    named = [one.name for one in others]
    place = named.index(lab_after) + 1 if lab_after else len(others)
    declared = [*others[:place], *of_lab, *others[place:]]

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
        "--memory", metavar="SIZE", help="Lab: memory of the guest: 512M, 2G."
    )
    lab_preempt: str | None = option(
        "--preempt",
        metavar="[none|voluntary|full|lazy]",
        help="Lab: preemption model that the kernel is booted with.",
    )
    lab_accel: str | None = option(
        "--accel",
        metavar="[auto|kvm|tcg]",
        help="Lab: how the guest's processor is run (default: KVM where it works).",
    )
    lab_deterministic: bool = option(
        "--deterministic",
        is_flag=True,
        help="Lab: time counts instructions, on one CPU; a run repeats to the nanosecond.",
    )
    lab_device: str | None = option(
        "--device",
        metavar="[edu]",
        help="Lab: a device whose interrupts programs raise (/dev/uio0).",
    )
    lab_append: str | None = option(
        "--append", metavar="TEXT", help="Lab: more for the kernel's command line."
    )


@dataclass(frozen=True, kw_only=True)
class LabOptions(GuestOptions):
    """Settings of a kernel of the lab."""

    lab_cpus: str | None = option("--cpus", metavar="N", help="Lab: CPUs of the guest.")


@dataclass(frozen=True, kw_only=True)
class MachineOption:
    """The target of a command that measures nothing."""

    target: str = option(
        "--target",
        metavar="NAME",
        show_default=True,
        help="Where: local, or lab:NAME[,KEY=VALUE...].",
        default="local",
    )


@dataclass(frozen=True, kw_only=True)
class TargetOption:
    """One system under test."""

    target: str = option(
        "--target", metavar="NAME", show_default=True, help=_SYSTEM_UNDER_TEST, default="local"
    )


@dataclass(frozen=True, kw_only=True)
class TargetsOption:
    """Systems under test."""

    target: tuple[str, ...] = option(
        "--target",
        metavar="NAME",
        show_default=True,
        help=f"{_SYSTEM_UNDER_TEST} Several: one after another, then a table.",
        default=("local",),
        multiple=True,
    )


@dataclass(frozen=True, kw_only=True)
class PolicyOption:
    """How the measuring threads are scheduled."""

    policy: str = option(
        "--policy",
        metavar="[fifo|rr|other]",
        default="fifo",
        show_default=True,
        help="Scheduling policy.",
    )


@dataclass(frozen=True, kw_only=True)
class ConditionOptions:
    """Conditions of a plan: each command that measures has them."""

    clock: str = option(
        "--clock",
        metavar="[auto|monotonic]",
        default="auto",
        show_default=True,
        help="The processor's counter if it passes its checks, or clock_gettime only.",
    )
    load: tuple[str, ...] = option(
        "--load",
        multiple=True,
        default=("none",),
        metavar="LOADS",
        show_default=True,
        help="Loads; each test runs under each: none,heavy,heavy@cpu,latstat,cpu=10ms/100ms.",
    )
    cpu_config: tuple[str, ...] = option(
        "--cpu-config",
        multiple=True,
        default=("shared",),
        metavar="CONFIGS",
        show_default=True,
        help="CPU configurations; each test runs in each: shared,single (others offline),shielded.",
    )
    seed: str = option(
        "--seed", default="0", metavar="N", show_default=True, help="Seed for random draws."
    )
    dma_latency: str | None = option(
        "--dma-latency",
        metavar="US",
        help="Longest exit latency of idle states while a test measures (cyclictest: 0).",
    )
    trace: bool = option(
        "--trace",
        is_flag=True,
        help="Keep the kernel's events around the worst values (needs root and tracefs).",
    )
    name: str = option("--name", default="", metavar="TEXT", help="A name for the run.")


@dataclass(frozen=True, kw_only=True)
class OutcomeOptions:
    """What becomes of a run: each command that measures has them."""

    wait_s: float | None = option(
        "--wait",
        type=_Wait(),
        metavar="TIME",
        help="Longest wait for another measurement on the machine (default: until it ends).",
    )
    store: Path | None = option(
        "--store",
        type=_StoreFolder(path_type=Path),
        metavar="DIR",
        help="Folder of the stored runs (default: $XDG_DATA_HOME/hardstone).",
    )
    output: Path | None = option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="File to write the report to: .html, .pdf, or its opening as .png or .svg.",
    )
    dry_run: bool = option("--dry-run", is_flag=True, help="Print the plan and measure nothing.")
    as_json: bool = option("--json", is_flag=True, help="Print one JSON document.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Show no progress.")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What is measured, and for how long."""

    profile: str = option(
        "--profile",
        metavar="[quick|standard|soak]",
        default="quick",
        show_default=True,
        help="Length of the whole battery: about 1 minute, 10 minutes, or hours.",
    )
    samples: str | None = option(
        "--samples", metavar="N", help="Samples per series, instead of the profile's."
    )
    duration: str | None = option(
        "-D",
        "--duration",
        metavar="TIME",
        help="Measuring time of each test: 300 (seconds), 30s, 5m, 24h.",
    )
    interval: str | None = option(
        "-i", "--interval", metavar="US", help="Interval in us, for tests with interval_ns."
    )
    params: tuple[str, ...] = option(
        "-p",
        "--param",
        multiple=True,
        metavar="KEY=VALUE",
        help="A parameter of a test, lists with commas; see explain.",
    )
    folder: str | None = option(
        "--dir",
        metavar="PATH",
        help="Folder for the files of FIO tests and their load (default: that of the store).",
    )
    compare_preemption: bool = option(
        "--compare-preemption",
        is_flag=True,
        help="Measure with kernel preemption off, then on, and compare (root, or a lab kernel).",
    )
    cpu: str | None = option(
        "-a", "--cpu", metavar="N", help="CPU for the measuring threads of all tests."
    )
    priority: str | None = option(
        "--priority",
        metavar="N|max",
        help="Real-time priority (default: maximum - 1; max: as in the studies).",
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
files_option = click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Each chart as SVG and PNG too, with its data as CSV: in a new folder DIR.",
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
