"""InfoM, InfoC and InfoE: modularity, compactness and explicitness from information (Hsu et al. 2023, "InfoMEC").

With NMI_kj = I(v_k; z_j) / H(v_k) for the f factors and the a active codes,

    InfoM = ( mean over codes of    max_k NMI_kj / Σ_k NMI_kj  −  1/f ) / (1 − 1/f)      each code is about one factor
    InfoC = ( mean over factors of  max_j NMI_kj / Σ_j NMI_kj  −  1/a ) / (1 − 1/a)      each factor is in one code
    InfoE = mean over factors of  1 − H(v_k | z) / ln K_k                                factors can be read linearly

Of a continuous code, I is Ross's estimate with 10 neighbours, at most H(v_k); of a discrete one it is counted. A discrete
code is active if it varies, a continuous one if its range exceeds a twentieth of the largest. H(v_k | z) is the log-loss, on
the rows that it was fitted to, of an unpenalised multinomial logistic regression on all codes, standardised or one-hot, with
balanced class weights; a prediction without codes then has ln K_k for K_k values. So as the authors' `infomec.py` has it.

Where the formulas are 0/0: a code without any information is left out of InfoM, as in the authors' older module; a factor
that no code informs about counts as spread evenly, 0; with one factor InfoM is 1, and with one active code InfoC is the share
of factors that it informs about. Departures: codes are whitened, which an unpenalised regression does not notice, so that
L-BFGS needs no more steps for codes that are mixed linearly than for these codes themselves. The paper leaves continuous
factors open: here InfoM and InfoC see them in bins, and InfoE of such a factor is R² of a linear regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from hackle.core.columns import Kinds, TableLike
from hackle.information.discrete import discrete_entropy, discrete_mutual_information
from hackle.information.entries import Ranges
from hackle.information.nearest_neighbours import ross_information
from hackle.metrics.checks import Classes, MetricError, Table, check_split, standardise
from hackle.metrics.metric import Evaluation, Metric, Row
from hackle.metrics.mig import normalised_information

_ITERATIONS, _SLOPE = 100, 1e-4
"""When the regression stops: after this many steps, or once no entry of the mean log-loss's gradient is larger. These are
scikit-learn's defaults, with which the authors fit."""
_SMALLEST = 1e-10
"""Directions in which codes vary less than this fraction of the most are linear combinations of others, up to rounding."""


class InfoMEC(NamedTuple):
    """The three scores. Modularity and compactness are between 0 and 1; explicitness is at most 1."""

    modularity: float
    compactness: float
    explicitness: float


def infomec_scores(
    codes: TableLike,
    factors: TableLike,
    *,
    discrete: bool | Sequence[bool] = False,
    neighbours: int = 10,
    balanced: bool = True,
    kinds: Kinds | None = None,
    factor_bins: int = 20,
) -> InfoMEC:
    """InfoM, InfoC and InfoE of codes (n, c) and factors (n, f).

    `discrete` says which codes are class numbers: all, none, or a flag for each. `neighbours` is the k of Ross's estimate.
    `balanced` weights the classes of a factor equally when explicitness is fitted, and measures it against ln K; without it,
    frequencies count and H(v_k) is the entropy. `kinds` gives the factors' kinds, which are otherwise guessed; continuous
    factors are cut into `factor_bins` bins for the first two scores.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2).repeat(50, axis=0)
    >>> found = infomec_scores(grid, grid, discrete=True)
    >>> found.modularity, found.compactness, found.explicitness > 0.999
    (1.0, 1.0, True)
    """
    split = check_split(codes, factors, None, kinds, factor_bins)
    flags = _flags(discrete, split.codes.shape[1])
    if not isinstance(neighbours, int | np.integer) or neighbours < 1:
        raise MetricError(f"neighbours is {neighbours!r}; expected a whole number, 1 or more")
    active = active_codes(Ranges(split.codes.min(axis=0), split.codes.max(axis=0)), flags)
    information = np.empty((int(active.sum()), split.factors.shape[1]))
    if (counted := flags[active]).any():
        information[counted] = discrete_mutual_information(split.codes[:, active & flags], split.factors)
    if not counted.all():
        information[~counted] = ross_information(split.codes[:, active & ~flags], split.factors, neighbours=neighbours)
    entropies = discrete_entropy(split.factors)
    modularity, compactness = infomec_from_information(information, entropies) if active.any() else (0.0, 0.0)
    columns = zip(split.continuous, split.numbers.T, split.factors.T, strict=True)
    # The products are small: on a machine that does other work, threads would wait for each other ten times as long.
    with _blas().limit(limits=1):
        inputs = _whitened(_inputs(split.codes, flags))
        explicitness = [
            _linear_share(inputs, numbers) if regressed else _logistic_share(inputs, classes, balanced)
            for regressed, numbers, classes in columns
        ]
    return InfoMEC(modularity, compactness, float(np.mean(explicitness)))


@cache
def _blas() -> ThreadpoolController:
    """NumPy's linear algebra, found once: to look through what is loaded takes as long as a fit."""
    return ThreadpoolController().select(user_api="blas")


