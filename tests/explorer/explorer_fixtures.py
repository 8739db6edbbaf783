"""Small runs to explore: autoencoders, a GAN, one still training, one whose record is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from small_runs import SCORES, serving, train, write_curves, write_data, write_scores

from hackle.core.types import Adam
from hackle.explorer import create_app
from hackle.nets import Adversarial
from hackle.objectives import VAE, BetaVAE, InfoGAN
from hackle.train.record_files import write_record
from train.test_fleet import small_run


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, squares: Any) -> Path:
    """A folder of runs, beside a file that must never be served."""
    place = tmp_path_factory.mktemp("explorer")
    (place / "secret.txt").write_text("secret")
    data = write_data(place, squares)
    root = place / "runs"
    fast = Adam(learning_rate=1e-2)
    changes = {"dataset": str(data), "batch_size": 32, "optimiser": fast}
    for name, run in {
        "beta": small_run(BetaVAE(beta=2.0), **changes),
        "plain": small_run(VAE(), seed=1, **changes),
    }.items():
        train(run, squares, 80).save(root / name)
        write_curves(root / name, range(10, 110, 10))
        write_scores(root / name, SCORES[name])
    architecture = Adversarial(channels=(4, 4), hidden=8, recogniser_hidden=8)
    gan = small_run(InfoGAN(categories=(3,), noise=5), latents=2, architecture=architecture, dataset=str(data))
    train(gan, squares, 1).save(root / "gan")
    training = root / "training"
    training.mkdir()
    write_record(training, small_run(VAE(), seed=7, steps=100, dataset=str(data)), squares.shape)
    write_curves(training, range(10, 60, 10))
    broken = root / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{not json")
    (root / "outside").symlink_to(place)
    return root


@pytest.fixture(scope="session")
def address(served: Path) -> Iterator[str]:
    with serving(create_app(served)) as address:
        yield address


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture
def visit() -> Iterator[Callable[..., httpx.Client]]:
    """Serves an application and gives a client of it, for the time of a test."""
    open_ones: list[Any] = []

    def opened(app: Any) -> httpx.Client:
        server = serving(app)
        client = httpx.Client(base_url=server.__enter__(), timeout=60)
        open_ones.append((client, server))
        return client

    yield opened
    for client, server in open_ones:
        client.close()
        server.__exit__(None, None, None)


def columns_of(answer: dict[str, Any]) -> dict[str, list[Any]]:
    """The list of runs as the page unpacks it: each column with a value for every run."""
    found: dict[str, list[Any]] = {}
    for column in answer["columns"]:
        values = column.get("codes", column.get("values", []))
        values = values * answer["count"] if len(values) == 1 else values
        texts = [column["words"][code] for code in values] if "words" in column else values
        found[column["key"]] = found[column["as"]] if "as" in column else texts
    return found


@pytest.fixture(scope="session")
def ids(client: httpx.Client) -> dict[str, str]:
    """Identifiers by the runs' names."""
    columns = columns_of(client.get("/api/runs").json())
    return dict(zip(columns["name"], columns["id"], strict=True))
