"""Methods with labels: each form of the labels' loss against NumPy, their limits, schedules and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from single import SMALL, SMALL_DISCRIMINATOR, Single, small_run

from hackle.core.gaussian import NOISELESS
from hackle.core.regimes import Labels
from hackle.core.types import Adam, Run, RunError
from hackle.nets import MLP
from hackle.objectives import (
    DIPVAEI,
    DIPVAEII,
    S2DIPVAEI,
    S2DIPVAEII,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    S2BetaTCVAE,
    S2BetaVAE,
    S2FactorVAE,
    Supervised,
)
from hackle.objectives.semi_supervised import label_error, label_weight
from hackle.train import fit
from hackle.train.fleet import Fleet

BASES: list[tuple[Any, Any]] = [
    (S2BetaVAE, BetaVAE(3.0)),
    (S2FactorVAE, FactorVAE(5.0, **SMALL_DISCRIMINATOR)),
    (S2BetaTCVAE, BetaTCVAE(3.0)),
    (S2DIPVAEI, DIPVAEI(2.0, 3.0)),
    (S2DIPVAEII, DIPVAEII(2.0, 3.0)),
]
every_base = pytest.mark.parametrize(("cls", "base"), BASES, ids=[cls.__name__ for cls, _ in BASES])
FORMS: list[Any] = ["xent", "l2", "l2-sigmoid", "cov"]


def with_labels(cls: Any, base: Any, **fields: Any) -> Any:
    return cls(**vars(base), **fields)


def numpys(form: str, means: np.ndarray, labels: np.ndarray, sizes: tuple[int, ...], scale: float = 1.0) -> float:
    """Each form's definition, number by number; a sum over images and factors."""
    images, count = labels.shape
    if form == "cov":
        total = 0.0
        for i in range(means.shape[1]):
            for j in range(count):
                covariance = (means[:, i] * labels[:, j]).mean() - means[:, i].mean() * labels[:, j].mean()
                total += covariance**2 if i != j else 0.0
        return total
    total = 0.0
    for row in range(images):
        for k in range(count):
            mean, target = means[row, k], labels[row, k] / sizes[k]
            chance = 1 / (1 + math.exp(-mean))
            if form == "xent":
                total -= target * math.log(chance) + (1 - target) * math.log(1 - chance)
            elif form == "l2":
                total += (scale * mean - labels[row, k]) ** 2
            else:
                total += (chance - target) ** 2
    return total


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_its_definition(form: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(7, 5, dtype=torch.float64, generator=generator)
    sizes = (2, 4, 9)
    labels = torch.randint(36, (7, 3), generator=generator) % torch.tensor(sizes)
    found = label_error(form, means, labels, sizes, torch.tensor(1.7, dtype=torch.float64))
    assert found.item() == pytest.approx(numpys(form, means.numpy(), labels.numpy(), sizes, 1.7), rel=1e-12)


def test_values_by_hand() -> None:
    """ln 2 for each factor at a mean of 0; at best the entropy of the target, 0.6109 for 0.3; targets y/K, never 1."""
    nothing, labels = torch.zeros(4, 3, dtype=torch.float64), torch.zeros(4, 2, dtype=torch.int64)
    assert label_error("xent", nothing, labels, (3, 5)).item() == pytest.approx(8 * math.log(2))
    best = torch.logit(torch.tensor([[0.3]], dtype=torch.float64))
    assert label_error("xent", best, torch.tensor([[3]]), (10,)).item() == pytest.approx(0.6109, abs=5e-5)
    for other in (0.29, 0.31):
        worse = torch.logit(torch.tensor([[other]], dtype=torch.float64))
        assert label_error("xent", worse, torch.tensor([[3]]), (10,)) > 0.6109
    # A binary factor's targets are 0 and ½.
    assert label_error("l2-sigmoid", nothing[:1], torch.tensor([[1]]), (2,)).item() == 0
    assert label_error("l2-sigmoid", nothing[:1], torch.tensor([[0]]), (2,)).item() == 0.25
    # A sum, not a mean, over the batch.
    assert label_error("l2", nothing + 2, labels, (3, 5)).item() == 4 * 2 * 4


@pytest.mark.parametrize("form", FORMS)
@every_base
def test_labels_add_to_the_loss_of_the_method(cls: Any, base: Any, form: Any) -> None:
    model = Single(small_run(with_labels(cls, base, gamma_sup=2.5, label_loss=form)))
    if form == "l2":
        torch.nn.init.constant_(model.networks["scale"].get_parameter("scale"), 1.3)
    found, plain = model.loss(), Single(small_run(base)).loss()
    means, _ = model.nets("encoder", model.given["labelled"])
    expected = numpys(form, means.detach().numpy(), model.given["labels"].numpy(), (3, 4), 1.3)
    assert found.terms["label_error"].item() == pytest.approx(expected, rel=1e-9)
    assert found.total.item() == pytest.approx(plain.total.item() + 2.5 * expected, rel=1e-9)
    assert found.terms.keys() == {*plain.terms, "label_error"}
    assert found.carry.keys() == plain.carry.keys()


@pytest.mark.parametrize("form", FORMS)
@every_base
def test_without_weight_it_is_the_method_to_the_bit(cls: Any, base: Any, form: Any) -> None:
    found = Single(small_run(with_labels(cls, base, gamma_sup=0.0, label_loss=form)), torch.float32).gradients()
    expected = Single(small_run(base), torch.float32).gradients()
    assert found.keys() - expected.keys() == ({"scale.scale"} if form == "l2" else set())
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    other = Single(small_run(with_labels(cls, base, label_loss=form)), torch.float32).gradients()
    assert any(not torch.equal(other[name], expected[name]) for name in expected if name.startswith("encoder"))
    assert all(torch.equal(other[name], expected[name]) for name in expected if name.startswith("decoder"))


def test_without_weight_a_fleet_trains_the_method_to_the_bit(squares: Any) -> None:
    """Through both phases of FactorVAE: labels change no draw of the rest."""
    base = Run(FactorVAE(5.0, **SMALL_DISCRIMINATOR), SMALL, batch_size=6, latents=3, optimiser=Adam(3e-3))
    labelled = replace(base, method=with_labels(S2FactorVAE, base.method, gamma_sup=0.0), labels=Labels(20))

    def trained(run: Run) -> dict[str, torch.Tensor]:
        fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
        for _ in range(4):
            fleet.step()
        return fleet.weights(0)

    found, expected = trained(labelled), trained(base)
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_runs_of_other_weights_stack(squares: Any) -> None:
    """Each as alone: γ_sup, its schedule's step and the method's own weight are numbers of each model."""
    method = S2BetaVAE(2.0, label_loss="l2", gamma_sup=0.5, label_schedule="anneal", label_steps=3.0)
    base = Run(method, SMALL, batch_size=6, latents=3, labels=Labels(20), optimiser=Adam(3e-3))
    other = replace(method, beta=8.0, gamma_sup=4.0, label_steps=2.0)
    runs = [base, replace(base, seed=1, method=other), replace(base, seed=2, method=replace(method, gamma_sup=0.0))]

    def trained(runs: list[Run]) -> Fleet:
        fleet = Fleet(runs, squares.images_on("cpu"), squares.factors, squares.shape)
        for _ in range(4):
            fleet.step()
        return fleet

    together = trained(runs)
    for row, run in enumerate(runs):
        for name, value in trained([run]).weights(0).items():
            torch.testing.assert_close(together.weights(row)[name], value, rtol=1e-5, atol=1e-6, msg=name)
    scales = [together.weights(row)["scale.scale"].item() for row in range(3)]
    assert scales[2] == 1
    assert len(set(scales)) == 3


@pytest.mark.parametrize(
    ("fields", "weights"),
    [
        ({}, [3.0, 3.0, 3.0, 3.0, 3.0]),
        ({"label_schedule": "anneal", "label_steps": 4.0}, [0.0, 0.75, 1.5, 3.0, 3.0]),
        ({"label_schedule": "fine-tune", "label_steps": 4.0}, [0.0, 0.0, 0.0, 0.0, 3.0]),
    ],
    ids=["fixed", "anneal", "fine-tune"],
)
def test_schedules(fields: dict[str, Any], weights: list[float]) -> None:
    """As in disentanglement_lib, whose fine-tuning begins after step T."""
    method = S2BetaVAE(gamma_sup=3.0, **fields)
    model = Single(small_run(method))
    plain = Single(small_run(BetaVAE())).loss().total
    for number, weight in zip((0, 1, 2, 4, 5), weights, strict=True):
        assert float(label_weight(method, torch.tensor(number))) == weight
        found = model.loss(number=number)
        torch.testing.assert_close(found.total, plain + weight * found.terms["label_error"])


def test_a_schedule_needs_its_step_and_follows_the_length_of_the_training() -> None:
    with pytest.raises(RunError, match="label_schedule is 'anneal' and label_steps 0; expected"):
        S2BetaVAE(label_schedule="anneal")
    with pytest.raises(RunError, match="label_schedule is 'fixed' and label_steps 5; expected"):
        S2BetaVAE(label_steps=5.0)
    with pytest.raises(RunError, match="gamma_sup of S2FactorVAE is -1"):
        S2FactorVAE(gamma_sup=-1.0)
    assert S2BetaVAE(label_schedule="anneal", label_steps=1000.0).at_steps(30, 300).label_steps == 100
    assert S2BetaVAE().at_steps(30, 300) == S2BetaVAE()


@pytest.mark.parametrize("form", FORMS)
def test_supervised_trains_the_encoder_by_labels_alone(form: Any) -> None:
    model = Single(small_run(Supervised(label_loss=form)))
    found, gradients = model.loss(), model.gradients()
    means, _ = model.nets("encoder", model.given["labelled"])
    expected = numpys(form, means.detach().numpy(), model.given["labels"].numpy(), (3, 4))
    assert found.terms["label_error"].item() == pytest.approx(expected, rel=1e-9)
    encoder = dict(model.networks["encoder"].named_parameters())
    alone = torch.autograd.grad(model.loss().terms["label_error"], list(encoder.values()), allow_unused=True)
    for name, gradient in zip(encoder, alone, strict=True):
        wanted = torch.zeros_like(encoder[name]) if gradient is None else gradient
        torch.testing.assert_close(gradients[f"encoder.{name}"], wanted)
    codes, logvars = model.run.method.encode(model.nets, model.run, model.images)
    logits, images = model.nets("decoder", codes).detach().numpy(), model.images.numpy()
    error = (np.logaddexp(0, logits) - images * logits).sum() / len(images)
    assert found.total.item() == pytest.approx(error + expected, rel=1e-9)
    assert any(value.abs().max() > 0 for name, value in gradients.items() if name.startswith("decoder"))
    assert torch.equal(logvars, torch.full_like(logvars, NOISELESS))


def test_each_latent_comes_to_order_the_values_of_its_factor(squares: Any) -> None:
    networks = MLP((32,))
    run = Run(Supervised(), networks, "squares", batch_size=16, latents=4, labels=Labels(32), optimiser=Adam(1e-2))
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    for _ in range(80):
        fleet.step()
    images = squares.render(rows := squares.factors.rows(np.arange(32)))
    means = fleet.each(lambda nets, run, given: nets("encoder", given)[0], torch.from_numpy(images)[None])[0].detach()
    for factor, size in enumerate((4, 4, 2)):
        levels = [means[rows[:, factor] == value, factor].mean().item() for value in range(size)]
        assert levels == sorted(levels)
        correlations = np.corrcoef(means[:, factor].numpy(), rows.T)[0, 1:]
        assert abs(correlations).argmax() == factor


@pytest.mark.parametrize("method", [S2BetaVAE(), Supervised()])
def test_more_labelled_factors_than_latents_are_refused_before_a_folder_is_claimed(
    method: Any, tmp_path: Path, squares: Any
) -> None:
    run = Run(method, SMALL, "squares", batch_size=4, latents=2, steps=1, labels=Labels(10))
    with pytest.raises(RunError, match=r"latents is 2, and 3 factors have labels; .* expected latents=3 or more"):
        fit(run, out=tmp_path / "run", dataset=squares, progress=False)
    assert not (tmp_path / "run").exists()


def test_a_run_without_labels_is_refused() -> None:
    with pytest.raises(RunError, match="S2BetaVAE learns from labels, and this run has none; set labels"):
        Run(S2BetaVAE(), SMALL)
