"""What each metric says about codes whose quality is known, as small bar charts for the metrics' pages.

The same four factors every time, 3 × 6 × 8 × 8 values, in all combinations. Their codes are the factors, one code each, with a
little noise; those codes turned by a rotation, which loses nothing but mixes the factors; and noise that knows nothing. Every
number is computed by the metric that the page is about, most by `hackle.score_codes`, with its reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hackle
from hackle.information import discrete_entropy, discrete_mutual_information
from hackle.information.discrete import bin_codes
from hackle.metrics import metric as registry

SIZES = {"shape": 3, "scale": 6, "x": 8, "y": 8}
REPEATS, SPREAD = 4, 0.1
CODES = ("one code per factor", "the same, rotated", "noise")
COLOURS = ("#2f6fb3", "#d98a1c", "#8c8c8c")
PROTOCOL = "locatello2019"

Floats = NDArray[np.float64]


class Bars(NamedTuple):
    """One score: its label, its value for each kind of codes, the reference if it has one, and whether lower is better."""

    label: str
    values: Mapping[str, float]
    reference: float | None = None
    lower: bool = False


@cache
def factors() -> NDArray[np.int64]:
    """All combinations of the factors' values, several times, (n, 4)."""
    grid = np.stack(np.meshgrid(*map(np.arange, SIZES.values()), indexing="ij"), axis=-1).reshape(-1, len(SIZES))
    return np.tile(grid, (REPEATS, 1))


@cache
def codes() -> dict[str, Floats]:
    """The codes of every kind, (n, 4)."""
    return encoded(factors(), seed=0)


def encoded(rows: NDArray[np.int64], seed: int) -> dict[str, Floats]:
    """The codes of every kind of these factor rows; those of the first kind have variance 1, and a little noise."""
    rng, every = np.random.default_rng(seed), factors()
    plain = (rows - every.mean(axis=0)) / every.std(axis=0) + SPREAD * rng.normal(size=rows.shape)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(len(SIZES), len(SIZES))))[0]
    return dict(zip(CODES, (plain, plain @ rotation, rng.normal(size=rows.shape)), strict=True))


def scored(*metrics: str, only: tuple[str, ...] = (), continuous: bool = False) -> list[Bars]:
    """The rows of metrics in the table of `hackle.score_codes`; all of them, or those named."""
    rows = {name: column * 1.0 if continuous and name in ("x", "y") else column for name, column in _columns().items()}
    if continuous:
        jitter = np.random.default_rng(1).uniform(-0.5, 0.5, size=(2, len(factors())))
        rows = {**rows, "x": rows["x"] + jitter[0], "y": rows["y"] + jitter[1]}
    kinds: Any = (
        {"x": "continuous", "y": "continuous"} if continuous else {"scale": "ordinal", "x": "ordinal", "y": "ordinal"}
    )
    found: dict[str, dict[str, float]] = {}
    references: dict[str, float] = {}
    for kind, values in codes().items():
        logvars = np.full(values.shape, 2 * np.log(SPREAD))
        table = hackle.score_codes(
            values, rows, list(metrics), PROTOCOL, logvars=logvars, kinds=kinds, representations="mean"
        )
        for name, score, reference in zip(table["metric"], table["score"], table["reference"], strict=True):
            if not only or name in only:
                found.setdefault(name, {})[kind] = float(score)
                references[name] = float(reference)
    return [_bars(name, values, references[name]) for name, values in found.items()]


def _columns() -> dict[str, NDArray[Any]]:
    return dict(zip(SIZES, factors().T, strict=True))


def _bars(name: str, values: Mapping[str, float], reference: float) -> Bars:
    known = registry.row_of(name)
    label, lower = (known[1].label, known[0].better_of(name) == "lower") if known else (name, False)
    return Bars(label, values, None if np.isnan(reference) else reference, lower)


def _each(label: str, score: Callable[[Floats], float], *, lower: bool = False) -> Bars:
    return Bars(label, {kind: score(values) for kind, values in codes().items()}, lower=lower)


