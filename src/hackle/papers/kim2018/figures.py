"""Kim & Mnih 2018: FactorVAE against β-VAE and other rivals, and estimates of the total correlation.

Scores over training (Fig. 4, 7, 23) are those that runs took at points of it; without any, those at its end by weight.
Figure 3's model is one that leaves a factor out, as the paper's claim has it; unlike the paper's it is scored on shape too. Of
InfoWGAN-GP's grid Figure 8 shows the best noise size and learning rates at each λ. Pictures are in `figures_models`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from hackle.core.parts import name_of
from hackle.figures import words
from hackle.figures.chart import Comparison, Frame, Panel, Series
from hackle.figures.exhibit import exhibits_of, numbered
from hackle.figures.panels import MEANS, Lacking, Panels, curves, informations, over_protocols, panels, scatter, swarm
from hackle.figures.selection import Runs, Selected, with_numbers
from hackle.papers.kim2018.claims import ESTIMATE, LEAVES_OUT, PAPER
from hackle.papers.kim2018.records import bigger_networks
from hackle.papers.kim2018.settings import BATCH_BETAS, BOUNDS, STAND_IN, settings
from hackle.store.records import setting_numbers
from hackle.store.tables import Tables

exhibit = exhibits_of(PAPER)
MARKS = ("beta_vae", "factor_vae")
SHAPES = {"dsprites": "2D Shapes", "shapes3d": "3D Shapes"}


def runs_of(metrics: tuple[str, ...], *methods: str, dataset: str = "dsprites", **more: Any) -> Runs:
    """Runs of some methods with the paper's number of latents."""
    usual = settings(methods[0] if methods else "beta-vae", dataset)
    where: dict[str, Any] = {"dataset": dataset, "latents": usual.latents}
    if "infowgan-gp" in methods:
        where["architecture"] = name_of(usual.architecture)
    told = {"weights": dict.fromkeys(methods, ()), "protocol": PAPER, "joins_cases": True}
    return Runs(metrics, where, **{**told, **more})


def _developing(chosen: Selected, metric: str, *, title: str = "", hold: float | None = None) -> Panel:
    """A score at points of the training; where no run took it there, the scores at its end by weight."""
    name = words.measure(metric).label
    try:
        return curves(chosen, {f"score_{metric}": name}, name, title=title, hold=hold)
    except Lacking:
        return swarm(chosen, metric, "strength", title=title, hold=hold)


ERROR = panels(curves, {"reconstruction": "reconstruction error"}, "reconstruction error (nats)", each="method")
"""The reconstruction error over training, a panel for each method."""


BY_WEIGHT = (tuple(panels(swarm, metric, "strength", title=words.measure(metric).label) for metric in MARKS),)
"""Both metrics by weight, a panel for each."""


def _over_training(*methods: str) -> tuple[Runs, tuple[Panels, ...]]:
    """Reconstruction error and both metrics over training; a column for each method."""
    scores = (panels(_developing, metric, each="method") for metric in MARKS)
    return runs_of(MARKS, *methods, series="weight"), (ERROR, *scores)


_AT_THE_END = f"A score that no run took during training is that at its end: {MEANS[0].lower()}{MEANS[1:]}"
_MARKED_MEANS = (
    "Small marks are runs, large ones the means of a weight, which stands beside them; bars are 95% t intervals of the mean "
    "score."
)
_TRADE_OFF = panels(
    *(scatter, "reconstruction", "factor_vae"),
    each="dataset",
    tight="x",
    means=("series", "strength"),
    named="strength",
)


