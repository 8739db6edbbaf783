"""Panels of single models: pictures of runs whose weights were kept, laid out as papers do, and what each code is.

The images are arrays that the tables of a report have beside those of the store (`hackle.report.with_pictures`). Each kind
here is used as those of `hackle.figures.panels`: `panels(traversed, "factor_vae", each="method")` shows, of each method, the
run with the highest FactorVAE score among those whose weights were kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr

from hackle.core.tiles import mosaic
from hackle.figures import words
from hackle.figures.chart import Axis, Frame, Panel, Series
from hackle.figures.panels import Lacking
from hackle.figures.selection import Selected
from hackle.store.tables import Tables

MARGINAL_RANGE = (-4.0, 4.0)
"""The interval whose equal bins the array `marginals` counts codes in, as Do & Tran 2020 do (appendix A.10)."""
SERIES_OF_MARGINALS = (Series("q(z_j), a line for each code", 0), Series("prior N(0, 1)", 1))
COLLAPSED = 0.01
"""Nats of KL to the prior up to which a latent has collapsed."""
_ORDERS = {"kl": "KL", "informativeness": "I", "variance": "variance", "overlap": "shared"}
"""What codes are sorted by, highest first, and what the value is called beside them."""
_SCORED = {"overlap": "whole_overlap", "separate": "whole_wsepin"}
"""Numbers of codes that are stored with a score."""


def code_values(tables: Tables, run: str, what: str) -> np.ndarray:
    """A number for each code of a run, (l,), in nats but for the first.

    variance: of the code's means over images. informativeness: I(z_i; x). overlap: I(z_i; z_≠i). separate: I(z_i; x | z_≠i).
    lost: H(z_≠i) − H(z) = I(z_i; z_≠i) − H(z_i), what z loses in entropy without the code.
    """
    if what == "lost":
        masses = _array(tables, "marginals", run, what)
        entropies = entr(masses).sum(axis=1) + math.log((MARGINAL_RANGE[1] - MARGINAL_RANGE[0]) / masses.shape[1])
        return code_values(tables, run, "overlap") - entropies
    if what == "variance":
        return _array(tables, "codes", run, what).var(axis=0)
    if what not in _SCORED:
        return _array(tables, what, run, what)
    rows: Frame = tables.per_factor(_SCORED[what])
    rows = rows[rows["run"] == run]
    if not len(rows):
        raise Lacking(f"the {what} of single codes")
    # Variants of a protocol for ablations ("do2020-samples-10000") or on fewer points ("do2020 × 0.1") come last.
    protocol = min(rows["protocol"].astype(str).unique(), key=lambda name: (" " in name or "-" in name, name))
    mine = rows[(rows["protocol"] == protocol).to_numpy()].groupby("factor", observed=True)["score"].mean()
    return np.array([mine[f"z{code}"] for code in range(len(mine))], float)


def _array(tables: Tables, name: str, run: str, what: str) -> np.ndarray:
    known = tables.array(name)
    if run not in known:
        raise Lacking(f"the {what} of single codes")
    return np.asarray(known[run], float)


def shown_run(chosen: Selected, pictures: str, metric: str, title: str) -> tuple[str, str]:
    """The first run whose weights were kept, or that with the highest score, and the panel's title with what it is."""
    made = chosen.tables.array(pictures)
    rows = chosen.having(metric).sort_values(metric, ascending=False, kind="stable") if metric else chosen.frame
    row = next((row for row in rows.to_dict("records") if row["run"] in made), None)
    if row is None:
        raise Lacking(f"{title or 'this figure'}: the weights of its runs were not kept")
    told = f"{words.method(row['method'], row['strength'])}, seed {row['seed']:g}"
    if metric:
        name, best = words.measure(metric).label, rows[metric].iloc[0]
        told += f", {name} {row[metric]:.2f}" + (f" (the best, {best:.2f}, was not kept)" if best > row[metric] else "")
    return row["run"], told if title in told else f"{title}\n{told}"


