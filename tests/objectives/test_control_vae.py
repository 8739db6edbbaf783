"""ControlVAE: β by hand, in the loss, and over the steps of a fleet, alone, stacked and resumed."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from single import SMALL, Single, small_run
from torch import Tensor, nn

from hackle.core.types import Adam, Losses, Nets, Phase, Run, RunError, Step
from hackle.objectives import BetaVAE
from hackle.objectives.control_vae import ControlVAE, control
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.train import MethodError, Stopped, fit
from hackle.train.fleet import Fleet


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def tensors(method: ControlVAE) -> Any:
    """The method with numbers as tensors, as a loss sees it."""
    names = ("proportional", "integral", "beta_min", "beta_max")
    return type("Method", (), {name: number(getattr(method, name)) for name in names})


def betas(method: ControlVAE, errors: list[float]) -> list[tuple[float, float]]:
    """β and I after each error."""
    integral, unclipped, found = number(0.0), number(method.beta_min), []
    for error in errors:
        now = control(tensors(method), number(error), integral, unclipped)
        integral, unclipped = now.integral, now.unclipped
        found.append((now.beta.item(), integral.item()))
    return found


def by_hand(method: Any, errors: list[float]) -> list[tuple[float, float]]:
    """The rule in plain Python."""
    integral, last, found = 0.0, method.beta_min, []
    for error in errors:
        if method.beta_min <= last <= (method.beta_max or math.inf):
            integral -= method.integral * error
        last = method.proportional / (1 + math.exp(error)) + integral + method.beta_min
        found.append((min(max(last, method.beta_min), method.beta_max or math.inf), integral))
    return found


def test_the_first_beta() -> None:
    method = ControlVAE()
    assert betas(method, [0.0])[0][0] == pytest.approx(1.005)
    assert betas(method, [-10.0])[0][0] == pytest.approx(1.02, abs=1e-6)
    (first, integral), (second, held) = betas(method, [10.0, 10.0])
    assert (first, second) == (1.0, 1.0)
    assert integral == held == pytest.approx(-0.01)


@pytest.mark.parametrize(
    "method", [ControlVAE(), ControlVAE(proportional=0.1, integral=0.05, beta_min=0.0, beta_max=1.0)]
)
def test_the_rule_by_hand(method: ControlVAE) -> None:
    errors = [0.5, 0.4, 0.1, -0.3, -2.0, -8.0, -15.0, -30.0, 3.0, 9.0, 40.0, 9.0, 2.0, -1.0, -20.0, -0.5]
    found, expected = betas(method, errors), by_hand(method, errors)
    assert found == [pytest.approx(pair) for pair in expected]
    assert min(beta for beta, _ in found) == method.beta_min
    assert method.beta_max in (0.0, max(beta for beta, _ in found))
    # It stood still at least once at a limit.
    assert any(before == after for (_, before), (_, after) in pairwise(found))


@pytest.mark.parametrize(("step", "capacity"), [(0, 0.5), (9, 0.5), (10, 0.65), (25, 0.8), (1000, 0.9)])
def test_the_loss_and_its_target(step: int, capacity: float) -> None:
    model = Single(small_run(ControlVAE(c_max=0.9, c_every=10, integral=0.5)))
    found = model.loss(number=step)
    error = capacity - found.terms["kl"].item()
    ((beta, integral),) = by_hand(model.run.method, [error])
    assert found.terms["capacity"].item() == pytest.approx(capacity)
    assert found.terms["beta"].item() == pytest.approx(beta)
    assert found.kept["controller.integral"].item() == pytest.approx(integral)
    assert not found.terms["beta"].requires_grad
    torch.testing.assert_close(found.total, found.terms["reconstruction"] + beta * found.terms["kl"])


def test_without_gains_it_is_beta_vae_to_the_bit() -> None:
    still = ControlVAE(proportional=0.0, integral=0.0, beta_min=4.0)
    found, expected = (Single(small_run(each), torch.float32).gradients() for each in (still, BetaVAE(4.0)))
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def runs(squares: Any) -> list[Run]:
    method = ControlVAE(c_max=0.1, c_start=0.02, c_step=0.01, c_every=2, proportional=0.5, integral=0.2)
    base = Run(method, SMALL, "squares", steps=12, batch_size=9, latents=3, optimiser=Adam(3e-3))
    return [
        base,
        replace(base, seed=1, method=replace(method, integral=0.5, beta_min=0.2)),
        replace(base, seed=2, method=replace(method, beta_max=1.2495)),
    ]


def steps_of(fleet: Fleet, count: int) -> list[list[dict[str, Any]]]:
    """The terms of every run at each step."""
    found = []
    for _ in range(count):
        fleet.step()
        found.append(fleet.averages())
    return found


def test_beta_follows_the_kl_of_each_run_of_a_fleet(squares: Any) -> None:
    """The fleet's β, step by step, is what the rule in plain Python makes of the KL that it logs."""
    several = runs(squares)
    fleet = Fleet(several, squares.images_on("cpu"), squares.factors, squares.shape)
    history = steps_of(fleet, 12)
    for row, run in enumerate(several):
        terms = [step[row] for step in history]
        expected = by_hand(run.method, [term["capacity"] - term["kl"] for term in terms])
        assert [term["beta"] for term in terms] == pytest.approx([beta for beta, _ in expected], rel=1e-5)
        assert fleet.weights(row)["controller.integral"].item() == pytest.approx(expected[-1][1], rel=1e-4)
        assert len({round(term["beta"], 6) for term in terms}) > 3
        alone = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
        assert [step[0]["beta"] for step in steps_of(alone, 12)] == pytest.approx([t["beta"] for t in terms], rel=1e-5)


