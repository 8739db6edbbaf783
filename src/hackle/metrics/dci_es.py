"""DCI-ES (Eastwood et al. 2023): explicitness and size beside disentanglement, completeness and informativeness.

**Explicitness** asks how small a probe reads a factor off the codes. Probes of growing capacity κ_1 < … < κ_T have test
losses ℓ_t, made non-increasing (ℓ_t ← min_{s ≤ t} ℓ_s), that start at most at ℓ_b, the loss of a constant prediction:

    E_k = 1 − ∫ (ℓ(κ) − ℓ_T) dκ / ( ½ (κ_T − κ_1) ℓ_b )   by trapezoids;      E = mean over factors

At 1 the smallest probe is as good as any, at 0 the loss falls linearly to 0 as capacity grows, below 0 only the largest
probes succeed. The loss is 1 − R², or 1 − accuracy where a factor is categorical. The normaliser is that of the authors'
code, "used in the ICLR paper". **Read E beside I**: codes that say nothing have a flat curve, ℓ = ℓ_T, and E = 1. With
`above="zero"` the integral is over ℓ itself: useless codes score −1, and what no probe predicts costs as well.

The probe: ridge regression (penalty 1, as in scikit-learn) on the standardised codes and m random Fourier features
cos(wᵀz + b), w ~ N(0, I / c), b uniform; for classes, on their indicators. m = 0, 16, 32, … 1,024 and κ = ln(parameters)
= ln(1 + c + m). All probes share one matrix of moments, whose Cholesky factor holds that of every smaller one, so that
all are solved at once. Departures: the paper trains by gradient descent, and with multilayer perceptrons and forests,
too; the linear probe, m = 0, is that of its perceptrons' width 0. Compare representations with equally many codes, so
that the range of κ is the same.

**D, C and I** are those of DCI from each factor's probe of least loss: the importance of a code is by how much the test
loss rises when that code is permuted among the test rows, at least 0, divided by the sum over codes (the paper estimates
SAGE values). I is 1 − ℓ_T: R², or accuracy. **Size** is S = f / c, factors over codes, constant codes included; in all
else they are left out. If every code is constant, D = C = 0, E = 1 and I is that of a constant prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular

from hackle.core.columns import Kinds, TableLike
from hackle.metrics.checks import (
    MetricError,
    Split,
    Table,
    TestPair,
    check_choice,
    check_codes,
    check_split,
    standardise,
)
from hackle.metrics.dci import dci_from_importance
from hackle.metrics.metric import Evaluation, Metric, Row

FEATURES = (0, 16, 32, 64, 128, 256, 512, 1024)
_PENALTY = 1.0
_ROWS = 4096
"""Rows whose features are in memory at once where their moments are summed: 34 MB."""
_NEAR = 512
"""The same where they are only multiplied by weights: 4 MB, which the next cache holds."""
_CACHED = 32
"""Rows whose angles are computed at once: a quarter of a megabyte."""


class DCIESScores(NamedTuple):
    """The five scores."""

    disentanglement: float
    completeness: float
    informativeness: float
    explicitness: float
    size: float


class LossCurves(NamedTuple):
    """Test losses of probes of growing capacity, and what the best ones look at."""

    capacities: NDArray[np.float64]
    """ln(parameters), (t,)."""
    losses: NDArray[np.float64]
    """(f, t), non-increasing; factors with more than one training value."""
    baselines: NDArray[np.float64]
    """The loss of a constant prediction, (f,)."""
    importance: NDArray[np.float64]
    """(c, f), of the codes that vary; columns sum to 1, or are 0."""


def dci_es_scores(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    kinds: Kinds | None = None,
    features: Sequence[int] = FEATURES,
    above: str = "lowest",
    seed: int = 0,
) -> DCIESScores:
    """Disentanglement, completeness, informativeness, explicitness and size of codes (n, c) and factors (n, f).

    `test` holds the codes and factors on which losses are measured; without it, the training rows are used. `kinds`
    gives the factors' kinds, which are otherwise guessed: categorical factors are classified, all others regressed.
    `features` are the numbers of random features, drawn by `seed`. `above` is the floor of the integral: "lowest", the
    curve's own minimum, or "zero".

    >>> rng = np.random.default_rng(0)
    >>> factors = rng.random((600, 2))
    >>> [round(score, 2) for score in dci_es_scores(factors, factors, test=(factors[:300], factors[:300]))]
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    curves = loss_curves(codes, factors, test=test, kinds=kinds, features=features, seed=seed)
    return _scores(curves, check_codes(codes).shape[1], above)


