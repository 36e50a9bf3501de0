"""Where a gate's outcome goes: the terminal, and the files that were asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hardstone.cli.messages import print_json, tell, tell_error
from hardstone.cli.printing import printed
from hardstone.errors import EXIT_OK, HardstoneError, InputError
from hardstone.files import open_checked, replace_file, write_all
from hardstone.gate import GateDocument, github_summary, junit_xml

_VARIABLE = "GITHUB_STEP_SUMMARY"


def check_files(options: Mapping[str, Any]) -> None:
    """InputError for a file that cannot be written: told before hours of measuring."""
    for option, path in (("--junit", options["junit"]), ("--github", _summary_place(options))):
        if path is not None:
            _check(option, path)


def tell_outcome(document: GateDocument, options: Mapping[str, Any]) -> int:
    """Prints and writes `document`: the exit code, that of the outcome."""
    from hardstone.gate.screen import print_gate

    problem = printed(lambda: print_json(document) if options["as_json"] else print_gate(document))
    code = document.exit_code or problem or EXIT_OK
    for write in (_write_junit, _write_summary):
        try:
            write(document, options)
        except HardstoneError as error:
            tell_error(error)
            code = code or error.exit_code
    return code


def _write_junit(document: GateDocument, options: Mapping[str, Any]) -> None:
    path: Path | None = options["junit"]
    if path is not None:
        from hardstone.campaign.campaign import now_utc

        _replace("--junit", path, junit_xml(document, now_utc(), os.uname().nodename))


def _write_summary(document: GateDocument, options: Mapping[str, Any]) -> None:
    """To GitHub's file it is added: others write there too."""
    path = _summary_place(options)
    if path is None:
        return
    data = github_summary(document).encode("utf-8", "replace")
    if options["github"]:
        _replace("--github", path, data)
        return
    try:
        descriptor = open_checked(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unwritable("--github", path, error) from error


def _summary_place(options: Mapping[str, Any]) -> Path | None:
    asked: str | None = options["github"]
    if asked is None:
        return None
    place = asked or os.environ.get(_VARIABLE, "")
    if not place:
        raise InputError(f"--github: ${_VARIABLE} is not set", "name a file: --github FILE")
    return Path(place)


def _check(option: str, path: Path) -> None:
    from hardstone.report.page_frame import regular_target

    try:
        target = regular_target(path)
    except OSError as error:
        raise _unwritable(option, path, error) from error
    except InputError:
        raise InputError(f"{option}: {path} is not a regular file", "name another file") from None
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"{option}: there is no folder {folder}", "name another file")
    places = [folder, target] if target.exists() else [folder]
    if not all(os.access(place, os.W_OK) for place in places):
        raise InputError(f"{option}: {path} cannot be written", "name another file")


def _replace(option: str, path: Path, data: bytes) -> None:
    from hardstone.report.page_frame import regular_target

    try:
        replace_file(regular_target(path), data, None, is_durable=False)
    except OSError as error:
        raise _unwritable(option, path, error) from error


def _unwritable(option: str, path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(f"{option}: {path} cannot be written: {reason}", "name another file")


def write_text(option: str, path: Path, text: str) -> None:
    """Writes `text` to the file of `option`; InputError if that fails."""
    _check(option, path)
    _replace(option, path, text.encode("utf-8", "replace"))
    tell(f"limits: {path}")
