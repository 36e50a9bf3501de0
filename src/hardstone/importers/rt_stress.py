"""The tools of rt-tests that judge, count or time work: pi_stress, ssdd, hackbench, queuelat,
deadline_test.

From the source of rt-tests 1.0 to 2.10. What their output does not say by itself:

- pi_stress prints its total only if it ended by itself: where its watchdog finds a deadlock, or a
  person interrupts it, it kills its own group of processes before.
- queuelat leaves out every bucket with as many values as the next one, and prints "..." for them;
  its first table is that of its calibration, whose rows end in "packetfillrates".
- deadline_test takes a minimum of 0 for "none yet".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hardstone.importers.fields import count, in_ns, mean_ns, quoted, refuse
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import (
    US,
    amount,
    checked,
    ends_of,
    is_json_of,
    json_tool,
    read_json,
    unknown_of,
)
from hardstone.model import Conditions, Loss, Verdict


def _counted(name: str, value: int, **labels: int) -> ReadSeries:
    """A series of one count."""
    return ReadSeries(name=name, labels=labels, unit="count", count=1, values=[value])


def _text_only(pattern: re.Pattern[bytes], content: bytes) -> bool:
    return pattern.search(ends_of(content)) is not None and json_tool(content) is None


# ---- pi_stress ----

_IS_PI = re.compile(
    rb"(?:^|\n|\x1b\[[0-9]?[AB])(?:Total inversion performed: |Starting PI Stress|"
    rb"Current Inversions: |INFO: Releasing all threads)"
)
_PI_TOTAL = re.compile(r"Total inversion performed: (\S+)")
_PI_TIME = re.compile(r"Test Duration: (\d+) days, (\d+) hours, (\d+) minutes, (\d+) seconds", re.A)
_PI_GROUPS = re.compile(r"Number of thread groups: (\d{1,9})", re.ASCII)
_PI_DEADLOCK = re.compile(r"group \S{1,20} is deadlocked")


def _no_deadlock(passed: bool, evidence: str) -> Verdict:
    return Verdict(name="no_deadlock", passed=passed, evidence=evidence)


def _is_pi_text(content: bytes) -> bool:
    return _text_only(_IS_PI, content)


def _read_pi_text(content: bytes) -> Reading:
    total: int | None = None
    duration: int | None = None
    params: dict[str, int | str] = {}
    deadlock = None
    for line, text in lines_of(content):
        place = f"line {line}"
        if found := _PI_TOTAL.fullmatch(text.strip()):
            total = count(found[1], place)
        elif found := _PI_TIME.fullmatch(text.strip()):
            days, hours, minutes, seconds = (count(one, place) for one in found.groups())
            duration = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**9
        elif found := _PI_GROUPS.fullmatch(text.strip()):
            params["groups"] = count(found[1], place)
        elif found := _PI_DEADLOCK.search(text):
            deadlock = found
    if deadlock is not None:
        verdict = _no_deadlock(False, f"The watchdog of pi_stress says: {deadlock[0]}.")
    elif total is None:
        refuse("", "it has no total: pi_stress was stopped, or it is its standard error")
    else:
        verdict = _no_deadlock(True, f"It ended by itself, after {total} inversions.")
    return Reading(
        tool="pi_stress",
        format="text",
        series=[] if total is None else [_counted("inversions", total)],
        params=params,
        verdicts=[verdict],
        duration_ns=duration,
    )


def _read_pi_json(content: bytes) -> Reading:
    found = read_json("pi_stress", content)
    total = amount(found.body, "inversion", "the JSON")
    code = any(event.name == "return_code" for event in found.base.events)
    evidence = (
        "It ended with an error: a group was deadlocked, or it was interrupted."
        if code
        else f"It ended by itself, after {total} inversions."
    )
    return replace(
        found.base,
        series=[_counted("inversions", total)],
        verdicts=[_no_deadlock(not code, evidence)],
        unknown={**found.base.unknown, **unknown_of(found.body, {"inversion"})},
    )


# ---- ssdd ----

_IS_SSDD = re.compile(rb"(?:^|\n)(?:All tests PASSED\.|One or more tests FAILED\.|forktest#\d+/)")
_SSDD_PARAM = re.compile(r"#(forks|steps): (\d{1,9})", re.ASCII)


def _steps_right(passed: bool, evidence: str) -> Verdict:
    return Verdict(name="steps_right", passed=passed, evidence=evidence)


def _is_ssdd_text(content: bytes) -> bool:
    return _text_only(_IS_SSDD, content)


def _read_ssdd_text(content: bytes) -> Reading:
    params: dict[str, int | str] = {}
    failed: list[str] = []
    outcome = None
    for _, text in lines_of(content):
        if found := _SSDD_PARAM.fullmatch(text.strip()):
            params[found[1]] = int(found[2])
        elif "EXITING, ERROR" in text:
            failed.append(text.strip())
        elif text.startswith(("All tests PASSED.", "One or more tests FAILED.")):
            outcome = text.strip()
    if outcome is None:
        refuse("", "it ends before the verdict of ssdd", "let it run to its end")
    evidence = "; ".join([outcome, *failed[:10]])
    return Reading(
        tool="ssdd",
        format="text",
        series=[],
        params=params,
        verdicts=[_steps_right(outcome.startswith("All") and not failed, evidence)],
    )


def _read_ssdd_json(content: bytes) -> Reading:
    found = read_json("ssdd", content)
    code = [event.text for event in found.base.events if event.name == "return_code"]
    return replace(
        found.base,
        series=[],
        verdicts=[_steps_right(not code, code[0] if code else "It ended with the code 0.")],
        unknown={**found.base.unknown, **unknown_of(found.body, set())},
    )


# ---- hackbench ----

_IS_HACKBENCH = re.compile(rb"(?:^|\n)Running (?:in|with) [^\n]{1,200}== \d+(?: tasks\)|\) tasks)")
_HACK_HEAD = re.compile(
    r"Running (?:in|with) (?P<mode>.{0,200}?)(?:mode )?with (?P<groups>\d{1,9}) groups using "
    r"(?P<fds>\d{1,9}) file descriptors each \(== (?P<tasks>\d{1,9}) tasks\)",
    re.ASCII,
)
_HACK_OLD_HEAD = re.compile(
    r"Running with (?P<groups>\d{1,9})\*(?P<fds>\d{1,9}) \(== (?P<tasks>\d{1,9})\) tasks\.",
    re.ASCII,
)
_HACK_SENDS = re.compile(
    r"Each sender will pass (?P<messages>\d{1,9}) messages of (?P<bytes>\d{1,9}) bytes", re.ASCII
)
_HACK_TIME = re.compile(r"Time: (\S+)")
_HACK_CAUGHT = re.compile(r"Signal \d+ caught|longjmp'ed out", re.ASCII)
MS = 1_000_000


def _is_hackbench(content: bytes) -> bool:
    return _text_only(_IS_HACKBENCH, content)


def _read_hackbench(content: bytes) -> Reading:
    heads: list[tuple[str, str]] = []
    values: list[int] = []
    is_cut = False
    params: dict[str, int | str] = {}
    for line, text in lines_of(content):
        place = f"line {line}"
        found = _HACK_HEAD.fullmatch(text.strip()) or _HACK_OLD_HEAD.fullmatch(text.strip())
        if found is not None:
            heads.append((text.strip(), ""))
            if "mode" in found.re.groupindex:
                params["mode"] = found["mode"].strip()
            params |= {key: count(found[key], place) for key in ("groups", "fds", "tasks")}
        elif (found := _HACK_SENDS.fullmatch(text.strip())) and heads:
            heads[-1] = (heads[-1][0], text.strip())
            params["messages"] = count(found["messages"], place)
            params["message_bytes"] = count(found["bytes"], place)
        elif found := _HACK_TIME.fullmatch(text.strip()):
            values.append(in_ns(found[1], 10**9, place))
            if values[-1] < 0:
                refuse(place, f"{quoted(found[1])} is not a time")
        elif _HACK_CAUGHT.match(text):
            is_cut = True
    if len(set(heads)) > 1:
        refuse("", "it has runs with different settings", "import one result a file")
    if not values or len(values) > len(heads) > 0:
        refuse("", "it has no line 'Time:', or more than runs: hackbench was stopped")
    return Reading(
        tool="hackbench",
        format="text",
        series=[ReadSeries(name="total", count=len(values), values=values, step_ns=MS)],
        params=params,
        is_cut=is_cut or len(values) < len(heads),
    )


# ---- queuelat ----

_IS_QUEUELAT = re.compile(rb"(?:^|\n)max_queue_len = \d+\r?\n")
_ROW = re.compile(r"\[(\d{1,12}) - (\d{1,12}|END)\] = (\S+)(?P<rates>  packetfillrates=.*)?", re.A)
_QUEUE_LIMIT = re.compile(r"max_queue_len = (\d{1,12})", re.ASCII)
_LONGEST = re.compile(
    r"queue length exceeded:\s+(queue_size=\d{1,12} max_queue_len=\d{1,12})", re.A
)
_AVERAGE = re.compile(r"Avg loop processing time: (\S+)")
_QUEUE_WIDTH = 100
_AVERAGE_LOSS = Loss(
    what="mean",
    text="The mean is that of the upper ends of the buckets, so it is up to 99 ns large.",
)


@dataclass
class _Queue:
    """Rows of the table that counts: (lowest ns, count, whether rows before it are left out)."""

    rows: list[tuple[int, int, bool]] = field(default_factory=list)
    over: int | None = None
    is_gap: bool = False
    mean: float | None = None
    limit: int | None = None
    exceeded: str | None = None
    is_calibrated: bool = False


def _is_queuelat(content: bytes) -> bool:
    return _text_only(_IS_QUEUELAT, content)


def _read_queuelat(content: bytes) -> Reading:
    found = _Queue()
    for line, text in lines_of(content):
        _take_queue_line(found, text.strip(), f"line {line}")
    if found.over is None or found.mean is None:
        refuse("", "it ends before the end of its table: queuelat was stopped")
    losses = [_AVERAGE_LOSS]
    if not found.is_calibrated:
        text = (
            "queuelat ended within its calibration: the values are of a length that it only tried."
        )
        losses.append(Loss(what="conditions", text=text))
    buckets = _queue_buckets(found)
    total = sum(number for _, number in buckets) + found.over
    series = ReadSeries(
        name="copy",
        count=total,
        mean=found.mean if total else None,
        buckets=buckets,
        bucket_width_ns=_QUEUE_WIDTH,
        overflow=found.over,
    )
    return Reading(
        tool="queuelat",
        format="text",
        series=[series],
        params={} if found.limit is None else {"queue_length_most": found.limit},
        verdicts=[_queue_verdict(found)] if found.is_calibrated else [],
        losses=losses,
        is_cut=not found.is_calibrated,
    )


def _take_queue_line(found: _Queue, text: str, place: str) -> None:
    if text == "...":
        found.is_gap = True
    elif row := _ROW.fullmatch(text):
        number = count(row[3], place)
        if row["rates"] or (int(row[1]) == 0 and found.rows and not found.over):
            found.rows.clear()
        if row["rates"]:
            return
        if found.rows and int(row[1]) <= found.rows[-1][0]:
            refuse(place, f"{quoted(text)} does not ascend")
        if row[2] == "END":
            found.over = number
        elif int(row[1]) % _QUEUE_WIDTH or int(row[2]) != int(row[1]) + _QUEUE_WIDTH - 1:
            refuse(place, f"{quoted(text)} is no bucket of queuelat")
        found.rows.append((int(row[1]), number, found.is_gap))
        found.is_gap = False
    elif text.startswith("[") and "] = " in text:
        refuse(place, f"{quoted(text)} is no bucket")
    elif text.startswith("default_n="):
        found.is_calibrated, found.rows, found.over, found.is_gap = True, [], None, False
    elif one := _QUEUE_LIMIT.fullmatch(text):
        found.limit = int(one[1])
    elif one := _LONGEST.match(text):
        found.exceeded = one[1]
    elif one := _AVERAGE.fullmatch(text):
        found.mean = mean_ns(str(count(one[1], place)), 1, place)


def _queue_buckets(found: _Queue) -> list[tuple[int, int]]:
    """With those that were left out: each has as many values as the next row that is there."""
    buckets: list[tuple[int, int]] = []
    at = 0
    for low, number, is_after_gap in found.rows:
        if low != at and not is_after_gap:
            refuse(f"bucket {at}", "it is missing, and no '...' says so")
        if number:
            buckets += [(one, number) for one in range(at, low, _QUEUE_WIDTH)]
        at = low + _QUEUE_WIDTH
        buckets.append((low, number))
    return [one for one in buckets[:-1] if one[1]]  # the last row is the overflow


def _queue_verdict(found: _Queue) -> Verdict:
    evidence = found.exceeded or f"The queue stayed within {found.limit} packets."
    return Verdict(name="queue_within_limit", passed=found.exceeded is None, evidence=evidence)


# ---- deadline_test ----

_IS_DEADLINE = re.compile(rb"(?:^|\n)(?:Setup:\n percent per task:|missed deadlines  = )")
_DEADLINE_COUNT = re.compile(r"(missed deadlines|missed periods|nr_periods) *[=:] (\S+)")
_DEADLINE_TIMES = re.compile(r"max_time: (\S+)us\s+min_time: (\S+)us\s+avg_time: (\S+)us")
_CUT = Loss(what="mean", text="Means are cut to whole microseconds.")


def _is_deadline_test(content: bytes) -> bool:
    return _text_only(_IS_DEADLINE, ends_of(content).replace(b"\r\n", b"\n"))


def _read_deadline_test(content: bytes) -> Reading:
    threads: list[dict[str, int]] = []
    unknown: dict[str, str] = {}
    for line, text in lines_of(content):
        place = f"line {line}"
        if re.fullmatch(r"\[\d{1,10}\]\s*", text, re.ASCII):
            threads.append({})
        elif (found := _DEADLINE_COUNT.fullmatch(text.strip())) and threads:
            threads[-1][found[1]] = count(found[2], place)
        elif (found := _DEADLINE_TIMES.fullmatch(text.strip())) and threads:
            names = ("max", "min", "mean")
            threads[-1] |= dict(
                zip(names, (count(one, place) for one in found.groups()), strict=True)
            )
        elif "max_time:" in text or ("missed" in text.lower() and threads):
            refuse(place, f"{quoted(text.strip())} is no line of figures")
        elif re.match(r"Thread \d+ failed", text):
            unknown[place] = json.dumps(text.strip())
    if not threads:
        refuse("", "it has the setup of deadline_test only: it measured nothing", "let it run 10 s")
    series = [one for index, thread in enumerate(threads) for one in _work(index, thread)]
    missed = sum(thread["missed deadlines"] for thread in threads)
    verdict = Verdict(
        name="deadlines_met",
        passed=missed == 0,
        evidence=f"{missed} of {sum(thread['nr_periods'] for thread in threads)} were missed.",
    )
    return Reading(
        tool="deadline_test",
        format="text",
        series=series,
        conditions=Conditions(policy="deadline"),
        verdicts=[verdict],
        losses=[_CUT],
        unknown=unknown,
    )


_WORK = ("missed deadlines", "missed periods", "nr_periods", "min", "mean", "max")


def _work(index: int, thread: Mapping[str, int]) -> Sequence[ReadSeries]:
    if missing := [name for name in _WORK if name not in thread]:
        refuse(f"thread {index}", f"it ends before '{missing[0]}'")
    work = ReadSeries(
        name="work",
        labels={"thread": index},
        count=thread["nr_periods"],
        min=thread["min"] * US,
        mean=float(thread["mean"] * US),
        max=thread["max"] * US,
        step_ns=US,
    )
    return [
        checked(work, f"thread {index}"),
        _counted("missed-deadlines", thread["missed deadlines"], thread=index),
        _counted("missed-periods", thread["missed periods"], thread=index),
    ]


FORMATS = [
    Format("pi_stress, JSON", is_json_of("pi_stress"), _read_pi_json),
    Format("pi_stress, text", _is_pi_text, _read_pi_text),
    Format("ssdd, JSON", is_json_of("ssdd"), _read_ssdd_json),
    Format("ssdd, text", _is_ssdd_text, _read_ssdd_text),
    Format("hackbench, text", _is_hackbench, _read_hackbench),
    Format("queuelat, text", _is_queuelat, _read_queuelat),
    Format("deadline_test, text", _is_deadline_test, _read_deadline_test),
]
