"""Columns follow from records: of any store, whatever hackle made it, and of fields that nobody has named a column for."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hackle
from hackle.core.design import DEFAULTS, DESIGN, design_of
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.core.types import Adam
from hackle.nets import MLP
from hackle.objectives import VAE, BetaVAE, FactorVAE
from hackle.store import FILE, Store, export, merge, read
from hackle.store.records import field_columns, swept_fields
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Outcome, differing_sources
from made_up_outcomes import made_up, made_up_run, made_up_scores

OLD = Path(__file__).parent / "schema-1" / FILE
"""Seven runs of a study, stored by hackle 0.1."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with a store of schema 1, which had a column for each field that people see."""
    (tmp_path / "old").mkdir()
    return Path(shutil.copy(OLD, tmp_path / "old" / FILE)).parent


def columns_of(folder: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(folder / FILE)) as connection:
        return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


def test_the_columns_of_a_table_are_the_runs_own_values() -> None:
    runs = [
        made_up_run(3, "factor-vae", 7.0, correlation=0.5),
        replace(made_up_run(4, "vae"), likelihood="gaussian", steps=10),
    ]
    texts = [json.dumps(hackle.core.records.to_json(run), sort_keys=True) for run in runs]
    found = pd.DataFrame(field_columns(texts))
    for row, run in zip(found.to_dict("records"), runs, strict=True):
        assert {**design_of(run), **row} == pytest.approx(design_of(run), nan_ok=True)
    assert list(found) == list(DEFAULTS)
    assert set(DESIGN) - set(found) == {"dataset", "method", "strength", "architecture"}
    assert found["seed"].dtype == np.int64


def test_a_field_that_a_record_lacks_has_its_default_and_other_seeds_are_no_seed_of_the_run() -> None:
    found = field_columns(['{"seed":5}', '{"method":{"seed":8},"seed":6}', '{"method":{"seed":9},"seed":7}', "{}"])
    assert found["seed"].tolist() == [5, 6, 7, 0]
    assert set(found["latents"]) == {10}
    assert found["correlation"].dtype == float


def test_an_old_store_reads_as_its_columns_say(old: Path) -> None:
    before = (old / FILE).read_bytes()
    runs = read(old).runs.astype({"run": str}).set_index("run")
    with closing(sqlite3.connect(OLD)) as connection:
        stored = pd.read_sql_query("SELECT * FROM runs", connection).set_index("run")
    newer = set(DESIGN) - set(stored)
    assert all((runs[name] == DEFAULTS[name]).all() for name in newer)
    for name in set(DESIGN) - newer:
        found: Any = runs.loc[stored.index, name]
        np.testing.assert_array_equal(found.to_numpy(), stored[name].astype(found.dtype).to_numpy())
    assert set(runs["sources"]) == {""}
    assert (old / FILE).read_bytes() == before


def test_an_old_store_is_extended_and_gains_what_it_lacks(old: Path) -> None:
    count = len(read(old).runs)
    with Store.create_or_open(old) as store:
        store.add(made_up(7, "vae"))
        store.check(thorough=True)
    tables = read(old)
    assert len(tables.runs) == count + 1
    assert list(tables.runs) == list(RUN_COLUMNS)
    assert columns_of(old, "results") == list(SCORE_COLUMNS)
    with Store.create_or_open(old.parent / "new") as store:
        store.add(made_up(8, "vae"))
    assert columns_of(old.parent / "new", "results") == list(SCORE_COLUMNS)
    assert merge(old, old.parent / "new") == (1, 0, 0)
    assert merge(old.parent / "new", old) == (count + 1, 1, 0)
    pd.testing.assert_frame_equal(read(old).scores, read(old.parent / "new").scores)


def test_every_swept_field_is_a_column_of_the_results(tmp_path: Path) -> None:
    methods = (BetaVAE(1.0), BetaVAE(4.0), FactorVAE(gamma=10.0), VAE())
    runs = [replace(made_up_run(0), method=method) for method in methods]
    # The record of the first of these says nothing of the newer field, which has its default there.
    runs.append(replace(made_up_run(0, "vae"), optimiser=Adam(learning_rate=1e-3, clip_norm=5.0)))
    with Store.create_or_open(tmp_path) as store:
        for run in runs:
            store.add(Outcome(run, "done", scores=made_up_scores(metrics=1)))
    frame = hackle.results(tmp_path)
    assert list(frame)[:6] == ["run", "dataset", "method", "strength", "beta", "gamma"]
    assert set(frame) - set(SCORE_COLUMNS) == {"beta", "gamma", "learning_rate", "clip_norm"}
    of = frame.drop_duplicates("run").set_index(["method", "strength"]).sort_index()
    assert of.loc[("beta-vae", 4.0), "beta"] == 4.0
    assert of.loc[("factor-vae", 10.0), "gamma"] == 10.0
    assert np.isnan(of.loc[("factor-vae", 10.0), "beta"])
    assert sorted(of.loc["vae", "learning_rate"]) == [1e-4, 1e-3]
    assert sorted(of.loc["vae", "clip_norm"]) == [0.0, 5.0]
    assert "beta" in pd.read_csv(export(tmp_path, tmp_path / "out", file_format="csv")[0])


