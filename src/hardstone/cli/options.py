"""Options that several commands share, and the registers of tests that they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from hardstone.errors import InputError
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


def _target_option(text: str, **how: Any) -> Callable[[Decorated], Decorated]:
    return click.option("--target", metavar="NAME", show_default=True, help=text, **how)


target_option = _target_option(_SYSTEM_UNDER_TEST, default="local")
targets_option = _target_option(
    f"{_SYSTEM_UNDER_TEST} Several: one after another, then a table.",
    default=("local",),
    multiple=True,
)
machine_option = _target_option("Where: local, or lab:NAME[,KEY=VALUE...].", default="local")
store_option = click.option(
    "--store",
    type=_StoreFolder(path_type=Path),
    metavar="DIR",
    help="Folder of the stored runs (default: $XDG_DATA_HOME/hardstone).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
wait_option = click.option(
    "--wait",
    "wait_s",
    type=_Wait(),
    metavar="TIME",
    help="Longest wait for another measurement on the machine (default: until it ends).",
)
files_option = click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Each chart as SVG and PNG too, with its data as CSV: in a new folder DIR.",
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write the report to; PDF where it ends in .pdf.",
)

# Of a plan's conditions, and of what becomes of a run: each command that measures has them.
condition_options = (
    click.option(
        "--policy",
        metavar="[fifo|rr|other]",
        default="fifo",
        show_default=True,
        help="Scheduling policy.",
    ),
    click.option(
        "--clock",
        metavar="[auto|monotonic]",
        default="auto",
        show_default=True,
        help="The processor's counter if it passes its checks, or clock_gettime only.",
    ),
    click.option(
        "--load",
        multiple=True,
        default=("none",),
        metavar="LOADS",
        show_default=True,
        help="Loads; each test runs under each: none,heavy,heavy@cpu,latstat,cpu=10ms/100ms.",
    ),
    click.option(
        "--cpu-config",
        multiple=True,
        default=("shared",),
        metavar="CONFIGS",
        show_default=True,
        help="CPU configurations; each test runs in each: shared,single (others offline),shielded.",
    ),
    click.option(
        "--seed", default="0", metavar="N", show_default=True, help="Seed for random draws."
    ),
    click.option(
        "--dma-latency",
        metavar="US",
        help="Longest exit latency of idle states while a test measures (cyclictest: 0).",
    ),
    click.option(
        "--trace",
        is_flag=True,
        help="Keep the kernel's events around the worst values (needs root and tracefs).",
    ),
    click.option("--name", default="", metavar="TEXT", help="A name for the run."),
)
run_options = (
    wait_option,
    store_option,
    output_option,
    click.option("--dry-run", is_flag=True, help="Print the plan and measure nothing."),
    json_option,
    click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
)
_PLAN_OPTIONS = (
    click.option(
        "--profile",
        metavar="[quick|standard|soak]",
        default="quick",
        show_default=True,
        help="Length of the whole battery: about 1 minute, 10 minutes, or hours.",
    ),
    click.option("--samples", metavar="N", help="Samples per series, instead of the profile's."),
    click.option(
        "-D",
        "--duration",
        metavar="TIME",
        help="Measuring time of each test: 300 (seconds), 30s, 5m, 24h.",
    ),
    click.option(
        "-i", "--interval", metavar="US", help="Interval in us, for tests with interval_ns."
    ),
    click.option(
        "-p",
        "--param",
        "params",
        multiple=True,
        metavar="KEY=VALUE",
        help="A parameter of a test, lists with commas; see explain.",
    ),
    click.option(
        "--dir",
        "folder",
        metavar="PATH",
        help="Folder for the files of FIO tests and their load (default: that of the store).",
    ),
    click.option(
        "--compare-preemption",
        is_flag=True,
        help="Measure with kernel preemption off, then on, and compare (root, or a lab kernel).",
    ),
    click.option("-a", "--cpu", metavar="N", help="CPU for the measuring threads of all tests."),
    click.option(
        "--priority",
        metavar="N|max",
        help="Real-time priority (default: maximum - 1; max: as in the studies).",
    ),
    *condition_options,
    targets_option,
    *run_options,
)


def decorated(command: Decorated, options: Sequence[Callable[[Any], Any]]) -> Decorated:
    """`command` with `options`, in their order."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def plan_options(command: Decorated) -> Decorated:
    """All options of commands that measure."""
    return decorated(command, _PLAN_OPTIONS)


LAB_PREFIX = "lab:"
_PARAMETER = "lab_"  # before the key of a setting, so that none has the name of another option
_CPUS = click.option("--cpus", "lab_cpus", metavar="N", help="Lab: CPUs of the guest.")
_OTHERS = (
    click.option(
        "--memory", "lab_memory", metavar="SIZE", help="Lab: memory of the guest: 512M, 2G."
    ),
    click.option(
        "--preempt",
        "lab_preempt",
        metavar="[none|voluntary|full|lazy]",
        help="Lab: preemption model that the kernel is booted with.",
    ),
    click.option(
        "--accel",
        "lab_accel",
        metavar="[auto|kvm|tcg]",
        help="Lab: how the guest's processor is run (default: KVM where it works).",
    ),
    click.option(
        "--deterministic",
        "lab_deterministic",
        is_flag=True,
        help="Lab: time counts instructions, on one CPU; a run repeats to the nanosecond.",
    ),
    click.option(
        "--device",
        "lab_device",
        metavar="[edu]",
        help="Lab: a device whose interrupts programs raise (/dev/uio0).",
    ),
    click.option(
        "--append", "lab_append", metavar="TEXT", help="Lab: more for the kernel's command line."
    ),
)


def lab_options(command: Decorated) -> Decorated:
    """All options for kernels of the lab."""
    return decorated(command, (_CPUS, *_OTHERS))


def lab_options_without_cpus(command: Decorated) -> Decorated:
    """The same, for a command with a --cpus of its own: there the target's name has them."""
    return decorated(command, _OTHERS)


def lab_targets(names: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """`names` with the options of the lab that were given, each kernel of the lab in its one form.

    InputError for such an option and a target that is not of the lab, and for wrong settings.
    """
    given = _given(options)
    return [_lab_target(name, given) for name in names]


def lab_target(name: str, options: Mapping[str, Any]) -> str:
    """The same for one target."""
    return _lab_target(name, _given(options))


def _given(options: Mapping[str, Any]) -> dict[str, str]:
    """Settings by key, as in a target's name: a flag has no value."""
    return {
        name.removeprefix(_PARAMETER): "" if value is True else value
        for name, value in options.items()
        if name.startswith(_PARAMETER) and value not in (None, False)
    }


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
    """Before numpy is loaded: its library would start a thread for each CPU, which takes longer
    than all that a report has for them, and which ends this program where no thread can be
    started. For commands alone that start no program of the user, who would inherit it, and where
    threads are refused."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
