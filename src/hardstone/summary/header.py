"""The first lines: what was measured, on what machine, under what conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from hardstone.model import Conditions, Instrument, RunDocument, Scalar
from hardstone.stats.conditions import NOT_KNOWN, config_text
from hardstone.stats.contradictions import MARK
from hardstone.stats.identity import duration_problem
from hardstone.stats.trust import has_run
from hardstone.summary.text import short, words
from hardstone.units import format_ns, format_span

NOT_REALTIME = "not scheduled as real-time"
_GRANT = ": sudo setcap "


def header_lines(document: RunDocument) -> Iterator[Text]:
    """Title lines of a run."""
    yield words(f"{document.id}  {document.name}", "bold")
    yield words(_state(document))
    yield words(_machine_text(document.system))
    yield words(_kernel_text(document.system))
    yield words(_conditions_text(document))
    if document.instrument is not None:
        yield words(_instrument_text(document.instrument))


def not_realtime_lines(document: RunDocument) -> Iterator[Text]:
    """The gravest caveat, which comes first, with what the advice says about it."""
    lacking = [one for one in _conditions_known(document) if one.realtime is False]
    said = [line for line in document.advice if line.startswith(NOT_REALTIME)]
    if document.plan.policy != "other" and (lacking or said):
        yield Text(NOT_REALTIME, style="bold red")
        for line in said:
            yield words("  " + line.partition(": ")[2].partition(_GRANT)[0])


def grants(document: RunDocument) -> list[str]:
    """The commands that the advice names for that."""
    said = (line.partition(_GRANT) for line in document.advice if line.startswith(NOT_REALTIME))
    return [_GRANT.removeprefix(": ") + rest for _, is_named, rest in said if is_named]


def _state(document: RunDocument) -> str:
    spent_ns = sum(result.duration_ns for result in document.results)
    started = document.started_utc.replace("T", " ").replace("Z", " UTC")
    is_wrong = any(duration_problem(result.duration_ns) for result in document.results)
    mark = MARK if is_wrong else ""
    return f"{document.status}, {started}, {format_span(spent_ns)}{mark} of measuring"


def _machine_text(facts: Mapping[str, Scalar]) -> str:
    parts = [short(facts.get("machine.cpu_model")) or short(facts.get("machine.arch"))]
    count = facts.get("cpu.count")
    parts.append(f"{count} CPU{'' if count == 1 else 's'}" if count else "")
    parts.append(_virtual(facts))
    governor = short(facts.get("power.governor"))
    parts.append(f"governor {governor}" if governor else "")
    return ", ".join(part for part in parts if part) or "machine not known"


def _virtual(facts: Mapping[str, Scalar]) -> str:
    found = [short(facts.get(f"virtual.{key}")) for key in ("hypervisor", "container")]
    named = [name for name in found if name and name not in ("none", "False")]
    return f"virtual: {' '.join(named)}" if named else ""


def _kernel_text(facts: Mapping[str, Scalar]) -> str:
    kernel = f"{short(facts.get('kernel.name'))} {short(facts.get('kernel.release'))}".strip()
    preemption = short(facts.get("kernel.preemption"))
    rate = facts.get("kernel.hz")
    parts = [
        kernel or "kernel not known",
        f"preemption {preemption}" if preemption else "preemption not known",
        f"{rate} Hz" if rate else "",
        short(facts.get("os.name")),
    ]
    return ", ".join(part for part in parts if part)


def _conditions_text(document: RunDocument) -> str:
    ran = _conditions_known(document)
    if not ran:
        is_empty = not any(one.series or one.verdicts for one in document.results)
        state = "nothing was measured" if is_empty else "how the tests ran is not known"
        return f"load {document.plan.load}, CPUs {document.plan.cpu_config}, {state}"
    kinds = zip(*(_one_condition(conditions) for conditions in ran), strict=True)
    how = ", ".join(_most_common(texts) for texts in kinds)
    loads = list(dict.fromkeys(conditions.load or NOT_KNOWN for conditions in ran))
    under: dict[str, list[Conditions]] = {}
    for conditions in ran:
        under.setdefault(conditions.cpu_config or NOT_KNOWN, []).append(conditions)
    configs = [config_text(*alike) for alike in under.values()]
    return f"{how}, load {', '.join(loads)}, CPUs {', '.join(configs)}"


def _most_common(texts: Sequence[str]) -> str:
    """What holds for most tests, and for how many where not for all."""
    text, count = Counter(texts).most_common(1)[0]
    return text if count == len(texts) else f"{text} ({count} of {len(texts)})"


def _conditions_known(document: RunDocument) -> list[Conditions]:
    """Of the tests that told how they ran; where a stream broke off nobody knows."""
    results = [one for one in document.results if has_run(one)]
    return [one.conditions for one in results if one.complete or one.status == "measured"]


def _one_condition(conditions: Conditions) -> tuple[str, ...]:
    cpu = "not bound to a CPU" if conditions.cpu is None else f"CPU {conditions.cpu}"
    locked = "memory locked" if conditions.memory_locked else "memory not locked"
    return f"policy {conditions.policy} {conditions.priority}", cpu, locked


def _instrument_text(instrument: Instrument) -> str:
    pair = instrument.pair
    text = (
        f"clock {instrument.clock}: a pair of time stamps costs {format_ns(pair.median)} "
        f"(median), {format_ns(pair.max)} (worst observed)"
    )
    why = f"; not trusted: {instrument.reason}" if not instrument.trusted else ""
    return text + why
