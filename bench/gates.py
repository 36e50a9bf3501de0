"""How often `gate --baseline` calls a run of the same system worse, and finds a slow-down.

    python -m bench.gates STORE... [--gates 200] [--baselines 10] [--slower 1.3] [--seed 1]

Runs of the stores that are of one system and plan form a group, but for untrustworthy ones, which a
gate asks to measure again. Each gate draws one run and its
baselines from a group, and judges it as the product does: once as it is, and once with all of its
durations multiplied. "mixed": baselines from the whole group, before and after the run, of all of
its boots. "in a row": those that were measured one after the other, and a later run.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hardstone.gate.against_run import ALL, check_against_runs, why_other_system
from hardstone.gate.outcome import gate_document
from hardstone.model import RunDocument, Series
from hardstone.stats.consistency import trust_of
from hardstone.stats.identity import edges_of, index_of, parse_layout
from hardstone.store.store import Store
from hardstone.systems.subjects import subjects_of


def groups_of(stores: Sequence[Path], test: str) -> list[list[RunDocument]]:
    """Complete runs, oldest first, by system and plan; the largest group first."""
    found: list[list[RunDocument]] = []
    for root in stores:
        store = Store(root)
        for entry in store.runs():
            document = store.load(entry.id) if entry.status == "complete" else None
            if document is None or all(one.test != test for one in document.results):
                continue
            if trust_of(document).grade == "untrustworthy":
                continue
            for group in found:
                if why_other_system(group[0], document) is None:
                    group.append(document)
                    break
            else:
                found.append([document])
    return sorted(found, key=len, reverse=True)


def draws(
    group: Sequence[RunDocument], count: int, how: str, gates: int, seed: int
) -> Iterator[tuple[RunDocument, list[RunDocument]]]:
    """`gates` runs, each with `count` baselines."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    for _ in range(gates):
        if how == "mixed":
            run, *bases = chance.sample(list(group), count + 1)
        else:
            start = chance.randrange(len(group) - count)
            bases = list(group[start : start + count])
            run = group[chance.randrange(start + count, len(group))]
        yield run, bases


def slower(document: RunDocument, factor: float) -> RunDocument:
    """The run with all of its durations multiplied."""
    results = [
        msgspec.structs.replace(one, series=[_slower(series, factor) for series in one.series])
        for one in document.results
    ]
    return msgspec.structs.replace(document, results=results)


def _slower(series: Series, factor: float) -> Series:
    if series.unit != "ns" or series.min is None or series.max is None or series.mean is None:
        return series
    layout = parse_layout(series.histogram.layout)
    counts: Counter[int] = Counter()
    for index, count in series.histogram.buckets:
        counts[index_of(round(sum(edges_of(index, layout)) / 2 * factor), layout)] += count
    least, most = (edges_of(at, layout) for at in (min(counts), max(counts)))
    low, high = round(series.min * factor), round(series.max * factor)
    if not series.histogram.underflow:
        low = min(max(low, least[0]), least[1])
    if not series.histogram.overflow:
        high = min(max(high, most[0]), most[1])
    return msgspec.structs.replace(
        series,
        min=low,
        mean=min(max(series.mean * factor, low), high),
        max=high,
        stddev=None if series.stddev is None else series.stddev * factor,
        worst=[],
        maxima_per_s=[],
        histogram=msgspec.structs.replace(series.histogram, buckets=sorted(counts.items())),
    )


def outcome(run: RunDocument, bases: Sequence[RunDocument], factor: float) -> tuple[str, bool]:
    """The outcome, and whether the gate says that it would have found `factor` in all series."""
    held = check_against_runs(subjects_of(run), [subjects_of(one) for one in bases])
    says = [one.found_from for one in held.checks if one.found_from and one.address == ALL]
    found = gate_document("baseline", [run.id], [], held.checks).outcome
    return found, bool(says) and max(says) <= factor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", nargs="+", type=Path)
    parser.add_argument("--gates", type=int, default=200)
    parser.add_argument("--baselines", type=int, default=10)
    parser.add_argument("--slower", type=float, default=1.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test", default="SEM-P-RTP", help="only runs that have it")
    asked = parser.parse_args()
    for group in groups_of(asked.stores, asked.test):
        if len(group) <= asked.baselines:
            continue
        boots = len({one.system.get("os.boot_id") for one in group})
        print(f"{len(group)} runs of {boots} boots, {group[0].id} to {group[-1].id}")
        for how in ("mixed", "in a row"):
            told, found, sure = Counter[str](), Counter[str](), Counter[str]()
            for run, bases in draws(group, asked.baselines, how, asked.gates, asked.seed):
                now, would_find = outcome(run, bases, asked.slower)
                then, _ = outcome(slower(run, asked.slower), bases, asked.slower)
                told[now] += 1
                found[then] += 1
                sure.update([then] if would_find else [])
            print(f"  {how}, {asked.baselines} baselines, {asked.gates} gates")
            print(f"    as it is: {_counted(told)}; x{asked.slower:g}: {_counted(found)}")
            print(f"    {sure.total()} say that they would find it: {_counted(sure)}", flush=True)


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{found[one]} {one}" for one in ("FAIL", "INCONCLUSIVE", "PASS"))


if __name__ == "__main__":
    main()
