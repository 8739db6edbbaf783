"""Kim & Mnih 2018, single models: traversals, samples, marginal distributions, the data sets without known factors, and the
study of InfoGAN and InfoWGAN-GP (appendix H).

The paper shows the run with the best FactorVAE score, or on data without factors any; here the best, or the first, of those
whose weights were kept. What it calls now InfoWGAN-GP, now InfoGAN-GP is InfoWGAN-GP here. Figure 40's histograms are lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Comparison, Frame, Panel
from hackle.figures.exhibit import Unnumbered, exhibits_of, numbered
from hackle.figures.models import SERIES_OF_MARGINALS, marginals, sampled, traversed, with_noise
from hackle.figures.panels import curves, panels
from hackle.figures.selection import Runs, Selected
from hackle.papers.kim2018.claims import PAPER
from hackle.papers.kim2018.figures import BY_WEIGHT, ERROR, MARKS, PAIR, SHAPES, runs_of
from hackle.papers.kim2018.records import (
    Test,
    bigger_networks,
    classes,
    records_of,
    slowly_to_the_end,
    stops_early,
    to_the_end,
)
from hackle.papers.kim2018.settings import STAND_IN
from hackle.store.tables import Tables

exhibit = exhibits_of(PAPER, shared_y=False)
_SCORE = "factor_vae"
_ON_MNIST = "kim2018-mnist"
_TRAVERSALS = (
    "Rows below the reconstructions: traversals of one latent each, that with the highest KL to the prior first."
)
_CODES = "Rows: traversals of the codes in their order, each class of a categorical code one tile."


def _best(method: str, score: float | str, weight: float, chosen: Selected) -> Iterator[Comparison]:
    """A method's best single run, its score and weight beside the paper's; a score that the paper only shows is words."""
    mine = chosen.having(_SCORE).query("method == @method")
    if len(mine):
        best = mine.loc[mine[_SCORE].idxmax()]
        name = f"{words.METHODS[method]}: best single run"
        yield Comparison(f"{name}, {words.measure(_SCORE).label}", score, float(best[_SCORE]), n=len(mine))
        yield Comparison(f"{name}, {words.symbol(method)}", weight, float(best["strength"]), n=len(mine))


def _pair(dataset: str, metrics: tuple[str, ...] = (_SCORE,), *methods: str, **more: Any) -> Runs:
    stand_ins = STAND_IN if dataset in STAND_IN else {}
    return runs_of(metrics, *(methods or PAIR), dataset=dataset, called=SHAPES, stand_ins=stand_ins, **more)


def _traversals(title: str, dataset: str, **best: tuple[float | str, float]) -> Unnumbered:
    """The best runs of both methods; where there are no factors, the first."""
    where = SHAPES.get(dataset) or words.dataset(dataset)
    metric = (_SCORE,) if best else ()
    return exhibit(
        title,
        f"Traversals of {'the best' if best else 'a'} β-VAE and FactorVAE on {where}.",
        _pair(dataset, metric),
        (
            panels(traversed, *metric, each="method"),
            *(partial(_best, f"{name}-vae", *one) for name, one in best.items()),
        ),
        reading=_TRAVERSALS,
    )


def _samples(method: str, dataset: str, weight: float) -> Unnumbered:
    name, where = words.METHODS[method], SHAPES[dataset]
    return exhibit(
        f"Samples of the best {name} on {where}",
        f"Images decoded from the prior by the {name} with the best FactorVAE score on {where}.",
        _pair(dataset, (_SCORE,), method),
        (panels(sampled, _SCORE, each="method"), partial(_best, method, "highest of all", weight)),
        reading="Codes are drawn at random from the prior.",
    )


def _errors(dataset: str) -> Unnumbered:
    """Reconstruction error over training of both methods on data without factors."""
    where = words.dataset(dataset)
    return exhibit(
        f"Reconstruction error on {where}",
        f"Reconstruction error during training on {where}, for each β and γ.",
        _pair(dataset, (), series="weight"),
        ERROR,
        shared_y=True,
    )


def _recorded(wanted: Test, frame: Frame, tables: Tables) -> Frame:
    """The runs whose records pass a test."""
    return frame[records_of(tables).loc[list(frame["run"])].map(wanted).to_numpy(bool)]


def _digits(method: str = "infogan", codes: int = 2, number: int = 10, most: int | None = None) -> Runs:
    """Runs on MNIST with so many continuous codes, and classes of the categorical one, of `most` seeds; InfoGANs are those
    stopped early."""

    def wanted(record: str) -> bool:
        return classes(record, number) and (method != "infogan" or stops_early(record))

    def change(frame: Frame, tables: Tables) -> Frame:
        frame = _recorded(wanted, frame, tables)
        return frame[frame["seed"].isin(sorted(frame["seed"].unique())[:most])]

    where = {"dataset": "mnist", "latents": codes, "architecture": "adversarial"}
    return Runs((), where, {method: ()}, PAPER, change=change)


def _to_the_end(frame: Frame, tables: Tables) -> Frame:
    """InfoGANs that were not stopped, by the learning rate of their discriminator."""
    ten: Frame = _recorded(lambda record: classes(record, 10), frame, tables)
    parts = zip((to_the_end, slowly_to_the_end), _RATES, strict=True)
    return pd.concat([_recorded(wanted, ten, tables).assign(series=name) for wanted, name in parts])


_RATES = ("discriminator as usual", "slower discriminator")


def _study_of(runs: Runs) -> str:
    return _ON_MNIST if runs.where["dataset"] == "mnist" else PAPER


def _codes(title: str, caption: str, runs: Runs, *, each: str = "method", best: float | None = None) -> Unnumbered:
    """Traversals of codes in their order; with `best`, of the best run, and its weight beside the paper's."""
    rows = panels(traversed, *runs.metrics, each=each, order="", originals=False)
    told = () if best is None else (partial(_best, "infowgan-gp", "disappointingly low", best),)
    return exhibit(title, caption, runs, (rows, *told), reading=_CODES, study=_study_of(runs), columns=3)


