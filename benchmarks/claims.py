"""Time to judge every claim on a table as large as Locatello et al.'s study: 12,600 runs with 60 scores each. How often
verdicts on rank correlations err, and how far these are from the truth.

    python benchmarks/claims.py
    python benchmarks/claims.py --errors benchmarks/results/claims-errors.json --simulations 400
    python benchmarks/claims.py --tails benchmarks/results/claims-tails.json --simulations 20000
    python benchmarks/claims.py --choices benchmarks/results/claims-choices.json --simulations 1000

Errors are counted on tables in which the truth is the claim's bound: over models, pairs of scores with a rank correlation of
0.5; along strengths, scores whose rank correlation with them over many seeds is 0.5. A verdict
"holds" or "does not hold" is then an error, which the test allows in 2.5% of tables each. Tails are the same at the levels that
the correction for many claims asks of one of them, where more tables are needed: there the statistics alone are computed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from hackle.claims import CLAIMS, Claim, Region, Stratum, View, judge
from hackle.claims.agreement import agreement, over_models
from hackle.claims.measures import Measure, best_difference, change_at_the_best, trend
from hackle.claims.statistics import LEVEL, correlations, mean_of
from hackle.core.design import DEFAULTS
from hackle.information.ranks import spearman
from hackle.papers.locatello2019.claims import DATASETS, DOWNSTREAM, METRICS
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.shipped import RESULTS
from hackle.store import read
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Tables

SCORES = [
    *((name, representation) for name in METRICS for representation in ("mean", "sampled")),
    *((name, representation) for name in ("gaussian_tc", "explicitness") for representation in ("mean", "sampled")),
    *((name, "mean") for name in (*DOWNSTREAM, "efficiency_logistic_cv", "efficiency_gbt")),
    *((name, "posterior") for name in ("kl", "elbo", "reconstruction", "monte_carlo_tc", "rmig", "jemmig", "wsepin")),
]


def study(scores: int = 60) -> Tables:
    """The whole study with random scores."""
    rng = np.random.default_rng(0)
    settings = [(method, float(strength)) for method, values in STRENGTHS.items() for strength in values]
    designs = list(product(DATASETS, settings, range(50)))
    runs = pd.DataFrame(
        {
            "run": [f"{index:016x}" for index in range(len(designs))],
            "dataset": [design[0] for design in designs],
            "method": [design[1][0] for design in designs],
            "strength": [design[1][1] for design in designs],
            "seed": [design[2] for design in designs],
            "record": [f'{{"design": "{design[:2]}", "seed": {design[2]}}}' for design in designs],
        }
    )
    runs = usual(runs, study="locatello2019", steps=300_000)
    names = [*SCORES, *((f"other_{index}", "mean") for index in range(scores - len(SCORES)))]
    parts = runs.loc[runs.index.repeat(len(names))].reset_index(drop=True)
    parts = parts.assign(
        metric=np.tile([name for name, _ in names], len(runs)),
        representation=np.tile([representation for _, representation in names], len(runs)),
        score=rng.uniform(0.1, 1, len(parts)),
        protocol="locatello2019",
        scoring_seed=0,
    )
    return Tables(parts.reindex(columns=list(SCORE_COLUMNS)), runs.reindex(columns=list(RUN_COLUMNS)))


TRUTH = 0.5
SETTINGS, SEEDS = (3, 4, 6, 9, 36), (5, 10)
LATENT = 2 * np.sin(np.pi * TRUTH / 6)
"""The correlation of normal variables whose rank correlation is the truth."""


def pairs(rng: np.random.Generator, seeds: int, settings: int) -> tuple[np.ndarray, np.ndarray]:
    """Two scores (seeds, settings) with the true rank correlation over models."""
    noise = rng.multivariate_normal([0, 0], [[1.0, LATENT], [LATENT, 1.0]], size=(seeds, settings))
    return noise[..., 0], noise[..., 1]


def slope(settings: int) -> float:
    """The rise per strength with which the rank correlation of strength and score, of unit spread, is the truth."""
    noise, places = np.random.default_rng(0).normal(size=(10_000, settings)), np.arange(settings)
    low, high = 0.0, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        found = spearman((middle * places + noise).ravel(), np.tile(places, len(noise)))
        low, high = (middle, high) if found < TRUTH else (low, middle)
    return low


def usual(runs: pd.DataFrame, **more: object) -> pd.DataFrame:
    """Runs that finished, with every column of the table that they lack at its default."""
    missing = {name: value for name, value in DEFAULTS.items() if name not in runs}
    return runs.assign(**{**missing, "status": "done", "architecture": "convolutional", **more})


def sweep_of(scores: dict[str, np.ndarray]) -> Tables:
    """A table of β-VAEs with these scores (seeds, settings)."""
    designs = list(product(*map(range, next(iter(scores.values())).shape)))
    columns = {
        "run": [f"{seed}-{place}" for seed, place in designs],
        "seed": [seed for seed, _ in designs],
        "strength": [float(place + 1) for _, place in designs],
        "record": [json.dumps({"strength": place, "seed": seed}) for seed, place in designs],
    }
    runs = usual(pd.DataFrame(columns), study="", dataset="dsprites", method="beta-vae")
    rows = [
        runs.assign(metric=name, representation="mean", score=values.ravel(), protocol="made", scoring_seed=0)
        for name, values in scores.items()
    ]
    return Tables(pd.concat(rows).reindex(columns=list(SCORE_COLUMNS)), runs.reindex(columns=list(RUN_COLUMNS)))


def errors(simulations: int) -> Iterator[dict[str, float | str]]:
    """For each design the mean estimate, and the shares of tables that decide where the truth is the bound."""
    rng = np.random.default_rng(0)
    kinds: dict[str, Measure] = {"models": agreement(("mig", "sap")), "strengths": trend("mig")}
    for (kind, measure), settings, seeds in product(kinds.items(), SETTINGS, SEEDS):
        if kind == "strengths" and settings > 9:
            continue
        strata = (Stratum("all", ({"method": "beta-vae", "dataset": "dsprites"},)),)
        claim = Claim("x", "test", "", "", "", Region(low=TRUTH), measure, strata)
        rise = slope(settings) if kind == "strengths" else 0.0
        found = []
        for _ in range(simulations):
            if kind == "strengths":
                made = {"mig": rise * np.arange(settings) + rng.normal(size=(seeds, settings))}
            else:
                first, second = pairs(rng, seeds, settings)
                made = {"mig": first, "sap": second}
            found.append(judge(sweep_of(made), [claim])[0])
        verdicts = [one.verdict for one in found]
        yield {
            "over": kind,
            "settings": settings,
            "seeds": seeds,
            "mean estimate": float(np.mean([one.evidence.effect for one in found])),
            "holds": verdicts.count("holds") / simulations,
            "does not hold": verdicts.count("does not hold") / simulations,
        }


def tails(simulations: int) -> Iterator[dict[str, float | str]]:
    """For each design the shares of tables whose p-value is below levels of one test, each as a part of that level."""
    rng = np.random.default_rng(0)
    # The correction is over so many claims on the results that come with hackle.
    tested = judge(read(RESULTS / "hackle-2026"))[0].tested
    for kind, settings, seeds in product(("models", "strengths"), SETTINGS, SEEDS):
        if kind == "strengths" and settings > 9:
            continue
        shape = simulations, seeds, settings
        first, second = pairs(rng, simulations * seeds, settings)
        if kind == "strengths":
            second = np.broadcast_to(np.arange(settings, dtype=float), shape)
            first = slope(settings) * second + first.reshape(shape)
        values = rank_pseudo_values(first.reshape(shape), second.reshape(shape))
        for row in range(3):
            again = over_models([np.stack([first.reshape(shape)[row], second.reshape(shape)[row]])], np.array([[0, 1]]))
            assert again is not None
            assert np.allclose(values[row], again)
        found = [mean_of([correlations(row, 1.0, settings)]) for row in values]
        chances = np.array([[one.chance_above(TRUTH), one.chance_below(TRUTH)] for one in found])
        yield {
            "over": kind,
            "settings": settings,
            "seeds": seeds,
            **{
                f"{word} at {level:.2g}": float((chances[:, side] <= level).mean() / level)
                for level in (LEVEL / 2, 0.001, LEVEL / tested)
                for side, word in enumerate(("holds", "does not hold"))
            },
        }


def choices(simulations: int) -> Iterator[dict[str, float | str]]:
    """The same shares where the best of some settings is compared with one that is as good as it, and where a score that no
    setting changes is read at the best by another. Settings differ by `spread`, in deviations over seeds."""
    rng = np.random.default_rng(0)
    measures = {"best": best_difference("mig"), "at the best by another": change_at_the_best("kl", "mig")}
    for settings, seeds, spread in product((6, 36), SEEDS, (0.0, 0.5, 2.0)):
        quality = spread * rng.normal(size=(simulations, 1, settings))
        quality -= quality.max(axis=2, keepdims=True)
        scores = np.concatenate([np.zeros((simulations, 1, 1)), quality], axis=2) + rng.normal(
            size=(simulations, seeds, settings + 1)
        )
        data = View(sets_of(scores, 10 + rng.normal(size=scores.shape))).of("")
        for kind, measure in measures.items():
            chances = []
            for number in range(simulations):
                sides = ({"method": method, "dataset": f"set{number}"} for method in ("vae", "beta-vae"))
                found = measure.compute(data, tuple(sides))
                assert found is not None
                estimate = mean_of([found])
                chances.append((estimate.chance_above(0.0), estimate.chance_below(0.0)))
            low, high = (np.array(chances) <= LEVEL / 2).mean(axis=0)
            yield {
                "compared": kind,
                "settings": settings,
                "seeds": seeds,
                "spread": spread,
                "higher": float(low),
                "lower": float(high),
            }


def sets_of(scores: np.ndarray, others: np.ndarray) -> Tables:
    """A table of data sets with a VAE and β-VAEs each, of scores (data sets, seeds, settings), the VAE's first."""
    number, seed, place = (values.ravel() for values in np.indices(scores.shape))
    columns = {
        "run": np.arange(scores.size).astype(str),
        "dataset": pd.Categorical([f"set{one}" for one in number]),
        "method": np.where(place == 0, "vae", "beta-vae"),
        "strength": np.where(place == 0, np.nan, place),
        "seed": seed,
        "record": [f'{{"place": {one}, "seed": {two}}}' for one, two in zip(place, seed, strict=True)],
    }
    runs = usual(pd.DataFrame(columns), study="")
    rows = [
        runs.assign(metric=name, representation="mean", score=values.ravel(), protocol="made", scoring_seed=0)
        for name, values in (("mig", scores), ("kl", others))
    ]
    return Tables(pd.concat(rows).reindex(columns=list(SCORE_COLUMNS)), runs.reindex(columns=list(RUN_COLUMNS)))


