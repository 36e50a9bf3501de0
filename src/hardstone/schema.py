"""The JSON Schema files of the contract, generated from the model.

python -m hardstone.schema --write     write them
python -m hardstone.schema --check     exit 1 if a file is missing or differs
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from hardstone import model
from hardstone.comparison.view import COMPARISON_SCHEMA, ComparisonDocument
from hardstone.doctor.diagnose import DOCTOR_SCHEMA, Diagnosis
from hardstone.gate.limits import LIMITS_SCHEMA, LimitsFile
from hardstone.gate.outcome import GATE_SCHEMA, GateDocument
from hardstone.posix.analysis import POSIX_SCHEMA, PosixDocument
from hardstone.stats.two_runs import PROOF_SCHEMA, Proof
from hardstone.study.json_document import STUDY_SCHEMA, StudyDocument

FOLDER = Path(__file__).parents[2] / "schema"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DOCUMENTS: dict[str, tuple[str, Any]] = {
    model.RUN_SCHEMA: ("A run as the store keeps it", model.RunDocument),
    model.TARGETS_SCHEMA: ("The runs of one command on several targets", model.Runs),
    model.STREAM_SCHEMA: ("One line of the probe's stream", model.StreamLine),
    model.REGISTER_SCHEMA: ("The tests that a probe knows", model.Register),
    model.LOADS_SCHEMA: ("The load elements and mixes of a probe", model.Loads),
    model.FACTS_SCHEMA: ("Raw facts about a machine", model.Facts),
    DOCTOR_SCHEMA: ("What the doctor found on a machine", Diagnosis),
    POSIX_SCHEMA: ("POSIX in runs: options, limits, profiles, features", PosixDocument),
    COMPARISON_SCHEMA: ("Systems compared with each other", ComparisonDocument),
    STUDY_SCHEMA: ("A study laid out: published and measured", StudyDocument),
    LIMITS_SCHEMA: ("Limits for a gate; the files are TOML", LimitsFile),
    GATE_SCHEMA: ("What a gate found", GateDocument),
    PROOF_SCHEMA: ("The effect of a setting, measured in pairs", Proof),
}


def file_name(schema: str) -> str:
    """File of a schema: "hardstone.run/1" is in hardstone.run-1.schema.json."""
    return f"{schema.replace('/', '-')}.schema.json"


def schema_texts() -> dict[str, str]:
    """Text of each schema by file name; the same model gives the same bytes."""
    texts = {}
    for schema, (title, kind) in _DOCUMENTS.items():
        head = {
            "$schema": _DIALECT,
            "$id": f"urn:hardstone:{schema}",
            "title": f"{schema}: {title}",
        }
        # Sorted, so that a diff shows real changes only: a union has no order.
        body = head | _stable(msgspec.json.schema(kind))
        texts[file_name(schema)] = json.dumps(body, indent=2, sort_keys=True) + "\n"
    return texts


def outdated(folder: Path) -> list[str]:
    """Names of the files in `folder` that are missing or differ from the model."""
    return [
        name
        for name, text in schema_texts().items()
        if not (folder / name).is_file() or (folder / name).read_text("utf-8") != text
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hardstone.schema", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write the files")
    action.add_argument("--check", action="store_true", help="compare the files with the model")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    if options.write:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in schema_texts().items():
            (folder / name).write_text(text, "utf-8")
        return 0
    names = outdated(folder)
    if names:
        print(
            f"out of date in {folder}: {', '.join(names)}; "
            "write schema/HISTORY.md, then python -m hardstone.schema --write",
            file=sys.stderr,
        )
    return 1 if names else 0


def _stable(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _stable_value(key, value) for key, value in node.items()}
    return [_stable(entry) for entry in node] if isinstance(node, list) else node


def _stable_value(key: str, value: Any) -> Any:
    value = _stable(value)
    if key in ("anyOf", "enum") and isinstance(value, list):
        return sorted(value, key=json.dumps)
    # Python 3.13 takes the indentation out of docstrings, earlier ones do not.
    return inspect.cleandoc(value) if key == "description" and isinstance(value, str) else value


if __name__ == "__main__":
    sys.exit(main())