def _scores(curves: LossCurves, codes: int, above: str) -> DCIESScores:
    explicitness = explicitness_from_losses(curves.losses, curves.capacities, curves.baselines, above=above)
    importance = dci_from_importance(curves.importance) if len(curves.importance) else (0.0, 0.0)
    informativeness = 1 - curves.losses[:, -1].mean()
    return DCIESScores(*importance, float(informativeness), float(explicitness.mean()), len(curves.losses) / codes)


def explicitness_from_losses(
    losses: ArrayLike, capacities: ArrayLike, baselines: ArrayLike, *, above: str = "lowest"
) -> NDArray[np.float64]:
    """E of each factor, (f,), from losses (f, t) at capacities (t,) and the losses of constant predictions (f,).

    >>> explicitness_from_losses([[1, 1, 1, 0], [1, 2 / 3, 1 / 3, 0]], [0, 1, 2, 3], [1, 1]).round(4) + 0.0
    array([-0.6667,  0.    ])
    """
    check_choice(above, ("lowest", "zero"), "above")
    curves, steps = check_codes(losses, "losses", "f t"), np.asarray(capacities, dtype=np.float64)
    start = np.asarray(baselines, dtype=np.float64)
    if steps.shape != curves.shape[1:] or len(steps) < 2 or not (np.diff(steps) > 0).all():
        raise MetricError(f"capacities are {steps}; expected {curves.shape[1]} growing numbers, two or more")
    if start.shape != curves.shape[:1] or not (start > 0).all():
        raise MetricError(f"baselines are {start}; expected {len(curves)} positive losses, one for each factor")
    falling = np.minimum.accumulate(curves, axis=1)
    area = np.trapezoid(falling - (falling[:, -1:] if above == "lowest" else 0.0), steps, axis=1)
    return 1 - area / (0.5 * (steps[-1] - steps[0]) * start)


def loss_curves(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    kinds: Kinds | None = None,
    features: Sequence[int] = FEATURES,
    seed: int = 0,
) -> LossCurves:
    """The curves behind the scores; arguments as for `dci_es_scores`."""
    counts = [int(count) for count in features]
    if len(counts) < 2 or counts[0] < 0 or not (np.diff(counts) > 0).all():
        raise MetricError(f"features are {tuple(features)}; expected two or more growing numbers, such as {FEATURES}")
    split = check_split(codes, factors, test, kinds)
    train, held_out = standardise(split.codes, split.test_codes)
    width, rng = train.shape[1], np.random.default_rng(seed)
    basis = _Basis(rng.normal(size=(width, counts[-1])) / np.sqrt(max(width, 1)), rng.uniform(0, 2 * np.pi, counts[-1]))
    targets = _Targets(split)
    weights, intercepts = _ridges(basis, train, targets.train, [width + count for count in counts])
    together = basis.times(held_out, np.hstack(list(weights))) + intercepts.ravel()
    predicted = np.split(together, len(counts), axis=1)
    baselines = targets.losses(np.broadcast_to(targets.train.mean(axis=0), predicted[0].shape))
    if not (baselines > 0).all():
        raise MetricError("a factor does not vary in the test rows; expected at least two values of it there")
    # A probe that overfits is worse than a constant prediction, which every probe could make.
    losses = np.minimum(np.stack([targets.losses(one) for one in predicted], axis=1), baselines[:, None])
    best = targets.of_factor(losses.argmin(axis=1))
    outputs = np.arange(len(best))
    chosen, offset = weights[best, :, outputs].T, intercepts[best, outputs]
    least, importance = losses.min(axis=1), np.zeros((width, len(losses)))
    for code in range(width):
        changed = held_out.copy()
        changed[:, code] = rng.permutation(changed[:, code])
        importance[code] = np.maximum(targets.losses(basis.times(changed, chosen) + offset) - least, 0.0)
    total = importance.sum(axis=0)
    shares = np.divide(importance, total, out=np.zeros_like(importance), where=total > 0)
    return LossCurves(np.log1p(width + np.array(counts)), np.minimum.accumulate(losses, axis=1), baselines, shares)


def _blocks(codes: Table, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, len(codes), size)]