def test_a_failed_run_keeps_its_last_state_and_others_go_on(squares: Any) -> None:
    several = runs(squares)[:2]
    fleet = Fleet(several, squares.images_on("cpu"), squares.factors, squares.shape)
    steps_of(fleet, 2)
    before = [fleet.weights(row)["controller.integral"] for row in range(2)]
    fleet.state["weights/encoder"][0] = torch.nan
    steps_of(fleet, 2)
    after = [fleet.weights(row)["controller.integral"] for row in range(2)]
    assert torch.equal(before[0], after[0])
    assert not torch.equal(before[1], after[1])


def test_resumed_it_ends_with_the_same_bits(tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, step = runs(squares)[1], Fleet.step
    whole = fit(run, out=tmp_path / "whole", dataset=squares, progress=False)

    def stopping(fleet: Fleet) -> None:
        step(fleet)
        if fleet.step_number == 7:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(Fleet, "step", stopping)
        with pytest.raises(Stopped):
            fit(run, out=tmp_path / "parts", dataset=squares, progress=False)
    parts = fit(run, out=tmp_path / "parts", dataset=squares, progress=False, resume=True)
    assert whole.weights()["controller.integral"].item() != 0
    for name, value in whole.weights().items():
        assert torch.equal(parts.weights()[name], value), name


def test_limits_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(RunError, match=r"beta_max of ControlVAE is 0\.5, below beta_min, 1\.0"):
        ControlVAE(beta_max=0.5)
    with pytest.raises(RunError, match="c_every of ControlVAE is 0"):
        ControlVAE(c_every=0)
    assert ControlVAE().at_steps(30_000, 300_000).c_every == 500


@dataclass(frozen=True)
class Forgetful(Autoencoder):
    """Keeps a value under a name of its choice."""

    path: str = "memory.value"
    size: int = 1

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        return super().networks(run, shape) | {"memory": nn.Linear(1, 1, bias=False)}

    def phases(self, run: Run) -> tuple[Phase, ...]:
        def loss(nets: Nets, step: Step, run: Any) -> Losses:
            found = evidence(nets, step, run)
            kept = {self.path: step.number.to(torch.float32).repeat(self.size)}
            return Losses(found.reconstruction, found.terms, kept=kept)

        return (autoencoder_phase(loss, run),)


def test_a_method_of_ones_own_keeps_what_it_names(squares: Any) -> None:
    def trained(method: Forgetful) -> Fleet:
        fleet = Fleet([small_run(method)], squares.images_on("cpu"), squares.factors, squares.shape)
        steps_of(fleet, 3)
        return fleet

    assert trained(Forgetful("memory.weight")).weights(0)["memory.weight"].tolist() == [[2.0]]
    for method in (
        Forgetful("memory.value"),
        Forgetful("nothing"),
        Forgetful("encoder.0.weight"),
        Forgetful("memory.weight", 2),
    ):
        with pytest.raises(
            MethodError, match=f"the loss of Forgetful in its phase autoencoder returned in kept '{method.path}'"
        ):
            trained(method)
