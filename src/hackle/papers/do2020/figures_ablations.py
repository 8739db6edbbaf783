"""Do & Tran 2020, Fig. 17 to 19, Tables 5 to 9, appendix A.18: settings of the metrics, models side by side, consistency.

Tables 5 to 7 are of CelebA; they and 8 and 9 are drawn for dSprites. A results table has a MISJED per run, averaged over pairs
of its three most informative latents, and informations of means with factors: so Table 5 shows that average, Tables 6 and 8
MIG of means for each factor beside RMIG over all of them, Tables 7 and 9 JEMMIG over all factors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Frame, Panel, Series
from hackle.figures.exhibit import FunctionExhibit
from hackle.figures.panels import MEANS, heat, score_axis, swarm
from hackle.figures.selection import Selected, pick, settings_mask, summarise
from hackle.figures.style import shade
from hackle.papers.do2020.figures_runs import AUTOENCODER, PAIR, PAPER, PLAIN, model_runs
from hackle.papers.do2020.metric_claims import alike
from hackle.store.tables import Tables

_MODELS = (("FactorVAE", "factor-vae", 10.0), ("β-VAE", "beta-vae", 10.0), ("AAE", "adversarial-autoencoder", 50.0))


def _over_protocols(tables: Tables, kind: str, metrics: Sequence[str], label: str, paper: dict[str, str]) -> Chart:
    """Scores over a setting that the protocol's name holds, such as do2020-bins-50; settings of models are series."""
    pattern = re.compile(rf"^do2020-{kind}-(\d+)$")
    names = {str(name): int(match[1]) for name in set(tables.scores["protocol"]) if (match := pattern.match(str(name)))}
    scores: Frame = tables.scores[
        tables.scores["protocol"].isin(list(names)) & tables.scores["metric"].isin(list(metrics))
    ]
    scores = scores[(scores["dataset"] == "dsprites") & (scores["latents"] == 10)]
    if not len(scores):
        return Chart(missing=(f"no scores under the protocols do2020-{kind}-…",))
    method = scores["method"].astype(str)
    scores = scores.assign(
        amount=scores["protocol"].astype(str).map(names).astype(int),
        series=[words.method(name, strength) for name, strength in zip(method, scores["strength"], strict=True)],
    )
    amounts = sorted(scores["amount"].unique())
    place = {value: float(index) for index, value in enumerate(amounts)}
    panels, comparisons = [], []
    for metric in metrics:
        rows = scores[scores["metric"] == metric]
        if not len(rows):
            continue
        points: Frame = pd.DataFrame(
            {
                "x": rows["amount"].map(place).astype(float),
                "y": rows["score"].astype(float),
                "series": rows["series"],
                "run": rows["run"].astype(str),
            }
        ).reset_index(drop=True)
        axis = Axis(label, -0.5, len(amounts) - 0.5, tuple(f"{value:,}" for value in amounts))
        panels.append(
            Panel(
                words.measure(metric).short,
                axis,
                score_axis(metric, points["y"]),
                points,
                summarise(points, ["x", "series"]),
                joined=True,
            )
        )
        middle = points.groupby(["x", "series"])["y"].mean().unstack(0)
        change = float((middle.iloc[:, -1] - middle.iloc[:, 0]).mean())
        comparisons.append(
            Comparison(
                f"{words.measure(metric).short} at {amounts[-1]:,} minus at {amounts[0]:,} {label}, mean of models",
                paper[metric],
                change,
                n=points["run"].nunique(),
            )
        )
        ranks = middle.rank().corr().to_numpy(float)
        if len(middle) > 2:
            comparisons.append(
                Comparison(
                    f"{words.measure(metric).short}: rank correlation of models, least over pairs of {label}",
                    "the order stays",
                    float(np.nanmin(ranks)),
                    n=points["run"].nunique(),
                )
            )
    return Chart(
        (tuple(panels),),
        _shaded(scores),
        "Dots are runs; lines join means, bars are 95% t intervals.",
        tuple(comparisons),
        shared_y=False,
    )


def _shaded(scores: Frame) -> tuple[Series, ...]:
    """A series for each setting: hues for methods, shades for weights."""
    found: list[Series] = []
    for method, part in scores.groupby(scores["method"].astype(str)):
        names = list(dict.fromkeys(part.sort_values("strength")["series"]))
        hue = {"beta-vae": 0, "factor-vae": 1}.get(str(method), 2)
        found += [Series(name, shade(hue, place, len(names)), place) for place, name in enumerate(names)]
    return tuple(found)


def figure_17(tables: Tables) -> Chart:
    """RMIG and JEMMIG over the number of bins."""
    return _over_protocols(
        tables, "bins", ("rmig", "jemmig"), "bins", {"rmig": "rises, stable beyond 200", "jemmig": "keeps rising"}
    )


def figure_18(tables: Tables) -> Chart:
    """JEMMIG and WSEPIN, both by sampling, over the number of samples."""
    metrics = ("sampled_jemmig", "whole_wsepin")
    return _over_protocols(tables, "samples", metrics, "samples", dict.fromkeys(metrics, "hardly any change"))