def traversed(chosen: Selected, metric: str = "", *, title: str = "", **layout: Any) -> Panel:
    """Traversals of one run's codes, laid out as the options of `traversals` say."""
    run, title = shown_run(chosen, "traversals", metric, title)
    return traversals(title, chosen.tables, run, **layout)


def traversals(
    title: str, tables: Tables, run: str, *, order: str = "kl", top: int = 0, originals: bool = True, more: str = ""
) -> Panel:
    """Originals, reconstructions and traversals of a run's codes, with the names of their rows.

    order: kl, informativeness, variance or overlap, highest first, or "" for that of the codes; top: how many codes, all if 0.
    more: another of these whose values are named, too.
    """
    tiles, latents = (np.asarray(tables.array(name)[run]) for name in ("traversals", "latents"))
    codes = latents[:, 0].astype(int)
    values = {
        what: latents[:, 1] if what == "kl" else code_values(tables, run, what)[codes] for what in (order, more) if what
    }
    rows = np.argsort(-values[order], kind="stable") if order else np.arange(len(tiles))
    rows = rows[: top or None]
    names = [_named(int(codes[row]), {what: float(part[row]) for what, part in values.items()}) for row in rows]
    return _in_rows(title, tables, run, tiles[rows], latents[rows], names, originals)


def of_factors(chosen: Selected, columns: Mapping[str, int], *, title: str = "", top: int = 3) -> Panel:
    """Traversals of the codes that say most about each of some factors, with their information on it in nats; columns: of the
    factors in the array of informations."""
    run, title = shown_run(chosen, "traversals", "", title)
    known = chosen.tables.array("posterior_information")
    if run not in known:
        raise Lacking(f"{title.partition(chr(10))[0]}: what posteriors say about each factor")
    tiles, latents = (np.asarray(chosen.tables.array(name)[run]) for name in ("traversals", "latents"))
    information = np.asarray(known[run], float)
    best = [
        (name, code, information[code, column])
        for name, column in columns.items()
        for code in np.argsort(-information[:, column], kind="stable")[:top]
    ]
    rows = [int(np.flatnonzero(latents[:, 0] == code)[0]) for _, code, _ in best]
    names = [f"{name}: z{code}, {value:.3f}" for name, code, value in best]
    return _in_rows(title, chosen.tables, run, tiles[rows], latents[rows], names, originals=False)


def sampled(chosen: Selected, metric: str = "", *, title: str = "") -> Panel:
    """Images that one run decodes from the prior."""
    run, title = shown_run(chosen, "samples", metric, title)
    return Panel(title, picture=mosaic(chosen.tables.array("samples")[run]))


