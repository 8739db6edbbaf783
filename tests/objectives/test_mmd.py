"""InfoVAE and WAE-MMD: the discrepancy against NumPy and known values, the losses against their formulas and limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from single import Single, small_run

from hackle.core.gaussian import NOISELESS, reparameterise
from hackle.core.types import RunError
from hackle.objectives import VAE, BetaVAE
from hackle.objectives.mmd import WAEMMD, InfoVAE, maximum_mean_discrepancy


def numpys(z: np.ndarray, prior: np.ndarray) -> float:
    """The definition, point by point."""
    size, latents = z.shape

    def k(x: np.ndarray, y: np.ndarray) -> float:
        constants = 2 * latents * np.array([0.1, 0.2, 0.5, 1, 2, 5, 10])
        return float((constants / (constants + ((x - y) ** 2).sum())).sum())

    apart = [(i, j) for i in range(size) for j in range(size) if i != j]
    within = sum(k(z[i], z[j]) + k(prior[i], prior[j]) for i, j in apart) / (size * (size - 1))
    return within - 2 * sum(k(x, y) for x in z for y in prior) / size**2


def samples(count: int) -> torch.Tensor:
    return torch.randn(count, 2, 100, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_the_discrepancy_is_its_definition() -> None:
    z, prior = samples(1)[0, :, :12]
    assert maximum_mean_discrepancy(z, prior).item() == pytest.approx(numpys(z.numpy(), prior.numpy()), rel=1e-12)


def test_the_discrepancy_of_known_samples() -> None:
    """A hundred points in eight dimensions: of one distribution 0 on average with deviation 0.013, of a sample and itself
    −0.069, of a collapsed sample 1.84, of a shift by 1 in every dimension 0.95."""
    null, own, collapsed, shifted = torch.tensor(
        [
            [
                maximum_mean_discrepancy(z, prior).item(),
                maximum_mean_discrepancy(z, z).item(),
                maximum_mean_discrepancy(torch.zeros_like(z), prior).item(),
                maximum_mean_discrepancy(z + 1, prior).item(),
            ]
            for z, prior in samples(60)
        ]
    ).T
    assert abs(null.mean()) < 0.005
    assert null.std().item() == pytest.approx(0.013, abs=0.003)
    assert own.mean().item() == pytest.approx(-0.069, abs=0.002)
    assert collapsed.mean().item() == pytest.approx(1.84, abs=0.05)
    assert shifted.mean().item() == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_info_vae_is_its_formula(likelihood: Any) -> None:
    model = Single(small_run(InfoVAE(discrepancy=5.0, alpha=0.3), likelihood=likelihood, correlation=0.4))
    found, noise = model.loss(), model.noise()
    means, logvars = model.nets("encoder", model.images)
    z = reparameterise(means, logvars, noise["z"], 0.4).detach().numpy()
    discrepancy = numpys(z, noise["prior"].numpy())
    assert found.terms["mmd"].item() == pytest.approx(discrepancy, rel=1e-9)
    kl = (0.5 * (means.square() + logvars.exp() - logvars - 1)).sum(1).mean().item()
    expected = found.terms["reconstruction"].item() + 0.7 * kl + 4.3 * discrepancy
    assert found.total.item() == pytest.approx(expected, rel=1e-9)


def test_wae_is_its_formula_and_has_no_noise() -> None:
    model = Single(small_run(WAEMMD(discrepancy=5.0)))
    found, noise = model.loss(), model.noise()
    assert set(noise) == {"prior"}
    means, logvars = model.run.method.encode(model.nets, model.run, model.images)
    assert torch.equal(logvars, torch.full_like(means, NOISELESS))
    logits, images = model.nets("decoder", means).detach().numpy(), model.images.numpy()
    error = (np.logaddexp(0, logits) - images * logits).sum() / len(images)
    discrepancy = numpys(means.detach().numpy(), noise["prior"].numpy())
    assert found.terms["reconstruction"].item() == pytest.approx(error, rel=1e-9)
    assert found.total.item() == pytest.approx(error + 5 * discrepancy, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "plain"),
    [(InfoVAE(discrepancy=1.0, alpha=0.0), VAE()), (InfoVAE(discrepancy=2.0, alpha=-1.0), BetaVAE(2.0))],
    ids=["vae", "beta-vae"],
)
def test_without_the_discrepancy_info_vae_is_a_vae_to_the_bit(method: Any, plain: Any) -> None:
    found, expected = (Single(small_run(each), torch.float32).gradients() for each in (method, plain))
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    other = Single(small_run(InfoVAE(discrepancy=1.5)), torch.float32).gradients()
    assert any(not torch.equal(other[name], expected[name]) for name in expected)


def test_mmd_vae_has_no_kl() -> None:
    found = Single(small_run(InfoVAE(discrepancy=7.0, alpha=1.0))).loss()
    torch.testing.assert_close(found.total, found.terms["reconstruction"] + 7 * found.terms["mmd"])


def test_weights_that_push_away_from_the_prior_are_refused() -> None:
    with pytest.raises(RunError, match=r"discrepancy of InfoVAE is 0\.001 and alpha 0\.0; expected a sum of 1 or more"):
        InfoVAE(discrepancy=1e-3)
    with pytest.raises(RunError, match="alpha of InfoVAE is 2; expected at most 1"):
        InfoVAE(alpha=2)


@pytest.mark.parametrize("method", [InfoVAE(), WAEMMD()])
def test_a_batch_of_one_image_is_refused(method: Any) -> None:
    with pytest.raises(RunError, match=r"batch_size is 1; the discrepancy of .* expected 2 or more"):
        method.phases(small_run(method, batch_size=1))
