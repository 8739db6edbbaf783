"""The page docs/which-metric.md: what each metric sees, its chance level, reference, cost and agreement with others.

All numbers are of dSprites in the table hackle-2026 but the chance levels, which `python -m benchmarks.ship chance` computes:
the scores of ten codes of dSprites that are independent noise, under the same protocol.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reasons import DATA, Sweep
from hackle.datasets import load
from hackle.figures import words
from hackle.metrics.metric import Metric, row_of
from hackle.scoring.encode import Codebook
from hackle.scoring.protocol import protocol as find_protocol
from hackle.scoring.registry import choose_metrics
from hackle.scoring.scorer import prepare_scorer
from hackle.store.tables import Tables

PROTOCOL, LATENTS, SPREAD = "locatello2019", 10, 0.1
BESIDE = ("mig", "dci_disentanglement", "factor_vae")
"""The scores with which the table gives every score's agreement."""
MOVED = ("beta_vae", "sap", "dci_completeness", "dci_informativeness", "modularity", "wsepin")
"""Scores whose agreement with MIG among the few models that have all scores the page tells."""
FEWEST = 4
"""The fewest seeds of a setting for a rank correlation within it."""
SEES = {
    "mig": ("mig", "how far a factor's best code is ahead of its second best, in information"),
    "rmig": ("rmig", "the same gap, of whole posteriors instead of their means"),
    "jemmig": ("jemmig", "whether a factor's best code holds that factor and nothing else"),
    "sap": ("sap", "the gap between the best two codes in the accuracy of a linear classifier on one code"),
    "dci_disentanglement": ("dci", "whether each code matters for one factor only, to linear machines"),
    "dci_completeness": ("dci", "whether each factor needs one code only"),
    "dci_informativeness": ("dci", "whether linear machines read the factors off all codes together"),
    "factor_vae": ("factor-vae", "whether the code that varies least names the factor that was held"),
    "beta_vae": ("beta-vae", "whether a linear classifier names the factor that pairs share"),
    "modularity": ("modularity", "whether each code informs about one factor only, however little"),
    "mig_sup": ("mig-sup", "how far a code's best factor is ahead of its second best"),
    "dcimig": ("mig-sup", "the same gap, summed over the factors that codes stand for"),
    "infom": ("infomec", "whether each code in use is about one factor"),
    "infoc": ("infomec", "whether each factor is in one code"),
    "infoe": ("infomec", "whether factors are read linearly off all codes"),
    "mcc": ("mcc", "whether each factor has a code of its own that correlates with it"),
    "irs": ("irs", "whether a code stays put while all factors but one change"),
    "explicitness": ("explicitness", "whether linear classifiers read the factors off all codes"),
    "downstream_gbt_10000": ("downstream", "how well boosted trees learn the factors from 10,000 labelled images"),
    "wsepin": ("sepin", "how much a code says about images that no other does; no labels"),
    "gaussian_tc": ("total-correlation", "how correlated the codes are; no labels, lower is better"),
}
"""Scores of the page: the page of each, and what it sees."""
_PAGE = """\
# Which metric should I use?

*Written by `python -m benchmarks.ship results`: all numbers are of
[`hackle-2026`](results.md#results-that-come-with-hackle), {runs} models of six methods on dSprites, and of codes that
are noise.*

No metric answers every question. Start from yours:

- **"Is each factor in a code of its own?"** [MIG](metrics/mig.md): cheap, near 0 for noise, with a value for each
  factor. It punishes a factor that is spread over two codes even where each code is pure. If encoders are uncertain,
  [RMIG](metrics/rmig.md) takes their whole posteriors; the two order models almost alike ({mig_rmig:.2f}).
- **"Is each code about one factor?"** [DCI disentanglement](metrics/dci.md), which lets a factor have several codes. Do
  not take [modularity](metrics/modularity.md) alone: noise scores {noise_modularity:.2f}, and a code that says almost
  nothing counts as much as any other. [InfoM](metrics/infomec.md) has a high floor, too ({noise_infom:.2f}): read it
  beside InfoE.
- **"Can the factors be read at all?"** That is another question than disentanglement:
  [explicitness](metrics/explicitness.md) or InfoE with linear readers, [DCI informativeness](metrics/dci.md) or
  [downstream accuracy](metrics/downstream.md) with trees.
- **"I must compare with older papers."** The [FactorVAE score](metrics/factor-vae.md) and the [BetaVAE
  score](metrics/beta-vae.md), which agree at {beta_factor:.2f}. Noise scores {noise_factor:.2f} and {noise_beta:.2f}. The
  BetaVAE score can be perfect while a factor is missing (Kim & Mnih 2018).
- **"I have no labels."** No metric of this table replaces them: with MIG, WSEPIN agrees at {wsepin_mig:.2f} and the total
  correlation of means at {tc_mig:.2f}, and among seeds of one setting at {wsepin_within:.2f} and {tc_within:.2f}. To choose
  among seeds and settings see [choosing a model](choosing.md); [UDR](metrics/udr.md) is made for that.
- **"My factors are continuous, or my images few."** [Nearest neighbours](metrics/neighbours.md) instead of bins, and
  the column [`chance`](scoring.md) beside each score.

Report two that ask different questions, such as MIG and DCI disentanglement, over at least five seeds, and name the
protocol: the same metric under another protocol is another number. Read a score as the way it has gone from chance to
reference, the score of perfect codes: SAP's reference here is {sap_reference:.2f}, so a low SAP is not as low as it looks.

## What the runs say

{few}| metric | sees | needs | chance | reference | seconds | {beside} | models |
|---|---|---|---|---|---|{ruler}---|
{rows}

*Chance* is the score of ten codes that are independent noise, *reference* that of perfect codes; dSprites, protocol
`{protocol}`. *Seconds* are the median over models, on one core beside other work; metrics of one family are computed
together and have one time, and what one metric has computed the next does not count again (JEMMIG after RMIG). The
agreements are Spearman's rank correlations over models, signed so that better goes with better; in parentheses, the mean
of those among seeds of one setting, which is what you rely on when you choose among seeds. A metric with fewer models
was added later, for a part of the runs, or refused some posteriors.

![Rank correlations of metrics over models]({picture})

*Rank correlations of scores, each over the models that have both. Blue: they order models alike; orange: the other way round.
RMIG and JEMMIG go by posteriors, all others by means.*

One data set and one kind of network are behind these numbers: on others, metrics may agree less ([claims of Locatello
et al.](claims.md#locatello-et-al-2019), Figures 5 and 6).
"""
PICTURE = "pictures/which-metric.svg"


