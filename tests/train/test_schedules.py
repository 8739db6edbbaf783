"""Schedules of the learning rate and of the KL term, and clipping: formulas, and what fleets make of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_train import assert_equal_weights, quiet, stop_after

from hackle.core.method import about
from hackle.core.reading import from_json
from hackle.core.records import record_hash, to_json, with_fields
from hackle.core.types import Adam, Run, RunError
from hackle.nets import Adversarial
from hackle.objectives import OBJECTIVES, VAE, BetaVAE, FactorVAE, InfoWGANGP
from hackle.train import Stopped
from hackle.train.grouping import group
from hackle.train.schedules import kl_weight, learning_rate
from objectives.single import Single
from objectives.test_every_method import METHODS
from train.test_fleet import assert_same_weights, on_cuda, small_run, trained

STEPS = 40
ALL = Adam(learning_rate=1e-3, warmup=3.0, decay="cosine", decay_to=0.1, clip_norm=5.0)
COSINE = [
    Adam(1e-3, decay="cosine"),
    replace(ALL, clip_norm=0.0),
    replace(ALL, warmup=0.0, decay_steps=4.0),
    replace(ALL, learning_rate=3e-3, clip_norm=0.5),
]
FACTOR = FactorVAE(gamma=5.0, discriminator_width=16, discriminator_optimiser=replace(ALL, warmup=2.0, clip_norm=0.1))


def rates(settings: Adam, steps: int = STEPS) -> list[float]:
    """The rate at each step of a run, as a fleet of one computes it."""
    names = ("learning_rate", "warmup", "decay_to", "decay_steps")
    stacked = with_fields(settings, {name: torch.tensor([[getattr(settings, name)]]) for name in names})
    return [float(learning_rate(stacked, torch.tensor(step), steps)) for step in range(steps)]


def pytorchs(scheduler: Any, **options: Any) -> list[float]:
    """The rates of one of PyTorch's schedulers, from 0.01 on."""
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.01)
    schedule, found = scheduler(optimiser, **options), []
    for _ in range(STEPS):
        found.append(schedule.get_last_lr()[0])
        optimiser.step()
        schedule.step()
    return found


def test_rates_are_those_of_pytorchs_schedulers() -> None:
    schedulers = torch.optim.lr_scheduler
    cosine = pytorchs(schedulers.CosineAnnealingLR, T_max=STEPS, eta_min=0.002)
    assert rates(Adam(0.01, decay="cosine", decay_to=0.2)) == pytest.approx(cosine)
    line = pytorchs(schedulers.LinearLR, start_factor=1.0, end_factor=0.3, total_iters=25)
    assert rates(Adam(0.01, decay="linear", decay_to=0.3, decay_steps=25.0)) == pytest.approx(line)
    drops = pytorchs(schedulers.StepLR, step_size=7, gamma=0.5)
    assert rates(Adam(0.01, decay="step", decay_to=0.5, decay_steps=7.0)) == pytest.approx(drops)
    rise = pytorchs(schedulers.LinearLR, start_factor=1 / 8, end_factor=1.0, total_iters=7)
    assert rates(Adam(0.01, warmup=8.0)) == pytest.approx(rise)


def test_a_decay_begins_where_the_warm_up_ends() -> None:
    found = rates(Adam(1.0, warmup=10.0, decay="cosine", decay_to=0.1))
    assert found[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    half = [0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - 10) / 30)) for step in range(10, STEPS)]
    assert found[10:] == pytest.approx(half)
    assert rates(Adam(1.0, warmup=100.0, decay="linear")) == pytest.approx([(s + 1) / 100 for s in range(STEPS)])
    assert rates(Adam(1.0, warmup=4.0, decay="step", decay_to=0.1, decay_steps=10.0))[13:15] == pytest.approx([1, 0.1])


