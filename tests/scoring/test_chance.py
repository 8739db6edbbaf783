"""Codes that have nothing to do with the factors score what chance gives, perfect codes their reference, whatever the size and
kind of the data."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

import hackle
from hackle.scoring.codes import score_codes
from hackle.scoring.protocol import PROTOCOLS

SIZES = (100, 300, 1_000, 10_000)
KINDS = ("categorical", "ordinal", "continuous")
SHUFFLES = 5
VALUES = (3, 4, 5)
LARGE = PROTOCOLS["locatello2019"]
FEWER_GROUPS = replace(
    LARGE.sizes, groups=300, test_groups=150, group_size=16, pair_groups=300, test_pair_groups=150, pairs=16
)
PROTOCOL = replace(LARGE, sizes=FEWER_GROUPS, posterior_bins=50)
TREES = replace(PROTOCOL, dci_predictor="gbt")
OF_FACTORS = "beta_vae,dci,explicitness,factor_vae,irs,mig,modularity,sap,interpretability,jemmig,posterior_mig"
OF_FACTORS += ",dcimig,mig_sup"
# Ratios of informations: by chance, noise may have one piece of information alone and the ratio of perfect codes.
RATIOS = "infomec"


def factors_of(kind: str, rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    if kind == "continuous":
        return dict(zip("abc", rng.random((3, rows)), strict=True))
    return {name: rng.integers(0, count, size=rows) for name, count in zip("abc", VALUES, strict=True)}


def numbered(factors: dict[str, np.ndarray], kind: str) -> Any:
    """A set of one's own whose images are their numbers."""
    rows = len(factors["a"])
    pixels = np.arange(rows, dtype=np.uint32).view(np.uint8).reshape(rows, 2, 2, 1)
    return hackle.from_arrays(pixels, factors, kinds=dict.fromkeys(factors, kind))


def knowing(codes: np.ndarray) -> Any:
    """An encoder that knows a code for each number, and a posterior around it."""

    def encode(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = codes[np.ascontiguousarray(images).reshape(-1, 4).view(np.uint32).ravel()]
        return means, np.full_like(means, -1.0)

    return encode


@cache
def noise_table(kind: str, rows: int) -> Any:
    """The scores of noise and, in a column each, of its codes dealt out at random several times."""
    rng = np.random.default_rng([rows, KINDS.index(kind)])
    data, codes = numbered(factors_of(kind, rows, rng), kind), rng.normal(size=(rows, 5))
    table = hackle.score(knowing(codes), data, f"{OF_FACTORS},{RATIOS}", PROTOCOL, representations="mean")
    for shuffle in range(1, SHUFFLES):
        dealt = knowing(rng.permutation(codes))
        scores = hackle.score(dealt, data, f"{OF_FACTORS},{RATIOS}", PROTOCOL, representations="mean", references=False)
        table[f"chance {shuffle}"] = scores["score"]
    return table.set_index("metric")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", SIZES)
def test_noise_scores_what_its_codes_score_by_chance(kind: str, rows: int) -> None:
    """Score and shuffles are alike, so their distance in units of the shuffles' scatter has Student's t, beyond which 1 in
    1,000 is."""
    table = noise_table(kind, rows)
    shuffles = table[[column for column in table if str(column).startswith("chance")]].to_numpy(float)
    assert shuffles.shape[1] == SHUFFLES
    assert np.isfinite(shuffles).all()
    far = np.abs(table["score"].to_numpy(float) - shuffles.mean(axis=1))
    allowed = stdtrit(SHUFFLES - 1, 0.9995) * shuffles.std(axis=1, ddof=1) * np.sqrt(1 + 1 / SHUFFLES)
    assert (far <= allowed + 1e-9).all(), dict(zip(table.index, (far / allowed).round(2), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", SIZES)
def test_noise_predicts_nothing(kind: str, rows: int) -> None:
    """What a memory of training images would raise: accuracies of guessing, areas of a half, R², gaps and informations of 0,
    each with five standard deviations of its test rows (or of the values that groups hold) to spare."""
    scores = noise_table(kind, rows)["score"]
    of_rows = 5 * 0.5 / np.sqrt(rows)  # Three factors of a third of the rows.
    guess = 0.0 if kind == "continuous" else np.mean([1 / count for count in VALUES])
    assert scores["dci_informativeness"] < guess + of_rows
    assert abs(scores["explicitness"] - 0.5) < 2 * of_rows
    assert scores["sap"] < 2 * of_rows
    held = 3 * 20 if kind == "continuous" else sum(VALUES)
    for name in ("factor_vae", "beta_vae"):
        assert scores[name] < 1 / 3 + 5 * np.sqrt(2 / 9 / held)
    # The bias of counting, 19 bins by the values less one, over twice the training rows; in nats over the entropy.
    values = np.array([20] * 3 if kind == "continuous" else VALUES)
    bias = np.mean(19 * (values - 1) / (2 * rows * 2 / 3) / np.log(values))
    for name in ("mig", "rmig", "posterior_mig"):
        assert scores[name] < bias + 0.02


@pytest.mark.parametrize("rows", [100, 300])
def test_trees_remember_no_image_that_tests_them(rows: int) -> None:
    rng = np.random.default_rng(rows)
    data, encoder = numbered(factors_of("categorical", rows, rng), "categorical"), knowing(rng.normal(size=(rows, 5)))
    names = "dci,downstream_gbt,downstream_logistic_cv"
    table = hackle.score(encoder, data, names, TREES, representations="mean", references=False)
    scores = dict(zip(table["metric"], table["score"], strict=True))
    guess, of_rows = np.mean([1 / count for count in VALUES]), 5 * 0.5 / np.sqrt(rows)
    for name in ("dci_informativeness", "downstream_gbt_10", "downstream_logistic_cv_10"):
        assert scores[name] < guess + of_rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", SIZES)
def test_perfect_codes_reach_their_reference(kind: str, rows: int) -> None:
    rng = np.random.default_rng([rows, KINDS.index(kind)])
    factors = factors_of(kind, rows, rng)
    # As `perfect_codebook` makes them: standardised over all images.
    codes = np.column_stack([(column - column.mean()) / column.std() for column in factors.values()])
    logvars = np.full_like(codes, 2 * np.log(0.01))
    given: dict[str, Any] = {"logvars": logvars, "representations": "mean", "kinds": dict.fromkeys("abc", kind)}
    table = score_codes(codes, factors, OF_FACTORS, PROTOCOL, **given)
    np.testing.assert_allclose(table["score"], table["reference"], atol=2e-3)
    assert all(row["score"] > row["chance"] for row in table.to_dict("records") if row["better"] == "higher")