def rank_pseudo_values(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`over_models` of many tables at once: scores (tables, seeds, settings) to pseudo-values (tables, seeds)."""

    def statistic(kept: np.ndarray) -> np.ndarray:
        ranks = [rankdata(scores[:, kept].reshape(len(scores), -1), axis=1) for scores in (first, second)]
        left, right = (one - one.mean(axis=1, keepdims=True) for one in ranks)
        return (left * right).sum(axis=1) / np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))

    seeds = np.arange(first.shape[1])
    without = np.stack([statistic(np.delete(seeds, seed)) for seed in seeds], axis=1)
    return len(seeds) * statistic(seeds)[:, None] - (len(seeds) - 1) * without


def judging() -> None:
    tables = study()
    start = time.process_time()
    found = judge(tables)
    seconds = time.process_time() - start
    tested = sum(judgement.evidence.estimate is not None for judgement in found)
    print(f"{len(tables.runs):,} runs, {len(tables.scores):,} scores")
    print(f"{tested} of {len(CLAIMS)} claims tested in {seconds:.1f} s of one core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", type=Path, default=None, help="count errors, and write them to this file")
    parser.add_argument(
        "--tails", type=Path, default=None, help="count errors of corrected tests, and write them to this file"
    )
    parser.add_argument(
        "--choices",
        type=Path,
        default=None,
        help="count errors where the best setting is taken, and write them to this file",
    )
    parser.add_argument("--simulations", type=int, default=400, help="tables of each design")
    options = parser.parse_args()
    asked = ((options.errors, errors), (options.tails, tails), (options.choices, choices))
    if all(path is None for path, _ in asked):
        judging()
    for path, counted in asked:
        if path is not None:
            write(path, options.simulations, counted(options.simulations))


def write(path: Path, simulations: int, designs: Iterator[dict[str, float | str]]) -> None:
    """Each design as a line on the screen, all of them to the file."""
    found = []
    for row in designs:
        found.append(row)
        print(
            " ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{value}" for key, value in row.items()),
            flush=True,
        )
    path.write_text(json.dumps({"truth": TRUTH, "simulations": simulations, "designs": found}) + "\n")


if __name__ == "__main__":
    main()
