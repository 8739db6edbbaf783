"""Whether two states of hackle train the same models: hashes of records and digests of weights, as JSON to compare.

Every method trains for twelve steps on the CPU with one thread; every study's records are hashed. Run in two checkouts, on
one machine, and compare the files byte by byte:

    python benchmarks/identity.py before.json     # in one
    python benchmarks/identity.py after.json      # in the other
    cmp before.json after.json

Weights are the same to the bit only on one kind of processor with one version of PyTorch, so no digest is kept here.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import torch

from hackle import Model, fit
from hackle.core.records import record_hash
from hackle.objectives import OBJECTIVES
from hackle.studies import STUDIES, default_run


def digest(model: Model) -> str:
    """Of every parameter's name and bytes."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.weights().items()):
        found.update(name.encode())
        found.update(tensor.numpy().tobytes())
    return found.hexdigest()


def main(path: Path) -> None:
    torch.set_num_threads(1)
    methods = {}
    for name in sorted(OBJECTIVES):
        run = replace(default_run(name, "dsprites"), steps=12, batch_size=8, seed=3)
        methods[name] = {"hash": record_hash(run), "weights": digest(fit(run, progress=False))}
    studies = {}
    for name, study in STUDIES.items():
        hashes = sorted(record_hash(run) for run in study.runs(seeds=2))
        studies[name] = [len(hashes), hashlib.sha256("".join(hashes).encode()).hexdigest()]
    path.write_text(json.dumps({"methods": methods, "studies": studies}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
