"""The options --load and --cpu-config: lists of loads and CPU configurations, each given once."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import Loads
from hardstone.plan.mixes import FOREIGN, NONE, REBUILD, is_load, read_mix
from hardstone.plan.problems import Problems, nearest, quote

SHARED = "shared"
SINGLE = "single"
CPU_CONFIGS = (SHARED, SINGLE, "shielded")
MOST_LOADS = 16
_MAX_TEXT = 600


def split_loads(given: Sequence[str]) -> list[str]:
    """The loads of all comma lists; from "stress-ng:" on, a value is not split."""
    found: list[str] = []
    for value in given:
        head, marker, options = value.partition(FOREIGN)
        parts = head.split(",")
        if marker:
            parts[-1] += marker + options
        found += [part.strip() for part in parts]
    return found


def check_loads(given: Sequence[str], known: Loads | None, problems: Problems) -> list[str]:
    """The requested loads, each in the one form that equal loads share. A faulty load is noted
    and left as typed."""
    typed = split_loads(given)
    _check_named("--load", typed, problems)
    if len(typed) > MOST_LOADS:
        problems.add(f"--load names {len(typed)} loads", f"give at most {MOST_LOADS}")
        return typed[:MOST_LOADS]
    loads = [_one_form(load, known, problems) for load in typed]
    _check_once("--load", typed, loads, problems)
    return loads


def check_load(text: str, known: Loads | None, problems: Problems) -> str:
    """The same for exactly one load, which is not "none"."""
    typed = split_loads([text])
    if len(typed) > 1:
        problems.add(f"{quote(text)} names {len(typed)} loads", "give one; + joins elements")
    elif typed[0] in ("", NONE):
        problems.add(f"{quote(text)} is not a load", "write for example heavy")
    else:
        return check_loads(typed, known, problems)[0]
    return text


def check_cpu_configs(given: Sequence[str], problems: Problems) -> list[str]:
    """The requested CPU configurations, each known and named once."""
    configs = [part.strip() for value in given for part in value.split(",")]
    _check_named("--cpu-config", configs, problems)
    _check_once("--cpu-config", configs, configs, problems)
    for config in configs:
        if config and config not in CPU_CONFIGS:
            cause = f"--cpu-config: unknown {quote(config)}"
            problems.add(cause, nearest(config, CPU_CONFIGS))
    return configs


def started_processes(load: str, known: Loads | None, cpus: int) -> int:
    """Processes, jobs and groups whose number a valid load gives ("storm=240"), on `cpus` CPUs,
    as processes; each takes time to start."""
    if known is None or load == NONE:
        return 0
    degrees = read_mix(load, known, Problems()).degrees
    counted = {one.name: one.processes_each for one in known.elements if one.degree == "N"}
    return sum(
        int(degree.text or 0) * counted[name] * (cpus if degree.each_cpu else 1)
        for name, degree in degrees.items()
        if name in counted
    )


def _check_named(option: str, parts: Sequence[str], problems: Problems) -> None:
    if not parts or "" in parts:
        problems.add(f"{option}: a name is empty", "give names separated by commas")


def _check_once(
    option: str, typed: Sequence[str], parts: Sequence[str], problems: Problems
) -> None:
    """`parts` are the `typed` texts in the one form that equal ones share."""
    first: dict[str, str] = {}
    for text, part in zip(typed, parts, strict=True):
        if part and part in first and text == first[part]:
            problems.add(f"{option}: {quote(text)} is given twice", "give it once")
        elif part and part in first:
            both = f"{quote(first[part])} and {quote(text)}"
            problems.add(f"{option}: {both} are the same", "give one of them")
        first.setdefault(part, text)


def _one_form(load: str, known: Loads | None, problems: Problems) -> str:
    if load in (NONE, ""):
        return load
    if known is None:
        problems.add("--load: the probe supports no load", REBUILD)
        return load
    own = Problems()
    found = _read_load(load, known, own)
    problems.add_all(own)
    return found if own.is_empty else load


def _read_load(load: str, known: Loads, problems: Problems) -> str:
    text = load
    if len(load) <= _MAX_TEXT and load.isprintable():
        _check_options(load, known, problems)
        text = read_mix(load, known, problems).text()
    if len(text) > _MAX_TEXT or not text.isprintable():
        cause = f"--load: {quote(load)} is too long or not printable"
        problems.add(cause, f"give at most {_MAX_TEXT} printable characters")
    return text


def _check_options(load: str, known: Loads, problems: Problems) -> None:
    """Refuses a load after a comma in the options of stress-ng: it would become an option.

    The comma belongs to a list of stress-ng (--class cpu,memory) if another option follows, or
    if bare names stand on both sides.
    """
    parts = [part.strip() for part in load.partition(FOREIGN)[2].split(",")]
    for at, part in enumerate(parts[1:], 1):
        rest = " ".join(parts[at + 1 :]).split()
        if any(word.startswith("-") for word in rest) or _is_listed(parts[at - 1], part, known):
            continue
        if is_load(part, known):
            problems.add(
                f"--load: all text after stress-ng: is an option of it, {quote(part)} too",
                f"put {quote(part)} before stress-ng:, or an option of stress-ng after it",
            )
            return


def _is_listed(before: str, part: str, known: Loads) -> bool:
    """Whether `part` is the bare name of an element and follows another bare name."""
    values = before.split()[-1:]
    return values != [] and values[0].isalpha() and part in {one.name for one in known.elements}
