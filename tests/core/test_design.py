"""A new field of `Run` that people should see costs one edit, in the record, and a new part one file: everything else follows
from these."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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

PARTS = {
    "objectives/hot_vae.py": """
from dataclasses import dataclass

from hackle.core.types import Losses
from hackle.objectives.vae import Autoencoder, evidence_phase


def _loss(elbo, step, run):
    return Losses(elbo.reconstruction + run.method.heat * elbo.kl, elbo.terms)


@dataclass(frozen=True)
class HotVAE(Autoencoder):
    name, title, symbol = "hot-vae", "HotVAE", "h"

    heat: float = 2.0

    def phases(self, run):
        return (evidence_phase(_loss, run),)
""",
    "nets/tiny.py": """
from dataclasses import dataclass

from hackle.nets.mlp import MLP


@dataclass(frozen=True)
class Tiny(MLP):
    name, title = "tiny", "tiny"

    widths: tuple[int, ...] = (4,)
""",
    "datasets/bars.py": """
import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.source import Source


def load(root):
    grid = FactorGrid([Factor("height", 4), Factor("place", 4)])
    images = np.zeros((16, 8, 8, 1), np.uint8)
    for image, (height, place) in zip(images, grid.rows(np.arange(16))):
        image[: 2 * height + 2, 2 * place] = 255
    return ArrayDataset("bars", images, grid)


SOURCE = Source("bars", "Bars", "16 of 8×8×1", "height 4, place 4", "", load)
""",
    "metrics/spread.py": """
import numpy as np

from hackle.metrics.metric import Metric, Row

SPREAD = Metric("spread", lambda e: float(np.std(e.codes)), (Row("spread", "spread of codes", "spread", 0.0, None),))
""",
    "papers/lab2026/__init__.py": """
from hackle.core.papers import Paper

PAPER = Paper("lab2026", "Lab 2026", "Notes", rank=99)
""",
    "papers/lab2026/protocols.py": """
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol

SMALL = Protocol("lab2026", PlanSizes(60, 30, 20, 10, 4, 20, 10, 4), bins=4, posterior_bins=20)
""",
    "papers/lab2026/study.py": """
from hackle.studies.presets import default_run
from hackle.studies.study import Study

STUDY = Study("lab2026", lambda seeds=1: [default_run("hot-vae", "bars")], "Lab 2026: heat", ("lab2026",))
""",
    "papers/lab2026/claims.py": """
from hackle.claims import Claim, Region, Stratum
from hackle.claims.measures import value

CLAIM = Claim(
    "codes-vary", "lab2026", "Figure 1", "Codes vary.", "spread", Region(low=0.0), value("spread"),
    (Stratum("bars", ({"method": "hot-vae", "dataset": "bars"},)),),
)
""",
    "papers/lab2026/figures.py": """
from hackle.figures import Exhibit, Runs, panels
from hackle.figures.panels import swarm

FIGURE = Exhibit("lab2026", "Figure 1", "Codes vary", "Spread.", Runs(("spread",)), panels(swarm, "spread", "method"))
""",
}
"""A file, beside its package, for a part of each kind."""

SCRIPT = r"""
import gzip, json, sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import hackle
from hackle.cli.main import main
from hackle.claims.conditions import complete
from hackle.core.records import record_hash
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.explorer.catalogue import Catalogue
from hackle.explorer.listing import Listing, facts_of
from hackle.report.study_scores import score_data
from hackle.report.setting_names import setting_names
from hackle.store import FILE, Store, read
from hackle.studies import STUDIES
from hackle.studies.folder import LABEL, label_of
from hackle.train.record_files import read_record
from made_up_outcomes import made_up, made_up_run

folder = Path(sys.argv[1])
assert record_hash(made_up_run()) == sys.argv[2], "a run from before the field has another hash"

# The command line, and the run's folder; of new parts by their names, which need no trust.
words = ["train", "hot-vae", "--dataset", "bars", "--architecture", "tiny", "--steps", "1", "--batch-size", "2"]
main([*words, "--device", "cpu", "--latents", "3", "--heat", "3", "--warmth", "0.25", "--out", str(folder / "run")])
run, _ = read_record(folder / "run")
assert (run.warmth, run.method.heat) == (0.25, 3.0)
main(["score", str(folder / "run"), "--metrics", "spread", "--protocol", "lab2026", "--device", "cpu"])
(row,) = {(row["metric"], row["protocol"]) for row in json.loads((folder / "run" / "scores.json").read_text())}
assert row == ("spread", "lab2026")
assert [type(planned.method) for planned in STUDIES["lab2026"].runs()] == [type(run.method)]

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
main(["parts"])
main(["train", "vae", "--help"])
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One line and a file for each kind of part are added to a copy of hackle, and the field and the parts are everywhere."""
    tmp_path = tmp_path_factory.mktemp("copy")
    copy = tmp_path / "src" / "hackle"
    shutil.copytree(SOURCE, copy)
    types = copy / "core" / "types.py"
    text = types.read_text()
    assert text.count(BEFORE) == 1
    types.write_text(text.replace(BEFORE, EDIT + BEFORE))
    for name, content in PARTS.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(content)
    study = tmp_path / "study"
    study.mkdir()
    shutil.copy(TESTS / "store" / "schema-1" / "results.sqlite", study)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}:{TESTS}", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), record_hash(made_up_run())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    # The last words are those of `hackle train --help`, which leaves by itself.
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_field_that_people_see_costs_one_edit(said: str) -> None:
    assert "--warmth FLOAT" in said
    assert "How warm the run is. (default: 0.5)" in said
    assert "ω" in said.partition("done")[0]


def test_a_new_part_of_any_kind_costs_one_file(said: str) -> None:
    listed = {tuple(line.rsplit(maxsplit=2)) for line in map(str.strip, said.splitlines()) if line.endswith("hackle")}
    new = ["hot-vae", "tiny", "bars", "spread", *["lab2026"] * 2, "lab2026.codes-vary", "lab2026-figure-1"]
    kinds = ["method", "architecture", "data set", "metric", "protocol", "study", "claim", "figure"]
    assert {(kind, name, "hackle") for kind, name in zip(kinds, new, strict=True)} <= listed


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
