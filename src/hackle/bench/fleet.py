"""Model-steps per second: of stacked models, of one model, of the plain loop.

One model-step is one step of one model: batch 64, or 64 pairs where a method learns from them, every phase of the
method, data drawn on the device.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from hackle.bench.plain import BETA, PlainLoop, plain_run
from hackle.core.types import Dataset, Run
from hackle.nets import Split
from hackle.studies.presets import default_run
from hackle.train.fleet import Fleet

_STEPS_AT_ONCE = 5
MIXED = ("beta-vae", "annealed-vae", "dip-vae-i", "dip-vae-ii", "beta-tcvae")
"""Methods that differ in the loss alone, of which a mixed stack has equal parts."""


@dataclass(frozen=True)
class Case:
    """What is stacked: a method on a data set with one architecture. The method `mixed` is equal parts of five."""

    method: str
    dataset: str = "dsprites"
    split: bool = False
    critic_updates: int | None = None

    def runs(self, models: int, precision: str) -> list[Run]:
        if self.method == "mixed":
            parts = [replace(self, method=MIXED[seed * len(MIXED) // models]) for seed in range(models)]
            return [replace(part.runs(1, precision)[0], seed=seed) for seed, part in enumerate(parts)]
        default = default_run(self.method, self.dataset)
        changes: dict[str, Any] = {"precision": precision, "batch_size": 64}
        if self.split:
            changes["architecture"] = Split()
        if self.critic_updates is not None:
            changes["method"] = replace(default.method, critic_updates=self.critic_updates)  # type: ignore[call-arg]
        return [replace(default, seed=seed, **changes) for seed in range(models)]

    def __str__(self) -> str:
        updates = "" if self.critic_updates is None else f", critic updates {self.critic_updates}"
        return f"{self.method} on {self.dataset}" + (", split encoder" if self.split else "") + updates


CASES = (
    *(Case(method) for method in (*MIXED, "mixed", "factor-vae")),
    *(Case(method) for method in ("ada-gvae", "ada-ml-vae", "slow-vae")),
    Case("beta-vae", "rooms3d"),
    Case("beta-vae", split=True),
    *(Case("infowgan-gp", critic_updates=updates) for updates in (1, 5)),
)


@dataclass(frozen=True)
class Rate:
    """Model-steps per second of a number of stacked models, and on CUDA their memory in bytes."""

    models: int
    per_second: float
    bytes_per_model: float = float("nan")
    failed: int = 0


def _synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def measure(runs: Sequence[Run], dataset: Dataset, device: str, seconds: float = 3.0) -> Rate:
    """Train a stack of runs for some seconds, after a few untimed steps."""
    models = len(runs)
    before = 0
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    fleet = Fleet(runs, dataset.images_on(device), dataset.factors, dataset.shape, device)
    for _ in range(6 if device == "cuda" else 1):
        fleet.step()
    _synchronise(device)
    started, steps = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        for _ in range(_STEPS_AT_ONCE if device == "cuda" else 1):
            fleet.step()
            steps += 1
        _synchronise(device)
    rate = steps * models / (time.perf_counter() - started)
    held = (torch.cuda.max_memory_allocated() - before) / models if device == "cuda" else float("nan")
    return Rate(models, rate, held, int((fleet.state["failed_at"] >= 0).sum()))


def _rate(take: Callable[[int], object], steps: int, device: str) -> float:
    seconds = []
    for _ in range(3):
        _synchronise(device)
        started = time.perf_counter()
        for number in range(steps):
            take(number)
        _synchronise(device)
        seconds.append(time.perf_counter() - started)
    return steps / statistics.median(seconds)


def compare(dataset: Dataset, device: str, steps: int) -> dict[str, float]:
    """Steps per second of one β-VAE and of the plain loop, their ratio, and the largest relative difference in loss."""
    # What `hackle train` chooses: bfloat16 on CUDA, float32 elsewhere.
    run = plain_run(steps, "bfloat16" if device == "cuda" else "float32")
    fleet = Fleet([run], dataset.images_on(device), dataset.factors, dataset.shape, device)
    plain = PlainLoop(run, dataset, device)
    differences = []
    for number in range(5):
        fleet.step()
        terms = fleet.averages()[0]
        ours = float(str(terms["reconstruction"])) + BETA * float(str(terms["kl"]))
        theirs = float(plain.step(number))
        differences.append(abs(ours - theirs) / abs(theirs))
    ours, theirs = _rate(lambda _: fleet.step(), steps, device), _rate(plain.step, steps, device)
    return {"hackle": ours, "plain": theirs, "ratio": ours / theirs, "largest loss difference": max(differences)}


def together_or_apart(dataset: Dataset, device: str, models: int = 8, steps: int = 3) -> dict[str, float]:
    """Model-steps per second of a stack, and of the same runs one after another."""
    runs = Case("beta-vae", dataset.name).runs(models, "bfloat16" if device == "cuda" else "float32")
    images, factors = dataset.images_on(device), dataset.factors
    stack = Fleet(runs, images, factors, dataset.shape, device)
    singles = [Fleet([run], images, factors, dataset.shape, device) for run in runs]
    stack.step()
    for single in singles:
        single.step()
    together = models * _rate(lambda _: stack.step(), steps, device)
    apart = models * _rate(lambda _: [single.step() for single in singles], steps, device)
    return {"models": models, "together": together, "apart": apart, "ratio": together / apart}
