"""Kim & Mnih 2018: estimates of the total correlation and sensitivity of the metrics (Fig. 7, 16, 17, 18 and 37).

The true total correlation (Fig. 7) is computed when training has ended, by sampling; the paper follows it through training.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Exhibit, Frame, Panel, Series
from hackle.figures.panels import CURVES, MEANS, curve_points, curves_panel, score_axis, with_intervals
from hackle.figures.selection import spearman, spread, summarise
from hackle.papers.kim2018.figures_runs import PAPER, by_weight, method_missing, weighed_runs, weight_series
from hackle.store.tables import Tables

TAIL = 0.1
"""The last part of training over which the discriminator's estimate is averaged."""


def _discriminator(tables: Tables, term: str) -> tuple[Frame, Frame, tuple[str, ...]]:
    """FactorVAE's runs on dSprites, and a term of theirs over training."""
    # Runs without the true total correlation, a slow score, have a discriminator all the same.
    frame, picked = weighed_runs(tables, ("true_tc", "factor_vae"), ("factor-vae",))
    curve = tables.curve(term) if len(frame) else pd.DataFrame(columns=["run", "step", "value"])
    return frame, curve, picked.notes


def final_values(curve: Frame) -> Frame:
    """By run, the mean over the last tenth of its training."""
    last = curve.groupby("run", observed=True)["step"].transform("max")
    tail = curve[curve["step"] >= (1 - TAIL) * last]
    return tail.groupby("run", observed=True)["value"].mean()


def figure_7(tables: Tables) -> Chart:
    """The true total correlation and the discriminator's estimate."""
    frame, curve, notes = _discriminator(tables, "total_correlation")
    missing = list(method_missing(frame, ("factor-vae",), "dsprites"))
    panels: list[Panel] = []
    scored = frame[frame["true_tc"].notna()]
    if len(scored):
        panel = by_weight(scored, "true_tc", "true TC, after training")
        low, high = spread(scored["true_tc"], scored["true_tc"])
        panels.append(replace(panel, y=Axis("total correlation (nats)", min(0.0, low), high)))
    points = curve_points(curve, dict(zip(frame["run"], frame["series"], strict=True)))
    if len(points):
        panels.append(
            curves_panel(
                points, "discriminator's estimate", "total correlation (nats)", low=min(0.0, points["y"].min())
            )
        )
    comparisons: list[Comparison] = []
    guess = final_values(curve[curve["run"].isin(list(scored["run"]))]) if len(curve) else pd.Series(dtype=float)
    both = scored.assign(guess=scored["run"].map(dict(zip(guess.index.astype(str), guess, strict=True)))).dropna(
        subset=["guess"]
    )
    if len(both):
        ends = spread(both[["guess", "true_tc"]].min(), both[["guess", "true_tc"]].max())
        shown = pd.DataFrame({"x": both["true_tc"], "y": both["guess"], "series": both["series"], "run": both["run"]})
        panels.append(
            Panel(
                "estimate against truth",
                Axis("true TC (nats)", *ends),
                Axis("discriminator's TC (nats)", *ends),
                shown,
                diagonal=0.0,
            )
        )
        gap = summarise(both.assign(y=both["guess"] - both["true_tc"]), ["method"]).iloc[0]
        comparisons.append(
            Comparison(
                "discriminator's estimate minus the true TC",
                "below 0",
                float(gap.y),
                float(gap.low),
                float(gap.high),
                int(gap.n),
            )
        )
    elif len(frame):
        missing.append("curves of the discriminator's estimate" if not len(points) else "the score true_tc")
    if scored["strength"].nunique() > 2:
        comparisons.append(
            Comparison(
                "rank correlation of the true TC with γ",
                "below 0",
                spearman(scored["strength"].to_numpy(float), scored["true_tc"].to_numpy(float)),
                n=len(scored),
            )
        )
    return Chart(
        (tuple(panels),) if panels else (),
        weight_series(frame) if len(frame) else (),
        f"{MEANS} {CURVES}",
        tuple(comparisons),
        tuple(missing),
        notes,
        shared_y=False,
    )


