"""GVAE, ML-VAE and what they share with the adaptive methods, against NumPy in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from single import Single, small_run
from torch import Tensor
from torch.distributions import Normal

from hackle.core.types import Losses, RunError
from hackle.nets import Convolutional
from hackle.objectives import GVAE, MLVAE, AdaGVAE, AdaMLVAE, BetaVAE
from hackle.objectives.gvae import mean_of_moments, product, tempered_product
from hackle.objectives.paired import Posteriors
from hackle.train import fit
from hackle.train.sampling import check_data

Array = NDArray[np.float64]


def posteriors(means: Any, variances: Any) -> Posteriors:
    means, variances = (torch.tensor(value, dtype=torch.float64).reshape(-1, 1) for value in (means, variances))
    return Posteriors(means, variances.log())


@pytest.mark.parametrize(
    ("average", "mean", "variance"), [(mean_of_moments, 2, 2), (product, 1, 0.75), (tempered_product, 1, 1.5)]
)
def test_averages_of_two_posteriors(average: Any, mean: float, variance: float) -> None:
    """N(0, 1) and N(4, 3), by hand."""
    found = average(posteriors([0.0], [1.0]), posteriors([4.0], [3.0]))
    assert found.means.item() == pytest.approx(mean, rel=1e-14)
    assert found.logvars.exp().item() == pytest.approx(variance, rel=1e-14)


@pytest.mark.parametrize(("average", "power"), [(product, 1.0), (tempered_product, 0.5)])
def test_the_product_is_that_of_the_densities(average: Any, power: float) -> None:
    """q̄ ∝ (q₁ q₂)^power: the logarithm of their ratio is the same everywhere."""
    first, second = posteriors([-0.3], [0.4]), posteriors([1.2], [2.5])
    z = torch.linspace(-3, 3, 7, dtype=torch.float64)

    def log_density(each: Posteriors) -> Tensor:
        return Normal(each.means[0], (0.5 * each.logvars[0]).exp()).log_prob(z)

    ratio = log_density(average(first, second)) - power * (log_density(first) + log_density(second))
    torch.testing.assert_close(ratio, ratio[:1].expand_as(ratio), rtol=0, atol=1e-12)


@pytest.mark.parametrize("average", [mean_of_moments, product, tempered_product])
def test_extreme_variances_have_finite_averages_and_gradients(average: Any) -> None:
    logvars = torch.tensor([[-90.0, 90.0, 0.0]], requires_grad=True)
    found = average(Posteriors(torch.ones(1, 3), logvars), Posteriors(-torch.ones(1, 3), -logvars))
    assert all(torch.isfinite(value).all() for value in found)
    assert torch.isfinite(torch.autograd.grad(torch.cat(found).sum(), logvars)[0]).all()


def encoded(model: Single) -> tuple[Array, Array]:
    """Means and variances (2, b, l) of the images and of their partners, each encoded alone."""
    with torch.no_grad():
        found = [model.nets("encoder", images) for images in (model.images, model.given["partners"])]
    means, logvars = (np.stack([each[part].numpy() for each in found]) for part in (0, 1))
    return means, np.exp(logvars)


def pair_loss(model: Single, means: Array, variances: Array, beta: float) -> tuple[float, float, Array]:
    """Half the sums over the two images of the Bernoulli errors, and of the KL of each latent, given (2, b, l)."""
    noise = np.stack([model.noise()[name].numpy() for name in ("z", "partner_z")])
    z = torch.from_numpy(means + np.sqrt(variances) * noise)
    error, kl = 0.0, np.zeros(means.shape[2])
    for j, images in enumerate((model.images, model.given["partners"])):
        with torch.no_grad():
            p = 1 / (1 + np.exp(-model.nets("decoder", z[j]).numpy()))
        x = images.numpy()
        error -= 0.5 * np.sum(x * np.log(p) + (1 - x) * np.log1p(-p)) / len(x)
        kl += 0.5 * np.mean((means[j] ** 2 + variances[j] - np.log(variances[j]) - 1) / 2, axis=0)
    return error + beta * kl.sum(), error, kl


def averaged(means: Array, variances: Array, method: Any) -> tuple[Array, Array]:
    """What two posteriors (2, l) of a pair share, by the definitions."""
    (m1, m2), (s1, s2) = means, variances
    if type(method) in (GVAE, AdaGVAE):
        return (m1 + m2) / 2, (s1 + s2) / 2
    precision = 1 / s1 + 1 / s2
    return (m1 / s1 + m2 / s2) / precision, (2 if method.tempered else 1) / precision


def expected(model: Single, shared: list[set[int]]) -> tuple[float, float, Array]:
    """The loss with these coordinates shared by each pair."""
    method: Any = model.run.method
    means, variances = encoded(model)
    for row, coordinates in enumerate(shared):
        mean, variance = averaged(means[:, row], variances[:, row], method)
        for i in coordinates:
            means[:, row, i], variances[:, row, i] = mean[i], variance[i]
    return pair_loss(model, means, variances, method.beta)


def assert_is(found: Losses, wanted: tuple[float, float, Array], shared: list[set[int]], latents: int = 3) -> None:
    assert found.total.item() == pytest.approx(wanted[0], rel=1e-12)
    assert found.terms["reconstruction"].item() == pytest.approx(wanted[1], rel=1e-12)
    np.testing.assert_allclose(found.terms["kl_per_latent"].detach(), wanted[2], rtol=1e-10)
    assert found.terms["kl"].item() == pytest.approx(wanted[2].sum(), rel=1e-12)
    assert found.terms["shared"].item() == pytest.approx(np.mean([len(each) for each in shared]) / latents)


KNOWN: list[Any] = [GVAE(3.0), MLVAE(3.0), MLVAE(3.0, tempered=True)]
# Two factors and three latents: the third coordinate has no factor.
CHANGED = [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]]
SHARED = [{1, 2}, {0, 2}, {2}, {0, 1, 2}, {1, 2}, {0, 2}]


@pytest.mark.parametrize("method", KNOWN, ids=str)
def test_known_factors_share_all_other_coordinates(method: Any) -> None:
    model = Single(small_run(method))
    model.given["changed"] = torch.tensor(CHANGED, dtype=torch.bool)
    assert_is(model.loss(), expected(model, SHARED), SHARED)


def assert_slopes(model: Single, shared: list[set[int]]) -> None:
    """The gradient in each of the encoder's last biases, which move means and logvars, by finite differences."""
    name, bias = [each for each in model.networks["encoder"].named_parameters() if each[1].dim() == 1][-1]
    found = model.gradients()[f"encoder.{name}"]
    start = bias.detach().clone()
    for position in range(len(bias)):
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                bias.copy_(start)
                bias[position] += sign * 1e-6
            values.append(expected(model, shared)[0])
        with torch.no_grad():
            bias.copy_(start)
        assert found[position].item() == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("method", KNOWN, ids=str)
