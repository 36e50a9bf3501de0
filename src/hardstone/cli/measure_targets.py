"""What `evaluate` and `run` share: the targets of the command line, one or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from hardstone.cli.lab_options import lab_targets
from hardstone.cli.measuring import prepare, run_one
from hardstone.cli.messages import print_json
from hardstone.errors import EXIT_OK
from hardstone.model import Plan, RunDocument
from hardstone.targets import find_target


def measure(tests: Sequence[str], options: Mapping[str, Any], *, wants_report: bool) -> int:
    """Plans and runs `tests` as `options` of the command line say: the exit code."""
    names = lab_targets(options["target"], options)
    if options["compare_preemption"]:
        from hardstone.cli.comparing_preemption import compare_preemption

        return compare_preemption(names, tests, options, wants_report=wants_report)
    if len(names) > 1:
        from hardstone.cli.several_targets import measure_several

        return measure_several(names, tests, options, wants_report=wants_report)
    with closing(find_target(names[0])) as target:
        prepared = prepare(target, names[0], tests, options)
        if options["dry_run"]:
            return print_plan(prepared.plan, as_json=options["as_json"])
        show = print_json if options["as_json"] else print_run
        _, code = run_one(prepared, options, show, wants_report=wants_report)
        return code


def print_plan(plan: Plan, *, as_json: bool) -> int:
    if as_json:
        print_json(plan)
    else:
        from hardstone.terminal.explain import print_plan

        print_plan(plan)
    return EXIT_OK


def print_run(document: RunDocument) -> None:
    from hardstone.terminal.one_screen import print_screen

    print_screen(document)
