"""Study folders as someone who wishes you ill would send them."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile_folders import SCORES, SHAPE, good_folder, small
from safetensors.torch import save

import hackle
from hackle.claims import CLAIMS, Claim, View, judge
from hackle.cli.main import main
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.engine.folder import StudyFolder
from hackle.engine.tasks import TrainedRun
from hackle.figures.chart import Axis, Chart, Panel, Series
from hackle.figures.files import svg
from hackle.nets import Convolutional
from hackle.objectives import BetaVAE
from hackle.report import with_pictures
from hackle.report.run_page import curves_figure
from hackle.selection import select
from hackle.store import Store, StoreError, read
from hackle.store.merging import repair
from hackle.store.tables import Outcome, Tables
from hackle.studies.folder import read_wanted
from hackle.studies.study import StudyError
from hackle.train import DamagedCheckpoint
from hackle.train.model import Model

MAGIC = bytes.fromhex("d9d505f920a163d7")


def study_with_journal(folder: Path, victim: Path) -> Path:
    """A store beside which lies a journal of a transaction over several files, of which SQLite deletes the one it names."""
    Store.create_or_open(folder, "theirs").connection.close()
    pages = (folder / "results.sqlite").stat().st_size // 8192
    head = (MAGIC + struct.pack(">IIIII", 0, 12345, pages, 512, 8192)).ljust(512, b"\0")
    name = str(victim).encode()
    end = struct.pack(">I", 0x40000000 // 8192 + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    (folder / "results.sqlite-journal").write_bytes(head + end)
    return folder


@pytest.mark.parametrize("read", [Store.open, Store.create_or_open, repair], ids=["read", "written", "repaired"])
def test_reading_a_store_deletes_no_file(tmp_path: Path, read: object) -> None:
    victim = tmp_path / "mine"
    victim.write_text("what a stranger's folder must not delete")
    folder = study_with_journal(tmp_path / "theirs", victim)
    with pytest.raises(StoreError, match="names another journal"):
        read(folder)  # type: ignore[operator]
    assert victim.exists()


@pytest.mark.parametrize("kind", ["journal", "wal", "shm"])
@pytest.mark.parametrize("read", [Store.open, Store.create_or_open, repair], ids=["read", "written", "repaired"])
def test_a_store_beside_a_pipe_or_link_is_not_read(tmp_path: Path, kind: str, read: object) -> None:
    """SQLite would wait for what comes out of the pipe."""
    Store.create_or_open(tmp_path / "theirs", "theirs").close()
    beside = tmp_path / "theirs" / f"results.sqlite-{kind}"
    for make in (os.mkfifo, lambda path: path.symlink_to(tmp_path / "mine")):
        make(beside)
        with pytest.raises(StoreError, match=f"results.sqlite-{kind} is no file"):
            read(tmp_path / "theirs")  # type: ignore[operator]
        beside.unlink()


def test_a_nested_study_json_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("[" * 100_000)
    with pytest.raises(StudyError, match="nested too deep"):
        read_wanted(tmp_path)


def test_a_study_json_without_end_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "study.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(StudyError, match="at most"):
        read_wanted(tmp_path)


def test_a_study_json_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "theirs" / "study.json").symlink_to(tmp_path / "secret")
    with pytest.raises(StudyError, match="leaves its folder"):
        read_wanted(tmp_path / "theirs")


@pytest.mark.parametrize("read", [Store.open, Store.create_or_open], ids=["read", "written"])
def test_a_store_elsewhere_is_not_read(tmp_path: Path, read: object) -> None:
    Store.create_or_open(tmp_path / "mine", "mine").connection.close()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "results.sqlite").symlink_to(tmp_path / "mine" / "results.sqlite")
    with pytest.raises(StoreError, match="link that leaves its folder"):
        read(tmp_path / "theirs")  # type: ignore[operator]


def one_run(folder: Path, **cells: str) -> Path:
    """A study of a run whose cells were changed."""
    with Store.create_or_open(folder, "theirs") as store:
        store.add(Outcome(small(), "done", scores=SCORES))
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection:
        for name, value in cells.items():
            connection.execute(f"UPDATE runs SET {name} = ?", (value,))
        connection.commit()
    return folder


@pytest.mark.parametrize("sources", ["nonsense", "[1]", '{"my.py:Mine": ["x"]}', "[" * 100_000])
def test_sources_that_are_no_hashes_are_refused_in_words(
    tmp_path: Path, sources: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["study", "status", str(one_run(tmp_path, sources=sources))])
    assert "results.sqlite holds what hackle does not write" in capsys.readouterr().err


def test_a_record_of_many_fields_is_not_made_a_table(tmp_path: Path) -> None:
    """Each may tell settings apart, and figures compare them all."""
    record = json.dumps({f"field{number}": 0.5 for number in range(100_000)} | {"seed": 1})
    with pytest.raises(StoreError, match="a record of 100,000 fields"):
        read(one_run(tmp_path, record=record))


def test_a_study_json_of_many_groups_is_not_shown(tmp_path: Path) -> None:
    group = {"label": {"dataset": "a", "method": "b", "architecture": "c"}, "runs": ["x"]}
    (tmp_path / "study.json").write_text(json.dumps({"study": "theirs", "options": {}, "groups": [group] * 100_000}))
    with pytest.raises(StudyError, match="100,000 groups of runs"):
        read_wanted(tmp_path)


def trained_in(study: Path, run: Run) -> Path:
    """A study's folder with weights for a run that waits to be scored; the file of weights."""
    metadata = {"shape": json.dumps(SHAPE), "seconds": "1.0", "device": "cpu"}
    weights = save(Model(run, SHAPE).weights(), metadata)
    StudyFolder(study).put(TrainedRun(small(), SHAPE, weights, "", {"step": np.arange(1)}, 1.0, "cpu"))
    return study / "runs" / record_hash(small()) / "weights.safetensors"


