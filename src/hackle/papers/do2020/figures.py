"""Do & Tran 2020 on dSprites: informativeness, separability, interpretability, agreement with other metrics, their settings.

The paper's figures have a column for each weight, with mean and standard error of four runs; here each run is a dot. Scores of
JEMMIG and RMIG are normalised here and not in the paper's Fig. 5 and 6. Fig. 3a shows I(z_i; z_≠i) of single latents; here it
is their mean weighted by informativeness. It, I(z, x) and the separable information are those with every image in q(z), which
10,000 points would limit to ln 10,000. Fig. 4's traversals are pictures; its numbers, how much each latent knows, are drawn.

Tables 5 to 7 are of CelebA; they and 8 and 9 are drawn for dSprites. A results table has a MISJED per run, averaged over pairs
of its three most informative latents, and the information of means on factors: so Table 5 shows that average, Tables 6 and 8
MIG of means for each factor beside RMIG over all of them, Tables 7 and 9 JEMMIG over all factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hackle.claims.measures import INFORMATIVE
from hackle.core.method import strength_of
from hackle.figures import words
from hackle.figures.chart import Axis, Comparison, Frame, Panel, Series
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import MEANS, Lacking, Panels, heat, over_protocols, panels, scatter, swarm
from hackle.figures.selection import Runs, Selected, summarise
from hackle.information.ranks import spearman
from hackle.papers.do2020.claims import PAPER, SIZES, gaps
from hackle.papers.do2020.metric_claims import alike
from hackle.papers.do2020.settings import BETAS, GAMMAS, LATENTS, METHODS, settings
from hackle.store.tables import Tables

_WEIGHTS = {"factor-vae": GAMMAS, "beta-vae": BETAS}
_MODELS = {name: (strength_of(settings(name, "dsprites").method),) for name in METHODS}
"""The weights that Tables 5 to 9 compare."""
_PAIR = (Series("FactorVAE", 1, 1), Series("β-VAE", 0, 0))
_AUTOENCODER, _PLAIN = Series("AAE", 6, 6), Series("VAE", 6, 4)


def _runs(metrics: Sequence[str], weights: Mapping[str, Any] = _WEIGHTS, **more: Any) -> Runs:
    """Runs on dSprites; a VAE is a β-VAE with β = 1."""
    where = {"dataset": "dsprites", **more.pop("where", {})}
    told = {"vae_is_beta": True, "named": (("dataset", "method", "strength"),), **more}
    return Runs(tuple(metrics), where, weights, PAPER, **told)


def _in_columns(methods: Iterable[str], name: Callable[[str, float], str]) -> Callable[[Frame, Tables], Frame]:
    """A `change` that adds a column `model`, the name of each method with its weight, in the order of the methods."""

    def change(frame: Frame, tables: Tables) -> Frame:
        both = zip(frame["method"], frame["strength"], strict=True)
        frame = frame.assign(model=[name(*model) for model in both])
        return pd.concat([frame[frame["method"] == method] for method in methods])

    return change


_BY_WEIGHT = _in_columns(_WEIGHTS, lambda method, weight: f"{words.symbol(method)} {weight:g}")


def _exhibit(
    number: str,
    title: str,
    caption: str,
    runs: Runs,
    rows: Any,
    *claims: str,
    series: tuple[Series, ...] = _PAIR,
    **more: Any,
) -> Exhibit:
    names = tuple(f"{PAPER}.{name}" for name in claims)
    return Exhibit(PAPER, number, title, caption, runs, rows, names, series=series, **{"shared_y": False, **more})


def _swarms(*metrics: str) -> tuple[Panels, ...]:
    """A panel for each metric, with a column for each weight."""
    return tuple(panels(swarm, metric, "model", title=words.measure(metric).short) for metric in metrics)


def _estimators(*pairs: tuple[str, str]) -> tuple[tuple[Panels, ...]]:
    """One estimator's scores against another's, with the line on which they agree."""
    return (tuple(panels(scatter, *pair, equal=True, diagonal=0.0) for pair in pairs),)


def _latents(chosen: Selected, *, title: str) -> Panel:
    """The informativeness of each latent of the runs, highest first."""
    known = chosen.tables.array("informativeness")
    values = {run: np.sort(np.asarray(known[run], float))[::-1] for run in chosen.frame["run"] if run in known}
    if not values:
        raise Lacking(f"informativeness of single latents of {title}")
    parts = [
        pd.DataFrame({"x": np.arange(len(part), dtype=float), "y": part, "run": run}) for run, part in values.items()
    ]
    points: Frame = pd.concat(parts, ignore_index=True).assign(series=title)
    ticks = tuple(str(place + 1) for place in range(max(map(len, values.values()))))
    x = Axis("latent, most informative first", -0.5, len(ticks) - 0.5, ticks)
    y = Axis("I(z_i, x) (nats)", 0.0, float(points["y"].max()) * 1.08)
    return Panel(title, x, y, points, summarise(points, ["x", "series"]))


def _informative(shown: Sequence[Panel]) -> Iterator[Comparison]:
    """The number of informative latents per run, for the models of Figure 4 that no claim is about."""
    for panel in shown:
        if panel.title in _INFORMATIVE:
            counts = (panel.points["y"] > INFORMATIVE).groupby(panel.points["run"]).sum()
            mean = summarise(pd.DataFrame({"y": counts.astype(float), "series": panel.title}), ["series"]).iloc[0]
            what = f"{panel.title}: latents with more than {INFORMATIVE} nats"
            yield Comparison.of(what, _INFORMATIVE[panel.title], mean)


def _orders(chosen: Selected) -> Iterator[Comparison]:
    """The rank correlation of JEMMIG with DCI's scores, which no claim is about."""
    for other in _DCI:
        runs = chosen.having("jemmig", other)
        if len(runs) > 2:
            paper = "negative" if other == "dci_informativeness" else "strongly uncorrelated"
            what = f"rank correlation of JEMMIG and {words.measure(other).label}"
            yield Comparison(what, paper, spearman(runs["jemmig"], runs[other]), n=len(runs))


