"""`hardstone run` and `hardstone evaluate`: chosen tests, or the whole battery."""

from __future__ import annotations

from dataclasses import dataclass

import click

from hardstone.cli import completion
from hardstone.cli.help import WHAT, declare
from hardstone.cli.options import MeasureOptions, option, options_of, resume_option, typed_options


@dataclass(frozen=True, kw_only=True)
class RunOptions(MeasureOptions):
    """Options of `hardstone run`."""

    repeat: str | None = option(
        "--repeat",
        group=WHAT,
        metavar="N",
        help="Run the plan N times, to see what varies between runs (for gate --baseline).",
    )
    resume: str | None = resume_option(
        "Continue interrupted repeats, or an interrupted search of IRQ-S-SUS (default: the last)."
    )


@declare(
    "run",
    "hardstone run TMR-P-LAT -D 30s --load none,heavy",
    "hardstone run 'sem-*' MUT-P-INV --name before --export-csv before.csv",
)
@click.argument("tests", nargs=-1, metavar="TEST...", shell_complete=completion.tests)
@options_of(RunOptions)
@click.pass_context
def run(context: click.Context, /, tests: tuple[str, ...], options: RunOptions) -> int:
    """Run chosen tests under each load and CPU configuration.

    TEST is an ID or a pattern in upper or lower case, such as TMR-P-LAT or 'sem-*'; hardstone list
    shows them all. Tests run in the order given. No report is written without -o.
    """
    if options.resume is None and not tests:
        raise click.UsageError("Missing argument 'TEST...'.", context)
    if options.resume is None and options.repeat is None:
        from hardstone.cli.measure import measure

        return measure(tests, options, wants_report=False)
    from hardstone.cli import repeats

    if options.resume is None:
        return repeats.repeat(options.repeat or "", tests, options)
    from hardstone.cli.resume import resume

    given = typed_options(context) - {"tests", "resume"}
    whole = repeats.find_unfinished(options.store, options.resume, tests, given)
    if whole is not None:
        return repeats.resume(whole, options, given)
    return resume(options.resume, tests, options, given)


@declare(
    "evaluate",
    "hardstone evaluate",
    "hardstone evaluate --profile standard --load none,heavy -o report.html",
)
@options_of(MeasureOptions)
def evaluate(options: MeasureOptions) -> int:
    """Run all tests, store the run, and write an HTML report.

    A summary is printed. The report is written to the folder `reports` of the store, or to the FILE
    of -o.
    """
    from hardstone.cli.measure import measure

    return measure(("*",), options, wants_report=True)
