"""Run records: numbers that no training can have are refused when the record is made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from hackle.nets import Convolutional
from hackle.objectives import VAE, BetaVAE, FactorVAE
from hackle.records import with_fields
from hackle.types import Adam, HackleError, Run, RunError

RUN = Run(VAE(), Convolutional())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps is 0; expected a whole number from 1"),
        ({"steps": 10.0}, "steps is 10.0"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"latents": 0}, "latents is 0"),
        ({"correlation": -0.1}, "correlation is -0.1"),
        ({"correlation": 1.0}, "correlation is 1.0; expected 0"),
        ({"correlation": float("nan")}, "correlation is nan"),
        ({"optimiser": Adam(learning_rate=-1e-4)}, "optimiser.learning_rate is -0.0001"),
        ({"optimiser": Adam(learning_rate=float("inf"))}, "optimiser.learning_rate is inf"),
        ({"method": BetaVAE(beta=float("nan"))}, "method.beta is nan; expected a finite number"),
        (
            {"method": FactorVAE(discriminator_optimiser=Adam(learning_rate=-1.0))},
            "method.discriminator_optimiser.learning_rate is -1.0",
        ),
    ],
)
def test_numbers_that_no_training_can_have_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError, match=message) as refused:
        replace(RUN, **changes)
    assert isinstance(refused.value, HackleError)


def test_the_ends_of_the_ranges_are_allowed() -> None:
    run = replace(RUN, steps=1, batch_size=1, latents=1, correlation=0, optimiser=Adam(learning_rate=0.0))
    assert (run.steps, run.latents, run.correlation) == (1, 1, 0)


def test_tensors_may_stand_for_the_numbers_of_several_runs() -> None:
    several = torch.tensor([0.0, float("nan")])
    assert with_fields(RUN, {"correlation": several, "optimiser.learning_rate": several}).correlation is several