def _over(kind: str, *metrics: str) -> tuple[tuple[Panels, ...]]:
    """Metrics against a setting that is part of the protocols' names."""
    pattern = rf"do2020-{kind}-(?P<amount>\d+)"
    return (tuple(panels(over_protocols, name, pattern, kind, title=words.measure(name).short) for name in metrics),)


def _beside(metric: str, paper: Mapping[str, Sequence[float]]) -> Callable[[Sequence[Panel]], Iterator[Comparison]]:
    """The mean score over factors of three models beside the paper's."""

    def reported(shown: Sequence[Panel]) -> Iterator[Comparison]:
        for row in shown[0].summary.sort_values("x").itertuples():
            yield Comparison.of(f"{row.series}: {words.measure(metric).short}", float(np.mean(paper[row.series])), row)

    return reported


def _by_factor(chosen: Selected) -> Iterator[Panel]:
    """MIG of means for each factor, and the paper's RMIG."""
    known = chosen.tables.array("mutual_information")
    found = {}
    for _, part in chosen.each("method"):
        arrays = [np.asarray(known[run], float) for run in part.frame["run"] if run in known]
        if each := [gaps(array) for array in arrays if array.shape[1] == len(SIZES)]:
            found[part.frame["series"].iloc[0]] = np.mean(each, axis=0)
    for title, values in (("here: MIG of means", found), ("paper: RMIG", _RMIG)) if found else ():
        cells = pd.DataFrame.from_dict(values, orient="index", columns=list(SIZES))
        yield heat(cells, title=title, signed=False)


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
_INFORMATIVE = {"VAE": 5, "β-VAE β = 10": 4}
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
_DCI = ("dci_disentanglement", "dci_completeness", "dci_informativeness")
_LATENTS = ("informativeness_mean", "whole_total_information", "whole_wsepin", "jemmig", "rmig")
_COLUMNS = "Columns are weights: γ of FactorVAE, β of β-VAE."
_LINES = "Dots are runs; lines join means, bars are 95% t intervals."
_EVERY_MODEL = _runs((), dict.fromkeys(METHODS, ()), series="model", named=(("dataset", "method"),))
_THREE = (*_PAIR, _AUTOENCODER)


