"""Results as Parquet: read like the store that they were written from, thinned, together, and from strangers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forked
import hackle
from hackle.core.errors import HackleError
from hackle.store import FILE, Store, StoreError, export, merge, parquet, read
from hackle.store.tables import Outcome, Tables
from made_up_outcomes import made_up, made_up_run, made_up_scores


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two runs that are done, one of them with a score that is no number and notes, and one that failed."""
    noted = [{**row, "score": float("nan"), "note": "a\nnote"} for row in made_up_scores(1)]
    with Store.create_or_open(tmp_path / "study", study="mine") as store:
        store.add(made_up(0, scores=[{**row, "per_factor": {"x": 0.1, "y": 0.2}} for row in made_up_scores(0)]))
        store.add(replace(made_up(1, "factor-vae"), scores=noted))
        store.add(Outcome(made_up_run(2), "failed", "kl is not finite after step 40"))
    return tmp_path / "study"


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({name: str for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)})


def assert_same(found: Tables, wanted: Tables) -> None:
    pd.testing.assert_frame_equal(plain(found.runs), plain(wanted.runs))
    pd.testing.assert_frame_equal(plain(found.scores), plain(wanted.scores))
    pd.testing.assert_frame_equal(plain(found.per_factor()), plain(wanted.per_factor()))
    for term in ("kl", "reconstruction", "unknown"):
        own, other = (plain(tables.curve(term)).sort_values(["run", "step"]) for tables in (found, wanted))
        pd.testing.assert_frame_equal(own.reset_index(drop=True), other.reset_index(drop=True))
    for name in ("codes", "informativeness"):
        arrays, expected = found.array(name), wanted.array(name)
        assert arrays.keys() == expected.keys()
        for run in arrays:
            assert arrays[run].dtype == expected[run].dtype
            np.testing.assert_array_equal(arrays[run], expected[run])


def test_what_was_exported_is_read_like_the_store(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    assert_same(read(tmp_path / "out"), read(study))
    pd.testing.assert_frame_equal(plain(hackle.results(tmp_path / "out")), plain(hackle.results(study)))
    failed = read(tmp_path / "out").runs.query("status == 'failed'")
    assert failed["reason"].tolist() == ["kl is not finite after step 40"]
    with Store.open(tmp_path / "out") as store:
        store.check(thorough=True)
    # And what is read can be exported, and merged into a store, again.
    export(tmp_path / "out", tmp_path / "again")
    assert_same(read(tmp_path / "again"), read(study))
    assert merge(tmp_path / "new", tmp_path / "out") == (3, 0, 0)
    assert_same(read(tmp_path / "new"), read(study))


def test_several_studies_are_written_together_each_run_once_and_always_the_same_bytes(
    study: Path, tmp_path: Path
) -> None:
    with Store.create_or_open(tmp_path / "other") as store:
        store.add(made_up(0))
        store.add(made_up(7))
    told: list[tuple[int, int]] = []
    paths = export((study, tmp_path / "other"), tmp_path / "out", tell=lambda *count: told.append(count))
    assert told[-1] == (5, 5)
    assert merge(study, tmp_path / "other") == (1, 1, 0)
    assert_same(read(tmp_path / "out"), read(study))
    again = export((study, tmp_path / "other"), tmp_path / "again")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]


def test_thinned_results_keep_fifty_points_and_512_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    curves = {"step": np.arange(1, 201), "kl": rng.lognormal(3, 2, 200), "reconstruction": np.full(200, np.nan)}
    codes = rng.normal(size=(1000, 10)).astype(np.float32)
    mass = rng.dirichlet(np.ones(100), 10).astype(np.float32)
    with Store.create_or_open(tmp_path / "study") as store:
        store.add(
            made_up(0, curves=curves, arrays={"codes": codes, "informativeness": rng.random(10), "marginals": mass})
        )
    export(tmp_path / "study", tmp_path / "out", thin=True)
    found, whole = read(tmp_path / "out"), read(tmp_path / "study")
    pd.testing.assert_frame_equal(plain(found.scores), plain(whole.scores))
    (kept,) = found.array("codes").values()
    np.testing.assert_array_equal(kept, codes[:512].astype(np.float16))
    (kept,) = found.array("marginals").values()
    np.testing.assert_allclose(kept, mass, atol=1.3e-4)
    kl = found.curve("kl")
    assert kl["step"].tolist() == list(range(4, 201, 4))
    np.testing.assert_allclose(kl["value"], curves["kl"].reshape(50, 4).mean(1), rtol=2.0**-12)
    assert np.isnan(found.curve("reconstruction")["value"]).all()