def _with_posteriors(values: Floats) -> tuple[Floats, Floats]:
    return values[::REPEATS], np.full(values[::REPEATS].shape, 2 * np.log(SPREAD))


def _consistency() -> list[Bars]:
    first = _with_posteriors(codes()[CODES[0]][:, ::-1])
    return [
        _each(
            "consistency with the first",
            lambda values: hackle.metrics.consistency(first, _with_posteriors(values)).score,
        )
    ]


def _similarity() -> list[Bars]:
    first = codes()[CODES[0]]
    return [
        _each("CKA with the first", lambda values: hackle.metrics.cka(first, values)),
        _each("CCA with the first", lambda values: hackle.metrics.cca(first, values)),
        _each("MCC with the first", lambda values: float(hackle.metrics.mcc_score(values, first))),
    ]


def _udr() -> list[Bars]:
    rng = np.random.default_rng(0)

    def score(values: Floats) -> float:
        """Of five models with these codes: in another order where they are one per factor, turned or drawn anew elsewhere."""
        kind = next(name for name, known in codes().items() if known is values)
        models = [values[:, rng.permutation(values.shape[1])] for _ in range(5)]
        if kind == CODES[1]:
            models = [values @ np.linalg.qr(rng.normal(size=(values.shape[1],) * 2))[0] for _ in range(5)]
        if kind == CODES[2]:
            models = [rng.normal(size=values.shape) for _ in range(5)]
        return float(np.median(hackle.metrics.udr_scores(models).scores))

    return [_each("UDR of five such models", score)]


def _entangled() -> list[Bars]:
    plain = codes()[CODES[0]]
    mixed = hackle.metrics.entangle(plain)
    labels = ("MIG", "SAP", "modularity")
    measures = (hackle.metrics.mig_score, hackle.metrics.sap_score, hackle.metrics.modularity_score)
    names = (CODES[0], "the same, entangled")
    return [
        Bars(
            label, {name: float(measure(values, factors())) for name, values in zip(names, (plain, mixed), strict=True)}
        )
        for label, measure in zip(labels, measures, strict=True)
    ]


def _isolation() -> list[Bars]:
    return [
        _each("isolation gap (nats)", lambda values: float(hackle.metrics.isolation_gap(*_with_posteriors(values)).gap))
    ]


def _correlation() -> list[Bars]:
    def strongest(values: Floats) -> float:
        away = np.abs(hackle.metrics.correlation_matrix(values)) - np.eye(values.shape[1])
        return float(away.max())

    tied = codes()[CODES[0]].copy()
    tied[:, 1] += tied[:, 0]
    found = _each("strongest correlation of two codes", strongest, lower=True)
    return [found._replace(values={**found.values, "two codes added": strongest(tied)})]


def _likelihood() -> list[Bars]:
    """Posteriors of one code with mean and noise such that codes have variance 1, as their prior, from narrow to collapsed."""
    found = {}
    for spread in (0.1, 0.5, 0.9, 1.0):
        means = codes()[CODES[2]][:, :1] * np.sqrt(1 - spread**2)
        kl = hackle.metrics.kl_divergence(means, np.full(means.shape, 2 * np.log(spread)))
        found["collapsed" if spread == 1 else f"noise {spread}"] = float(np.mean(kl.total))
    return [Bars("KL of one code to the prior (nats)", found)]


def _pairwise() -> list[Bars]:
    def entangled(values: Floats) -> float:
        information = discrete_mutual_information(bin_codes(values, 20), factors()) / discrete_entropy(factors())
        return float(np.nanmean(hackle.metrics.pairwise_entanglement(information)))

    return [_each("mean entanglement of two factors", entangled, lower=True)]


def _unfairness() -> list[Bars]:
    drawn = factors()[np.random.default_rng(0).choice(len(factors()), 500, replace=False)]
    settings = [(column, value) for column, size in enumerate(SIZES.values()) for value in range(size)]
    groups = [encoded(_set(drawn, column, value), seed=1 + at) for at, (column, value) in enumerate(settings)]
    held = [column for column, _ in settings]
    values = {
        kind: float(hackle.metrics.unfairness(known, factors(), [group[kind] for group in groups], held))
        for kind, known in codes().items()
    }
    return [Bars("unfairness", values, lower=True)]


