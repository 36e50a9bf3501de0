"""Zephyr's benchmarks that print cycles and nanoseconds: latency_measure, wait_queues, and the
timing_info before them.

From the public source, zephyrproject-rtos/zephyr, tests/benchmarks/latency_measure (src/utils.h,
README.rst) from 1.x to 4.x, and issues with its output. The forms of a row:

    semaphore.take.blocking.k_to_k - Take a semaphore (context switch) : 494 cycles , 4116 ns :
    Average thread context switch using yield            : 370 cycles , 5792 ns
    | switch time is 551 tcs = 28697 nsec                 |      (1.x to 2.3)
    mutex.lock.immediate.recursive.kernel - Lock a mutex ,     100,     833,   (CSV_FORMAT_OUTPUT)

What it does not print and its source says: a figure is an average over rounds, cut to whole cycles
and ns; how many rounds there were is chosen at build time. A row that failed has FAILED in place of
its figures, or figures and a note. The cost of reading the time was subtracted from 3.6 on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardstone.errors import InputError, printable
from hardstone.importers import fields
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.model import Event, Loss, Scalar, Verdict

_TOOL = "zephyr"
_BANNER = re.compile(
    r"\*{3,5} ?Booting Zephyr OS (?:build )?(?P<version>[^\s*(]+)?(?: \(delayed[^)]*\))?\s*\*{3,5}"
)
_CLOCK = re.compile(r"Timing results: Clock frequency: (?P<mhz>\d+) MHz", re.IGNORECASE)
_ROW = re.compile(
    r"(?P<name>\S.*?)\s*:\s*(?P<cycles>-?\d+) cycles ,\s*(?P<ns>-?\d+) ns"
    r"(?:\s*:\s*(?P<note>.*?))?\s*$"
)
_FAILED = re.compile(r"(?P<name>\S.*?)\s*:\s*FAILED ,\s*FAILED(?:\s*:\s*(?P<note>.*?))?\s*$")
_OLD_ROW = re.compile(
    r"\|\s*(?P<name>\S.*?)(?: is)? (?P<cycles>-?\d+) tcs = (?P<ns>-?\d+) nsec\s*\|?\s*$"
)
_CSV = re.compile(
    r"(?P<name>[a-z_]+(?:\.[\w+]+)+\s+-[^,]*?|[A-Z][^,:|]*?)\s*,\s*(?P<cycles>\d+),\s*(?P<ns>\d+)"
    r"(?:,(?P<note>.*?))?\s*$"
)
_CSV_FAILED = re.compile(r"(?P<name>\S[^,]*?)\s*,\s*FAILED,\s*FAILED(?:,(?P<note>.*?))?\s*$")
_HEADING = re.compile(r"\|\s*\d+ - Measure (?P<what>.*?)\s*\|\s*$")
_ERROR = re.compile(r"\bError[:,] ?(?P<what>.*?)[\s|]*$")
_ENDED = re.compile(r"PROJECT EXECUTION (?P<how>SUCCESSFUL|FAILED)")
_LOGGER = re.compile(r"^.*?\bDEVICE: ?")  # of twister
_IS_TEXT = re.compile(
    rb":\s*-?\d+ cycles ,\s*-?\d+ ns\b|\d+ tcs = -?\d+ nsec|\|\s+Latency Benchmark\s+\||"
    rb"Booting Zephyr OS [\s\S]{0,4000}?:\s+FAILED ,|"
    rb"(?:thread|isr|semaphore|mutex|fifo)\.[\w.+]{1,80}\s{1,80}-[^,\n]{0,200},\s*\d+,\s*\d+\s*[,\n]"
)
_MOST_ROWS = 10_000


def _is_text(content: bytes) -> bool:
    return bool(_IS_TEXT.search(content[: 1 << 16]))


@dataclass(frozen=True)
class _Row:
    """A row with figures. `detail`: the words after the name, and the note of a failure."""

    name: str
    detail: str
    cycles: int
    ns: int
    note: str
    line: int


@dataclass(frozen=True)
class _Failure:
    name: str
    note: str
    line: int


def _read(content: bytes) -> Reading:
    rows, failures, kept = list[_Row](), list[_Failure](), list[str]()
    banner = clock = ended = None
    heading = ""
    last = content.count(b"\n") + 1
    for number, whole_line in fields.rows_of(content):
        line = _LOGGER.sub("", whole_line).strip()
        if not line:
            continue
        banner, clock = banner or _BANNER.search(line), clock or _CLOCK.search(line)
        ended = _ENDED.search(line) or ended
        what = _HEADING.search(line)
        heading = what["what"] if what is not None else heading
        row = _row_of(line, heading, number, is_whole=number < last)
        if isinstance(row, _Row):
            rows.append(row)
        elif row is not None:
            failures.append(row)
        elif re.search(r"\d (?:cycles|ns|tcs)\b|\bnsec\b", line) and not _is_heading(line):
            kept.append(f"line {number}: {printable(line)[:200]}")
        if len(rows) > _MOST_ROWS:
            raise InputError(f"line {number}: more than {_MOST_ROWS} rows")
    good, odd = _agreeing(rows)
    series, without = _series_of(good, clock)
    if not series:
        raise InputError(
            "it has no row with nanoseconds", "is it the console of latency_measure, to its end?"
        )
    version = None if banner is None else (banner["version"] or "").removeprefix("zephyr-") or None
    facts: dict[str, Scalar] = {"kernel.name": "Zephyr"}
    if version is not None:
        facts["kernel.release"] = printable(version)[:80]
    return Reading(
        tool=_TOOL,
        format="text",
        series=series,
        version=None if version is None else printable(version)[:80],
        facts=facts,
        verdicts=_verdicts(ended),
        events=_events(rows, failures),
        losses=[*_losses(failures, odd, without), _OVERHEAD],
        unknown=fields.as_json({f"row {number}": text for number, text in enumerate(kept[:64], 1)}),
        is_cut=ended is None,
    )


def _is_heading(line: str) -> bool:
    return "Clock frequency" in line or "timer clock cycles" in line


def _row_of(line: str, heading: str, number: int, is_whole: bool) -> _Row | _Failure | None:
    failed = "FAILED" in line and (_FAILED.search(line) or _CSV_FAILED.search(line))
    if failed:
        failed_name = failed["name"].partition(" - ")[0]
        return _Failure(_clean(failed_name), _clean(failed["note"] or ""), number)
    match = (
        _ROW.search(line) or _OLD_ROW.search(line) or (_CSV.fullmatch(line) if is_whole else None)
    )
    if match is None:
        error = _ERROR.search(line)
        return (
            None
            if error is None
            else _Failure(_clean(heading or line), _clean(error["what"]), number)
        )
    name, _, detail = match["name"].partition(" - ")
    if heading and not name.startswith("Average"):  # "switch time" of two headings
        name = heading
    place = f"line {number}"
    groups = match.groupdict()
    return _Row(
        name=_clean(name),
        detail=_clean(detail),
        cycles=fields.count(match["cycles"], place),
        ns=fields.count(match["ns"], place),
        note=_clean(groups.get("note") or ""),
        line=number,
    )


def _clean(text: str) -> str:
    return printable(" ".join(text.split()))[:200]


def _agreeing(rows: Sequence[_Row]) -> tuple[list[_Row], list[_Row]]:
    """Rows whose cycles and ns have the clock of most, and the others.

    Both are cut to whole numbers, so a row tells a range of clocks only.
    """
    counted = [row for row in rows if row.cycles and row.ns]
    if not counted:
        return list(rows), []
    ratios = sorted(row.ns / row.cycles for row in counted)
    clock = ratios[len(ratios) // 2]
    odd = [
        row
        for row in counted
        if not row.ns / (row.cycles + 1) <= clock * 1.02
        or not (row.ns + 1) / row.cycles >= clock * 0.98
    ]
    return [row for row in rows if row not in odd], odd


def _series_of(
    rows: Sequence[_Row], clock: re.Match[str] | None
) -> tuple[list[ReadSeries], list[_Row]]:
    """A series for each row, and the rows whose time is not known.

    The same name twice is a row of another build or round: it gets a label of its own.
    """
    mhz = 0 if clock is None else int(clock["mhz"][:9])
    found, without = list[ReadSeries](), list[_Row]()
    times: dict[str, int] = {}
    for row in rows:
        is_derived = row.cycles > 0 and row.ns == 0
        if is_derived and not mhz:
            without.append(row)
            continue
        times[row.name] = times.get(row.name, 0) + 1
        labels: dict[str, int | str] = {"operation": fields.label(row.name)}
        if times[row.name] > 1:
            labels["repeat"] = times[row.name]
        found.append(
            ReadSeries(
                name=_group(row),
                labels=labels,
                mean=row.cycles * 1000 / mhz if is_derived else float(row.ns),
                derived="cycles / clock frequency in whole MHz" if is_derived else None,
            )
        )
    return found, without


_HAS_SWITCH = r"(?:\.blocking|wake\+ctx|\(context switch|w/ ctx switch)"
_GROUPS = (
    (
        "switch",
        re.compile(r"\byield\b|ctx switch via|context switch (?:time|using)|^Context switch$"),
    ),
    ("semaphore", re.compile(rf"\bsema(?:phore)?\b.*{_HAS_SWITCH}", re.IGNORECASE)),
    ("message", re.compile(rf"\b(?:fifo|lifo|stack)\b.*{_HAS_SWITCH}", re.IGNORECASE)),
)
_USER_END = re.compile(
    r"\.u_to_u$|\.k_to_u$|\.user(?:\.from\.user)?$|\b[KU] -> U\b|\((?:user)\)|from user thread$"
)


def _group(row: _Row) -> str:
    """The key in moments.toml: what is done, and in which kind of thread it ends.

    An operation on a semaphore or a queue that wakes nobody is no hand-over.
    """
    group = next((name for name, form in _GROUPS if form.search(row.name)), "operation")
    return f"{group}-user" if _USER_END.search(row.name) else group


def _verdicts(ended: re.Match[str] | None) -> list[Verdict]:
    if ended is None:
        return []
    passed = ended["how"] == "SUCCESSFUL"
    return [Verdict(name="project execution", passed=passed, evidence=ended[0])]


def _events(rows: Sequence[_Row], failures: Sequence[_Failure]) -> list[Event]:
    notes = [
        Event(name="note", text=f"{row.name}: {row.note}", data={"line": row.line})
        for row in rows
        if row.note
    ]
    failed = [
        Event(name="failed", text=f"{row.name} failed: {row.note}", data={"line": row.line})
        for row in failures
    ]
    return [*failed, *notes]


def _losses(
    failures: Sequence[_Failure], odd: Sequence[_Row], without: Sequence[_Row]
) -> Iterator[Loss]:
    if failures:
        names = ", ".join(row.name for row in failures[:5])
        text = f"Rows that failed and have no figure: {len(failures)} ({names})."
        yield Loss(what="values", text=text)
    if odd:
        row = odd[0]
        yield Loss(
            what="values",
            text=f"Rows left out, because their cycles and ns do not have the clock of the others:"
            f" {len(odd)} (line {row.line}, {row.cycles} cycles and {row.ns} ns).",
        )
    if without:
        yield Loss(
            what="values",
            text=f"Rows left out, because they have cycles and no time: {len(without)}.",
        )


_OVERHEAD = Loss(
    what="conditions",
    text="The file does not say how many rounds a mean is of, nor whether the cost of reading the"
    " clock was subtracted (Zephyr does from 3.6 on).",
)


FORMATS = [Format("Zephyr, text", _is_text, _read)]
