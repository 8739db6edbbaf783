"""Every metric by name: each is a function of arrays in `hackle.metrics`, and here told which arrays of a plan it sees."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import hackle.metrics as metrics
from hackle.core.factors import scored_factors
from hackle.core.types import HackleError
from hackle.scoring.evaluation import Evaluation
from hackle.scoring.protocol import Protocol

_NEARLY_ALL = 0.9
"""The part of a data set that stands for it: what an information loses to the other images is at most −ln 0.9 nats."""


class ScoreError(HackleError):
    """Metrics that do not exist or do not fit."""


@dataclass(frozen=True)
class Metric:
    """One entry of the registry: what it computes, from what, and how to read it.

    needs: `factors` where the data set must have observed ones, `model` where images must be decoded.
    on: whether it sees codes, means or samples alike, means alone, or posteriors. slow: left out of "all" because it takes minutes.
    heavy: faster on the model's accelerator than on a CPU core. parts: what it reads of the plan beside independent points.
    row: the score by which it is known in a table, where it gives several and none of its own name. misses: what else it
    needs and does not find, in words; empty where nothing is missing.
    """

    compute: Callable[[Evaluation], float | dict[str, float]]
    better: Literal["higher", "lower", "neither"] = "higher"
    needs: tuple[Literal["factors", "model"], ...] = ("factors",)
    on: Literal["codes", "means", "posterior"] = "codes"
    ceiling: bool = True
    slow: bool = False
    heavy: bool = False
    parts: tuple[str, ...] = ()
    row: str = ""
    misses: Callable[[Evaluation], str] = lambda _: ""

    def lacks(self, evaluation: Evaluation) -> str:
        """What it needs and the data set or the model does not have; empty where it fits."""
        if "factors" in self.needs and not scored_factors(evaluation.grid):
            return "observed factors, of which the data set has none with more than one value"
        if "model" in self.needs and (evaluation.model is None or not evaluation.model.has_likelihood):
            return "a hackle model whose decoder gives images a likelihood"
        if self.on == "posterior" and not evaluation.posterior.has_posterior:
            return "posteriors; this encoder gives codes only. One that returns means and logvars has them"
        return self.misses(evaluation)

    def fits(self, evaluation: Evaluation) -> bool:
        """Whether the data set and the model have what it needs."""
        return not self.lacks(evaluation)


def _second_factor(e: Evaluation) -> str:
    """Which factor was held is a question where there are two."""
    if len(scored_factors(e.grid)) > 1:
        return ""
    return "two observed factors with more than one value, of which the data set has one"


def _beta_vae(e: Evaluation) -> float:
    return metrics.beta_vae_score(
        *e.differences(e.plan.pairs),
        test=e.differences(e.plan.test_pairs),
        classifier=e.protocol.beta_vae_classifier,
        iterations=e.protocol.beta_vae_iterations,
        seed=e.seed,
    )


def _factor_vae(e: Evaluation) -> float:
    active = None
    if e.protocol.prune_collapsed and e.posterior.has_posterior:
        active = metrics.active_units(*e.posteriors)
    return metrics.factor_vae_score(
        *e.groups(e.plan.groups),
        metrics.code_scale(e.codes, discrete=e.discrete),
        test=e.groups(e.plan.test_groups),
        minimum_variance=e.protocol.minimum_variance,
        active=active,
        discrete=e.discrete,
    )


def _dci_factors(e: Evaluation) -> list[int]:
    """The places, among the scored factors, of those that the protocol's DCI is about."""
    return [
        position
        for position, column in enumerate(scored_factors(e.grid))
        if not (e.protocol.dci_skips_categorical and e.grid.kinds[column] == "categorical")
    ]


def _numeric_factor(e: Evaluation) -> str:
    if _dci_factors(e):
        return ""
    return (
        f"a factor that is not categorical, of which the data set has none and the protocol {e.protocol.name} asks one"
    )


