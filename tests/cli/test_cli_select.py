"""`hackle study select` on a made study: what it prints, and that the study is only read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hackle.cli.main import main
from hackle.core.regimes import Drawing, Pairs
from hackle.metrics import mig_score
from hackle.store import Store
from hackle.store.tables import Outcome
from hackle.studies.presets import default_run
from selection.made_study import FACTORS, SEEDS, codes_of, made_study, write_data


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def without_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose data set is not here."""
    folder = tmp_path_factory.mktemp("made")
    return made_study(folder / "study", str(folder / "gone.npz"))


def test_it_ranks_and_says_what_each_choice_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_study(tmp_path / "study", str(write_data(tmp_path)))
    before = hashes(folder)
    out = tmp_path / "choices.csv"
    main(["study", "select", str(folder), "--scores", "mig", "--labels", "100,1000", "--csv", str(out), "--top", "3"])
    said = capsys.readouterr().out
    assert "mig of 20 runs of all methods" in said
    assert "best 0.903, median 0.602" in said
    for name in ("udr", "udr_a2a", "elbo", "reconstruction", "tc", "mig@100", "mig@1000", "dci_disentanglement@100"):
        assert f" {name} " in said
    assert "the best 3 of 20 runs by udr:" in said
    assert "beta-vae 8, seed" in said
    assert hashes(folder) == before
    table = pd.read_csv(out)
    assert len(table) == 5 * SEEDS
    # The factors of the stored codes are those of the set: labels fit the codes.
    own = table[(table["method"] == "beta-vae") & (table["strength"] == 8.0) & (table["seed"] == 2)]
    drawn = np.random.default_rng(0).permutation(1000)[:100]
    expected = mig_score(codes_of(0.0, 2)[drawn].astype(float), FACTORS[drawn], kinds="ordinal")
    assert own["mig@100"].item() == pytest.approx(expected)
    with pytest.raises(SystemExit):
        main(["study", "select", str(folder), "--csv", str(out)])


def test_regimes_and_other_fields_that_differ_are_part_of_a_runs_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = replace(default_run("ada-gvae", "gone.npz"), latents=2)
    runs = [
        base,
        replace(base, pairs=Pairs("resample", changed=2)),
        replace(base, drawing=Drawing(left_out="random")),
        replace(base, optimiser=replace(base.optimiser, learning_rate=0.5)),
    ]
    made = np.random.default_rng(0)
    with Store.create_or_open(tmp_path / "study") as store:
        for run in [replace(each, seed=seed) for each in runs for seed in range(2)]:
            score = {"metric": "mig", "representation": "mean", "score": made.random(), "better": "higher"}
            arrays = {"codes": made.normal(size=(20, 2)).astype(np.float32), "kl": np.ones(2)}
            store.add(Outcome(run, "done", scores=[{**score, "protocol": "kim2018", "seed": 0}], arrays=arrays))
    main(["study", "select", str(tmp_path / "study"), "--scores", "mig", "--labels", "0"])
    said = " ".join(capsys.readouterr().out.partition("the best")[2].split())
    with Store.create_or_open(tmp_path / "alone") as store:
        for run in runs:
            store.add(Outcome(run, "done", scores=[{**score, "protocol": "kim2018", "seed": 0}], arrays=arrays))
    main(["study", "select", str(tmp_path / "alone"), "--scores", "mig", "--labels", "0"])
    assert "no run has the criterion udr; --rank takes another, such as elbo" in capsys.readouterr().out
    for words in (
        "changed 2), learning rate 0.0001, seed 1",
        "drawing (left out random), pairs (rule resample, changed 1), learning rate 0.0001, seed 0",
        "ada-gvae 4, pairs (rule resample, changed 1), learning rate 0.5, seed 0",
    ):
        assert words in said


def test_without_labels_or_without_the_set_the_rest_is_ranked(
    without_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["study", "select", str(without_data), "--scores", "mig,jemmig", "--by-method", "--rank", "elbo"])
    said = capsys.readouterr().out
    assert "no criteria with labels, since its factors are not known here" in said
    assert "mig of 12 runs of beta-vae" in said
    assert "jemmig of 8 runs of factor-vae" in said
    assert "@100" not in said
    main(["study", "select", str(without_data), "--scores", "mig", "--labels", "0"])
    assert "not known here" not in capsys.readouterr().out


def test_a_set_made_by_code_is_not_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store from somebody else names its data set; that runs nothing."""
    marker = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w')\n\ndef make():\n    return None\n")
    folder = made_study(tmp_path / "study", f"{tmp_path / 'evil.py'}:make")
    main(["study", "select", str(folder), "--scores", "mig"])
    assert "code that this command does not run" in " ".join(capsys.readouterr().out.split())
    assert not marker.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "many"], "expected whole numbers separated by commas"),
        (["--scores", "sap"], "no finished run has the score sap"),
        (["--rank", "luck"], "no criterion 'luck'"),
    ],
)
def test_wrong_options_are_named(
    without_data: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    with pytest.raises(SystemExit):
        main(["study", "select", str(without_data), "--scores", "mig", *words])
    assert message in " ".join(capsys.readouterr().err.split())
