"""Held-out images: training never sees them, and the bound on them joins the curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_train import assert_equal_weights, curves, quiet, stop_after
from torch import Tensor, nn

from hackle.core.gaussian import correlation_divergence, kl_per_latent, reparameterise
from hackle.core.randomness import Stream
from hackle.core.records import record_hash, to_json
from hackle.core.types import Run, RunError
from hackle.explorer.catalogue import Catalogue
from hackle.nets import MLP, Own
from hackle.nets.normalisation import BatchNorm
from hackle.objectives import VAE, BetaVAE, FactorVAE
from hackle.report.run_page import curves_figure
from hackle.train import Stopped, TrainingError, fit, loop
from hackle.train.curves import read_curves
from hackle.train.fleet import Fleet
from hackle.train.held_out import Remaining, held_out_images, held_out_terms
from hackle.train.model import Model
from objectives.test_every_method import GANS, METHODS
from train.test_fleet import SMALL, assert_same_weights, small_run, trained

SIZE, HELD = 32, 9
TERMS = ("held_out_elbo", "held_out_reconstruction", "held_out_kl")


class Watched:
    """Squares that note which flat indices were asked for."""

    name = "squares"

    def __init__(self, squares: Any) -> None:
        self.shape, self.factors, self.render = squares.shape, squares.factors, squares.render
        self._squares, self.asked = squares, set[int]()

    def images_on(self, device: Any) -> Any:
        images = self._squares.images_on(device)

        def watched(index: Tensor, stream: Stream) -> Tensor:
            self.asked |= set(index.flatten().tolist())
            return images(index, stream)

        return watched


def holding(seed: int = 0, method: Any = None, **changes: Any) -> Run:
    usual = {"held_out": HELD, "steps": 40, "architecture": MLP((8,))}
    return small_run(method or BetaVAE(4.0), seed=seed, **{**usual, **changes})


def test_a_seed_parts_the_images_in_two() -> None:
    held = torch.stack([held_out_images(seed, SIZE, HELD) for seed in range(3)])
    left = Remaining(lambda index, stream: index, held).flat(torch.arange(SIZE - HELD).repeat(3, 1))
    for row in range(3):
        assert len(set(held[row].tolist())) == HELD
        assert left[row].tolist() == sorted(set(range(SIZE)) - set(held[row].tolist()))
    assert len({tuple(row.tolist()) for row in held}) == 3
    # More of them are the same ones and others.
    assert held_out_images(1, SIZE, 20)[:HELD].tolist() == held[1].tolist()


def test_training_sees_all_other_images_and_none_of_them(squares: Any) -> None:
    data = Watched(squares)
    runs = [holding(5), holding(5, BetaVAE(1.0))]
    fleet = Fleet(runs, data.images_on("cpu"), SIZE, squares.shape)
    for _ in range(40):
        fleet.step()
    held = set(held_out_images(5, SIZE, HELD).tolist())
    assert data.asked == set(range(SIZE)) - held
    data.asked.clear()
    held_out_terms(fleet)
    assert data.asked == held
    assert fleet.data_size == SIZE - HELD


def normalised(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 8), BatchNorm(8), nn.Linear(8, 2 * latents))


def plain(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Linear(latents, 256), nn.Unflatten(1, (1, 16, 16)))


def test_what_is_fixed_after_training_is_fixed_without_them(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch normalisation is calibrated on 1,024 draws, which meet each of the images that are left."""
    monkeypatch.setattr(loop, "held_out_terms", lambda fleet: [{}])
    data = Watched(squares)
    quiet(holding(5, VAE(), architecture=Own(normalised, plain), steps=1), None, data)
    assert data.asked == set(range(SIZE)) - set(held_out_images(5, SIZE, HELD).tolist())


@pytest.mark.parametrize("correlation", [0.0, 0.4])
@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_bound_is_that_of_the_plain_vae(correlation: float, likelihood: Any, tmp_path: Path, squares: Any) -> None:
    run = holding(3, correlation=correlation, likelihood=likelihood)
    quiet(run, tmp_path, squares, log_every=40)
    model = Model.load(tmp_path)
    pixels = torch.from_numpy(squares.render(squares.factors.rows(held_out_images(3, SIZE, HELD).numpy())) / 255.0)
    networks = {name: network.double() for name, network in model.networks.items()}
    with torch.no_grad():
        means, logvars = networks["encoder"](pixels)
        # Batches of seven, so two.
        noise = [Stream.of([3], part, "held-out").normal("z", (size, 3))[0] for part, size in enumerate((7, 2))]
        z = reparameterise(means, logvars, torch.cat(noise).double(), correlation)
        output = networks["decoder"](z)
    if likelihood == "bernoulli":
        errors = nn.functional.binary_cross_entropy_with_logits(output, pixels, reduction="none")
    else:
        errors = 0.5 * (output - pixels).square() + 0.5 * np.log(2 * np.pi)
    error = float(errors.flatten(1).sum(1).mean())
    kl = float(kl_per_latent(means, logvars).sum(1).mean() + correlation_divergence(correlation, 3))
    found = {name: float(values[-1]) for name, values in read_curves(tmp_path).items()}
    assert [found[name] for name in TERMS] == pytest.approx([-(error + kl), error, kl], rel=1e-5, abs=1e-6)