def _dci(e: Evaluation) -> dict[str, float]:
    kept = _dci_factors(e)
    test_codes, test_factors = e.test
    found = metrics.dci_scores(
        e.codes, e.factors[:, kept], test=(test_codes, test_factors[:, kept]), predictor=e.protocol.dci_predictor
    )
    return {
        "dci_disentanglement": found.disentanglement,
        "dci_completeness": found.completeness,
        "dci_informativeness": found.informativeness,
    }


def _separability(e: Evaluation) -> dict[str, float]:
    found = metrics.separable_information(
        *e.posteriors,
        correlation=e.correlation,
        bins=e.protocol.posterior_bins,
        mixture=e.mixture,
        seed=e.seed,
        device=e.device,
    )
    return {"informativeness_mean": float(found.informativeness.mean()), **_separable_scores(e, found)}


def _separable_scores(e: Evaluation, found: metrics.SeparableInformation) -> dict[str, float]:
    k = min(e.protocol.top, e.posterior.width)
    return {
        "total_information": found.total,
        f"sepin@{k}": found.sepin(k),
        "wsepin": found.wsepin(),
        f"indin@{k}": found.indin(k),
        "windin": found.windin(),
    }


@contextmanager
def _everything_is_enough(e: Evaluation) -> Iterator[None]:
    """Where the plan meets nearly all images the ceiling ln N is their entropy, and reaching it no fault of an estimate."""
    with warnings.catch_warnings():
        if len(e.posterior.index) > _NEARLY_ALL * e.grid.size:
            warnings.simplefilter("ignore", metrics.SaturatedEstimateWarning)
        yield


def _whole_separability(e: Evaluation) -> dict[str, float]:
    """Draws from some of the training points, the mixture from every image: of dSprites nearly the whole set.

    `whole_overlap` is Σ ρ_i I(z_i; z_≠i) = Σ ρ_i I(x; z_i) − WINDIN, with every information from the same draws.
    """
    means, logvars = (part[: e.protocol.draws] for part in e.posteriors)
    more: dict[str, Any] = {"mixture": e.everything, "seed": e.seed, "device": e.device}
    with _everything_is_enough(e):
        found = metrics.separable_information(
            means, logvars, correlation=e.correlation, bins=e.protocol.posterior_bins, **more
        )
        alone = metrics.informativeness(means, logvars, estimator="sampled", **more)
    total = found.informativeness.sum()
    shared = found.informativeness @ (alone - found.independent) / total if total > 0 else 0.0
    scores = {**_separable_scores(e, found), "overlap": float(shared)}
    return {f"whole_{name}": value for name, value in scores.items()}


def _interpretability(e: Evaluation) -> dict[str, float]:
    return {
        "rmig": metrics.rmig_from_information(e.factor_information),
        "posterior_modularity": metrics.modularity_from_information(e.factor_information.information),
    }


def _misjed(e: Evaluation) -> dict[str, float]:
    """The mean over all pairs, normalised, and that over pairs of the most informative codes (Do & Tran 2020, Table 5)."""
    if e.posterior.width < 2:
        return {"misjed": 0.0}
    bins, top = e.protocol.posterior_bins, _most_informative(e)
    pairs = metrics.misjed(*e.posteriors, bins=bins)
    return {"misjed": _of_pairs(pairs) / (2 * math.log(bins)), "misjed_top": _of_pairs(pairs[np.ix_(top, top)])}


def _whole_misjed(e: Evaluation) -> dict[str, float]:
    """`misjed_top` with the pairs of means counted over every image of the plan: 10,000 points leave most of 100 × 100 cells
    empty, which adds a quarter of a nat to the MISJED of two independent codes."""
    if e.posterior.width < 2:
        return {}
    top = _most_informative(e)
    pairs = metrics.misjed(*(part[:, top] for part in e.everything), bins=e.protocol.posterior_bins)
    return {"whole_misjed_top": _of_pairs(pairs)}


