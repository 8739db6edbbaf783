"""An Information Theoretic Perspective on Disentangled Representation Learning: encoders with and without a block of their own
for each latent (Fig. 2 to 11).

The paper draws violins without numbers; here every run is drawn and the paper's words stand beside ours. Figures 5 and 8 show
traversals of the run with the highest MIG: pictures where the report can make them, and always what each latent of that run
knows of each factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Exhibit, Frame, Panel, Series
from hackle.figures.panels import MEANS, heat, scatter, swarm, traversals
from hackle.figures.selection import Picked, paired_change, pick, settings_mask, spread
from hackle.store.tables import Tables

_WEIGHTS = {"vae": None, "factor-vae": 35.0, "beta-vae": 4.0}
_ENCODERS = (Series("convolutional encoder", 0, 0), Series("split encoder", 1, 1))
_VIOLATIONS = (
    Series("convolutional encoder, σ = 0", 0, 0),
    Series("convolutional encoder, σ = 0.9", 1, 1),
    Series("sharing encoder", 2, 2),
)


def _weight(method: str) -> float:
    weight = _WEIGHTS[method]
    return float("nan") if weight is None else weight


def _runs(tables: Tables, metrics: Sequence[str], dataset: str, methods: Sequence[str]) -> tuple[Frame, Picked]:
    picked = pick(
        tables,
        metrics,
        protocol="locatello2019",
        dataset=dataset,
        method=list(methods),
        architecture=["convolutional", "split", "sharing"],
        correlation=[0.0, 0.9],
    )
    frame = picked.wide()
    keep = np.zeros(len(frame), bool)
    for method in methods:
        keep |= settings_mask(frame, {"method": method, "strength": _WEIGHTS[method]}).to_numpy(bool)
    return frame[keep], picked


def _encoders(frame: Frame) -> Frame:
    """Runs with independent noise, by encoder."""
    frame = frame[
        np.isclose(frame["correlation"].astype(float), 0.0) & frame["architecture"].isin(["convolutional", "split"])
    ]
    return frame.assign(series=[words.architecture(name) for name in frame["architecture"]])


def _absent(frame: Frame, series: Sequence[Series], dataset: str, methods: Sequence[str]) -> tuple[str, ...]:
    if not len(frame):
        return (f"{words.dataset(dataset)}: no runs",)
    have = set(zip(frame["method"], frame["series"], strict=True))
    return tuple(
        f"{words.dataset(dataset)}: no run of {words.method(method, _weight(method))}, {one.name}"
        for method in methods
        for one in series
        if (method, one.name) not in have
    )


def _scores(tables: Tables, metric: str, dataset: str, methods: Sequence[str], paper: dict[str, str]) -> Chart:
    """One score of each method with both encoders."""
    frame, picked = _runs(tables, [metric], dataset, methods)
    frame = _encoders(frame)
    rows = ()
    if len(frame):
        rows = (
            (
                swarm(
                    frame,
                    metric,
                    "method",
                    methods,
                    name=lambda name: words.METHODS[name],
                    title=words.dataset(dataset),
                    ceiling=picked.ceiling(metric, dataset),
                ),
            ),
        )
    label = words.measure(metric).label
    comparisons = tuple(
        Comparison(
            f"{words.METHODS[row.method]}: {label}, split minus convolutional encoder",
            paper[row.method],
            row.y,
            row.low,
            row.high,
            int(row.n),
        )
        for row in paired_change(frame, metric, "split encoder", "convolutional encoder").itertuples()
    )
    return Chart(rows, _ENCODERS, MEANS, comparisons, _absent(frame, _ENCODERS, dataset, methods), picked.notes)


def figure_2(tables: Tables) -> Chart:
    """MIG when conditional independence is violated in two ways."""
    methods = ("vae", "factor-vae")
    frame, picked = _runs(tables, ["mig"], "dsprites", methods)
    shared, correlated = frame["architecture"] == "sharing", frame["correlation"].astype(float) > 0
    split = frame["architecture"] == "split"
    series = np.select(
        [shared & ~correlated, correlated & ~shared & ~split, ~shared & ~correlated & ~split],
        [_VIOLATIONS[2].name, _VIOLATIONS[1].name, _VIOLATIONS[0].name],
        "",
    )
    frame = frame.assign(series=series)
    frame = frame[frame["series"] != ""]
    rows = ()
    if len(frame):
        rows = (
            (
                swarm(
                    frame,
                    "mig",
                    "method",
                    methods,
                    name=lambda name: words.METHODS[name],
                    title="dSprites",
                    ceiling=picked.ceiling("mig", "dsprites"),
                ),
            ),
        )
    comparisons = tuple(
        Comparison(
            f"{words.METHODS[row.method]}: MIG of {one.name} minus baseline",
            "below 0",
            row.y,
            row.low,
            row.high,
            int(row.n),
        )
        for one in _VIOLATIONS[1:]
        for row in paired_change(frame, "mig", one.name, _VIOLATIONS[0].name).itertuples()
    )
    return Chart(rows, _VIOLATIONS, MEANS, comparisons, _absent(frame, _VIOLATIONS, "dsprites", methods), picked.notes)


def _trade_off(tables: Tables, dataset: str, methods: Sequence[str], paper: dict[tuple[str, str], str]) -> Chart:
    """KL against reconstruction error with both encoders, a panel for each method."""
    frame, picked = _runs(tables, ["kl", "reconstruction"], dataset, methods)
    frame = _encoders(frame)
    scored = [metric for metric in ("reconstruction", "kl") if frame[metric].notna().any()]
    panels, comparisons = [], []
    if len(scored) == 2:
        for method in methods:
            here = frame[frame["method"] == method]
            if len(here):
                panel = scatter(
                    here,
                    "reconstruction",
                    "kl",
                    title=f"{words.method(method, _weight(method))}, {words.dataset(dataset)}",
                )
                panels.append(_loose(panel, here))
        comparisons = [
            Comparison(
                f"{words.METHODS[row.method]}: {words.measure(metric).label}, split minus convolutional encoder",
                paper[metric, row.method],
                row.y,
                row.low,
                row.high,
                int(row.n),
            )
            for metric in scored
            for row in paired_change(frame, metric, "split encoder", "convolutional encoder").itertuples()
        ]
    absent = _absent(frame, _ENCODERS, dataset, methods)
    if len(frame) and len(scored) < 2:
        absent = (*absent, "the scores reconstruction and kl")
    return Chart(
        (tuple(panels),) if panels else (),
        _ENCODERS,
        "Small marks are runs, large ones their means.",
        tuple(comparisons),
        absent,
        picked.notes,
        shared_y=False,
    )


def _loose(panel: Panel, frame: Frame) -> Panel:
    """Axes that follow the runs: neither quantity has a natural zero here, only differences matter."""
    x, y = (spread(frame[name], frame[name]) for name in ("reconstruction", "kl"))
    return replace(panel, x=Axis(panel.x.label, *x), y=Axis(panel.y.label, *y))


def _latents(tables: Tables, dataset: str, methods: Sequence[str]) -> Chart:
    """What each latent of the best run knows, and its traversals where there are pictures."""
    frame, picked = _runs(tables, ["mig"], dataset, methods)
    frame = _encoders(frame)
    informations = tables.array("mutual_information")
    pictures, latents = tables.array("traversals"), tables.array("latents")
    above, below, lacking = [], [], []
    for method in methods:
        for one in _ENCODERS:
            here = frame[(frame["method"] == method) & (frame["series"] == one.name)].sort_values("mig")
            if not len(here):
                continue
            run, title = here["run"].iloc[-1], f"{words.METHODS[method]}, {one.name}\nMIG {here['mig'].iloc[-1]:.2f}"
            if run in informations:
                above.append(heat(information_cells(informations[run], dataset), title=title, signed=False))
            else:
                lacking.append(f"{words.METHODS[method]}, {one.name}: no informations of its best run")
            if run in pictures:
                below.append(traversals(f"{words.METHODS[method]}, {one.name}", pictures[run], latents[run]))
            else:
                lacking.append(
                    f"{words.METHODS[method]}, {one.name}: no traversals, its best run's weights were not kept"
                )
    rows = tuple(tuple(row) for row in (above, below) if row)
    moved = " Below: its traversals, the latent with the highest KL to the prior (in nats) first."
    return Chart(
        rows,
        (),
        "Cells: mutual information of a latent (rows, most informative first) and a factor, in nats, for the "
        f"run with the highest MIG of each kind.{moved if below else ''}",
        (),
        (*_absent(frame, _ENCODERS, dataset, methods), *lacking),
        picked.notes,
        shared_y=False,
    )


def information_cells(information: np.ndarray, dataset: str) -> Frame:
    """Informations (l, f) with named rows and columns, the latent that knows most first."""
    order = np.argsort(-information.sum(axis=1), kind="stable")
    names = words.factors(dataset, information.shape[1])
    return pd.DataFrame(information[order], [f"z{index}" for index in order], list(names))


_UP = {"vae": "above 0", "factor-vae": "above 0", "beta-vae": "above 0"}
_TWO = ("vae", "factor-vae")


def figure_3(tables: Tables) -> Chart:
    """MIG with both encoders on dSprites."""
    return _scores(tables, "mig", "dsprites", _TWO, _UP)


def figure_4(tables: Tables) -> Chart:
    """KL against reconstruction error on dSprites."""
    paper = {
        ("reconstruction", "vae"): "below 0",
        ("reconstruction", "factor-vae"): "below 0",
        ("kl", "vae"): "below 0",
        ("kl", "factor-vae"): "above 0",
    }
    return _trade_off(tables, "dsprites", _TWO, paper)


def figure_5(tables: Tables) -> Chart:
    """The best runs' latents on dSprites."""
    return _latents(tables, "dsprites", _TWO)


