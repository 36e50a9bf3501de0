"""The formats of `hardstone export`: what each is called, and which function writes it.

A function takes the runs and what was asked for, and returns an `Exported`. It computes nothing
that `stats` does not, writes no figure that the document does not hold, and says what the format
cannot say. Its module is imported when the format is asked for, a library of an extra within it.

The runs may have only the results of some tests; their trust is that of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath

from hardstone.errors import InputError, PrivilegeError, printable
from hardstone.model import RunDocument


@dataclass(frozen=True)
class Exported:
    """A file as a whole. Text is UTF-8 without control characters of foreign text. `lost`: what the
    format could not say, a sentence each, for standard error."""

    content: bytes
    lost: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the command line asked for besides the runs. `table`: one of `Exporter.tables`."""

    table: str = ""


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """A format. `name` is that of --format. `suffixes` of a file's name choose it, the first is
    usual. `function`: module and function, below hardstone.exporters. A binary one is not written
    to a terminal. `extra`: the optional dependency that brings the library `library`.
    `tables`: the choices of --table, the first is the default.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    function: str
    is_binary: bool = False
    takes_several: bool = False
    extra: str = ""
    library: str = ""
    tables: tuple[str, ...] = ()


# In the order of the help.
EXPORTERS = (
    Exporter(
        name="csv",
        title="a row for each figure or bucket, as CSV",
        suffixes=(".csv",),
        function="long_table.export_csv",
        takes_several=True,
        tables=("figures", "buckets"),
    ),
    Exporter(
        name="parquet",
        title="the same rows as Parquet",
        suffixes=(".parquet",),
        function="long_table.export_parquet",
        is_binary=True,
        takes_several=True,
        extra="parquet",
        library="pyarrow",
        tables=("figures", "buckets"),
    ),
    Exporter(
        name="openmetrics",
        title="metrics for the text-file collector of Prometheus' node exporter",
        suffixes=(".prom",),
        function="openmetrics.export_openmetrics",
    ),
    Exporter(
        name="hdr",
        title="an HdrHistogram log with an interval for each distribution",
        suffixes=(".hlog", ".hdr"),
        function="hdr.export_hdr",
        extra="hdr",
        library="hdrh",
    ),
    Exporter(
        name="cyclictest",
        title="the histogram that cyclictest -h prints",
        suffixes=(".hist",),
        function="cyclictest.export_cyclictest",
    ),
    Exporter(
        name="junit",
        title="JUnit XML: what was measured, and the claims that hold",
        suffixes=(".xml",),
        function="ci.export_junit",
        takes_several=True,
    ),
    Exporter(
        name="lava",
        title="a test case of LAVA for each figure and claim",
        suffixes=(".lava",),
        function="ci.export_lava",
        takes_several=True,
    ),
    Exporter(
        name="markdown",
        title="a summary for a pull request",
        suffixes=(".md",),
        function="ci.export_markdown",
        takes_several=True,
    ),
    Exporter(
        name="perfetto",
        title="the kernel's trace around the worst values, for Perfetto's viewer",
        suffixes=(".pftrace", ".perfetto-trace"),
        function="perfetto.export_perfetto",
        is_binary=True,
        extra="perfetto",
        library="perfetto",
    ),
)


def format_names() -> str:
    """ "csv, parquet, ..."."""
    return ", ".join(one.name for one in EXPORTERS)


def find_exporter(name: str | None, output: PurePath | None) -> Exporter:
    """The format of a name, else of the suffix of `output`; InputError with the list of all."""
    if name is not None:
        found = next((one for one in EXPORTERS if one.name == name), None)
        if found is None:
            cause = f"'{printable(name)[:40]}' is not a format of export"
            raise InputError(cause, f"choose from {format_names()}")
        return found
    suffix = "" if output is None else output.suffix.lower()
    for one in EXPORTERS:
        if suffix in one.suffixes:
            return one
    cause = (
        f"no format is written to '*{printable(suffix)[:20]}'" if suffix else "no format is named"
    )
    raise InputError(cause, f"choose with --format from {format_names()}")


def export(exporter: Exporter, documents: Sequence[RunDocument], wanted: Wanted) -> Exported:
    """The runs in a format.

    InputError for what the format does not take; PrivilegeError where its library is missing.
    """
    if len(documents) != 1 and not exporter.takes_several:
        raise InputError(
            f"{exporter.name} takes one run, and {len(documents)} are named", "name one"
        )
    if wanted.table and wanted.table not in exporter.tables:
        choices = ", ".join(exporter.tables)
        cause = f"--table: {exporter.name} has no table '{printable(wanted.table)[:40]}'"
        raise InputError(cause, f"choose from {choices}" if choices else "leave it out")
    if exporter.library and find_spec(exporter.library) is None:
        raise PrivilegeError(
            f"{exporter.name} needs the library {exporter.library}, which is not installed",
            f"install it: pip install 'hardstone[{exporter.extra}]'",
        )
    module, _, name = exporter.function.rpartition(".")
    write: Callable[[Sequence[RunDocument], Wanted], Exported]
    write = getattr(import_module(f"hardstone.exporters.{module}"), name)
    return write(documents, wanted)
