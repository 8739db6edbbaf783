"""Locatello et al. 2019: total correlations, scores by method and weight, what they agree with, and whether settings transfer.

Total correlations span decades and claims compare their logarithms: their axes are logarithmic, unlike the paper's. Rooms3D
stands in for 3D Shapes where that was not trained on. The paper gives few numbers and takes medians over 50 seeds; so do we
over those that there are, with every run drawn behind them where lines join the medians. A Gaussian fitted to means has a
higher total correlation than one fitted to samples for every model: beside Figure 4 stands how much higher. Table 1's
procedure: with a random seed, metric and data set the best setting (method and weight) is chosen; it is compared with a random
setting at another seed, on the same or another data set and by the same or another metric; how often it is at least as good is
the table. The paper draws 10,000 times; here the expectation over all draws is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from hackle.claims.statistics import variance_shares
from hackle.claims.view import View
from hackle.figures import words
from hackle.figures.chart import Axis, Comparison, Frame, Panel, no_summary
from hackle.figures.exhibit import Unnumbered, exhibits_of, numbered
from hackle.figures.models import reconstructed
from hackle.figures.panels import MEDIANS, Lacking, against_strength, heat, panels, scatter, score_axis, swarm
from hackle.figures.selection import Runs, Selected, present, select
from hackle.figures.summaries import rank_correlation, spread
from hackle.papers.locatello2019.claims import (
    CLAIMS,
    DATASETS_OF_TABLE_1,
    DOWNSTREAM,
    EVERY_SET,
    METHODS,
    METRICS,
    PAPER,
    STRENGTHS_OF_TABLE_1,
)
from hackle.papers.locatello2019.settings import DATASETS, STAND_IN, STRENGTHS
from hackle.papers.locatello2019.transfer import complete_scores, swept, transfer
from hackle.store.tables import Tables

exhibit = exhibits_of(PAPER, shared_y=False)
_SHOWN = (*DATASETS, *STAND_IN.values())
_LEAST = 1e-6
"""What a total correlation is at least, where logarithms are drawn."""


def _runs(metrics: Sequence[str], *, methods: Sequence[str] = METHODS, **more: Any) -> Runs:
    """The study's runs; what is missing is named by data set, and by method and weight."""
    weights = {method: STRENGTHS[method] for method in methods}
    where = {"dataset": more.pop("datasets", DATASETS)}
    named = ("dataset",), ("method", "strength")
    return Runs(tuple(metrics), where, weights, PAPER, named=named, stand_ins=STAND_IN, **more)


def _of_samples(tables: Tables) -> Frame:
    """By run, the total correlation of sampled codes."""
    frame = select(tables, _runs(("gaussian_tc",), representation="sampled")).frame
    return frame.set_index("run")["gaussian_tc"]


def _with_samples(frame: Frame, tables: Tables) -> Frame:
    return frame.assign(gaussian_tc=frame["run"].map(_of_samples(tables)))


def _with_both(frame: Frame, tables: Tables) -> Frame:
    """The runs with logarithms of the total correlations of their means and samples."""
    both = {"means": frame["gaussian_tc"], "samples": frame["run"].map(_of_samples(tables))}
    logarithms = {name: np.log10(values.astype(float).clip(lower=_LEAST)) for name, values in both.items()}
    return frame.assign(**logarithms).dropna(subset=list(both))


def _medians(frame: Frame, tables: Tables) -> Frame:
    """A row for each setting on each data set: the median over its seeds."""
    middle: Frame = frame.groupby(["dataset", "method", "strength"], observed=True)[list(METRICS)].median()
    names = [f"{method} {strength:g}" for _, method, strength in middle.index]
    return middle.reset_index().assign(run=names, series=lambda rows: rows["method"].map(words.METHODS))


def _by_dataset(middle: Frame, metric: str) -> Frame:
    """A row for each setting, a column for each data set that was run."""
    table = middle.pivot(index=["method", "strength", "series", "run"], columns="dataset", values=metric)
    return table[present(middle, "dataset", _SHOWN)]


