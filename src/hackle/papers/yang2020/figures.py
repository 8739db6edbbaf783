"""Yang et al. 2020: what a correlated posterior does (Fig. 1 to 5).

The paper draws violins of ten runs; here the runs themselves are drawn. It gives no numbers, so what its text says stands
beside ours. Figure 3 shows generated digits: a table of results holds no images, so `pictures` of the two runs are shown where
the report can make them, and the latents' use otherwise.
"""

from __future__ import annotations

import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Exhibit, Frame, Panel, Series, no_points
from hackle.figures.panels import CURVES, MEANS, curve_points, curves_panel, swarm, traversed
from hackle.figures.selection import Picked, paired_change, pick, present, settings_mask
from hackle.store.tables import Tables, correlation_constant

_DATASETS = ("dsprites", "smallnorb", "cars3d")
_WEIGHTS = {"vae": None, "factor-vae": 35.0, "beta-tcvae": 6.0}
_SERIES = (Series("σ = 0", 0, 0), Series("σ = 0.9", 1, 1))


def _runs(tables: Tables, metrics: list[str], latents: int) -> tuple[Frame, Picked]:
    picked = pick(tables, metrics, protocol="yang2020", method=list(_WEIGHTS), latents=latents, correlation=[0.0, 0.9])
    frame = picked.wide()
    keep = pd.Series(False, frame.index)
    for method, weight in _WEIGHTS.items():
        keep |= settings_mask(frame, {"method": method, "strength": weight})
    frame = frame[keep]
    return frame.assign(series=[f"σ = {value:g}" for value in frame["correlation"]]), picked


def _missing(frame: Frame, latents: int, datasets: tuple[str, ...]) -> list[str]:
    found = []
    for dataset in datasets:
        here = frame[frame["dataset"] == dataset]
        if not len(here):
            found.append(f"{words.dataset(dataset)}: no runs of {latents} latents")
            continue
        for method, weight in _WEIGHTS.items():
            for correlation in (0.0, 0.9):
                wanted = {"method": method, "strength": weight, "correlation": correlation}
                if not settings_mask(here, wanted).any():
                    label = words.method(method, float("nan") if weight is None else weight)
                    found.append(f"{words.dataset(dataset)}: no run of {label} with σ = {correlation:g}")
    return found


def _mig(tables: Tables, latents: int) -> Chart:
    frame, picked = _runs(tables, ["mig"], latents)
    datasets = [
        name
        for name in present(frame, "dataset", _DATASETS)
        if frame[frame["dataset"] == name]["series"].nunique() == 2
    ]
    panels = [
        swarm(
            frame[frame["dataset"] == dataset],
            "mig",
            "method",
            list(_WEIGHTS),
            name=lambda method: words.METHODS[method],
            title=words.dataset(dataset),
            ceiling=picked.ceiling("mig", dataset),
        )
        for dataset in datasets
    ]
    comparisons = []
    for dataset in datasets:
        here = frame[frame["dataset"] == dataset]
        change = _change(here, "mig")
        comparisons += [
            Comparison(
                f"{words.dataset(dataset)}, {words.METHODS[row.method]}: MIG at σ = 0.9 minus σ = 0",
                "below 0",
                row.y,
                row.low,
                row.high,
                int(row.n),
            )
            for row in change.itertuples()
        ]
    return Chart(
        (tuple(panels),) if panels else (),
        _SERIES,
        f"{MEANS} J = {latents} latents.",
        tuple(comparisons),
        tuple(_missing(frame, latents, _DATASETS)),
        picked.notes,
    )


def _change(frame: Frame, metric: str) -> Frame:
    """For each method the score at σ = 0.9 minus that at σ = 0 of the same seed."""
    found = paired_change(frame, metric, "σ = 0.9", "σ = 0")
    order = {method: index for index, method in enumerate(_WEIGHTS)}
    return found.sort_values("method", key=lambda column: column.map(order))


def figure_1(tables: Tables) -> Chart:
    """MIG with and without correlated noise, ten latents."""
    return _mig(tables, 10)


def figure_5(tables: Tables) -> Chart:
    """MIG with and without correlated noise, twenty latents."""
    return _mig(tables, 20)


def figure_2(tables: Tables) -> Chart:
    """Reconstruction error, KL and total correlation on dSprites."""
    metrics = ["reconstruction", "kl", "monte_carlo_tc"]
    frame, picked = _runs(tables, metrics, 10)
    frame = frame[frame["dataset"] == "dsprites"]
    frame = frame.assign(kl=frame["kl"] - correlation_constant(frame))
    metrics = [metric for metric in metrics if frame[metric].notna().any()]
    rows = tuple(
        swarm(
            frame,
            metric,
            "method",
            list(_WEIGHTS),
            name=lambda method: words.METHODS[method],
            title=words.measure(metric).short,
        )
        for metric in metrics
    )
    comparisons = [
        Comparison(
            f"{words.METHODS[row.method]}: {words.measure(metric).label}, σ = 0.9 minus σ = 0",
            _FIGURE_2[metric][row.method],
            row.y,
            row.low,
            row.high,
            int(row.n),
        )
        for metric in metrics
        for row in _change(frame, metric).itertuples()
    ]
    lacking = [f"no score {name}" for name in ("reconstruction", "kl", "monte_carlo_tc") if name not in metrics]
    return Chart(
        (rows,) if rows else (),
        _SERIES,
        f"{MEANS} dSprites, J = 10. KL and total correlation are those of factorised posteriors, as in the paper.",
        tuple(comparisons),
        (*_missing(frame, 10, ("dsprites",)), *(lacking if len(frame) else [])),
        picked.notes,
        shared_y=False,
    )