def infomec_from_information(information: ArrayLike, entropies: ArrayLike) -> tuple[float, float]:
    """InfoM and InfoC from the mutual information (a, f) of active codes and the factors' entropies (f,).

    >>> infomec_from_information([[1.0, 0.0], [0.5, 0.5]], [1.0, 1.0])
    (0.5, 0.6666666666666665)
    """
    shares = np.minimum(normalised_information(information, entropies), 1.0)
    informed = shares.any(axis=1)
    return _concentration(shares[informed]) if informed.any() else 0.0, _concentration(shares.T)


def _concentration(shares: Table) -> float:
    """The mean over rows of the largest entry's part of the row's sum, scaled so that equal entries give 0."""
    sums, even = shares.sum(axis=1), 1.0 / shares.shape[1]
    parts = np.divide(shares.max(axis=1), sums, out=np.full(len(shares), even), where=sums > 0)
    return float(np.mean(sums > 0)) if even == 1.0 else float((parts.mean() - even) / (1.0 - even))


def active_codes(ranges: Ranges, discrete: bool | NDArray[np.bool_] = False) -> NDArray[np.bool_]:
    """Which codes, (c,), are active: discrete ones that vary, continuous ones with over 1/20 of the largest range."""
    widths = np.where(ranges.varying, ranges.high - ranges.low, 0.0)
    flags = np.broadcast_to(discrete, widths.shape)
    return widths > np.where(flags, 0.0, np.where(flags, 0.0, widths).max() / 20)


def _flags(discrete: bool | Sequence[bool], codes: int) -> NDArray[np.bool_]:
    flags = np.asarray(discrete, dtype=bool)
    if flags.ndim and flags.shape != (codes,):
        raise MetricError(f"discrete has {flags.size} flags for {codes} codes; expected one for each, or one for all")
    return np.broadcast_to(flags, (codes,))


def _inputs(codes: Table, discrete: NDArray[np.bool_]) -> Table:
    """What the regressions see: continuous codes that vary, standardised, and a column for each value of a discrete one."""
    parts = [standardise(codes[:, ~discrete], codes[:, ~discrete])[0]] if not discrete.all() else []
    parts += [(code[:, None] == np.unique(code)) * 1.0 for code in codes.T[discrete]]
    return np.hstack(parts)


def _whitened(inputs: Table) -> Table:
    """Uncorrelated columns of variance 1 that span the same space, without directions that do not vary."""
    centred = inputs - inputs.mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T @ centred / len(inputs))
    kept = variances > _SMALLEST * max(variances.max(initial=0.0), np.finfo(float).tiny)
    return centred @ (directions[:, kept] / np.sqrt(variances[kept]))


def _linear_share(inputs: Table, values: NDArray[np.float64]) -> float:
    """R² of a linear regression on uncorrelated columns."""
    centred = values - values.mean()
    return float(np.sum((inputs.T @ centred / len(values)) ** 2) / np.mean(centred**2))


def _logistic_share(inputs: Table, classes: Classes, balanced: bool) -> float:
    """1 − log-loss / its value without inputs, of a multinomial logistic regression on the rows that it is fitted to."""
    counts = np.bincount(classes)
    rows, size = len(classes), len(counts)
    weights = (1.0 / (size * counts) if balanced else np.full(size, 1.0 / rows))[classes]
    columns = np.vstack([inputs.T, np.ones(rows)])
    own = (classes, np.arange(rows))

    def of_logits(flat: NDArray[np.float64]) -> tuple[Table, NDArray[np.float64], NDArray[np.float64]]:
        """Probabilities (K, n) before they are divided by their sums, these sums, and each row's log-loss."""
        logits = flat.reshape(size, -1) @ columns
        logits -= logits.max(axis=0)
        here = logits[own]
        sums = np.exp(logits, out=logits).sum(axis=0)
        return logits, sums, np.log(sums) - here

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        surplus, sums, losses = of_logits(flat)
        surplus *= weights / sums
        surplus[own] -= weights
        return float(weights @ losses), (surplus @ columns.T).ravel()

    options = {"maxiter": _ITERATIONS, "gtol": _SLOPE, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
    fitted = minimize(loss, np.zeros(size * len(columns)), jac=True, method="L-BFGS-B", options=options)
    without = np.log(size) if balanced else discrete_entropy(classes[:, None])[0]
    return float(1.0 - of_logits(fitted.x)[2].mean() / without)


def _compute(e: Evaluation) -> dict[str, float]:
    scores = infomec_scores(e.codes, e.values, discrete=e.discrete, kinds=e.kinds, factor_bins=e.grid.bins)
    return {"infom": scores.modularity, "infoc": scores.compactness, "infoe": scores.explicitness}


INFOMEC = Metric(
    "infomec",
    _compute,
    (
        Row("infom", "InfoM (modularity)", "InfoM"),
        Row("infoc", "InfoC (compactness)", "InfoC"),
        Row("infoe", "InfoE (explicitness)", "InfoE", None, 1.0),
    ),
)
