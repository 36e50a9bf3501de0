"""`hardstone target collect`: runs that were left on their targets."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli.help import WHAT, Option
from hardstone.cli.options import json_option, quiet_option, store_option
from hardstone.errors import EXIT_OK, HardstoneError, InputError, TargetError, worst_code

if TYPE_CHECKING:
    from hardstone.store.recovery import LeftRun
    from hardstone.store.store import Store
    from hardstone.targets.ssh import SshTransport


@dataclass(frozen=True)
class _Asked:
    """What the person wants of each run."""

    output: Path | None
    as_json: bool
    quiet: bool
    is_discarded: bool


@click.argument("references", nargs=-1, metavar="[NAME|URL|RUN]...")
@click.option(
    "--discard",
    "is_discarded",
    cls=Option,
    group=WHAT,
    is_flag=True,
    help="End the runs and remove what they left, here and on the target, without storing them.",
)
@click.option(
    "-o",
    "output",
    cls=Option,
    group=WHAT,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report of the run to this file.",
)
@store_option
@json_option
@quiet_option
def collect(
    references: tuple[str, ...],
    is_discarded: bool,
    output: Path | None,
    store: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Collect runs that were left on their targets.

    A run over SSH goes on without a connection. When the program that began it was ended, or the
    target did not answer, its results wait there. Without a NAME or RUN all such runs are
    collected. A run that still measures is waited for; Ctrl-C leaves it there.
    """
    from hardstone.cli.messages import tell, tell_error
    from hardstone.cli.open_store import open_store

    opened = open_store(store)
    found = _wanted(opened.left(), references)
    if output is not None and len(found) > 1:
        raise InputError(f"-o: one file cannot hold {len(found)} runs", "name one of them")
    if not found:
        tell("no run is left on a target")
    asked = _Asked(output, as_json, quiet, is_discarded)
    codes = [EXIT_OK]
    for one in found:
        try:
            codes.append(_collect(opened, one, asked))
        except HardstoneError as error:
            if len(found) == 1:
                raise
            tell_error(error, f"{one.id}: ")
            codes.append(error.exit_code)
    return worst_code(codes)


def _wanted(left: list[LeftRun], references: tuple[str, ...]) -> list[LeftRun]:
    """Those that a person means: by target, by the start or the end of the run's ID."""
    from hardstone.targets.named import ssh_settings

    if not references:
        return left
    found: dict[str, LeftRun] = {}
    for text in references:
        settings = ssh_settings(text)
        some = runs_on(left, text, None if settings is None else settings.url)
        some = some or [one for one in left if one.id.startswith(text)]
        some = some or [one for one in left if one.id.rpartition("-")[2] == text]
        if not some:
            names = ", ".join(f"{one.id} on {one.target}" for one in left[:5]) or "none"
            raise InputError(
                f"no run is left on '{click.unstyle(text)[:60]}'", f"runs that are left: {names}"
            )
        found |= {one.id: one for one in some}
    return list(found.values())


def runs_on(left: list[LeftRun], name: str, url: str | None) -> list[LeftRun]:
    """Those on the target `name`, or begun at `url` under a name that it had then."""
    return [one for one in left if one.target in (name, url) or (url and _url_of(one) == url)]


def _url_of(left: LeftRun) -> str | None:
    from hardstone.targets.ssh import stored_session

    session = stored_session(left.journal)
    return None if session is None else session.url


def _collect(store: Store, left: LeftRun, asked: _Asked) -> int:
    from hardstone.campaign.campaign import Campaign
    from hardstone.cli.measure import finish, print_run
    from hardstone.cli.messages import notice_messages, print_json, printed, tell, tell_error
    from hardstone.cli.progress import make_reporter
    from hardstone.targets.probe_target import ProbeTarget
    from hardstone.targets.ssh import RunLostError

    transport = _transport(left)
    target = ProbeTarget(transport)
    with closing(target):
        # Claimed before anything connects: a second collector would disturb the first one's target.
        document, journal = store.collect(left.id, target)
        with closing(journal):
            if not asked.quiet:
                tell(f"collecting run {left.id} from {left.target}")
            try:
                target.open(notice_messages(quiet=asked.quiet))
            except RunLostError:  # nothing to wait for: what is here is stored
                pass
            except TargetError as error:
                if not asked.is_discarded:
                    raise
                tell_error(error, "what is on the target stays there: ")
            is_stored = store.path_of(left.id).exists()
            if asked.is_discarded or is_stored:
                transport.stored()
                journal.discard()
                done = "removed what was left of" if is_stored else "discarded"
                tell(f"{done} run {left.id}")
                return EXIT_OK
            with make_reporter(quiet=asked.quiet) as reporter:
                outcome = Campaign(target, store, reporter.take).collect(journal, document)
        if outcome.problem is None:
            transport.stored()
    show = print_json if asked.as_json else print_run
    problem = printed(lambda: show(outcome.document))
    return finish(outcome, asked.output, is_named=not asked.as_json and problem is None)


def _transport(left: LeftRun) -> SshTransport:
    from hardstone.targets.named import parse_ssh_url, ssh_settings
    from hardstone.targets.ssh import collected, stored_session

    session = stored_session(left.journal)
    if session is None:
        raise InputError(
            f"the file that says where run {left.id} is on {left.target} cannot be read",
            f"see {left.journal}",
        )
    settings = ssh_settings(left.target)
    if settings is None or settings.url != session.url:
        settings = parse_ssh_url(session.url)
    return collected(settings, session)
