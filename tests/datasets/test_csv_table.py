"""Tables that pandas would misread without an error are refused, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from hackle.datasets.csv_table import read_csv
from hackle.datasets.source import DataError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shape;x\nball;1,5\nbox;2,5\n", "has 1 names in its first line and 2 cells .*: 1.5, not 1,5"),
        ("shape;x;y\nball;1,5;0,5\nbox;2,5;0,5\n", "has 1 names in its first line and 3 cells"),
        ("x,y\n1,5,2\n2,5,3\n", "has 2 names in its first line and 3 cells"),
        # Their first cells count from 0, as if they numbered the rows.
        ("x\n0,5\n1,5\n2,5\n", "has 1 names in its first line and 2 cells"),
        ('\n"x",y\n\n0,1,5\n1,1,5\n', "has 2 names in its first line and 3 cells"),
        ("shape;x\nball;1.5\nbox;2.5\n", "has one column, called 'shape;x'; expected cells separated by commas"),
        ("shape\tx\nball\t1.5\n", "has one column, called 'shape\\\\tx'"),
        ("0.25,0.5\n0.1,0.2\n", "has no line of names: its first line holds the number 0.25"),
        ("ball,1.5\nbox,2.5\n", "has no line of names: its first line holds the number 1.5"),
        ("-1,2\n0,1\n", "has no line of names: its first line holds the number -1"),
        ("file,x,x\n0.png,1,2\n", "has two columns called 'x'; expected names that differ: rename one"),
        ("3,0\n1,2\n", "has no line of names: its first line holds the number 3"),
        pytest.param(f"x\n{'a' * 200_000}\n", "field larger than field limit", id="endless cell"),
        ("h\xf6he\n1\n", "cannot be read as a table with commas in UTF-8"),
    ],
)
def test_what_is_no_table_with_names_and_commas_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=words):
        read_csv(path)


@pytest.mark.parametrize("text", ["z0,z1\n", ",z0\n", "0,1\n", "1,2\n", "x,7\n", "x,nan\n", '"a;b",c\n', '"a, b",c\n'])
def test_names_of_any_kind_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{text}0.5,1\n1.5,2\n")
    assert read_csv(path).iloc[:, 0].tolist() == [0.5, 1.5]
