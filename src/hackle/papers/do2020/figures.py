"""Do & Tran 2020 on dSprites: informativeness, separability, interpretability, agreement with other metrics, their settings.

The paper's figures have a column for each weight, with mean and standard error of four runs; here each run is a dot. Scores of
JEMMIG and RMIG are normalised here and not in the paper's Fig. 5 and 6. I(z_i; z_≠i), I(z, x) and the separable information are
those with every image in q(z), which 10,000 points would limit to ln 10,000; beside the highest, mean and lowest I(z_i; z_≠i)
of a run's codes stands their mean weighted by informativeness, which claims judge. Fig. 4's traversals are drawn of runs that
kept their weights. Pictures and matrices of codes are in `figures_models`, tables in `figures_tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hackle.claims.measures import INFORMATIVE
from hackle.core.method import strength_of
from hackle.figures import words
from hackle.figures.chart import Axis, Frame, Panel, Series
from hackle.figures.exhibit import exhibits_of, means_beside, numbered
from hackle.figures.models import code_values, traversed
from hackle.figures.panels import MEANS, Lacking, Panels, factor_scores, over_protocols, panels, scatter, swarm
from hackle.figures.selection import Runs, Selected, with_numbers
from hackle.figures.style import shade
from hackle.figures.summaries import spread, summarise
from hackle.papers.do2020.celeba_claims import alike
from hackle.papers.do2020.claims import INFORMATIVE_CODES, PAPER, SIZES
from hackle.papers.do2020.settings import BETAS, GAMMAS, LATENTS, METHODS, settings
from hackle.store.tables import Tables

_WEIGHTS = {"factor-vae": GAMMAS, "beta-vae": BETAS}
MODELS = {name: (strength_of(settings(name, "dsprites").method),) for name in METHODS}
"""The weights that Tables 5 to 9 compare."""
PAIR = (Series("FactorVAE", 1, 1), Series("β-VAE", 0, 0))
exhibit = exhibits_of(PAPER, series=PAIR, shared_y=False)
AUTOENCODER, _PLAIN = Series("AAE", 6, 6), Series("VAE", 6, 4)


def runs_of(metrics: Sequence[str], weights: Mapping[str, Any] = _WEIGHTS, **more: Any) -> Runs:
    """Runs on dSprites; a VAE is a β-VAE with β = 1."""
    where = {"dataset": "dsprites", **more.pop("where", {})}
    told = {"joins_cases": True, "named": (("dataset", "method", "strength"),), **more}
    return Runs(tuple(metrics), where, weights, PAPER, **told)


def _in_columns(methods: Iterable[str], name: Callable[[str, float], str]) -> Callable[[Frame, Tables], Frame]:
    """A `change` that adds a column `model`, the name of each method with its weight, in the order of the methods."""

    def change(frame: Frame, tables: Tables) -> Frame:
        both = zip(frame["method"], frame["strength"], strict=True)
        frame = frame.assign(model=[name(*model) for model in both])
        return pd.concat([frame[frame["method"] == method] for method in methods])

    return change


_BY_WEIGHT = _in_columns(_WEIGHTS, lambda method, weight: f"{words.symbol(method)} = {weight:g}")


def _swarms(*metrics: str) -> tuple[Panels, ...]:
    """A panel for each metric, with a column for each weight."""
    return tuple(panels(swarm, metric, "model", title=words.measure(metric).short) for metric in metrics)


def _estimators(*pairs: tuple[str, str]) -> tuple[tuple[Panels, ...]]:
    """One estimator's scores against another's, with the line on which they agree."""
    return (tuple(panels(scatter, *pair, equal=True, diagonal=0.0) for pair in pairs),)


def sorted_codes(chosen: Selected, lacking: str) -> Frame:
    """The informativeness of every run's codes, highest first, as points whose x is the place."""
    known = chosen.tables.array("informativeness")
    parts = []
    for run, series in chosen.column("series").items():
        if run in known:
            values = np.sort(np.asarray(known[run], float))[::-1]
            parts.append(pd.DataFrame({"x": np.arange(float(len(values))), "y": values, "series": series, "run": run}))
    if not parts:
        raise Lacking(lacking)
    return pd.concat(parts, ignore_index=True)


def _latents(chosen: Selected, *, title: str) -> Panel:
    points = sorted_codes(chosen, f"informativeness of single latents of {title}")
    ticks = tuple(str(place + 1) for place in range(int(points["x"].max()) + 1))
    x = Axis("latent, most informative first", -0.5, len(ticks) - 0.5, ticks)
    y = Axis("I(z_i, x) (nats)", 0.0, float(points["y"].max()) * 1.08)
    return Panel(title, x, y, points, summarise(points, ["x", "series"]))


