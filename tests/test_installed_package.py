"""A package that pip has installed offers parts by its entry points, and the command line knows them by their own names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PARTS = '''
from dataclasses import dataclass

import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.source import Source
from hackle.metrics import Metric, Row
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.core.types import Losses


def loss(nets, step, run):
    found = evidence(nets, step, run)
    return Losses(found.reconstruction + run.method.patience * found.kl, found.terms)


@dataclass(frozen=True)
class PatientVAE(Autoencoder):
    """A VAE with a weight called patience."""

    name = "patient-vae"

    patience: float = 2.0

    def phases(self, run):
        return (autoencoder_phase(loss, run),)


def load_squares(root):
    """Squares at 4 x 4 places."""
    grid = FactorGrid([Factor("x", 4), Factor("y", 4)])
    images = np.zeros((16, 16, 16, 1), np.uint8)
    for image, (x, y) in zip(images, grid.rows(np.arange(16)), strict=True):
        image[4 * y : 4 * y + 3, 4 * x : 4 * x + 3] = 255
    return ArrayDataset("squares", images, grid)


SQUARES = Source("squares", "Squares", "16 x 16", "x 4, y 4", "", load_squares)
'''
METRIC = """
import numpy as np

from hackle.metrics import Metric, Row

REACH = Metric("reach", lambda seen: float(np.ptp(seen.codes)), (Row("reach", "reach of codes", "reach", 0.0, None),))
"""
ENTRIES = "[hackle]\nparts = a_package_of_parts.parts\none = a_package_of_parts.metric:REACH\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has installed a wheel."""
    folder = tmp_path_factory.mktemp("installed")
    wheel, about = folder / "a_package_of_parts-1.0-py3-none-any.whl", "a_package_of_parts-1.0.dist-info"
    files = {
        "a_package_of_parts/__init__.py": "",
        "a_package_of_parts/parts.py": PARTS,
        "a_package_of_parts/metric.py": METRIC,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: a-package-of-parts\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": ENTRIES,
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{about}/RECORD": "".join(f"{name},,\n" for name in files)}.items():
            archive.writestr(name, text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", str(folder / "site"), str(wheel)], check=True, capture_output=True)
    return folder / "site"


COMMANDS = """
parts
train patient-vae --dataset squares --architecture mlp --patience 3 --steps 3 --latents 2 --batch-size 8 --out run
score run --metrics mig,reach --fraction 0.02 --json scores.json
"""


@pytest.fixture(scope="module")
def used(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands were given, with what they said; one after the other in one process, which takes long to start."""
    folder = tmp_path_factory.mktemp("used")
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    code = f"from hackle.cli.main import main\nfor words in {COMMANDS.strip()!r}.splitlines(): main(words.split())"
    command, environment = [sys.executable, "-P", "-c", code], {**os.environ, "PYTHONPATH": path}
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr
    (folder / "said").write_text(answer.stdout)
    return folder


def test_parts_of_an_installed_package_are_listed_with_its_name(used: Path) -> None:
    listed = [line.split() for line in (used / "said").read_text().splitlines()]
    theirs = [" ".join(words[:-1]) for words in listed if words[-1:] == ["a-package-of-parts"]]
    assert theirs == ["method patient-vae", "data set squares", "metric reach"]


def test_parts_of_an_installed_package_train_and_score_by_name(used: Path) -> None:
    content = json.loads((used / "run" / "run.json").read_text())
    assert content["record"]["method"] == {"type": "a_package_of_parts.parts:PatientVAE", "patience": 3.0}
    assert "a_package_of_parts.parts:PatientVAE" in content["sources"]
    # Whoever has installed a package trusts it: nothing needs --trust.
    rows = json.loads((used / "scores.json").read_text())
    assert {row["metric"] for row in rows} == {"mig", "reach"}
    assert all(row["score"] > 0 for row in rows if row["metric"] == "reach")
