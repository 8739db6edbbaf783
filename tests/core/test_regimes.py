"""The laws of factors, labels and left-out combinations against their definitions, exactly, on the grid."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

from hackle.core.factors import Factor, FactorGrid
from hackle.core.left_out import RULES
from hackle.core.records import record_hash, to_json
from hackle.core.regimes import Drawing, Labels, Pairs, RegimeError, labelled_images, row_weights, training_rows
from hackle.core.types import Run
from hackle.datasets.dsprites import FACTORS as SPRITES
from hackle.nets import Convolutional
from hackle.objectives import BetaVAE

ROOMS = FactorGrid(
    [
        *(Factor(f"{part}_hue", 10, "cyclic") for part in ("floor", "wall", "object")),
        Factor("scale", 8, values=tuple(np.linspace(0.75, 1.25, 8).tolist())),
        Factor("shape", 4, "categorical"),
        Factor("orientation", 15, values=tuple(np.linspace(-30, 30, 15).tolist())),
    ]
)
"""The factors of 3D Shapes."""
SMALL = FactorGrid([Factor("a", 4), Factor("b", 5), Factor("c", 3, "categorical", words=("red", "green", "blue"))])

NAMED = FactorGrid(
    [Factor("shape", 2, "categorical"), *(Factor(*one) for one in zip(SPRITES.names[1:], (3, 4, 5, 5), strict=True))]
)
"""A set of one's own with the names of dSprites' factors and fewer values, for which its conditions mean nothing."""


def joint(grid: FactorGrid, drawing: Drawing, first: int, second: int) -> np.ndarray:
    """The probabilities of two factors' values."""
    others = tuple(column for column in range(len(grid.sizes)) if column not in (first, second))
    return row_weights(grid, drawing).reshape(grid.sizes).sum(axis=others)


def pearson(table: np.ndarray) -> float:
    a, b = (np.arange(size, dtype=float) for size in table.shape)
    left, right = table.sum(1), table.sum(0)
    a, b = a - left @ a, b - right @ b
    return float((a @ table @ b) / np.sqrt((left @ a**2) * (right @ b**2)))


def information(table: np.ndarray) -> float:
    there = table > 0
    independent = table.sum(1, keepdims=True) * table.sum(0)
    return float((table[there] * np.log(table[there] / independent[there])).sum())


SIGMAS = (0.04, 0.1, 0.2, 0.4, 0.7)
TABLE = {
    (10, 10): [(0.9978, 2.124), (0.9507, 1.084), (0.8100, 0.5036), (0.4575, 0.1150), (0.1891, 0.0181)],
    (8, 15): [(0.9932, 1.880), (0.9498, 1.078), (0.8081, 0.4999), (0.4549, 0.1136), (0.1877, 0.0179)],
    (32, 32): [(0.9908, 1.870), (0.9419, 1.016), (0.7824, 0.4498), (0.4158, 0.0933), (0.1667, 0.0140)],
    (3, 6): [(0.9991, 0.839), (0.9777, 1.074), (0.8799, 0.6683), (0.5672, 0.1865), (0.2536, 0.0330)],
}
"""Pearson correlation and mutual information of two correlated factors at each σ."""


@pytest.mark.parametrize("sizes", TABLE)
def test_correlated_factors_have_the_correlation_and_information_of_their_law(sizes: tuple[int, int]) -> None:
    grid = FactorGrid([Factor("x", sizes[0]), Factor("z", 2), Factor("y", sizes[1])])
    for sigma, (correlation, nats) in zip(SIGMAS, TABLE[sizes], strict=True):
        table = joint(grid, Drawing("x~y", sigma), 0, 2)
        assert pearson(table) == pytest.approx(correlation, abs=6e-5)
        assert information(table) == pytest.approx(nats, rel=1e-3, abs=6e-5)
        assert pearson(joint(grid, Drawing("x~-y", sigma), 0, 2)) == pytest.approx(-correlation, abs=6e-5)
        np.testing.assert_allclose(joint(grid, Drawing("x~y", sigma), 0, 1), table.sum(1)[:, None] / 2 * [1, 1])


def test_marginals_of_correlated_factors_are_low_at_the_ends() -> None:
    marginal = joint(FactorGrid([Factor("x", 10), Factor("y", 10)]), Drawing("x~y", 0.2), 0, 1).sum(1) * 10
    np.testing.assert_allclose(marginal[[0, 9]], 0.71, atol=0.005)
    np.testing.assert_allclose(marginal[[4, 5]], 1.155, atol=0.005)