class _Basis(NamedTuple):
    """The functions whose sums probes are: the codes themselves, then random Fourier features."""

    directions: Table
    phases: NDArray[np.float64]

    def __call__(self, codes: Table) -> Table:
        rows, width = codes.shape
        values = np.empty((rows, width + len(self.phases)))
        values[:, :width] = codes
        for part in _blocks(codes, _CACHED):
            angles = codes[part] @ self.directions
            angles += self.phases
            # Cosines of single precision take a twentieth of the time, and any fixed function is as good a feature.
            single = angles.astype(np.float32)
            np.multiply(np.cos(single, out=single), np.sqrt(2), out=values[part, width:])
        return values

    def times(self, codes: Table, weights: Table) -> Table:
        """The products (n, o) of the functions at codes with weights (c + m, o)."""
        # A product with few rows takes less time than one with few columns.
        few = np.ascontiguousarray(weights.T)
        return np.concatenate([(few @ self(codes[rows]).T).T for rows in _blocks(codes, _NEAR)])


def _ridges(basis: _Basis, codes: Table, targets: Table, sizes: list[int]) -> tuple[Table, Table]:
    """Weights (t, c + m, o), zero beyond each probe's size, and intercepts (t, o) of ridge regressions."""
    count = len(basis.phases) + codes.shape[1]
    moments, products, total = np.zeros((count, count)), np.zeros((count, targets.shape[1])), np.zeros(count)
    centre = targets.mean(axis=0)
    for rows in _blocks(codes, _ROWS):
        values = basis(codes[rows])
        moments += values.T @ values
        products += ((targets[rows] - centre).T @ values).T
        total += values.sum(axis=0)
    mean = total / len(codes)
    moments -= len(codes) * np.outer(mean, mean)
    moments[np.diag_indices(count)] += _PENALTY
    lower = cholesky(moments, lower=True, overwrite_a=True)
    half = solve_triangular(lower, products, lower=True)
    weights = np.zeros((len(sizes), *products.shape))
    for probe, size in enumerate(sizes):
        weights[probe, :size] = solve_triangular(lower[:size, :size], half[:size], lower=True, trans=1)
    return weights, centre - mean @ weights


class _Targets:
    """What probes predict: a column for each factor's standardised numbers, or one for each class of a categorical one."""

    def __init__(self, split: Split[Table]) -> None:
        self.numbers, self.test_numbers = standardise(split.numbers, split.test_numbers)
        self.classes, self.test_classes = split.factors, split.test_factors
        self.categorical = [kind == "categorical" for kind in split.kinds]
        columns = [
            np.eye(self.classes[:, k].max() + 1)[self.classes[:, k]] if is_class else self.numbers[:, k : k + 1]
            for k, is_class in enumerate(self.categorical)
        ]
        self.train = np.hstack(columns)
        self._widths = [column.shape[1] for column in columns]

    def of_factor(self, values: NDArray) -> NDArray:
        """A value of each factor (f,) for each of its columns, (o,)."""
        return np.repeat(values, self._widths)

    def losses(self, predicted: NDArray) -> NDArray[np.float64]:
        """1 − R² or 1 − accuracy of each factor, (f,), of predictions (n, o) for the test rows."""
        errors = np.empty(len(self._widths))
        for k, part in enumerate(np.split(predicted, np.cumsum(self._widths)[:-1], axis=1)):
            if self.categorical[k]:
                errors[k] = np.mean(part.argmax(axis=1) != self.test_classes[:, k])
            else:
                # The training mean, the best constant prediction, is 0 after standardising.
                square = np.mean(self.test_numbers[:, k] ** 2)
                errors[k] = np.mean((part[:, 0] - self.test_numbers[:, k]) ** 2) / square if square > 0 else 0.0
        return errors


def _compute(e: Evaluation) -> dict[str, float]:
    test = e.test[0], e.test_values
    curves = loss_curves(e.codes, e.values, test=test, kinds=e.kinds, seed=e.seed)
    above_lowest, above_zero = (_scores(curves, e.codes.shape[1], above) for above in ("lowest", "zero"))
    scores = {f"dci_es_{name}": value for name, value in above_lowest._asdict().items()}
    return {**scores, "dci_es_explicitness_above_zero": above_zero.explicitness}


DCI_ES = Metric(
    "dci_es",
    _compute,
    (
        Row("dci_es_explicitness", "DCI-ES explicitness", "E", None, 1.0),
        Row("dci_es_explicitness_above_zero", "DCI-ES explicitness above zero", "E above 0", -1.0, 1.0),
        Row("dci_es_informativeness", "DCI-ES informativeness", "DCI-ES I"),
        Row("dci_es_disentanglement", "DCI-ES disentanglement", "DCI-ES D"),
        Row("dci_es_completeness", "DCI-ES completeness", "DCI-ES C"),
        Row("dci_es_size", "DCI-ES size", "S", 0.0, None),
    ),
    continuous="values",
)
