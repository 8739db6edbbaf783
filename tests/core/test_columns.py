"""Codes and factors come through one door, whatever they are kept in; kinds are guessed by the rule that is documented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from hackle.core.columns import absent, as_array, columns_of, in_words, read_columns, read_numbers, row_numbers
from hackle.core.factors import FactorError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["b", "a"] * 20, "categorical"),
        ([True, False] * 20, "categorical"),
        (["10", "9"] * 20, "ordinal"),
        (np.arange(40) % 3, "ordinal"),
        (np.arange(40) % 3 * 1.0, "ordinal"),
        (np.arange(40) % 3 * 0.5, "ordinal"),
        (np.arange(200) % 20 * 0.1, "ordinal"),
        (np.arange(200) % 21 * 0.1, "continuous"),
        (np.arange(10) * 0.1, "continuous"),
        (np.arange(20), "ordinal"),
        (np.arange(200) % 40, "ordinal"),
        (np.arange(200) % 41, "continuous"),
        ([str(value) for value in np.arange(30) / 7], "continuous"),
        # Names, of which Python would read 11 and 120.
        (["1_1", "1_20"] * 20, "categorical"),
        (["1", "one"] * 20, "categorical"),
    ],
)
def test_kinds_are_guessed_by_the_rule(values: Any, kind: str) -> None:
    (column,) = read_columns(columns_of({"x": values}, "factors"))
    assert (column.kind, column.guessed) == (kind, True)
    (told,) = read_columns(columns_of({"x": values}, "factors"), {"x": "cyclic"})
    assert (told.kind, told.guessed) == ("cyclic", False)


NUMBERS = RNG.integers(0, 3, size=(12, 2))


@pytest.mark.parametrize(
    "given",
    [
        NUMBERS,
        NUMBERS.tolist(),
        NUMBERS.astype(np.uint8),
        NUMBERS.astype(object),
        NUMBERS.astype(np.float16),
        torch.from_numpy(NUMBERS),
        torch.from_numpy(NUMBERS).to(torch.uint8),
        torch.from_numpy(NUMBERS).to(torch.bfloat16),
        torch.from_numpy(NUMBERS).float().requires_grad_(),
        pd.DataFrame(NUMBERS),
        pd.DataFrame(NUMBERS, dtype="Int64"),
        pd.DataFrame(NUMBERS).astype("category"),
        {"a": NUMBERS[:, 0].tolist(), "b": torch.from_numpy(NUMBERS[:, 1]).double().requires_grad_()},
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_table_may_be_anything_that_holds_numbers(given: Any) -> None:
    columns = columns_of(given, "factors")
    np.testing.assert_array_equal(np.stack(list(columns.values()), axis=1), NUMBERS)
    np.testing.assert_array_equal(read_numbers(given, "codes"), NUMBERS)


def test_a_single_column_may_lack_its_axis() -> None:
    assert columns_of([1, 2, 3], "factors").keys() == {"factor_0"}
    assert read_numbers(torch.ones(3), "codes").shape == (3, 1)


@pytest.mark.parametrize(
    "column",
    [
        np.array(["a", "", "b"]),
        np.array(["a", " nan ", "b"]),
        np.array(["a", None, "b"], dtype=object),
        np.array(["a", np.nan, "b"], dtype=object),
        np.array([1.0, np.nan, 2.0]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"]).astype("category"),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02"])),
    ],
    ids=lambda column: str(getattr(column, "dtype", "")),
)
def test_what_is_missing_is_found_and_refused_with_row_and_column(column: Any) -> None:
    assert absent(as_array(column)).tolist() == [False, True, False]
    with pytest.raises(FactorError, match="factor coat has no value in row 1, counted from 0, and in 1 of 3 rows"):
        read_columns(columns_of({"coat": column}, "factors"))


def test_a_class_called_none_is_a_class() -> None:
    assert not absent(np.array(["none", "hat", "NANCY"])).any()


def test_columns_that_number_or_name_the_rows_are_known() -> None:
    columns = {
        "Unnamed: 0": np.array([0, 2, 5, 9]),
        "id": np.array([3, 1, 2, 0]),
        "index": np.array([0, 0, 1, 1]),
        "Row": np.arange(4.0),
        "x": np.arange(4),
        "file": np.array(["a", "b", "c", "d"]),
        "shape": np.array(["a", "b", "b", "d"]),
        "size": np.array(["1", "2", "3", "4"]),
        "take": np.array(["1_1", "1_2", "2_1", "2_2"]),
    }
    assert row_numbers(columns) == ["Unnamed: 0", "id", "Row", "file", "take"]
    assert row_numbers({"sample": np.arange(1, 5)}, first=True) == ["sample"]
    assert row_numbers({"sample": np.arange(2, 6)}, first=True) == []


SLIPS = [
    (["1", "2", "?", "2"], "has '[?]' in row 2, counted from 0, among numbers"),
    (["0.25", "0.5", "9,75", "1.0"], "has the decimal comma of '9,75' in row 2"),
    (["0,25", "0,5", "0,75", "1"], "has the decimal comma of '0,25' in row 0"),
]


@pytest.mark.parametrize(("texts", "words"), SLIPS)
def test_a_slip_among_numbers_makes_neither_classes_nor_names_of_them(texts: list[str], words: str) -> None:
    table = columns_of({"angle": texts}, "factors")
    assert row_numbers(table) == []
    with pytest.raises(FactorError, match=f"factor angle {words}.*: mend such cells, .* its kind is categorical"):
        read_columns(table)
    with pytest.raises(FactorError, match=f"factor angle {words}"):
        read_columns(table, {"angle": "continuous"})
    with pytest.raises(FactorError, match=f"column angle of the codes {words}.*: mend such cells"):
        read_numbers(table, "codes")
    (said,) = read_columns(table, {"angle": "categorical"})
    assert said.values.tolist() == texts
    assert row_numbers({"id": np.array(["01", "02", "03", "3b"])}) == ["id"]


def test_wrong_tables_are_refused() -> None:
    for table, words in (
        (np.zeros((2, 2, 2)), "expected a row for each sample"),
        ({"a": np.zeros((2, 2))}, r"a has shape \(2, 2\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of one name"),
    ):
        with pytest.raises(FactorError, match=words):
            columns_of(table, "factors")
    with pytest.raises(FactorError, match="column file of the codes is <U1 such as 'a'"):
        read_numbers({"file": ["a", "b"], "z": [0.0, 1.0]}, "codes")
    with pytest.raises(FactorError, match="differ in length"):
        read_numbers({"y": [0.0], "z": [0.0, 1.0]}, "codes")
    with pytest.raises(FactorError, match="1 kinds for 2 factors"):
        read_columns(columns_of(NUMBERS, "factors"), ["ordinal"])


def test_factors_are_numbered_in_the_order_of_their_values() -> None:
    (column,) = read_columns(columns_of({"x": ["10", "9", "10.5"]}, "factors"))
    factor, codes = column.factor()
    assert (factor.values, codes.tolist()) == ((9.0, 10.0, 10.5), [1, 0, 2])
    assert in_words([factor]) == "x (continuous, guessed)"


def test_tensors_are_fetched_from_their_device() -> None:
    """A stand-in for one on a GPU, which refuses to be an array until it has come to the CPU without its gradient."""

    class Elsewhere:
        detached = False

        def __array__(self, *_: Any) -> Any:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

        def detach(self) -> Elsewhere:
            self.detached = True
            return self

        def cpu(self) -> torch.Tensor:
            assert self.detached
            return torch.ones(3, 2, dtype=torch.float16)

    assert read_numbers(Elsewhere(), "codes").tolist() == [[1.0, 1.0]] * 3
