"""Seconds for every score of Locatello et al. 2019 at their size, and boosted trees beside scikit-learn's.

10,000 training and 5,000 test points, 10,000 and 5,000 groups of 64, 10 latents, the five factors of dSprites. The codes
imitate a β-VAE's: clean position, scale and shape that share latents, an orientation that turns on a circle, four
collapsed latents that follow the factors faintly. Wall time depends on what else the machine does; processor time,
summed over threads, much less. Boosted trees are fitted for as many factors at once as PyTorch has threads; all else has one.

Scikit-learn's trees need minutes, so the comparison takes one factor with 6 and one with 32 values, at full size; with
`--all` it takes every factor.

Run: OMP_NUM_THREADS=1 python benchmarks/metrics_locatello.py [--all] [--codes FILE]

`--codes` takes codes and factors of a trained model from an .npz, as benchmarks/scoring.py writes it, for the trees.

`--model` scores one model instead, with codes and posteriors that imitate a β-VAE's for every image of the plan, as a worker of
a study does: means, samples and posteriors, all but the metrics that decode. Processor seconds of each metric, and of all but
`separability`, whose sums an accelerator computes where there is one. The second of two models counts: the first one's
seconds include what is made once for a process. `--mix` turns the codes, so that all of them are correlated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import GradientBoostingClassifier

from hackle.core.factors import Factor, FactorGrid
from hackle.information import gaussian_total_correlation
from hackle.metrics import (
    beta_vae_score,
    code_scale,
    dci_from_importance,
    dci_scores,
    explicitness_score,
    factor_vae_score,
    mig_score,
    modularity_score,
    sap_score,
)
from hackle.metrics.predictors.trees import fit_boosted_trees
from hackle.scoring.encode import Codebook
from hackle.scoring.protocol import PROTOCOLS
from hackle.scoring.registry import choose_metrics
from hackle.scoring.scorer import prepare_scorer

NAMES = ("shape", "scale", "orientation", "x", "y")
SIZES = (3, 6, 40, 32, 32)
TRAIN, TEST, GROUP = 10_000, 5_000, 64
NOISE = 0.05


def encode(factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ten codes for each factor row."""
    u = (factors + 0.5) / np.array(SIZES) * 2 - 1
    shape, scale, turn, x, y = u.T
    # A square looks the same after a quarter turn and an ellipse after half a turn: they go round faster than a heart.
    angle = np.pi * turn * np.array([2, 1, 1])[factors[:, 0]]
    active = np.stack(
        [
            1.2 * x + 0.15 * np.sin(2 * y) * scale,
            1.2 * y + 0.15 * np.sin(2 * x) * shape,
            1.5 * scale + 0.09 * np.cos(angle) + 0.5 * shape,
            np.sin(angle) + 0.15 * scale,
            np.cos(angle) + 0.15 * x * y,
            0.8 * shape * np.cos(2 * angle) + 0.5 * np.tanh(2 * shape),
        ],
        axis=1,
    )
    collapsed = 0.02 * np.sin(u @ np.random.default_rng(1).normal(size=(5, 4)))
    codes = np.hstack([active, collapsed])
    return codes + NOISE * np.repeat([1.0, 0.5], [6, 4]) * rng.normal(size=codes.shape)


