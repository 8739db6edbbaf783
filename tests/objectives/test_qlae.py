"""QLAE: quantisation, its gradients, the loss against NumPy, its limits, codes as class numbers, and whole AdamW steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from single import SHAPE, Single, small_run
from torch import Tensor, nn

from hackle.core.gaussian import NOISELESS
from hackle.core.randomness import Stream
from hackle.core.types import Adam, Run, RunError
from hackle.nets import Convolutional
from hackle.objectives import QLAE, VAE
from hackle.objectives.qlae import Codebooks, at, nearest
from hackle.objectives.quantised import straight_through
from hackle.studies.presets import default_run
from hackle.train.fleet import Fleet, build_networks
from hackle.train.layout import Layout
from hackle.train.model import Model

PIXELS = math.prod(SHAPE)


def single(**fields: Any) -> Single:
    """A model whose codebooks are no longer what they were at first."""
    model = Single(small_run(QLAE(**{"quantisation": 0.3, "commitment": 0.2, "levels": 5, **fields})))
    with torch.no_grad():
        values = model.networks["codebooks"].get_parameter("values")
        values += 0.1 * torch.randn(values.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return model


def closest(latents: Any, values: Any) -> Any:
    """The nearest value of each latent's codebook, one latent at a time."""
    columns = [values[j][np.abs(latents[:, j, None] - values[j][None]).argmin(axis=1)] for j in range(latents.shape[1])]
    return np.stack(columns, axis=1)


def test_codebooks_start_equally_spaced_from_minus_a_half_to_a_half() -> None:
    values = Codebooks(3, 10)()
    assert values.shape == (3, 10)
    torch.testing.assert_close(values.diff(dim=1), torch.full((3, 9), 1 / 9))
    assert values[1, 0] == -0.5
    assert values[1, -1] == 0.5


def test_latents_outside_go_to_the_end_values_and_quantising_twice_changes_nothing() -> None:
    values = Codebooks(4, 10)().detach().double()
    latents = torch.randn(50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = at(values, nearest(latents, values))
    assert torch.equal(found, torch.from_numpy(closest(latents.numpy(), values.numpy())))
    assert (found[latents > 0.5] == 0.5).all()
    assert (found[latents < -0.5] == -0.5).all()
    assert torch.equal(at(values, nearest(found, values)), found)


def test_gradients_pass_straight_through() -> None:
    values = Codebooks(4, 10)().detach()
    latents = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))

    def quantised(one: Tensor) -> Tensor:
        return straight_through(one, at(values, nearest(one, values)))

    assert torch.equal(quantised(latents), at(values, nearest(latents, values)))
    jacobian = torch.autograd.functional.jacobian(quantised, latents)
    assert torch.equal(jacobian.reshape(24, 24), torch.eye(24))


def test_the_loss_is_that_of_the_paper_times_the_number_of_pixels() -> None:
    model = single()
    latents = model.nets("encoder", model.images)[0].detach().numpy()
    chosen = closest(latents, model.nets("codebooks").detach().numpy())
    logits = model.nets("decoder", torch.from_numpy(chosen)).detach().numpy()
    images = model.images.numpy()
    error = np.maximum(logits, 0) - logits * images + np.log1p(np.exp(-np.abs(logits)))
    distance = np.mean((latents - chosen) ** 2)
    found = model.loss()
    expected = PIXELS * (error.mean() + 0.3 * distance + 0.2 * distance)
    assert found.total.item() == pytest.approx(expected, rel=1e-12)
    assert found.terms["reconstruction"].item() == pytest.approx(PIXELS * error.mean(), rel=1e-12)
    assert found.terms["quantisation_error"].item() == pytest.approx(distance, rel=1e-12)


def test_the_papers_weights_in_nats_for_each_latent() -> None:
    """0.01 of a mean over the pixels of a 64×64 colour image and over 12 latents is 10.24 of a sum over the latents."""
    method = QLAE()
    assert (method.quantisation, method.commitment, method.levels) == (0.01, 0.01, 10)
    assert method.quantisation * 64 * 64 * 3 / 12 == pytest.approx(10.24)
    run = default_run("qlae", "dsprites")
    assert (run.optimiser.learning_rate, run.optimiser.weight_decay, run.batch_size) == (1e-3, 0.1, 128)