def test_nothing_is_added_to_parquet(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    with pytest.raises(StoreError, match="holds results as Parquet, to which nothing is added"):
        merge(tmp_path / "out", study)
    assert not (tmp_path / "out" / FILE).exists()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def cut_in_the_middle(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[40] ^= 0xFF
    path.write_bytes(content)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def without_a_column(path: Path) -> None:
    pq.write_table(pq.read_table(path).drop_columns(["run"]), path)


def of_other_types(path: Path) -> None:
    table = pq.read_table(path)
    numbers = pa.array(np.arange(table.num_rows))
    pq.write_table(table.set_column(table.schema.get_field_index("run"), "run", numbers), path)


def of_unknown_runs(path: Path) -> None:
    table = pq.read_table(path)
    names = pa.array(["nobody"] * table.num_rows)
    pq.write_table(table.set_column(table.schema.get_field_index("run"), "run", names), path)


def twice(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table]), path)


def not_there(path: Path) -> None:
    path.unlink()


DAMAGES = (truncated, cut_in_the_middle, flipped, emptied, without_a_column, of_other_types, twice)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", parquet.TABLES)
def test_a_damaged_or_forged_table_is_refused_in_a_sentence(
    study: Path, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    export(study, tmp_path / "out")
    damage(tmp_path / "out" / f"{name}.parquet")
    with pytest.raises(StoreError, match="get the folder again") as caught:
        read(tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    # The file at fault is named, and no other.
    assert set(re.findall(r"(\w+)\.parquet", str(caught.value))) == {name}


@pytest.mark.parametrize("name", parquet.TABLES)
@pytest.mark.parametrize("field", [2, 3], ids=["uncompressed", "compressed"])
def test_a_page_that_claims_two_gigabytes_is_refused(study: Path, tmp_path: Path, name: str, field: int) -> None:
    """A page begins with its kind and its two sizes as Thrift writes them: numbers in zigzag, seven bits to a byte."""
    export(study, tmp_path / "out")
    path = tmp_path / "out" / f"{name}.parquet"
    data, at = path.read_bytes(), 4
    fields = []
    for _ in range(3):
        end = next(place for place in range(at + 1, at + 8) if data[place] < 128) + 1
        fields.append(data[at:end])
        at = end
    assert [one[0] for one in fields] == [0x15] * 3
    fields[field - 1] = b"\x15\xfe\xff\xff\xff\x0f"
    path.write_bytes(data[:4] + b"".join(fields) + data[at:])
    with pytest.raises(StoreError, match=rf"{name}\.parquet"):
        read(tmp_path / "out")


def test_a_record_nested_beyond_reading_is_refused(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    path = tmp_path / "out" / "runs.parquet"
    table = pq.read_table(path)
    records = pa.array(["[" * 100_000] * table.num_rows)
    pq.write_table(table.set_column(table.schema.get_field_index("record"), "record", records), path)
    with pytest.raises(StoreError, match="get the folder again"):
        read(tmp_path / "out")


@pytest.mark.parametrize("name", ["scores", "factors", "curves", "arrays"])
def test_rows_of_runs_that_are_not_there_are_refused(study: Path, tmp_path: Path, name: str) -> None:
    export(study, tmp_path / "out")
    of_unknown_runs(tmp_path / "out" / f"{name}.parquet")
    with pytest.raises(StoreError, match="nobody"):
        read(tmp_path / "out")


def test_a_small_file_that_claims_much_memory_is_refused(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(study, tmp_path / "out")
    path = tmp_path / "out" / "arrays.parquet"
    run = read(study).runs["run"].iloc[0]
    rows = 64
    bomb = {"run": [run] * rows, "name": ["codes"] * rows, "dtype": ["<f4"] * rows, "shape": ["1"] * rows}
    # One cell of half a megabyte, written once and named by every row: the footer tells of one, and memory takes 64.
    pq.write_table(pa.table({**bomb, "data": pa.array([bytes(2**19)] * rows, pa.binary())}), path, compression="zstd")
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(parquet, "available_memory", lambda: 2**24)
    with pytest.raises(StoreError, match=r"arrays.parquet holds more, and 8 MB of memory can be given to it"):
        read(tmp_path / "out")
    monkeypatch.setattr(parquet, "available_memory", lambda: 2**10)
    with pytest.raises(StoreError, match=r"runs.parquet holds 3 rows of"):
        read(tmp_path / "out")


def test_a_link_that_leaves_the_folder_is_not_followed(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    path = tmp_path / "out" / "scores.parquet"
    path.rename(tmp_path / "elsewhere.parquet")
    path.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(HackleError, match="a link that leaves its folder"):
        read(tmp_path / "out")


def test_a_folder_that_lacks_a_table_holds_no_results(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    not_there(tmp_path / "out" / "curves.parquet")
    with pytest.raises(StoreError, match="holds no results"):
        read(tmp_path / "out")


def test_changed_tables_are_read_again(study: Path, tmp_path: Path) -> None:
    export(study, tmp_path / "out")
    assert len(read(tmp_path / "out").runs) == 3
    with Store.create_or_open(study) as store:
        store.add(made_up(9))
    export(study, tmp_path / "out", overwrite=True)
    assert len(read(tmp_path / "out").runs) == 4


def test_parquet_is_imported_where_it_is_read() -> None:
    # It has imported more than the store, and has read nothing.
    process = forked.start("import sys, hackle.store; sys.exit('pyarrow.parquet' in sys.modules)")
    process.join()
    assert process.exitcode == 0
