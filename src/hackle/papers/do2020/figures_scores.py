"""Do & Tran 2020, Fig. 2 to 8, 24 and 25: informativeness, separability, interpretability, agreement with other metrics.

Scores of JEMMIG and RMIG are normalised here and not in the paper's Fig. 5 and 6. Fig. 3a shows I(z_i; z_≠i) of single
latents; here it is their mean weighted by informativeness. It, I(z, x) and the separable informations are those with every
image in q(z), which 10,000 points would limit to ln 10,000. Fig. 4's traversals are pictures; its numbers, how much each latent
knows, are drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Frame, Panel
from hackle.figures.exhibit import FunctionExhibit
from hackle.figures.panels import MEANS
from hackle.figures.selection import settings_mask, summarise
from hackle.papers.do2020.figures_runs import (
    PAIR,
    PAPER,
    PLAIN,
    against,
    by_model,
    missing_models,
    model_runs,
    models_chart,
    rank_comparison,
    scored,
)
from hackle.store.tables import Tables


def figure_2(tables: Tables) -> Chart:
    """Informativeness of single codes and of all together."""
    text = "rank correlation of β and the {} in β-VAE"
    return models_chart(
        tables,
        ("informativeness_mean", "whole_total_information"),
        (
            (text.format("mean I(z_i, x)"), "informativeness_mean", "beta-vae", "falls consistently"),
            (text.format("I(z, x)"), "whole_total_information", "beta-vae", "falls consistently"),
            (
                "rank correlation of γ and I(z, x) in FactorVAE",
                "whole_total_information",
                "factor-vae",
                "hardly any change",
            ),
        ),
    )


def figure_3(tables: Tables) -> Chart:
    """Separability."""
    metrics = ("whole_overlap", "whole_wsepin", "whole_sepin@3")
    trend = ("rank correlation of β and the weighted mean of I(z_i, z_≠i) in β-VAE", metrics[0], "beta-vae", "falls")
    chart = models_chart(tables, metrics, (trend,))
    frame, _ = model_runs(tables, metrics)
    highest = []
    for metric in scored(frame, metrics[1:]):
        means = summarise(frame[frame[metric].notna()], ["model"], metric)
        best = means.loc[means["y"].idxmax()]
        highest.append(
            Comparison(
                f"highest {words.measure(metric).short}: at {best.model} (paper: β 10)",
                "at β = 10",
                float(best.y),
                float(best.low),
                float(best.high),
                int(best.n),
            )
        )
    return replace(chart, comparisons=(*chart.comparisons, *highest))


_SHOWN = (("FactorVAE γ = 10", "factor-vae", 10.0), ("VAE", "beta-vae", 1.0), ("β-VAE β = 10", "beta-vae", 10.0))
_FIGURE_4 = {"FactorVAE γ = 10": 5, "VAE": 5, "β-VAE β = 10": 4}
_LEAST = 0.05


def figure_4(tables: Tables) -> Chart:
    """How much each latent knows, sorted."""
    frame, picked = model_runs(tables, ("informativeness_mean",))
    known = tables.array("informativeness") if len(frame) else {}
    panels, comparisons, missing = [], [], []
    for label, method, weight in _SHOWN:
        rows = frame[(frame["method"] == method) & np.isclose(frame["strength"], weight)]
        runs = [run for run in rows["run"] if run in known]
        if not runs:
            missing.append(f"informativeness of single latents of {label}")
            continue
        values = [np.sort(np.asarray(known[run], float))[::-1] for run in runs]
        points: Frame = pd.DataFrame(
            {
                "x": np.concatenate([np.arange(len(part), dtype=float) for part in values]),
                "y": np.concatenate(values),
                "series": label,
                "run": np.repeat(runs, [len(part) for part in values]),
            }
        )
        ticks = tuple(str(place + 1) for place in range(max(map(len, values))))
        panels.append(
            Panel(
                label,
                Axis("latent, most informative first", -0.5, len(ticks) - 0.5, ticks),
                Axis("I(z_i, x) (nats)", 0.0, float(points["y"].max()) * 1.08),
                points,
                summarise(points, ["x", "series"]),
            )
        )
        counts = pd.DataFrame({"y": [(part > _LEAST).sum() for part in values], "series": label})
        mean = summarise(counts.astype({"y": float}), ["series"]).iloc[0]
        comparisons.append(
            Comparison(
                f"{label}: latents with more than {_LEAST} nats",
                _FIGURE_4[label],
                float(mean.y),
                float(mean.low),
                float(mean.high),
                int(mean.n),
            )
        )
    alike = (PAIR[0], PLAIN, PAIR[1])
    series = tuple(replace(one, name=label) for one, (label, *_) in zip(alike, _SHOWN, strict=True))
    return Chart((tuple(panels),) if panels else (), series, MEANS, tuple(comparisons), tuple(missing), picked.notes)


def _lines(*found: Comparison | None) -> tuple[Comparison, ...]:
    return tuple(one for one in found if one is not None)


def figure_5(tables: Tables) -> Chart:
    """JEMMIG and RMIG."""
    metrics = ("jemmig", "rmig")
    frame, picked = model_runs(tables, metrics)
    panels = [by_model(frame, metric, words.measure(metric).short) for metric in scored(frame, metrics)]
    comparisons: list[Comparison] = []
    if len(panels) == 2:
        panels.append(against(frame, "jemmig", "rmig", "JEMMIG against RMIG"))
        comparisons += _lines(rank_comparison(frame, "jemmig", "rmig", "negative"))
    for metric in scored(frame, metrics):
        means = summarise(frame[frame[metric].notna()], ["method", "model"], metric)
        factor, beta = (means[means["method"] == name]["y"] for name in ("factor-vae", "beta-vae"))
        if len(factor) and len(beta):
            gap = factor.max() - beta.min() if metric == "jemmig" else factor.min() - beta.max()
            comparisons.append(
                Comparison(
                    f"{words.measure(metric).short}: worst FactorVAE minus best β-VAE, means of a weight",
                    "below 0" if metric == "jemmig" else "above 0",
                    float(gap),
                    n=len(frame),
                )
            )
    return Chart(
        (tuple(panels),) if panels else (),
        PAIR,
        MEANS,
        tuple(comparisons),
        missing_models(frame, metrics),
        picked.notes,
        shared_y=False,
    )


def figure_6(tables: Tables) -> Chart:
    """JEMMIG and RMIG against DCI."""
    others = ("dci_disentanglement", "dci_completeness", "dci_informativeness")
    frame, picked = model_runs(tables, ("jemmig", "rmig", *others))
    rows, comparisons = [], []
    for own in scored(frame, ("jemmig", "rmig")):
        row = [against(frame, own, other) for other in scored(frame, others)]
        if row:
            rows.append(tuple(row))
        for other in scored(frame, others):
            sign = "negative" if own == "jemmig" else "positive"
            comparisons.append(
                rank_comparison(
                    frame, own, other, sign if other.endswith("informativeness") else "strongly uncorrelated"
                )
            )
    return Chart(
        tuple(rows),
        PAIR,
        "Dots are runs. DCI informativeness is higher where the paper's error is lower.",
        _lines(*comparisons),
        missing_models(frame, ("jemmig", "rmig", *others)),
        picked.notes,
        shared_y=False,
    )


def figure_7(tables: Tables) -> Chart:
    """DCI by weight."""
    text = "rank correlation of β and DCI {} in β-VAE"
    metrics = ("dci_disentanglement", "dci_completeness", "dci_informativeness")
    chart = models_chart(
        tables,
        metrics,
        (
            (text.format("disentanglement"), "dci_disentanglement", "beta-vae", "favours high β"),
            (text.format("completeness"), "dci_completeness", "beta-vae", "favours high β"),
        ),
    )
    frame, _ = model_runs(tables, metrics)
    high = frame[settings_mask(frame, {"method": "beta-vae", "strength": [20.0, 50.0]})]["dci_informativeness"].dropna()
    factor = frame[frame["method"] == "factor-vae"]["dci_informativeness"].dropna()
    if not len(high) or not len(factor):
        return chart
    less = Comparison(
        "DCI informativeness: β-VAE at β = 20 and 50 minus FactorVAE",
        "below 0",
        float(high.mean() - factor.mean()),
        n=len(high) + len(factor),
    )
    return replace(chart, comparisons=(*chart.comparisons, less))


def figure_8(tables: Tables) -> Chart:
    """Modularity of means and of posteriors."""
    metrics = ("modularity", "posterior_modularity")
    frame, picked = model_runs(tables, ("jemmig", *metrics))
    both = len(scored(frame, ("jemmig", "modularity"))) == 2
    panels = [against(frame, "jemmig", "modularity", "JEMMIG against modularity")] if both else []
    panels += [by_model(frame, metric, words.measure(metric).label) for metric in scored(frame, metrics)]
    comparisons = []
    for metric in scored(frame, metrics):
        vae = frame[(frame["method"] == "beta-vae") & np.isclose(frame["strength"], 1.0)][metric].mean()
        factor = frame[frame["method"] == "factor-vae"][metric].mean()
        if np.isfinite(vae) and np.isfinite(factor):
            comparisons.append(
                Comparison(
                    f"{words.measure(metric).label}, over all codes, also of noise: VAE minus FactorVAE",
                    "often above 0",
                    float(vae - factor),
                    n=len(frame),
                )
            )
    return Chart(
        (tuple(panels),) if panels else (),
        PAIR,
        MEANS,
        tuple(comparisons),
        missing_models(frame, ("jemmig", *metrics)),
        picked.notes,
        shared_y=False,
    )


def _estimators(tables: Tables, pairs: tuple[tuple[str, str, str | float], ...], reading: str) -> Chart:
    """Scores by one estimator against another's, on the line where they agree."""
    metrics = tuple(dict.fromkeys(name for first, second, _ in pairs for name in (first, second)))
    frame, picked = model_runs(tables, metrics)
    panels, comparisons = [], []
    for first, second, paper in pairs:
        if len(scored(frame, (first, second))) == 2:
            panels.append(against(frame, first, second, diagonal=0.0))
            comparisons.append(rank_comparison(frame, first, second, paper))
    return Chart(
        (tuple(panels),) if panels else (),
        PAIR,
        reading,
        _lines(*comparisons),
        missing_models(frame, metrics),
        picked.notes,
        shared_y=False,
    )


