"""Small models for the pages of methods of which no trained model comes with hackle: a minute or two on one core each.

The data are squares, 32×32, whose place and size are the factors. Settings are the methods' defaults, apart from those that
belong to a longer training or to larger networks (`SMALL`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.core.types import Adam, Run
from hackle.datasets.arrays import ArrayDataset
from hackle.nets import Adversarial, Convolutional
from hackle.objectives import OBJECTIVES
from hackle.shipped.models import cards
from hackle.studies import default_run
from hackle.train import fit
from hackle.train.model import Model

MODEL_DATA = "dsprites"
"""The data set on which methods are shown."""
STEPS = 1_200
FEWER = {"information-dropout": 700, "infowgan-gp": 700, "tripod": 400}
"""Steps of methods whose steps take long, or whose codes leave all bounds on so few images."""
SLOWER = {"information-dropout": 3e-4}
"""Learning rates of methods that diverge at the usual one."""
SIDE, PLACES, SIZES = 32, 9, (6, 10, 14)
DISCRIMINATOR = {
    "discriminator_layers": 3,
    "discriminator_width": 100,
    "discriminator_optimiser": Adam(1e-3, beta1=0.5, beta2=0.9),
}
GENERATOR = {
    "information": 0.1,
    "categories": (3,),
    "noise": 4,
    "discriminator_optimiser": Adam(1e-3, beta1=0.5),
}
SMALL: dict[str, dict[str, Any]] = {
    "adversarial-autoencoder": DISCRIMINATOR,
    "control-vae": {"c_max": 8.0, "c_every": 40},
    "factor-vae-prior": DISCRIMINATOR,
    "hfs": {"gamma": 10.0},
    "infogan": GENERATOR,
    "infowgan-gp": GENERATOR,
    "s2-factor-vae": DISCRIMINATOR,
}


def shown_small() -> list[str]:
    """The methods of which no model of the data set comes with hackle on which methods are shown."""
    shipped = cards()
    return [name for name in OBJECTIVES if f"{name}/{MODEL_DATA}" not in shipped]


def squares() -> ArrayDataset:
    """White squares on black."""
    grid = FactorGrid([Factor("x", PLACES), Factor("y", PLACES), Factor("size", len(SIZES))])
    x, y, size = grid.rows(np.arange(len(grid))).T[:, :, None, None]
    sides = np.array(SIZES)[size]
    left, top = (np.rint(place * (SIDE - sides) / (PLACES - 1)) for place in (x, y))
    rows, columns = np.arange(SIDE)[None, :, None], np.arange(SIDE)[None, None, :]
    inside = (rows >= top) & (rows < top + sides) & (columns >= left) & (columns < left + sides)
    return ArrayDataset("squares", (inside * 255).astype(np.uint8)[..., None], grid)


def small_run(name: str, steps: int | None = None) -> Run:
    """The run that a method's page shows."""
    run = default_run(name, "squares")
    method: Any = run.method
    adversarial = isinstance(run.architecture, Adversarial)
    # A critic with a gradient penalty takes long.
    width = 1 if name == "infowgan-gp" else 2
    return replace(
        run,
        method=replace(method, **SMALL.get(name, {})),
        architecture=Adversarial(
            channels=(8 * width, 8 * width, 16 * width), hidden=32 * width, recogniser_hidden=16 * width
        )
        if adversarial
        else Convolutional(hidden=64, channels=(16, 16, 32)),
        optimiser=replace(run.optimiser, learning_rate=SLOWER.get(name, 1e-3)),
        latents=3 if adversarial else 5,
        labels=replace(run.labels, images=min(run.labels.images, 100)),
        batch_size=32 * width if adversarial else run.batch_size,
        steps=steps or FEWER.get(name, STEPS),
    )


def small_model(name: str, steps: int | None = None) -> Model:
    """A small model of a method, trained here and now."""
    return fit(small_run(name, steps), dataset=squares(), device="cpu", progress=False, tensorboard=False)