def _at_its_best(paper: Mapping[str, Sequence[Any]], shown: Sequence[Panel]) -> Iterator[Comparison]:
    """The weight with the highest mean score, from a method's score there, weight, error there and best single run."""
    (panel,) = shown
    means: Frame = panel.summary.join(panel.labels["text"]) if panel.labels is not None else panel.summary
    for name, (score, weight, error, *single) in paper.items():
        mine, runs = means[means["series"] == name], panel.points[panel.points["series"] == name]
        if not len(mine):
            continue
        best = mine.loc[mine["y"].idxmax()]
        at = f"at {weight.partition(' ')[0]} = {best.text}; paper {weight.rpartition(' ')[2]}"
        yield Comparison.of(f"{name}: best mean FactorVAE score ({at})", score, best)
        yield Comparison(f"{name}: reconstruction error there", error, float(best.x), n=int(best.n))
        for value in single:
            yield Comparison(f"{name}: best single run", value, float(runs["y"].max()), n=len(runs))


_KINDS = {1.0: "leaves a factor out", 0.0: "captures every factor"}
_UNCERTAIN = "neither is certain"


def _with_kinds(frame: Frame, tables: Tables) -> Frame:
    """The runs with both metrics, split by whether they leave a factor out."""
    frame = with_numbers(kind=LEAVES_OUT)(frame[frame[list(MARKS)].notna().all(axis=1)], tables)
    return frame.assign(series=[_KINDS.get(kind, _UNCERTAIN) for kind in frame["kind"]])


def _marked(chosen: Selected) -> Iterator[Panel | str]:
    """Both metrics of every run, and I(latent; factor) of the run with the widest gap among those that leave a factor
    out."""
    frame = chosen.frame
    without = frame[frame["series"] == _KINDS[1.0]]
    gaps = (without if len(without) else frame).eval("beta_vae - factor_vae")
    worst = frame.loc[gaps.idxmax()]
    text = f"{words.method('beta-vae', worst.strength)}, seed {worst.seed}"
    mark = pd.DataFrame({"x": [worst.beta_vae], "y": [worst.factor_vae], "text": [text]})
    yield replace(scatter(chosen, *MARKS, title="dSprites", diagonal=0.0), labels=mark)
    known = chosen.tables.array("mutual_information")
    if worst.run in known:
        yield informations(known[worst.run], "dsprites", "the marked run: I(latent; factor), nats")
    else:
        yield "mutual informations of the marked run"


def _tuned(frame: Frame, tables: Tables) -> Frame:
    """At each weight, the scores of the setting with the highest mean alone, without bigger networks."""
    runs = tables.runs.assign(setting=setting_numbers(tables.runs)).set_index("run").loc[list(frame["run"])]
    frame = frame.assign(setting=runs["setting"].to_numpy())[~runs["record"].map(bigger_networks).to_numpy(bool)]
    pairs, best = pd.MultiIndex.from_frame(frame[["strength", "setting"]]), {}
    for metric in MARKS:
        means = frame.groupby(["strength", "setting"])[metric].mean().dropna()
        best[metric] = frame[metric].where(pairs.isin(list(means.groupby("strength").idxmax())))
    return frame.assign(**best)


def _best_of_the_new_metric(shown: Sequence[Panel]) -> Iterator[Comparison]:
    for panel in shown:
        if panel.title == words.measure("factor_vae").label:
            best = panel.summary.loc[panel.summary["y"].idxmax()]
            at = f"{panel.x.label} = {panel.x.ticks[int(best.x)]}"
            yield Comparison.of(f"best mean FactorVAE score ({at})", "disappointingly low", best)


def _sensitivity(title: str, caption: str, metric: str, names: str, label: str, spread: str):
    """One model's score against a metric's own settings: a dot for each scoring seed."""

    def reported(shown: Sequence[Panel]) -> Iterator[Comparison]:
        deviation = float((shown[0].summary["high"] - shown[0].summary["low"]).mean() / 2)
        yield Comparison("mean standard deviation over scoring seeds", spread, deviation, n=len(shown[0].points))

    return exhibit(
        title,
        caption,
        runs_of((), "beta-vae"),
        panels(over_protocols, metric, rf"kim2018-{names}(?:@\d+)?", label, one_model=True),
        reported=reported,
        reading="One model; dots are scoring seeds, bars span one standard deviation to either side of the mean.",
        study="kim2018-sensitivity",
        series=tuple(f"L = {size}" for size in _SIZES),
    )