def test_weights_elsewhere_are_not_scored(tmp_path: Path) -> None:
    weights = trained_in(tmp_path / "theirs", small())
    assert StudyFolder(tmp_path / "theirs").take(small()).shape == SHAPE
    weights.rename(tmp_path / "mine")
    weights.symlink_to(tmp_path / "mine")
    with pytest.raises(DamagedCheckpoint, match="leaves its folder"):
        StudyFolder(tmp_path / "theirs").take(small())


def test_weights_of_other_networks_are_not_scored(tmp_path: Path) -> None:
    trained_in(tmp_path, small(latents=3))
    with pytest.raises(DamagedCheckpoint, match=r"has the shape .*, expected the shape"):
        StudyFolder(tmp_path).take(small())


@pytest.mark.parametrize("verb", ["status", "select"])
def test_names_in_a_store_are_printed_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """Neither as rich's markup, in which a closing tag alone is an error, nor as commands to the terminal."""
    with Store.create_or_open(tmp_path, "locatello2019") as store:
        for seed in range(2):
            store.add(
                Outcome(small(seed=seed, dataset="[/x]\x1b]0;title\x07\x9b2J\u202e\u2066"), "done", scores=SCORES)
            )
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as file:
        file.execute("UPDATE runs SET method = '[/y]\x1b[2J'")
        file.commit()
    main(["study", verb, str(tmp_path), *(["--scores", "mig"] if verb == "select" else [])])
    told = "".join(capsys.readouterr())
    assert "[/x]" in told
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"} & set(told)


ARRAYS = {
    "one number": np.float64(1),
    "a row": np.zeros(40),
    "three axes": np.zeros((40, 2, 2)),
    "nothing": np.zeros((0, 2)),
    "NaN": np.full((40, 2), np.nan),
    "a range beyond floats": np.array([[1e308, 0.0], [-1e308, 0.0]] * 20),
    "texts": np.full((40, 2), "x"),
    "bytes": np.zeros((40, 2), "V8"),
    "dates": np.zeros((40, 2), "M8[s]"),
    "complex numbers": np.ones((40, 2), complex),
    "as many codes as weights": np.zeros((20, 20_000), np.float32),
}