def test_a_swept_field_whose_name_is_taken_goes_by_its_path() -> None:
    records = [
        json.dumps({"method": {"score": s, "optimiser": {"learning_rate": s}}, "optimiser": {"learning_rate": 2 * s}})
        for s in (1.0, 2.0)
    ]
    frame = pd.DataFrame({"record": records, "strength": [np.nan, np.nan]})
    found = swept_fields(frame, SCORE_COLUMNS)
    assert list(found) == ["method.score", "method.optimiser.learning_rate", "optimiser.learning_rate"]


OWN = """
from dataclasses import dataclass
from hackle.objectives import BetaVAE

@dataclass(frozen=True)
class Warm(BetaVAE): ...
"""


def test_the_source_of_ones_own_parts_is_stored_and_a_change_of_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "my_method_for_sources.py"
    with Store.create_or_open(tmp_path / "study") as store:
        for seed, text in enumerate((OWN, OWN, OWN + "# changed\n")):
            file.write_text(text)
            own = __import__("my_method_for_sources").Warm(2.0)
            store.add(Outcome(replace(made_up_run(seed), method=own), "done", scores=made_up_scores(metrics=1)))
        store.add(made_up(0))
        assert not differing_sources(store.runs().iloc[:2])
        (note,) = differing_sources(store.runs())
    del sys.modules["my_method_for_sources"]
    assert note.startswith("my_method_for_sources:Warm was not the same for all runs: its file had the hash")
    assert "for 2 of them" in note
    frame = hackle.results(tmp_path / "study")
    assert frame.groupby("method", observed=True)["sources"].nunique().to_dict() == {"Warm": 2, "beta-vae": 1}
    assert set(frame.loc[frame["method"] == "beta-vae", "sources"]) == {""}
    assert "sources" not in hackle.results(OLD)


def test_sources_of_hackles_own_records_are_empty(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(replace(made_up_run(0), architecture=MLP()), "done"))
        assert store.runs()["sources"].tolist() == [""]


def test_regimes_are_columns_of_words_in_every_table(tmp_path: Path) -> None:
    regimes = {"drawing": Drawing("x~y", 0.4), "pairs": Pairs("resample", 1), "labels": Labels(100, seed=3)}
    with Store.create_or_open(tmp_path) as store:
        store.add(replace(made_up(0), run=made_up_run(0, **regimes)))
        store.add(replace(made_up(1), run=made_up_run(1)))
    runs: Any = read(tmp_path).runs.sort_values("seed")
    assert list(runs["drawing"]) == ["correlated x~y, sigma 0.4", ""]
    assert list(runs["pairs"]) == ["rule resample, changed 1", ""]
    assert list(runs["labels"]) == ["images 100, seed 3", ""]
    results: Any = hackle.results(tmp_path)
    assert set(results.loc[results["seed"] == 0, "pairs"]) == {"rule resample, changed 1"}


def test_the_view_in_sql_names_a_regime_in_the_words_of_the_tables(tmp_path: Path) -> None:
    regimes: list[dict[str, Any]] = [
        {},
        {"drawing": Drawing("x~y", 0.4, "shape=square & x>0.5"), "pairs": Pairs("laplace", rate=-1.0)},
        {"pairs": Pairs("resample", 1), "labels": Labels(100, "noisy", noise=0.25, seed=3)},
    ]
    with Store.create_or_open(tmp_path) as store:
        for seed, fields in enumerate(regimes):
            store.add(replace(made_up(seed), run=made_up_run(seed, **fields)))
        words = set(store.connection.execute("SELECT DISTINCT drawing, pairs, labels FROM results"))
        table = store.runs()[["drawing", "pairs", "labels"]]
    assert words == set(table.astype(str).itertuples(index=False, name=None))
    assert ("correlated x~y, sigma 0.4, left out shape=square & x>0.5", "rule laplace, rate -1", "") in words


def test_whole_numbers_are_columns_unless_they_are_too_large_or_told_in_words() -> None:
    """A record from elsewhere may hold any number; one that a column cannot hold as it is, is none."""

    def record(hidden: int, huge: int, images: int) -> str:
        return json.dumps({"method": {"width": huge}, "architecture": {"hidden": hidden}, "labels": {"images": images}})

    records = [record(128, 10**400, 100), record(256, 10**400 + 1, 1000)]
    frame = pd.DataFrame({"record": records, "strength": [np.nan, np.nan]})
    found = swept_fields(frame, SCORE_COLUMNS)
    assert found.to_dict("list") == {"hidden": [128.0, 256.0]}
