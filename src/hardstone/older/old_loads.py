"""Converts loads of `hardstone.run/1`, whose degrees applied to each CPU.

They keep the meaning of the measurement: "heavy" there is "heavy@cpu" today. The processes of
`storm` were a total then too, but at nice 19 and bound to CPUs. No load of today does that, so
its converted text is not a valid load.
"""

from __future__ import annotations

_FOREIGN = "stress-ng:"
_STORM = "storm=240"
_NICE = " (nice 19)"
_BUILD = "build=1@cpu"


def each_cpus_load(load: str) -> str:
    """A load as written today; "none" and options of stress-ng stay."""
    if load == "none" or load.startswith(_FOREIGN):
        return load
    head, marker, options = load.partition(f"+{_FOREIGN}")
    return "+".join(map(_term, head.split("+"))) + marker + options


def each_cpus_loads(loads: str) -> str:
    """Like each_cpus_load, for loads joined by commas. Commas in options of stress-ng stay."""
    head, marker, options = loads.partition(_FOREIGN)
    *whole, last = head.split(",")
    if marker:  # the last load continues in the options
        return ",".join([*map(each_cpus_load, whole), each_cpus_load(last + marker + options)])
    return ",".join(map(each_cpus_load, [*whole, last]))


def is_of_today(load: str) -> bool:
    """Whether this version can run the load. It cannot run a storm of `hardstone.run/1`."""
    return _NICE not in load.partition(_FOREIGN)[0]


def each_cpus_degree(element: str, degree: str) -> str:
    """The degree of an element as written today."""
    if element == "stress-ng":
        return degree
    if element == "storm":
        return degree + _NICE
    return "1@cpu" if element == "build" else f"{degree}@cpu"


def _term(term: str) -> str:
    if term == "storm":
        return f"heavy@cpu+{_STORM}{_NICE}+{_BUILD}+kernel@cpu"
    if term.startswith("storm="):
        return term + _NICE
    return _BUILD if term == "build" else f"{term}@cpu"
