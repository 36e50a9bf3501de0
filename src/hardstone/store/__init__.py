"""Where runs are kept: immutable documents, written through a journal, with an index."""

from hardstone.store.documents import RunEntry, read_document
from hardstone.store.journal import Journal
from hardstone.store.place import StoreError, default_root, new_run_id
from hardstone.store.slots import CopyCost
from hardstone.store.store import Store

__all__ = [
    "CopyCost",
    "Journal",
    "RunEntry",
    "Store",
    "StoreError",
    "default_root",
    "new_run_id",
    "read_document",
]
