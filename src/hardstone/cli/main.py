"""Entry point: finds the command, turns every error into a message and an exit code."""

from __future__ import annotations

import importlib
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from hardstone import __version__
from hardstone.cli.ctrl_c import ignore, take_over
from hardstone.cli.help import Group, write_commands
from hardstone.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_USAGE,
    HardstoneError,
    InputError,
    PrivilegeError,
)
from hardstone.files import is_memory_short

_LEAST_BYTES = 192 * 2**20

# The module of each, and the name of its function where that is not `command`.
COMMANDS = {
    "evaluate": "run.evaluate",
    "run": "run.run",
    "latstat": "latstat",
    "simulate": "simulate",
    "study": "study",
    "load": "load",
    "posix": "posix",
    "show": "show",
    "report": "report",
    "export": "export",
    "runs": "runs",
    "import": "import_",
    "list": "catalogue.list_tests",
    "explain": "catalogue.explain",
    "compare": "compare",
    "questionnaire": "questionnaire",
    "gate": "gate",
    "doctor": "doctor",
    "shield": "shield",
    "target": "target",
    "lab": "lab",
    "probe": "probe",
    "completion": "completion",
}
# What each does, as its own help begins: a test holds it. So the list of all loads none of them.
SUMMARIES = {
    "evaluate": "Run all tests, store the run, and write an HTML report.",
    "run": "Run chosen tests under each load and CPU configuration.",
    "latstat": "Record wake-up latency for minutes, hours or weeks.",
    "simulate": "Simulate a tire, in real time or as fast as possible.",
    "study": "Repeat a published study: its tables with your figures.",
    "load": "Load a machine without measuring it.",
    "posix": "Show which POSIX options a system has, and which work.",
    "show": "Show a stored run on one screen, or all of it.",
    "report": "Write the report of a stored run as one file.",
    "export": "Write runs in a format that other programs read.",
    "runs": "List the stored runs, or remove some.",
    "import": "Store results of other tools as runs.",
    "list": "List the tests, published systems, or other tools.",
    "explain": "Explain what a test measures and what distorts it.",
    "compare": "Compare 2 to 20 runs or published systems.",
    "questionnaire": "Answer what no test measures, or show the answers.",
    "gate": "Check runs against limits or baselines: PASS or FAIL.",
    "doctor": "Check whether a machine is fit for real-time work.",
    "shield": "Reserve a CPU, run COMMAND there, restore all settings.",
    "target": "Name systems behind SSH or a console, and check them.",
    "lab": "Fetch, add, list or remove kernels for virtual machines.",
    "probe": "Find or build the probe, the executable that measures.",
    "completion": "Print the script that completes hardstone in a shell.",
}
# The sections of that list, each with its first command; the others follow it.
_SECTIONS = {"evaluate": "Measure", "show": "Look", "compare": "Compare", "doctor": "Prepare"}


class LazyGroup(Group):
    """Imports the module of a command only when the command, or its help, is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return command_of(cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands with what each does, or options; click's own would load all commands."""
        found = [
            CompletionItem(name, help=text)
            for name, text in SUMMARIES.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, dict[str, str]] = {}
        for name, text in SUMMARIES.items():
            if name in _SECTIONS:
                rows = sections.setdefault(_SECTIONS[name], {})
            rows[name] = text
        write_commands(formatter, sections)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib

            name = args[0][:40]
            close = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.6)
            hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(COMMANDS)}"
            raise click.UsageError(f"unknown command '{name}'; {hint}", ctx)
        return super().resolve_command(ctx, args)


def command_of(name: str) -> click.Command:
    """The command `name` of COMMANDS; its module is imported."""
    module, _, function = COMMANDS[name].partition(".")
    found: click.Command = getattr(
        importlib.import_module(f"hardstone.cli.{module}"), function or "command"
    )
    return found


@click.group(
    cls=LazyGroup,
    examples=("hardstone evaluate", "hardstone run TMR-P-LAT --load none,heavy"),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="hardstone", message="%(prog)s %(version)s")
