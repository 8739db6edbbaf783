"""Errors of a loss that trains beside those of other methods, and of the part that methods share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from hackle.core.types import Losses, Nets, Phase, Run, Step
from hackle.objectives import VAE, BetaTCVAE
from hackle.objectives.vae import Autoencoder, Evidence, evidence, evidence_phase
from hackle.train.errors import MethodError
from hackle.train.gradients import Gradients
from train.test_fleet import small_run, trained
from train.test_mixed_fleets import Near, mixed_runs


def _branching(found: Evidence, step: Step, run: Any) -> Losses:
    if found.kl > 0:
        return Losses(found.kl, found.terms)
    return Losses(found.reconstruction, found.terms)


def _in_place(found: Evidence, step: Step, run: Any) -> Losses:
    found.means.mul_(2.0)
    return Losses(found.reconstruction + found.means.square().sum(), found.terms)


def _detached(found: Evidence, step: Step, run: Any) -> Losses:
    return Losses(found.kl.detach(), found.terms)


def _returning_nothing(found: Evidence, step: Step, run: Any) -> None:
    return None


@dataclass(frozen=True)
class Wrong(Autoencoder):
    loss: str

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(globals()[self.loss], run),)


@pytest.mark.parametrize(
    ("loss", "words", "line"),
    [
        ("_branching", "asks for the value of a tensor", "if found.kl > 0:"),
        ("_in_place", "changes a tensor in place", "found.means.mul_(2.0)"),
        ("_detached", "depends on no parameter of encoder, decoder", "return Losses(found.kl.detach(), found.terms)"),
        ("_returning_nothing", "returned nothing; expected hackle.core.types.Losses", "return None"),
    ],
)
@pytest.mark.parametrize("beside", [[], [VAE(), BetaTCVAE()]], ids=["alone", "beside others"])
@pytest.mark.parametrize("together", [False, True], ids=["in turn", "together"])
def test_an_error_names_the_method_whose_loss_it_is(
    loss: str,
    words: str,
    line: str,
    beside: list[Any],
    together: bool,
    squares: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if together:
        monkeypatch.setattr(Gradients, "_in_turn", Gradients._together)
    runs = mixed_runs([*beside, Wrong(loss), *beside])
    with pytest.raises(MethodError) as raised:
        trained(runs, squares)
    message = str(raised.value)
    assert "the loss of Wrong in its phase autoencoder" in message
    assert words in message
    assert "test_mixed_fleet_errors.py, line " in message
    assert f"`{line}`" in message


def _reading(nets: Nets, step: Step, run: Any) -> Evidence:
    return evidence(nets, step, replace(run, correlation=run.method.weight))


def _numbers(nets: Nets, step: Step, run: Any) -> Any:
    return {"kl": 3.0}


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        (_reading, "the shared part of the phase codes asks for run.method.weight; expected nothing of the method"),
        (
            _numbers,
            r"test_mixed_fleet_errors\._numbers, .* shared, returned a value of type float; expected tensors alone",
        ),
    ],
)
def test_a_shared_part_sees_no_method_and_returns_tensors(
    shared: Any, words: str, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases = Near.phases
    monkeypatch.setattr(Near, "phases", lambda self, run: (replace(phases(self, run)[0], shared=shared),))
    with pytest.raises(MethodError, match=words):
        trained([small_run(Near())], squares)
