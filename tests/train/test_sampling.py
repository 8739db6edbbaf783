"""What a fleet hands to a loss: images, their partners and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hackle.core.factors import Factor, FactorGrid, scored_factors
from hackle.core.randomness import Stream
from hackle.core.regimes import Labels, Pairs
from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.nets import Convolutional
from hackle.objectives.beta_vae import BetaVAE
from hackle.objectives.vae import autoencoder_phase, evidence
from hackle.train.fleet import Fleet
from hackle.train.sampling import Sampler

SPRITES = FactorGrid([Factor(name, size) for name, size in zip("abcde", (3, 6, 40, 32, 32), strict=True)])
"""The sizes of dSprites."""


def numbered(index: Tensor, stream: Stream) -> Tensor:
    """Images whose pixels spell their flat index."""
    return torch.stack([(index >> shift & 255).to(torch.uint8) for shift in (0, 8, 16)], dim=-1)[..., None, None]


def number(images: Tensor) -> np.ndarray:
    return sum((images[..., place, 0, 0].to(torch.int64) << 8 * place for place in range(3)), torch.tensor(0)).numpy()


def run_with(**fields: Any) -> Run:
    return Run(BetaVAE(), Convolutional(hidden=8, channels=(3, 4)), **{"batch_size": 64, "latents": 3, **fields})


def drawn(runs: Sequence[Run], grid: FactorGrid, step: int = 0) -> dict[str, Tensor]:
    sampler = Sampler(runs, numbered, grid, torch.device("cpu"))
    stream = Stream.of([run.seed for run in runs], step, "0/train")
    return sampler.batch(stream, runs[0].method.phases(runs[0])[0])


def differing(seen: dict[str, Tensor], grid: FactorGrid) -> tuple[np.ndarray, np.ndarray]:
    """Which scored factors differ in each pair, and which were allowed to."""
    first, second = (grid.rows(number(seen[name]).reshape(-1)) for name in ("images", "partners"))
    columns = list(scored_factors(grid))
    return (first != second)[:, columns], seen["changed"].reshape(-1, len(columns)).numpy()


@pytest.mark.parametrize(
    ("pairs", "mean", "none", "one"),
    [
        (Pairs("lib"), 1.5444, 0.0748, 0.5823),
        (Pairs("resample"), 2.2063, 0.0321, 0.2820),
        (Pairs("differ"), 2.5, 0.0, 0.25),
        (Pairs("resample", changed=1), 0.8825, 0.1175, 0.8825),
    ],
)
def test_pairs_change_as_many_factors_as_their_rule_says(pairs: Pairs, mean: float, none: float, one: float) -> None:
    differ, allowed = differing(drawn([run_with(pairs=pairs, batch_size=200_000)], SPRITES), SPRITES)
    counts = differ.sum(axis=1)
    assert not (differ & ~allowed).any()
    found = [counts.mean(), (counts == 0).mean(), (counts == 1).mean()]
    np.testing.assert_allclose(found, [mean, none, one], atol=0.01)


@dataclass(frozen=True)
class Sees(BetaVAE):
    """A method that logs what it was given."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_loss, run),)


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    found = evidence(nets, step, run)
    assert step.partners is not None
    assert step.changed is not None
    assert step.labels is not None
    assert step.labelled is not None
    assert step.label_sizes == (2, 2, 3)
    terms = {
        "partners": step.partners.double().mean(),
        "changed": step.changed.double().sum(1).mean(),
        "labels": step.labels.double().mean(),
        "labelled": step.labelled.double().mean(),
    }
    return Losses(found.reconstruction, terms)


def test_a_loss_sees_partners_and_labels_the_same_alone_and_in_a_stack() -> None:
    grid = FactorGrid([Factor("a", 2), Factor("b", 2), Factor("c", 3), Factor("instance", 2, observed=False)])
    run = run_with(pairs=Pairs("differ", changed=2), labels=Labels(10), batch_size=8)
    runs = [replace(run, method=Sees(beta=seed + 1.0), seed=seed) for seed in range(3)]
    pixels = torch.arange(24, dtype=torch.uint8)[:, None, None, None].expand(24, 16, 16, 1)

    def terms(members: list[Run]) -> list[dict[str, Any]]:
        fleet = Fleet(members, lambda index, stream: pixels[index], grid, (16, 16, 1))
        for _ in range(3):
            fleet.step()
        return fleet.averages()

    together = terms(runs)
    assert [each["changed"] for each in together] == [2.0] * 3
    assert together == [terms([each])[0] for each in runs]
    assert len({each["partners"] for each in together}) == 3


@pytest.mark.parametrize("needed", ["pairs", "labels"])
def test_a_method_without_what_it_learns_from_is_refused(needed: str) -> None:
    method = type("Needy", (Sees,), {"supervision": needed})
    with pytest.raises(RunError, match=f"Needy learns from .*; set {needed}, such as"):
        Run(method(), Convolutional())
    Run(method(), Convolutional(), **{needed: {"pairs": Pairs("resample"), "labels": Labels(100)}[needed]})