def _set(rows: NDArray[np.int64], column: int, value: int) -> NDArray[np.int64]:
    changed = rows.copy()
    changed[:, column] = value
    return changed


def _kl_split() -> list[Bars]:
    splits = {kind: hackle.metrics.kl_split(*_with_posteriors(values)) for kind, values in codes().items()}
    terms: dict[str, Callable[[Any], float]] = {
        "information (nats)": lambda split: split.information,
        "total correlation (nats)": lambda split: split.total_correlation,
        "distance of single codes from the prior (nats)": lambda split: split.to_prior.sum(),
    }
    return [Bars(label, {kind: float(term(split)) for kind, split in splits.items()}) for label, term in terms.items()]


def _conditional() -> list[Bars]:
    def said(values: Floats, given: list[int]) -> float:
        return float(hackle.metrics.conditional_information(*_with_posteriors(values), 0, given))

    copied = np.column_stack([codes()[CODES[0]], codes()[CODES[0]][:, 0]])
    kinds = {CODES[0]: codes()[CODES[0]], "a code copied": copied}
    return [
        Bars("what the first code says (nats)", {kind: said(values, []) for kind, values in kinds.items()}),
        Bars(
            "what it says once the last is known (nats)",
            {kind: said(values, [values.shape[1] - 1]) for kind, values in kinds.items()},
        ),
    ]


def _groups() -> list[Bars]:
    rows = factors()[::REPEATS]
    angle = 2 * np.pi * rows[:, 2] / SIZES["x"]
    means = np.column_stack([np.cos(angle), np.sin(angle), rows[:, 0] - 1.0])
    logvars = np.full(means.shape, 2 * np.log(SPREAD))
    score = partial(hackle.metrics.rmig_score, means, logvars, rows[:, [2, 0]], estimator="sampled")
    return [
        Bars(
            "RMIG of an angle and a class",
            {"cosine and sine": score(), "the two as a group": score(groups=[[0, 1], [2]])},
        )
    ]


def _generalisation() -> list[Bars]:
    rows = factors()
    out = (rows[:, 2] >= 4) & (rows[:, 3] >= 4)
    half = np.arange(len(rows)) % 2 == 0
    bars: dict[str, dict[str, float]] = {"R² on seen combinations": {}, "R² on left-out combinations": {}}
    for kind, values in codes().items():
        parts = [(values[chosen], rows[chosen]) for chosen in (~out & half, ~out & ~half, out)]
        found = hackle.metrics.generalisation_scores(*parts)
        bars["R² on seen combinations"][kind] = float(np.nanmean(found.seen))
        bars["R² on left-out combinations"][kind] = float(np.nanmean(found.left_out))
    return [Bars(label, values) for label, values in bars.items()]


CHARTS: dict[str, Callable[[], list[Bars]]] = {
    "mig": lambda: scored("mig"),
    "mig-sup": lambda: scored("mig_sup", "dcimig"),
    "infomec": lambda: scored("infomec"),
    "sap": lambda: scored("sap"),
    "neighbours": lambda: scored("neighbour_gap", continuous=True),
    "dci": lambda: scored("dci"),
    "dci-es": lambda: scored("dci_es", only=("dci_es_explicitness", "dci_es_disentanglement", "dci_es_completeness")),
    "modularity": lambda: scored("modularity"),
    "mcc": lambda: scored("mcc"),
    "irs": lambda: scored("irs"),
    "explicitness": lambda: scored("explicitness"),
    "downstream": lambda: scored("downstream_gbt", only=("downstream_gbt_100", "downstream_gbt_1000")),
    "generalisation": _generalisation,
    "unfairness": _unfairness,
    "beta-vae": lambda: scored("beta_vae"),
    "factor-vae": lambda: scored("factor_vae"),
    "informativeness": lambda: scored("separability", only=("total_information", "informativeness_mean")),
    "misjed": lambda: scored("misjed"),
    "sepin": lambda: scored("separability", only=("wsepin", "windin")),
    "rmig": lambda: scored("interpretability", "posterior_mig"),
    "jemmig": lambda: scored("jemmig"),
    "total-correlation": lambda: scored("gaussian_tc", "monte_carlo_tc"),
    "isolation-gap": _isolation,
    "likelihood": _likelihood,
    "correlation": _correlation,
    "consistency": _consistency,
    "similarity": _similarity,
    "udr": _udr,
    "entangle": _entangled,
    "kl-split": _kl_split,
    "conditional-information": _conditional,
    "groups": _groups,
    "pairwise-entanglement": _pairwise,
}
"""What the picture of each metric's page shows."""

