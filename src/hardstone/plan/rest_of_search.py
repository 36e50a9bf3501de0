"""What is left of the search of IRQ-S-SUS: the sources that have not ended, from their steps."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hardstone.model import Plan

_SOURCES = "source"
_BOUNDS = ("passed_ns", "failed_ns", "source_failed_ns")


def rest_of_search(
    plan: Plan, ended: set[str], known: Mapping[str, Mapping[str, int]]
) -> Plan | None:
    """`plan`, of one test, without the sources in `ended`; None: none is left.

    `known`: by source the parameters with the periods that are known of it.
    """
    one = plan.tests[0]
    asked = one.params.get(_SOURCES)
    sources = [name for name in asked if name not in ended] if isinstance(asked, list) else []
    if not sources:
        return None
    bounds = [known.get(str(name), {}) for name in sources]
    lists = {name: [one.get(name, 0) for one in bounds] for name in _BOUNDS}
    params = {**one.params, _SOURCES: sources, **lists}
    return msgspec.structs.replace(plan, tests=[msgspec.structs.replace(one, params=params)])
