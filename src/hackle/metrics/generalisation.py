"""Whether codes say of combinations of factors that were left out of training what they say of those that were seen
(Schott et al. 2022).

A linear readout is fitted on codes of combinations that the model was trained on. For factor k

    R²_k = 1 − MSE_k / Var_k

on other seen combinations and on left-out ones, with Var_k the variance of the factor over the **whole** grid, the same on
both sides: predicting the mean of the left-out rows does not give 0. R² may be negative. Class numbers of categorical
factors are regressed like numbers, as in the paper. A value of a factor that occurs in no combination of the training, of a
continuous factor a bin of them, is **unseen**; left-out rows of a composition have none, those of an interpolation or
extrapolation have some. R² over those entries alone is kept apart, and what is lost is taken over the factors that have
such values: those that do not may be harder to read.

Departure: the paper's readouts are networks. This one is least squares on standardised codes: perfect codes then score 1 on
both sides, whereas trees, which predict nothing beyond the values they have seen, would fail to extrapolate from perfect codes
as well.

For models with a likelihood the reconstruction error, in nats, is given on both sides, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import TableLike
from hackle.core.factors import scored_factors
from hackle.metrics.checks import MetricError, check_codes, standardise
from hackle.metrics.likelihood import reconstruction_error
from hackle.metrics.metric import Evaluation, Metric, Row

Floats = NDArray[np.float64]
Points = tuple[TableLike, TableLike]
"""Codes (n, c), and factors as numbers (n, f)."""


class Generalisation(NamedTuple):
    """R² of each factor, (f,), on seen rows, on left-out rows, and on those of the latter whose value of the factor was
    never seen; NaN where there is no such row."""

    seen: Floats
    left_out: Floats
    unseen: Floats

    @property
    def loss(self) -> float:
        """How much lower R² is than on seen rows, mean over factors: on unseen values, of the factors that have any, or else
        on left-out rows."""
        beyond = self.seen - self.unseen
        return float(np.nanmean(beyond) if np.isfinite(beyond).any() else np.mean(self.seen - self.left_out))


def generalisation_scores(
    train: Points,
    seen: Points,
    left_out: Points,
    *,
    variances: ArrayLike | None = None,
    unseen: ArrayLike | None = None,
) -> Generalisation:
    """R² of a linear readout that is fitted on the codes and factors of `train`, on two other sets of rows.

    variances: of the factors over the whole grid, (f,); by default over all rows given. unseen: which values of the left-out
    rows training never had, (n, f); by default those that neither `train` nor `seen` has.

    >>> rows = np.stack(np.meshgrid(np.arange(8), np.arange(6)), axis=-1).reshape(-1, 2)
    >>> seen, left_out = rows[rows[:, 0] < 4], rows[rows[:, 0] >= 4]
    >>> found = generalisation_scores((2.0 * seen, seen), (2.0 * seen, seen), (2.0 * left_out, left_out))
    >>> found.left_out.round(3).tolist(), found.unseen.round(3).tolist()
    ([1.0, 1.0], [1.0, nan])
    """
    parts = {"train": train, "seen": seen, "left_out": left_out}
    codes = [check_codes(part[0], f"codes of {name}") for name, part in parts.items()]
    factors = [check_codes(part[1], f"factors of {name}", "n f") for name, part in parts.items()]
    for name, points, rows in zip(parts, codes, factors, strict=True):
        if len(points) != len(rows) or (points.shape[1], rows.shape[1]) != (codes[0].shape[1], factors[0].shape[1]):
            raise MetricError(
                f"{name} has codes {points.shape} and factors {rows.shape}; expected as many rows of both, and "
                f"{codes[0].shape[1]} and {factors[0].shape[1]} columns as in train"
            )
    spread = np.concatenate(factors).var(axis=0) if variances is None else np.asarray(variances, np.float64)
    if spread.shape != factors[0].shape[1:] or not (spread > 0).all():
        raise MetricError(f"variances of the factors are {spread}; expected a positive number for each")
    fitted, others = standardise(codes[0], np.concatenate(codes[1:]))
    centre = factors[0].mean(axis=0)
    weights = np.linalg.lstsq(fitted, factors[0] - centre)[0]
    errors = np.square(others @ weights + centre - np.concatenate(factors[1:]))
    known, new = errors[: len(codes[1])], errors[len(codes[1]) :]
    if unseen is None:
        trained = np.concatenate(factors[:2])
        unseen = np.stack([~np.isin(*both) for both in zip(factors[2].T, trained.T, strict=True)], axis=1)
    never = np.asarray(unseen)
    if never.shape != new.shape or never.dtype != bool:
        raise MetricError(f"unseen is {never.dtype} {never.shape}; expected a truth value for each of {new.shape}")
    missed = np.array([part[mask].mean() if mask.any() else np.nan for part, mask in zip(new.T, never.T, strict=True)])
    return Generalisation(*(1 - error / spread for error in (known.mean(axis=0), new.mean(axis=0), missed)))


def _generalisation(e: Evaluation) -> dict[str, float]:
    points = e.exposed("train"), e.exposed("seen"), e.exposed("left_out")
    result = generalisation_scores(*points, variances=e.variances, unseen=e.unseen)
    scores = {"generalisation": float(result.left_out.mean()), "generalisation_seen": float(result.seen.mean())}
    if np.isfinite(result.unseen).any():
        scores["generalisation_unseen"] = float(np.nanmean(result.unseen))
    scores["generalisation_loss"] = result.loss
    for place, column in enumerate(scored_factors(e.grid)):
        scores[f"generalisation_{e.grid.names[column]}"] = float(result.left_out[place])
        scores[f"generalisation_seen_{e.grid.names[column]}"] = float(result.seen[place])
    return scores


def _reconstruction(e: Evaluation) -> dict[str, float]:
    images = {"reconstruction_left_out": e.decoding(of="left_out"), "reconstruction_seen": e.decoding(of="seen")}
    return {
        name: float(reconstruction_error(*part, seed=e.seed, correlation=e.correlation).mean())
        for name, part in images.items()
    }


GENERALISATION = Metric(
    "generalisation",
    _generalisation,
    (
        Row("generalisation", "R² on left-out combinations", "R² left out", None),
        Row("generalisation_seen", "R² on seen combinations", "R² seen", None),
        Row("generalisation_unseen", "R² on values never seen", "R² unseen", None),
        Row("generalisation_loss", "R² lost beyond what was seen", "R² lost", None, None, "lower"),
        Row("generalisation_seen_*", "R² of * on seen combinations", "R² seen *", None),
        Row("generalisation_*", "R² of * on left-out combinations", "R² left out *", None),
    ),
    needs=("factors", "left-out combinations"),
    on="means",
    continuous="values",
    parts=("exposure",),
)
RECONSTRUCTION = Metric(
    "generalisation_reconstruction",
    _reconstruction,
    (
        Row(
            "reconstruction_left_out",
            "reconstruction error of left-out combinations (nats)",
            "Rec. left out",
            None,
            None,
        ),
        Row("reconstruction_seen", "reconstruction error of seen combinations (nats)", "Rec. seen", None, None),
    ),
    "neither",
    needs=("a likelihood", "left-out combinations"),
    on="posterior",
    parts=("exposure",),
)
