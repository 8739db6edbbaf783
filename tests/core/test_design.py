"""A new field of `Run` that people should see costs one edit, in the record: everything else follows from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hackle
from hackle.core.design import CONFIGURATION, DEFAULTS, DESIGN, REGIMES, USUAL, design_of, heading
from hackle.core.records import record_hash
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.core.types import shown_fields
from made_up_outcomes import made_up_run

SOURCE = Path(hackle.__file__).parent
TESTS = Path(__file__).parents[1]
BEFORE = "    optimiser: Adam = Adam()\n"
EDIT = '    warmth: float = shown(0.5, "How warm the run is.", word="ω", later=True)\n'

SCRIPT = r"""
import gzip, json, sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import hackle
from hackle.cli.main import main
from hackle.claims.view import complete
from hackle.core.records import record_hash
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.explorer.catalogue import Catalogue
from hackle.explorer.listing import Listing, facts_of
from hackle.report.study_scores import score_data
from hackle.report.study_sections import setting_names
from hackle.store import FILE, Store, read
from hackle.studies.folder import LABEL, label_of
from hackle.train.record_files import read_record
from made_up_outcomes import made_up, made_up_run

folder = Path(sys.argv[1])
assert record_hash(made_up_run()) == sys.argv[2], "a run from before the field has another hash"

# The command line, and the run's folder.
images = np.random.default_rng(0).integers(0, 2, (8, 64, 64, 1)).astype(np.uint8) * 255
np.savez(folder / "own.npz", images=images)
words = ["train", "vae", "--dataset", str(folder / "own.npz"), "--steps", "1", "--batch-size", "2", "--device", "cpu"]
main([*words, "--warmth", "0.25", "--out", str(folder / "run")])
run, _ = read_record(folder / "run")
assert run.warmth == 0.25

# A store that an older hackle made is extended and read.
with Store.create_or_open(folder / "study") as store:
    old = len(store.known())
    store.add(replace(made_up(0), run=made_up_run(0, warmth=0.25)))
    store.add(replace(made_up(0), run=made_up_run(0)))
    runs = store.runs()
assert sorted(runs["warmth"]) == [0.25] + [0.5] * (old + 1)
frame = hackle.results(folder / "study")
assert set(frame["warmth"]) == {0.25, 0.5}
with Store.open(folder / "study") as store:
    assert set(store.connection.execute("SELECT DISTINCT warmth FROM results")) == {(0.25,), (0.5,)}

# The explorer's list, of a study and of folders, and its facts of a run.
for place in (folder / "study", folder / "run"):
    catalogue = Catalogue(place)
    listed = json.loads(gzip.decompress(Listing(catalogue).answer()[1]))
    (column,) = [column for column in listed["columns"] if column["key"] == "warmth"]
    assert (column["kind"], column["word"]) == ("number", "ω") and 0.25 in column["values"]
row = catalogue.row(catalogue.contents.runs["id"][0])
assert {"name": "warmth", "text": "ω = 0.25", "telling": True} in facts_of(row)

# The report, the claims and the status of a study.
tables = read(folder / "study")
data = score_data(tables)
at = data["names"].index("ω")
assert {setting[at] for setting in data["settings"]} == {0.25, 0.5}
assert sum("ω = 0.25" in name for name in setting_names(tables.runs)) == 1
assert complete({"method": "vae"})["warmth"] == 0.5
assert label_of(run)[LABEL.index("warmth")] == 0.25
main(["study", "status", str(folder / "study")])
main(["train", "vae", "--help"])
"""


def test_a_new_field_that_people_see_costs_one_edit(tmp_path: Path) -> None:
    """One line is added to a copy of hackle, and the field is everywhere."""
    copy = tmp_path / "src" / "hackle"
    shutil.copytree(SOURCE, copy)
    types = copy / "core" / "types.py"
    text = types.read_text()
    assert text.count(BEFORE) == 1
    types.write_text(text.replace(BEFORE, EDIT + BEFORE))
    study = tmp_path / "study"
    study.mkdir()
    shutil.copy(TESTS / "store" / "schema-1" / "results.sqlite", study)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}:{TESTS}", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), record_hash(made_up_run())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    # The last words are those of `hackle train --help`, which leaves by itself.
    assert done.returncode == 0, done.stderr
    assert "--warmth FLOAT" in done.stdout
    assert "How warm the run is. (default: 0.5)" in done.stdout
    assert "ω" in done.stdout.partition("done")[0]


def test_what_people_know_a_run_by() -> None:
    run = made_up_run(3, "factor-vae", 7.0, correlation=0.5)
    assert list(design_of(run)) == list(DESIGN)
    assert design_of(run)["strength"] == 7.0
    assert {*shown_fields(), *REGIMES} == {*DEFAULTS, "dataset"}
    assert set(DESIGN) - set(CONFIGURATION) == {"seed", "steps", "batch_size", "precision"}
    plain = {"correlation": 0.0, "kl_warmup": 0.0, "held_out": 0, "start_from": ""}
    assert plain | {"drawing": "", "pairs": "", "labels": ""} == USUAL
    assert (heading("correlation"), heading("dataset"), heading("batch_size")) == ("σ", "data set", "batch size")


def test_a_regime_is_a_column_of_words() -> None:
    run = made_up_run(
        drawing=Drawing("x~y", 0.4, "extrapolation"), pairs=Pairs("resample", 1), labels=Labels(100, "noisy")
    )
    assert [design_of(run)[name] for name in REGIMES] == [
        "correlated x~y, sigma 0.4, left out extrapolation",
        "rule resample, changed 1",
        "images 100, kind noisy",
    ]
    assert [design_of(made_up_run())[name] for name in REGIMES] == ["", "", ""]
