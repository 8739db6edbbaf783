"""`hackle-2026`: the runs behind the results that come with hackle, as one study that can be planned and run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackle.core.parts import name_of
from hackle.core.records import record_hash, with_fields
from hackle.core.types import Run
from hackle.papers.kim2018.study import BIGGER, kim2018, kim2018_training
from hackle.studies.presets import preset
from hackle.studies.study import STUDIES, Study, StudyError
from hackle.studies.sweep import Precision

STEPS = 100_000


def _gans(**options: Any) -> list[Run]:
    """InfoWGAN-GP at each λ with the preset's noise and learning rates, and with the bigger networks: not section 6's grid over
    both, of 264 settings."""
    usual: Any = preset("kim2018", "infowgan-gp", "dsprites")
    runs: list[Any] = kim2018(**options, methods=["infowgan-gp"])
    alike = [replace(run.method, information=usual.method.information) == usual.method for run in runs]
    return [
        run
        for run, same in zip(runs, alike, strict=True)
        if run.architecture == BIGGER or (same and run.optimiser == usual.optimiser)
    ]


def _long(**options: Any) -> list[Run]:
    """FactorVAE, γ = 40, and β-VAE, β = 4, with the paper's number of steps."""
    runs: list[Any] = kim2018_training(**options, methods=["beta-vae", "factor-vae"])
    return [run for run in runs if getattr(run.method, "gamma", 40) == 40 and getattr(run.method, "beta", 4) == 4]


@dataclass(frozen=True)
class Part:
    """Some runs: those of a study, by its name, or of a function; their data sets, and how many seeds and steps (None: the
    paper's)."""

    study: str | Callable[..., list[Run]]
    datasets: tuple[str, ...] = ("dsprites",)
    seeds: int = 10
    steps: int | None = STEPS

    def runs(self, **options: Any) -> list[Run]:
        return (STUDIES[self.study].runs if isinstance(self.study, str) else self.study)(**options)


_OF_FIVE_SEEDS = ("locatello2020", "locatello2020-k", "locatello2020-labels", "trauble2021", "schott2022", "hsu2023")
PARTS = (
    Part("locatello2019"),
    Part("yang2020"),
    Part("split-encoder"),
    Part("locatello2019", ("color-dsprites", "noisy-dsprites", "scream-dsprites", "rooms3d"), seeds=5),
    Part("kim2018-training"),
    Part("kim2018-sensitivity", seeds=1),
    Part(_gans),
    Part(_long, steps=None),
    Part("do2020"),
    Part("yang2020", ("mnist",), steps=None),
    Part("kim2018-mnist", ("mnist",), seeds=5, steps=None),
    *(Part(name, seeds=5) for name in _OF_FIVE_SEEDS),
    Part("initialisation"),
)


def hackle_2026(
    *,
    seeds: int | None = None,
    steps: int | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    precision: Precision = "float32",
    points: int | None = None,
) -> list[Run]:
    """What was run for the results that come with hackle: `locatello2019` on dSprites (ten seeds) and on its three variants and
    rooms3d, which stands in for 3D Shapes (five); `yang2020` and `split-encoder` on dSprites; `kim2018` on dSprites, its
    autoencoders scored at ten points of the training, the model of `kim2018-sensitivity`, and FactorVAE (γ = 40) and β-VAE (β =
    4) with the paper's 300,000 steps; `do2020` on dSprites; InfoGAN on MNIST, of `yang2020` and `kim2018-mnist`; the studies of
    pairs, labels, shifts and quantised latents on dSprites (five seeds); `initialisation`. 100,000 steps where nothing else is
    said; a run that is of two studies counts once.

    Departures: InfoWGAN-GP at each λ alone, in place of section 6's grid of 264 settings. scream-dsprites and MNIST must be
    fetched, or are left out. Figures 16 and 17 need the 320 protocols of `kim2018-sensitivity`, whose run is among these.
    """
    if seeds is not None and seeds < 1:
        raise StudyError(f"seeds is {seeds}; expected 1 or more")
    sets = dict.fromkeys(name for part in PARTS for name in part.datasets)
    for dataset in datasets or ():
        if dataset not in sets:
            raise StudyError(f"hackle-2026 has no data set {dataset!r}; it has {', '.join(sets)}")
    planned: dict[str, tuple[Run, int]] = {}
    for part in PARTS:
        wanted = [name for name in part.datasets if datasets is None or name in datasets]
        if not wanted:
            continue
        length = part.steps if steps is None else steps
        for run in part.runs(seeds=1, steps=length, datasets=wanted, precision=precision, points=points):
            key, count = record_hash(run), part.seeds if seeds is None else seeds
            planned[key] = run, max(count, planned[key][1] if key in planned else 0)
    known = {name_of(run.method) for run, _ in planned.values()}
    for method in methods or ():
        if method not in known:
            raise StudyError(f"hackle-2026 has no method {method!r}; it has {', '.join(sorted(known))}")
    chosen = [each for each in planned.values() if methods is None or name_of(each[0].method) in methods]
    return [with_fields(run, {"seed": seed}) for run, count in chosen for seed in range(count)]


STUDY = Study(
    "hackle-2026",
    hackle_2026,
    "The runs behind the results that come with hackle: parts of all of these studies",
    ("locatello2019", "kim2018", "do2020", "yang2020"),
    "all,iwae,true_tc",
)
