"""Factor grids: rows to flat index and back, and draws that are uniform over the rows that exist."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from hackle.core.factors import Factor, FactorError, FactorGrid
from hackle.core.present_rows import Partners

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=5)
# Holes, a factor that never varies, and rows with few partners.
RAGGED = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 2, 1], [2, 2, 2, 1], [2, 0, 3, 1], [1, 1, 3, 1]]


def grid_of(sizes: Sequence[int], present: object = None) -> FactorGrid:
    return FactorGrid([Factor(f"f{column}", size) for column, size in enumerate(sizes)], present)  # type: ignore[arg-type]


def ragged() -> FactorGrid:
    return grid_of([3, 3, 4, 2], RAGGED)


def every_row(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """All combinations, last factor fastest, by counting them out."""
    return list(itertools.product(*(range(size) for size in sizes)))


def some_rows(sizes: Sequence[int], seed: int) -> np.ndarray:
    """About half of all rows, at least one, in random order."""
    rng = np.random.default_rng(seed)
    rows = np.array(every_row(sizes))
    return rng.permutation(rows)[: 1 + rng.integers(len(rows)) // 2]


def assert_uniform(drawn: Sequence[object], expected: Sequence[object]) -> None:
    """Every expected outcome occurs, no other does, and their counts pass a chi-square test."""
    counts = Counter(drawn)
    assert set(counts) == set(expected)
    assert len(expected) == 1 or chisquare([counts[outcome] for outcome in expected]).pvalue > 1e-3


def tuples(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(SIZES)
def test_a_complete_grid_counts_with_the_last_factor_fastest(sizes: list[int]) -> None:
    grid = grid_of(sizes)
    expected = every_row(sizes)
    assert grid.complete
    assert len(grid) == grid.size == len(expected)
    assert tuples(grid.rows(np.arange(grid.size))) == expected
    assert grid.index(np.array(expected)).tolist() == list(range(grid.size))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(SIZES, st.integers(0, 100))
def test_an_incomplete_grid_keeps_the_order_of_its_images(sizes: list[int], seed: int) -> None:
    present = some_rows(sizes, seed)
    grid = grid_of(sizes, present)
    assert not grid.complete
    assert grid.size == len(present)
    assert np.array_equal(grid.rows(np.arange(grid.size)), present)
    assert grid.index(present).tolist() == list(range(len(present)))
    absent = sorted(set(every_row(sizes)) - set(tuples(present)))
    for row in absent[:5]:
        with pytest.raises(FactorError, match="incomplete"):
            grid.index([*present.tolist(), row])


def test_later_changes_of_the_given_rows_do_not_reach_the_grid() -> None:
    present = np.array([[0, 1], [1, 0]])
    grid = grid_of([2, 2], present)
    present[0] = 1
    assert grid.rows([0]).tolist() == [[0, 1]]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.integers(2, 100_000), min_size=1, max_size=3), st.integers(0, 100))
def test_large_complete_grids_round_trip(sizes: list[int], seed: int) -> None:
    grid = grid_of(sizes)
    index = np.random.default_rng(seed).integers(grid.size, size=50)
    assert np.array_equal(grid.index(grid.rows(index)), index)
    assert grid.rows([grid.size - 1]).tolist() == [[size - 1 for size in sizes]]


def test_grids_may_have_many_factors() -> None:
    """More than the 32 axes that array functions of index arithmetic stop at."""
    grid = grid_of([1] * 30 + [2] * 50)
    index = np.random.default_rng(0).integers(grid.size, size=100)
    assert np.array_equal(grid.index(grid.rows(index)), index)


def test_incomplete_grids_of_astronomic_span_are_found_exactly() -> None:
    sizes = [100_000] * 12
    rows = np.random.default_rng(0).integers(100_000, size=(5_000, 12))
    grid = grid_of(sizes, rows)
    order = np.random.default_rng(1).permutation(5_000)
    assert np.array_equal(grid.index(rows[order]), order)
    wrong = rows[17].copy()
    wrong[11] = (wrong[11] + 1) % 100_000
    with pytest.raises(FactorError, match=f"f11 = {wrong[11]}: this grid is incomplete and holds 5,000 rows"):
        grid.index([wrong])
    with pytest.raises(FactorError, match=r"1\.0e\+60 combinations is too large to be indexed; list the rows"):
        grid_of(sizes)
    assert grid_of([2**21] * 2 + [2**20]).size == 2**62
    with pytest.raises(FactorError, match="too large"):
        grid_of([2**21] * 3)


def test_names_sizes_kinds_and_varying_columns_are_told() -> None:
    grid = FactorGrid(
        [Factor("shape", 3, "categorical"), Factor("one", 1), Factor("instance", 2, observed=False), Factor("x", 4)]
    )
    assert (grid.names, grid.sizes) == (("shape", "one", "instance", "x"), (3, 1, 2, 4))
    assert grid.kinds == ("categorical", "ordinal", "ordinal", "ordinal")
    assert (grid.observed, grid.varying) == ((0, 1, 3), (0, 2, 3))
    assert [grid.column("x"), grid.column(3)] == [3, 3]
    assert repr(grid) == "FactorGrid(shape 3, one 1, instance 2, x 4; 24 combinations)"
    assert ragged().varying == (0, 1, 2)
    assert "7 rows present" in repr(ragged())


def test_draws_are_uniform_over_a_complete_grid() -> None:
    drawn = grid_of([3, 1, 4]).draw(6_000, np.random.default_rng(0))
    assert_uniform(tuples(drawn), every_row([3, 1, 4]))


def test_draws_are_uniform_over_the_rows_that_exist() -> None:
    drawn = ragged().draw(7_000, np.random.default_rng(0))
    assert_uniform(tuples(drawn), [tuple(row) for row in RAGGED])


def test_held_draws_are_uniform_over_the_rows_that_have_the_values() -> None:
    rng = np.random.default_rng(0)
    complete = grid_of([3, 2, 4]).draw_held(4_000, {"f0": 2, 1: 1}, rng)
    assert_uniform(tuples(complete), [(2, 1, value) for value in range(4)])
    incomplete = ragged().draw_held(4_000, {"f2": 0}, rng)
    assert_uniform(tuples(incomplete), [(0, 0, 0, 1), (0, 1, 0, 1)])
    assert_uniform(tuples(ragged().draw_held(7_000, {}, rng)), [tuple(row) for row in RAGGED])


def test_held_draws_that_no_row_can_serve_say_so() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(FactorError, match="no row has f0 = 0, f2 = 3: a draw that holds these is impossible"):
        ragged().draw_held(1, {"f0": 0, "f2": 3}, rng)
    with pytest.raises(FactorError, match="cannot hold f1 at 3; it goes from 0 to 2"):
        ragged().draw_held(1, {"f1": 3}, rng)
    with pytest.raises(FactorError, match="no factor 'colour'; this grid has f0, f1"):
        grid_of([2, 2]).draw_held(1, {"colour": 0}, rng)
    with pytest.raises(FactorError, match="no factor 2; this grid has columns 0 to 1"):
        grid_of([2, 2]).draw_held(1, {2: 0}, rng)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pairs_of_a_complete_grid_differ_in_a_uniform_set_of_k_factors(k: int) -> None:
    first, second = grid_of([2, 1, 4, 3]).draw_pairs(24_000, k, np.random.default_rng(k))
    differing = first != second
    assert (differing.sum(axis=1) == k).all()
    sets = list(itertools.combinations((0, 2, 3), k))
    assert_uniform([tuple(np.flatnonzero(row).tolist()) for row in differing], sets)
    assert_uniform(tuples(first), every_row([2, 1, 4, 3]))
    assert_uniform(tuples(second), every_row([2, 1, 4, 3]))


def test_the_new_values_of_a_pair_are_uniform_among_the_others() -> None:
    first, second = grid_of([4, 3]).draw_pairs(12_000, 2, np.random.default_rng(0))
    outcomes = [(a, b, c, d) for a, b, c, d in itertools.product(range(4), range(3), repeat=2) if a != c and b != d]
    assert_uniform(tuples(np.hstack([first, second])), outcomes)


def partners_by_looking(rows: Sequence[Sequence[int]], row: Sequence[int], k: int) -> list[tuple[int, ...]]:
    return [tuple(other) for other in rows if sum(a != b for a, b in zip(row, other, strict=True)) == k]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("guesses", [0, 16])
def test_pairs_of_an_incomplete_grid_are_uniform_first_rows_and_uniform_partners(
    k: int, guesses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guessing a partner and looking partners up lead to the same distribution."""
    monkeypatch.setattr(Partners, "_GUESSES", guesses)
    first, second = ragged().draw_pairs(12_000, k, np.random.default_rng(k))
    partners = {tuple(row): partners_by_looking(RAGGED, row, k) for row in RAGGED}
    assert_uniform(tuples(first), [row for row, others in partners.items() if others])
    for row, others in partners.items():
        if others:
            assert_uniform([b for a, b in zip(tuples(first), tuples(second), strict=True) if a == row], others)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=5), st.integers(0, 100), st.data())
