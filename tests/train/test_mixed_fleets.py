"""Methods that differ in the loss alone train in one fleet, each to the bit as it would alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from test_train import quiet, stop_after
from torch import Tensor, nn

from hackle.core.records import record_hash
from hackle.core.types import Adam, Losses, Nets, Phase, Run, Step
from hackle.nets import MLP
from hackle.objectives import (
    DIPVAEI,
    DIPVAEII,
    HFS,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    ControlVAE,
    FactorVAE,
    InformationDropout,
    InfoVAE,
)
from hackle.objectives.vae import Autoencoder, Evidence, evidence_phase, posterior_noise
from hackle.train import TrainingError, fit
from hackle.train.curves import read_curves
from hackle.train.fleet import Fleet
from hackle.train.grouping import group, stacking_key
from hackle.train.held_out import held_out_terms
from train.test_fleet import small_run, trained

METHODS = [VAE(), BetaVAE(4.0), AnnealedVAE(5.0, 10.0, 3), DIPVAEI(), DIPVAEII(), BetaTCVAE(6.0)]
OTHERS = [AnnealedVAE(5.0, 10.0, 9), BetaTCVAE(6.0, "stratified"), InformationDropout(), InfoVAE(), HFS(pairs=2)]


class Alone(NamedTuple):
    """What a run has when it was trained by itself."""

    weights: dict[str, Tensor]
    terms: dict[str, list[float] | float]


@pytest.fixture(scope="module")
def alone(squares: Any) -> Callable[[Run], Alone]:
    """Trains a run by itself, once for all tests that compare with it."""

    @cache
    def train(run: Run) -> Alone:
        fleet = trained([run], squares)
        return Alone(fleet.weights(0), fleet.averages()[0])

    return train


def assert_same_bits(fleet: Fleet, row: int, weights: dict[str, Tensor]) -> None:
    mine = fleet.weights(row)
    assert mine.keys() == weights.keys()
    for name, value in weights.items():
        assert torch.equal(mine[name], value), (fleet.runs[row].method, name)


def mixed_runs(methods: list[Any], **changes: Any) -> list[Run]:
    """A run of each, with seeds and correlations of their own."""
    return [
        small_run(method, seed=seed, correlation=0.3 * (seed % 2), **changes) for seed, method in enumerate(methods)
    ]


def test_every_method_trains_to_the_same_bits_beside_others_and_alone(
    squares: Any, alone: Callable[[Run], Alone]
) -> None:
    runs = mixed_runs([*METHODS, *OTHERS])
    assert len(group(runs)) == 1
    # All in two orders, two by two, and two runs of a method on both sides of another's.
    sandwich = [replace(runs[1], seed=9), runs[3], runs[1]]
    for members in (runs, runs[::-1], runs[2:4], runs[4:6], sandwich):
        fleet = trained(members, squares)
        for row, run in enumerate(members):
            if run in runs:
                assert_same_bits(fleet, row, alone(run).weights)


def test_schedules_clipping_and_decay_are_each_runs_own(squares: Any, alone: Callable[[Run], Alone]) -> None:
    optimisers = [
        Adam(1e-3, warmup=3, decay="cosine", decay_to=0.1),
        Adam(2e-3, decay="cosine", clip_norm=1.0, clip_value=0.01),
        Adam(1e-3, decay="cosine", decay_steps=3, weight_decay=0.1),
    ]
    methods = [BetaVAE(2.0), AnnealedVAE(5.0, 10.0, 3), DIPVAEI()]
    warmups = [4.0, 0.0, 2.0]
    runs = [
        small_run(method, seed=seed, optimiser=optimiser, kl_warmup=warmup)
        for seed, (method, optimiser, warmup) in enumerate(zip(methods, optimisers, warmups, strict=True))
    ]
    fleet = trained(runs, squares)
    assert len(fleet.blocks) == 3
    for row, run in enumerate(runs):
        assert_same_bits(fleet, row, alone(run).weights)


def test_terms_are_those_of_each_runs_method(squares: Any, alone: Callable[[Run], Alone]) -> None:
    runs = mixed_runs(METHODS)
    fleet = trained(runs, squares)
    averages = fleet.averages()
    assert [set(row) - {"reconstruction", "kl", "kl_per_latent"} for row in averages] == [
        set(),
        set(),
        {"capacity"},
        {"off_diagonal", "diagonal"},
        {"off_diagonal", "diagonal"},
        {"total_correlation"},
    ]
    for row, run in enumerate(runs):
        assert averages[row] == alone(run).terms
        assert list(averages[row])[:3] == ["reconstruction", "kl", "kl_per_latent"]


def test_a_run_that_fails_names_its_terms_and_leaves_the_others_alone(
    squares: Any, alone: Callable[[Run], Alone]
) -> None:
    # β so large that the loss overflows at once, in the middle of the fleet.
    runs = mixed_runs([DIPVAEI(), BetaVAE(1e39), BetaTCVAE(6.0)])
    bad = replace(runs[0], method=DIPVAEI(1e39, 1.0), seed=7)
    members = [runs[0], bad, *runs[1:]]
    fleet = trained(members, squares)
    assert fleet.state["failed_at"].tolist() == [-1, 0, 0, -1]
    assert fleet.broken_terms(1) == fleet.broken_terms(2) == []
    for row, run in enumerate(members):
        assert_same_bits(fleet, row, alone(run).weights)


def _exploding(found: Evidence, step: Step, run: Any) -> Losses:
    late = torch.where(step.number >= run.method.at, torch.inf, 0.0)
    return Losses(found.reconstruction + found.kl, {**found.terms, "late": late})


@dataclass(frozen=True)
class Exploding(Autoencoder):
    """A method of one's own that shares the evidence, and fails."""

    at: float = 2.0

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_exploding, run),)


