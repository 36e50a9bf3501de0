"""Converts one result of an earlier version."""

from __future__ import annotations

import re

import msgspec

from hardstone.model import Conditions, Result
from hardstone.older.old_events import with_command, with_data
from hardstone.older.old_loads import each_cpus_degree, each_cpus_load

_BLOCK = re.compile(r"(\w{1,32}): a block is (\d{1,18}) operations", re.ASCII)
# These values stood for "not known" before null.
_SAID_FOR_NOT_KNOWN = {
    "policy": "other",
    "priority": 0,
    "clock": "monotonic",
    "memory_locked": False,
    "realtime": False,
}


def result_from_first(result: Result) -> Result:
    """From `hardstone.run/1`: degrees of a load applied to each CPU, and only events had the number
    of operations of RSP-P-FIX. Changes `result` and returns it."""
    where = result.conditions
    where.load = None if where.load is None else each_cpus_load(where.load)
    for one in result.load:
        one.degree = each_cpus_degree(one.element, one.degree)
    if result.test == "RSP-P-FIX" and not result.calibrated:
        told = (_BLOCK.fullmatch(one.text) for one in result.events if one.name == "calibrated")
        result.calibrated = {f"{found[1]}_operations": int(found[2]) for found in told if found}
    return result


def result_from_second(result: Result) -> Result:
    """From `hardstone.run/2`: events had no data, remedies held their command, and
    conditions that nobody knew had values. Changes `result` and returns it."""
    result.events = [with_data(event) for event in result.events]
    result.remedy, result.command = with_command(result.remedy)
    if result.status == "skipped" or not result.complete:
        result.conditions = _known(result.conditions)
    return result


def _known(conditions: Conditions) -> Conditions:
    """Conditions with null for values that the probe did not send."""
    said = {name: getattr(conditions, name) for name in _SAID_FOR_NOT_KNOWN}
    if said != _SAID_FOR_NOT_KNOWN:
        return conditions
    return msgspec.structs.replace(conditions, **dict.fromkeys(_SAID_FOR_NOT_KNOWN, None))