def test_gradients_flow_through_averages_and_both_encoders(method: Any) -> None:
    model = Single(small_run(method))
    model.given["changed"] = torch.tensor(CHANGED, dtype=torch.bool)
    assert_slopes(model, SHARED)


class Both(Single):
    """A β-VAE on the images and partners of a batch of pairs, with the noise of both."""

    def __init__(self, pairs: Single) -> None:
        super().__init__(small_run(BetaVAE(3.0), batch_size=2 * pairs.run.batch_size), pairs.dtype)
        self.images = torch.cat((pairs.images, pairs.given["partners"]))
        self._noise = torch.cat(tuple(pairs.noise().values()))

    def noise(self, phase: int = 0) -> dict[str, Tensor]:
        return {"z": self._noise}


NOTHING_SHARED: list[Any] = [*KNOWN, AdaGVAE(3.0, known_k=True), AdaMLVAE(3.0, known_k=True)]


@pytest.mark.parametrize("method", NOTHING_SHARED, ids=str)
def test_where_nothing_is_shared_it_is_the_beta_vae_of_both_images_to_the_bit(method: Any) -> None:
    model = Single(small_run(method), torch.float32)
    model.given["changed"] = torch.ones(6, 3, dtype=torch.bool)
    both = Both(model)
    assert model.loss().terms["shared"] == 0
    assert torch.equal(model.loss().total, both.loss().total)
    wanted = both.gradients()
    for name, gradient in model.gradients().items():
        assert torch.equal(gradient, wanted[name]), name


EQUAL: list[Any] = [
    GVAE(3.0),
    MLVAE(3.0, tempered=True),
    AdaGVAE(3.0),
    AdaGVAE(3.0, known_k=True, direction="symmetric"),
    AdaMLVAE(3.0, tempered=True, known_k=True),
    AdaMLVAE(3.0),
]


@pytest.mark.parametrize("method", EQUAL, ids=str)
def test_equal_images_make_it_the_beta_vae(method: Any) -> None:
    """Up to rounding, since an average of equal variances is computed by logarithms. Threshold: S is empty."""
    model = Single(small_run(method))
    model.given["partners"] = model.images
    found, wanted = model.loss(), Both(model).loss()
    assert found.total.item() == pytest.approx(wanted.total.item(), rel=1e-13)
    assert (found.terms["shared"] == 0) == (isinstance(method, AdaGVAE) and not method.known_k)


def test_equal_images_do_not_make_the_product_the_beta_vae() -> None:
    """The product of two equal densities has half their variance."""
    model = Single(small_run(MLVAE(3.0)))
    model.given["partners"] = model.images
    model.given["changed"] = torch.zeros(6, 2, dtype=torch.bool)
    means, variances = encoded(model)
    assert model.loss().total.item() == pytest.approx(pair_loss(model, means, variances / 2, 3.0)[0], rel=1e-12)


def test_more_factors_than_latents_cannot_be_tied(squares: Any, tmp_path: Path) -> None:
    """They are refused before a folder is made; methods that find the shared coordinates need no such tie."""
    message = r"latents is 1, but . factors of the data set vary.*ada-gvae"
    with pytest.raises(RunError, match=message):
        Single(small_run(GVAE(), latents=1)).loss()
    with pytest.raises(RunError, match=message):
        fit(small_run(MLVAE(), latents=1, steps=1), dataset=squares, out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
    check_data(small_run(AdaGVAE(), latents=1), squares.factors)


def test_a_network_sees_images_and_partners_in_one_call() -> None:
    model = Single(small_run(AdaGVAE(), architecture=Convolutional(hidden=4, channels=(2, 2))))
    seen: list[tuple[str, int]] = []
    nets = model.nets
    model.nets = lambda name, *inputs: seen.append((name, len(inputs[0]))) or nets(name, *inputs)  # type: ignore
    model.loss()
    assert seen == [("encoder", 12), ("decoder", 12)]