def _most_informative(e: Evaluation) -> NDArray[np.intp]:
    alone = metrics.informativeness(*e.posteriors, bins=e.protocol.posterior_bins)
    return np.argsort(-alone, kind="stable")[: max(2, e.protocol.top)]


def _of_pairs(matrix: NDArray[np.float64]) -> float:
    """The mean over pairs of codes."""
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())


def _sampled_interpretability(e: Evaluation) -> dict[str, float]:
    """Informativeness, RMIG and the MIG of Chen et al. 2018, which takes a factor's values to be equally likely."""
    options: dict[str, Any] = {"estimator": "sampled", "seed": e.seed, "device": e.device}
    return {
        "sampled_informativeness_mean": float(metrics.informativeness(*e.posteriors, **options).mean()),
        "sampled_rmig": metrics.rmig_from_information(e.sampled_factor_information),
        "sampled_mig": metrics.posterior_mig_score(*e.posteriors, e.factors, **options),
    }


def _true_tc(e: Evaluation) -> float:
    """Draws from some of the training points, the mixture from every image of the plan: of dSprites nearly the whole set."""
    points = min(e.protocol.draws, len(e.posteriors[0]))
    with _everything_is_enough(e):
        return metrics.monte_carlo_total_correlation(
            *e.posteriors,
            batch=points,
            samples=1,
            mixture=e.everything,
            seed=e.seed,
            correlation=e.correlation,
            device=e.device,
        )


def _batch_tc(e: Evaluation) -> float:
    """Draws from the test points, the mixture from the training points: of a large data set hardly a draw's own point is
    in the batch. Both are drawn from all images, so in a small one many are."""
    means, logvars = e.posterior.means(e.plan.test), e.posterior.logvars(e.plan.test)
    batch = (e.posteriors[0][: e.protocol.tc_batch], e.posteriors[1][: e.protocol.tc_batch])
    return metrics.batch_total_correlation(
        means, logvars, mixture=batch, seed=e.seed, correlation=e.correlation, device=e.device
    )


def _kl(e: Evaluation) -> dict[str, float]:
    return {
        "kl": metrics.kl_divergence(*e.posteriors, correlation=e.correlation).total,
        "active_units": float(metrics.active_units(*e.posteriors).sum()),
    }


def _reconstruction(e: Evaluation) -> dict[str, float]:
    model, images = e.decoding()
    found = metrics.reconstruction_error(model, images, seed=e.seed, correlation=e.correlation)
    bound = metrics.elbo(model, images, seed=e.seed, correlation=e.correlation)
    return {"reconstruction": float(found.mean()), "elbo": float(bound.mean())}


def _iwae(e: Evaluation) -> float:
    model, images = e.decoding(100)
    return float(metrics.importance_weighted_bound(model, images, seed=e.seed, correlation=e.correlation).mean())


def _downstream(classifier: Literal["logistic-cv", "gbt"]) -> Callable[[Evaluation], dict[str, float]]:
    def compute(e: Evaluation) -> dict[str, float]:
        name = classifier.replace("-", "_")
        sizes = [size for size in (10, 100, 1_000, 10_000) if size <= len(e.codes)]
        accuracy = {
            size: metrics.downstream_accuracy(e.codes[:size], e.factors[:size], *e.test, classifier=classifier)
            for size in sizes
        }
        found = {f"downstream_{name}_{size}": value for size, value in accuracy.items()}
        if {100, 10_000} <= accuracy.keys():
            found[f"efficiency_{name}"] = accuracy[100] / accuracy[10_000]
        return found

    return compute


_EVERY_PART = ("pairs", "test_pairs", "groups", "test_groups")
_of_posteriors = partial(Metric, needs=(), on="posterior", ceiling=False)
_sampled = partial(Metric, on="posterior", slow=True, heavy=True)

