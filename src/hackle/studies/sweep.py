"""What every paper's study has in common: its keyword arguments, and what it does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Literal

from hackle.core.method import about
from hackle.core.records import record_hash, with_fields
from hackle.core.scored import Scored
from hackle.core.types import Run
from hackle.datasets import DATASETS
from hackle.studies.presets import preset
from hackle.studies.study import StudyError

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Sweep:
    """A paper's preset, its data sets and methods, and which of them the user wants.

    seeds: every setting is trained with seeds 0 … seeds − 1. steps: instead of the paper's number. datasets, methods:
    instead of all of the paper's; a data set that is not the paper's takes the settings of one that is. precision: of
    autoencoders; networks of GANs always compute in float32. points: of each training at which scores are taken, in place
    of the study's; with its metrics where it names some.
    """

    paper: str
    known_datasets: tuple[str, ...]
    known_methods: tuple[str, ...]
    seeds: int
    steps: int | None = None
    datasets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    precision: Precision = "float32"
    points: int | None = None

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise StudyError(f"seeds is {self.seeds}; expected 1 or more")
        if self.steps is not None and self.steps < 1:
            raise StudyError(f"steps is {self.steps}; expected 1 or more")
        for method in self.methods or ():
            if method not in self.known_methods:
                raise StudyError(f"{self.paper} has no method {method!r}; it has {', '.join(self.known_methods)}")

    def has(self, method: str) -> bool:
        """Whether this method is wanted."""
        return self.methods is None or method in self.methods

    def role(self, dataset: str) -> str:
        """The paper's data set whose settings and place in the study this one takes: the one that it is like, or the first."""
        if dataset in self.known_datasets:
            return dataset
        like = DATASETS[dataset].like if dataset in DATASETS else ""
        return like if like in self.known_datasets else self.known_datasets[0]

    def data(self, *roles: str) -> list[str]:
        """The data sets wanted in these roles, or in any."""
        wanted = self.known_datasets if self.datasets is None else self.datasets
        return [name for name in wanted if not roles or self.role(name) in roles]

    def run(self, method: str, dataset: str, strength: float | None = None) -> Run:
        """One run of the paper's preset, with seed 0."""
        return replace(preset(self.paper, method, self.role(dataset), strength), dataset=dataset)

    def runs(self, dataset: str, weights: Mapping[str, Iterable[float | None]]) -> Iterator[Run]:
        """The runs of each of these methods that is wanted at each of its weights."""
        for method in filter(self.has, weights):
            yield from (self.run(method, dataset, weight) for weight in weights[method])

    def every(self, settings: Iterable[Run]) -> list[Run]:
        """Each setting with every seed, and with the steps and precision requested; each record once."""
        adapted = [self._adapted(setting) for setting in settings]
        once = {record_hash(setting): setting for setting in adapted}
        # A seed cannot make a checked setting wrong, and checks take thirty times as long as a copy.
        return [with_fields(setting, {"seed": seed}) for setting in once.values() for seed in range(self.seeds)]

    def _adapted(self, run: Run) -> Run:
        method = about(run.method)
        if method.takes_bfloat16:
            run = replace(run, precision=self.precision)
        if self.points is not None:
            run = replace(run, scored=replace(run.scored, points=self.points) if self.points else Scored())
        if self.steps is None or self.steps == run.steps:
            return run
        run = replace(run, method=method.at_steps(run.method, self.steps, run.steps))
        return replace(run, steps=self.steps)


def swept(
    paper: str,
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    *,
    seeds: int,
    usual: tuple[str, ...] | None = None,
    usual_methods: tuple[str, ...] | None = None,
) -> Callable[[Callable[[Sweep], Iterable[Run]]], Callable[..., list[Run]]]:
    """Turns a function that yields settings into a study's function, with the keyword arguments that all studies take.

    paper: whose preset it is. datasets, methods: the paper's. usual, usual_methods: the data sets and methods that the
    study uses if none are named. seeds: as many as the paper trained.
    """
    count = seeds

    def study_of(settings: Callable[[Sweep], Iterable[Run]]) -> Callable[..., list[Run]]:
        def runs(
            *,
            seeds: int = count,
            steps: int | None = None,
            datasets: Sequence[str] | None = usual,
            methods: Sequence[str] | None = usual_methods,
            precision: Precision = "float32",
            points: int | None = None,
        ) -> list[Run]:
            sweep = Sweep(paper, known, all_methods, seeds, steps, datasets, methods, precision, points)
            return sweep.every(settings(sweep))

        update_wrapper(runs, settings)
        # The arguments are those of every study, not the settings'.
        del runs.__wrapped__  # type: ignore[attr-defined]
        return runs

    known, all_methods = datasets, methods
    return study_of