def _means_and_samples(chosen: Selected) -> Iterator[Panel]:
    """Total correlation of means against that of samples, for each data set on the same axes."""
    both = chosen.frame[["samples", "means"]]
    ends = spread(both.min(), both.max())
    axes = Axis("log₁₀ TC of samples", *ends), Axis("log₁₀ TC of means", *ends)
    for title, part in chosen.each("dataset"):
        yield scatter(part, "samples", "means", title=title, axes=axes, diagonal=0.0)


def _levels(shown: Sequence[Panel]) -> Iterator[Comparison]:
    """Figure 4: each method's medians of both."""
    points: Frame = pd.concat([panel.points for panel in shown])
    for method in METHODS:
        mine = points[points["series"] == words.METHODS[method]]
        if len(mine):
            means, samples = (float((10 ** mine[axis]).median()) for axis in ("y", "x"))
            what = f"{words.METHODS[method]}: median total correlation of means, and of samples (nats)"
            low = "consistently low, and low" if method == "dip-vae-i" else "much higher than of samples"
            yield Comparison(what, low, f"{means:.3g}, and {samples:.3g}", n=len(mine))


Cell = Callable[[Selected, Selected, str], Panel]
"""A panel from the runs of one data set, all runs, and the metric."""


def _row(cell: Cell, dataset: str, chosen: Selected) -> Iterator[Panel]:
    """The cells of a data set, one for each metric; none if all are empty."""
    here = replace(chosen, frame=chosen.frame[chosen.frame["dataset"] == dataset])
    cells = []
    for metric in METRICS if len(here.frame) else ():
        try:
            cells.append(cell(here, chosen, metric))
        except Lacking:
            cells.append(Panel())
    if any(len(panel.points) for panel in cells):
        for metric, panel in zip(METRICS, cells, strict=True):
            yield replace(panel, title=words.measure(metric).label, row=words.dataset(dataset))


def _grid(cell: Cell, datasets: Sequence[str] = _SHOWN):
    """A row for each data set, a column for each metric."""
    return tuple(partial(_row, cell, name) for name in datasets)


def _axis(whole: Selected, metric: str) -> Axis:
    """One axis per metric, so that data sets can be compared; the panel's title says which metric it is."""
    return replace(score_axis(metric, whole.frame[metric]), label="")


def _by_method(here: Selected, whole: Selected, metric: str) -> Panel:
    order = present(whole.frame, "method", METHODS)
    return replace(swarm(here, metric, "method", order, y=_axis(whole, metric)), summary=no_summary())


def _by_weight(here: Selected, whole: Selected, metric: str) -> Panel:
    return against_strength(here, metric, STRENGTHS, y=_axis(whole, metric))


def _elsewhere(here: Selected, whole: Selected, metric: str) -> Panel:
    """Each setting's score on dSprites against its score on another data set."""
    pair = "dsprites", here.frame["dataset"].iloc[0]
    table = _by_dataset(whole.frame, metric).reindex(columns=list(pair)).reset_index()
    across, up = (score_axis(metric, table[name]) for name in pair)
    return scatter(Selected(table), *pair, axes=(replace(across, label=words.dataset(pair[0])), replace(up, label="")))


def _efficiency(score: str, here: Selected, whole: Selected, metric: str) -> Panel:
    """A task's statistical efficiency against a metric."""
    across = replace(score_axis(metric, whole.having(score)[metric]), label="")
    return scatter(here, metric, score, axes=(across, score_axis(score, here.frame[score], label="efficiency")))


def _agreement(chosen: Selected, rows: Sequence[str], columns: Sequence[str], *, title: str) -> Panel:
    """Rank correlations of some scores with others over all runs."""
    cells = rank_correlation(chosen.frame[list(rows)], chosen.frame[list(columns)])
    if cells.isna().all(axis=None):
        raise Lacking(f"three runs or more on {title} with the same two scores")
    return heat(cells.rename(index=_short, columns=_short), title=title)


def _short(metric: str) -> str:
    return words.measure(metric).short


def _between_datasets(chosen: Selected, metric: str, *, title: str) -> Panel:
    """Rank correlations of data sets over settings."""
    table = _by_dataset(chosen.frame, metric)
    cells = rank_correlation(table, table)
    if table.shape[1] < 2 or cells.isna().all(axis=None):
        raise Lacking("runs on two data sets or more")
    return heat(cells.rename(index=words.dataset, columns=words.dataset), title=title)