def figure_37(tables: Tables) -> Chart:
    """The discriminator's accuracy over training."""
    frame, curve, notes = _discriminator(tables, "discriminator_accuracy")
    points = curve_points(curve, dict(zip(frame["run"], frame["series"], strict=True)))
    if not len(points):
        missing = method_missing(frame, ("factor-vae",), "dsprites") or ("curves of the discriminator's accuracy",)
        return Chart(missing=missing, notes=notes)
    panel = curves_panel(points, "dSprites", "discriminator's accuracy", low=min(0.5, float(points["y"].min())))
    last = final_values(curve[curve["run"].isin(list(frame["run"]))])
    value = frame["run"].map(dict(zip(last.index.astype(str), last, strict=True)))
    known = value.notna()
    comparison = Comparison(
        "rank correlation of the final accuracy with γ",
        "below 0",
        spearman(frame["strength"][known].to_numpy(float), value[known].to_numpy(float)),
        n=int(known.sum()),
    )
    return Chart(((replace(panel, level=(0.5, "chance")),),), weight_series(frame), CURVES, (comparison,), (), notes)


_FIGURE_18 = (1, 5, 9)
"""The β that the paper shows."""


def figure_18(tables: Tables) -> Chart:
    """The batch estimate of the total correlation."""
    frame, picked = weighed_runs(tables, ("batch_tc",), ("beta-vae",))
    frame = frame[frame["batch_tc"].notna()]
    if not len(frame):
        return Chart(missing=("no score batch_tc of β-VAE on dSprites",), notes=picked.notes)
    panel = by_weight(frame.assign(series="β-VAE"), "batch_tc", "dSprites")
    low, high = spread(frame["batch_tc"], frame["batch_tc"])
    panel = replace(
        panel, y=Axis(words.measure("batch_tc").label, min(low, 0.0), max(high, 0.0)), level=(0.0, "no TC is below 0")
    )
    means = summarise(frame[frame["strength"].isin(_FIGURE_18)], ["strength"], "batch_tc").sort_values("strength")
    return Chart(
        ((panel,),),
        (Series("β-VAE", 0, 0),),
        MEANS,
        tuple(
            Comparison(f"batch estimate of TC at β = {row.strength:g}", "below 0", row.y, row.low, row.high, int(row.n))
            for row in means.itertuples()
        ),
        tuple(f"no batch estimate at β = {beta}" for beta in _FIGURE_18 if beta not in set(means["strength"])),
        picked.notes,
    )


_NAMED = {
    "pairs": re.compile(r"^kim2018-pairs-(\d+)-iterations-(\d+)(?:@\d+)?$"),
    "points": re.compile(r"^kim2018-points-(\d+)-votes-(\d+)(?:@\d+)?$"),
}