def _lacking_betas(chosen: Selected) -> Iterator[str]:
    """The values of β that the paper shows and the runs do not have."""
    have = set(chosen.having("batch_tc")["strength"])
    yield from (f"no batch estimate at β = {beta}" for beta in BATCH_BETAS if beta not in have)


_SIZES = (25, 50, 100, 200)
"""The values of L in the protocols of both figures."""


def _bounds(dataset: str) -> Runs:
    """The models whose likelihoods the paper reports."""

    def models(frame: Frame, tables: Tables) -> Frame:
        both = zip(frame["method"], frame["strength"], strict=True)
        return frame.assign(model=["VAE" if weight == 1 else words.method(name, weight) for name, weight in both])

    told = {"called": SHAPES, "series": "", "named": (("dataset", "method", "strength"),), "change": models}
    (vae, _), (beta, _), (gamma, _) = BOUNDS[dataset].values()
    stand_ins = STAND_IN if dataset in STAND_IN else {}
    weights = {"beta-vae": (vae, beta), "factor-vae": (gamma,)}
    return runs_of(("iwae",), dataset=dataset, weights=weights, stand_ins=stand_ins, **told)


def _reported_bounds(shown: Sequence[Panel]) -> Iterator[Comparison]:
    for panel in shown:
        reported = BOUNDS["dsprites" if panel.title == SHAPES["dsprites"] else "shapes3d"].items()
        paper = {"VAE" if name == "vae" else words.method(name, weight): bound for name, (weight, bound) in reported}
        for row in panel.summary.itertuples():
            model = panel.x.ticks[int(row.x)]
            yield Comparison.of(f"{panel.title}, {model}: IWAE bound", paper[model], row)