_EXTREMES = tuple(Series(name, place, place) for name, place in (("highest", 2), ("mean", 3), ("lowest", 4)))


def _of_codes(tables: Tables, runs: Iterable[str], what: str) -> Frame:
    """The highest, mean and lowest number among the codes of each run that has them."""
    rows = {}
    for run in runs:
        with suppress(Lacking):
            values = code_values(tables, run, what)
            rows[run] = values.max(), values.mean(), values.min()
    return pd.DataFrame.from_dict(rows, orient="index", columns=[one.name for one in _EXTREMES], dtype=float)


def _extremes(chosen: Selected, what: str, across: str, *, title: str) -> Panel:
    """The highest, mean and lowest number among a run's codes, side by side by the values of a column."""
    numbers = _of_codes(chosen.tables, chosen.frame["run"], what)
    if numbers.empty:
        raise Lacking(f"{title}: the {what} of single codes")
    frame: Frame = numbers.stack().rename_axis(["run", "series"]).rename(what).reset_index()
    frame = frame.assign(**{across: frame["run"].map(chosen.column(across))})
    panel = swarm(Selected(frame, chosen.runs), what, across, title=title, y=Axis("nats"))
    return replace(panel, y=Axis("nats", *spread(frame[what], panel.summary["low"], panel.summary["high"])))


def _of_factors(chosen: Selected, metric: str, across: str, *, title: str) -> Panel:
    """A score of each factor, side by side by the values of a column."""
    rows = factor_scores(chosen, metric)
    places = rows["run"].map(chosen.column(across))
    frame = rows.assign(**{"series": rows["factor"].astype(str), across: places, metric: rows["score"]})
    return swarm(Selected(frame, chosen.runs), metric, across, title=title)


def _with_codes(frame: Frame, tables: Tables) -> Frame:
    """The runs with what Figure 4 tells of their codes: how many are informative, and the most that one shares."""
    shared = frame["run"].map(_of_codes(tables, frame["run"], "overlap")["highest"])
    return with_numbers(informative=INFORMATIVE_CODES)(frame.assign(shared=shared), tables)


def _joint_entropy(chosen: Selected, *, title: str) -> Panel:
    """The mean over factors of H(z_i*, y_k) against the number of bins.

    From the scores of each factor, by their definitions: JEMMIG (ln bins + H(y)) = H(z_i*, y) − gap and RMIG H(y) = gap. The
    factors of dSprites are uniform, so that H(y) is the logarithm of their number of values.
    """
    pattern = r"do2020-bins-(?P<amount>\d+)"
    own = {
        metric: factor_scores(chosen, metric, pattern).set_index(["run", "protocol", "factor"])["score"]
        for metric in ("jemmig", "rmig")
    }
    both: Frame = pd.DataFrame(own).dropna().reset_index()
    bins = both["protocol"].astype(str).str.extract(pattern)["amount"].astype(float)
    entropies = np.log(both["factor"].astype(str).map(SIZES).astype(float))
    joint = both.assign(joint=both["jemmig"] * (np.log(bins) + entropies) + both["rmig"] * entropies)
    means = joint.groupby(["run", "protocol"], observed=True)["joint"].mean()
    scores: Frame = chosen.tables.scores
    scores = scores[scores["metric"] == "jemmig"]
    values = pd.MultiIndex.from_frame(scores[["run", "protocol"]].astype(str)).map(dict(means)).astype(float)
    scores = scores.assign(score=values).dropna(subset=["score"])
    shown = replace(chosen, tables=replace(chosen.tables, scores=scores))
    panel = over_protocols(shown, "jemmig", pattern, "bins", title=title)
    return replace(panel, y=Axis("mean over factors (nats)", *spread(panel.points["y"])))


def _over(kind: str, *metrics: str) -> tuple[tuple[Panels, ...]]:
    """Metrics against a setting that is part of the protocols' names."""
    pattern = rf"do2020-{kind}-(?P<amount>\d+)"
    return (tuple(panels(over_protocols, name, pattern, kind, title=words.measure(name).short) for name in metrics),)


