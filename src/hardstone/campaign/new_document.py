"""The document of a run before its first result."""

from __future__ import annotations

from datetime import UTC, datetime

import hardstone
from hardstone.model import (
    RUN_SCHEMA,
    Descriptor,
    Facts,
    Plan,
    Register,
    RunDocument,
    Tool,
    Trust,
)
from hardstone.plan.sweep_results import SIMULATIONS
from hardstone.store import new_run_id
from hardstone.targets.base import Target


def new_document(
    plan: Plan, facts: Facts, target: Target, register: Register | None
) -> RunDocument:
    """The document of a run that begins, still without results."""
    tool = Tool(
        version=hardstone.__version__,
        probe_version=facts.probe_version,
        probe_sha256=target.probe_sha256(),
        compiler=facts.compiler,
        libc=facts.libc,
    )
    return RunDocument(
        schema=RUN_SCHEMA,
        id=new_run_id(),
        name=plan.name,
        started_utc=now_utc(),
        finished_utc=None,
        status="incomplete",
        trust=Trust(grade="indicative", reasons=["the run is not finished"]),
        tool=tool,
        system=facts.facts,
        plan=plan,
        instrument=facts.instrument,
        results=[],
        descriptors=_descriptors(plan, register),
    )


def _descriptors(plan: Plan, register: Register | None) -> list[Descriptor]:
    """Those of the tests of the plan, and of all that a sweep may add."""
    asked = {one.test for one in plan.tests} | (set() if plan.sweep is None else set(SIMULATIONS))
    return [one for one in (register.tests if register is not None else []) if one.id in asked]


def now_utc() -> str:
    """The time of day as documents have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
