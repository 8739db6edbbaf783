"""Many runs in a few numbers: means with intervals, medians with quartiles, rank correlations, the range of an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from hackle.figures.chart import Frame
from hackle.information.ranks import spearman_matrix


def summarise(frame: Frame, by: Sequence[str], value: str = "y") -> Frame:
    """Mean of each group with its 95% t interval (low, high) and number of runs n; one run has no interval."""
    groups = frame.groupby(list(by), dropna=False, observed=True, sort=False)[value]
    table = groups.agg(["mean", "std", "count"]).reset_index()
    n = table["count"].to_numpy(float)
    half = np.full(len(table), np.nan)
    several = n > 1
    half[several] = stdtrit(n[several] - 1, 0.975) * table["std"].to_numpy(float)[several] / np.sqrt(n[several])
    table = table.assign(y=table["mean"], low=table["mean"] - half, high=table["mean"] + half, n=table["count"])
    return table[[*by, "y", "low", "high", "n"]]


def plain_means(points: Frame) -> Frame:
    """The mean of the points of each series at each x, without an interval, as lines join them."""
    middle = points.groupby(["x", "series"], observed=True)["y"].agg(["mean", "count"]).reset_index()
    return middle.rename(columns={"mean": "y", "count": "n"}).assign(low=np.nan, high=np.nan)


def medians(frame: Frame, by: Sequence[str], value: str = "y") -> Frame:
    """Median of each group with its quartiles (low, high) and number of runs n."""
    groups = frame.groupby(list(by), dropna=False, observed=True, sort=False)[value]
    table = groups.quantile([0.25, 0.5, 0.75]).unstack()
    table.columns = ["low", "y", "high"]
    return table.join(groups.count().rename("n")).reset_index()[[*by, "y", "low", "high", "n"]]


def rank_correlation(first: Frame, second: Frame) -> Frame:
    """Spearman's correlation of every column of one frame with every column of another over the same rows."""
    return pd.DataFrame(spearman_matrix(first, second), list(first), list(second))


def spread(*columns: Frame | np.ndarray) -> tuple[float, float]:
    """Limits of an axis a little beyond the data; (0, 1) without data."""
    values = np.concatenate([np.asarray(column, float).ravel() for column in columns])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    margin = 0.06 * (values.max() - values.min() or abs(values.max()) or 1.0)
    return float(values.min() - margin), float(values.max() + margin)
