"""Sets with fewer images than a protocol has points: none is trained on and tested, sizes shrink, and the table says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hackle
from hackle.core.factors import Factor, FactorGrid
from hackle.core.notes import note_codes
from hackle.scoring.plan import Groups, PlanSizes, draw_plan, half_of, must_split, plan_note, split_plan
from hackle.scoring.protocol import PROTOCOLS

SIZES = PlanSizes(400, 200, 60, 30, 8, 60, 30, 4)
GRID = FactorGrid([Factor("shape", 3, "categorical"), Factor("x", 8), Factor("y", 8)])


def parts(plan: Any) -> tuple[set[int], set[int]]:
    """The images of training and of testing."""
    train = (plan.train, plan.groups.index.ravel(), plan.pairs.index.ravel())
    test = (plan.test, plan.test_groups.index.ravel(), plan.test_pairs.index.ravel())
    return set(np.concatenate(train).tolist()), set(np.concatenate(test).tolist())


@pytest.fixture(scope="module")
def noise() -> Any:
    """300 images of one's own, an encoder that knows each of them and nothing of their factors, and its codes."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (300, 4, 4, 1), dtype=np.uint8)
    factors = {"shape": rng.choice(["ball", "box", "cone"], size=300), "x": rng.integers(0, 5, size=300)}
    codes = rng.normal(size=(300, 6)).astype(np.float32)
    known = {image.tobytes(): code for image, code in zip(images, codes, strict=True)}
    data = hackle.from_arrays(images, factors)
    return data, lambda batch: np.stack([known[image.tobytes()] for image in batch]), codes, factors


def test_papers_draws_are_kept_where_images_are_enough() -> None:
    """dSprites and 3D cars have every combination and more than 15,000 images; photographs are samples."""
    points = PROTOCOLS["locatello2019"].sizes
    for sizes in ((3, 6, 40, 32, 32), (4, 24, 183)):
        assert not must_split(
            FactorGrid([Factor(name, size) for name, size in zip("abcde", sizes, strict=False)]), points
        )
    assert must_split(FactorGrid([Factor("a", 120), Factor("b", 124)]), points)
    for count, split in ((20_000, True), (70_000, False)):
        rows = np.stack([np.arange(count) % 10, np.arange(count)], axis=1)
        labelled = FactorGrid([Factor("digit", 10), Factor("instance", count, observed=False)], present=rows)
        assert must_split(labelled, points) == split


def test_no_image_is_trained_on_and_tested() -> None:
    assert must_split(GRID, SIZES)
    plan = split_plan(GRID, SIZES, 0)
    train, test = parts(plan)
    assert not train & test
    assert (len(plan.train), len(plan.test)) == (len(train), len(test)) == (128, 64)
    assert note_codes(plan_note(GRID, SIZES, plan)) == ("split",)
    assert "192 images" in plan_note(GRID, SIZES, plan)
    drawn = draw_plan(GRID, SIZES, 0)
    assert len(set.intersection(*parts(drawn))) > 150
    assert note_codes(plan_note(GRID, SIZES, drawn)) == ("shared",)
    assert (
        plan_note(FactorGrid([Factor("a", 100), Factor("b", 100)]), SIZES, drawn._replace(test=np.arange(9000, 9200)))
        == ""
    )


@pytest.mark.parametrize("split", [True, False])
def test_half_of_a_plan(split: bool) -> None:
    plan = (split_plan if split else draw_plan)(GRID, SIZES, 0)
    half = half_of(GRID, plan, split, np.random.default_rng(1))
    assert (len(half.train), len(half.test)) == (len(plan.train) // 2, len(plan.test) // 2)
    assert isinstance(half.groups, Groups)
    assert isinstance(plan.groups, Groups)
    count = 60 if split else 30
    assert half.groups.index.shape == (count, 8)
    held = GRID.rows(half.groups.index.ravel()).reshape(count, 8, 3)[np.arange(count), :, half.groups.held]
    assert (held == held[:, :1]).all()
    if split:
        train, test = parts(half)
        assert train == set(half.train.tolist()) <= set(plan.train.tolist())
        assert test == set(half.test.tolist()) <= set(plan.test.tolist())
    else:
        before = [group.tolist() for group in plan.groups.index]
        assert all(group in before for group in half.groups.index.tolist())


def test_a_model_and_its_codes_have_the_same_scores(noise: Any) -> None:
    data, encoder, codes, factors = noise
    wanted = "mig,dci,explicitness,factor_vae,beta_vae"
    protocol = PROTOCOLS["locatello2019"].smaller(0.1)
    of_model, of_codes = (
        hackle.score(encoder, data, wanted, protocol),
        hackle.score_codes(codes, factors, wanted, protocol),
    )
    columns = ["metric", "score", "reference", "note"]
    assert of_model[columns].equals(of_codes[columns])
    assert {note_codes(note)[-1] for note in of_model["note"]} == {"split"}
    assert of_model["note"].str.contains("300 images.*200 of them train and 100 others test").all()


def test_noise_is_not_informative_because_it_was_remembered(noise: Any) -> None:
    """Drawn with replacement, test points were training points, and boosted trees knew them all."""
    data, encoder, _, _ = noise
    protocol = PROTOCOLS["disentanglement_lib"].smaller(0.1)
    found = hackle.score(encoder, data, "dci,explicitness,downstream_gbt", protocol)
    table = dict(zip(found["metric"], found["score"], strict=True))
    assert table["dci_informativeness"] < 0.45
    assert table["downstream_gbt_100"] < 0.45
    assert abs(table["explicitness"] - 0.5) < 0.1
