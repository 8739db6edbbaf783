"""A run's result depends on its record alone: not on its neighbours, their number or order, or their failures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import nn

from hackle.core.method import about
from hackle.core.regimes import Labels
from hackle.core.types import Adam, Losses, Nets, Phase, Run, RunError, Step
from hackle.nets import Convolutional
from hackle.objectives import DIPVAEI, DIPVAEII, VAE, BetaTCVAE, BetaVAE, ControlVAE, FactorVAE
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.train.fleet import Fleet
from hackle.train.grouping import group, kinds
from hackle.train.layout import Layout

SMALL = Convolutional(hidden=16, channels=(8, 8))


def small_run(method: Any, seed: int = 0, **changes: Any) -> Run:
    sizes = {"steps": 5, "batch_size": 7, "latents": 3}
    few: dict[str, Any] = {"labels": Labels(10)} if about(method).supervision == "labels" else {}
    run = Run(method, SMALL, dataset="squares", seed=seed, **{**about(method).run_fields, **sizes, **few})
    return replace(run, **{"optimiser": Adam(learning_rate=1e-3), **changes})


def trained(runs: list[Run], squares: Any, steps: int = 5) -> Fleet:
    fleet = Fleet(runs, squares.images_on("cpu"), squares.factors, squares.shape)
    for _ in range(steps):
        fleet.step()
    return fleet


def on_cuda(runs: list[Run], squares: Any, steps: int) -> Fleet:
    """The same as a captured graph."""
    fleet = Fleet(runs, squares.images_on("cuda"), squares.factors, squares.shape, "cuda")
    for _ in range(steps):
        fleet.step()
    assert fleet._graph is not None
    return fleet


def assert_same_weights(first: Fleet, row: int, second: Fleet, other: int) -> None:
    left, right = first.weights(row), second.weights(other)
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name


@pytest.mark.parametrize("method", [VAE(), BetaVAE(beta=4.0), FactorVAE(gamma=5.0, discriminator_width=16)])
def test_a_run_in_a_fleet_equals_the_run_alone_in_any_order(method: Any, squares: Any) -> None:
    runs = [small_run(method, seed=seed, correlation=0.3 * (seed % 2)) for seed in range(3)]
    together, turned = trained(runs, squares), trained(runs[::-1], squares)
    for row, run in enumerate(runs):
        alone = trained([run], squares)
        assert_same_weights(alone, 0, together, row)
        assert_same_weights(alone, 0, turned, 2 - row)


def test_hyperparameters_are_each_runs_own(squares: Any) -> None:
    runs = [small_run(BetaVAE(beta=beta)) for beta in (0.0, 1.0, 50.0)]
    fleet = trained(runs, squares, steps=60)
    free, plain, pressed = (float(str(row["kl"])) for row in fleet.averages())
    assert free > plain > pressed


def test_learning_rates_are_each_runs_own(squares: Any) -> None:
    still, moving = small_run(VAE(), optimiser=Adam(learning_rate=0.0)), small_run(VAE())
    fleet = trained([still, moving], squares)
    before = trained([still], squares, steps=0).weights(0)
    assert all(torch.equal(before[name], value) for name, value in fleet.weights(0).items())
    assert any(not torch.equal(before[name], value) for name, value in fleet.weights(1).items())


def test_seeds_give_different_weights_and_batches(squares: Any) -> None:
    fleet = trained([small_run(VAE(), seed=0), small_run(VAE(), seed=1)], squares)
    assert any(not torch.equal(fleet.weights(0)[name], value) for name, value in fleet.weights(1).items())


def test_rounded_parameters_follow_their_master_weights(squares: Any) -> None:
    """Those that Adam updates, and those that a method keeps from step to step."""
    runs = [small_run(ControlVAE(), precision="bfloat16", seed=seed) for seed in range(2)]
    fleet, before = trained(runs, squares, steps=3), trained(runs, squares, steps=0)
    for network, rounded in fleet._rounded.items():
        weights = fleet.state[f"weights/{network}"]
        assert not torch.equal(weights, before.state[f"weights/{network}"])
        assert torch.equal(rounded, weights.to(torch.bfloat16)), network
    assert fleet._rounded.keys() == {"encoder", "decoder", "controller"}
    layout, weights = fleet.layouts["encoder"], fleet.state["weights/encoder"]
    given, masters = layout.unflatten(weights, fleet._rounded["encoder"]), layout.unflatten(weights)
    assert layout.rounded
    assert layout.copied
    assert layout.rounded | layout.copied < set(layout.names)
    for name in layout.names:
        assert torch.equal(given[name], masters[name].to(torch.bfloat16) if name in layout.rounded else masters[name])
    copies = {name: given[f"{name.removesuffix('weight')}rounded"] for name in layout.copied}
    assert all(torch.equal(copy, masters[name].to(torch.bfloat16)) for name, copy in copies.items())


def _explode(nets: Nets, step: Step, run: Any) -> Losses:
    """A plain VAE until the given step, when its KL term becomes infinite."""
    found = evidence(nets, step, run)
    kl = found.kl + torch.where(step.number >= run.method.at, torch.inf, 0.0)
    return Losses(found.reconstruction + kl, {"reconstruction": found.reconstruction, "kl": kl})


@dataclass(frozen=True)
class Exploding(Autoencoder):
    at: float

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_explode, run),)


def test_a_failing_run_is_frozen_and_its_neighbours_never_notice(squares: Any) -> None:
    runs = [small_run(Exploding(at), seed=seed) for seed, at in enumerate((1e9, 3.0, 1e9))]
    fleet = trained(runs, squares, steps=6)
    assert fleet.state["failed_at"].tolist() == [-1, 3, -1]
    assert fleet.broken_terms(1) == ["kl"]
    assert fleet.broken_terms(0) == []
    frozen = trained([runs[1]], squares, steps=3)
    assert_same_weights(fleet, 1, frozen, 0)
    for row in (0, 2):
        assert_same_weights(fleet, row, trained([runs[row]], squares, steps=6), 0)


def test_runs_group_by_what_cannot_stack() -> None:
    runs = [
        small_run(BetaVAE(1.0)),
        small_run(VAE()),
        small_run(BetaVAE(8.0), seed=3),
        small_run(BetaVAE(1.0), latents=4),
        small_run(VAE(), optimiser=Adam(learning_rate=1.0)),
        small_run(FactorVAE()),
    ]
    # Methods that differ in the loss alone share a group, in which those of one method are neighbours.
    assert group(runs) == [[runs[0], runs[2], runs[1], runs[4]], [runs[3]], [runs[5]]]
    assert kinds(runs) == [[runs[0], runs[2]], [runs[1], runs[4]], [runs[3]], [runs[5]]]


def test_runs_that_do_not_stack_are_refused(squares: Any) -> None:
    with pytest.raises(ValueError, match="do not stack"):
        trained([small_run(VAE()), small_run(VAE(), latents=4)], squares)


def test_networks_with_running_averages_are_refused() -> None:
    with pytest.raises(RunError, match=r"holds buffers \(running_mean, .*running averages"):
        Layout.of(nn.BatchNorm1d(3))


def test_rows_hold_every_parameter_once() -> None:
    network = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))
    layout = Layout.of(network)
    row = torch.zeros(layout.width)
    layout.write(network, row)
    assert row.shape == (16 + 16 + 16 + 16,)
    assert row.count_nonzero() == 3 * 5 + 5 + 5 * 2 + 2
    for name, value in layout.unflatten(row).items():
        assert torch.equal(value, dict(network.named_parameters())[name])


@pytest.mark.gpu
@pytest.mark.parametrize(
    "method", [VAE(), FactorVAE(gamma=5.0, discriminator_width=16), BetaTCVAE(), DIPVAEI(), DIPVAEII()]
)
def test_cuda_follows_the_cpu_through_graph_replays(method: Any, squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    runs = [small_run(method, seed=seed) for seed in range(2)]
    # Some steps later one rounding flips a ReLU and the two part; until then they agree to a few millionths.
    here = trained(runs, squares, steps=6)
    there = Fleet(runs, squares.images_on("cuda"), squares.factors, squares.shape, "cuda")
    for _ in range(6):
        there.step()
    assert there._graph is not None
    assert there.step_number == 6
    for row in range(2):
        for name, value in here.weights(row).items():
            torch.testing.assert_close(there.weights(row)[name], value, rtol=1e-4, atol=1e-5, msg=name)
    # The running sums go on through replays, too.
    assert there.averages()[0]["kl"] == pytest.approx(here.averages()[0]["kl"], rel=1e-4)
