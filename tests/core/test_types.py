"""Run records: numbers that no training can have are refused when the record is made."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from hackle.core.errors import HackleError
from hackle.core.field_checks import check_fields, check_weights
from hackle.core.records import float_fields, with_fields
from hackle.core.types import Adam, Run, RunError
from hackle.nets import Convolutional
from hackle.objectives import OBJECTIVES, VAE, AdversarialAutoencoder, BetaTCVAE, BetaVAE, FactorVAE

RUN = Run(VAE(), Convolutional())


@dataclass(frozen=True)
class Own(VAE):
    """A method of one's own, whose float fields may be negative."""

    scale: float = -1.0


@dataclass(frozen=True)
class Hidden(VAE):
    """A method with a field whose type cannot be found when it runs."""

    scale: float = 1.0
    other: Unheard | None = None  # type: ignore[name-defined] # noqa: F821


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
        ({"correlation": 0.999999999}, "correlation is 0.999999999; expected 0"),
        ({"optimiser": Adam(beta1=1.0)}, "optimiser.beta1 is 1.0; expected 0 up to, not including, 1"),
        ({"optimiser": Adam(beta2=-0.1)}, "optimiser.beta2 is -0.1"),
        ({"optimiser": Adam(epsilon=0.0)}, "optimiser.epsilon is 0.0; expected a positive number"),
        ({"method": FactorVAE(discriminator_optimiser=Adam(beta2=1.0))}, "discriminator_optimiser.beta2 is 1.0"),
        ({"correlation": "0.5"}, "correlation is '0.5'; expected a finite number"),
        ({"correlation": np.float32(0.5)}, "expected a finite number, Python's own instead of NumPy's"),
        ({"correlation": True}, "correlation is True; expected a finite number"),
        ({"steps": True}, "steps is True; expected a whole number"),
        ({"dataset": 3}, "dataset is 3; expected text"),
        ({"likelihood": "poisson"}, "likelihood is 'poisson'; expected 'bernoulli' or 'gaussian'"),
        ({"precision": "float16"}, "precision is 'float16'; expected 'float32' or 'bfloat16'"),
        ({"optimiser": Adam(epsilon="1e-8")}, "optimiser.epsilon is '1e-8'"),  # type: ignore[arg-type]
        ({"method": Own("4")}, "method.scale is '4'; expected a finite number"),  # type: ignore[arg-type]
        ({"method": Hidden(float("nan"))}, "method.scale is nan; expected a finite number"),
        ({"method": "beta-vae"}, "method is 'beta-vae'; expected a record such as"),
        ({"kl_warmup": -1.0}, "kl_warmup is -1.0; expected a positive number, or 0 to do without"),
        ({"held_out": -1}, "held_out is -1; expected a number of images, or 0"),
        ({"held_out": 0.1}, "held_out is 0.1; expected a whole number"),
        ({"optimiser": Adam(warmup=-1.0)}, "optimiser.warmup is -1.0"),
        ({"optimiser": Adam(clip_norm=-1.0)}, "optimiser.clip_norm is -1.0"),
        ({"optimiser": Adam(decay="sine")}, "optimiser.decay is 'sine'; expected 'constant' or"),  # type: ignore[arg-type]
        ({"optimiser": Adam(decay="step", decay_to=0.1)}, "optimiser.decay is 'step', with decay_steps=0 and"),
        (
            {"method": FactorVAE(discriminator_optimiser=Adam(decay="step", decay_steps=9.0))},
            "method.discriminator_optimiser.decay is 'step', with decay_steps=9 and decay_to=0; expected the steps between",
        ),
        ({"method": BetaVAE}, "expected a record such as"),
        ({"architecture": "mlp"}, "architecture is 'mlp'; expected a record such as"),
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


@pytest.mark.parametrize("cls", [cls for cls in OBJECTIVES.values() if float_fields(cls())])
@pytest.mark.parametrize("value", [-4.0, -1, "4", float("nan"), True, None])
def test_weights_that_no_method_can_have_are_refused(cls: Any, value: Any) -> None:
    name = next(path for path in float_fields(cls()) if "." not in path)
    with pytest.raises(
        RunError, match=f"{name} .*is {re.escape(str(value))}|{name} is {re.escape(repr(value))}; expected"
    ):
        cls(**{name: value})


def test_fields_of_methods_are_checked_by_type() -> None:
    with pytest.raises(RunError, match="density is 'prior'; expected 'posterior' or 'factorised'"):
        BetaTCVAE(density="prior")  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"discriminator_layers is 6\.0; expected a whole number"):
        FactorVAE(discriminator_layers=6.0)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="deterministic is 1; expected True or False"):
        AdversarialAutoencoder(deterministic=1)  # type: ignore[arg-type]


def test_methods_of_ones_own_may_have_negative_fields() -> None:
    assert replace(RUN, method=Own()).method == Own(-1.0)


def test_the_ends_of_the_ranges_are_allowed() -> None:
    run = replace(RUN, steps=1, batch_size=1, latents=1, correlation=0, optimiser=Adam(learning_rate=0.0))
    assert (run.steps, run.latents, run.correlation) == (1, 1, 0)
    assert (BetaVAE(0.0).beta, BetaVAE(4).beta) == (0.0, 4)


def test_tensors_may_stand_for_the_numbers_of_several_runs() -> None:
    several = torch.tensor([0.0, float("nan")])
    assert with_fields(RUN, {"correlation": several, "optimiser.learning_rate": several}).correlation is several
    stacked = with_fields(replace(RUN, method=BetaVAE()), {"method.beta": several}).method
    check_fields(stacked)
    check_weights(stacked)
