"""Residual networks in fleets and in run folders: they learn, stack, are stored and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_train import curves, quiet

import hackle
from hackle.cli.main import main
from hackle.explorer.catalogue import Catalogue
from hackle.nets import ResNet
from hackle.objectives import VAE, BetaVAE
from hackle.train.model import Model
from train.test_fleet import assert_same_weights, on_cuda, small_run, trained

SMALL = ResNet(hidden=16, channels=(8, 8))


def runs(count: int, **changes: Any) -> list[Any]:
    return [
        small_run(BetaVAE(beta=1.0 + seed), seed=seed, **{"architecture": SMALL, **changes}) for seed in range(count)
    ]


def test_it_learns_and_is_read_again(tmp_path: Path, squares: Any) -> None:
    run = small_run(VAE(), architecture=SMALL, steps=60)
    model = quiet(run, tmp_path, squares, log_every=20)
    rows = curves(tmp_path)
    assert float(rows[-1]["reconstruction"]) < 0.7 * float(rows[0]["reconstruction"])
    images = squares.render(squares.factors.rows(np.arange(32)))
    again = Model.load(tmp_path)
    assert again.run.architecture == SMALL
    assert np.array_equal(again.encode(images)[0], model.encode(images)[0])
    assert again.reconstruct(images).shape == images.shape


def test_a_run_in_a_fleet_equals_the_run_alone(squares: Any) -> None:
    together = trained(runs(3), squares)
    for row, run in enumerate(runs(3)):
        assert_same_weights(trained([run], squares), 0, together, row)


def test_it_is_chosen_shown_and_listed_by_name(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 28, 28, 3)).astype(np.uint8)
    np.savez(tmp_path / "own.npz", images=images)
    words = ["--dataset", str(tmp_path / "own.npz"), "--steps", "2", "--batch-size", "2", "--device", "cpu"]
    main(["train", "vae", "--architecture", "resnet", *words, "--latents", "3", "--out", str(tmp_path / "run")])
    assert isinstance(hackle.Model.load(tmp_path / "run").run.architecture, ResNet)
    main(["show", str(tmp_path / "run")])
    assert len(list((tmp_path / "run" / "pictures").iterdir())) > 3
    assert list(Catalogue(tmp_path / "run").contents.runs["architecture"]) == ["resnet"]


@pytest.mark.gpu
def test_cuda_follows_the_cpu_through_graph_replays(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    here, there = trained(runs(2), squares, steps=6), on_cuda(runs(2), squares, 6)
    for row in range(2):
        for name, value in here.weights(row).items():
            torch.testing.assert_close(there.weights(row)[name], value, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_on_cuda_it_stacks_and_learns(precision: Any, squares: Any) -> None:
    members = runs(3, precision=precision)
    together = on_cuda(members, squares, 6)
    wanted = together.averages()
    for row, run in enumerate(members):
        alone = on_cuda([run], squares, 6)
        for name, value in alone.averages()[0].items():
            assert value == pytest.approx(wanted[row][name], rel=1e-2, abs=1e-2), name
        for name, value in alone.weights(0).items() if precision == "float32" else ():
            torch.testing.assert_close(together.weights(row)[name], value, rtol=1e-3, atol=1e-4, msg=name)
    for _ in range(100):
        together.step()
    assert float(str(together.averages()[0]["reconstruction"])) < 0.9 * float(str(wanted[0]["reconstruction"]))
