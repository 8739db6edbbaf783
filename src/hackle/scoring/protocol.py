"""Protocols: the arguments with which a paper or library runs its metrics, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from hackle.core.errors import HackleError
from hackle.core.parts import Parts, is_reference, nearest
from hackle.scoring.plan import PlanSizes


@dataclass(frozen=True)
class Protocol:
    """How much is drawn and how each metric is run.

    bins: equal-width bins of each code for MIG and modularity. factor_bins: those of a continuous factor where a metric
    needs classes; every factor of the papers' data sets has classes. minimum_variance: codes with less variance do not
    vote in the FactorVAE score; `prune_collapsed` instead leaves out latents whose posterior equals the prior.
    dci_predictor, dci_skips_categorical: the predictor behind DCI, and whether categorical factors are left out of it.
    beta_vae_classifier: the classifier that predicts the held factor. posterior_bins: bins of the quantised estimates.
    posterior_bounds, posterior_rule: their range, or "data" for that of the posteriors, and how masses in them are
    integrated. particles: of the importance-weighted bound. top: the k of SEPIN@k and INDIN@k.
    beta_vae_iterations: of the classifier "adagrad". tc_batch: points in the batch estimate of the total correlation.
    draws: draws of z for estimates with every image in q(z). seed: added to the scoring seed, so that a model can be scored
    on several draws. metrics: those that the protocol is for; empty if it is for all. groups: codes that count as one
    representation each, for the metrics of groups.
    """

    name: str
    sizes: PlanSizes
    bins: int = 20
    minimum_variance: float = 0.05
    prune_collapsed: bool = False
    dci_predictor: Literal["l1-svm", "lasso", "raw-lasso", "gbt", "random-forest"] = "l1-svm"
    dci_skips_categorical: bool = False
    beta_vae_classifier: Literal["logistic", "adagrad"] = "logistic"
    posterior_bins: int = 100
    posterior_bounds: tuple[float, float] | Literal["data"] = (-4.0, 4.0)
    posterior_rule: Literal["exact", "rectangle"] = "exact"
    particles: int = 5_000
    top: int = 3
    beta_vae_iterations: int = 10_000
    tc_batch: int = 10_000
    draws: int = 1_000
    seed: int = 0
    metrics: tuple[str, ...] = ()
    factor_bins: int = 20
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def quantisation(self) -> dict[str, Any]:
        """How every metric of posteriors cuts codes into bins: the arguments of its function."""
        return {"bins": self.posterior_bins, "bounds": self.posterior_bounds, "rule": self.posterior_rule}

    def smaller(self, fraction: float) -> Protocol:
        """The same protocol on a fraction of the points, for a quick look; its name says so.

        No part is reduced below 200 points.
        """
        if not 0 < fraction <= 1:
            raise HackleError(f"fraction is {fraction}; expected a number above 0, up to 1 for all of the points")
        parts = ("train", "test", "groups", "test_groups", "pair_groups", "test_pair_groups")
        counts = {name: getattr(self.sizes, name) for name in parts}
        fewer = {name: min(count, max(200, round(count * fraction))) for name, count in counts.items()}
        return replace(self, name=f"{self.name} × {fraction:g}", sizes=replace(self.sizes, **fewer))


LARGE = PlanSizes(
    train=10_000,
    test=5_000,
    groups=10_000,
    test_groups=5_000,
    group_size=64,
    pair_groups=10_000,
    test_pair_groups=5_000,
    pairs=64,
)
"""The sizes of Locatello et al. 2019, appendix B; those of other protocols partly differ."""


def points(train: int) -> PlanSizes:
    """Independent points alone, for metrics of posteriors."""
    return PlanSizes(train, 1, 0, 0, 1, 0, 0, 1)


QUICK = Protocol(
    "quick",
    PlanSizes(1_000, 500, 100, 50, 16, 0, 0, 1),
    metrics=("mig", "dci", "factor_vae", "interpretability", "gaussian_tc"),
)
"""From no paper: about 4,000 images and the metrics that are fast on them, for scores during training."""

POSTERIORS = Protocol("posteriors", points(10_000), metrics=("kl_split", "true_tc", "kl", "gaussian_tc"))
"""From no paper: what posteriors hold, with 10,000 images in q(z) where other protocols have every image of their plans. That
is seconds on a CPU, so that curves of it can be taken; I(x; z) is at most ln 10,000 = 9.2 nats then."""

PROTOCOLS: Parts[Protocol] = Parts(
    "protocol", ("hackle.papers.*.protocols", "hackle.scoring.protocol"), lambda thing: isinstance(thing, Protocol)
)


def protocol(name: str | Protocol) -> Protocol:
    """The protocol of this name, or the one given. `name@3` is the same protocol with 3 added to the scoring seed.

    >>> protocol("locatello2019@3").seed
    3
    """
    if isinstance(name, Protocol):
        return name
    known, _, seed = name.rpartition("@") if "@" in name else (name, "", "")
    if "@" in name and not seed.isdecimal():
        if not is_reference(name):
            raise HackleError(f"no protocol {name!r}; behind @ stands a whole number, that of the draws")
        # A file in a folder with an @ in its name.
        known, seed = name, ""
    if known not in PROTOCOLS and not is_reference(known):
        main = [one for one in PROTOCOLS if "-" not in one]
        raise HackleError(
            f"no protocol {name!r}; {nearest(known, main)} Ablations of do2020 and kim2018 are variants of these"
        )
    plain = PROTOCOLS.find(known)
    return replace(plain, name=name, seed=int(seed)) if seed else plain