def figure_24(tables: Tables) -> Chart:
    """Sampling against quantisation."""
    return _estimators(
        tables,
        (("sampled_jemmig", "jemmig", "on a line"), ("sampled_rmig", "rmig", "on y = x")),
        "Dots are runs; the dashed line is y = x. JEMMIG is normalised, and the logarithm of the bin width, by "
        "which the paper's line is shifted, is taken out of that by sampling.",
    )


def figure_25(tables: Tables) -> Chart:
    """RMIG against MIG."""
    return _estimators(
        tables,
        (("sampled_mig", "rmig", "almost the same"), ("mig", "rmig", "unstable at high β")),
        "Dots are runs; the dashed line is y = x. Left MIG over q(z|x) by sampling, right MIG of means in equal-width bins.",
    )


_NEEDS = "FactorVAE with γ = 10 to 100 and β-VAE with β = 1 to 50"


def _exhibit(number: int, title: str, caption: str, aggregate, needs: str = _NEEDS) -> FunctionExhibit:
    return FunctionExhibit(
        f"do2020-figure-{number}", PAPER, f"Figure {number}", title, caption, aggregate, PAPER, needs
    )


EXHIBITS = (
    _exhibit(
        2,
        "Informativeness",
        "Information of single codes and of all codes together on dSprites.",
        figure_2,
        f"{_NEEDS}, with the metric whole_separability",
    ),
    _exhibit(
        3,
        "Separability",
        "How much codes share with the others, and WSEPIN and SEPIN@3, on dSprites.",
        figure_3,
        f"{_NEEDS}, with the metric whole_separability",
    ),
    _exhibit(
        4,
        "What each latent knows",
        "Informativeness of every latent, most informative first, of three settings.",
        figure_4,
    ),
    _exhibit(5, "Interpretability", "JEMMIG and RMIG on dSprites, and one against the other.", figure_5),
    _exhibit(6, "Against DCI", "JEMMIG and RMIG against DCI's three scores.", figure_6),
    _exhibit(7, "DCI by weight", "Disentanglement, completeness and informativeness of DCI.", figure_7),
    _exhibit(
        8,
        "Against modularity",
        "JEMMIG against modularity, and modularity of means and of posteriors by weight.",
        figure_8,
    ),
    _exhibit(
        24,
        "Sampling and quantisation",
        "JEMMIG and RMIG by sampling against quantisation.",
        figure_24,
        f"{_NEEDS}, with the metrics sampled_jemmig and sampled_interpretability",
    ),
    _exhibit(
        25,
        "RMIG and MIG",
        "RMIG against MIG in its original definition, and against MIG of means.",
        figure_25,
        f"{_NEEDS}, with the metric sampled_interpretability",
    ),
)