def _complete(chosen: Selected) -> tuple[np.ndarray, list[str]]:
    """The scores that claims on all data sets are tested on, and the settings' methods."""
    sets = tuple(present(chosen.frame, "dataset", _SHOWN))
    return complete_scores(View(chosen.tables).of(PAPER), ({**EVERY_SET, "dataset": sets},), METRICS)


def _noise(chosen: Selected) -> Iterator[Comparison]:
    """The share of variance due to the seed, which the paper does not report, if methods and weights can be told
    apart."""
    scores, methods = _complete(chosen)
    kept = swept(methods) if scores.shape[2] > 1 else []
    if kept:
        names = [methods[place] for place in kept]
        shares = [variance_shares(metric, names).seed for dataset in scores[..., kept] for metric in dataset]
        what = "share of the scores' variance due to the seed, mean over metrics and data sets"
        yield Comparison(what, "–", float(np.nanmean(shares)), n=scores[:, 0][..., kept].size)


def _chosen_settings(chosen: Selected) -> Iterator[Panel | Comparison | str]:
    """Table 1, here and in the paper, and by chance. If its claims can be tested, these are their numbers."""
    scores, methods = _complete(chosen)
    scores = scores[..., swept(methods, len(METHODS), STRENGTHS_OF_TABLE_1) or slice(None)]
    datasets, _, seeds, settings = scores.shape
    if seeds < 2:
        yield "two seeds or more of every setting with all six metrics"
        return
    if 1 < datasets < DATASETS_OF_TABLE_1:
        yield f"{DATASETS_OF_TABLE_1} data sets or more, to compare what is chosen on another data set with the paper"
    paper = [one.paper_effect or 0.0 for one in CLAIMS if one.where == "Table 1"]
    for title, parts in (("here, %", transfer(scores)), ("paper, %", paper)):
        same, other_data, other_metric, other_both = (100 * part for part in parts)
        cells = pd.DataFrame(
            [[other_both, other_metric], [other_data, same]],
            ["another metric", "same metric"],
            ["another data set", "same data set"],
        )
        yield heat(cells, title=title, signed=False, digits=1, shaded=False)
    counts = ((settings, "setting"), (seeds, "seed"), (datasets, "data set"))
    what = (
        f"chance, %, since the random setting may be the same: {words.listing(words.counted(*one) for one in counts)}"
    )
    levels = [50 * (count + 1) / count for count in (sum(map(len, STRENGTHS.values())), settings)]
    yield Comparison(what, *levels, n=datasets * seeds * settings)


_ON_WEIGHT = panels(against_strength, "gaussian_tc", STRENGTHS, each="dataset", log=True)
_WITHOUT_LABELS = ("reconstruction", "kl", "elbo", "gaussian_tc")
_CELLS = "Cells: Spearman's rank correlation over all runs of a data set."
_SETTINGS = "each the median of its seeds."


_CAPACITY = "AnnealedVAE's is its final capacity: the larger, the less it regularises."


def _total_correlations(title: str, caption: str, **more: Any) -> Unnumbered:
    def positive(frame: Frame, tables: Tables) -> Frame:
        return frame.assign(gaussian_tc=frame["gaussian_tc"].clip(lower=_LEAST))

    runs = _runs(("gaussian_tc",), change=positive, **more)
    return exhibit(title, caption, runs, _ON_WEIGHT, columns=4)


