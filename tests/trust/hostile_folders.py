"""Run folders as someone who wishes you ill would send them."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from hackle.core.records import to_json
from hackle.core.types import Run
from hackle.nets import MLP
from hackle.objectives import BetaVAE
from hackle.train.model import Model

SHAPE = (16, 16, 1)
SCORE = {"metric": "mig", "representation": "mean", "score": 0.5, "reference": None, "better": "higher"}
SCORES = [{**SCORE, "protocol": "locatello2019", "seed": 0, "seconds": 0.1, "note": ""}]


def small(**changes: Any) -> Run:
    run = Run(BetaVAE(2.0), MLP((8,)), "rooms3d", steps=2, batch_size=4, latents=2)
    return replace(run, **changes)


def good_folder(folder: Path, **changes: Any) -> Path:
    """A run that nothing is wrong with, and its scores."""
    Model(small(**changes), SHAPE).save(folder)
    (folder / "scores.json").write_text(json.dumps(SCORES))
    return folder


def content(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A good folder whose run.json was changed."""
    good_folder(folder)
    text = copy.deepcopy(content(folder))
    change(text)
    (folder / "run.json").write_text(json.dumps(text))
    return folder


def commanding(folder: Path, mark: Path) -> Path:
    """A folder whose networks are said to be made by a function that runs commands, and whose shape is a command."""

    def change(text: dict[str, Any]) -> None:
        text["shape"] = ["touch", str(mark), str(mark)]
        text["record"]["architecture"] = {
            "type": "Own",
            "make_encoder": "subprocess:call",
            "make_decoder": "subprocess:call",
        }

    return changed(folder, change)


def importing(folder: Path, mark: Path, path: Path) -> Path:
    """A folder whose method is a class of a module that leaves a mark when it is imported; `path` is where modules lie."""
    path.mkdir(exist_ok=True)
    (path / "hostile_module.py").write_text(f"open({str(mark)!r}, 'w').close()\n")

    def change(text: dict[str, Any]) -> None:
        text["record"]["method"] = {"type": "hostile_module:Method", "beta": 4.0}

    return changed(folder, change)


def calling(folder: Path, mark: Path, path: Path) -> Path:
    """A folder whose data set is said to be made by a function of a file."""
    path.mkdir(exist_ok=True)
    (path / "hostile_data.py").write_text(f"def data():\n    open({str(mark)!r}, 'w').close()\n")
    return good_folder(folder, dataset=f"{path}/hostile_data.py:data")


def record() -> dict[str, Any]:
    return to_json(small())


class Visitor:
    """Asks an application without a server between them; an error in it is an answer with status 500."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        import httpx

        async def answer() -> Any:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **options)

        # In a thread of its own: a browser that other tests have open keeps an event loop running in this one.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, answer()).result()

    def get(self, path: str) -> Any:
        return self("GET", path)

    def identifiers(self) -> list[str]:
        columns = {column["key"]: column for column in self.get("/api/runs").json()["columns"]}
        return [columns["id"]["words"][code] for code in columns["id"]["codes"]]
