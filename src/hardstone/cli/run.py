"""`hardstone run` and `hardstone evaluate`: chosen tests, or the whole battery."""

from __future__ import annotations

from dataclasses import dataclass

import click

from hardstone.cli.options import MeasureOptions, option, options_of, resume_option, typed_options


@dataclass(frozen=True, kw_only=True)
class RunOptions(MeasureOptions):
    """Options of `hardstone run`."""

    repeat: str | None = option(
        "--repeat",
        metavar="N",
        help="N runs of the plan, one after another: what varies between runs, for gate "
        "--baseline.",
    )
    resume: str | None = resume_option(
        "Goes on with repeats or with a search of IRQ-S-SUS, by default the last cut off."
    )


@click.command("run")
@click.argument("tests", nargs=-1, metavar="TEST...")
@options_of(RunOptions)
@click.pass_context
def run(context: click.Context, /, tests: tuple[str, ...], options: RunOptions) -> int:
    """Run chosen tests in the order given, each under every load and CPU configuration.

    TEST is an ID or a glob in any case, such as TMR-P-LAT or 'sem-*'; see list.
    An HTML report is written where -o says so.
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


@click.command("evaluate")
@options_of(MeasureOptions)
def evaluate(options: MeasureOptions) -> int:
    """Run the whole battery, store the run, print its summary and write an HTML report.

    The report goes into the folder `reports` of the store, unless -o names a file.
    """
    from hardstone.cli.measure import measure

    return measure(("*",), options, wants_report=True)