def _similarity(chosen: Selected, *, title: str) -> Panel:
    """The similarity of two seeds' codes, for all pairs of seeds of a setting."""
    codes, known = (chosen.tables.array(name) for name in ("codes", "informativeness"))
    points = []
    for (series, model), part in chosen.frame.groupby(["series", "model"], sort=False):
        runs = [run for run in part["run"] if run in codes and run in known][:_SEEDS]
        models = {run: (np.asarray(codes[run], float), np.asarray(known[run], float)) for run in runs}
        for first, second in combinations(runs, 2):
            points.append((model, series, f"{first} {second}", alike(models[first], models[second])))
    if not points:
        raise Lacking("codes of two seeds or more of FactorVAE on dSprites")
    pairs = Selected(pd.DataFrame(points, columns=["model", "series", "run", "similarity"]))
    panel = swarm(pairs, "similarity", "model", title=title, y=Axis("similarity of two seeds' codes", 0.0, 1.0))
    # Pairs of the same runs are not independent: a t interval over them would be too narrow.
    return replace(panel, summary=panel.summary.assign(low=np.nan, high=np.nan))


_METHODS = ("beta-vae", "vae", "factor-vae")
"""The runs whose codes are compared."""
_SEEDS = 12
"""The most seeds of a setting whose codes are compared."""
_SHOWN = {
    "FactorVAE γ = 10": {"method": "factor-vae"},
    "VAE": {"method": "beta-vae", "strength": 1.0},
    "β-VAE β = 10": {"method": "beta-vae", "strength": 10.0},
}
_SHARED = {"FactorVAE γ = 10": 2.7832, "VAE": 4.4006, "β-VAE β = 10": 0.1424}
"""The highest I(z_i; z_≠i) of the paper's models, in nats."""
_INFORMATIVE = {"VAE": 5, "β-VAE β = 10": 4}
"""The informative codes of those models that no claim counts them of."""
_DCI = ("dci_disentanglement", "dci_completeness", "dci_informativeness")
_LATENTS = ("informativeness_mean", "whole_total_information", "whole_wsepin", "jemmig", "rmig")
_BY_LATENTS = {name: panels(swarm, name, "latents", title=words.measure(name).short) for name in _LATENTS}
_COLUMNS = "Columns are weights: γ of FactorVAE, β of β-VAE."
_LINES = "Dots are runs; lines join means, bars are 95% t intervals."
_EVERY_MODEL = runs_of((), dict.fromkeys(METHODS, ()), series="model", named=(("dataset", "method"),))


