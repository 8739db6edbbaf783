"""Tables of results and of codes as someone who wishes you ill would send them: Parquet, SQLite and CSV."""

from __future__ import annotations

import csv
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_folders import SCORES, small

import hackle
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.parquet_pages import unpacked_bytes
from hackle.store import Store, StoreError, export, merge, parquet, read, repair
from hackle.store.tables import Outcome

FREE = 2**28
"""Bytes of memory that these tests say are free."""


def study(folder: Path) -> Path:
    with Store.create_or_open(folder, "theirs") as store:
        curves = {"step": np.arange(3), "kl": np.ones(3)}
        for seed in range(2):
            arrays = {"codes": np.zeros((4, 2), np.float32)}
            store.add(Outcome(small(seed=seed), "done", scores=SCORES, curves=curves, arrays=arrays))
    return folder


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    export(study(tmp_path / "study"), tmp_path / "theirs")
    monkeypatch.setattr(parquet, "available_memory", lambda: FREE)
    return tmp_path / "theirs"


def repeat(path: Path, column: str, value: str | bytes, count: int, **own: Any) -> None:
    """A table whose first row stands in it many times, and in it a value that the file holds once."""
    first = pq.read_table(path).slice(0, 1)
    columns = {name: first.column(name).take(pa.array(np.zeros(count, np.int64))) for name in first.column_names}
    kind = pa.binary() if isinstance(value, bytes) else pa.string()
    numbers = pa.array(np.zeros(count, np.int32))
    columns |= {column: pa.DictionaryArray.from_arrays(numbers, pa.array([value], kind)), **own}
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False, dictionary_pagesize_limit=2**30)
    assert path.stat().st_size < 50_000


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [("arrays", "data", b"\0" * 9_000_000), ("scores", "note", "x" * 900_000), ("runs", "reason", "x" * 900_000)],
)
def test_values_that_many_rows_share_are_measured_before_each_row_has_its_own(
    tables: Path, name: str, column: str, value: Any
) -> None:
    # As many copies take 1.8 GB and more.
    repeat(tables / f"{name}.parquet", column, value, 2_000)
    with pytest.raises(StoreError, match=f"{name}.parquet holds more, and"):
        read(tables)
    assert pa.default_memory_pool().max_memory() < 2**30


def test_pages_that_unpack_to_more_than_memory_are_refused_whatever_the_footer_says(tables: Path) -> None:
    texts = [f"{place:08}" + "x" * 2**20 for place in range(40)]
    whole = pq.read_table(tables / "runs.parquet").slice(0, 1)
    rows = {name: whole.column(name).take(pa.array([0] * len(texts))) for name in whole.column_names}
    pq.write_table(
        pa.table(rows | {"reason": texts}), tables / "runs.parquet", compression="zstd", use_dictionary=False
    )
    with pq.ParquetFile(tables / "runs.parquet") as file:
        assert unpacked_bytes(tables / "runs.parquet", file, ["reason"]) > 40 * 2**20
        # A footer is Thrift like the pages' headers: a size in it is changed in place.
        said = file.metadata.row_group(0)
    content = (tables / "runs.parquet").read_bytes()
    for size in (said.total_byte_size, said.column(whole.column_names.index("reason")).total_uncompressed_size):
        assert _varint(2 * size) in content
        content = content.replace(_varint(2 * size), _varint(2 * 2**25 + 2))
    (tables / "runs.parquet").write_bytes(content)
    with pq.ParquetFile(tables / "runs.parquet") as file:
        assert file.metadata.row_group(0).total_byte_size == 2**25 + 1
    with pytest.raises(StoreError, match=r"40 rows of 42 MB, and 134 MB of memory"):
        read(tables)


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def test_texts_that_are_parts_of_each_other_are_refused(tables: Path) -> None:
    whole = pq.read_table(tables / "runs.parquet")
    how = {"use_dictionary": False, "column_encoding": {"reason": "DELTA_BYTE_ARRAY"}}
    pq.write_table(whole, tables / "runs.parquet", **how)
    with pytest.raises(StoreError, match="texts as parts of each other"):
        read(tables)


def test_sizes_of_pages_are_those_that_were_written(tmp_path: Path) -> None:
    rows = np.arange(40_000)
    table = pa.table(
        {"few": [f"text {row % 9}" for row in rows], "many": [f"{row:99}" for row in rows], "number": rows}
    )
    for version in ("1.0", "2.0"):
        pq.write_table(
            table, tmp_path / "t.parquet", row_group_size=9_999, data_page_version=version, compression="zstd"
        )
        with pq.ParquetFile(tmp_path / "t.parquet") as file:
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            # The footer also counts the pages' headers.
            said = sum(group.total_byte_size for group in groups)
            assert 0.99 * said <= unpacked_bytes(tmp_path / "t.parquet", file) <= said
            assert unpacked_bytes(tmp_path / "t.parquet", file, ["few"]) < 0.1 * said


def test_large_numbers_of_rows_take_no_memory(tmp_path: Path) -> None:
    with closing(sqlite3.connect(study(tmp_path) / "results.sqlite")) as file:
        file.execute("UPDATE runs SET id = id + 1000000000000")
        file.execute("INSERT INTO notes VALUES (1000000000000, 'far')")
        file.commit()
        assert len(read(tmp_path).runs) == 2
        file.execute("UPDATE runs SET id = id - 1000000000000")
        file.execute("UPDATE measures SET id = id + 1000000000000")
        file.commit()
    with pytest.raises(StoreError, match="a score of a run, measure or note that is not there"):
        read(tmp_path)


