"""Kim & Mnih 2018: where the old metric fails, InfoWGAN-GP, and likelihood bounds (Fig. 3, 8 and appendix E).

Figure 3's model is found by its scores: high on the metric of Higgins et al. and low on FactorVAE's.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Exhibit, Frame, Series
from hackle.figures.kim2018_runs import PAPER, SHAPES, best_means, by_weight, method_missing, weighed_runs
from hackle.figures.panels import MEANS, heat, scatter, score_axis, swarm
from hackle.figures.selection import settings_mask, summarise
from hackle.figures.split_encoder import information_cells
from hackle.tables import Tables


def figure_3(tables: Tables) -> Chart:
    """β-VAEs that the old metric finds perfect."""
    frame, picked = weighed_runs(tables, ("beta_vae", "factor_vae"), ("beta-vae",))
    frame = frame[frame[["beta_vae", "factor_vae"]].notna().all(axis=1)]
    if not len(frame):
        return Chart(missing=("no runs of β-VAE on dSprites with both metrics",), notes=picked.notes)
    panel = scatter(
        frame.assign(series="β-VAE"),
        "beta_vae",
        "factor_vae",
        title="dSprites",
        means=False,
        axes=(score_axis("beta_vae", frame["beta_vae"]), score_axis("factor_vae", frame["factor_vae"])),
    )
    worst = frame.loc[(frame["beta_vae"] - frame["factor_vae"]).idxmax()]
    mark = pd.DataFrame(
        {"x": [worst.beta_vae], "y": [worst.factor_vae], "text": [f"{worst.series}, seed {worst.seed}"]}
    )
    panels = [replace(panel, labels=mark, diagonal=0.0)]
    informations = tables.array("mutual_information")
    missing = ()
    if worst.run in informations:
        cells = information_cells(informations[worst.run], "dsprites")
        panels.append(heat(cells, title="the marked run: I(latent; factor), nats", signed=False))
    else:
        missing = ("informations of the marked run",)
    fooled = frame[(frame["beta_vae"] >= 0.99) & (frame["factor_vae"] < 0.9)]
    comparisons = (
        Comparison(
            "runs that score 0.99 or more on the old metric and below 0.9 on the new",
            "one shown",
            f"{len(fooled)}",
            n=len(frame),
        ),
    )
    return Chart(
        (tuple(panels),),
        (Series("β-VAE", 0, 0),),
        "Dots are runs; the marked one has the largest gap between the two metrics.",
        comparisons,
        missing,
        picked.notes,
    )


def figure_8(tables: Tables) -> Chart:
    """InfoWGAN-GP by its weight."""
    metrics = ("beta_vae", "factor_vae")
    frame, picked = weighed_runs(tables, metrics, ("infowgan-gp",))
    rival, _ = weighed_runs(tables, ("factor_vae",), ("factor-vae",))
    panels = tuple(
        by_weight(part, metric, words.measure(metric).label)
        for metric in metrics
        for part in [frame[frame[metric].notna()].assign(series="InfoWGAN-GP")]
        if len(part)
    )
    best, other = best_means(frame), best_means(rival)
    comparisons = ()
    if "infowgan-gp" in best:
        mine = best["infowgan-gp"]
        comparisons = (
            Comparison(
                f"best mean FactorVAE score (λ = {mine.strength:g})",
                "disappointingly low",
                float(mine.y),
                float(mine.low),
                float(mine.high),
                int(mine.n),
            ),
        )
        if "factor-vae" in other:
            comparisons += (
                Comparison(
                    "the same of FactorVAE", "much higher", float(other["factor-vae"].y), n=int(other["factor-vae"].n)
                ),
            )
    return Chart(
        (panels,) if panels else (),
        (Series("InfoWGAN-GP", 6, 0),),
        f"{MEANS} Runs of all noise sizes and rates together.",
        comparisons,
        method_missing(frame, ("infowgan-gp",), "dsprites"),
        picked.notes,
    )


_BOUNDS = {
    "dsprites": (
        ("VAE", "beta-vae", 1.0, -43.3),
        ("β-VAE β = 4", "beta-vae", 4.0, -46.1),
        ("FactorVAE γ = 35", "factor-vae", 35.0, -51.9),
    ),
    "shapes3d": (
        ("VAE", "beta-vae", 1.0, -3517.0),
        ("β-VAE β = 32", "beta-vae", 32.0, -3534.0),
        ("FactorVAE γ = 6", "factor-vae", 6.0, -3520.0),
    ),
}


def appendix_e(tables: Tables) -> Chart:
    """Bounds on the log-likelihood."""
    panels, comparisons, missing, notes = [], [], [], ()
    for dataset, models in _BOUNDS.items():
        frame, picked = weighed_runs(tables, ("iwae",), ("beta-vae", "factor-vae"), dataset)
        notes = tuple(dict.fromkeys((*notes, *picked.notes)))
        shape = SHAPES[dataset]
        parts = []
        for label, method, weight, value in models:
            part = frame[settings_mask(frame, {"method": method, "strength": weight}) & frame["iwae"].notna()]
            parts.append(part.assign(series="runs", model=label))
            if not len(part):
                missing.append(f"{shape}: no bound of {label}")
                continue
            found = summarise(part.assign(y=part["iwae"]), ["method"]).iloc[0]
            comparisons.append(
                Comparison(
                    f"{shape}, {label}: IWAE bound",
                    value,
                    float(found.y),
                    float(found.low),
                    float(found.high),
                    int(found.n),
                )
            )
        rows: Frame = pd.concat(parts)
        if len(rows):
            order = [label for label, *_ in models if (rows["model"] == label).any()]
            panels.append(swarm(rows, "iwae", "model", order, title=shape))
    return Chart(
        (tuple(panels),) if panels else (),
        (Series("runs", 0, 0),),
        f"{MEANS} The paper reports one run of each.",
        tuple(comparisons),
        tuple(missing),
        notes,
        shared_y=False,
    )


EXHIBITS = (
    Exhibit(
        "kim2018-figure-3",
        PAPER,
        "Figure 3",
        "Where the old metric fails",
        "FactorVAE score against BetaVAE score of every β-VAE on "
        "2D Shapes, and what the latents of the run with the widest gap know.",
        figure_3,
        PAPER,
        "β-VAE over its weights",
    ),
    Exhibit(
        "kim2018-figure-8",
        PAPER,
        "Figure 8",
        "InfoWGAN-GP",
        "Both metrics of InfoWGAN-GP on 2D Shapes by the weight of its information term.",
        figure_8,
        PAPER,
        "InfoWGAN-GP over λ",
    ),
    Exhibit(
        "kim2018-appendix-e",
        PAPER,
        "Appendix E",
        "Likelihood bounds",
        "Importance-weighted bounds on the log-likelihood of the paper's best settings.",
        appendix_e,
        PAPER,
        "β-VAE and FactorVAE over their weights, with the metric iwae",
        ("dsprites", "shapes3d"),
    ),
)