def _infogan(tables: Tables) -> Frame:
    runs: Frame = tables.runs
    chosen = runs[(runs["method"] == "infogan") & (runs["dataset"] == "mnist") & (runs["status"] == "done")]
    chosen = chosen[settings_mask(chosen, {"correlation": [0.0, 0.9]})]
    return chosen.assign(series=[f"σ = {value:g}" for value in chosen["correlation"]]).sort_values(
        ["correlation", "seed"]
    )


def figure_3(tables: Tables) -> Chart:
    """Digits that InfoGAN generates as two codes move."""
    runs, pictures, latents = _infogan(tables), tables.array("pair-map"), tables.array("latents")
    panels, lacking = [], []
    for one in _SERIES:
        shown = [run for run in runs[runs["series"] == one.name]["run"] if run in pictures]
        if shown:
            codes = {int(row[0]): row for row in latents[shown[0]]}
            across, down = traversed(codes[0], "first code", 9), traversed(codes[1], "second code", 9)
            panels.append(Panel(f"{one.name}, first run", across, down, picture=pictures[shown[0]]))
        else:
            several = (runs["series"] == one.name).any()
            lacking.append(
                f"{one.name}: {'the weights of its runs were not kept' if several else 'no run of InfoGAN on MNIST'}"
            )
    return Chart(
        (tuple(panels),) if panels else (),
        (),
        "Columns move the first code, rows the second; the rest is fixed.",
        (
            Comparison("σ = 0", "rotation and width, one code each", "see the picture"),
            Comparison("σ = 0.9", "no factor to be seen; digits change", "see the picture"),
        )
        if panels
        else (),
        tuple(lacking),
        shared_y=False,
    )


def figure_4(tables: Tables) -> Chart:
    """InfoGAN's losses during training."""
    runs = _infogan(tables)
    terms = {"discriminator": "discriminator", "generator": "generator", "information": "information penalty"}
    names = [Series(name, index, index) for index, name in enumerate(terms.values())]
    panels, lacking = [], []
    curves = {term: tables.curve(term) for term in terms}
    # The paper draws what the generator pays, −L; what is logged is the bound L itself.
    curves["information"] = curves["information"].assign(value=-curves["information"]["value"])
    for one in _SERIES:
        chosen = set(runs[runs["series"] == one.name]["run"])
        parts = [curve_points(curve, dict.fromkeys(chosen, terms[term])) for term, curve in curves.items()]
        points = pd.concat(parts, ignore_index=True) if parts else no_points()
        if len(points):
            panels.append(curves_panel(points, one.name, "loss (nats)"))
        else:
            lacking.append(f"{one.name}: no curves of InfoGAN on MNIST")
    return Chart((tuple(panels),) if panels else (), tuple(names) if panels else (), CURVES, (), tuple(lacking))


_SAME = "nearly unchanged"
_FIGURE_2 = {
    "reconstruction": {"vae": _SAME, "factor-vae": _SAME, "beta-tcvae": "higher"},
    "kl": {"vae": _SAME, "factor-vae": _SAME, "beta-tcvae": "lower"},
    "monte_carlo_tc": {"vae": _SAME, "factor-vae": _SAME, "beta-tcvae": "lower"},
}

_NEEDS = "VAE, FactorVAE γ = 35 and β-TCVAE β = 6 with σ = 0 and 0.9"
EXHIBITS = (
    Exhibit(
        "yang2020-figure-1",
        "yang2020",
        "Figure 1",
        "Correlated noise and disentanglement",
        "MIG of three methods when the posterior's noise is independent (σ = 0) and when it is strongly correlated "
        "(σ = 0.9), with ten latents.",
        figure_1,
        "yang2020",
        f"{_NEEDS}, 10 latents",
        _DATASETS,
    ),
    Exhibit(
        "yang2020-figure-2",
        "yang2020",
        "Figure 2",
        "What else correlated noise changes",
        "Reconstruction error, KL to the prior and total correlation of the same runs on dSprites.",
        figure_2,
        "yang2020",
        f"{_NEEDS}, 10 latents",
    ),
    Exhibit(
        "yang2020-figure-3",
        "yang2020",
        "Figure 3",
        "InfoGAN's codes as digits",
        "Digits generated while two continuous codes of InfoGAN move, for both kinds of posterior.",
        figure_3,
        "yang2020",
        "InfoGAN on MNIST with σ = 0 and 0.9, weights kept",
        ("mnist",),
    ),
    Exhibit(
        "yang2020-figure-4",
        "yang2020",
        "Figure 4",
        "InfoGAN's losses",
        "Losses of discriminator, generator and information term during training, for both kinds of posterior.",
        figure_4,
        "yang2020",
        "InfoGAN on MNIST with σ = 0 and 0.9, curves",
        ("mnist",),
    ),
    Exhibit(
        "yang2020-figure-5",
        "yang2020",
        "Figure 5",
        "Correlated noise with twenty latents",
        "As Figure 1, with twenty latents.",
        figure_5,
        "yang2020",
        f"{_NEEDS}, 20 latents",
        _DATASETS,
    ),
)