_FIGURE_19 = {
    "informativeness_mean": "noise added",
    "whole_total_information": "falls",
    "whole_wsepin": "unstable",
    "jemmig": "steady",
    "rmig": "steady",
}


def figure_19(tables: Tables) -> Chart:
    """Scores over the number of latents."""
    metrics = tuple(_FIGURE_19)
    picked = pick(tables, metrics, protocol=PAPER, dataset="dsprites", method="beta-vae", strength=10.0, latents="any")
    frame = picked.wide()
    frame = frame.assign(series="β-VAE β = 10", width=[str(int(value)) for value in frame["latents"]])
    order = [str(value) for value in sorted(frame["latents"].astype(int).unique())]
    have = [metric for metric in metrics if frame[metric].notna().any()] if len(order) > 1 else []
    panels = []
    for metric in have:
        panel = swarm(Selected(frame), metric, "width", order, title=words.measure(metric).short)
        panels.append(replace(panel, x=replace(panel.x, label="latents")))
    comparisons = tuple(
        Comparison(
            f"{words.measure(metric).short} with {order[-1]} minus {order[0]} latents",
            _FIGURE_19[metric],
            float(frame[frame["width"] == order[-1]][metric].mean() - frame[frame["width"] == order[0]][metric].mean()),
            n=int(frame[metric].notna().sum()),
        )
        for metric in have
    )
    missing = () if have else ("runs of β-VAE β = 10 on dSprites with different numbers of latents",)
    return Chart(
        (tuple(panels),) if panels else (),
        (Series("β-VAE β = 10", 0, 0),),
        MEANS,
        comparisons,
        missing,
        picked.notes,
        shared_y=False,
    )


def _side_by_side(tables: Tables, metric: str, paper: dict[str, float | str]) -> Chart:
    """One score of the three models."""
    frame, picked = model_runs(tables, (metric,), ("factor-vae", "beta-vae", "adversarial-autoencoder"))
    parts = [frame[settings_mask(frame, {"method": name, "strength": weight})] for _, name, weight in _MODELS]
    rows: Frame = pd.concat(parts)
    rows = rows[rows[metric].notna()]
    names = [label for label, *_ in _MODELS if (rows["series"] == label).any()]
    panels = ((swarm(Selected(rows), metric, "series", names, title="dSprites"),),) if len(rows) else ()
    means = summarise(rows.assign(y=rows[metric]), ["series"]).set_index("series") if len(rows) else pd.DataFrame()
    comparisons = tuple(
        Comparison(
            f"{label}: {words.measure(metric).short}",
            paper[label],
            float(means.y[label]),
            float(means.low[label]),
            float(means.high[label]),
            int(means.n[label]),
        )
        for label in names
    )
    missing = tuple(f"no {metric} of {label}" for label, *_ in _MODELS if label not in names)
    return Chart(panels, (*PAIR, AUTOENCODER), MEANS, comparisons, missing, picked.notes)


_RMIG = {
    "FactorVAE": (0.2412, 0.7139, 0.0523, 0.7198, 0.7256),
    "β-VAE": (0.0481, 0.1533, 0.0, 0.4127, 0.4193),
    "AAE": (0.0053, 0.0786, 0.0098, 0.3932, 0.4509),
}
_JEMMIG = {
    "FactorVAE": (0.6841, 0.3422, 0.7204, 0.2908, 0.2727),
    "β-VAE": (0.8642, 0.8087, 0.9199, 0.5629, 0.5576),
    "AAE": (0.8426, 0.8143, 0.8665, 0.5738, 0.5258),
}
_FACTORS = ("shape", "scale", "orientation", "x", "y")


def table_5(tables: Tables) -> Chart:
    """MISJED of the three models."""
    return _side_by_side(tables, "whole_misjed_top", {"FactorVAE": "lowest", "β-VAE": "highest", "AAE": "between"})


def gap_per_factor(information: np.ndarray) -> np.ndarray:
    """For each factor of dSprites the gap between the two codes that know most of it, over the factor's entropy."""
    top = np.sort(information, axis=0)[::-1]
    entropies = np.log([size for _, size in words.FACTORS["dsprites"]])
    return (top[0] - top[1]) / entropies


def table_8(tables: Tables) -> Chart:
    """RMIG of the three models, and MIG of means for each factor."""
    chart = _side_by_side(tables, "rmig", {label: float(np.mean(values)) for label, values in _RMIG.items()})
    frame, _ = model_runs(tables, ("rmig",), ("factor-vae", "beta-vae", "adversarial-autoencoder"))
    known = tables.array("mutual_information") if len(frame) else {}
    found = {}
    for label, name, weight in _MODELS:
        runs = frame[settings_mask(frame, {"method": name, "strength": weight})]["run"]
        gaps = [
            gap_per_factor(np.asarray(known[run], float))
            for run in runs
            if run in known and np.shape(known[run])[1] == 5
        ]
        if gaps:
            found[label] = np.mean(gaps, axis=0)
    if not found:
        return chart
    cells = [
        heat(pd.DataFrame.from_dict(values, orient="index", columns=list(_FACTORS)), title=title, signed=False)
        for title, values in (("here: MIG of means", found), ("paper: RMIG", _RMIG))
    ]
    return replace(chart, rows=((*chart.panels, *cells),))