def reconstructed(chosen: Selected, metric: str = "", *, title: str = "", columns: int = 4, rows: int = 3) -> Panel:
    """Images and their reconstructions by one run, side by side."""
    run, title = shown_run(chosen, "reconstructions", metric, title)
    pairs = np.asarray(chosen.tables.array("reconstructions")[run])[:, : columns * rows].swapaxes(0, 1)
    columns = min(columns, len(pairs))
    whole = pairs[: len(pairs) // columns * columns]
    return Panel(title, picture=mosaic(whole.reshape(-1, 2 * columns, *whole.shape[2:])))


def with_noise(chosen: Selected, *, title: str = "") -> Panel:
    """Images, and beside them what a generator makes of their codes with other noise."""
    run, title = shown_run(chosen, "noise", "", title)
    tiles = np.asarray(chosen.tables.array("noise")[run])
    return Panel(title, Axis(ticks=("image", *("",) * (tiles.shape[1] - 1))), picture=mosaic(tiles))


def pair_map(chosen: Selected, pair: int = 0, *, title: str = "", axes: tuple[str, str] = ("", "")) -> Panel:
    """What one run decodes while two codes move together from −2 to 2."""
    run, title = shown_run(chosen, "pair-maps", "", title)
    maps = np.asarray(chosen.tables.array("pair-maps")[run])
    if pair >= len(maps):
        raise Lacking(f"{title}: a pair of codes beyond the first {len(maps)}")
    ends = np.array([0, 0, -2, 2])
    across, down = (_moved(ends, name, maps.shape[1]) for name in axes)
    return Panel(title, across, down, picture=mosaic(maps[pair]))


PICTURES = frozenset({traversed, of_factors, sampled, reconstructed, with_noise, pair_map})
"""The kinds that are pictures of a run whose weights were kept."""


def marginals(chosen: Selected, *, title: str = "") -> Panel:
    """The density of every code of one run over the images, q(z_j), beside the prior's."""
    run, first = chosen.first_with("marginals"), chosen.frame.iloc[0]
    title = words.method(first["method"], first["strength"])
    if not run:
        raise Lacking(f"{title}: the distributions of single codes")
    shares = np.asarray(chosen.tables.array("marginals")[run], float)
    edges = np.linspace(*MARGINAL_RANGE, shares.shape[1] + 1)
    middle, prior = (edges[1:] + edges[:-1]) / 2, SERIES_OF_MARGINALS[1].name
    lines = [
        pd.DataFrame(
            {"x": middle, "y": part / np.diff(edges), "series": SERIES_OF_MARGINALS[0].name, "run": f"z{code}"}
        )
        for code, part in enumerate(shares)
    ]
    points: Frame = pd.concat(lines, ignore_index=True)
    density = np.exp(-0.5 * middle**2) / math.sqrt(2 * math.pi)
    summary = pd.DataFrame({"x": middle, "y": density, "low": np.nan, "high": np.nan, "n": 1, "series": prior})
    y = Axis("density", 0.0, 1.05 * float(max(points["y"].max(), density.max())))
    return Panel(title, Axis("z", *MARGINAL_RANGE), y, points, summary, joined=True)


def _in_rows(
    title: str, tables: Tables, run: str, tiles: np.ndarray, latents: np.ndarray, names: Sequence[str], originals: bool
) -> Panel:
    """Rows of traversals with their names; where they have different ends, these are named, too."""
    across = _moved(latents[0], "value of the latent", tiles.shape[1])
    if len({tuple(ends) for ends in latents[:, 2:].tolist()}) > 1:
        names = [f"{name}, {' … '.join(_ends(row))}" for name, row in zip(names, latents, strict=True)]
        across = replace(across, ticks=("first", *across.ticks[1:-1], "last"))
    if not originals:
        return Panel(title, across, Axis(ticks=tuple(names)), picture=mosaic(tiles))
    above = np.full((2, *tiles.shape[1:]), 255, np.uint8)
    pairs = np.asarray(tables.array("reconstructions")[run])[:, : tiles.shape[1]]
    above[:, : pairs.shape[1]] = pairs
    rows = np.concatenate([above, tiles])
    return Panel(title, across, Axis(ticks=("original", "decoded", *names)), picture=mosaic(rows))


def _named(code: int, values: Mapping[str, float]) -> str:
    """A code with the values that it is sorted by, or with its number alone."""
    parts = [
        "collapsed" if what == "kl" and value <= COLLAPSED else f"{_ORDERS[what]} {value:.2f}"
        for what, value in values.items()
    ]
    return ", ".join([f"z{code}", *parts]) if values else f"code {code + 1}"


def _moved(latent: np.ndarray, label: str, columns: int) -> Axis:
    """The axis of a picture along which a latent moves: its first and its last value at the ends."""
    low, high = _ends(latent)
    return Axis(label, ticks=(low, *("",) * (columns - 2), high))


def _ends(latent: np.ndarray) -> list[str]:
    return [f"{value:g}".replace("-", "−") for value in latent[2:]]
