"""Kim & Mnih 2018: where the old metric fails, InfoWGAN-GP, and likelihood bounds (Fig. 3, 8 and appendix E).

Figure 3's model is one that leaves a factor out, as the paper's claim has it; unlike the paper's it is scored on shape too. Of
InfoWGAN-GP's grid Figure 8 shows the best noise size and learning rates at each λ.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Exhibit, Frame, Series
from hackle.figures.panels import MEANS, heat, scatter, score_axis, swarm
from hackle.figures.selection import settings_mask, summarise
from hackle.papers.kim2018.claims import GOOD, leaves_out
from hackle.papers.kim2018.figures_runs import (
    PAPER,
    SHAPES,
    best_means,
    by_weight,
    method_missing,
    three_dimensional,
    weighed_runs,
)
from hackle.papers.split_encoder.figures import information_cells
from hackle.store.tables import Tables

_KINDS = {1.0: "leaves a factor out", 0.0: "captures every factor"}
_UNCERTAIN = "neither is certain"
BIGGER = 1024
"""Hidden units of Figure 34's networks (Table 6)."""


def figure_3(tables: Tables) -> Chart:
    """β-VAEs that the old metric finds perfect."""
    frame, picked = weighed_runs(tables, ("beta_vae", "factor_vae"), ("beta-vae",))
    frame = frame[frame[["beta_vae", "factor_vae"]].notna().all(axis=1)]
    if not len(frame):
        return Chart(missing=("no runs of β-VAE on dSprites with both metrics",), notes=picked.notes)
    informations, informativeness = tables.array("mutual_information"), tables.array("informativeness")
    kind = frame["run"].map(
        lambda run: (
            leaves_out(informations[run], informativeness[run])
            if run in informations and run in informativeness
            else np.nan
        )
    )
    frame = frame.assign(
        kind=kind, series=kind.map(_KINDS).fillna(_UNCERTAIN), gap=frame["beta_vae"] - frame["factor_vae"]
    )
    panel = scatter(
        frame,
        "beta_vae",
        "factor_vae",
        title="dSprites",
        means=False,
        axes=(score_axis("beta_vae", frame["beta_vae"]), score_axis("factor_vae", frame["factor_vae"])),
    )
    without = frame[frame["kind"] == 1]
    worst = frame.loc[(without if len(without) else frame)["gap"].idxmax()]
    label = f"{words.method('beta-vae', worst.strength)}, seed {worst.seed}"
    mark = pd.DataFrame({"x": [worst.beta_vae], "y": [worst.factor_vae], "text": [label]})
    panels = [replace(panel, labels=mark, diagonal=0.0)]
    missing = ()
    if worst.run in informations:
        cells = information_cells(informations[worst.run], "dsprites")
        panels.append(heat(cells, title="the marked run: I(latent; factor), nats", signed=False))
    else:
        missing = ("informations of the marked run",)
    good = frame[(frame["beta_vae"] >= GOOD) & frame["kind"].notna()]
    comparisons = tuple(
        Comparison(
            f"BetaVAE minus FactorVAE score, BetaVAE {GOOD} or more: {_KINDS[row.kind]}",
            "wide" if row.kind else "narrow",
            *(row.y, row.low, row.high, int(row.n)),
        )
        for row in summarise(good, ["kind"], "gap").sort_values("kind", ascending=False).itertuples()
    )
    return Chart(
        (tuple(panels),),
        tuple(
            Series(name, index, index)
            for index, name in enumerate((*_KINDS.values(), _UNCERTAIN))
            if name in set(frame["series"])
        ),
        "Dots are runs; the marked one has the widest gap between the metrics of those that leave a factor out, or where "
        "there is none of all.",
        comparisons,
        missing,
        picked.notes,
    )


def _grid(tables: Tables, frame: Frame) -> Frame:
    """The runs with their whole `setting`, without those of bigger networks."""
    records = dict(zip(tables.runs["run"], tables.runs["record"], strict=True))
    settings = [json.loads(records[run]) for run in frame["run"]]
    names = [json.dumps({key: value for key, value in one.items() if key != "seed"}) for one in settings]
    usual = np.array([one.get("architecture", {}).get("hidden") != BIGGER for one in settings], bool)
    return frame.assign(setting=names)[usual]


def _tuned(frame: Frame, metric: str) -> Frame:
    """At each weight, the runs of the setting with the highest mean score."""
    frame = frame[frame[metric].notna()]
    best = frame.groupby(["strength", "setting"])[metric].mean().groupby("strength").idxmax()
    return frame[pd.MultiIndex.from_frame(frame[["strength", "setting"]]).isin(list(best))]


def figure_8(tables: Tables) -> Chart:
    """InfoWGAN-GP by its weight."""
    metrics = ("beta_vae", "factor_vae")
    frame, picked = weighed_runs(tables, metrics, ("infowgan-gp",))
    frame = _grid(tables, frame)
    rival, _ = weighed_runs(tables, ("factor_vae",), ("factor-vae",))
    panels = tuple(
        by_weight(part, metric, words.measure(metric).label)
        for metric in metrics
        for part in [_tuned(frame, metric).assign(series="InfoWGAN-GP")]
        if len(part)
    )
    best, other = best_means(_tuned(frame, "factor_vae")), best_means(rival)
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
        f"{MEANS} At each λ the noise size and learning rates with the highest mean.",
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
    methods = ("beta-vae", "factor-vae")
    for paper_set, models in _BOUNDS.items():
        dataset = paper_set if paper_set == "dsprites" else three_dimensional(tables, ("iwae",), methods)
        frame, picked = weighed_runs(tables, ("iwae",), methods, dataset)
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
        "2D Shapes, and what the latents of one that leaves a factor out know.",
        figure_3,
        PAPER,
        "β-VAE over its weights",
    ),
    Exhibit(
        "kim2018-figure-8",
        PAPER,
        "Figure 8",
        "InfoWGAN-GP",
        "Both metrics of InfoWGAN-GP on 2D Shapes by the weight of its information term, with the networks of Table 5.",
        figure_8,
        PAPER,
        "InfoWGAN-GP over λ",
    ),
    Exhibit(
        "kim2018-appendix-e",
        PAPER,
        "Appendix E",
        "Likelihood bounds",
        "Importance-weighted bounds on the log-likelihood of the paper's best settings; in 3D on Rooms3D where that alone "
        "was trained.",
        appendix_e,
        PAPER,
        "β-VAE and FactorVAE over their weights, with the metric iwae",
        ("dsprites", "shapes3d"),
    ),
)