def chance_levels(wanted: list[str]) -> dict[str, float]:
    """What noise scores: ten independent normal codes for every image, with narrow posteriors, by score."""
    dataset, protocol = load(DATA), find_protocol(PROTOCOL)
    chosen = [metric for metric in choose_metrics(wanted, protocol).values() if metric.has_reference]
    scorer = prepare_scorer(dataset.factors, chosen, protocol, representations="mean")
    noise = np.random.default_rng(0).normal(size=(math.prod(dataset.factors.sizes), LATENTS))
    means = (math.sqrt(1 - SPREAD**2) * noise[scorer.images]).astype(np.float32)
    codes = Codebook(scorer.images, means, np.full_like(means, 2 * math.log(SPREAD)))
    return {row["metric"]: row["score"] for row in scorer.rows(scorer.of_codes(codes)) if row["metric"] in SEES}


def metrics_of_the_page() -> list[str]:
    """The names of the metrics that give the page's scores."""
    return list(dict.fromkeys(_known(name).name for name in SEES))


def agreements(tables: Tables) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Rank correlations of the page's scores over all models, and within settings; and how many models have each."""
    sweep = Sweep(tables)
    scores = _signed(sweep)
    settings = scores.groupby([sweep.runs["method"], sweep.runs["strength"]], observed=True)
    within = np.stack([part.corr("spearman", min_periods=FEWEST).to_numpy() for _, part in settings])
    counts = np.isfinite(within).sum(axis=0)
    means = np.where(counts > 0, np.nansum(within, axis=0) / np.maximum(counts, 1), np.nan)
    return scores.corr("spearman", min_periods=20), pd.DataFrame(means, list(SEES), list(SEES)), scores.count()


