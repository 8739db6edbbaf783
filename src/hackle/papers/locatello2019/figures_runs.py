"""The runs of Locatello et al. 2019: six methods, six weights each, seven data sets, and the metrics they are compared by.

The paper gives few numbers; where it has none, its words stand beside ours. It takes medians over 50 seeds, and so do we over
those that there are, with every run drawn behind them where lines join the medians.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hackle.figures import words
from hackle.figures.chart import Frame, Panel, Series
from hackle.figures.panels import places_on
from hackle.figures.selection import Picked, pick, present
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.store.tables import Tables

METRICS = ("beta_vae", "factor_vae", "mig", "dci_disentanglement", "modularity", "sap")
DATASETS = (
    *("dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites"),
    *("smallnorb", "cars3d", "shapes3d"),
)
METHODS = ("beta-vae", "factor-vae", "beta-tcvae", "dip-vae-i", "dip-vae-ii", "annealed-vae")
PAPER = "locatello2019"


def method_series(methods: Sequence[str] = METHODS) -> tuple[Series, ...]:
    """A colour and a marker for each method, the same in every figure."""
    return tuple(Series(words.METHODS[name], METHODS.index(name), METHODS.index(name)) for name in methods)


def study_runs(
    tables: Tables, metrics: Sequence[str], representation: str = "mean", methods: Sequence[str] = METHODS
) -> tuple[Frame, Picked]:
    """The study's runs, one row each with these scores, and how they were chosen."""
    picked = pick(tables, metrics, protocol=PAPER, representation=representation, method=list(methods))
    frame = picked.wide()
    frame = frame[np.isfinite(places_on(STRENGTHS, frame["method"], frame["strength"]))]
    return frame.assign(series=frame["method"].map(words.METHODS)), picked


def absent(frame: Frame, metrics: Sequence[str] = (), methods: Sequence[str] = METHODS) -> tuple[str, ...]:
    """What the study has and the table lacks."""
    if not len(frame):
        return ("no runs of the study",)
    found = []
    lacking = [name for name in DATASETS if name not in set(frame["dataset"])]
    if lacking:
        found.append(f"no runs on {words.listing(words.dataset(name) for name in lacking)}")
    for name in methods:
        rows = frame[frame["method"] == name]
        gone = [value for value in STRENGTHS[name] if not np.isclose(rows["strength"].astype(float), value).any()]
        if gone:
            values = words.listing(f"{value:g}" for value in gone)
            found.append(f"no runs of {words.METHODS[name]} with {words.SYMBOLS[name]} = {values}")
    unscored = [name for name in metrics if frame[name].isna().all()]
    if unscored:
        found.append(f"no score {words.listing(unscored)}")
    return tuple(found)


def datasets_of(frame: Frame) -> list[str]:
    """The data sets of some runs, the paper's first."""
    return present(frame, "dataset", DATASETS)


def in_rows(panels: Sequence[Panel], columns: int) -> tuple[tuple[Panel | None, ...], ...]:
    """Panels in rows of equal length."""
    filled: list[Panel | None] = [*panels, *[None] * (-len(panels) % columns)]
    return tuple(tuple(filled[start : start + columns]) for start in range(0, len(filled), columns))


def setting_medians(frame: Frame, metrics: Sequence[str]) -> Frame:
    """Median over seeds of each score, for each data set, method and weight."""
    by = ["dataset", "method", "strength"]
    return frame.groupby(by, observed=True)[list(metrics)].median().reset_index()


def complete_scores(frame: Frame) -> tuple[np.ndarray, list[str]]:
    """Scores (data sets, metrics, seeds, settings) of the seeds and settings that no data set lacks, and settings' methods."""
    scored = frame.dropna(subset=list(METRICS))
    # A data set that only a few settings of another study touch would leave nothing in common.
    width = scored.groupby("dataset")["strength"].transform("nunique") * scored.groupby("dataset")["method"].transform(
        "nunique"
    )
    scored = scored[width >= width.max() / 2]
    setting = scored["method"].astype(str) + " " + scored["strength"].map("{:g}".format).astype(str)
    table = scored.assign(setting=setting).pivot_table(
        index=["dataset", "seed"], columns="setting", values=list(METRICS)
    )
    if not len(table):
        return np.empty((0, len(METRICS), 0, 0)), []
    methods = [str(name).split(" ")[0] for name in table[METRICS[0]].columns]
    cube = np.stack([table[metric].to_numpy(float) for metric in METRICS])
    datasets = table.index.get_level_values("dataset").unique()
    seeds = table.index.get_level_values("seed").unique()
    full = np.full((len(datasets), len(METRICS), len(seeds), cube.shape[-1]), np.nan)
    where = (
        datasets.get_indexer(table.index.get_level_values("dataset")),
        seeds.get_indexer(table.index.get_level_values("seed")),
    )
    full[where[0], :, where[1], :] = cube.transpose(1, 0, 2)
    # A seed that some setting lacks goes; if that leaves fewer than two seeds, settings go instead.
    known = np.asarray(np.isfinite(full).all(axis=(0, 1)))
    kept = known.all(axis=1)
    if kept.sum() >= 2:
        return full[:, :, kept], methods
    common = np.asarray(known.all(axis=0))
    return full[..., common], [name for name, kept in zip(methods, common.tolist(), strict=True) if kept]
