"""Worlds for the claims of Locatello et al. 2019. `truth` 1: all that they say is true. −1: one order of settings rules
every data set and metric. 0: every metric goes its own way. No one world is contrary to every claim."""

from __future__ import annotations

import zlib

import numpy as np

from claims.synthetic import Run, sweep, tables
from hackle.papers.locatello2019.claims import DATASETS, DOWNSTREAM, METHODS, METRICS, SPRITES, TRIO
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.store.tables import Tables

LUCK = {"color-dsprites": "dsprites", "scream-dsprites": "noisy-dsprites", "cars3d": "sedans", "smallnorb": "kites"}
"""The word that a data set's luck is drawn by, where it is not its name: that of another set, or one whose draws go with no
other's."""


def draw(*words: object) -> float:
    """A number in [−1, 1] that depends on the words alone."""
    return zlib.crc32(repr(words).encode()) / 2**31 - 1


def design(
    seeds: int = 6, methods: tuple[str, ...] = METHODS, strengths: int = 6, datasets: tuple[str, ...] = DATASETS[:3]
) -> list[Run]:
    """Runs of the study: of each method with its first strengths, on each data set, with so many seeds."""
    return [
        run
        for method in methods
        for run in sweep(
            study="locatello2019",
            dataset=list(datasets),
            method=method,
            strength=[float(value) for value in STRENGTHS[method][:strengths]],
            seed=range(seeds),
        )
    ]


def locatello2019(
    truth: int, seeds: int = 7, spread: float = 1.0, seed: int = 0, datasets: tuple[str, ...] = DATASETS
) -> Tables:
    designs = design(seeds, datasets=datasets)

    def quality(run: Run, metric: str, shared_noise: float, noise) -> float:
        """How good a run is by a metric."""
        method, strength = run["method"], run["strength"]
        if truth < 0:
            # One order of settings, by method and then by strength, for every data set and metric.
            rank = STRENGTHS[method].index(int(strength)) / 5
            return 2 * METHODS.index(method) / 5 - 1 + 0.2 * rank + 0.05 * spread * noise()
        if truth == 0:
            # Every metric has an order of its own, FactorVAE the contrary of BetaVAE; Color-dSprites turns all round.
            side = (-1) ** ((run["dataset"] == "color-dsprites") + (metric == "factor_vae"))
            order = "beta_vae" if metric == "factor_vae" else metric
            return side * draw(order, method, strength) + 0.2 * spread * noise()
        # A setting is good or not by chance, anew for each data set and metric, save that dSprites and Color-dSprites share
        # their luck, as do Noisy- and Scream-dSprites, and other data sets a little of it, that BetaVAE, FactorVAE and MIG
        # share most of it and SAP has the contrary beside its own.
        data = LUCK.get(run["dataset"], run["dataset"])
        luck = draw(data, method, strength) + 0.2 * draw(method, strength) + 0.45 * spread * shared_noise
        if metric in TRIO:
            return luck + 0.4 * spread * noise()
        own = draw(data, metric, method, strength) + 0.2 * draw(metric, method, strength)
        return own - luck * (metric == "sap") + 0.5 * spread * noise()

    def samples_log(run: Run, rank: float) -> float:
        """The logarithm of the total correlation of samples; the strength's rank is 0 to 1."""
        method, odd = run["method"], run["dataset"] == "smallnorb"
        if truth > 0:
            level = -1.0 if method in ("beta-vae", "beta-tcvae") or (method == "dip-vae-i" and odd) else -2.0
            turned = -1 if run["dataset"] == "scream-dsprites" else 1
            # A larger capacity regularises less.
            falls = {"factor-vae": 0.0, "annealed-vae": -3.0 * turned}.get(method, 0.5 if "dip" in method else 1.0)
            return level + 0.6 * (method == "dip-vae-i" and odd) - falls * rank
        signs = {"factor-vae": -1.0, "dip-vae-i": 0.5, "dip-vae-ii": 0.5, "annealed-vae": -1.0}
        return -1 - truth * rank * signs.get(method, 1.0)

    def means_log(run: Run, rank: float) -> float:
        """The logarithm of the total correlation of means."""
        dip, second = (run["method"] == name for name in ("dip-vae-i", "dip-vae-ii"))
        rises = 0.0 if dip or second else truth * (0.5 if run["method"] == "factor-vae" else 1.0)
        factorises = second and run["dataset"] in ("shapes3d", "cars3d")
        if truth > 0:
            level = -1.5 if dip else -1.2 if factorises else 3.0 if run["method"] == "annealed-vae" else 1.0
        else:
            level = -2.5 + 2.0 * dip + 4.0 * factorises
        return level + rises * rank

    def scores(run: Run, noise) -> dict[str, float]:
        rank = STRENGTHS[run["method"]].index(int(run["strength"])) / 5
        shared_noise = noise()
        found = {metric: 0.5 + 0.2 * quality(run, metric, shared_noise, noise) for metric in METRICS}
        found["gaussian_tc/sampled"] = np.exp(samples_log(run, rank) + 0.05 * spread * noise())
        found["gaussian_tc/mean"] = np.exp(means_log(run, rank) + 0.05 * spread * noise())
        for score in ("reconstruction", "kl", "elbo"):
            found[score] = 40 + (noise() if truth >= 0 else 10 * found["mig"])
        if truth < 0:
            found["gaussian_tc/sampled"] *= np.exp(10 * found["mig"] * (1 if run["method"] != "factor-vae" else 0.0))
        tied = {1: sum(found[metric] for metric in TRIO) / 3, 0: noise(), -1: found["modularity"]}[truth]
        for score in DOWNSTREAM:
            known = run["dataset"] in SPRITES or truth < 0
            found[score] = 0.5 + 0.3 * tied * known + 0.01 * spread * noise()
        # On Scream-dSprites the AnnealedVAEs of a low capacity know little, and need few samples to say so.
        chosen = run["method"] == "annealed-vae" and run["dataset"] == "scream-dsprites"
        empty = (1 - rank if truth > 0 else 1.0) * chosen
        for name in ("logistic_cv", "gbt"):
            found[f"efficiency_{name}"] = 0.7 + (0.05 * noise() if truth >= 0 else 0.3 * found["modularity"])
            found[f"efficiency_{name}"] += truth * 0.3 * empty
            if truth > 0:
                found[f"downstream_{name}_10000"] -= 0.3 * empty
        return found

    return tables(designs, scores, seed=seed)
