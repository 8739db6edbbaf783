"""Total correlation as scores: the estimators of `hackle.information.total_correlation`, each on its part of a plan."""

from __future__ import annotations

from hackle.information.sampled import everything_is_enough
from hackle.information.total_correlation import (
    batch_total_correlation,
    gaussian_total_correlation,
    monte_carlo_total_correlation,
)
from hackle.metrics.metric import EVERY_PART, Evaluation, Metric, Row


def _true(e: Evaluation) -> float:
    """Draws from some training points, the mixture over every image of the plan: for dSprites, nearly the whole set."""
    points = min(e.protocol.draws, len(e.posteriors[0]))
    with everything_is_enough(e.coverage):
        return monte_carlo_total_correlation(
            *e.posteriors,
            batch=points,
            samples=1,
            mixture=e.everything,
            seed=e.seed,
            correlation=e.correlation,
            device=e.device,
        )


def _batch(e: Evaluation) -> float:
    """Draws from the test points, the mixture over the training points. Both come from all images: in a large data set
    a draw's own point is rarely in the batch, in a small one often."""
    means, logvars = (part[: e.protocol.tc_batch] for part in e.posteriors)
    return batch_total_correlation(
        *e.test_posteriors, mixture=(means, logvars), seed=e.seed, correlation=e.correlation, device=e.device
    )


GAUSSIAN_TC = Metric(
    "gaussian_tc",
    lambda e: gaussian_total_correlation(e.codes),
    (Row("gaussian_tc", "total correlation (nats)", "TC", 0.0, None),),
    "lower",
    needs=(),
)
MONTE_CARLO_TC = Metric(
    "monte_carlo_tc",
    lambda e: monte_carlo_total_correlation(*e.posteriors, factorised=True, seed=e.seed, correlation=e.correlation),
    (Row("monte_carlo_tc", "TC from batches of 64 (nats)", "TC", None, None),),
    "lower",
    needs=(),
    on="posterior",
    remedy="--metrics true_tc",
)
TRUE_TC = Metric(
    "true_tc",
    _true,
    (Row("true_tc", "total correlation (nats)", "true TC", None, None),),
    "lower",
    needs=(),
    on="posterior",
    slow=True,
    parts=EVERY_PART,
)
BATCH_TC = Metric(
    "batch_tc",
    _batch,
    (Row("batch_tc", "batch estimate of TC (nats)", "batch TC", None, None),),
    "neither",
    needs=(),
    on="posterior",
    slow=True,
)