METRICS: dict[str, Metric] = {
    "beta_vae": Metric(_beta_vae, parts=("pairs", "test_pairs"), misses=_second_factor),
    "factor_vae": Metric(_factor_vae, parts=("groups", "test_groups"), misses=_second_factor),
    "mig": Metric(lambda e: metrics.mig_score(e.codes, e.factors, bins=e.protocol.bins)),
    "sap": Metric(lambda e: metrics.sap_score(e.codes, e.factors, test=e.test)),
    "dci": Metric(_dci, row="dci_disentanglement", misses=_numeric_factor),
    "modularity": Metric(lambda e: metrics.modularity_score(e.codes, e.factors, bins=e.protocol.bins)),
    "explicitness": Metric(lambda e: metrics.explicitness_score(e.codes, e.factors, test=e.test)),
    "gaussian_tc": Metric(lambda e: metrics.gaussian_total_correlation(e.codes), "lower", needs=(), ceiling=False),
    "separability": _of_posteriors(_separability, heavy=True, row="wsepin"),
    "whole_separability": _of_posteriors(
        _whole_separability, slow=True, heavy=True, parts=_EVERY_PART, row="whole_wsepin"
    ),
    "interpretability": Metric(_interpretability, on="posterior", row="rmig"),
    "jemmig": Metric(lambda e: metrics.jemmig_from_information(e.factor_information), "lower", on="posterior"),
    "posterior_mig": Metric(
        lambda e: metrics.posterior_mig_score(
            *e.posteriors, e.factors, bins=e.protocol.posterior_bins, estimator="quantised"
        ),
        on="posterior",
    ),
    "misjed": _of_posteriors(_misjed, "lower"),
    "whole_misjed": _of_posteriors(_whole_misjed, "lower", slow=True, parts=_EVERY_PART, row="whole_misjed_top"),
    "monte_carlo_tc": _of_posteriors(
        lambda e: metrics.monte_carlo_total_correlation(
            *e.posteriors, factorised=True, seed=e.seed, correlation=e.correlation
        ),
        "lower",
    ),
    "true_tc": _of_posteriors(_true_tc, "lower", slow=True, heavy=True, parts=_EVERY_PART),
    "batch_tc": _of_posteriors(_batch_tc, "neither", slow=True, heavy=True),
    "sampled_interpretability": _sampled(_sampled_interpretability, row="sampled_rmig"),
    "sampled_jemmig": _sampled(lambda e: metrics.jemmig_from_information(e.sampled_factor_information), "lower"),
    "kl": _of_posteriors(_kl, "neither"),
    "reconstruction": Metric(_reconstruction, "neither", needs=("model",), on="posterior", ceiling=False, heavy=True),
    "iwae": Metric(_iwae, "higher", needs=("model",), on="posterior", ceiling=False, slow=True, heavy=True),
    "downstream_logistic_cv": Metric(
        _downstream("logistic-cv"), on="means", slow=True, row="downstream_logistic_cv_10"
    ),
    "downstream_gbt": Metric(_downstream("gbt"), on="means", slow=True, row="downstream_gbt_10"),
}


def named_metrics(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """The names in a list or in text with commas, "all" among them, or an error for one that does not exist."""
    names = tuple(wanted.split(",") if isinstance(wanted, str) else wanted)
    for name in names:
        if name not in METRICS and name != "all":
            near = get_close_matches(name, METRICS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"
            raise ScoreError(f"no metric {name!r}; {hint}")
    return names


def choose_metrics(wanted: str | Iterable[str], protocol: Protocol | None = None) -> dict[str, Metric]:
    """The metrics of these names; "all" is every one that takes seconds, or those that the protocol is for.

    A protocol that is for certain metrics gives no others: a study names its metrics once for all of its protocols.
    """
    only = protocol.metrics if protocol is not None else ()
    every = only or tuple(name for name, metric in METRICS.items() if not metric.slow)
    chosen = dict.fromkeys(part for name in named_metrics(wanted) for part in (every if name == "all" else (name,)))
    return {name: METRICS[name] for name in chosen if not only or name in only}