def points(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes and factors of independent rows."""
    factors = rng.integers(0, SIZES, size=(n, len(SIZES)))
    return encode(factors, rng), factors


def groups(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes of groups that share a factor's value, and which factor it is."""
    held = rng.integers(len(SIZES), size=n)
    factors = rng.integers(0, SIZES, size=(n, GROUP, len(SIZES)))
    factors[np.arange(n), :, held] = factors[np.arange(n), 0, held][:, None]
    return encode(factors.reshape(-1, len(SIZES)), rng).reshape(n, GROUP, -1), held


def differences(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Mean absolute differences of 64 pairs that share a factor's value, and which factor it is."""
    held = rng.integers(len(SIZES), size=n)
    pair = rng.integers(0, SIZES, size=(2, n, GROUP, len(SIZES)))
    pair[1][np.arange(n), :, held] = pair[0][np.arange(n), :, held]
    first, second = (encode(rows.reshape(-1, len(SIZES)), rng).reshape(n, GROUP, -1) for rows in pair)
    return np.abs(first - second).mean(axis=1), held


def timed(work: Callable[..., Any], *arguments: object) -> tuple[Any, float, float]:
    """What the work returns, its wall seconds and its processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work(*arguments)
    return result, time.perf_counter() - wall, time.process_time() - processor


def every_score() -> dict[str, list[float]]:
    """Wall and processor seconds of every score of the protocol."""
    rng = np.random.default_rng(0)
    (codes, factors), test = points(TRAIN, rng), points(TEST, rng)
    votes, test_votes = groups(TRAIN, rng), groups(TEST, rng)
    pairs, test_pairs = differences(TRAIN, rng), differences(TEST, rng)
    work: dict[str, Callable[[], object]] = {
        "BetaVAE": lambda: beta_vae_score(*pairs, test=test_pairs),
        "FactorVAE": lambda: factor_vae_score(*votes, code_scale(codes), test=test_votes),
        "MIG": lambda: mig_score(codes, factors),
        "SAP": lambda: sap_score(codes, factors, test=test),
        "DCI, L1 machines": lambda: dci_scores(codes, factors, test=test),
        "DCI, boosted trees": lambda: dci_scores(codes, factors, test=test, predictor="gbt"),
        "modularity": lambda: modularity_score(codes, factors),
        "explicitness": lambda: explicitness_score(codes, factors, test=test),
        "Gaussian total correlation": lambda: gaussian_total_correlation(codes),
    }
    table, seconds = Table("score", "value", "wall s", "processor s"), {}
    for name, compute in work.items():
        result, *seconds[name] = timed(compute)
        values = result if isinstance(result, tuple) else (result,)
        table.add_row(name, " ".join(f"{value:.3f}" for value in values), *(f"{s:.2f}" for s in seconds[name]))
    seconds["all"] = [sum(column) for column in zip(*seconds.values(), strict=True)]
    table.add_row("all", "", *(f"{s:.2f}" for s in seconds["all"]))
    Console().print(table)
    return seconds


def boosted_trees(columns: list[int], file: str | None) -> dict[str, object]:
    """Boosted trees for some factors, scikit-learn's and these, fitted and tested one after the other."""
    rng = np.random.default_rng(0)
    (codes, factors), (test_codes, test_factors) = points(TRAIN, rng), points(TEST, rng)
    if file is not None:
        with np.load(file, allow_pickle=False) as found:
            codes, test_codes = np.split(found["codes"].astype(np.float64), [TRAIN])
            factors, test_factors = np.split(found["factors"], [TRAIN])

    def ours(classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        trees = fit_boosted_trees(codes, classes)
        return trees.importance, trees.predict(test_codes)

    def theirs(classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model = GradientBoostingClassifier(random_state=0).fit(codes, classes)
        return np.asarray(model.feature_importances_), np.asarray(model.predict(test_codes))

    table = Table("boosted trees", "values", "accuracy", "processor s", "importance differs by", "times as fast")
    importances: dict[str, list[np.ndarray]] = {"hackle": [], "scikit-learn": []}
    ratios, total = {}, np.zeros(2)
    ours(factors[:, 0] % 2)  # so that the first factor does not pay for the import
    for column in columns:
        found = {}
        for name, fit in {"hackle": ours, "scikit-learn": theirs}.items():
            (importance, predicted), _, processor = timed(fit, factors[:, column])
            importances[name].append(importance)
            found[name] = (processor, float(np.mean(predicted == test_factors[:, column])))
        (fast, accuracy), (slow, their_accuracy) = found["hackle"], found["scikit-learn"]
        ratios[NAMES[column]] = slow / fast
        total += fast, slow
        table.add_row(
            NAMES[column],
            str(SIZES[column]),
            f"{accuracy:.3f} / {their_accuracy:.3f}",
            f"{fast:.2f} / {slow:.2f}",
            f"{np.abs(importances['hackle'][-1] - importances['scikit-learn'][-1]).max():.3f}",
            f"{slow / fast:.0f}",
        )
    ratios["all"] = total[1] / total[0]
    table.add_row("all", "", "", f"{total[0]:.2f} / {total[1]:.2f}", "", f"{ratios['all']:.0f}")
    Console().print(table)
    record: dict[str, object] = {"times as fast": ratios}
    for name, matrix in importances.items():
        record[name] = dci_from_importance(np.stack(matrix, axis=1))
    print(
        f"disentanglement and completeness over these factors: {record['hackle']}, scikit-learn {record['scikit-learn']}"
    )
    return record


def one_model(mix: bool) -> dict[str, float]:
    """Processor seconds of each metric for one model, and of what is done once for a process or for a model beside them."""
    shape, *others = (Factor(name, size) for name, size in zip(NAMES, SIZES, strict=True))
    grid, protocol = FactorGrid([replace(shape, kind="categorical"), *others]), PROTOCOLS["locatello2019"]
    chosen = choose_metrics(("all",), protocol).values()
    scorer, _, plan = timed(prepare_scorer, grid, chosen, protocol)
    codes = encode(grid.rows(scorer.images), np.random.default_rng(0))
    if mix:
        codes = codes @ np.linalg.qr(np.random.default_rng(6).normal(size=(10, 10)))[0]
    logvars = np.where(codes.std(axis=0) > 0.2, -4.0, -0.05) + 0.2 * np.sin(codes)
    arrays = codes.astype(np.float32), logvars.astype(np.float32)
    seconds: dict[str, float] = {}

    def watch(metric: Any = None) -> None:
        """Called before each metric and after the last."""
        nonlocal now, before
        later = time.process_time()
        seconds[now] = seconds.get(now, 0.0) + later - before
        now, before = "" if metric is None else metric.name, later

    for _ in range(2):
        seconds.clear()
        now, before = "samples, table", time.process_time()
        evaluation = scorer.of_codes(Codebook(scorer.images, *arrays))
        rows = scorer.rows(evaluation, watch)
        watch()
        seconds["arrays that are kept"] = timed(evaluation.code_informations)[2]
    seconds["all but separability"] = sum(seconds.values()) - seconds["separability"]
    seconds["the plan, once for a process"] = plan
    table = Table("metric", "processor s")
    for name, each in seconds.items():
        table.add_row(name, f"{each:.3f}")
    Console().print(table)
    print(f"{len(rows)} scores")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--codes", default=None)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--mix", action="store_true")
    options = parser.parse_args()
    if options.model:
        print(json.dumps({"benchmark": "metrics_locatello", "seconds of one model": one_model(options.mix)}))
        return
    seconds = every_score()
    columns = list(range(len(SIZES))) if options.all else [1, 3]
    trees = boosted_trees(columns, options.codes)
    print(json.dumps({"benchmark": "metrics_locatello", "seconds": seconds, "boosted_trees": trees}))


if __name__ == "__main__":
    main()