def of_few_models(tables: Tables) -> str:
    """What to know of the rows of scores that only a part of the models have; nothing if most have all."""
    sweep = Sweep(tables)
    scores, runs = _signed(sweep), sweep.runs
    counts: Any = scores.count()
    if 2 * counts.min() > counts.max():
        return ""
    rare = counts.index[counts.eq(counts.min())]
    few: Any = scores[scores[rare].notna().all(axis=1)]
    methods = runs.loc[few.index, "method"].astype(str).value_counts()
    parts = [f"{number} are {words.METHODS[name]}s" for name, number in methods[:2].items()]
    seeds = [
        part.groupby([runs["method"], runs["strength"]], observed=True).size() for part in (few["mig"], scores["mig"])
    ]
    settings = [int((one >= FEWEST).sum()) for one in seeds]
    every, among = (one.corr("spearman")["mig"] for one in (scores, few))
    moved = [f"{among[name]:.2f} ({every[name]:.2f}) for {words.measure(name).label}" for name in MOVED]
    said = (
        f"Do not compare rows of {len(few)} models with rows of more: of the {len(few)}, {' and '.join(parts)}, and their "
        f"agreement among seeds of one setting is the mean of {settings[0]} settings, not of {settings[1]}. On these "
        f"{len(few)} models alone (in parentheses, as in the table) the agreement with MIG is {', '.join(moved[:-1])} and "
        f"{moved[-1]}: it is beside these that the {among['mcc']:.2f} of MCC stands."
    )
    return f"{textwrap.fill(said, 120, break_long_words=False, break_on_hyphens=False)}\n\n"


def which_metric_page(tables: Tables, chance: dict[str, float]) -> str:
    """The whole page, from a table and the scores of noise."""
    overall, within, counts = agreements(tables)
    scores: Any = tables.scores
    scores = scores[scores["metric"].isin(list(SEES)) & scores["protocol"].eq(PROTOCOL) & scores["dataset"].eq(DATA)]
    scores = scores[scores["representation"].ne("sampled")].groupby("metric", observed=True)
    reference, seconds = scores["reference"].median(), scores["seconds"].median()
    rows = []
    for name, (page, sees) in SEES.items():
        agreed = [
            "" if name == other else f"{overall.at[name, other]:.2f} ({within.at[name, other]:.2f})" for other in BESIDE
        ]
        cells = [f"[{words.measure(name).label}](metrics/{page}.md)", sees, _needs(_known(name))]
        cells += [_two(chance.get(name, math.nan)), _two(float(reference[name])), f"{float(seconds[name]):.2g}"]
        rows.append(f"| {' | '.join([*cells, *agreed, str(counts[name])])} |")
    return _PAGE.format(
        runs=int(counts.max()),
        mig_rmig=overall.at["mig", "rmig"],
        beta_factor=overall.at["beta_vae", "factor_vae"],
        noise_modularity=chance["modularity"],
        noise_infom=chance["infom"],
        noise_factor=chance["factor_vae"],
        noise_beta=chance["beta_vae"],
        wsepin_mig=overall.at["wsepin", "mig"],
        wsepin_within=within.at["wsepin", "mig"],
        tc_mig=overall.at["gaussian_tc", "mig"],
        tc_within=within.at["gaussian_tc", "mig"],
        sap_reference=float(reference["sap"]),
        beside=" | ".join(f"with {words.measure(name).short}" for name in BESIDE),
        ruler="---|" * len(BESIDE),
        rows="\n".join(rows),
        protocol=PROTOCOL,
        picture=PICTURE,
        few=of_few_models(tables),
    )


def agreement_matrix(tables: Tables) -> pd.DataFrame:
    """The rank correlations over all models, by the scores' short labels."""
    labels = [words.measure(name).short for name in SEES]
    return agreements(tables)[0].set_axis(labels, axis=0).set_axis(labels, axis=1)


def _signed(sweep: Sweep) -> Any:
    """The page's scores of each model, higher being better."""
    signs = pd.Series({name: -1.0 if _known(name).better_of(name) == "lower" else 1.0 for name in SEES})
    return sweep.scores.reindex(columns=list(SEES)) * signs


def _known(name: str) -> Metric:
    found = row_of(name)
    assert found is not None, name
    return found[0]


def _needs(metric: Metric) -> str:
    parts = ["labels"] if metric.has_reference else []
    parts += ["images chosen by factor"] if metric.parts else []
    parts += ["posteriors"] if metric.on == "posterior" else []
    return ", ".join(parts) or "codes"


def _two(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
