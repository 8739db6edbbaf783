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
    top: the k of SEPIN@k and INDIN@k. mixture: points in the mixtures of sampled estimates.
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

    def smaller(self, fraction: float) -> Protocol:
        """The same protocol on a fraction of the points, for quick looks; its name says so."""
        shrink = lambda count: max(200, round(count * fraction))  # noqa: E731
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
}


def protocol(name: str | Protocol) -> Protocol:
    """The protocol of this name, or the one given."""
    if isinstance(name, Protocol):
        return name
    if name not in PROTOCOLS:
        raise HackleError(f"no protocol {name!r}; there are {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]