@pytest.mark.parametrize("name", ["codes", "kl"])
@pytest.mark.parametrize("odd", ARRAYS.values(), ids=ARRAYS)
def test_runs_with_odd_arrays_are_left_out_of_a_choice(tmp_path: Path, name: str, odd: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    with Store.create_or_open(tmp_path, "locatello2019") as store:
        for seed in range(3):
            # Latents of a forged record are not counted one by one.
            run = small(seed=seed, latents=2 if seed else 10**9)
            arrays = {"codes": rng.normal(size=(40, 2)), "kl": np.ones(2)} | ({} if seed else {name: odd})
            store.add(Outcome(run, "done", scores=SCORES, arrays=arrays))
    found = select(read(tmp_path), scores=["mig"])
    assert int(np.isfinite(found.criteria["udr"].to_numpy(float)).sum()) == 2


def scored_and_odd(folder: Path, odd: np.ndarray) -> Tables:
    """Runs of a study that claims are about, some of them with an odd array."""
    rng = np.random.default_rng(0)
    with Store.create_or_open(folder, "locatello2019") as store:
        for strength, seed in product((1.0, 2.0, 4.0, 6.0, 8.0, 16.0), range(4)):
            arrays = {"codes": rng.normal(size=(40, 2)), "kl": np.ones(2)} | ({} if seed else {"codes": odd, "kl": odd})
            run = Run(BetaVAE(strength), Convolutional(), "dsprites", seed=seed)
            rows = [
                {**SCORES[0], "metric": name, "score": rng.random()}
                for name in ("beta_vae", "factor_vae", "mig", "dci_disentanglement")
            ]
            store.add(
                Outcome(run, "done", scores=rows, arrays=arrays | {"informativeness": odd, "mutual_information": odd})
            )
    return read(folder)


class Asked(BaseException):
    """An array was asked for."""


@pytest.fixture(scope="module")
def of_arrays(tmp_path_factory: pytest.TempPathFactory) -> list[Claim]:
    """The claims that read arrays of these runs: to the others it is all one what is in them."""

    def ask(name: str) -> Any:
        raise Asked

    tables, found = scored_and_odd(tmp_path_factory.mktemp("plain"), np.zeros((40, 2))), []
    view = View(replace(tables, array=ask))
    for claim in CLAIMS.values():
        try:
            claim.test(view)
        except Asked:
            found.append(claim)
    return found


@pytest.mark.parametrize("odd", ARRAYS.values(), ids=ARRAYS)
def test_claims_and_figures_leave_out_odd_arrays(tmp_path: Path, odd: np.ndarray, of_arrays: list[Claim]) -> None:
    tables = scored_and_odd(tmp_path, odd)
    assert not tables.array("mutual_information"), "figures read these"
    found = {one.claim.name: one for one in judge(tables, of_arrays)}
    assert found["udr-follows-supervised-scores"].evidence.runs


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("|O", "4"),
        ("|V32", "1"),
        ("<f4", "4611686018427387904,4"),
        ("<f4", "99999999999999999999"),
        ("<f4", "-1,-1"),
        ("<f4", "9" * 5000),
        ("<f4,<f4", "4"),
        ("no type", "8"),
    ],
)
@pytest.mark.parametrize("table", ["arrays", "curves"])
def test_an_array_of_objects_or_of_a_shape_that_it_has_not_is_refused(
    tmp_path: Path, table: str, dtype: str, shape: str
) -> None:
    with Store.create_or_open(tmp_path, "theirs") as store:
        curves = {"step": np.arange(1, 9), "kl": np.ones(8)}
        store.add(Outcome(small(), "done", scores=SCORES, curves=curves, arrays={"kl": np.zeros(8, np.float32)}))
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        connection.execute(f"UPDATE {table} SET dtype = ?, shape = ? WHERE name = 'kl'", (dtype, shape))
        connection.commit()
    tables = read(tmp_path)
    look = tables.array if table == "arrays" else tables.curve
    # Refused in words, or left out as what no study keeps.
    refused = ""
    try:
        refused = "taken" if len(look("kl")) else ""
    except StoreError as error:
        refused = str(error)
    assert refused == "" or "results.sqlite" in refused


def test_names_are_drawn_as_text(tmp_path: Path) -> None:
    """Between two dollar signs matplotlib would look for a formula, and fail."""
    name = r"$\frac$ </text><script>"
    frame = pd.DataFrame({"x": [0.0], "y": [1.0], "series": [name], "run": ["r"]})
    panel = Panel(title=name, x=Axis(name), y=Axis(name), points=frame)
    assert "&lt;/text&gt;&lt;script&gt;" in svg(Chart(rows=((panel,),), series=(Series(name),)), "figure")
    (tmp_path / "curves.csv").write_text(f"step,{name}\n1,2\n")
    figure = curves_figure(tmp_path)
    assert figure is not None
    figure.canvas.draw()


@pytest.mark.parametrize("name", ["../../mine", "absolute", "link"])
def test_a_report_draws_no_model_from_elsewhere(tmp_path: Path, name: str) -> None:
    """A table says what a run is called, and so where its weights would lie."""
    mine = good_folder(tmp_path / "mine")
    (tmp_path / "theirs" / "runs").mkdir(parents=True)
    (tmp_path / "theirs" / "runs" / "link").symlink_to(mine)
    called = str(mine) if name == "absolute" else name
    runs = pd.DataFrame({"run": [called], "dataset": ["rooms3d"]})
    tables = Tables(pd.DataFrame(), runs)
    drawn: Any = [with_pictures(tables, tmp_path / "theirs", trust=trust).array("samples") for trust in (False, True)]
    assert [list(pictures._looks._places) for pictures in drawn] == [[], [called]]


def test_links_to_folders_of_runs_elsewhere_are_left_out(tmp_path: Path) -> None:
    good_folder(tmp_path / "mine")
    good_folder(tmp_path / "theirs" / "run")
    (tmp_path / "theirs" / "link").symlink_to(tmp_path / "mine")
    assert len(hackle.results(tmp_path / "theirs")) == 1
