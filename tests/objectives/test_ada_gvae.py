"""The threshold of Ada-GVAE and Ada-ML-VAE against hand-made cases and NumPy in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from single import Single, small_run
from test_gvae import Array, assert_is, assert_slopes, encoded, expected, posteriors
from torch.distributions import Normal, kl_divergence

from hackle.core.factors import Factor, FactorGrid
from hackle.core.method import about
from hackle.core.regimes import Pairs
from hackle.core.types import Adam, Run, RunError
from hackle.metrics import mig_score
from hackle.nets import MLP
from hackle.objectives import GVAE, AdaGVAE, AdaMLVAE, BetaVAE
from hackle.objectives.ada_gvae import all_but_largest, below_threshold, divergences
from hackle.train.fleet import Fleet
from hackle.train.model import Model


def test_divergences_are_those_of_normals() -> None:
    first, second = posteriors([0.0], [1.0]), posteriors([4.0], [3.0])
    assert divergences(first, second).item() == pytest.approx(2.8826, abs=5e-5)
    assert divergences(second, first).item() == pytest.approx(8.4507, abs=5e-5)
    normals = [Normal(each.means, (0.5 * each.logvars).exp()) for each in (first, second)]
    torch.testing.assert_close(divergences(first, second), kl_divergence(*normals))


def test_the_threshold_lies_between_the_largest_and_the_smallest() -> None:
    delta = divergences(posteriors([0.0, 0.0, 1.0], 1.0), posteriors([0.0, 2.0, 1.0], 1.0)).T
    assert delta.tolist() == [[0, 2, 0]]
    assert below_threshold(delta).tolist() == [[True, False, True]]
    # disentanglement_lib's own test: the first is averaged, the second kept.
    assert below_threshold(torch.tensor([[0.0, 0.1]])).tolist() == [[True, False]]
    # At the threshold a coordinate keeps its own posterior; where all are equal, each does.
    assert below_threshold(torch.tensor([[0.0, 1.0, 2.0]])).tolist() == [[True, False, False]]
    assert not below_threshold(torch.full((1, 4), 0.3)).any()
    # An infinite divergence is the largest, and the finite ones are shared.
    assert below_threshold(torch.tensor([[0.5, math.inf, 3.0]])).tolist() == [[True, False, True]]


def test_the_largest_is_kept_and_the_smallest_shared() -> None:
    delta = torch.rand(1000, 10, generator=torch.Generator().manual_seed(0)).square()
    shared = below_threshold(delta)
    assert not shared.gather(1, delta.argmax(1, keepdim=True)).any()
    assert shared.gather(1, delta.argmin(1, keepdim=True)).all()


@pytest.mark.parametrize("kept", range(6))
def test_a_known_number_keeps_the_largest(kept: int) -> None:
    delta = torch.rand(50, 5, generator=torch.Generator().manual_seed(1))
    shared = all_but_largest(delta, torch.full((50,), kept))
    for row, mask in zip(delta.tolist(), shared.tolist(), strict=True):
        smallest = sorted(range(5), key=row.__getitem__)[: 5 - kept]
        assert {i for i in range(5) if mask[i]} == set(smallest)


def test_the_number_is_each_pairs_own() -> None:
    delta = torch.tensor([[3.0, 1.0, 2.0]]).repeat(5, 1)
    shared = all_but_largest(delta, torch.tensor([0, 1, 2, 3, 4]))
    assert shared.tolist() == [[1, 1, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    # Of equal ones exactly as many are kept.
    assert all_but_largest(torch.zeros(1, 4), torch.tensor([1])).sum() == 3


def shared_by(means: Array, variances: Array, method: Any, changed: Array) -> list[set[int]]:
    """The shared coordinates of each pair from posteriors (2, b, l), by the definitions."""

    def delta(one: int, other: int) -> Array:
        s1, s2, moved = variances[one], variances[other], means[other] - means[one]
        return (s1 / s2 + moved**2 / s2 - 1 + np.log(s2) - np.log(s1)) / 2

    found = delta(0, 1) if method.direction == "forward" else (delta(0, 1) + delta(1, 0)) / 2
    sets = []
    for row, k in zip(found, changed.sum(1), strict=True):
        smallest = set(np.argsort(row)[: len(row) - int(k)].tolist())
        below = {i for i, value in enumerate(row) if value < (row.max() + row.min()) / 2}
        sets.append(smallest if method.known_k else below)
    return sets


@pytest.mark.parametrize(
    "method",
    [
        AdaGVAE(3.0),
        AdaGVAE(3.0, direction="symmetric"),
        AdaGVAE(3.0, known_k=True),
        AdaMLVAE(3.0),
        AdaMLVAE(3.0, tempered=True, direction="symmetric"),
        AdaMLVAE(3.0, known_k=True),
    ],
    ids=str,
)
def test_the_loss(method: Any) -> None:
    model = Single(small_run(method, latents=5))
    # Posteriors of new networks hardly differ; these do, in means and in variances.
    with torch.no_grad():
        last = [value for value in model.networks["encoder"].parameters() if value.dim() == 2][-1]
        last.mul_(30)
    means, variances = encoded(model)
    shared = shared_by(means, variances, method, model.given["changed"].numpy())
    assert len({frozenset(each) for each in shared}) > 1
    assert_is(model.loss(), expected(model, shared), shared, latents=5)


def test_the_set_is_a_constant_for_gradients() -> None:
    """The gradient is that of the loss with the found coordinates held fixed."""
    model = Single(small_run(AdaGVAE(3.0)))
    shared = shared_by(*encoded(model), model.run.method, model.given["changed"].numpy())
    assert_slopes(model, shared)


def test_fields_are_checked() -> None:
    with pytest.raises(RunError, match="direction is 'backward'; expected 'forward' or 'symmetric'"):
        AdaGVAE(direction="backward")  # type: ignore[arg-type]
    with pytest.raises(RunError, match="known_k is 1; expected True or False"):
        AdaMLVAE(known_k=1)  # type: ignore[arg-type]


BLOBS = FactorGrid([Factor("x", 8), Factor("y", 8)])


def trained(method: Any, batch: int, steps: int, seeds: int) -> list[NDArray[np.float32]]:
    """The means (64, 3) of all images of a blob on 8×8 pixels, for each of some trained models."""
    line = np.arange(8)
    bump = np.exp(-((line[:, None] - line) ** 2) / 4.5)
    pixels = torch.from_numpy(np.rint(255 * bump[:, None, None, :] * bump[None, :, :, None]).astype(np.uint8))
    images = pixels.reshape(64, 8, 8, 1)
    usual: dict[str, Any] = {"batch_size": batch, "latents": 3, "optimiser": Adam(learning_rate=1e-2)}
    if about(method).supervision == "pairs":
        usual["pairs"] = Pairs("differ", changed=1)
    runs = [Run(method, MLP((48,)), "blobs", seed, **usual) for seed in range(seeds)]
    fleet = Fleet(runs, lambda index, stream: images[index], BLOBS, (8, 8, 1))
    for _ in range(steps):
        fleet.step()
    models = [Model(run, (8, 8, 1), fleet.weights(row)) for row, run in enumerate(runs)]
    return [model.encode(images.numpy())[0] for model in models]


def test_pairs_find_the_axes_that_single_images_leave_open() -> None:
    """Of a blob's position a β-VAE learns any two directions; pairs that differ in one factor single out its axes."""
    factors = BLOBS.rows(np.arange(64))
    plain, paired = (
        [mig_score(codes, factors) for codes in trained(method, batch, 160, 3)]
        for method, batch in ((BetaVAE(0.2), 32), (AdaGVAE(0.2), 16))
    )
    assert min(paired) > max(plain)
    assert np.mean(paired) > np.mean(plain) + 0.15
    # Known factors also have their own coordinates.
    codes = trained(GVAE(0.2), 16, 60, 1)[0]
    correlations = abs(np.corrcoef(codes.T, factors.T)[:3, 3:])
    assert correlations.argmax(0).tolist() == [0, 1]
    assert correlations.max(0).min() > 0.9
