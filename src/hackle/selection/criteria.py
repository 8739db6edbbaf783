"""What a study's store says about its runs that can be used to choose among them.

Without labels: UDR, the ELBO, reconstruction, KL and total correlation. With n labels (Locatello et al. 2020, *Disentangling
Factors of Variation Using Few Labels*): scores of the stored codes of n images, MIG on all of them, DCI and SAP with a
predictor fitted to the first 90%. Every criterion is a series of numbers by run, or several as a frame.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.claims.view import Data, View
from hackle.core.columns import Kinds
from hackle.metrics import MetricError, cka, mig_from_information, sap_score, udr_scores
from hackle.metrics.dci import TOGETHER, disentanglement_of_several
from hackle.metrics.mig import binned_information
from hackle.metrics.udr import Similarity
from hackle.store.blobs import MOST_CODES

Frame = Any
Arrays = Mapping[str, NDArray[Any]]
STORED = {
    "elbo": ("elbo", 1),
    "reconstruction": ("reconstruction", -1),
    "kl": ("kl", -1),
    "tc": ("gaussian_tc/sampled", -1),
}
"""Criteria that are scores without labels: the score, and whether higher (1) or lower (−1) is better."""
_TRAINED = 0.9
"""The part of the labelled images that predictors are fitted to."""


def kl_of_runs(view: View) -> dict[str, NDArray[np.float64]]:
    """The mean KL of each latent, (l,), of every run that has it: as stored with the scores or, in older stores, as logged over
    the last tenth of training."""
    kls = {run: np.asarray(array, float) for run, array in view.array("kl").items()}
    tails = takewhile(len, (view.tail(f"kl_per_latent_{latent}") for latent in range(MOST_CODES)))
    table: Frame = pd.DataFrame(dict(enumerate(tails)))
    for run, values in zip(table.index.astype(str), table.to_numpy(float), strict=True):
        known = values[np.isfinite(values)]
        if len(known):
            kls.setdefault(run, known)
    return kls


def stored_scores(data: Data, names: Sequence[str], protocol: str | None = None) -> pd.DataFrame:
    """Scores of the runs, one column each, NaN where a run lacks one; `gaussian_tc/sampled` names a representation too."""
    return pd.DataFrame({name: data.scored(name, protocol) for name in names}, index=data.runs.index)


def same_rows(codes: Arrays) -> dict[str, NDArray[np.float64]]:
    """The codes of the images that all runs have: the first ones, where some stores keep more."""
    rows = min((len(array) for array in codes.values()), default=0)
    return {run: np.asarray(array[:rows], float) for run, array in codes.items()}


def udr_of_runs(
    codes: Arrays,
    kls: Arrays,
    groups: Mapping[str, Any],
    *,
    similarity: Similarity = "lasso",
    agreement: str = "udr",
    tell: Callable[[], None] = lambda: None,
) -> Any:
    """UDR of each run that has codes and KLs, a series by run: how well runs of the same group agree with it.

    groups: a label for each run, such as its setting (`View.runs["setting"]`); runs with one label are compared. agreement:
    "udr", or "cka", the median linear CKA with the others, which is blind to how codes are rotated. tell: called after
    each run.
    """
    runs = [run for run in groups if run in codes and run in kls and len(kls[run]) == codes[run].shape[1]]
    labels = [groups[run] for run in runs]
    if len(runs) < 2:
        return pd.Series(dtype=float)
    tables = same_rows({run: codes[run] for run in runs})
    if agreement == "cka":
        return pd.Series(_median_cka([tables[run] for run in runs], labels, tell), index=runs)
    kept = [tables[run] for run in runs], [kls[run] for run in runs]
    udr = udr_scores(*kept, groups=labels, similarity=similarity, tell=tell)
    return pd.Series(udr.scores, index=runs)


def _median_cka(tables: Sequence[NDArray], labels: Sequence[Any], tell: Callable[[], None]) -> list[float]:
    medians = []
    for i, table in enumerate(tables):
        others = [other for j, other in enumerate(tables) if j != i and labels[j] == labels[i]]
        medians.append(float(np.median([cka(table, other) for other in others])) if others else math.nan)
        tell()
    return medians


def _mig(tables: Sequence[NDArray], factors: NDArray, trained: int, kinds: Kinds) -> list[float]:
    binned = binned_information(np.hstack(tables), factors, kinds=kinds)
    ends = np.cumsum([codes.shape[1] for codes in tables])[:-1]
    return [mig_from_information(part, binned.entropies) for part in np.split(binned.information, ends)]


def _dci(tables: Sequence[NDArray], factors: NDArray, trained: int, kinds: Kinds) -> list[float]:
    return disentanglement_of_several([codes[:trained] for codes in tables], factors[:trained], kinds=kinds)


def _sap(tables: Sequence[NDArray], factors: NDArray, trained: int, kinds: Kinds) -> list[float]:
    return [
        sap_score(codes[:trained], factors[:trained], test=(codes[trained:], factors[trained:]), kinds=kinds)
        for codes in tables
    ]


LABEL_METRICS: dict[str, Callable[[Sequence[NDArray], NDArray, int, Kinds], list[float]]] = {
    "mig": _mig,
    "dci_disentanglement": _dci,
    "sap": _sap,
}
"""What is computed from n labelled images, of several runs' codes, factors, how many rows to fit to, and the factors' kinds."""


def label_scores(
    codes: Arrays,
    factors: NDArray[Any],
    labels: int,
    *,
    seed: int = 0,
    metrics: Sequence[str] = tuple(LABEL_METRICS),
    kinds: Kinds = "categorical",
    tell: Callable[[], None] = lambda: None,
) -> pd.DataFrame:
    """Scores of each run's codes (N, c) on `labels` of the N images, whose factors are (N, f): a row for each run.

    The images are drawn with a seed of their own, the same for all runs. A score that these labels do not allow, since a
    factor has one value among them, say, is NaN. tell: called after each run.
    """
    tables = same_rows(codes)
    rows = min(len(factors), *(len(table) for table in tables.values())) if tables else 0
    if not 20 <= labels <= rows:
        raise MetricError(
            f"{labels:,} labelled images; expected 20 (the bins of MIG) to {rows:,}, whose codes are stored"
        )
    drawn = np.random.default_rng(seed).permutation(rows)[:labels]
    trained = math.ceil(_TRAINED * labels)
    scores, several = [], list(tables.values())
    for start in range(0, len(several), TOGETHER):
        block = [table[drawn] for table in several[start : start + TOGETHER]]
        scores += zip(*(_several(name, block, factors[drawn], trained, kinds) for name in metrics), strict=True)
        for _ in block:
            tell()
    return pd.DataFrame(scores, index=list(tables), columns=list(metrics))


def _several(name: str, tables: Sequence[NDArray], *rest: Any) -> list[float]:
    """A score of several runs; NaN where the labels do not allow it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return LABEL_METRICS[name](tables, *rest)
        except MetricError:
            return [math.nan] if len(tables) == 1 else [_several(name, [codes], *rest)[0] for codes in tables]
