"""Do & Tran's DCI is of codes and factors as they are. Such scores are not in the table: what they would be is seen in the
codes of a few hundred images that are kept of each run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reasons.runs import DATA, Reason, numbers, of_factors
from hackle.core.factors import Factor, FactorGrid
from hackle.figures.words import FACTORS
from hackle.metrics import agreement, dci_scores
from hackle.papers.do2020.claims import SIZES
from hackle.papers.do2020.nats import BINS
from hackle.scoring.plan import kept_images
from hackle.store.tables import Tables

_WORDS = {"lasso": "standardised", "raw-lasso": "as they are"}
_PARTS = ("disentanglement", "completeness")
_APART, _DISAGREE = 0.3, 0.5
"""The largest correlations, in size, of which the claims say that scores are not correlated, or do not agree."""
_BEGIN = (
    "The weights in the paper's Figure 23 show that its Lasso saw codes and factors as they are. The table has scores of "
    "standardised ones alone (the protocol `do2020-raw` is newer than the runs)."
)


def of_scales(tables: Tables, runs: Any) -> list[Reason]:
    found, kept = of_kept_codes(tables, _compared(runs))
    begin = f"{_BEGIN} In the codes of {kept} images that are kept of each run,"
    reasons: list[Reason] = []
    for metric in ("jemmig", "rmig"):
        scores = _in_nats(tables, _compared(runs), metric)
        sizes, text = {}, []
        for predictor, words in _WORDS.items():
            pair = [_correlation(found[predictor][part], scores) for part in _PARTS]
            sizes[predictor] = float(np.abs(pair).mean())
            text.append(f"{words}, {numbers(pair)}, {sizes[predictor]:.2f} in size")
        said = (
            f"{begin} disentanglement and completeness have these rank correlations with {metric.upper()} in nats: "
            f"{'; '.join(text)}{_rest(sizes['raw-lasso'], _APART)}."
        )
        reasons.append((sizes["raw-lasso"] < 0.6 * sizes["lasso"], (f"do2020.{metric}-differs-from-dci",), said))
    parts = [_correlation(*(found[predictor][part] for part in _PARTS)) for predictor in _WORDS]
    said = f"{begin} the two have a rank correlation of {parts[0]:.2f} standardised and {parts[1]:.2f} as they are"
    said += f"{_rest(parts[1], _DISAGREE)}."
    reasons.append((parts[1] < 0.9 * parts[0], ("do2020.dci-parts-disagree",), said))
    betas = runs.loc[runs["method"].eq("beta-vae"), "strength"]
    for part in _PARTS:
        along = [_correlation(found[predictor].loc[betas.index, part], betas) for predictor in _WORDS]
        differs = (
            "" if abs(along[1] - along[0]) < 0.1 else ", so that what the claim says is seen in standardised codes only"
        )
        said = (
            f"{begin} {part} has a rank correlation with β of {along[0]:.2f} standardised and "
            f"{along[1]:.2f} as they are{differs}."
        )
        reasons.append((True, (f"do2020.dci-{part}-favours-beta",), said))
    reasons.append((True, ("do2020-figure-23",), _BEGIN.replace("weights", "weights R_ik", 1)))
    # Where scores of codes as they are have been added to the table, claims are judged by these.
    return [(_absent(tables) and borne_out, names, text) for borne_out, names, text in reasons]


def _absent(tables: Tables) -> bool:
    return not bool(tables.scores["protocol"].eq("do2020-raw").any())


def _rest(left: float, claimed: float) -> str:
    """What to add where codes as they are do not bring a correlation below what is claimed, either."""
    return (
        "" if left < claimed else f", which is not below {claimed:g} either, so that this is a part of the difference"
    )


def position_by_raw_codes(tables: Tables, runs: Any) -> str:
    """How β-VAE with a high β and FactorVAE differ in DCI informativeness, with either Lasso; nothing once the table has it."""
    if not _absent(tables):
        return ""
    found, kept = of_kept_codes(tables, _compared(runs))
    high = runs["method"].eq("beta-vae") & runs["strength"].isin([20.0, 50.0])
    differences = [
        found[predictor].loc[runs.index[high], "informativeness"].mean()
        - found[predictor].loc[runs.index[runs["method"].eq("factor-vae")], "informativeness"].mean()
        for predictor in _WORDS
    ]
    return (
        f" Scores of codes as they are, which the paper's are, are not in the table; in the {kept} kept codes of each run the "
        f"difference is {differences[0]:.2f} standardised and {differences[1]:.2f} as they are."
    )


def of_kept_codes(tables: Tables, runs: Any) -> tuple[dict[str, Any], int]:
    """By predictor, DCI's three scores (columns) of each run's kept codes, without the shape; and of how many images."""
    names, sizes = zip(*FACTORS[DATA], strict=True)
    grid = FactorGrid([Factor(name, size) for name, size in zip(names, sizes, strict=True)])
    factors = grid.rows(kept_images(grid))[:, [place for place, name in enumerate(names) if name != "shape"]]
    arrays = tables.array("codes")
    codes = {run: np.asarray(arrays[run], float) for run in runs.index}
    found = {
        predictor: pd.DataFrame(
            [dci_scores(kept, factors[: len(kept)], predictor=predictor, kinds="ordinal") for kept in codes.values()],
            index=list(codes),
            columns=[*_PARTS, "informativeness"],
        )
        for predictor in _WORDS
    }
    return found, min(map(len, codes.values()))


def _in_nats(tables: Tables, runs: Any, metric: str) -> Any:
    """RMIG or JEMMIG as Figure 6 has them: a factor counts by its largest value (`hackle.papers.do2020.nats`)."""
    largest = pd.Series({name: np.log(size) for name, size in SIZES.items()}) + (metric == "jemmig") * np.log(BINS)
    scores = of_factors(tables, runs, metric, "do2020")[list(SIZES)]
    return scores @ (largest / largest.sum())


def _compared(runs: Any) -> Any:
    return runs[runs["method"].isin(["beta-vae", "factor-vae"])]


def _correlation(one: Any, other: Any) -> float:
    both = pd.concat([one, other], axis=1).dropna()
    return float(agreement(both.iloc[:, 0], both.iloc[:, 1]).spearman)