_FIGURES = {
    2: exhibit(
        "Informativeness",
        "Information of single codes and of all codes together on dSprites.",
        runs_of(("informativeness_mean", "whole_total_information"), change=_BY_WEIGHT),
        (_swarms("informativeness_mean", "whole_total_information"),),
        reading=_COLUMNS,
    ),
    3: exhibit(
        "Separability",
        "How much codes share with the others: the highest, mean and lowest of a run's codes and their weighted mean; WSEPIN "
        "and SEPIN@3, on dSprites.",
        runs_of(("whole_overlap", "whole_wsepin", "whole_sepin@3"), change=_BY_WEIGHT),
        (
            (
                panels(_extremes, "overlap", "model", title="I(z_i; z_≠i) of single codes"),
                *_swarms("whole_overlap", "whole_wsepin", "whole_sepin@3"),
            ),
        ),
        reading=_COLUMNS,
        series=(*PAIR, *_EXTREMES),
    ),
    4: exhibit(
        "What each latent knows",
        "Informativeness of every latent, most informative first, of three settings, and traversals of a run of each, the "
        "latent that shares most with the others first.",
        runs_of(
            ("informativeness_mean",),
            {"factor-vae": (10.0,), "beta-vae": (1.0, 10.0)},
            series=_SHOWN,
            change=_with_codes,
        ),
        (
            panels(_latents, each="series"),
            panels(traversed, each="series", order="overlap", more="informativeness", originals=False),
            means_beside(_SHARED, "shared", "highest I(z_i; z_≠i) of its codes (nats)"),
            means_beside(_INFORMATIVE, "informative", f"latents with more than {INFORMATIVE} nats"),
        ),
        series=tuple(replace(one, name=name) for one, name in zip((PAIR[0], _PLAIN, PAIR[1]), _SHOWN, strict=True)),
        reading=f"{MEANS} Beside the rows of traversals: I(z_i; z_≠i) and I(z_i; x), in nats.",
        shared_y=True,
    ),
    5: exhibit(
        "Interpretability",
        "JEMMIG and RMIG on dSprites, and one against the other.",
        runs_of(("jemmig", "rmig"), change=_BY_WEIGHT),
        ((*_swarms("jemmig", "rmig"), panels(scatter, "jemmig", "rmig", title="JEMMIG against RMIG")),),
    ),
    6: exhibit(
        "Against DCI",
        "JEMMIG and RMIG against DCI's three scores.",
        runs_of(("jemmig", "rmig", *_DCI)),
        tuple(tuple(panels(scatter, own, other) for other in _DCI) for own in ("jemmig", "rmig")),
        reading="Dots are runs. DCI informativeness is higher where the paper's error is lower.",
    ),
    7: exhibit(
        "DCI by weight",
        "Disentanglement, completeness and informativeness of DCI.",
        runs_of(_DCI, change=_BY_WEIGHT),
        (_swarms(*_DCI),),
        reading=_COLUMNS,
    ),
    8: exhibit(
        "Against modularity",
        "JEMMIG against modularity, and modularity of means and of posteriors by weight.",
        runs_of(("jemmig", "modularity", "posterior_modularity"), change=_BY_WEIGHT),
        (
            (
                panels(scatter, "jemmig", "modularity", title="JEMMIG against modularity"),
                *_swarms("modularity", "posterior_modularity"),
            ),
        ),
    ),
    17: exhibit(
        "The number of bins",
        "RMIG, JEMMIG and the mean of H(z_i*, y_k) over factors, of every model over the number of bins.",
        _EVERY_MODEL,
        ((*_over("bins", "rmig", "jemmig")[0], panels(_joint_entropy, title="H(z_i*, y_k)")),),
        series=(),
        reading=_LINES,
    ),
    18: exhibit(
        "The number of samples",
        "JEMMIG and WSEPIN of every model, by sampling, over the number of samples.",
        _EVERY_MODEL,
        _over("samples", "sampled_jemmig", "whole_wsepin"),
        series=(),
        reading=_LINES,
    ),
    19: exhibit(
        "The number of latents",
        "Scores of β-VAE with β = 10 over the number of latents.",
        runs_of(
            _LATENTS, {"beta-vae": (10.0,)}, where={"latents": LATENTS}, series="model", named=(("method", "latents"),)
        ),
        (
            (
                panels(_extremes, "informativeness", "latents", title="I(x; z_i) of single codes"),
                _BY_LATENTS["whole_total_information"],
                panels(_extremes, "overlap", "latents", title="I(z_i; z_≠i) of single codes"),
                panels(_extremes, "lost", "latents", title="H(z_≠i) − H(z)"),
                panels(_extremes, "separate", "latents", title="I(x; z) − I(x; z_≠i)"),
                _BY_LATENTS["whole_wsepin"],
                panels(_of_factors, "jemmig", "latents", title="JEMMIG of single factors"),
                _BY_LATENTS["jemmig"],
                _BY_LATENTS["rmig"],
            ),
        ),
        series=(
            Series(words.method("beta-vae", 10.0), PAIR[1].colour, PAIR[1].marker),
            *_EXTREMES,
            *(Series(name, shade(0, index, len(SIZES)), index) for index, name in enumerate(SIZES)),
        ),
        columns=3,
    ),
    24: exhibit(
        "Sampling and quantisation",
        "JEMMIG and RMIG by sampling against quantisation.",
        runs_of(("sampled_jemmig", "jemmig", "sampled_rmig", "rmig")),
        _estimators(("sampled_jemmig", "jemmig"), ("sampled_rmig", "rmig")),
        reading="Dots are runs; the dashed line is y = x. JEMMIG is normalised, and the logarithm of the bin width, by which "
        "the paper's line is shifted, is taken out of that by sampling.",
    ),
    25: exhibit(
        "RMIG and MIG",
        "RMIG against MIG in its original definition, and against MIG of means.",
        # β = 30 is in `do2020-appendix`.
        runs_of(("sampled_mig", "rmig", "mig"), {**_WEIGHTS, "beta-vae": (*BETAS, 30)}),
        _estimators(("sampled_mig", "rmig"), ("mig", "rmig")),
        reading="Dots are runs; the dashed line is y = x. Left MIG over q(z|x) by sampling, right MIG of means in equal-width "
        "bins.",
    ),
    "Appendix A.18": exhibit(
        "The same codes with every seed",
        "Similarity of the codes of two seeds, up to order, sign and monotone maps (the paper: pictures, of CelebA).",
        runs_of(
            ("informativeness_mean",),
            dict.fromkeys(_METHODS, ()),
            joins_cases=False,
            named=(),
            change=_in_columns(_METHODS, words.method),
        ),
        panels(_similarity, each="dataset"),
        series=(*PAIR, _PLAIN),
        reading=f"Dots are pairs of seeds, the line their mean; at most {_SEEDS} seeds of a setting.",
        shared_y=True,
    ),
}
EXHIBITS = numbered(_FIGURES)