def figure_6(tables: Tables) -> Chart:
    """MIG with both encoders on Cars3D."""
    return _scores(tables, "mig", "cars3d", _TWO, {"vae": "below 0", "factor-vae": "above 0"})


def figure_7(tables: Tables) -> Chart:
    """KL against reconstruction error on Cars3D."""
    paper = {
        (metric, method): sign for metric, sign in (("reconstruction", "below 0"), ("kl", "above 0")) for method in _TWO
    }
    return _trade_off(tables, "cars3d", _TWO, paper)


def figure_8(tables: Tables) -> Chart:
    """The best runs' latents on Cars3D."""
    return _latents(tables, "cars3d", _TWO)


def figure_9(tables: Tables) -> Chart:
    """FactorVAE score with both encoders on dSprites."""
    return _scores(tables, "factor_vae", "dsprites", _TWO, dict.fromkeys(_TWO, "not in step with MIG"))


def figure_10(tables: Tables) -> Chart:
    """FactorVAE score with both encoders on Cars3D."""
    return _scores(tables, "factor_vae", "cars3d", _TWO, dict.fromkeys(_TWO, "not in step with MIG"))


def figure_11(tables: Tables) -> Chart:
    """β-VAE with both encoders on dSprites: MIG, and KL against reconstruction error."""
    scores = _scores(tables, "mig", "dsprites", ("beta-vae",), _UP)
    paper = {("reconstruction", "beta-vae"): "below 0", ("kl", "beta-vae"): "above 0"}
    losses = _trade_off(tables, "dsprites", ("beta-vae",), paper)
    panels = (*scores.panels, *losses.panels)
    return Chart(
        (panels,) if panels else (),
        _ENCODERS,
        f"{MEANS} Right: small marks are runs, large ones their means.",
        scores.comparisons + losses.comparisons,
        scores.missing,
        scores.notes,
        shared_y=False,
    )


