"""HFS: distances of known points, value and gradient against every distance written out, and its limit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from single import Single, small_run
from torch import Tensor
from torch.func import vmap

from hackle.core.randomness import Stream
from hackle.core.types import RunError
from hackle.objectives import BetaVAE, hfs
from hackle.objectives.hfs import HFS, hausdorff_distances
from hackle.train import fit

ONE = torch.tensor([[0, 1]])


def numpys(points: np.ndarray) -> float:
    """max over all recombinations, min over all points, of (n, 2) points."""
    recombined = [np.array([a[0], b[1]]) for a in points for b in points]
    return max(min(((g - point) ** 2).sum() for point in points) for g in recombined)


def test_distances_of_known_points() -> None:
    grid = torch.tensor(list(itertools.product(range(4), range(5))), dtype=torch.float64)
    assert hausdorff_distances(grid, ONE).tolist() == [0.0]
    line = torch.linspace(0, 1, 101, dtype=torch.float64)
    assert hausdorff_distances(torch.stack([line, line], 1), ONE).item() == pytest.approx(0.5)
    assert hausdorff_distances(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), ONE).tolist() == [1.0]


def test_gaussians_never_reach_zero() -> None:
    """Independent normals stay about 3.3, with a deviation of 1.4; independent uniforms come near 0."""
    stream = Stream.of(range(60))
    for size, floor in ((64, 0.042), (128, 0.024)):
        uniform = [hausdorff_distances(points, ONE).item() for points in stream.uniform("points", (size, 2))]
        assert np.mean(uniform) == pytest.approx(floor, rel=0.2)
    normal = [hausdorff_distances(points, ONE).item() for points in stream.normal("normal", (128, 2))]
    assert np.mean(normal) == pytest.approx(3.3, abs=0.5)


def naive(means: Tensor, pairs: Tensor) -> Tensor:
    """All b³ distances of each pair, through which PyTorch differentiates."""
    found = []
    for i, j in pairs.tolist():
        first, second = means[:, i], means[:, j]
        apart = (first[:, None, None] - first).square() + (second[None, :, None] - second).square()
        found.append(apart.amin(2).amax())
    return torch.stack(found)


@pytest.mark.parametrize("at_once", [64**3, 200, 1])
def test_value_and_gradient_are_those_of_all_distances(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many distances are looked at in one go, and stacked as alone."""
    monkeypatch.setattr(hfs, "_AT_ONCE", at_once)
    means = torch.randn(3, 13, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    pairs = torch.tensor([[0, 1], [2, 3], [1, 3], [0, 2]])
    found = vmap(lambda each: hausdorff_distances(each, pairs))(means)
    (gradient,) = torch.autograd.grad(found.sum(), means)
    expected = torch.stack([naive(each, pairs) for each in means])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), means)[0], rtol=1e-12, atol=1e-12)
    assert found[0, 2].item() == pytest.approx(numpys(means[0, :, [1, 3]].detach().numpy()), rel=1e-12)


def test_the_loss_is_its_formula() -> None:
    run = small_run(HFS(gamma=3.0, beta=2.0, pairs=4), latents=4)
    model = Single(run)
    found, drawn = model.loss(), model.noise()["pairs"]
    assert sorted(drawn[:, 0].tolist()) == list(range(6))
    means, _ = model.nets("encoder", model.images)
    every = list(itertools.combinations(range(4), 2))
    chosen = [every[place] for place in drawn[:4, 0].tolist()]
    distance = sum(numpys(means.detach().numpy()[:, pair]) for pair in chosen)
    assert found.terms["hausdorff"].item() == pytest.approx(distance, rel=1e-9)
    expected = found.terms["reconstruction"] + 2 * found.terms["kl"] + 3 * distance
    torch.testing.assert_close(found.total, expected)


def test_every_pair_of_latents_has_its_turn() -> None:
    run = small_run(HFS(pairs=25), latents=10)
    draw = run.method.phases(run)[0].loss_draws["pairs"]
    chosen = draw.sample(Stream.of(range(100)), "pairs")[:, :25, 0]
    counts = chosen.flatten().bincount(minlength=45)
    assert all(len(set(row.tolist())) == 25 for row in chosen)
    # 100 · 25/45 on average, with a deviation of 5.
    assert counts.min() > 36
    assert counts.max() < 75


def test_without_its_weight_it_is_beta_vae_to_the_bit() -> None:
    def gradients(method: Any) -> dict[str, Tensor]:
        return Single(small_run(method), torch.float32).gradients()

    found, expected, other = gradients(HFS(gamma=0.0, beta=3.0)), gradients(BetaVAE(3.0)), gradients(HFS(1.0, 3.0))
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert any(not torch.equal(other[name], expected[name]) for name in expected)


def test_one_latent_has_no_pair_and_no_folder(tmp_path: Path, squares: Any) -> None:
    with pytest.raises(RunError, match="latents is 1; HFS compares pairs of latents: expected 2 or more"):
        fit(small_run(HFS(), latents=1), out=tmp_path / "run", dataset=squares, progress=False)
    assert not (tmp_path / "run").exists()
    with pytest.raises(RunError, match="pairs of HFS is 0"):
        HFS(pairs=0)