def test_codebooks_learn_at_the_chosen_entries_alone_and_only_by_their_own_weight() -> None:
    model = single()
    latents = model.nets("encoder", model.images)[0].detach()
    values = model.nets("codebooks").detach()
    classes = nearest(latents, values)
    expected = torch.zeros_like(values)
    for row in range(len(latents)):
        for latent in range(3):
            entry = classes[row, latent]
            expected[latent, entry] += (
                2 * 0.3 * PIXELS * (values[latent, entry] - latents[row, latent]) / classes.numel()
            )
    found = model.gradients()["codebooks.values"]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    chosen = torch.zeros_like(values, dtype=torch.bool).scatter(1, classes.T, True)
    assert (found[~chosen] == 0).all()
    assert (~chosen).any()
    assert (single(quantisation=0.0).gradients()["codebooks.values"] == 0).all()


def test_one_level_makes_latents_constant() -> None:
    model = Single(small_run(QLAE(levels=1)))
    with torch.no_grad():
        means, _ = model.run.method.encode(model.nets, model.run, model.images)
        decoded = model.run.method.decode(model.nets, model.run, means)
    assert (means == 0).all()
    torch.testing.assert_close(decoded, decoded[:1].expand_as(decoded), rtol=0, atol=0)


def test_very_fine_levels_make_it_the_plain_autoencoder() -> None:
    model = Single(small_run(QLAE(0.0, 0.0, levels=1_000_001)))
    latents = model.nets("encoder", model.images)[0]
    assert latents.abs().max() < 0.5
    output = model.nets("decoder", latents)
    plain = F.binary_cross_entropy_with_logits(output, model.images, reduction="none").flatten(1).sum(1).mean()
    torch.testing.assert_close(model.loss().total, plain, rtol=1e-6, atol=0)
    names = [value for name in ("encoder", "decoder") for value in model.networks[name].parameters()]
    wanted = torch.autograd.grad(plain, names)
    for found, gradient in zip(list(model.gradients().values())[:-1], wanted, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-5)


def test_codes_are_class_numbers_in_the_order_of_their_values() -> None:
    run = small_run(QLAE(levels=4))
    model = Model(run, SHAPE)
    values = torch.tensor([[0.3, -0.2, 0.1, 0.0], [0.0, 0.1, 0.2, 0.3], [9.0, 8.0, -7.0, 0.05]])
    model.networks["codebooks"].get_parameter("values").copy_(values)
    images = np.random.default_rng(0).random((40, *SHAPE), dtype=np.float32)
    codes, logvars = model.encode(images)
    assert (logvars == NOISELESS).all()
    assert run.method.discrete(run) == (True, True, True)
    assert {code.classes for code in model.codes} == {4}
    latents = model.networks["encoder"](torch.from_numpy(images))[0].numpy()
    ordered = np.sort(values.numpy(), axis=1)
    found = np.stack([ordered[j][codes[:, j].astype(int)] for j in range(3)], axis=1)
    np.testing.assert_array_equal(found, closest(latents, values.numpy()))
    logits = model.networks["decoder"](torch.from_numpy(found))
    np.testing.assert_allclose(model.decode(codes), torch.sigmoid(logits).numpy(), atol=1e-6)
    torch.testing.assert_close(model.output(torch.from_numpy(codes)), logits)
    # What is no class is taken to the nearest one.
    np.testing.assert_array_equal(model.decode([[-3.0, 1.4, 99.0]]), model.decode([[0, 1, 3]]))


def test_biases_and_codebooks_do_not_decay() -> None:
    run = small_run(QLAE(levels=4))
    layouts = {name: Layout.of(network) for name, network in build_networks(run, SHAPE).items()}
    assert layouts["codebooks"].decayed == frozenset()
    for name in ("encoder", "decoder"):
        assert layouts[name].decayed == {one for one in layouts[name].names if one.endswith("weight")}
    normalised = nn.Sequential(nn.Conv2d(1, 2, 3), nn.LayerNorm([2, 4, 4]), nn.Linear(2, 3))
    assert Layout.of(normalised).decayed == {"0.weight", "2.weight"}


