"""An Information Theoretic Perspective on Disentangled Representation Learning, section 5 and appendices C and D."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from hackle.core.types import Run
from hackle.nets import Convolutional, Sharing, Split
from hackle.papers.split_encoder.settings import DATASETS, WEIGHTS
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept

ENCODERS = ((Convolutional(), 0.0), (Convolutional(), 0.9), (Sharing(), 0.0), (Split(), 0.0))
"""Convolutional, convolutional with correlated noise, sharing and split encoders, each with its noise's σ."""


@swept("split-encoder", DATASETS, tuple(WEIGHTS), seeds=10)
def split_encoder(sweep: Sweep) -> Iterator[Run]:
    """VAE, FactorVAE and β-VAE with four encoders on dSprites and Cars3D.

    Of these the paper shows: sharing encoder and correlated noise with VAE and FactorVAE on dSprites (Figure 2),
    the split encoder with both on dSprites and Cars3D (Figures 3 to 10), and with β-VAE on dSprites (Figure 11).

    Departures: the paper shows violins and gives no number of trainings; ten, as in Yang et al. 2020. The other settings
    are the preset's.
    """
    for dataset, method in product(sweep.data(), filter(sweep.has, WEIGHTS)):
        for architecture, correlation in ENCODERS:
            yield replace(sweep.run(method, dataset), architecture=architecture, correlation=correlation)


STUDY = Study("split-encoder", split_encoder, "Split and sharing encoders and correlated noise")
