"""Protocols: the arguments with which a paper or library runs its metrics. They choose arguments and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hackle.plans import PlanSizes
from hackle.types import HackleError


@dataclass(frozen=True)
class Protocol:
    """How much is drawn and how each metric is run.

    bins: equal-width bins of each code for MIG and modularity. minimum_variance: codes that vary less do not vote in the
    FactorVAE score; `prune_collapsed` instead leaves out latents whose posterior equals the prior. dci_predictor,
    dci_skips_categorical: the predictor behind DCI, and whether categorical factors are left out of it.
    beta_vae_classifier: what learns to name the held factor. posterior_bins: bins over [−4, 4] of the quantised estimates.
    top: the k of SEPIN@k and INDIN@k. beta_vae_iterations: of the classifier "adagrad". tc_batch: points behind the batch
    estimate of the total correlation. draws: of z, whose log densities with every image in q(z) are averaged. seed: added
    to the seed of the scoring, so that a model can be scored on several draws. metrics: those that the
    protocol is for, where "all" are not.
    """

    name: str
    sizes: PlanSizes
    bins: int = 20
    minimum_variance: float = 0.05
    prune_collapsed: bool = False
    dci_predictor: Literal["l1-svm", "lasso", "gbt", "random-forest"] = "l1-svm"
    dci_skips_categorical: bool = False
    beta_vae_classifier: Literal["logistic", "adagrad"] = "logistic"
    posterior_bins: int = 100
    top: int = 3
    beta_vae_iterations: int = 10_000
    tc_batch: int = 10_000
    draws: int = 1_000
    seed: int = 0
    metrics: tuple[str, ...] = ()

    def smaller(self, fraction: float) -> Protocol:
        """The same protocol on a fraction of the points, for quick looks; its name says so.

        No part gets smaller than 200 points, or than it was.
        """
        if not 0 < fraction <= 1:
            raise HackleError(f"fraction is {fraction}; expected a number above 0, up to 1 for all of the points")
        shrink = lambda count: min(count, max(200, round(count * fraction)))  # noqa: E731
        s = self.sizes
        sizes = replace(
            s,
            train=shrink(s.train),
            test=shrink(s.test),
            groups=shrink(s.groups),
            test_groups=shrink(s.test_groups),
            pair_groups=shrink(s.pair_groups),
            test_pair_groups=shrink(s.test_pair_groups),
        )
        return replace(self, name=f"{self.name} × {fraction:g}", sizes=sizes)


_LARGE = PlanSizes(
    train=10_000,
    test=5_000,
    groups=10_000,
    test_groups=5_000,
    group_size=64,
    pair_groups=10_000,
    test_pair_groups=5_000,
    pairs=64,
)

PROTOCOLS: dict[str, Protocol] = {
    # Locatello et al. 2019, appendix B.
    "locatello2019": Protocol("locatello2019", _LARGE),
    # What their library ships: it prunes by standard deviation and predicts with boosted trees.
    "disentanglement_lib": Protocol("disentanglement_lib", _LARGE, minimum_variance=0.05**2, dci_predictor="gbt"),
    # Kim & Mnih 2018, appendix B. Their linear classifier sees 10,000 batches of 10 fresh points; here the batches are
    # drawn from 10,000 points.
    "kim2018": Protocol(
        "kim2018",
        replace(_LARGE, groups=800, test_groups=800, group_size=100, test_pair_groups=800, pairs=200),
        minimum_variance=0.0,
        prune_collapsed=True,
        beta_vae_classifier="adagrad",
    ),
    # Do & Tran 2020, section 4 and appendix A.9: 100 bins, Lasso without the categorical factor.
    "do2020": Protocol("do2020", _LARGE, bins=100, dci_predictor="lasso", dci_skips_categorical=True),
    # Yang et al. 2020 take their scores from the library above.
    "yang2020": Protocol("yang2020", _LARGE, minimum_variance=0.05**2, dci_predictor="gbt"),
    # Nobody's: about 4,000 images and the metrics that are quick on them, for scores while a model trains.
    "quick": Protocol(
        "quick",
        PlanSizes(1_000, 500, 100, 50, 16, 0, 0, 1),
        metrics=("mig", "dci", "factor_vae", "interpretability", "gaussian_tc"),
    ),
}


def _points(train: int) -> PlanSizes:
    """Independent points alone, for metrics of posteriors."""
    return PlanSizes(train, 1, 0, 0, 1, 0, 0, 1)


# Do & Tran 2020, Figure 17: RMIG and JEMMIG over the number of bins. The values stand on the figure's axis alone.
PROTOCOLS |= {
    name: Protocol(name, _points(10_000), bins=100, posterior_bins=bins, metrics=("interpretability", "jemmig"))
    for bins in (10, 20, 50, 100, 200, 500, 1000)
    for name in [f"do2020-bins-{bins}"]
}
# Figure 18: JEMMIG and WSEPIN, both by sampling, over the number of samples. WSEPIN's mixture is that of all other protocols,
# nearly all images, so that the draws alone become more; a tenth of the samples, since each meets every image.
PROTOCOLS |= {
    name: Protocol(
        name,
        replace(_LARGE, train=samples),
        bins=100,
        draws=samples // 10,
        metrics=("sampled_jemmig", "whole_separability"),
    )
    for samples in (10_000, 20_000, 30_000, 40_000, 50_000)
    for name in [f"do2020-samples-{samples}"]
}
# Kim & Mnih 2018, Figure 16: the BetaVAE score over pairs per point, L, and iterations of Adagrad; 800 test points.
PROTOCOLS |= {
    name: Protocol(
        name,
        replace(_points(10_000), pair_groups=10_000, test_pair_groups=800, pairs=pairs),
        beta_vae_classifier="adagrad",
        beta_vae_iterations=iterations,
        metrics=("beta_vae",),
    )
    for pairs in (50, 100, 200)
    for iterations in (1_000, 3_000, 10_000, 30_000)
    for name in [f"kim2018-pairs-{pairs}-iterations-{iterations}"]
}
# Figure 17: the FactorVAE score over points per vote, L, and votes.
PROTOCOLS |= {
    name: Protocol(
        name,
        replace(_points(10_000), groups=votes, test_groups=votes, group_size=size),
        minimum_variance=0.0,
        prune_collapsed=True,
        metrics=("factor_vae",),
    )
    for size in (25, 50, 100, 200)
    for votes in (100, 200, 400, 800, 1600)
    for name in [f"kim2018-points-{size}-votes-{votes}"]
}

BINS_PROTOCOLS = tuple(name for name in PROTOCOLS if name.startswith("do2020-bins-"))
SAMPLES_PROTOCOLS = tuple(name for name in PROTOCOLS if name.startswith("do2020-samples-"))
SENSITIVITY_PROTOCOLS = tuple(
    f"{name}@{seed}"
    for name in PROTOCOLS
    if name.startswith(("kim2018-pairs-", "kim2018-points-"))
    for seed in range(10)
)
"""Both figures' protocols, each with the ten seeds that their error bars are over."""


def protocol(name: str | Protocol) -> Protocol:
    """The protocol of this name, or the one given. `name@3` is the protocol on draws of its own, of the scoring seed + 3.

    >>> protocol("locatello2019@3").seed
    3
    """
    if isinstance(name, Protocol):
        return name
    known, _, seed = name.partition("@")
    if known not in PROTOCOLS or not (seed.isdigit() or known == name):
        main = [known for known in PROTOCOLS if "-" not in known]
        raise HackleError(
            f"no protocol {name!r}; there are {', '.join(main)}, and variants of do2020 and kim2018 for their ablations"
        )
    return replace(PROTOCOLS[known], name=name, seed=int(seed)) if seed else PROTOCOLS[known]