def test_a_negative_weight_and_no_level_are_refused() -> None:
    with pytest.raises(RunError, match=r"commitment of QLAE is -1.0; expected a weight of 0 or more"):
        QLAE(commitment=-1.0)
    with pytest.raises(RunError, match="levels of QLAE is 0"):
        QLAE(levels=0)
    with pytest.raises(RunError, match=r"optimiser.weight_decay is -0.1; expected a positive number, or 0"):
        small_run(QLAE(), optimiser=Adam(weight_decay=-0.1))


SIZE, STEPS, BATCH, SEED = 32, 4, 8, 3
IMAGES = (255 * torch.rand(SIZE, *SHAPE, generator=torch.Generator().manual_seed(0))).to(torch.uint8)


def trained(runs: list[Run]) -> Fleet:
    fleet = Fleet(runs, lambda index, stream: IMAGES[index], SIZE, SHAPE)
    for _ in range(STEPS):
        fleet.step()
    return fleet


def adamw_run(**fields: Any) -> Run:
    settings: dict[str, Any] = {"learning_rate": 3e-3, "weight_decay": 0.5, "warmup": 3.0, "clip_value": 2.0, **fields}
    architecture = Convolutional(8, (4, 4))
    method = QLAE(0.02, 0.03, levels=6)
    return Run(method, architecture, seed=SEED, batch_size=BATCH, latents=3, optimiser=Adam(**settings))


def test_it_takes_pytorchs_adamw_steps() -> None:
    """Four whole steps in float64: decay for weights alone, scaled by the learning rate's warm-up; clipped gradients."""
    run = adamw_run()
    nets = {name: network.double() for name, network in build_networks(run, SHAPE).items()}
    named = [(name, value) for part in nets.values() for name, value in part.named_parameters()]
    groups: list[dict[str, Any]] = [
        {"params": [value for name, value in named if name.endswith("weight")], "weight_decay": 0.5},
        {"params": [value for name, value in named if not name.endswith("weight")], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=3e-3)
    for step in range(STEPS):
        stream = Stream.of([SEED], step, "0/autoencoder")
        images = IMAGES[stream.integers("index", (BATCH,), SIZE)[0]].double() / 255
        latents, _ = nets["encoder"](images)
        values = nets["codebooks"]()
        distances = (latents[:, :, None] - values[None]).abs()
        picked = F.one_hot(distances.argmin(2), 6).double()
        chosen = (picked * values).sum(2)
        logits = nets["decoder"](latents + (chosen - latents).detach())
        error = F.binary_cross_entropy_with_logits(logits, images, reduction="sum") / BATCH
        moved, stayed = F.mse_loss(chosen, latents.detach()), F.mse_loss(latents, chosen.detach())
        optimiser.zero_grad()
        (error + PIXELS * (0.02 * moved + 0.03 * stayed)).backward()
        torch.nn.utils.clip_grad_value_([value for _, value in named], 2.0)
        for group in optimiser.param_groups:
            group["lr"] = 3e-3 * min(1.0, (step + 1) / 3)
        optimiser.step()
    for name, found in trained([run]).weights(0).items():
        network, _, key = name.partition(".")
        expected = nets[network].get_parameter(key).detach()
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=2e-6, msg=name)


def test_each_run_of_a_stack_decays_by_its_own_weight() -> None:
    runs = [adamw_run(), adamw_run(weight_decay=0.0, clip_value=0.0), adamw_run(weight_decay=0.1)]
    together = trained(runs)
    for row, run in enumerate(runs):
        alone = trained([run])
        for name, value in alone.weights(0).items():
            torch.testing.assert_close(together.weights(row)[name], value, rtol=1e-5, atol=1e-6, msg=name)
    assert not torch.equal(together.weights(0)["decoder.0.weight"], together.weights(1)["decoder.0.weight"])


def test_a_decay_of_zero_leaves_a_run_as_it_was_to_the_last_bit() -> None:
    """Beside a run that decays, one that does not ends with the bits of a stack in which none does."""
    runs = [Run(VAE(), Convolutional(8, (4, 4)), seed=seed, batch_size=BATCH, latents=3) for seed in (0, 1)]
    decaying = replace(runs[1], optimiser=replace(runs[1].optimiser, weight_decay=0.3, clip_value=1e-3))
    plain, mixed = trained(runs), trained([runs[0], decaying])
    for name, value in plain.weights(0).items():
        assert torch.equal(mixed.weights(0)[name], value), name
        assert not name.endswith("weight") or not torch.equal(mixed.weights(1)[name], plain.weights(1)[name])