def test_the_kl_term_rises_along_a_line() -> None:
    found = [kl_weight(torch.tensor([0.0, 4.0]), torch.tensor(step)).tolist() for step in range(6)]
    assert found == [[1.0, 0.0], [1.0, 0.25], [1.0, 0.5], [1.0, 0.75], [1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_every_method_weighs_its_kl_term_alone_or_refuses_to(name: str) -> None:
    method = METHODS[name]
    if not about(method).warms_up:
        refusing = "annealed-vae adversarial-autoencoder control-vae infogan infowgan-gp joint-vae qlae supervised"
        assert name in f"{refusing} tripod wae-mmd".split()
        with pytest.raises(RunError, match=r"kl_warmup is 10, but the loss of .* has no KL term of posteriors"):
            small_run(method, kl_warmup=10.0)
        return
    single = Single(small_run(method, kl_warmup=10.0, latents=3, batch_size=6))
    none, half, whole = (single.loss(kl_weight=torch.tensor(weight, dtype=torch.float64)) for weight in (0.0, 0.5, 1.0))
    plain = single.loss()
    assert torch.equal(whole.total, plain.total)
    weighed = plain.terms["kl"]
    if name in ("beta-vae", "autoregressive-vae", "s2-beta-vae", "gvae", "ml-vae", "ada-gvae", "ada-ml-vae"):
        weighed = method.beta * plain.terms["kl"]
    elif name == "information-dropout":
        weighed = method.beta * plain.terms["information"]
    elif name == "slow-vae":
        weighed = (method.beta * plain.terms["kl"] + method.gamma * plain.terms["transition"]) / 2
    torch.testing.assert_close(whole.total - none.total, weighed)
    torch.testing.assert_close(half.total, 0.5 * (none.total + whole.total))
    for term, value in plain.terms.items():
        assert torch.equal(value, none.terms[term]), term


def test_a_fleet_follows_the_weight_step_by_step(squares: Any) -> None:
    """A β-VAE that warms up is, step by step, one with a smaller β."""
    warming = trained([small_run(BetaVAE(4.0), kl_warmup=2.0)], squares, steps=0)
    state = {name: value.clone() for name, value in warming.state.items()}
    for beta in (0.0, 2.0, 4.0, 4.0):
        other = trained([small_run(BetaVAE(beta))], squares, steps=0)
        other.state |= {name: value.clone() for name, value in state.items()}
        other.step()
        warming.step()
        state = other.state
        assert torch.equal(warming.state["weights/encoder"], state["weights/encoder"])
        assert torch.equal(warming.state["sum/0"][:, :-1], state["sum/0"][:, :-1])


def test_the_first_update_of_a_warm_up_is_a_part_of_the_whole(squares: Any) -> None:
    start = trained([small_run(VAE())], squares, steps=0).state["weights/encoder"]
    whole = trained([small_run(VAE())], squares, steps=1).state["weights/encoder"] - start
    tenth = trained([small_run(VAE(), optimiser=Adam(1e-3, warmup=10.0))], squares, steps=1)
    torch.testing.assert_close(tenth.state["weights/encoder"] - start, 0.1 * whole, rtol=1e-3, atol=1e-8)


def test_a_run_that_asks_for_nothing_keeps_its_bits_beside_those_that_do(squares: Any) -> None:
    plain = small_run(VAE())
    asking = small_run(VAE(), seed=1, kl_warmup=3.0, optimiser=Adam(1e-3, warmup=3.0, clip_norm=1.0))
    beside = trained([plain, asking], squares)
    among = trained([plain, small_run(VAE(), seed=1)], squares)
    for name in ("weights/encoder", "first/decoder", "second/decoder"):
        assert torch.equal(beside.state[name][0], among.state[name][0])
        assert not torch.equal(beside.state[name][1], among.state[name][1])


def mixed(method: Any) -> list[Run]:
    return [
        small_run(method, seed=seed, steps=6, kl_warmup=2.0 * seed, optimiser=each) for seed, each in enumerate(COSINE)
    ]


@pytest.mark.parametrize("method", [VAE(), FACTOR])
def test_settings_are_each_runs_own_in_a_stack(method: Any, squares: Any) -> None:
    runs = mixed(method)
    assert group(runs) == [runs]
    together = trained(runs, squares, steps=6)
    for row, run in enumerate(runs):
        assert_same_weights(trained([run], squares, steps=6), 0, together, row)
    assert len({round(float(each), 9) for each in together.state["weights/encoder"][:, 0]}) == len(runs)


def test_a_clipped_gradient_is_that_of_all_networks_of_the_phase(squares: Any) -> None:
    """Adam's first moment after one step is (1 − β₁) times the gradient that it followed."""
    whole, clipped = (
        trained([small_run(VAE(), optimiser=Adam(clip_norm=norm))], squares, steps=1).state for norm in (0.0, 2.0)
    )
    both = [torch.cat([state["first/encoder"], state["first/decoder"]], dim=1) / 0.1 for state in (whole, clipped)]
    norms = [float(moments.norm()) for moments in both]
    assert norms[0] > 2.0
    assert norms[1] == pytest.approx(2.0, rel=1e-5)
    torch.testing.assert_close(both[1], both[0] * 2.0 / norms[0], rtol=1e-5, atol=1e-7)


def test_a_discriminators_settings_are_its_own(squares: Any) -> None:
    still = Adam(learning_rate=1e-3, decay="step", decay_steps=2.0, decay_to=1e-30)
    run = small_run(FactorVAE(gamma=5.0, discriminator_width=16, discriminator_optimiser=still))
    fleet = trained([run], squares, steps=2)
    before = {name: value.clone() for name, value in fleet.state.items()}
    fleet.step()
    assert torch.equal(fleet.state["weights/discriminator"], before["weights/discriminator"])
    assert not torch.equal(fleet.state["weights/encoder"], before["weights/encoder"])


def test_a_run_that_is_resumed_ends_with_the_same_bits(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(VAE(), steps=12, kl_warmup=9.0, optimiser=replace(ALL, decay="linear"))
    quiet(run, tmp_path / "whole", squares)
    with monkeypatch.context() as patched:
        stop_after(patched, 5)
        with pytest.raises(Stopped):
            quiet(run, tmp_path / "parts", squares)
    quiet(run, tmp_path / "parts", squares, resume=True)
    assert_equal_weights(tmp_path / "whole", tmp_path / "parts")


def test_records_from_before_keep_their_hash_and_new_ones_are_read_again() -> None:
    run = small_run(FACTOR, kl_warmup=9.0, optimiser=ALL)
    plain = to_json(replace(run, kl_warmup=0.0, optimiser=Adam(1e-3)))
    assert set(plain["optimiser"]) == {"type", "learning_rate", "beta1", "beta2", "epsilon"}
    assert "kl_warmup" not in plain
    classes = {type(part).__name__: type(part) for part in (run, run.method, run.architecture, run.optimiser)}
    again = from_json(to_json(run), classes)
    assert again == run
    assert record_hash(again) == record_hash(run) != record_hash(replace(run, kl_warmup=0.0))


GAN = InfoWGANGP(categories=(3,), noise=5, critic_updates=2, discriminator_optimiser=replace(ALL, clip_norm=0.1))


@pytest.mark.gpu
@pytest.mark.parametrize("method", [VAE(), FACTOR, GAN], ids=["VAE", "FactorVAE", "InfoWGAN-GP"])
def test_cuda_follows_the_cpu_through_graph_replays(method: Any, squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    runs = mixed(method) if method is not GAN else []
    for seed, each in enumerate(COSINE if method is GAN else []):
        architecture = Adversarial(channels=(4, 4), hidden=8, recogniser_hidden=8)
        runs.append(small_run(method, seed=seed, steps=6, architecture=architecture, optimiser=each))
    here, there = trained(runs, squares, steps=6), on_cuda(runs, squares, 6)
    for row in range(len(runs)) if method is not GAN else ():
        for name, value in here.weights(row).items():
            # A tenth of one update: where a gradient is nearly 0, Adam makes much of its last digits.
            torch.testing.assert_close(there.weights(row)[name], value, rtol=1e-3, atol=1e-4, msg=name)
    wanted = here.averages()
    for row, terms in enumerate(there.averages()):
        for name, value in terms.items():
            assert value == pytest.approx(wanted[row][name], rel=1e-2, abs=1e-2), name


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_on_cuda_a_run_beside_others_that_ask_for_more_keeps_its_bits(precision: Any, squares: Any) -> None:
    """Neighbours that clip or warm up change the kernels that run, and nothing of a run that does neither."""
    plain = [small_run(VAE(), seed=seed, precision=precision) for seed in range(2)]
    asking = replace(plain[1], kl_warmup=3.0, optimiser=Adam(1e-3, warmup=3.0, clip_norm=1.0))
    among, beside = on_cuda(plain, squares, 8), on_cuda([plain[0], asking], squares, 8)
    for name in ("weights/encoder", "weights/decoder", "first/decoder", "second/decoder"):
        assert torch.equal(beside.state[name][0], among.state[name][0]), name
        assert not torch.equal(beside.state[name][1], among.state[name][1]), name


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_on_cuda_settings_are_each_runs_own_in_a_stack(precision: Any, squares: Any) -> None:
    runs = [replace(run, precision=precision) for run in mixed(VAE())]
    together = on_cuda(runs, squares, 6)
    wanted = together.averages()
    for row, run in enumerate(runs):
        alone = on_cuda([run], squares, 6)
        for name, value in alone.averages()[0].items():
            assert value == pytest.approx(wanted[row][name], rel=1e-2, abs=1e-2), name
        for name, value in alone.weights(0).items() if precision == "float32" else ():
            # Fully connected layers are cuBLAS products, whose order of sums depends on the stack.
            torch.testing.assert_close(together.weights(row)[name], value, rtol=1e-3, atol=1e-4, msg=name)
