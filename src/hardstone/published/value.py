"""The value that a series has for a published statistic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardstone.model import Series
from hardstone.published.resolve import AddressError, Resolved

if TYPE_CHECKING:  # numpy takes longer to load than all published systems to read
    from hardstone.stats.kernel_operations import KernelTime, Operation
    from hardstone.stats.section_time import SectionLength

_OF_A_SERIES = ("min", "mean", "max")
_OF_KERNEL_TIME = {"time_90": 0.9, "time_99": 0.99}


def is_of_kernel_time(statistic: str) -> bool:
    """Whether `statistic` is a length of sections, which `length_of` gives."""
    return statistic in _OF_KERNEL_TIME


def length_of(found: Resolved, statistic: str) -> SectionLength:
    """The length below which sections made up a share of kernel time, by the operation that the
    series is labelled with. AddressError, with the reason, if it cannot be told."""
    time, operation = _operation(found)
    if time.is_reference_of_others:
        raise AddressError(
            "other processes had the CPU for most of the reference (operation none)",
            "measure without other work on the CPU",
        )
    if operation.blocking is None:
        raise AddressError(
            "the reference (operation none) is missing or short", "measure for longer"
        )
    if operation.kernel_share is None:
        raise AddressError("the time in the kernel was not counted", "measure again")
    length = operation.blocking.lengths[_OF_KERNEL_TIME[statistic]]
    if length is None:
        lacks = (
            operation.lacks(_OF_KERNEL_TIME[statistic]) or "is not known: its residuals do not fall"
        )
        raise AddressError(f"{statistic} {lacks}", "measure for longer")
    return length


def _operation(found: Resolved) -> tuple[KernelTime, Operation]:
    from hardstone.stats.kernel_operations import ALL, kernel_time_of

    time = kernel_time_of(found.result)
    labels = found.series.labels if found.series else {}
    name = str(labels.get("operation", ALL))
    if time is None:
        raise AddressError(f"{found.result.test} has no time in sections of the kernel")
    known = (time.whole, time.reference, *time.operations)
    operation = next((one for one in known if one and one.name == name), None)
    if operation is None:
        raise AddressError(f"no releases of the operation {name}")
    return time, operation


def value_of(series: Series, statistic: str) -> float:
    """The `statistic` of `series` in its unit. AddressError if the series has none."""
    from hardstone.stats.quantiles import is_printable, lacking, values_for
    from hardstone.stats.summary import quantile_of_series

    if statistic in _OF_A_SERIES:
        value = getattr(series, statistic)
        if value is None:
            raise AddressError(f"the series {series.name} has no values", "measure for longer")
        return float(value)
    if not statistic.startswith("p"):
        raise AddressError(f"a series has no '{statistic}'")
    q = float(statistic[1:]) / 100
    found = quantile_of_series(series, q) if is_printable(q, series.count) else None
    if found is None or found.value is None:
        lacks = lacking(values_for(q), series.count) or "has no value"
        raise AddressError(f"{statistic} {lacks}", "measure for longer")
    return float(found.value)
