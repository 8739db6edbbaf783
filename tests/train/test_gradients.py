"""Gradients of all models together, as CUDA computes them, and of one after the other, as a CPU does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from hackle.core.types import Adam
from hackle.objectives import VAE, BetaTCVAE, BetaVAE, ControlVAE, FactorVAE
from hackle.train.gradients import Gradients
from train.test_fleet import small_run, trained

CLIPPED = Adam(learning_rate=1e-3, clip_norm=0.5, clip_value=0.1, weight_decay=0.1)


@pytest.mark.parametrize(
    "methods",
    [
        [BetaVAE(4.0), BetaVAE(1.0), BetaTCVAE(6.0), VAE()],
        [FactorVAE(gamma=5.0, discriminator_width=16), FactorVAE(gamma=7.0, discriminator_width=16)],
        [ControlVAE(), ControlVAE()],
    ],
    ids=["mixed", "two phases", "kept values"],
)
@pytest.mark.parametrize("changes", [{}, {"optimiser": CLIPPED}], ids=["plain", "clipped"])
def test_models_that_take_turns_train_as_they_do_together(
    methods: list[Any], changes: dict[str, Any], squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        small_run(method, seed=seed, correlation=0.3 * (seed % 2), **changes) for seed, method in enumerate(methods)
    ]
    in_turn = trained(runs, squares)
    monkeypatch.setattr(Gradients, "_in_turn", Gradients._together)
    together = trained(runs, squares)
    for row in range(len(runs)):
        for name, value in in_turn.weights(row).items():
            torch.testing.assert_close(together.weights(row)[name], value, rtol=1e-5, atol=1e-6, msg=name)
    for one, other in zip(in_turn.averages(), together.averages(), strict=True):
        assert one.keys() == other.keys()
        for name, mean in one.items():
            assert mean == pytest.approx(other[name], rel=1e-4, abs=1e-5)
