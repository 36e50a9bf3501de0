"""What HP measured of non-preemptible kernel time in 1987, to stand beside a figure of today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hardstone.stats.kernel_operations import TEST
from hardstone.systems.published import Figure, figures_of, load_studies

TIME_90, TIME_99, WORST = "time_90", "time_99", "max"
STATISTICS = (TIME_90, TIME_99, WORST)
_STUDY = "hp-ux-rt-1987"
_TABLE = "non_preemptable_kernel_time"
_NAMES = {TIME_90: "90 %", TIME_99: "99 %", WORST: "longest"}
_OFF, _ON = "hpux-off", "hpux-on"
_NS_PER = {"ms": 1e6, "us": 1e3}


@dataclass(frozen=True)
class KernelHistory:
    """The published figures, in ns, by statistic: `off` and `on` are without and with kernel
    preemption. `machine` names system and hardware, `short` study and year."""

    short: str
    machine: str
    off: Mapping[str, float]
    on: Mapping[str, float]
    improvement: Mapping[str, float]


def kernel_history() -> KernelHistory:
    """The table of the study, as it was transcribed."""
    study = load_studies()[_STUDY]
    figures = [one for one in figures_of(TEST) if one.study == _STUDY and one.table == _TABLE]
    rows = study.tables[_TABLE]["rows"]
    return KernelHistory(
        short=study.reading.short,
        machine=study.systems[_OFF].name.partition(", kernel preemption")[0],
        off=_of_system(figures, _OFF),
        on=_of_system(figures, _ON),
        improvement={name: float(rows[name][2]) for name in STATISTICS},
    )


def history_line(refused: str | None) -> str:
    """HP's figures: "HP 1987, MACHINE: preemption off 90 % 40 ms, ..."; or, with `refused`, why
    they do not stand here."""
    found = kernel_history()
    if refused:
        return f"{found.short} is not shown: {refused}."
    sides = (("off", found.off), ("on", found.on))
    told = [f"preemption {name} {_figures(side)}" for name, side in sides]
    return f"{found.short}, {found.machine}: {'; '.join(told)}."


def _figures(side: Mapping[str, float]) -> str:
    return ", ".join(f"{_NAMES[key]} {milliseconds(value)}" for key, value in side.items())


def milliseconds(value_ns: float) -> str:
    """As the study has it: "1127 ms"."""
    return f"{value_ns / _NS_PER['ms']:g} ms"


def _of_system(figures: list[Figure], system: str) -> dict[str, float]:
    return {
        one.statistic: one.value * _NS_PER[one.unit or "ms"]
        for one in figures
        if one.system == system and one.statistic and isinstance(one.value, int | float)
    }