def test_the_broken_term_is_named_beside_methods_with_more_terms(squares: Any, alone: Callable[[Run], Alone]) -> None:
    runs = mixed_runs([DIPVAEII(), Exploding(2.0), VAE()])
    fleet = trained(runs, squares)
    assert fleet.state["failed_at"].tolist() == [-1, 2, -1]
    assert fleet.broken_terms(1) == ["late"]
    assert_same_bits(fleet, 1, trained(runs[1:2], squares, steps=2).weights(0))
    assert_same_bits(fleet, 2, alone(runs[2]).weights)


def test_held_out_bounds_are_those_of_the_runs_alone(squares: Any) -> None:
    runs = mixed_runs([BetaVAE(2.0), DIPVAEI(), HFS(pairs=2)], held_out=5)
    fleet = trained(runs, squares)
    found = held_out_terms(fleet)
    for row, run in enumerate(runs):
        alone = trained([run], squares)
        assert_same_bits(fleet, row, alone.weights(0))
        assert found[row] == held_out_terms(alone)[0]


def weights_and_curves(out: Path, runs: list[Run]) -> list[Any]:
    found = []
    for run in runs:
        weights = (out / record_hash(run) / "weights.safetensors").read_bytes()
        found.append((weights, {name: value.tolist() for name, value in read_curves(out / record_hash(run)).items()}))
    return found


