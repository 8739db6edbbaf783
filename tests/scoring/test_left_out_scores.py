"""Scores on combinations that training left out: what is drawn, that nothing else changes, and who gets them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from test_scoring import TINY, Oracle

from hackle.core.factors import Factor, FactorGrid
from hackle.core.regimes import Drawing
from hackle.core.types import Run
from hackle.metrics.metric import METRICS
from hackle.nets import MLP
from hackle.objectives import BetaVAE
from hackle.scoring import models
from hackle.scoring.encode import encode_images
from hackle.scoring.evaluation import EncodedPlan
from hackle.scoring.models import score
from hackle.scoring.plan import Exposure, draw_exposure
from hackle.scoring.registry import ScoreError
from hackle.scoring.scorer import Scorer, prepare_scorer
from hackle.train.model import Model

RULE = "x>=2"
PROTOCOL = replace(TINY, sizes=replace(TINY.sizes, train=800, test=400))


def scorer(squares: Any, left_out: str, *names: str) -> Scorer:
    return prepare_scorer(squares.factors, [METRICS[name] for name in names], PROTOCOL, left_out=left_out)


def scores(squares: Any, encoder: Any, left_out: str, *names: str) -> dict[str, float]:
    made = scorer(squares, left_out, *names)
    rows = made.rows(made.evaluation(encoder, squares, encode_images(encoder, squares, made.images)))
    return {row["metric"]: row["score"] for row in rows}


def test_the_plan_has_points_of_both_kinds_and_all_else_stays_the_same(copied_squares: Any) -> None:
    every = ("generalisation", "mig", "factor_vae", "beta_vae")
    plan, plain = (scorer(copied_squares, rule, *every).plan for rule in (RULE, ""))
    assert plain.exposure is None
    for one, other in zip(plan[:2], plain[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    for name in ("groups", "test_groups", "pairs", "test_pairs"):
        np.testing.assert_array_equal(getattr(plan, name).index, getattr(plain, name).index)
    found: Any = plan.exposure
    assert [len(part) for part in found] == [800, 400, 400]
    x = [copied_squares.factors.rows(part)[:, 1] for part in found]
    assert [set(part.tolist()) for part in x] == [{0, 1}, {0, 1}, {2, 3}]
    assert len(set(np.concatenate(found).tolist())) == 1600
    assert set(np.concatenate(found).tolist()) <= set(plan.images.tolist())


def test_few_images_are_divided_and_none_is_used_twice() -> None:
    found = draw_exposure(np.arange(30), np.arange(30, 34), PROTOCOL.sizes, seed=0)
    assert [len(part) for part in found] == [20, 10, 4]
    assert len(set(np.concatenate(found).tolist())) == 34
    np.testing.assert_array_equal(found.seen, draw_exposure(np.arange(30), np.arange(30, 34), PROTOCOL.sizes, 0).seen)


def test_perfect_codes_generalise_and_saturated_ones_do_not(copied_squares: Any) -> None:
    perfect = scores(copied_squares, Oracle(copied_squares), RULE, "generalisation")
    assert perfect.pop("generalisation_loss") == pytest.approx(0)
    assert list(perfect.values()) == pytest.approx([1] * 9)
    names = {"generalisation", "generalisation_seen", "generalisation_unseen"}
    names |= {f"generalisation{part}_{factor}" for part in ("", "_seen") for factor in ("x", "y", "side")}
    assert perfect.keys() == names

    def saturated(images: np.ndarray) -> Any:
        codes = np.asarray(Oracle(copied_squares)(images), np.float64)
        rows = codes[:, 0].copy()
        low, high = np.unique(rows)[[0, 1]]
        codes[:, 0] = np.clip(rows, low, high)
        return codes

    found = scores(copied_squares, saturated, RULE, "generalisation")
    # x = 2 and 3 are read as 1; the variance of 0 … 3 is 1.25.
    drawn: Any = scorer(copied_squares, RULE, "generalisation").plan.exposure
    x = copied_squares.factors.rows(drawn.left_out)[:, 1]
    assert found["generalisation_x"] == pytest.approx(1 - ((x - 1) ** 2).mean() / 1.25)
    assert found["generalisation_unseen"] == pytest.approx(found["generalisation_x"])
    assert found["generalisation_seen_x"] == pytest.approx(1)


def test_values_are_unseen_where_no_image_of_the_training_has_their_class() -> None:
    """Of real numbers no two are equal, and of 900 values 800 points do not hold all: bins and all images decide."""
    numbers = tuple(np.random.default_rng(0).permutation(np.linspace(0, 1, 900)))
    grid = FactorGrid([Factor("x", 900, "continuous", values=numbers), Factor("y", 900), Factor("side", 2)])
    made = prepare_scorer(grid, [METRICS["generalisation"]], PROTOCOL, left_out="x>0.52")
    evaluation = EncodedPlan(made.grid, made.plan, PROTOCOL, cast("Any", None), cast("Any", None))
    exposure: Any = made.plan.exposure
    x = np.array(numbers)[grid.rows(exposure.left_out)[:, 0]]
    np.testing.assert_array_equal(evaluation.unseen[:, 0], x >= 0.55)
    assert not evaluation.unseen[:, 1:].any()
    half = evaluation.halved(np.random.default_rng(0))
    assert half.unseen.shape == (200, 3)


def test_a_model_is_scored_on_what_its_record_left_out(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(
        BetaVAE(1.0), MLP((8,)), dataset="squares", steps=2, batch_size=4, latents=2, drawing=Drawing(left_out=RULE)
    )
    names = ["generalisation", "generalisation_reconstruction"]
    table = score(Model(run, squares.shape), squares, names, PROTOCOL)
    assert {"generalisation_side", "reconstruction_left_out", "reconstruction_seen"} <= set(table["metric"])
    assert np.isfinite(table["score"]).all()
    better = dict(zip(table["metric"], table["better"], strict=True))
    assert better["generalisation"] == better["generalisation_side"] == "higher"
    assert better["generalisation_loss"] == "lower"
    assert set(table.loc[table["metric"] == "generalisation", "reference"].round(6)) == {1.0}
    plain = Model(replace(run, drawing=Drawing()), squares.shape)
    assert "generalisation" not in set(score(plain, squares, "all", PROTOCOL, references=False)["metric"])
    monkeypatch.setattr(models, "encode_images", lambda *_, **__: pytest.fail("encoded before it was refused"))
    with pytest.raises(
        ScoreError, match="generalisation needs a model whose training left combinations of factors out"
    ):
        score(plain, squares, "generalisation", PROTOCOL)


def test_intervals_take_halves_of_these_points_too(copied_squares: Any) -> None:
    made = scorer(copied_squares, RULE, "generalisation")
    encoder = Oracle(copied_squares)
    evaluation = made.evaluation(encoder, copied_squares, encode_images(encoder, copied_squares, made.images))
    half: Any = evaluation.halved(np.random.default_rng(0)).plan.exposure
    assert isinstance(half, Exposure)
    assert [len(part) for part in half] == [400, 200, 200]
