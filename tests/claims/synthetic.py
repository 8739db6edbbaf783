"""Tables of results made up for tests: a design of runs, and a function that says what each run scores.

tables(sweep(method="beta-vae", strength=(1, 4), seed=range(5)), lambda run, noise: {"mig": 0.1 + 0.01 * noise()})
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hackle.claims import Claim, Judgement, View, judge
from hackle.core import design
from hackle.store.tables import FACTOR_COLUMNS, RUN_COLUMNS, SCORE_COLUMNS, Tables

DEFAULTS: dict[str, Any] = {
    "study": "",
    "dataset": "dsprites",
    "method": "vae",
    "strength": float("nan"),
    "architecture": "convolutional",
    **design.DEFAULTS,
}
POSTERIOR = {
    *("informativeness_mean", "total_information", "sepin@3", "wsepin", "indin@3", "windin", "rmig"),
    *("posterior_modularity", "jemmig", "posterior_mig", "misjed", "monte_carlo_tc", "true_tc", "batch_tc", "kl"),
    "active_units",
    *("reconstruction", "elbo", "iwae", "whole_iwae", "sampled_informativeness_mean", "sampled_rmig", "sampled_jemmig"),
    *("misjed_top", "sampled_mig", "whole_total_information", "whole_sepin@3", "whole_wsepin", "whole_indin@3"),
    *("whole_windin", "whole_overlap", "whole_misjed_top"),
    *(f"misjed_{pair}" for pair in ("z1_z2", "z1_z3", "z1_z-1", "z1_z-2", "z-1_z-2", "z-1_z-3")),
}

Run = dict[str, Any]
Scores = Callable[[Run, Callable[[], float]], Mapping[str, float]]


def sweep(**fields: Any) -> list[Run]:
    """Every combination of the fields' values; a list, tuple or range is several values."""
    several = {key: value if isinstance(value, list | tuple | range) else [value] for key, value in fields.items()}
    return [dict(zip(several, values, strict=True)) for values in product(*several.values())]


def tables(
    runs: Iterable[Run],
    scores: Scores,
    *,
    curves: Callable[[Run, Callable[[], float]], Mapping[str, Any]] | None = None,
    arrays: Callable[[Run, Callable[[], float]], Mapping[str, Any]] | None = None,
    of_factors: Callable[[Run, Mapping[str, float]], Mapping[str, Mapping[str, float]]] | None = None,
    protocol: str = "locatello2019",
    seed: int = 0,
) -> Tables:
    """The tables of these runs. `scores(run, noise)` maps `metric`, `metric/representation` or `metric/representation/protocol`
    to values, `curves` terms to values over the steps, `arrays` names to arrays; `noise()` is a standard normal draw. A run's
    `fields` are parts of its record alone. `of_factors(run, scores)` maps metrics to the value of each factor."""
    rng = np.random.default_rng(seed)
    noise = lambda: float(rng.normal())  # noqa: E731
    run_rows: list[Run] = []
    score_rows: list[tuple[int, str, str, float, str]] = []
    curve_rows: dict[str, list[pd.DataFrame]] = {}
    kept: dict[str, dict[str, Any]] = {}
    factor_rows: list[tuple[Any, ...]] = []
    for place, given in enumerate(runs):
        run = {**DEFAULTS, "fields": {}, **given}
        words = {key: str(value) for key, value in run.items() if key not in ("seed", "fields")}
        record = json.dumps(words | {"seed": int(run["seed"])} | run["fields"])
        name = hashlib.sha256(record.encode()).hexdigest()[:16]
        run_rows.append(
            {**run, "run": name, "status": "done", "reason": "", "record": record, "sources": "", "version": "0"}
        )
        found = scores(run, noise)
        for metric, values in (of_factors(run, found) if of_factors else {}).items():
            factor_rows += [(name, metric, "posterior", protocol, 0, factor, value) for factor, value in values.items()]
        for key, value in found.items():
            metric, _, rest = key.partition("/")
            representation, _, under = rest.partition("/")
            representation = representation or ("posterior" if metric in POSTERIOR else "mean")
            score_rows.append((place, metric, representation, float(value), under or protocol))
        for term, values in (curves(run, noise) if curves else {}).items():
            values = np.asarray(values, float)
            step = np.linspace(run["steps"] / len(values), run["steps"], len(values))
            curve_rows.setdefault(term, []).append(pd.DataFrame({"run": name, "step": step, "value": values}))
        for key, value in (arrays(run, noise) if arrays else {}).items():
            kept.setdefault(key, {})[name] = np.asarray(value)
    empty = pd.DataFrame({"run": pd.Series(dtype=str), "step": pd.Series(dtype=float), "value": pd.Series(dtype=float)})
    all_runs = pd.DataFrame(run_rows, columns=list(RUN_COLUMNS))
    places, *rest = zip(*score_rows, strict=True) if score_rows else ([], [], [], [], [])
    table = all_runs.loc[list(places), [name for name in SCORE_COLUMNS if name in RUN_COLUMNS]].reset_index(drop=True)
    table = table.assign(**dict(zip(("metric", "representation", "score", "protocol"), map(list, rest), strict=True)))
    by_factor = pd.DataFrame(factor_rows, columns=list(FACTOR_COLUMNS))
    joined = {term: pd.concat(parts, ignore_index=True) for term, parts in curve_rows.items()}
    return Tables(
        scores=table.assign(scoring_seed=0, note="").reindex(columns=list(SCORE_COLUMNS)),
        runs=all_runs,
        curve=lambda term: joined.get(term, empty),
        array=lambda name: kept.get(name, {}),
        per_factor=lambda metric="": by_factor.query("metric == @metric") if metric else by_factor,
    )


def trials(claim: Claim, runs: Iterable[Run], scores: Scores, count: int, **options: Any) -> list[Judgement]:
    """The verdicts on a claim, each by itself, in as many worlds as `count` that differ in their noise alone. They are one
    table, which takes a fraction of the time that many take; each world has data sets of its own in it."""

    def asked(number: int) -> Claim:
        strata = (
            replace(
                stratum,
                conditions=tuple({**had, "dataset": f"{had['dataset']}-{number}"} for had in stratum.conditions),
            )
            for stratum in claim.strata
        )
        return replace(claim, strata=tuple(strata))

    given = [DEFAULTS | run for run in runs]
    worlds = ({**run, "dataset": f"{run['dataset']}-{number}"} for number in range(count) for run in given)
    view = View(tables(worlds, scores, **options))
    return [judge(view, [asked(number)])[0] for number in range(count)]