def table_9(tables: Tables) -> Chart:
    """JEMMIG of the three models."""
    return _side_by_side(tables, "jemmig", {label: float(np.mean(values)) for label, values in _JEMMIG.items()})


def appendix_a18(tables: Tables) -> Chart:
    """How alike the codes of two seeds are."""
    picked = pick(
        tables, ("informativeness_mean",), protocol=PAPER, dataset="dsprites", method=["factor-vae", "beta-vae", "vae"]
    )
    frame = picked.wide()
    codes, known = (tables.array(name) if len(frame) else {} for name in ("codes", "informativeness"))
    points = []
    for (method, strength), part in frame.groupby(["method", "strength"], dropna=False):
        runs = [run for run in part.sort_values("seed")["run"] if run in codes and run in known][:12]
        models = {run: (np.asarray(codes[run], float), np.asarray(known[run], float)) for run in runs}
        for index, first in enumerate(runs):
            points += [
                (
                    words.method(str(method), strength),
                    words.METHODS[str(method)],
                    f"{first} {second}",
                    alike(models[first], models[second]),
                )
                for second in runs[index + 1 :]
            ]
    if not points:
        return Chart(missing=("codes of two seeds or more of FactorVAE on dSprites",), notes=picked.notes)
    pairs: Frame = pd.DataFrame(points, columns=["model", "series", "run", "likeness"])
    order = list(dict.fromkeys(pairs.sort_values("series", ascending=False)["model"]))
    panel = swarm(
        Selected(pairs), "likeness", "model", order, title="dSprites", y=Axis("likeness of two seeds' codes", 0.0, 1.0)
    )
    # Pairs of the same runs are not independent: a t interval over them would be too narrow.
    panel = replace(panel, summary=panel.summary.assign(low=np.nan, high=np.nan))
    factor = pairs[pairs["series"] == "FactorVAE"]["likeness"]
    comparisons = (
        (
            Comparison(
                "FactorVAE: mean likeness, 1 is the same up to order and sign",
                "visually the same",
                float(factor.mean()),
                n=len(factor),
            ),
        )
        if len(factor)
        else ()
    )
    return Chart(
        ((panel,),),
        (*PAIR, PLAIN),
        "Dots are pairs of seeds, the line their mean; at most twelve seeds of a setting.",
        comparisons,
        notes=picked.notes,
    )


_THREE = "FactorVAE γ = 10, β-VAE β = 10 and AAE"
EXHIBITS = (
    FunctionExhibit(
        "do2020-figure-17",
        PAPER,
        "Figure 17",
        "The number of bins",
        "RMIG and JEMMIG of every model over the number of bins.",
        figure_17,
        PAPER,
        "runs scored under do2020-bins-…",
    ),
    FunctionExhibit(
        "do2020-figure-18",
        PAPER,
        "Figure 18",
        "The number of samples",
        "JEMMIG and WSEPIN of every model, by sampling, over the number of samples.",
        figure_18,
        PAPER,
        "runs scored under do2020-samples-…",
    ),
    FunctionExhibit(
        "do2020-figure-19",
        PAPER,
        "Figure 19",
        "The number of latents",
        "Scores of β-VAE with β = 10 over the number of latents.",
        figure_19,
        PAPER,
        "β-VAE β = 10 with 5 to 20 latents, with the metric whole_separability",
    ),
    FunctionExhibit(
        "do2020-table-5",
        PAPER,
        "Table 5",
        "Independence of latents",
        "MISJED of three models, mean over pairs of the three most informative latents (the paper: single pairs, on CelebA).",
        table_5,
        PAPER,
        f"{_THREE}, with the metric whole_misjed",
    ),
    FunctionExhibit(
        "do2020-table-8",
        PAPER,
        "Table 8",
        "RMIG by factor",
        "RMIG of three models, and for each factor MIG of means beside the paper's RMIG (Table 6 is "
        "the same on CelebA).",
        table_8,
        PAPER,
        _THREE,
    ),
    FunctionExhibit(
        "do2020-table-9",
        PAPER,
        "Table 9",
        "JEMMIG",
        "JEMMIG of three models, mean over factors (Table 7 is the same on CelebA).",
        table_9,
        PAPER,
        _THREE,
    ),
    FunctionExhibit(
        "do2020-appendix-a18",
        PAPER,
        "Appendix A.18",
        "The same codes with every seed",
        "Likeness of the codes of two seeds, up to order, sign and monotone bends (the paper: pictures, of CelebA).",
        appendix_a18,
        PAPER,
        "FactorVAE with several seeds",
    ),
)
