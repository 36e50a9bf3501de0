"""Where and how the measuring threads may run, checked against facts of the machine."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import Descriptor, ParamValue, Scalar
from hardstone.plan.numbers import parse_cpu_list, whole_number
from hardstone.plan.problems import Problems, quote

HIGHEST = "max"
_MAX_CPU = 65_535
_POSIX_PRIORITIES = (1, 255)


def count_cpus(facts: Mapping[str, Scalar]) -> int:
    """Number of CPUs that the machine allows; 1 if that is unknown."""
    allowed = facts.get("cpu.allowed")
    return max(1, len(_cpus(allowed))) if isinstance(allowed, str) else 1


def check_cpu(text: str | None, facts: Mapping[str, Scalar], problems: Problems) -> int | None:
    """The requested CPU; one that the machine does not allow is noted."""
    if text is None:
        return None
    cpu = whole_number(text, "--cpu", 0, _MAX_CPU, problems)
    if cpu is not None:
        _check_allowed(cpu, "--cpu", facts, problems)
    return cpu


def check_cpu_params(
    test: Descriptor,
    params: Mapping[str, ParamValue],
    facts: Mapping[str, Scalar],
    problems: Problems,
) -> None:
    """Notes every CPU among the parameters of `test` that the machine does not allow."""
    for spec in test.params:
        value = params.get(spec.name, [])
        if spec.unit == "cpu":
            for cpu in value if isinstance(value, list) else [value]:
                _check_allowed(cpu, f"{test.id} {spec.name}", facts, problems)


def _check_allowed(
    cpu: int | str, name: str, facts: Mapping[str, Scalar], problems: Problems
) -> None:
    """An isolated CPU is missing from the default affinity, and may be asked for by name."""
    allowed = facts.get("cpu.allowed")
    known = _cpus(allowed)
    if known and cpu not in known | _cpus(facts.get("kernel.isolated_cpus")):
        problems.add(
            f"{name}: CPU {cpu} is not available here", f"give one of {quote(str(allowed))}"
        )


def _cpus(text: Scalar) -> set[int]:
    """Empty for what is no list of CPUs."""
    try:
        return parse_cpu_list(text) if isinstance(text, str) else set()
    except ValueError:
        return set()


def check_priority(
    text: str | None, policy: str, facts: Mapping[str, Scalar], problems: Problems
) -> int | None:
    """The requested priority, if `policy` has it on this machine."""
    if text is None:
        return None
    if policy == "other":
        if text.strip() != "0":
            problems.add(
                f"--priority: policy other has no priority {quote(text)}",
                "leave it out, or use --policy fifo or rr",
            )
        return 0
    if text.strip() == HIGHEST:
        return _highest(facts, problems)
    low = _limit(facts, "limits.priority_min", _POSIX_PRIORITIES[0])
    high = _limit(facts, "limits.priority_max", _POSIX_PRIORITIES[1])
    return whole_number(text, "--priority", low, high, problems)


def _highest(facts: Mapping[str, Scalar], problems: Problems) -> int | None:
    """The number, so that a run can be repeated and compared."""
    value = facts.get("limits.priority_max")
    if isinstance(value, int):
        return value
    problems.add("--priority: the machine does not report its highest priority", "give the number")
    return None


def _limit(facts: Mapping[str, Scalar], key: str, default: int) -> int:
    value = facts.get(key)
    return value if isinstance(value, int) else default
