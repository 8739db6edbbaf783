"""A data set of one's own whose factors are real numbers: every view of them works, with their numbers on the axes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from hackle.explorer import create_app
from hackle.nets import MLP
from hackle.objectives import VAE
from hackle.train.model import Model
from train.test_fleet import small_run

RNG = np.random.default_rng(0)
PLACES = np.round(RNG.random((200, 2)), 3)


@pytest.fixture
def visitor(tmp_path: Path, visit: Callable[..., httpx.Client]) -> tuple[httpx.Client, str]:
    images = (255 * np.exp(-9 * (np.linspace(0, 1, 16) - PLACES[:, :1]) ** 2)).astype(np.uint8)
    names = np.array(["x", "y"])
    np.savez(tmp_path / "dots.npz", images=images[:, None].repeat(16, axis=1), factors=PLACES, factor_names=names)
    run = small_run(VAE(), architecture=MLP((16,)), dataset=str(tmp_path / "dots.npz"))
    Model(run, (16, 16, 1)).save(tmp_path / "runs" / "dots")
    client = visit(create_app(tmp_path / "runs"))
    columns = {column["key"]: column for column in client.get("/api/runs").json()["columns"]}
    return client, columns["id"]["words"][0]


def test_continuous_factors_are_described_varied_and_chosen(visitor: tuple[httpx.Client, str]) -> None:
    client, run = visitor
    x, y, *_ = client.get(f"/api/runs/{run}/model").json()["factors"]
    assert (x["kind"], x["guessed"]) == (y["kind"], y["guessed"]) == ("continuous", True)
    places = [[float(text) for text in factor["labels"]] for factor in (x, y)]
    assert places[0] == np.unique(PLACES[:, 0]).tolist()
    row = client.post(f"/api/runs/{run}/start", json={"seed": 3}).json()["rows"][0]
    found = client.post(f"/api/runs/{run}/vary", json={"row": row, "factor": 0}).json()
    assert not found["held"]
    assert len(found["values"]) == len(found["means"]) == 20
    assert 0 <= min(found["values"]) < max(found["values"]) <= 1
    # No image has this place: the nearest one is shown.
    moved = [x["size"] - 1, *row[1:]]
    nearest = client.post(f"/api/runs/{run}/start", json={"row": moved}).json()["rows"][0]
    place = np.array([places[0][nearest[0]], places[1][nearest[1]]])
    wanted = np.array([places[0][-1], places[1][row[1]]])
    distances = ((PLACES - wanted) ** 2 / np.ptp(PLACES, axis=0) ** 2).sum(axis=1)
    np.testing.assert_allclose(place, PLACES[distances.argmin()])
    captured = client.get(f"/api/runs/{run}/captured").json()
    assert captured["factors"] == ["x", "y"]
    assert max(captured["entropies"]) <= np.log(20)
    assert np.shape(client.get(f"/api/runs/{run}/importance").json()["importance"])[1] == 2
