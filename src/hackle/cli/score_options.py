"""The options that `hackle score` and `hackle score-codes` share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from hackle.cli.words import not_negative, writable
from hackle.metrics.metric import METRICS

_FAST, _SLOW = (", ".join(name for name, one in METRICS.items() if one.slow == slow) for slow in (False, True))
_METRICS = (
    f'Names separated by commas; "all" is every metric that takes seconds: {_FAST}. Those that take minutes are {_SLOW}. Your '
    "own is path.py:function or module:function."
)


@dataclass(frozen=True)
class ScoreOptions:
    """What is scored and how, and where the table goes."""

    metrics: Annotated[str, arg(help=_METRICS)] = "all"
    protocol: str = "locatello2019"
    """locatello2019, disentanglement_lib, kim2018, do2020, yang2020, or quick for a rough look: see `hackle parts protocol`."""
    seed: int = 0
    """Seed of the draws."""
    factor_bins: int | None = None
    """Number of equal-width bins for continuous factors where a metric needs classes; 20."""
    bootstrap: int = 0
    """Number of random halves of the points for 95% intervals; 0 gives none."""
    references: bool = True
    """Also show the scores of perfect codes."""
    whole_mixture: bool = False
    """Estimate mutual information by sampling with every image, or sample, in the mixture; slower."""
    groups: str | None = None
    """Codes that count as one representation each, for the metrics of groups, such as 0,1/2/3."""
    json: Path | None = None
    """Where to write the table as JSON; that of a model is kept as scores.json in the run's folder if not given."""
    parquet: Path | None = None
    """Where to also write the table as Parquet."""
    overwrite: bool = False
    """Replace existing files."""
    device: str | None = None
    """cpu or cuda; the best one available if not given. Codes of a file are worked on there if they are sparse or very many."""

    def check(self, *files: Path | None) -> None:
        """Refuse numbers below 0, and files that cannot be written."""
        not_negative(seed=self.seed, bootstrap=self.bootstrap)
        for path in files:
            if path is not None:
                writable(path, self.overwrite)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `hackle.score` and `hackle.score_codes` that these options are."""
        names = ("metrics", "protocol", "seed", "factor_bins", "bootstrap", "references", "whole_mixture", "groups")
        return {name: getattr(self, name) for name in names}

    def write(self, scores: Any, json: Path | None) -> None:
        """Write the table as JSON to this file, and wherever else it was asked for."""
        if json is not None:
            scores.to_json(json, orient="records", indent=2)
        if self.parquet is not None:
            scores.to_parquet(self.parquet, index=False)


ScoringOptions = Annotated[ScoreOptions, arg(name="")]
USUAL = ScoreOptions()