def _rewritten(change: Callable[[str], str]) -> Callable[[sqlite3.Connection], None]:
    """The table of runs with another definition."""

    def apply(file: sqlite3.Connection) -> None:
        (sql,) = file.execute("SELECT sql FROM sqlite_master WHERE name = 'runs'").fetchone()
        assert change(sql) != sql
        file.execute("PRAGMA writable_schema = ON")
        file.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'runs'", (change(sql),))

    return apply


def _disguised(file: sqlite3.Connection) -> None:
    file.execute("CREATE VIRTUAL TABLE words USING fts5(word)")
    file.execute("PRAGMA writable_schema = ON")
    file.execute("UPDATE sqlite_master SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE/**/VIRTUAL')")


def _endless(file: sqlite3.Connection) -> None:
    numbers = (
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, id AS run, '{}' AS record FROM n"
    )
    file.execute("DROP VIEW results")
    file.execute("ALTER TABLE runs RENAME TO others")
    file.execute(f"CREATE VIEW runs AS {numbers}")


LONG = "length(hex(zeroblob(999)))"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_rewritten(lambda sql: sql.replace("device TEXT", f"device TEXT CHECK/**/({LONG} > 0)")), "the condition of"),
        (_rewritten(lambda sql: sql[:-1] + f", more TEXT AS ({LONG}))"), "the computed column of the table runs"),
        (lambda file: file.execute(f"CREATE INDEX i ON meta (key) WHERE {LONG} = 3"), "the computed index"),
        (_disguised, "the table words"),
        (_endless, "the view runs"),
    ],
)
def test_a_store_that_would_compute_is_refused(
    tmp_path: Path, change: Callable[[sqlite3.Connection], object], said: str
) -> None:
    with closing(sqlite3.connect(study(tmp_path / "theirs") / "results.sqlite")) as file:
        change(file)
        file.commit()
    for act in (lambda: read(tmp_path / "theirs"), lambda: merge(tmp_path / "mine", tmp_path / "theirs")):
        with pytest.raises(StoreError, match=f"has {said}"):
            act()
    with pytest.raises(StoreError, match=f"has {said}"):
        repair(tmp_path / "theirs")


def test_a_store_elsewhere_is_not_repaired(tmp_path: Path) -> None:
    study(tmp_path / "mine")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "results.sqlite").symlink_to(tmp_path / "mine" / "results.sqlite")
    with pytest.raises(StoreError, match="leaves its folder"):
        repair(tmp_path / "theirs")


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    with closing(sqlite3.connect(study(tmp_path) / "results.sqlite")) as file:
        for column in ("runs.dataset", "runs.device", "measures.protocol", "curves.name"):
            table, name = column.split(".")
            file.execute(f"UPDATE {table} SET {name} = '=cmd|calc!A0' WHERE {name} != 'step'")
        file.execute("UPDATE scores SET score = -0.5")
        file.execute("DELETE FROM packed_scores")
        file.commit()
    for path in export(tmp_path, tmp_path / "csv", file_format="csv"):
        with path.open(newline="") as text:
            cells = [cell for row in csv.reader(text) for cell in row]
        assert not [cell for cell in cells if cell.startswith("=")]
        assert path.name != "scores.csv" or {"'=cmd|calc!A0", "-0.5"} <= set(cells)


def codes(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)
    return path


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": pa.array([[[1.0]]] * 9)}, "expected numbers or texts"),
        ({"a": pa.array(np.zeros(10_000_000, np.int8))}, "80 MB in memory"),
        (
            {"a": pa.DictionaryArray.from_arrays(pa.array(np.zeros(99, np.int32)), pa.array(["x" * 900_000]))},
            "90 MB in memory",
        ),
    ],
)
def test_a_table_of_codes_that_does_not_fit_is_refused(
    tmp_path: Path, columns: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("hackle.datasets.damage.available_memory", lambda: 50_000_000)
    path = codes(tmp_path / "codes.parquet", **columns)
    assert path.stat().st_size < 100_000
    with pytest.raises(SystemExit):
        main(["score-codes", str(path), "--factors", "a"])
    assert said in " ".join(capsys.readouterr().err.split())


def test_tables_of_pandas_are_read_as_before(tmp_path: Path, capsys: Any) -> None:
    rows = np.arange(60)
    table = pd.DataFrame({"z0": rows / 7, "z1": rows % 5, "kind": pd.Categorical(np.array(["a", "b", "c"])[rows % 3])})
    table.to_parquet(tmp_path / "codes.parquet")
    main(["score-codes", str(tmp_path / "codes.parquet"), "--factors", "kind", "--metrics", "mig"])
    assert "mig" in capsys.readouterr().out


def test_numbers_of_no_bytes_are_refused(tmp_path: Path, capsys: Any) -> None:
    """A shape may claim any number of them in a file of a few bytes."""
    head = {"descr": "|V0", "fortran_order": False, "shape": (10**12, 8, 8)}
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive, archive.open("images.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, head)
    with pytest.raises(HackleError, match="take no bytes"):
        hackle.load(tmp_path / "data.npz")
    with (tmp_path / "codes.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
    with pytest.raises(SystemExit):
        main(["score-codes", str(tmp_path / "codes.npy"), "--factors", "x"])
    assert "take no bytes" in capsys.readouterr().err