def _noise(number: int) -> Unnumbered:
    return exhibit(
        f"What InfoGAN's noise changes, {number} categories",
        f"Digits, and what InfoGAN makes of their codes with other noise; its categorical code has {number} categories.",
        _digits(number=number),
        panels(with_noise, each="method"),
        reading="Left column: images of MNIST. Beside each: its codes, decoded with other noise ε.",
        study=_ON_MNIST,
    )


_LOSSES = {"generator": "generator", "wasserstein": "critic", "-information": "information penalty"}
"""Figure 32 draws the generator's loss, the critic's difference between images and generated ones, and −L."""


def _losses(where: str, runs: Runs) -> Unnumbered:
    return exhibit(
        f"InfoWGAN-GP's losses on {where}",
        f"Losses of generator, critic and information term during training on {where}.",
        runs,
        panels(curves, _LOSSES, "loss", each="dataset"),
        study=_study_of(runs),
        series=tuple(_LOSSES.values()),
    )


def _generated(metrics: tuple[str, ...], *, bigger: bool) -> Runs:
    """InfoWGAN-GPs on 2D Shapes with the networks of Table 5, or the bigger ones of Table 6."""
    change = partial(_recorded, lambda record: bigger_networks(record) == bigger)
    return runs_of(metrics, "infowgan-gp", called=SHAPES, change=change)


def _no_better(shown: Sequence[Panel]) -> Iterator[Comparison]:
    for panel in shown:
        best = panel.summary.loc[panel.summary["y"].idxmax()]
        yield Comparison.of(f"best mean {panel.title}", "no better than with the smaller networks", best)


_MARGINALS = {"beta-vae": (1.0, 4.0, 16.0, 64.0), "factor-vae": (10.0, 20.0, 40.0, 80.0)}
_FIGURES = {
    6: _traversals("The best models of 2D Shapes", "dsprites", beta=(0.814, 4), factor=(0.889, 35)),
    9: _codes(
        "Codes of InfoWGAN-GP",
        "Traversals of the codes of the InfoWGAN-GP with the best FactorVAE score on 2D Shapes.",
        _generated((_SCORE,), bigger=False),
        best=0.2,
    ),
    11: _traversals("The best models of 3D Shapes", "shapes3d", beta=(1.0, 32), factor=(1.0, 7)),
    12: _errors("faces3d"),
    13: _traversals("What models of chairs capture", "chairs3d"),
    14: _traversals("What models of faces capture", "faces3d"),
    15: _traversals("What models of celebrities capture", "celeba"),
    19: _samples("beta-vae", "dsprites", 4),
    20: _samples("factor-vae", "dsprites", 35),
    21: _samples("beta-vae", "shapes3d", 32),
    22: _samples("factor-vae", "shapes3d", 6),
    24: exhibit(
        "InfoGAN's discriminator",
        "How often InfoGAN's discriminator is right during training on MNIST, with its learning rate and a smaller one.",
        replace(_digits(), change=_to_the_end),
        panels(
            *(curves, {"discriminator_accuracy": "discriminator's accuracy"}, "discriminator's accuracy"),
            each="dataset",
            hold=0.5,
            level=(0.5, "all called real"),
        ),
        series=_RATES,
        study=_ON_MNIST,
    ),
    25: _codes(
        "InfoGAN's codes", "Traversals of InfoGAN's codes on MNIST for five seeds.", _digits(most=5), each="seed"
    ),
    26: _noise(10),
    27: _codes("InfoGAN with three continuous codes", "As Figure 25, with three continuous codes.", _digits(codes=3)),
    28: _codes(
        "InfoGAN with two categories", "As Figure 25, with a categorical code of 2 categories.", _digits(number=2)
    ),
    29: _codes("InfoGAN with twenty categories", "As Figure 25, with 20 categories, in two rows.", _digits(number=20)),
    30: _noise(2),
    31: _noise(20),
    32: _losses("MNIST", _digits("infowgan-gp")),
    33: _losses("2D Shapes", _generated((), bigger=False)),
    34: exhibit(
        "InfoWGAN-GP with bigger networks",
        "Both metrics of InfoWGAN-GP on 2D Shapes by the weight of its information term, with the networks of Table 6.",
        _generated(MARKS, bigger=True),
        BY_WEIGHT,
        reported=_no_better,
        shared_y=True,
    ),
    35: _codes(
        "Codes of InfoWGAN-GP with bigger networks",
        "As Figure 9, with the networks of Table 6.",
        _generated((_SCORE,), bigger=True),
        best=0.6,
    ),
    36: _codes("InfoWGAN-GP's codes", "As Figure 25, for InfoWGAN-GP.", _digits("infowgan-gp", most=5), each="seed"),
    38: _errors("chairs3d"),
    39: _errors("celeba"),
    40: exhibit(
        "Codes and their prior",
        "The distribution of each code over 2D Shapes beside the prior, for some β and γ.",
        tuple(
            runs_of((), method, weights={method: weights}, named=(("method", "strength"),))
            for method, weights in _MARGINALS.items()
        ),
        panels(marginals, each="strength"),
        series=SERIES_OF_MARGINALS,
        columns=4,
        study="kim2018-marginals",
        reading="Of each weight the first seed: thin lines are its codes' densities over all images, the thick line is the "
        "prior's.",
    ),
}
EXHIBITS = numbered(_FIGURES)
