"""What an importer reads from a file of another tool, before it is made a run.

An importer is a module with `FORMATS`, a list of `Format`. It says what the file holds and nothing
beyond it: what the file does not say is None, and a `Loss` where a reader could expect it. It never
computes a statistic; `imported.py` does, from the same figures for every tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hardstone.model import Conditions, Event, Loss, Scalar, Unit, Verdict, Worst


@dataclass(frozen=True, kw_only=True)
class ReadSeries:
    """One distribution as the file has it. Times are in ns, and may be negative.

    `name` is the key of a measured quantity of the tool in `systems/moments.toml`, which says under
    which test, series and fixed labels it is stored, and between which moments it is. `labels` are
    the others: "cpu" where the file names the CPU, else "thread".

    `count`: how many values there were, None: the file does not say. `min`, `mean`, `max`, `stddev`
    are as printed, None: the file does not have them. `step_ns`: values are whole multiples of it,
    cut off below (cyclictest: 1000).

    Distribution, one of three: `buckets` [(lowest value, count), ...], ascending, each
    `bucket_width_ns` wide, with `underflow` values below all buckets and `overflow` above them
    (None: the tool dropped those, and the file does not say how many); `values`, single ones in
    their order; or neither: the file has no distribution, so no quantile.

    `derived`: the formula of a figure that the tool computed and did not time.
    """

    name: str
    labels: Mapping[str, int | str] = field(default_factory=dict)
    unit: Unit = "ns"
    count: int | None = None
    min: int | None = None
    mean: float | None = None
    max: int | None = None
    stddev: float | None = None
    step_ns: int = 1
    buckets: Sequence[tuple[int, int]] | None = None
    bucket_width_ns: int = 0
    underflow: int = 0
    overflow: int | None = 0
    values: Sequence[int] | None = None
    worst: Sequence[Worst] = ()
    maxima_per_s: Sequence[int | None] = ()
    derived: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one file holds. `tool` is a key of `systems/moments.toml`, `version` and `command` are
    the tool's as far as the file has them. `format` is in words: "JSON", "histogram file", "text".

    `params` have the names of the probe's parameters where those mean the same: {"interval_ns":
    1000000}. `facts` are facts about the machine (facts.py has their names), `conditions` those
    that the file states. `losses` are what the file could not say, `unknown` the keys that the
    importer does not know, by path, with their values as JSON. `verdicts`: what the tool itself
    judged. `is_cut`: the tool was interrupted, or the file ends before its end. `unit_doubt`: why
    the unit has to be named by a person; the series are in us then, and a loss has "unit".
    """

    tool: str
    format: str
    series: Sequence[ReadSeries]
    version: str | None = None
    command: str | None = None
    params: Mapping[str, int | str] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=Conditions)
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    verdicts: Sequence[Verdict] = ()
    events: Sequence[Event] = ()
    losses: Sequence[Loss] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    started_utc: str | None = None
    duration_ns: int | None = None
    is_cut: bool = False
    unit_doubt: str | None = None


@dataclass(frozen=True)
class Format:
    """A format that is recognised by its content.

    `recognises(content)` looks at the begin of a file, cheaply and without an error whatever it
    gets; `read(content)` gives what it holds, or raises InputError with one line that names the
    place: "line 12: 'x' is no count". `content` is the whole file, at most 64 MiB. `title` is for
    people: "cyclictest, JSON".
    """

    title: str
    recognises: Callable[[bytes], bool]
    read: Callable[[bytes], Reading]