def _side_by_side(metric: str) -> Panels:
    return panels(swarm, metric, "method", each="dataset")


EXHIBITS = (
    _exhibit(
        "Figure 2",
        "Informativeness",
        "Information of single codes and of all codes together on dSprites.",
        _runs(("informativeness_mean", "whole_total_information"), change=_BY_WEIGHT),
        (_swarms("informativeness_mean", "whole_total_information"),),
        *("informativeness-falls-with-beta", "total-information-falls-with-beta"),
        *("factor-vae-less-informative", "factor-vae-keeps-information"),
        reading=_COLUMNS,
    ),
    _exhibit(
        "Figure 3",
        "Separability",
        "How much codes share with the others, and WSEPIN and SEPIN@3, on dSprites.",
        _runs(("whole_overlap", "whole_wsepin", "whole_sepin@3"), change=_BY_WEIGHT),
        (_swarms("whole_overlap", "whole_wsepin", "whole_sepin@3"),),
        *("beta-separates", "wsepin-peaks-at-beta-10", "sepin-peaks-at-beta-10"),
        reading=_COLUMNS,
    ),
    _exhibit(
        "Figure 4",
        "What each latent knows",
        "Informativeness of every latent, most informative first, of three settings.",
        _runs(("informativeness_mean",), {"factor-vae": (10.0,), "beta-vae": (1.0, 10.0)}, series=_SHOWN),
        ((panels(_latents, each="series"),),),
        "five-informative-codes",
        reported=_informative,
        series=tuple(replace(one, name=name) for one, name in zip((_PAIR[0], _PLAIN, _PAIR[1]), _SHOWN, strict=True)),
        reading=MEANS,
        shared_y=True,
    ),
    _exhibit(
        "Figure 5",
        "Interpretability",
        "JEMMIG and RMIG on dSprites, and one against the other.",
        _runs(("jemmig", "rmig"), change=_BY_WEIGHT),
        ((*_swarms("jemmig", "rmig"), panels(scatter, "jemmig", "rmig", title="JEMMIG against RMIG")),),
        *("rmig-order", "jemmig-order", "jemmig-rmig-agree"),
    ),
    _exhibit(
        "Figure 6",
        "Against DCI",
        "JEMMIG and RMIG against DCI's three scores.",
        _runs(("jemmig", "rmig", *_DCI)),
        (*(tuple(panels(scatter, own, other) for other in _DCI) for own in ("jemmig", "rmig")), (_orders,)),
        *("rmig-follows-informativeness", "rmig-differs-from-dci"),
        reading="Dots are runs. DCI informativeness is higher where the paper's error is lower.",
    ),
    _exhibit(
        "Figure 7",
        "DCI by weight",
        "Disentanglement, completeness and informativeness of DCI.",
        _runs(_DCI, change=_BY_WEIGHT),
        (_swarms(*_DCI),),
        *("dci-disentanglement-favours-beta", "dci-completeness-favours-beta", "high-beta-less-informative"),
        reading=_COLUMNS,
    ),
    _exhibit(
        "Figure 8",
        "Against modularity",
        "JEMMIG against modularity, and modularity of means and of posteriors by weight.",
        _runs(("jemmig", "modularity", "posterior_modularity"), change=_BY_WEIGHT),
        (
            (
                panels(scatter, "jemmig", "modularity", title="JEMMIG against modularity"),
                *_swarms("modularity", "posterior_modularity"),
            ),
        ),
        *("modularity-favours-vae", "posterior-modularity-favours-vae"),
    ),
    _exhibit(
        "Figure 17",
        "The number of bins",
        "RMIG and JEMMIG of every model over the number of bins.",
        _EVERY_MODEL,
        _over("bins", "rmig", "jemmig"),
        *("rmig-rises-with-bins", "jemmig-rises-with-bins", "rmig-order-kept", "jemmig-order-kept"),
        series=(),
        reading=_LINES,
    ),
    _exhibit(
        "Figure 18",
        "The number of samples",
        "JEMMIG and WSEPIN of every model, by sampling, over the number of samples.",
        _EVERY_MODEL,
        _over("samples", "sampled_jemmig", "whole_wsepin"),
        *("jemmig-needs-few-samples", "wsepin-needs-few-samples"),
        series=(),
        reading=_LINES,
    ),
    _exhibit(
        "Figure 19",
        "The number of latents",
        "Scores of β-VAE with β = 10 over the number of latents.",
        _runs(
            _LATENTS, {"beta-vae": (10.0,)}, where={"latents": LATENTS}, series="model", named=(("method", "latents"),)
        ),
        (tuple(panels(swarm, metric, "latents", title=words.measure(metric).short) for metric in _LATENTS),),
        *("total-information-falls-with-latents", "rmig-bears-latents", "jemmig-bears-latents"),
        series=(),
    ),
    _exhibit(
        "Figure 24",
        "Sampling and quantisation",
        "JEMMIG and RMIG by sampling against quantisation.",
        _runs(("sampled_jemmig", "jemmig", "sampled_rmig", "rmig")),
        _estimators(("sampled_jemmig", "jemmig"), ("sampled_rmig", "rmig")),
        *("jemmig-sampled", "rmig-sampled"),
        reading="Dots are runs; the dashed line is y = x. JEMMIG is normalised, and the logarithm of the bin width, by which "
        "the paper's line is shifted, is taken out of that by sampling.",
    ),
    _exhibit(
        "Figure 25",
        "RMIG and MIG",
        "RMIG against MIG in its original definition, and against MIG of means.",
        _runs(("sampled_mig", "rmig", "mig")),
        _estimators(("sampled_mig", "rmig"), ("mig", "rmig")),
        *("rmig-is-mig", "mig-of-means-overestimates"),
        reading="Dots are runs; the dashed line is y = x. Left MIG over q(z|x) by sampling, right MIG of means in equal-width "
        "bins.",
    ),
    _exhibit(
        "Table 5",
        "Independence of latents",
        "MISJED of three models, mean over pairs of the three most informative latents (the paper: single pairs, on CelebA).",
        _runs(("whole_misjed_top",), _MODELS),
        ((_side_by_side("whole_misjed_top"),),),
        *("misjed-beta-above-aae", "misjed-aae-above-factor"),
        series=_THREE,
        shared_y=True,
    ),
    _exhibit(
        "Table 8",
        "RMIG by factor",
        "RMIG of three models, and for each factor MIG of means beside the paper's RMIG (Table 6 is the same on CelebA).",
        _runs(("rmig",), _MODELS),
        ((_side_by_side("rmig"), _by_factor),),
        *("rmig-above-beta-vae", "rmig-above-aae", "scale-and-position-found"),
        reported=_beside("rmig", _RMIG),
        series=_THREE,
        shared_y=True,
    ),
    _exhibit(
        "Table 9",
        "JEMMIG",
        "JEMMIG of three models, mean over factors (Table 7 is the same on CelebA).",
        _runs(("jemmig",), _MODELS),
        ((_side_by_side("jemmig"),),),
        *("jemmig-below-beta-vae", "jemmig-below-aae"),
        reported=_beside("jemmig", _JEMMIG),
        series=_THREE,
        shared_y=True,
    ),
    _exhibit(
        "Appendix A.18",
        "The same codes with every seed",
        "Similarity of the codes of two seeds, up to order, sign and monotone maps (the paper: pictures, of CelebA).",
        _runs(
            ("informativeness_mean",),
            dict.fromkeys(_METHODS, ()),
            vae_is_beta=False,
            named=(),
            change=_in_columns(_METHODS, words.method),
        ),
        ((panels(_similarity, each="dataset"),),),
        *("consistent-codes", "consistent-number-of-codes"),
        series=(*_PAIR, _PLAIN),
        reading=f"Dots are pairs of seeds, the line their mean; at most {_SEEDS} seeds of a setting.",
        shared_y=True,
    ),
)
