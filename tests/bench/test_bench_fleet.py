"""The plain loop that speed is compared with does the same training, and stacks are what they say they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hackle.bench import CASES, Case, compare, measure, together_or_apart
from hackle.bench.plain import PlainLoop, plain_run
from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.train.fleet import Fleet
from hackle.train.grouping import group, kinds


@pytest.fixture(scope="module")
def dots() -> ArrayDataset:
    """White squares of 16 pixels on 64×64 images."""
    grid = FactorGrid([Factor("x", 4), Factor("y", 4)])
    images = np.zeros((16, 64, 64, 1), np.uint8)
    for image, (x, y) in zip(images, grid.rows(np.arange(16)), strict=True):
        image[16 * y : 16 * y + 16, 16 * x : 16 * x + 16] = 255
    return ArrayDataset("dsprites", images, grid)


def test_the_plain_loop_has_the_losses_of_the_fleet(dots: ArrayDataset) -> None:
    run = plain_run(3, "float32")
    plain, fleet = PlainLoop(run, dots, "cpu"), Fleet([run], dots.images_on("cpu"), 16, dots.shape)
    for number in range(3):
        fleet.step()
        terms = fleet.averages()[0]
        assert float(plain.step(number)) == pytest.approx(terms["reconstruction"] + 4 * terms["kl"], rel=1e-5)  # type: ignore


def test_every_case_stacks() -> None:
    for case in CASES:
        runs = case.runs(3, "bfloat16")
        assert len(group(runs)) == 1
        assert {run.dataset for run in runs} == {case.dataset}
    mixed = Case("mixed").runs(24, "bfloat16")
    assert group(mixed) == [mixed]
    assert [len(alike) for alike in kinds(mixed)] == [5, 5, 5, 5, 4]
    assert [run.seed for run in mixed] == list(range(24))


def test_rates_are_of_single_models(dots: ArrayDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(Fleet, "step", lambda fleet: taken.append(len(fleet)))
    clock = iter(range(1000))
    monkeypatch.setattr("hackle.bench.fleet.time.perf_counter", lambda: float(next(clock)))
    rate = measure(Case("beta-vae").runs(3, "float32"), dots, "cpu", seconds=4.0)
    # One step unseen; then each turn of the clock sees a step of three models.
    assert rate.models == 3
    assert rate.per_second == pytest.approx((len(taken) - 1) * 3 / (len(taken) + 1), rel=0.5)
    assert np.isnan(rate.bytes_per_model)
    assert rate.failed == 0


def test_comparisons_give_rates_and_their_ratio(dots: ArrayDataset) -> None:
    torch.manual_seed(0)
    found = compare(dots, "cpu", 1)
    assert found["ratio"] == pytest.approx(found["hackle"] / found["plain"])
    assert found["largest loss difference"] < 1e-3
    both = together_or_apart(dots, "cpu", models=2, steps=1)
    assert both["ratio"] == pytest.approx(both["together"] / both["apart"])