@pytest.fixture(scope="module")
def unbroken(squares: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Run], list[Any]]:
    """Runs of nine steps, and what each has when it was trained by itself and never stopped."""
    runs, out = mixed_runs(METHODS, steps=9), tmp_path_factory.mktemp("alone")
    for run in runs:
        quiet([run], out, squares, log_every=2, resume=True)
    return runs, weights_and_curves(out, runs)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_a_mixed_fleet_resumes_however_it_is_cut(
    size: int,
    unbroken: tuple[list[Run], list[Any]],
    tmp_path: Path,
    squares: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, expected = unbroken
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(TrainingError, match="stopped at step 5"):
            quiet(runs, tmp_path / "parts", squares, log_every=2)
    assert len(list((tmp_path / "parts" / "fleets").iterdir())) == 1
    steps, original = [], Fleet.step
    monkeypatch.setattr(Fleet, "step", lambda self: (steps.append(len(self)), original(self)))
    quiet(runs, tmp_path / "parts", squares, log_every=2, resume=True, fleet_size=size)
    assert sum(steps) == 6 * 4
    assert set(steps) == {size}
    assert weights_and_curves(tmp_path / "parts", runs) == expected


def test_checkpoints_of_single_methods_go_on_as_one_fleet(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an older version, which trained each method by itself."""
    runs = mixed_runs(METHODS[2:5], steps=9)
    quiet(runs, tmp_path / "whole", squares, log_every=3)
    for run in runs:
        with monkeypatch.context() as patch:
            stop_after(patch, 5)
            with pytest.raises(TrainingError):
                quiet([run], tmp_path / "parts", squares, log_every=3)
    sizes, original = set(), Fleet.step
    monkeypatch.setattr(Fleet, "step", lambda self: (sizes.add(len(self)), original(self)))
    quiet(runs, tmp_path / "parts", squares, log_every=3, resume=True)
    assert sizes == {3}
    assert weights_and_curves(tmp_path / "parts", runs) == weights_and_curves(tmp_path / "whole", runs)


def test_a_mixed_fleet_without_memory_splits(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    runs = mixed_runs(METHODS, steps=5)
    whole, original = quiet(runs, None, squares), Fleet._take

    def take(self: Fleet, position: int, phase: Any, carry: Any) -> Any:
        if len(self) > 3 and self.step_number >= 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return original(self, position, phase, carry)

    monkeypatch.setattr(Fleet, "_take", take)
    halves = fit(runs, out=tmp_path / "out", dataset=squares, device="cpu", log_every=1, checkpoint_seconds=0.0)
    said = " ".join(capsys.readouterr().err.split())
    assert "out of memory with 6 models: going on with 3 and 3" in said
    assert "3 methods × 3" in said
    for left, right in zip(whole, halves, strict=True):
        assert all(torch.equal(value, right.weights()[name]) for name, value in left.weights().items())


@dataclass(frozen=True)
class Wide(Autoencoder):
    """Shares the evidence, and has a size of its own for its networks."""

    width: int = 8
    weight: float = 1.0

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        return super().networks(replace(run, architecture=MLP((self.width,))), shape)

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_exploding, run),)


@dataclass(frozen=True)
class Slower(Autoencoder):
    """Shares the evidence, and has an optimiser of its own."""

    own: Adam = Adam(1e-2, decay="linear")

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (replace(evidence_phase(_plain, run), optimiser=lambda run: run.method.own),)


def _plain(found: Evidence, step: Step, run: Any) -> Losses:
    return Losses(found.reconstruction + found.kl, found.terms)


def test_what_differs_in_more_than_the_loss_does_not_share() -> None:
    base = small_run(VAE())
    same = [BetaVAE(), Exploding(), InfoVAE(), HFS(), AnnealedVAE(), BetaTCVAE(estimator="stratified")]
    assert {stacking_key(replace(base, method=method)) for method in same} == {stacking_key(base)}
    others = [FactorVAE(), ControlVAE(), Wide(8), Wide(16), Slower()]
    keys = [stacking_key(replace(base, method=method)) for method in others]
    assert len({stacking_key(base), *keys}) == 6
    assert stacking_key(replace(base, method=Wide(8, 3.0))) == keys[2]
    assert stacking_key(replace(base, latents=4)) != stacking_key(base) != stacking_key(replace(base, held_out=3))


def test_optimisers_of_a_methods_own_are_each_runs(squares: Any, alone: Callable[[Run], Alone]) -> None:
    faster = Slower(Adam(5e-2))
    runs = mixed_runs([VAE(), faster])
    assert len(group(runs)) == 1
    fleet = trained(runs, squares)
    for row, run in enumerate(runs):
        assert_same_bits(fleet, row, alone(run).weights)


class Codes(NamedTuple):
    means: Tensor
    noisy: Tensor


def _codes(nets: Nets, step: Step, run: Any) -> Codes:
    means, logvars = nets("encoder", step.images)
    return Codes(means, means + step.noise["z"] * (0.5 * logvars).exp())


def _near(found: Codes, step: Step, run: Any) -> Losses:
    # Means three times, so that their gradients are added up in the loss and again where they come from.
    square, cube, size = found.means.square().mean(), found.means.pow(3).mean(), found.means.abs().mean()
    total = run.method.weight * square + 0.1 * cube + size + found.noisy.square().mean()
    return Losses(total, {"size": size, "spread": found.means.std(0)})


def _far(found: Codes, step: Step, run: Any) -> Losses:
    shaken = found.means + 0.1 * step.noise["shake"]
    return Losses((shaken - 1).square().mean(), {"spread": shaken.std(), "shaken": shaken.mean(0)})


@dataclass(frozen=True)
class Near(Autoencoder):
    weight: float = 1.0

    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = posterior_noise(run)
        return (Phase("codes", ("encoder",), _near, draws, lambda run: run.optimiser, shared=_codes),)


@dataclass(frozen=True)
class Far(Autoencoder):
    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = posterior_noise(run)
        own = {"shake": draws["z"]}
        return (Phase("codes", ("encoder",), _far, draws, lambda run: run.optimiser, shared=_codes, loss_draws=own),)


def test_a_shared_part_of_ones_own_with_terms_of_other_shapes(
    tmp_path: Path, squares: Any, alone: Callable[[Run], Alone]
) -> None:
    runs = mixed_runs([Near(2.0), Far(), Near(3.0)])
    assert group(runs) == [[runs[0], runs[2], runs[1]]]
    fleet = trained(runs, squares)
    assert len(fleet.blocks) == 3
    for row, run in enumerate(runs):
        assert_same_bits(fleet, row, alone(run).weights)
    quiet(runs, tmp_path, squares, log_every=2)
    near, far = (read_curves(tmp_path / record_hash(run)) for run in runs[:2])
    assert list(near) == ["step", "size", "spread_0", "spread_1", "spread_2"]
    assert list(far) == ["step", "shaken_0", "shaken_1", "shaken_2", "spread"]
    assert all(np.isfinite(values).all() for values in (*near.values(), *far.values()))


def test_running_sums_are_the_means_of_all_steps(squares: Any) -> None:
    runs = mixed_runs([DIPVAEI(), VAE()])
    whole, stepwise = trained(runs, squares, steps=4), trained(runs, squares, steps=0)
    kls = []
    for _ in range(4):
        stepwise.step()
        kls.append([row["kl"] for row in stepwise.averages()])
    for row, found in enumerate(whole.averages()):
        assert math.isclose(found["kl"], sum(each[row] for each in kls) / 4, rel_tol=1e-6)  # type: ignore[arg-type]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_on_cuda_a_run_has_the_bits_of_a_stack_of_its_own_method(precision: str, squares: Any) -> None:
    """Of the same size, so that matrix products sum alike; through graph replays."""

    def on_cuda(runs: list[Run]) -> Fleet:
        fleet = Fleet(runs, squares.images_on("cuda"), squares.factors, squares.shape, "cuda")
        for _ in range(8):
            fleet.step()
        assert fleet._graph is not None
        return fleet

    runs = mixed_runs([*METHODS, *OTHERS], precision=precision)
    mixed = on_cuda(runs)
    assert mixed.state["failed_at"].tolist() == [-1] * len(runs)
    for row, run in enumerate(runs):
        own = on_cuda([replace(run, seed=other.seed, correlation=other.correlation) for other in runs])
        left, right = mixed.weights(row), own.weights(row)
        assert all(torch.equal(left[name], right[name]) for name in left), run.method


@pytest.mark.gpu
def test_on_cuda_convolutional_networks_have_the_bits_of_fleets_of_one_method() -> None:
    """Eight models, of five methods or of one, in bfloat16 and as a graph."""
    from hackle.datasets import load
    from hackle.nets import Convolutional

    data, network = load("dsprites"), Convolutional()
    methods = [BetaVAE(4.0), AnnealedVAE(5.0, 10.0, 3), DIPVAEI(), DIPVAEII(), BetaTCVAE(6.0)]

    def fleet(members: list[Run]) -> Fleet:
        found = Fleet(members, data.images_on("cuda"), data.factors, data.shape, "cuda")
        for _ in range(8):
            found.step()
        return found

    runs = [Run(methods[seed % 5], network, seed=seed, precision="bfloat16") for seed in range(8)]
    together = fleet(runs)
    for row, run in enumerate(runs[:5]):
        of_one = fleet([replace(run, seed=seed) for seed in range(8)])
        for name, value in of_one.weights(row).items():
            assert torch.equal(together.weights(row)[name], value), (run.method, name)