@click.pass_context
def hardstone(ctx: click.Context) -> int:
    """Measure how real-time an operating system is.

    Exit codes: 0 fine, 1 a threshold was crossed, 2 wrong usage, 3 not trustworthy or not
    measurable, 4 target unreachable, 5 privilege or facility missing, 70 internal error, 130
    interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        return EXIT_USAGE
    check_memory(resource.getrlimit(resource.RLIMIT_AS)[0])
    return EXIT_OK


def check_memory(limit_bytes: int) -> None:
    """PrivilegeError if the limit of address space is too low to load numpy: its library would end
    the process with exit code 1, which means a crossed threshold."""
    if limit_bytes == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread would take its share
    if limit_bytes < _LEAST_BYTES:
        raise PrivilegeError(
            f"memory is limited to {limit_bytes >> 20} MiB (ulimit -v), and hardstone takes "
            f"{_LEAST_BYTES >> 20} MiB",
            "raise the limit: ulimit -v unlimited",
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits; never returns."""
    try:
        take_over()
        from hardstone.cli.messages import fill_missing_streams, watch_stdout

        fill_missing_streams()
        watch_stdout()
        if hasattr(sys.stderr, "reconfigure"):
            sys.stderr.reconfigure(errors="replace")
        code = run(arguments)
        ignore()
    except KeyboardInterrupt:  # while another error is being reported
        code = _tell("interrupted", EXIT_INTERRUPTED)
        ignore()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line: the exit code. Messages go to standard error."""
    try:
        _refuse_copied_script()
        given = None if arguments is None else list(arguments)
        code = hardstone.main(given, prog_name="hardstone", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else EXIT_OK
    except click.exceptions.Exit as done:
        return done.exit_code
    except BrokenPipeError:
        from hardstone.cli.messages import abandon

        abandon(sys.stdout)
        return EXIT_OK
    except (KeyboardInterrupt, click.Abort):
        return _tell("interrupted", EXIT_INTERRUPTED)
    except (click.ClickException, HardstoneError) as error:
        return _explain(error)
    except Exception as error:
        return _unexpected(error)


def _refuse_copied_script() -> None:
    """InputError for the script in a copy of .venv: it would run the code of the original."""
    venv, original = Path(sys.argv[0]).resolve().parent.parent, Path(sys.prefix)
    if not (venv / "pyvenv.cfg").is_file() or venv.samefile(original):
        return
    import shlex

    raise InputError(
        f"{venv} is a copy and would run the code of {original.parent}",
        f"set the copy up: make -C {shlex.quote(str(venv.parent))} setup",
    )


def _explain(error: click.ClickException | HardstoneError) -> int:
    from hardstone.cli.messages import tell, tell_error

    if isinstance(error, HardstoneError):
        tell_error(error)
    else:
        context = error.ctx if isinstance(error, click.UsageError) else None
        text = error.format_message().rstrip(".")
        if context is None:
            tell(text)
        else:
            tell(f"{text}; see", f"{context.command_path} --help")
    return error.exit_code


def _tell(text: str, code: int) -> int:
    from hardstone.cli.messages import tell

    tell(text)
    return code


def _unexpected(error: Exception) -> int:
    """The exit code of an error that no command expects: of standard output, or a defect."""
    from hardstone.cli.messages import abandon, stdout_problem

    problem = stdout_problem()
    if problem is not None:
        abandon(sys.stdout)
        reason = problem.strerror or str(problem)
        text = f"standard output cannot be written: {reason}; redirect it elsewhere"
        return _tell(text, EXIT_USAGE)
    if os.environ.get("HARDSTONE_DEBUG"):
        raise error
    if is_memory_short(error):
        text = "too little memory: free some, or raise the limit (ulimit -v)"
        return _tell(f"{text}; stored runs stay: hardstone runs", EXIT_PRIVILEGE)
    text = f"internal error: {type(error).__name__}: {error}"
    return _tell(f"{text}; HARDSTONE_DEBUG=1 shows the traceback", EXIT_INTERNAL)