_NEEDS = "VAE and FactorVAE γ = 35 with convolutional and split encoder"


def _exhibit(
    number: int,
    title: str,
    caption: str,
    aggregate: Callable[[Tables], Chart],
    dataset: str = "dsprites",
    needs: str = _NEEDS,
) -> Exhibit:
    return Exhibit(
        f"split-encoder-figure-{number}",
        "split-encoder",
        f"Figure {number}",
        title,
        caption,
        aggregate,
        "split-encoder",
        needs,
        (dataset,),
    )


EXHIBITS = (
    _exhibit(
        2,
        "Without conditional independence",
        "MIG on dSprites of the baseline, of correlated noise (σ = 0.9), and of an "
        "encoder in which latents share all parameters.",
        figure_2,
        needs="VAE and FactorVAE γ = 35: convolutional encoder with σ = 0 and 0.9, sharing encoder",
    ),
    _exhibit(3, "Split encoder and MIG", "MIG on dSprites with the convolutional and the split encoder.", figure_3),
    _exhibit(4, "Split encoder: KL and error", "KL to the prior against reconstruction error on dSprites.", figure_4),
    _exhibit(
        5,
        "What the best runs' latents know",
        "The run with the highest MIG of each kind on dSprites: what its latents know "
        "of the factors, and its traversals.",
        figure_5,
        needs=f"{_NEEDS}; traversals need kept weights",
    ),
    _exhibit(
        6,
        "Split encoder and MIG on Cars3D",
        "MIG on Cars3D with the convolutional and the split encoder.",
        figure_6,
        "cars3d",
    ),
    _exhibit(
        7,
        "Split encoder: KL and error on Cars3D",
        "KL to the prior against reconstruction error on Cars3D.",
        figure_7,
        "cars3d",
    ),
    _exhibit(8, "What the best runs' latents know on Cars3D", "As Figure 5, on Cars3D.", figure_8, "cars3d"),
    _exhibit(
        9,
        "Split encoder and FactorVAE score",
        "FactorVAE score on dSprites with the convolutional and the split encoder.",
        figure_9,
    ),
    _exhibit(10, "Split encoder and FactorVAE score on Cars3D", "FactorVAE score on Cars3D.", figure_10, "cars3d"),
    _exhibit(
        11,
        "Split encoder in β-VAE",
        "β-VAE on dSprites: MIG, and KL against reconstruction error.",
        figure_11,
        needs="β-VAE β = 4 with convolutional and split encoder",
    ),
)