CAPTION = "Computed on codes of four factors; a dashed line is the reference, what the factors themselves score."
_TWO = "Between a model with one code per factor, and models whose codes are those."
CAPTIONS = {
    "consistency": _TWO,
    "similarity": _TWO,
    "udr": "Five models each: with the factors in another order, turned by rotations of their own, and of noise.",
    "entangle": "Three scores of codes of four factors, and of the same codes after `entangle`.",
    "likelihood": "The KL of posteriors whose codes have variance 1 in all, by the part of it that is noise.",
    "generalisation": "A readout of four factors, fitted where x and y are not both large, and tested where they are.",
    "isolation-gap": "Computed on posteriors of four factors, whose noise is a tenth of the codes' spread.",
    "kl-split": "The three terms of the KL of posteriors whose noise is a tenth of the codes' spread.",
    "conditional-information": "The first of four codes, alone and beside a fifth that copies it.",
    "groups": "The angle's cosine and sine are two codes, counted each for itself and as one.",
    "correlation": "Computed on codes of four factors; in the last line one code is added to another.",
}
"""What charts show that do not compare the usual codes with the reference."""

WIDTH, LEFT, RIGHT, LINE, HEAD = 380, 140, 48, 19, 26


def chart(bars: list[Bars]) -> str:
    """Bars as an SVG that is readable at the width of a phone; its paper is white, in dark mode too."""
    parts, top = [], 8
    for one in bars:
        numbers = [
            value for value in (*one.values.values(), one.reference, 0.0) if value is not None and np.isfinite(value)
        ]
        low, high = min(numbers), max(*numbers, 1.0 if max(numbers) <= 1 else 0.0)
        scale = (WIDTH - LEFT - RIGHT) / (high - low)
        at = lambda value: LEFT + (value - low) * scale  # noqa: E731, B023
        lower = " (lower is better)" if one.lower and "lower" not in one.label else ""
        lines = wrap(one.label + lower, 50)
        if one.reference is not None and len(lines[-1]) > 34:
            lines.append("")
        for line in lines:
            parts.append(f'<text x="8" y="{top + 14}" font-weight="600">{escape(line)}</text>')
            top += LINE
        if one.reference is not None:
            parts.append(
                f'<text x="{WIDTH - 8}" y="{top + 14 - LINE}" text-anchor="end">reference {one.reference:.2f}</text>'
            )
        begin = top = top + HEAD - LINE
        for (kind, value), colour in zip(one.values.items(), (*COLOURS, "#3a8f5c"), strict=False):
            start, width = at(min(value, 0.0)), abs(value) * scale
            parts.append(f'<text x="{LEFT - 8}" y="{top + 11}" text-anchor="end">{escape(kind)}</text>')
            parts.append(
                f'<rect x="{start:.1f}" y="{top + 1}" width="{max(width, 1):.1f}" height="13" fill="{colour}"/>'
            )
            parts.append(
                f'<text x="{WIDTH - 8}" y="{top + 11}" text-anchor="end">{value:.2f}</text>'.replace("-0.00", "0.00")
            )
            top += LINE
        if one.reference is not None:
            place = at(one.reference)
            parts.append(f'<path d="M{place:.1f} {begin - 2}V{top - 2}" stroke="#222" stroke-dasharray="3 2"/>')
        top += 8
    style = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"'
    body = f'<rect width="{WIDTH}" height="{top}" rx="6" fill="#fff"/>' + "".join(parts)
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{body}</svg>\n'
