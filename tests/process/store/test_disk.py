"""Disks that are full or cannot be written, as the kernel makes them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.store import Store
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from tests.process.store.fake_probe import dump, recover
from tests.unit.stats import make

ROOT = Path(__file__).parents[3]
PATHS = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "HARDSTONE_MEMORY_DIR": "/nonexistent"}
ENVIRONMENT = os.environ | PATHS

FILL = """
import sys
from pathlib import Path
from hardstone.store import Store, StoreError
from tests.unit.stats import make
from tests.process.store.fake_probe import Here
from tests.process.store.test_journal import planned

store = Store(Path(sys.argv[1]))
with store.journal(planned(), Here()) as journal:
    number = 0
    try:
        while number < 10_000:
            journal.result(make.result(f"SEM-P-{number}", list(range(200))))
            number += 1
    except StoreError as error:
        print(number, error.exit_code, str(error))
"""

LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"

# Root may write everywhere; everything is imported by then, whoever may read it.
AS_ANOTHER = """
import os, sys
from pathlib import Path
from hardstone.store import Store, StoreError, new_run_id
from tests.unit.stats import make
from tests.process.store.fake_probe import Here

if os.geteuid() == 0:
    os.seteuid(65534)
"""

LIST = """
store = Store(Path(sys.argv[1]))
print(*[entry.id for entry in store.runs()], store.load("last").name)
try:
    store.journal(make.document(run_id=new_run_id()), Here())
except StoreError as error:
    print(error)
"""

OPEN = """
try:
    Store(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


def run_python(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check_kept(store: Store, said: str) -> None:
    """After a full disk: it was said what to do, and every finished result is there."""
    number, exit_code, message = said.split(maxsplit=2)
    assert exit_code == "2"
    assert "--store DIR" in message
    assert int(number) > 0
    assert len(recover(store, dump)) == 1
    results = store.load("last").results
    assert [result.test for result in results] == [f"SEM-P-{n}" for n in range(int(number))]


@pytest.mark.slow
def test_a_limit_on_file_sizes_loses_no_finished_result(store: Store) -> None:
    check_kept(store, run_python(LIMIT + FILL, str(store.path))[0])


@pytest.mark.slow
def test_a_full_disk_loses_no_finished_result(store: Store, tmp_path: Path) -> None:
    mount = (
        'mount -t tmpfs -o size=4m none "$1" && "$2" -c "$3" "$1/store"; '
        'cp -a "$1/store/journals" "$4/"'
    )
    small = tmp_path / "small"
    small.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", small, sys.executable, FILL, store.path],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No space left" not in done.stdout:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()[-80:]}")
    check_kept(store, done.stdout)


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A filled store that can be read and not written (tmp_path is closed to others)."""
    root = Path(tempfile.mkdtemp())
    write_document(open_place(root), make.document())
    for path in (root, root / "runs"):
        path.chmod(0o555)
    yield root
    for path in (root, root / "runs"):
        path.chmod(0o755)
    shutil.rmtree(root)


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_store_that_cannot_be_written_is_listed(read_only: Path, is_indexed: bool) -> None:
    if is_indexed:
        read_only.chmod(0o755)
        Store(read_only).runs()
        read_only.chmod(0o555)
    listed, refused = run_python(AS_ANOTHER + LIST, str(read_only))
    assert listed == f"{make.document().id} evening"
    assert "Permission denied" in refused and "--store DIR" in refused


def test_a_store_that_cannot_be_read_is_named(read_only: Path) -> None:
    read_only.chmod(0o000)
    said = run_python(AS_ANOTHER + OPEN, str(read_only))[0]
    assert said.startswith(f"cannot read the store {read_only}: Permission denied")
