"""The trained models that come with hackle: one for a method and a data set, chosen by MIG over the seeds of its setting.

Each is a run's folder under `trained/METHOD/DATASET`: the record, the weights in bytes (see `hackle.train.weights`), the run's
scores from the table of results, and `card.json`, which says among which runs it was chosen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from hackle.core.errors import HackleError
from hackle.core.parts import nearest
from hackle.shipped import CARD, TRAINED, names_of_models

if TYPE_CHECKING:
    from hackle.train.model import Model

COLUMNS = ("name", "method", "weight", "dataset", "steps", "seed", "mig", "seeds", "mig_of_seeds", "chosen", "size")


def place_of_model(name: str) -> Path:
    """The folder of the model of this name, such as "ada-gvae/dsprites"."""
    names = names_of_models()
    if name not in names:
        raise HackleError(f"no model {name!r} comes with hackle; {nearest(name, names)} `hackle models` lists them")
    return TRAINED / name


def load_model(name: str) -> Model:
    """A trained model that comes with hackle, by method and data set; `models()` lists them.

    >>> import hackle
    >>> hackle.load_model("beta-vae/dsprites").run.steps
    100000
    """
    from hackle.train.model import Model

    return Model.load(place_of_model(name))


def cards() -> dict[str, dict[str, Any]]:
    """What is known of each model, by name."""
    return {name: json.loads((TRAINED / name / CARD).read_text("utf-8")) for name in names_of_models()}


def models() -> pd.DataFrame:
    """The trained models that come with hackle, a row each.

    `mig` is that of the model as it was trained, `mig_of_seeds` the mean over the runs that differ only in their seed, of
    which there are `seeds`; `chosen` says how it was chosen among them, and `size` is that of its weights in bytes.
    """
    rows = [{"name": name, **card} for name, card in cards().items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))