def test_several_pairs_multiply_and_a_confounder_is_paired_with_all() -> None:
    plain = row_weights(SMALL, Drawing("a~b", 0.3)) * row_weights(SMALL, Drawing("c~b", 0.3))
    np.testing.assert_allclose(row_weights(SMALL, Drawing("a~b,c~b", 0.3)), plain / plain.sum(), rtol=1e-12)
    np.testing.assert_allclose(row_weights(SMALL, Drawing("b~*", 0.3)), plain / plain.sum(), rtol=1e-12)
    inverse = row_weights(SMALL, Drawing("b~-a,b~-c", 0.3))
    np.testing.assert_allclose(row_weights(SMALL, Drawing("b~-*", 0.3)), inverse, rtol=1e-12)


def test_a_continuous_factor_is_scaled_by_its_numbers_and_left_out_rows_weigh_nothing() -> None:
    uneven = Factor("x", 3, "continuous", values=(0.0, 0.9, 1.0))
    table = joint(FactorGrid([uneven, Factor("y", 2)]), Drawing("x~y", 0.5), 0, 1)
    expected = np.exp(-((np.array([0.0, 0.9, 1.0])[:, None] - [0.0, 1.0]) ** 2) / 0.5)
    np.testing.assert_allclose(table, expected / expected.sum(), rtol=1e-12)
    weights = row_weights(SMALL, Drawing("a~b", 0.3, "c=red"))
    assert not weights[~training_rows(SMALL, "c=red")].any()
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("grid", "rule", "count"),
    [
        (SPRITES, "element", 5_808),
        (SPRITES, "range", len(SPRITES) // 6),
        (SPRITES, "x>0.5", len(SPRITES) // 2),
        (SPRITES, "shape=square & x>0.5", len(SPRITES) // 6),
        (ROOMS, "element", 2**3 * 3 * 3),
        (ROOMS, "range", len(ROOMS) // 8),
        (ROOMS, "floor_hue>=#5", len(ROOMS) // 2),
        (SMALL, "a=0 & b>=#3 | c!=red & a=3", 6 + 10),
        (SMALL, "c=green & b<2 & b>0", 4),
        (NAMED, "element", 1 * 1 * 1 * 1 * 1),
        (NAMED, "range", 3 * 4 * 5 * 2),
        (SMALL, "range", 8),
        (SMALL, "element", 1),
    ],
)
def test_as_many_images_are_left_out_as_the_condition_says(grid: FactorGrid, rule: str, count: int) -> None:
    assert (~training_rows(grid, rule)).sum() == count


@pytest.mark.parametrize("grid", [SPRITES, ROOMS, SMALL], ids=["dsprites", "shapes3d", "small"])
def test_schotts_splits_train_on_about_thirty_per_cent_of_what_they_say(grid: FactorGrid) -> None:
    def seen(rule: str) -> list[list[int]]:
        mask = training_rows(grid, rule)
        assert 0.24 < mask.mean() < 0.32, rule
        rows = grid.rows(np.flatnonzero(mask))
        return [np.unique(column).tolist() for column in rows.T]

    every = [list(range(size)) for size in grid.sizes]
    assert seen("random") == every
    assert seen("composition") == every
    for values, size, kind in zip(seen("interpolation"), grid.sizes, grid.kinds, strict=True):
        assert {0, size - 1} <= set(values), "both ends are seen"
        assert (len(values) == size) == (kind == "categorical")
    for values, size, kind in zip(seen("extrapolation"), grid.sizes, grid.kinds, strict=True):
        assert values == list(range(len(values))), "the upper end is missing"
        assert (len(values) == size) == (kind in ("categorical", "cyclic"))


def test_composition_never_shows_two_factors_in_their_upper_parts() -> None:
    rows = SMALL.rows(np.flatnonzero(training_rows(SMALL, "composition")))
    alone = [rows[(rows[:, column] == SMALL.sizes[column] - 1)] for column in range(3)]
    for column, found in enumerate(alone):
        others = np.delete(found, column, axis=1)
        assert len(found)
        assert (others < np.delete(SMALL.sizes, column) - 1).all()


def test_random_leaves_out_whole_combinations_by_its_seed() -> None:
    rows = [[a, b, i] for a in range(5) for b in range(8) for i in range(3)]
    grid = FactorGrid([Factor("a", 5), Factor("b", 8), Factor("i", 3, observed=False)], present=rows)
    mask = training_rows(grid, "random:0.25:1").reshape(40, 3)
    assert (mask == mask[:, :1]).all()
    assert mask[:, 0].sum() == 30
    assert (training_rows(grid, "random:0.25:2").reshape(40, 3) != mask).any()
    np.testing.assert_array_equal(training_rows(grid, "random"), training_rows(grid, "random:0.7:0"))


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ("d=1", "no factor 'd'; this grid has a, b, c"),
        ("c=pink", "'pink' is no value of c; expected a number, a class number such as #0 or one of red, green, blue"),
        ("a==1", "'=1' is no value of a; expected a number or a class number such as #0"),
        (">3", "'>3' cannot be read"),
        ("a=1 & ", "'' cannot be read"),
        ("a>", "'a>' cannot be read; expected a rule (random, composition"),
        ("a>9", "leaves out no image at all"),
        ("a>=0", "leaves out every image, so that none is left to train on"),
        ("random:1.5", "expected the share left out, between 0 and 1, and a seed"),
        ("element:2", "the rule element takes nothing after its name"),
    ],
)
def test_a_condition_that_cannot_be_served_is_explained(left_out: str, words: str) -> None:
    with pytest.raises(RegimeError, match=re.escape(words)):
        training_rows(SMALL, left_out)


@pytest.mark.parametrize("rule", ["composition", "interpolation", "extrapolation", "range"])
def test_a_rule_that_needs_other_factors_says_so(rule: str) -> None:
    with pytest.raises(RegimeError, match=f"drawing.left_out is '{rule}', which needs"):
        training_rows(FactorGrid([Factor("kind", 4, "categorical")]), rule)
    assert rule in RULES


@pytest.mark.parametrize("left_out", ["random", "element", "instance=3"])
def test_images_without_factors_have_no_combinations_to_leave_out(left_out: str) -> None:
    with pytest.raises(RegimeError, match="this data set has none that are observed and vary; give its images labels"):
        training_rows(FactorGrid([Factor("instance", 9, observed=False)]), left_out)


def test_labelled_images_depend_on_the_label_seed_alone() -> None:
    first, again, other = (labelled_images(SPRITES, Labels(100, seed=seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.index, again.index)
    assert len(np.unique(first.index)) == 100
    assert (first.index != other.index).any()
    np.testing.assert_array_equal(first.classes, SPRITES.rows(first.index))
    assert (first.sizes, first.columns, first.training) == ((3, 6, 40, 32, 32), (0, 1, 2, 3, 4), 90)
    for kind in ("binned", "noisy", "partial", "permuted"):
        np.testing.assert_array_equal(labelled_images(SPRITES, Labels(100, kind)).index, first.index)  # type: ignore[arg-type]
    trained = labelled_images(SPRITES, Labels(1_000), "shape=square")
    assert (trained.classes[:, 0] > 0).all()


def test_binned_labels_have_at_most_so_many_values() -> None:
    found, exact = labelled_images(SPRITES, Labels(1_000, "binned")), labelled_images(SPRITES, Labels(1_000))
    assert found.sizes == (3, 5, 5, 5, 5)
    np.testing.assert_array_equal(found.classes[:, 0], exact.classes[:, 0])
    np.testing.assert_array_equal(found.classes[:, 1], np.array([0, 0, 1, 2, 3, 4])[exact.classes[:, 1]])
    np.testing.assert_array_equal(found.classes[:, 2], exact.classes[:, 2] // 8)


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_noisy_labels_are_wrong_as_often_as_chance_allows(noise: float) -> None:
    found, exact = (
        labelled_images(SPRITES, each).classes for each in (Labels(50_000, "noisy", noise=noise), Labels(50_000))
    )
    expected = noise * (1 - 1 / np.array(SPRITES.sizes))
    np.testing.assert_allclose((found != exact).mean(axis=0), expected, atol=0.01)


def test_partial_labels_are_of_some_factors_in_the_order_drawn() -> None:
    orders = set()
    for seed in range(20):
        found, exact = (
            labelled_images(SPRITES, Labels(9, "partial", seed=seed)),
            labelled_images(SPRITES, Labels(9, seed=seed)),
        )
        np.testing.assert_array_equal(found.classes, exact.classes[:, list(found.columns)])
        assert found.sizes == tuple(SPRITES.sizes[column] for column in found.columns)
        orders.add(found.columns)
    assert len(orders) > 5
    assert any(first > second for first, second in orders)


def test_permuted_labels_rename_values_the_same_way_for_all_images() -> None:
    found, exact = (labelled_images(SPRITES, each).classes for each in (Labels(5_000, "permuted"), Labels(5_000)))
    for new, old, size in zip(found.T, exact.T, SPRITES.sizes, strict=True):
        renamed = {value: set(new[old == value].tolist()) for value in range(size)}
        assert all(len(names) == 1 for names in renamed.values())
        assert len(set().union(*renamed.values())) == size
    assert (found[:, 2:] != exact[:, 2:]).mean() > 0.9


def test_labels_of_continuous_factors_are_bins() -> None:
    numbers = tuple(np.linspace(0, 1, 50).tolist())
    grid = FactorGrid([Factor("x", 50, "continuous", values=numbers), Factor("k", 3)])
    found = labelled_images(grid, Labels(150))
    assert found.sizes == (20, 3)
    assert set(found.classes[:, 0].tolist()) == set(range(20))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Drawing("x~y", 0.0), "drawing.sigma is 0.0; expected a positive number"),
        (lambda: Drawing("x~y", -1.0), "drawing.sigma is -1.0; expected a positive number"),
        *(
            (lambda sigma=sigma: Drawing("x~y", sigma), "expected a positive number, 0.001 to 1000")
            for sigma in (1e-300, 1e308)
        ),
        (lambda: training_rows(SMALL, "random:0.5:1:2"), "the rule random takes a share and a seed after its name"),
        (lambda: Drawing(sigma=0.4), "no factors are correlated"),
        (lambda: Drawing(left_out="x=1 | " * 200), "drawing.left_out is 'x=1 | x=1 |"),
        (lambda: Pairs("resample", -1), "pairs.changed is -1; expected a number of factors"),
        (lambda: Pairs("none", 2), "takes no number of factors"),
        (lambda: Pairs("laplace", 2), "takes no number of factors"),
        (lambda: Pairs("resample", rate=2.0), "belongs to laplace alone"),
        (lambda: Pairs("laplace", rate=0.0), "pairs.rate is 0.0; expected above 0"),
        (lambda: Labels(-1), "labels.images is -1"),
        (lambda: Labels(kind="noisy"), "no images are labelled"),
        (lambda: Labels(9, noise=0.5), "belongs to labels.kind 'noisy'"),
        (lambda: Labels(9, "noisy", noise=1.5), "expected a probability"),
        (lambda: Labels(9, "binned", bins=1), "labels.bins is 1"),
        (lambda: Run(BetaVAE(), Convolutional(), pairs="lib"), "pairs is 'lib'; expected a record such as hackle.core"),  # type: ignore[arg-type]
        (lambda: Run(BetaVAE(), Convolutional(), labels=100), "labels is 100; expected a record such as"),  # type: ignore[arg-type]
        (lambda: Run(BetaVAE(), Convolutional(), drawing=Pairs()), "drawing is Pairs("),  # type: ignore[arg-type]
        (lambda: Run(BetaVAE(), Convolutional(), pairs=Pairs("some")), "pairs.rule is 'some'; expected 'none' or"),  # type: ignore[arg-type]
    ],
)
def test_a_record_that_contradicts_itself_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make()


def test_a_run_without_a_regime_is_written_as_before_there_were_any() -> None:
    run = Run(BetaVAE(), Convolutional())
    assert not {"drawing", "pairs", "labels"} & to_json(run).keys()
    assert record_hash(run) == "cceba06c5f20cac5"
    assert to_json(Run(BetaVAE(), Convolutional(), pairs=Pairs("lib")))["pairs"]["rule"] == "lib"


def test_long_and_many_names_of_values_are_cut_in_messages() -> None:
    words = tuple(f"{number}" + "x" * 5_000 for number in range(100))
    grid = FactorGrid([Factor("a", 100, "categorical", words=words), Factor("b", 2)])
    for condition in ("a=red", "b>9"):
        with pytest.raises(RegimeError) as error:
            training_rows(grid, condition)
        assert len(str(error.value)) < 2_000


def test_correlated_factors_of_many_values_take_no_more_memory_than_images() -> None:
    """A table of every value by every other would take 32 GB."""
    count = 65_536
    values = tuple(np.linspace(0, 1, count).tolist())
    factors = [Factor(name, count, "continuous", values=values) for name in ("a", "b")]
    grid = FactorGrid(factors, present=np.stack([np.arange(count), np.arange(count)[::-1]], axis=1))
    tracemalloc.start()
    weights = row_weights(grid, Drawing("a~b"))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * 2**20
    expected = np.exp(-((2 * np.linspace(0, 1, count) - 1) ** 2) / (2 * 0.2**2))
    np.testing.assert_allclose(weights, expected / expected.sum())