_FIGURES = {
    1: exhibit(
        "Reconstructions",
        "Images of each data set beside their reconstructions by one of its models.",
        _runs(()),
        panels(reconstructed, each="dataset"),
        reading="Odd columns are images, even columns their reconstructions by the first run whose weights were kept.",
        columns=4,
    ),
    2: _total_correlations(
        "Total correlation of samples",
        "Total correlation of a Gaussian fitted to sampled codes, against the method's weight.",
        methods=METHODS[:-1],
        representation="sampled",
    ),
    3: _total_correlations(
        "Total correlation of means",
        "Total correlation of a Gaussian fitted to the codes' means, against the method's weight.",
        methods=METHODS[:-1],
    ),
    4: exhibit(
        "Means against samples",
        "Total correlation of means against that of samples, on a logarithmic scale.",
        _runs(("gaussian_tc",), change=_with_both),
        _means_and_samples,
        reported=_levels,
        reading="Dots are runs; above the dashed line the means are more correlated than the samples.",
        columns=4,
        shared_y=True,
    ),
    5: exhibit(
        "Pairs of metrics on dSprites",
        "Each metric against each other, a dot for each run on dSprites.",
        _runs(METRICS, datasets=("dsprites",)),
        tuple(
            tuple(panels(scatter, left, below, labels=(_short(left), _short(below))) for left in METRICS[:place])
            for place, below in enumerate(METRICS)
        )[1:],
        reading="Dots are runs on dSprites.",
    ),
    6: exhibit(
        "Agreement of metrics",
        "Rank correlation of the metrics over all runs of a data set.",
        _runs(METRICS),
        panels(_agreement, METRICS, METRICS, each="dataset"),
        reading=_CELLS,
        columns=4,
    ),
    7: exhibit(
        "Scores of each method",
        "The scores that each method attains with its weights, for each metric and data set.",
        _runs(METRICS, change=_medians),
        _grid(_by_method),
        reading=f"Dots are a method's weights, {_SETTINGS}",
    ),
    8: exhibit(
        "Scores against the weight",
        "Scores against the method's weight, for each metric and data set.",
        _runs(METRICS),
        (*_grid(_by_weight), _noise),
        reading=f"{MEDIANS} Weights of each method from the smallest (1) to the largest (6). {_CAPACITY}",
    ),
    9: exhibit(
        "Scores without labels",
        "Rank correlation of the metrics with reconstruction error, KL, evidence bound and total correlation.",
        _runs((*METRICS, *_WITHOUT_LABELS[:-1]), change=_with_samples),
        panels(_agreement, METRICS, _WITHOUT_LABELS, each="dataset"),
        reading=f"{_CELLS} TC is that of samples.",
        columns=4,
    ),
    10: exhibit(
        "Agreement of data sets",
        "For each metric, rank correlation of the settings' scores between data sets.",
        _runs(METRICS, change=_medians),
        (tuple(panels(_between_datasets, metric, title=words.measure(metric).label) for metric in METRICS),),
        reading=f"Cells: Spearman's rank correlation over settings, {_SETTINGS}",
        columns=3,
    ),
    11: exhibit(
        "From dSprites to other data sets",
        "Each setting's score on dSprites against its score elsewhere.",
        _runs(METRICS, change=_medians),
        _grid(_elsewhere, _SHOWN[1:]),
        reading=f"Dots are settings, {_SETTINGS}",
    ),
    12: exhibit(
        "Downstream accuracy",
        "Rank correlation of the metrics with the accuracy of classifiers trained on the codes.",
        _runs((*METRICS, *DOWNSTREAM)),
        panels(_agreement, METRICS, DOWNSTREAM, each="dataset"),
        reading=f"{_CELLS} LR: logistic regression, GBT: boosted trees, on so many labelled images.",
        columns=3,
    ),
    **{
        number: exhibit(
            f"Efficiency of {classifier}",
            f"Statistical efficiency of {classifier} on the codes against each metric.",
            _runs((*METRICS, score)),
            _grid(partial(_efficiency, score)),
            reading="Dots are runs. Efficiency: accuracy with 100 labelled images over that with 10,000.",
        )
        for number, classifier, score in (
            (13, "logistic regression", "efficiency_logistic_cv"),
            (14, "boosted trees", "efficiency_gbt"),
        )
    },
    15: _total_correlations(
        "Total correlation of samples, every method",
        f"As Figure 2, with AnnealedVAE. {_CAPACITY}",
        representation="sampled",
    ),
    16: _total_correlations("Total correlation of means, every method", f"As Figure 3, with AnnealedVAE. {_CAPACITY}"),
    "Table 1": exhibit(
        "Choosing by transfer",
        "How often a setting chosen by one metric, data set and seed is at least as good as a random one at another seed.",
        _runs(METRICS),
        _chosen_settings,
        reading="Per cent of comparisons in which the chosen setting is at least as good as a random one at another seed.",
    ),
}
EXHIBITS = numbered(_FIGURES)