def test_it_joins_the_curves_as_often_as_asked_and_changes_no_weight(tmp_path: Path, squares: Any) -> None:
    run = holding(steps=25)
    quiet(run, tmp_path / "often", squares, log_every=5, held_out_every=10)
    quiet(run, tmp_path / "once", squares, log_every=5)
    assert_equal_weights(tmp_path / "often", tmp_path / "once")
    steps = {
        name: [row["step"] for row in curves(tmp_path / name) if row["held_out_elbo"]] for name in ("often", "once")
    }
    assert steps == {"often": ["10", "20", "25"], "once": ["25"]}
    events = EventAccumulator(str(tmp_path / "often")).Reload()
    assert set(TERMS) <= set(events.Tags()["scalars"])
    listed = Catalogue(tmp_path / "often")
    assert set(TERMS) <= set(listed.curves(listed.contents.runs["id"][0]))
    figure = curves_figure(tmp_path / "often")
    assert figure is not None
    assert {name.replace("_", " ") for name in TERMS} <= {panel.get_title() for panel in figure.axes}


def test_a_run_that_is_resumed_ends_with_the_same_bits_and_bounds(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet(holding(), tmp_path / "whole", squares, log_every=10, held_out_every=10)
    with monkeypatch.context() as patched:
        stop_after(patched, 17)
        with pytest.raises(Stopped):
            quiet(holding(), tmp_path / "parts", squares, log_every=10, held_out_every=10)
    quiet(holding(), tmp_path / "parts", squares, log_every=10, held_out_every=10, resume=True)
    assert_equal_weights(tmp_path / "whole", tmp_path / "parts")
    assert [row["held_out_elbo"] for row in curves(tmp_path / "whole")] == [
        row["held_out_elbo"] for row in curves(tmp_path / "parts")
    ]


def test_runs_in_a_stack_hold_out_their_own(squares: Any) -> None:
    runs = [holding(seed, FactorVAE(gamma=5.0, discriminator_width=16)) for seed in range(3)]
    together = trained(runs, squares)
    bounds = held_out_terms(together)
    for row, run in enumerate(runs):
        alone = trained([run], squares)
        assert_same_weights(alone, 0, together, row)
        assert held_out_terms(alone)[0] == pytest.approx(bounds[row], rel=1e-5)
    assert len({round(bound["held_out_elbo"], 3) for bound in bounds}) == 3


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_with_a_likelihood_has_a_bound_and_gans_refuse(name: str, squares: Any) -> None:
    if name in GANS:
        with pytest.raises(
            RunError, match="images have no likelihood, so that those kept from training would have no ELBO"
        ):
            holding(method=METHODS[name])
        return
    (bound,) = held_out_terms(trained([holding(method=METHODS[name])], squares, steps=1))
    assert bound["held_out_elbo"] == pytest.approx(-bound["held_out_reconstruction"] - bound["held_out_kl"])
    assert all(np.isfinite(value) for value in bound.values())


def test_more_than_a_data_set_has_are_refused_before_a_folder_is_claimed(tmp_path: Path, squares: Any) -> None:
    with pytest.raises(RunError, match="held_out is 32, but the data set has 32 images; expected fewer"):
        quiet(holding(held_out=32), tmp_path / "run", squares)
    assert not (tmp_path / "run").exists()
    with pytest.raises(TrainingError, match="held_out_every is 0"):
        fit(holding(), dataset=squares, held_out_every=0)


def test_runs_that_hold_out_nothing_are_what_they_were(squares: Any) -> None:
    run = holding(held_out=0)
    assert "held_out" not in to_json(run)
    assert record_hash(run) != record_hash(holding())
    fleet = trained([run], squares, steps=1)
    assert held_out_terms(fleet) == [{}]
    assert not isinstance(fleet.images, Remaining)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_cuda_holds_out_the_same_images_through_graph_replays(
    precision: Any, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    runs = [holding(seed, precision=precision, architecture=SMALL) for seed in range(3)]
    here = trained(runs, squares, steps=6)
    there = Fleet(runs, squares.images_on("cuda"), SIZE, squares.shape, "cuda")
    for _ in range(6):
        there.step()
    assert there._graph is not None
    assert isinstance(there.images, Remaining)
    assert isinstance(here.images, Remaining)
    assert torch.equal(there.images.held.cpu(), here.images.held)
    exact = precision == "float32"
    for row in range(3):
        near = 1e-3 if exact else 0.05
        assert held_out_terms(there)[row] == pytest.approx(held_out_terms(here)[row], rel=near, abs=near)
        for name, value in here.weights(row).items() if exact else ():
            torch.testing.assert_close(there.weights(row)[name], value, rtol=1e-3, atol=1e-4, msg=name)
    # Looking at them between replays changes nothing.
    quiet_fleet = Fleet(runs, squares.images_on("cuda"), SIZE, squares.shape, "cuda")
    for _ in range(12):
        quiet_fleet.step()
    for _ in range(6):
        there.step()
        held_out_terms(there)
    for name in ("weights/encoder", "weights/decoder"):
        assert torch.equal(there.state[name], quiet_fleet.state[name])
