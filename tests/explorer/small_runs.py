"""Small runs to explore, and a real server for them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.train.checkpoints import Checkpoints, Snapshot
from hackle.train.curves import Curves
from hackle.train.fleet import Fleet
from hackle.train.model import Model

SCORES = {"beta": 0.25, "plain": 0.75}


def write_data(folder: Path, squares: Any) -> Path:
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    path = folder / "squares.npz"
    np.savez(path, images=squares.render(rows), factors=rows, factor_names=np.array(squares.factors.names))
    return path


def train(run: Run, squares: Any, steps: int) -> Model:
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    for _ in range(steps):
        fleet.step()
    model = Model(run, squares.shape, fleet.weights(0))
    run.method.calibrate(model.networks, run, squares.images_on("cpu"), len(squares.factors))
    return model


def write_checkpoint(folder: Path, fleet: Fleet) -> None:
    """The checkpoint that training this fleet of one run would write now."""
    checkpoints = Checkpoints(folder, alone=True)
    checkpoints.save(Snapshot((record_hash(fleet.runs[0]),), {**fleet.state, **Curves().tensors()}))
    checkpoints.wait()
    checkpoints.close()


def write_curves(folder: Path, steps: range) -> None:
    lines = ["step,reconstruction,kl,kl_per_latent_0,kl_per_latent_1"]
    lines += [f"{step},{1000 / step:.4f},{step / 100},{step / 200},{step / 300}" for step in steps]
    (folder / "curves.csv").write_text("\n".join(lines) + "\n")


def write_scores(folder: Path, mig: float) -> None:
    row = {"metric": "mig", "representation": "mean", "score": mig, "reference": 0.9, "better": "higher"}
    other = {"metric": "kl", "representation": "posterior", "score": 3.5, "reference": None, "better": "neither"}
    rows = [{**part, "protocol": "locatello2019", "seed": 0, "seconds": 0.1} for part in (row, other)]
    (folder / "scores.json").write_text(json.dumps(rows))


@contextmanager
def serving(app: Any, port: int = 0) -> Iterator[str]:
    """A real server on a port, on a free one if none is given; its address."""
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
