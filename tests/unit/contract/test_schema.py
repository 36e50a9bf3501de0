from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone import model, schema

pytestmark = pytest.mark.slow

SCHEMA_FILES = sorted(schema.FOLDER.glob("*.schema.json"))
# Versions that are still read, as they were.
OF_BEFORE = {
    f"hardstone.{name}.schema.json"
    for name in ("run-1", "run-2", "stream-1", "stream-2", "loads-1")
}
SCHEMAS = [
    model.RUN_SCHEMA,
    model.TARGETS_SCHEMA,
    model.STREAM_SCHEMA,
    model.REGISTER_SCHEMA,
    model.FACTS_SCHEMA,
]


def test_the_files_are_those_of_the_model() -> None:
    assert schema.outdated(schema.FOLDER) == []
    assert {path.name for path in SCHEMA_FILES} == set(schema.schema_texts()) | OF_BEFORE


@pytest.mark.parametrize("path", SCHEMA_FILES, ids=lambda path: path.name)
def test_each_file_is_a_valid_schema(path: Path) -> None:
    Draft202012Validator.check_schema(msgspec.json.decode(path.read_bytes()))


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_the_text_does_not_depend_on_the_order_of_hashes(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hardstone.schema", "--check"],
        env=os.environ
        | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(schema.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_check_names_what_is_out_of_date_and_write_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert schema.main(["--check", "--folder", str(tmp_path)]) == 1
    assert "hardstone.run-3.schema.json" in capsys.readouterr().err
    assert schema.main(["--write", "--folder", str(tmp_path)]) == 0
    assert schema.main(["--check", "--folder", str(tmp_path)]) == 0
    (tmp_path / "hardstone.run-3.schema.json").write_text("{}")
    assert schema.outdated(tmp_path) == ["hardstone.run-3.schema.json"]


def test_the_history_has_an_entry_for_each_format() -> None:
    headings = re.findall(r"^## (\S+)$", (schema.FOLDER / "HISTORY.md").read_text("utf-8"), re.M)
    assert set(headings) >= set(SCHEMAS)
