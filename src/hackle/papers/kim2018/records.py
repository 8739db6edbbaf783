"""What tells runs of Kim & Mnih 2018 apart and is no column of the tables: read from their records as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hackle.papers.kim2018.study import DISCRIMINATOR_RATES
from hackle.store.tables import Tables

Test = Callable[[str], bool]
"""Whether a run counts, from its record."""
LARGEST = (6, 1000)
"""Hidden layers and units of the discriminator, where a record does not name them."""


def records_of(tables: Tables) -> Any:
    """The record of each run, by its hash."""
    return tables.runs.drop_duplicates("run").set_index("run")["record"]


def bigger_networks(record: str) -> bool:
    """Whether a run has the bigger networks of Figure 34 (Table 6)."""
    return re.search(r'"architecture": ?\{[^{}]*"hidden": ?1024\b', record) is not None


def classes(record: str, number: int) -> bool:
    """Whether the categorical code of a GAN, its only one, has so many classes."""
    return re.search(rf'"categories": ?\[{number}\]', record) is not None


def noise_variables(record: str) -> int:
    """The number of an InfoGAN's noise variables.

    >>> noise_variables('{"method": {"categories": [3], "noise": 40}}')
    40
    """
    match = re.search(r'"noise": ?(\d+)', record)
    return int(match[1]) if match else 0


def stops_early(record: str) -> bool:
    """Whether an InfoGAN's training ends before its discriminator degenerates."""
    return re.search(r'"stops_early": ?true', record) is not None


def slower_discriminator(record: str) -> bool:
    """Whether a GAN's discriminator learns more slowly than at the paper's usual rate.

    >>> slower_discriminator('{"method": {"discriminator_optimiser": {"type": "Adam", "learning_rate": 1e-05}}}')
    True
    """
    match = re.search(r'"discriminator_optimiser": ?\{[^{}]*"learning_rate": ?([\d.e+-]+)', record)
    return match is not None and float(match[1]) < DISCRIMINATOR_RATES[0]


def to_the_end(record: str) -> bool:
    """Whether an InfoGAN was trained to the end, with its discriminator's usual learning rate."""
    return not (stops_early(record) or slower_discriminator(record))


def slowly_to_the_end(record: str) -> bool:
    """Whether an InfoGAN was trained to the end, with a smaller learning rate of its discriminator."""
    return slower_discriminator(record) and not stops_early(record)


def discriminator_size(record: str) -> tuple[int, int]:
    """Hidden layers of FactorVAE's discriminator and their width.

    >>> discriminator_size('{"method": {"discriminator_layers": 2, "discriminator_width": 300}}')
    (2, 300)
    """
    matches = [re.search(rf'"discriminator_{name}": ?(\d+)', record) for name in ("layers", "width")]
    layers, width = (int(one[1]) if one else usual for one, usual in zip(matches, LARGEST, strict=True))
    return layers, width


def of_the_batch(record: str) -> bool:
    """Whether a β-TCVAE's total correlation is estimated with z from the batch's own mixture."""
    return re.search(r'"estimator": ?"minibatch-weighted"', record) is not None
