"""The results of studies: one SQLite file per study, in which a run is stored whole or not at all."""

from hackle.store.entries import Entry
from hackle.store.merging import export, merge, repair
from hackle.store.results import Store, read
from hackle.store.run_folders import results
from hackle.store.schema import FILE, SCHEMA, StoreError

__all__ = ["FILE", "SCHEMA", "Entry", "Store", "StoreError", "export", "merge", "read", "repair", "results"]
