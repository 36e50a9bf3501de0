"""The tables of the older studies, with a row for each system beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hardstone.catalogue import load_catalogue
from hardstone.model import Verdict
from hardstone.present.amount_text import amount_text
from hardstone.present.compare_columns import why_not_trusted
from hardstone.present.compare_grey import why_alone_grey
from hardstone.present.compare_view import PlainTable, SystemColumn
from hardstone.present.wording import shorten
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.systems.published import Study, load_studies
from hardstone.systems.subjects import Amount, Held, MeasuredRun, Missing, Subject, published_system

_OBENLAND, _GARRE = "obenland-2000", "garre-2014"
_UNKNOWN = "not known"
_CHARACTERS = 90
Find = Callable[[Subject, str], str]
_SWITCH = tuple(
    (f"{scope} {title}", f"SEM-P-RTP/{{kind}}/{scope}/context_switch", statistic)
    for scope in ("thread", "process")
    for title, statistic in (("mean", "mean"), ("worst", "max"))
)
_QUEUE = (
    *(
        (f"{scope} latency {title}", f"MSG-P-LAT/mq/64/{scope}/latency", statistic)
        for scope in ("thread", "process")
        for title, statistic in (("mean", "mean"), ("worst", "max"))
    ),
    *(
        (f"{scope} throughput {title}", f"MSG-P-THR/mq/8192/{scope}/throughput", statistic)
        for scope in ("thread", "process")
        for title, statistic in (("mean", "mean"), ("least", "min"))
    ),
)
_WORST = (
    ("task switch", "THR-P-SLS/2/switch", "max"),
    ("preemption", "THR-P-PRE/thread/preemption", "max"),
    ("semaphore shuffle", "SEM-P-SHF/unnamed/thread/shuffle", "max"),
)
Wanted = Sequence[tuple[str, str, str]]


def older_tables(columns: Sequence[SystemColumn]) -> list[PlainTable]:
    """Context switches and queues beside Obenland's, worst cases beside those of Garre et al., the
    ladder of priorities and classes."""
    return [_switches(columns), _queues(columns), _worst_cases(columns), _ladder(columns)]


def _runs(columns: Sequence[SystemColumn]) -> Iterator[tuple[SystemColumn, MeasuredRun]]:
    for column in columns:
        if isinstance(column.subject, MeasuredRun):
            yield column, column.subject


def _switches(columns: Sequence[SystemColumn]) -> PlainTable:
    study = load_studies()[_OBENLAND]
    rows = [
        [system, load, *_figures(published_system(key, load), _of_kind("unnamed"))]
        for key, system in _systems(study)
        for load in ("none", "heavy")
    ]
    kinds = load_catalogue().entry("SEM-P-RTP").enters_kernel
    always = [kind for kind, when in kinds.items() if when == "always"]
    for column, run in _runs(columns):
        for kind in always:
            figures = _own_figures(column, run, _of_kind(kind))
            if _has_any(figures):
                rows.append([f"{column.label}, {kind}", run.condition.load, *figures])
    return PlainTable(
        anchor="context-switches",
        title="Context switches",
        about=(
            "Half of a semaphore's round trip, without signal and wait (SEM-P-RTP), beside "
            f"{study.reading.short}."
        ),
        columns=["system", "load", *(title for title, _, _ in _SWITCH)],
        rows=rows,
        notes=[
            "Of runs only kinds of semaphore that enter the kernel with every call, as those of "
            "the study did: from others less is subtracted, so their switch looks longer.",
            *_hardware_notes(study),
        ],
    )


def _of_kind(kind: str) -> Wanted:
    return [(title, address.format(kind=kind), name) for title, address, name in _SWITCH]


def _queues(columns: Sequence[SystemColumn]) -> PlainTable:
    study = load_studies()[_OBENLAND]
    rows = [
        [system, "none", *_figures(published_system(key, "none"), _QUEUE)]
        for key, system in _systems(study)
    ]
    rows += _own_rows(columns, _QUEUE)
    note = study.reading.tables["message_queue"].note
    return PlainTable(
        anchor="message-queues",
        title="Message queues",
        about=f"Latency and throughput of POSIX message queues, beside {study.reading.short}.",
        columns=["system", "load", *(title for title, _, _ in _QUEUE)],
        rows=rows,
        notes=[
            " ".join(note.split()),
            "The worst of a throughput is the least. The worst of Solaris 8, 1 CPU (77.7 MB/s) is "
            "above its mean in the study, too.",
            *_hardware_notes(study),
        ],
    )


def _worst_cases(columns: Sequence[SystemColumn]) -> PlainTable:
    study = load_studies()[_GARRE]
    keys = list(study.tables["worst_case"]["rows"])
    rows = [
        [study.systems[key].name, _UNKNOWN, *_figures(published_system(key), _WORST)]
        for key in keys
    ]
    rows += _own_rows(columns, _WORST)
    said = study.tables["worst_case"]
    return PlainTable(
        anchor="worst-cases",
        title="Worst observed of three operations",
        about=(
            "The largest value of a switch between two threads, of a preemption and of a "
            f"semaphore's shuffle, beside {study.reading.short}."
        ),
        columns=["system", "load", *(title for title, _, _ in _WORST)],
        rows=rows,
        notes=[
            f"{study.reading.short}: {study.conditions.get('hardware', _UNKNOWN)}; "
            f"{said['conditions']}; {said['assumed']} assumed.",
            "A maximum grows with the number of values, which the study does not give.",
        ],
    )


def _own_rows(columns: Sequence[SystemColumn], wanted: Wanted) -> list[list[str]]:
    found = [
        [column.label, run.condition.load, *_own_figures(column, run, wanted)]
        for column, run in _runs(columns)
    ]
    return [row for row in found if _has_any(row[2:])]


def _systems(study: Study) -> Iterator[tuple[str, str]]:
    for key, system in study.systems.items():
        yield key, system.name


def _hardware_notes(study: Study) -> list[str]:
    return [f"{one.name}: {one.hardware}" for one in study.systems.values() if one.hardware]


def _has_any(figures: Sequence[str]) -> bool:
    return any(one != "-" for one in figures)


def _own_figures(column: SystemColumn, run: MeasuredRun, wanted: Wanted) -> list[str]:
    """The figures of a run; where none may stand beside those of a study the reason, once."""
    refused = why_not_beside_hardware(run.document) or why_not_trusted(column)
    figures = _figures(run, wanted)
    if refused and _has_any(figures):
        return [refused, *["-"] * (len(figures) - 1)]
    return figures


def _figures(subject: Subject, wanted: Wanted) -> list[str]:
    held = {_key(one): one for one in subject.held()}
    return [_figure(held, address, statistic) for _, address, statistic in wanted]


def _figure(held: Mapping[frozenset[str], Held], address: str, statistic: str) -> str:
    found = held.get(frozenset(address.split("/")))
    if found is None:
        return "-"
    amount = found.amount(statistic)
    if not isinstance(amount, Amount):
        return "-"
    text, why = amount_text(amount, is_exact=found.series is None), why_alone_grey(found)
    return f"{text} (not comparable: {why})" if why else text


def _key(one: Held) -> frozenset[str]:
    """The parts of the address in any order: a study and the probe order labels differently."""
    return frozenset(one.address.split("/"))


def _ladder(columns: Sequence[SystemColumn]) -> PlainTable:
    study = load_studies()[_OBENLAND]
    rows = [
        [
            system.name,
            str(system.priorities) if system.priorities else _UNKNOWN,
            _classes(system.classes) or _UNKNOWN,
            f"{system.clock_tick_hz} Hz" if system.clock_tick_hz else _UNKNOWN,
            "-",
        ]
        for system in study.systems.values()
        if system.priorities
    ]
    rows += [_own_ladder(column, run) for column, run in _runs(columns)]
    return PlainTable(
        anchor="priorities",
        title="The ladder of priorities and classes",
        about=(
            "How many priorities there are, which classes share them, and the rate of the tick, "
            f"beside {study.reading.short}."
        ),
        columns=["system", "priorities", "classes, from the highest", "tick", "what was tried"],
        rows=rows,
        notes=[
            "Of runs: the levels of SCHED_FIFO by the system's own answer, and what THR-B-PRI and "
            "POS-B-INV saw of them. What other classes a system has is not asked."
        ],
    )


def _classes(classes: Mapping[str, tuple[int, int]]) -> str:
    ordered = sorted(classes.items(), key=lambda one: -one[1][1])
    return ", ".join(f"{name} {low} to {high}" for name, (low, high) in ordered)


def _own_ladder(column: SystemColumn, run: MeasuredRun) -> list[str]:
    facts = run.document.system
    low, high = facts.get("limits.priority_min"), facts.get("limits.priority_max")
    is_known = isinstance(low, int) and isinstance(high, int)
    hz = facts.get("kernel.hz")
    return [
        column.label,
        str(high - low + 1) if isinstance(low, int) and isinstance(high, int) else _UNKNOWN,
        f"real-time (SCHED_FIFO) {low} to {high}" if is_known else _UNKNOWN,
        f"{hz} Hz" if isinstance(hz, int) else _UNKNOWN,
        _tried(run) or _UNKNOWN,
    ]


def _tried(run: MeasuredRun) -> str:
    told = [
        f"{test}: {shorten(verdict.evidence, _CHARACTERS)}"
        for test, name in (("THR-B-PRI", "levels"), ("POS-B-INV", "priorities_32"))
        for verdict in _named(run, test, name)
    ]
    return "; ".join(told)


def _named(run: MeasuredRun, test: str, name: str) -> list[Verdict]:
    found = run.verdicts(test)
    if isinstance(found, Missing):
        return []
    return [one for one in found if one.name.partition("/")[0] == name][:1]