def test_partners_are_those_that_looking_at_every_row_finds(sizes: list[int], seed: int, data: st.DataObject) -> None:
    rows = some_rows(sizes, seed)
    k = data.draw(st.integers(1, len(sizes)))
    partners = Partners(rows, sizes, k)
    for row in range(len(rows)):
        slow = np.flatnonzero([sum(rows[row] != other) == k for other in rows])
        assert np.array_equal(partners.of(row), slow)
        assert partners.nearby[row] >= len(slow)


@pytest.mark.parametrize("k", [1, 2])
def test_few_nearby_rows_and_many_give_the_same_partners(k: int) -> None:
    """Both ways of looking up are taken: among the rows that share a block, and among all."""
    rows = np.unique(np.random.default_rng(0).integers(0, [40, 30, 20, 10], size=(3_000, 4)), axis=0)
    partners = Partners(rows, [40, 30, 20, 10], k)
    assert ((partners.nearby <= len(rows) // 50) == (k == 1)).all()
    for row in range(0, len(rows), 50):
        assert np.array_equal(partners.of(row), np.flatnonzero((rows != rows[row]).sum(axis=1) == k))


def test_pairs_are_drawn_without_comparing_all_rows_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: distinct rows are looked up once, and among few others."""
    rows = np.unique(np.random.default_rng(0).integers(0, [50, 50, 50, 50], size=(30_000, 4)), axis=0)
    grid = grid_of([50] * 4, rows)
    compared: list[int] = []
    differ = Partners._differ

    def counting(self: Partners, columns: np.ndarray, others: np.ndarray) -> np.ndarray:
        compared.append(max(columns.shape[1], others.shape[1]))
        return differ(self, columns, others)

    monkeypatch.setattr(Partners, "_differ", counting)
    first, second = grid.draw_pairs(2_000, 1, np.random.default_rng(1))
    assert ((first != second).sum(axis=1) == 1).all()
    assert sum(compared) < 0.01 * 2_000 * len(rows)
    compared.clear()
    small = grid_of([50] * 4, rows[::800])
    small.draw_pairs(5_000, 4, np.random.default_rng(1))
    assert len(compared) <= Partners._GUESSES + small.size


def test_pairs_that_no_two_rows_make_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    diagonal = np.repeat(np.arange(20_000)[:, None], 5, axis=1)
    grid = grid_of([20_000] * 5, diagonal)
    monkeypatch.setattr(
        Partners, "of", lambda *_: pytest.fail("no row shares a block with another: nothing to look up")
    )
    with pytest.raises(FactorError, match="no two rows differ in exactly 2 factors"):
        grid.draw_pairs(10, 2, np.random.default_rng(0))


def test_pairs_that_share_blocks_but_do_not_exist_are_refused() -> None:
    grid = grid_of([3, 3, 3], [[0, 0, 0], [0, 0, 1], [1, 1, 2]])
    with pytest.raises(FactorError, match="no two rows differ in exactly 2 factors"):
        grid.draw_pairs(10, 2, np.random.default_rng(0))
    with pytest.raises(FactorError, match="pairs can differ in 1 to 3 factors here, not 4"):
        grid.draw_pairs(1, 4, np.random.default_rng(0))
    with pytest.raises(FactorError, match="pairs can differ in 1 to 2 factors here, not 0"):
        grid_of([2, 1, 2]).draw_pairs(1, 0, np.random.default_rng(0))
    with pytest.raises(FactorError, match="pairs can differ in 1 to 3 factors here, not 4"):
        ragged().draw_pairs(1, 4, np.random.default_rng(0))


@pytest.mark.parametrize("grid", [grid_of([3, 2]), ragged()])
def test_no_draws_are_empty_and_seeds_repeat(grid: FactorGrid) -> None:
    width = len(grid.sizes)
    assert grid.draw(0, np.random.default_rng(0)).shape == (0, width)
    assert grid.draw_held(0, {0: 0}, np.random.default_rng(0)).shape == (0, width)
    assert [side.shape for side in grid.draw_pairs(0, 1, np.random.default_rng(0))] == [(0, width)] * 2
    again = [np.concatenate(grid.draw_pairs(20, 2, np.random.default_rng(5))) for _ in range(2)]
    assert np.array_equal(again[0], again[1])
    assert grid.rows(np.array([], dtype=np.int64)).shape == (0, width)
    assert grid.index(np.empty((0, width), dtype=np.int64)).shape == (0,)


def test_repeated_rows_are_refused_with_a_remedy() -> None:
    with pytest.raises(FactorError, match=r"row \[1, 0\] is present 3 times; add an unobserved factor"):
        grid_of([2, 2], [[1, 0], [0, 0], [1, 0], [1, 0], [0, 0]])
    with pytest.raises(FactorError, match="at least one row"):
        grid_of([2, 2], np.empty((0, 2), dtype=np.int64))


def test_missing_rows_are_named() -> None:
    with pytest.raises(FactorError, match="no image has f0 = 2, f1 = 1, f2 = 0, f3 = 1: this grid is incomplete"):
        ragged().index([[0, 0, 0, 1], [2, 1, 0, 1]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 1], r"shape \(2,\); expected \(n, 2\), one column for each of f0, f1"),
        ([[0, 1, 2]], r"shape \(1, 3\)"),
        ([[0.0, 1.0]], "float64; expected integers"),
        ([[0, 1], [1, 3]], "row 1 has f1 = 3; f1 goes from 0 to 2"),
        ([[-1, 0]], "f0 = -1"),
    ],
)
def test_wrong_rows_are_explained(rows: object, message: str) -> None:
    with pytest.raises(FactorError, match=message):
        grid_of([2, 3]).index(rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [[[0]], [0.5], [6], [-1]])
@pytest.mark.parametrize("grid", [grid_of([2, 3]), grid_of([6, 6], [[i, i] for i in range(6)])])
def test_wrong_indices_are_explained(index: object, grid: FactorGrid) -> None:
    with pytest.raises(FactorError, match="flat indices"):
        grid.rows(index)  # type: ignore[arg-type]


def test_impossible_factors_and_grids_are_refused() -> None:
    with pytest.raises(FactorError, match="size 0; expected at least one value"):
        Factor("x", 0)
    with pytest.raises(FactorError, match=r"at most 2³¹"):
        Factor("x", 2**31 + 1)
    with pytest.raises(FactorError, match="kind 'round'; expected one of categorical, ordinal, cyclic, continuous"):
        Factor("x", 2, "round")  # type: ignore[arg-type]
    with pytest.raises(FactorError, match="2 values but 3 real numbers"):
        Factor("x", 2, "continuous", values=(0.0, 0.5, 1.0))
    with pytest.raises(FactorError, match="at least one factor"):
        FactorGrid([])
    with pytest.raises(FactorError, match="names must differ"):
        FactorGrid([Factor("x", 2), Factor("x", 3)])