PAIR = ("beta-vae", "factor-vae")
_TC, _ESTIMATE = "total correlation (nats)", {"total_correlation": "discriminator's estimate"}
_FIGURES = {
    3: exhibit(
        "Where the old metric fails",
        "FactorVAE score against BetaVAE score of every β-VAE on 2D Shapes, and what the latents of one that leaves a factor "
        "out know.",
        runs_of(MARKS, "beta-vae", change=_with_kinds),
        _marked,
        series=(*_KINDS.values(), _UNCERTAIN),
        reading="Dots are runs; the marked one has the widest gap between the metrics of those that leave a factor out, or "
        "where there is none of all.",
    ),
    4: exhibit(
        "β-VAE and FactorVAE by weight",
        "Reconstruction error and both metrics during training, for each β and γ, on 2D Shapes.",
        *_over_training(*PAIR),
        "metrics-correlate",
        reading=_AT_THE_END,
        study="kim2018-training",
    ),
    5: exhibit(
        "Error against disentanglement",
        "Reconstruction error against the FactorVAE score on 2D Shapes: low and high is good.",
        runs_of(("reconstruction", "factor_vae"), *PAIR, called=SHAPES),
        _TRADE_OFF,
        reported=partial(_at_its_best, {"β-VAE": (0.73, "β = 4", 45, 0.814), "FactorVAE": (0.82, "γ = 40", 45, 0.889)}),
        reading=_MARKED_MEANS,
    ),
    7: exhibit(
        "The discriminator and the true total correlation",
        "Total correlation of FactorVAE's codes on 2D Shapes during training: by sampling, as the discriminator sees it, and "
        "one against the other when training has ended.",
        # Runs without the true total correlation, a slow score, still have a discriminator.
        runs_of(("true_tc", "factor_vae"), "factor-vae", series="weight", change=with_numbers(estimate=ESTIMATE)),
        (
            (
                panels(_developing, "true_tc", title="true TC", hold=0.0),
                panels(curves, _ESTIMATE, _TC, title="discriminator's estimate", hold=0.0),
                panels(
                    *(scatter, "true_tc", "estimate"),
                    title="estimate against truth",
                    labels=("true TC (nats)", "discriminator's TC (nats)"),
                    tight="xy",
                    equal=True,
                    diagonal=0.0,
                ),
            ),
        ),
        reading=_AT_THE_END,
        study="kim2018-training",
        shared_y=False,
    ),
    8: exhibit(
        "InfoWGAN-GP",
        "Both metrics of InfoWGAN-GP on 2D Shapes by the weight of its information term, with the networks of Table 5.",
        runs_of(MARKS, "infowgan-gp", change=_tuned),
        BY_WEIGHT,
        reported=_best_of_the_new_metric,
        series=(Series("InfoWGAN-GP", 6, 0),),
        reading="At each λ the noise size and learning rates with the highest mean.",
    ),
    10: exhibit(
        "Error against disentanglement in 3D",
        "As Figure 5, on 3D Shapes, or on Rooms3D where that alone was trained.",
        runs_of(("reconstruction", "factor_vae"), *PAIR, dataset="shapes3d", called=SHAPES, stand_ins=STAND_IN),
        _TRADE_OFF,
        reported=partial(
            _at_its_best,
            {"β-VAE": ("similar to FactorVAE's", "β = 24", 3570), "FactorVAE": ("similar to β-VAE's", "γ = 36", 3515)},
        ),
        reading=_MARKED_MEANS,
    ),
    16: _sensitivity(
        "Sensitivity of the old metric",
        "BetaVAE score of one β-VAE over pairs per point (L) and iterations of its classifier.",
        *("beta_vae", r"pairs-(?P<L>\d+)-iterations-(?P<amount>\d+)", "iterations of Adagrad", "large"),
    ),
    17: _sensitivity(
        "Sensitivity of the new metric",
        "FactorVAE score of one β-VAE over points per vote (L) and votes.",
        *("factor_vae", r"points-(?P<L>\d+)-votes-(?P<amount>\d+)", "votes", "small"),
    ),
    18: exhibit(
        "Why a batch does not do",
        "The total correlation as a batch of 10,000 estimates it, for β-VAEs on 2D Shapes: a divergence that comes out "
        "negative.",
        runs_of(("batch_tc",), "beta-vae"),
        (
            (
                _lacking_betas,
                panels(swarm, "batch_tc", "strength", each="dataset", hold=0.0, level=(0.0, "no TC is below 0")),
            ),
        ),
    ),
    23: exhibit(
        "AAE and Eq. 12",
        "As Figure 4, for the adversarial autoencoder and the variant of FactorVAE that pulls q(z) to the prior (Eq. 12).",
        *_over_training("adversarial-autoencoder", "factor-vae-prior"),
        reading=_AT_THE_END,
        study="kim2018-training",
    ),
    37: exhibit(
        "The discriminator's accuracy",
        "How often FactorVAE's discriminator is right during training on 2D Shapes, for each γ.",
        runs_of((), "factor-vae", series="weight"),
        panels(
            *(curves, {"discriminator_accuracy": "discriminator's accuracy"}, "discriminator's accuracy"),
            title="dSprites",
            hold=0.5,
            level=(0.5, "chance"),
        ),
    ),
    "Appendix E": exhibit(
        "Likelihood bounds",
        "Importance-weighted bounds on the log-likelihood of the paper's best settings; in 3D on Rooms3D where that alone "
        "was trained.",
        (_bounds("dsprites"), _bounds("shapes3d")),
        panels(swarm, "iwae", "model", each="dataset"),
        reported=_reported_bounds,
        reading="Of 100 images; the paper reports one run of each, over all images, as do the claims where that was scored.",
        shared_y=False,
    ),
}
EXHIBITS = numbered(_FIGURES)
