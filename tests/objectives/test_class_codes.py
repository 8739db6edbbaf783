"""Codes that are class numbers, wherever models are scored, looked at, held against images, and exported."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import hackle
from hackle.core.errors import HackleError
from hackle.core.gaussian import kl_per_latent
from hackle.core.method import real_codes
from hackle.core.types import Adam, Run
from hackle.information import discrete_mutual_information
from hackle.metrics import active_units, elbo, importance_weighted_bound, kl_divergence
from hackle.nets import Convolutional
from hackle.objectives import QLAE, JointVAE, Tripod
from hackle.pictures import Captured, Look, overview, traversals
from hackle.scoring.encode import encode_images
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol
from hackle.scoring.scorer import prepare_scorer
from hackle.train.fleet import Fleet
from hackle.train.held_out import held_out_terms
from hackle.train.model import Model

TINY = Protocol("tiny", PlanSizes(400, 200, 200, 100, 16, 200, 100, 16))
METHODS: dict[str, Any] = {
    "qlae": QLAE(levels=6),
    "tripod": Tripod(levels=5),
    "joint-vae": JointVAE(3.0, 3.0, categories=(3, 2)),
}


@pytest.fixture(scope="module", params=METHODS.values(), ids=list(METHODS))
def fleet(request: pytest.FixtureRequest, squares: Any) -> Fleet:
    settings: dict[str, Any] = {"batch_size": 8, "latents": 3, "held_out": 7, "optimiser": Adam(learning_rate=3e-3)}
    run = Run(request.param, Convolutional(16, (4, 8)), "squares", **settings)
    fleet = Fleet([run], squares.images_on("cpu"), len(squares.factors), squares.shape)
    for _ in range(40):
        fleet.step()
    return fleet


@pytest.fixture(scope="module")
def model(fleet: Fleet) -> Model:
    return Model(replace(fleet.runs[0], held_out=0), fleet.shape, fleet.weights(0))


def classes_of(model: Model) -> list[int]:
    return [position for position, code in enumerate(model.codes) if code.classes]


def test_the_elbo_has_a_uniform_prior_over_classes(model: Model, squares: Any) -> None:
    images = squares.render(squares.factors.rows(range(32)))
    real, of_classes = real_codes(model.codes)
    assert of_classes == pytest.approx(sum(math.log(code.classes) for code in model.codes if code.classes))
    if real:
        return
    codes, _ = model.encode(images)
    logits = torch.logit(torch.from_numpy(model.decode(codes)).double())
    pixels = torch.from_numpy(images).double() / 255
    likelihood = -F.binary_cross_entropy_with_logits(logits, pixels, reduction="none").flatten(1).sum(1).numpy()
    for bound in (elbo(model, images), importance_weighted_bound(model, images, particles=3)):
        np.testing.assert_allclose(bound, likelihood - of_classes, rtol=1e-4)


def test_held_out_images_have_the_same_bound(fleet: Fleet, model: Model, squares: Any) -> None:
    held = fleet.images.held[0].numpy()  # type: ignore[union-attr]
    images = squares.render(squares.factors.rows(held))
    (found,) = held_out_terms(fleet)
    assert found["held_out_elbo"] == pytest.approx(-found["held_out_reconstruction"] - found["held_out_kl"])
    real, of_classes = real_codes(model.codes)
    means, logvars = (torch.from_numpy(part[:, real]) for part in model.encode(images))
    kl = float(kl_per_latent(means, logvars).sum(1).mean())
    assert found["held_out_kl"] == pytest.approx(kl + of_classes, rel=1e-5)
    if not real:
        assert found["held_out_elbo"] == pytest.approx(float(elbo(model, images).mean()), rel=1e-5)


def test_metrics_count_classes_and_samples_of_them_have_no_noise(model: Model, copied_squares: Any) -> None:
    data: Any = copied_squares
    scorer = prepare_scorer(data.factors, (), TINY)
    book = encode_images(model, data, scorer.images)
    evaluation = scorer.evaluation(model, data, book)
    chosen = classes_of(model)
    assert evaluation.discrete == tuple(position in chosen for position in range(len(model.codes)))
    np.testing.assert_array_equal(evaluation.sampled().codes[:, chosen], evaluation.codes[:, chosen])
    counted = discrete_mutual_information(evaluation.codes[:, chosen], evaluation.factors)
    np.testing.assert_allclose(evaluation.factor_information.information[chosen], counted, atol=1e-6)
    divergence = kl_divergence(*evaluation.posteriors, discrete=evaluation.discrete).per_code[chosen]
    occurring = [len(np.unique(evaluation.codes[:, code])) for code in chosen]
    np.testing.assert_allclose(divergence, np.log(occurring))


def test_scores_of_a_model(model: Model, copied_squares: Any) -> None:
    table = hackle.score(model, copied_squares, "mig,factor_vae,dci,kl,reconstruction", TINY, references=False)
    found: Any = table.set_index(["metric", "representation"])["score"]
    assert np.isfinite(found.to_numpy()).all()
    if not real_codes(model.codes)[0]:
        assert found["mig", "mean"] == found["mig", "sampled"]
        assert found["factor_vae", "mean"] == found["factor_vae", "sampled"]


def test_latents_that_are_no_numbers_have_no_class(fleet: Fleet, squares: Any) -> None:
    weights = {name: torch.full_like(value, torch.nan) for name, value in fleet.weights(0).items()}
    broken = Model(replace(fleet.runs[0], held_out=0), fleet.shape, weights)
    with pytest.raises(HackleError, match="not finite"):
        encode_images(broken, squares, np.arange(4))


def test_a_code_that_is_always_the_same_class_is_collapsed() -> None:
    classes = np.array([[3.0, 0.0], [3.0, 1.0], [3.0, 2.0]])
    noiseless = np.full((3, 2), -20.0)
    assert active_units(classes, noiseless, discrete=True).tolist() == [False, True]
    assert kl_divergence(classes, noiseless, discrete=True).total == pytest.approx(math.log(3))
    assert kl_divergence(classes, noiseless, discrete=[False, True], correlation=0.9).per_code[0] > 4


def test_traversals_go_through_the_levels(model: Model, squares: Any) -> None:
    look = Look.of(model, squares, n=32)
    moved = classes_of(model)[0]
    size = model.codes[moved].classes
    assert look.axes[moved].values(size).tolist() == list(range(size))
    rows = traversals(look, columns=size)[list(look.order).index(moved)]
    z = np.repeat(look.means[:1], size, axis=0)
    z[:, moved] = np.arange(size)
    np.testing.assert_allclose(rows, model.decode(z), atol=1e-6)
    assert look.kl[moved] == pytest.approx(math.log(len(np.unique(look.means[:, moved]))))
    found = Captured.of(look, squares.factors)
    counted = discrete_mutual_information(look.means[:, [moved]], squares.factors.classes(look.rows))
    np.testing.assert_allclose(found.information[moved], counted[0], atol=1e-12)
    assert len(overview(look, columns=3).axes) >= 1


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_it_is_exported(model: Model, part: Any, tmp_path: Path) -> None:
    assert model.export(tmp_path / f"{part}.pt2", part).difference < 1e-5