def _sensitivity(tables: Tables, metric: str, kind: str, label: str) -> Chart:
    """One model's score over a metric's own settings: a dot for each scoring seed."""
    scores: Frame = tables.scores
    rows: Frame = scores[(scores["metric"] == metric) & (scores["representation"] == "mean")]
    named = [_NAMED[kind].match(str(name)) for name in rows["protocol"]]
    rows = rows[[match is not None for match in named]]
    if not len(rows):
        return Chart(
            missing=(f"no {words.measure(metric).label} of one model under the protocols of `kim2018-sensitivity`",)
        )
    settings = [match for match in named if match is not None]
    rows = rows.assign(size=[int(match[1]) for match in settings], amount=[int(match[2]) for match in settings])
    one = rows[rows["run"] == rows["run"].iloc[0]]
    amounts, sizes = sorted(one["amount"].unique()), sorted(one["size"].unique())
    place = {value: index for index, value in enumerate(amounts)}
    points = pd.DataFrame(
        {
            "x": one["amount"].map(place).astype(float),
            "y": one["score"],
            "series": [f"L = {value}" for value in one["size"]],
            "run": one["run"].astype(str) + " @" + one["scoring_seed"].astype(str),
        }
    ).reset_index(drop=True)
    spreads = points.groupby(["x", "series"])["y"].agg(["mean", "std", "count"]).reset_index()
    summary = pd.DataFrame(
        {
            "x": spreads["x"],
            "y": spreads["mean"],
            "low": spreads["mean"] - spreads["std"],
            "high": spreads["mean"] + spreads["std"],
            "n": spreads["count"],
            "series": spreads["series"],
        }
    )
    panel = Panel(
        words.measure(metric).label,
        Axis(label, -0.5, len(amounts) - 0.5, tuple(f"{value:,}" for value in amounts)),
        score_axis(metric, with_intervals(metric, points, summary)),
        points,
        summary,
    )
    means: Frame = summary.groupby("x")["y"].mean()
    paper = "keeps rising" if kind == "pairs" else "hardly moves"
    comparisons = (
        Comparison(
            f"mean score at {amounts[-1]:,} minus at {amounts[0]:,} {label}",
            paper,
            float(means.iloc[-1] - means.iloc[0]),
            n=len(one),
        ),
        Comparison(
            "mean standard deviation over scoring seeds",
            "large" if kind == "pairs" else "small",
            float(np.nanmean(spreads["std"])),
            n=len(one),
        ),
    )
    return Chart(
        ((panel,),),
        tuple(Series(f"L = {value}", index, index) for index, value in enumerate(sizes)),
        "One model; dots are scoring seeds, bars span one standard deviation to either side of the mean.",
        comparisons,
    )


def figure_16(tables: Tables) -> Chart:
    """The old metric over its own settings."""
    return _sensitivity(tables, "beta_vae", "pairs", "iterations of Adagrad")


def figure_17(tables: Tables) -> Chart:
    """The new metric over its own settings."""
    return _sensitivity(tables, "factor_vae", "points", "votes")


_FACTOR = "FactorVAE over γ"
EXHIBITS = (
    Exhibit(
        "kim2018-figure-7",
        PAPER,
        "Figure 7",
        "The discriminator and the true total correlation",
        "Total correlation of FactorVAE's codes on 2D Shapes: by sampling when training has ended, as the discriminator "
        "sees it during training, and one against the other.",
        figure_7,
        PAPER,
        f"{_FACTOR}, curves",
    ),
    Exhibit(
        "kim2018-figure-16",
        PAPER,
        "Figure 16",
        "Sensitivity of the old metric",
        "BetaVAE score of one β-VAE over pairs per point (L) and iterations of its classifier.",
        figure_16,
        "kim2018-sensitivity",
        "one β-VAE under many protocols",
    ),
    Exhibit(
        "kim2018-figure-17",
        PAPER,
        "Figure 17",
        "Sensitivity of the new metric",
        "FactorVAE score of one β-VAE over points per vote (L) and votes.",
        figure_17,
        "kim2018-sensitivity",
        "one β-VAE under many protocols",
    ),
    Exhibit(
        "kim2018-figure-18",
        PAPER,
        "Figure 18",
        "Why a batch does not do",
        "The total correlation as a batch of 10,000 estimates it, for "
        "β-VAEs on 2D Shapes: a divergence that comes out negative.",
        figure_18,
        PAPER,
        "β-VAE over β, with the metric batch_tc",
    ),
    Exhibit(
        "kim2018-figure-37",
        PAPER,
        "Figure 37",
        "The discriminator's accuracy",
        "How often FactorVAE's discriminator is right during training on 2D Shapes, for each γ.",
        figure_37,
        PAPER,
        f"{_FACTOR}, curves",
    ),
)
