"""`hackle claims` on a stored study: what it prints and how it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hackle.claims import CLAIMS
from hackle.cli.claims import REFUTED, UNDECIDED
from hackle.cli.main import main
from hackle.store import Store
from hackle.store.tables import Outcome
from hackle.studies.presets import preset


def store(folder: Path, fall: float, seeds: int) -> Path:
    """VAEs on dSprites whose MIG falls with correlated noise."""
    rng = np.random.default_rng(0)
    with Store.create_or_open(folder, study="yang2020") as results:
        for seed in range(seeds):
            for correlation in (0.0, 0.9):
                run = replace(preset("yang2020", "vae", "dsprites"), seed=seed, correlation=correlation)
                score = {
                    "metric": "mig",
                    "representation": "mean",
                    "score": 0.2 - fall * (correlation > 0) + 0.01 * rng.normal(),
                    "reference": 1.0,
                    "low": np.nan,
                    "high": np.nan,
                    "better": "higher",
                    "protocol": "yang2020",
                    "seed": 0,
                    "seconds": 0.1,
                    "note": "",
                }
                results.add(Outcome(run, "done", scores=[score]))
    return folder


def code(*words: str) -> int:
    try:
        main(["claims", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.mark.parametrize(("fall", "seeds", "expected"), [(0.1, 6, 0), (-0.1, 6, REFUTED), (0.1, 1, UNDECIDED)])
def test_the_exit_code_says_how_the_claims_fare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fall: float, seeds: int, expected: int
) -> None:
    folder = store(tmp_path / "study", fall, seeds)
    assert code(str(folder), "--paper", "yang2020") == expected
    said = capsys.readouterr().out
    assert "mig-vae-10-dsprites" in said.replace("\n", "")
    assert "hackle study run yang2020 --out DIR" in said


def test_claims_without_runs_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code(str(store(tmp_path / "study", 0.1, 6)), "--paper", "yang2020")
    said = capsys.readouterr().out
    total = sum(claim.paper == "yang2020" for claim in CLAIMS.values())
    assert f"\n1 holds, {total - 1} without runs.\n" in said
    assert f"\n{total - 1} claims have no runs here" in said


def test_verdicts_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code(str(store(tmp_path / "study", 0.1, 6)), "--json") == 0
    rows = {row["claim"]: row for row in json.loads(capsys.readouterr().out)}
    found = rows["yang2020.mig-vae-10-dsprites"]
    assert found["verdict"] == "holds"
    assert found["runs"] == 12
    assert found["value"] == pytest.approx(0.1, abs=0.02)
    assert rows["kim2018.likelihood-3d"]["value"] is None
    assert rows["kim2018.likelihood-3d"]["verdict"] == "undecided"


def test_missing_claims_are_listed_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(store(tmp_path / "study", 0.1, 6))
    code(folder, "--paper", "kim2018", "--missing")
    assert "likelihood-3d" in capsys.readouterr().out.replace("\n", "")


def test_reasons_tell_the_claim_and_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(store(tmp_path / "study", 0.1, 6))
    code(folder, "--paper", "yang2020")
    usual = capsys.readouterr().out
    sentence = "On dSprites VAE with 10 latents has a lower MIG when the posterior's noise is correlated."
    assert sentence not in usual
    assert "--reasons" in usual.splitlines()[-1]
    code(folder, "--paper", "yang2020", "--reasons", "--missing")
    lines = capsys.readouterr().out.splitlines()
    at = next(
        number for number, line in enumerate(lines) if line.startswith(" mig-vae-10-dsprites  holds  Figure 1 · p ")
    )
    assert " after correction over 1 claim · " in lines[at]
    assert lines[at].endswith(" · 1 of 1 strata · 12 runs · 300,000 steps, float32, protocol yang2020")
    assert lines[at + 1] == f"    {sentence}"
    assert lines[at + 2].startswith("    fall of MIG from σ = 0 to 0.9 is 0.1")
    assert lines[at + 2].endswith(", claimed above 0.01")
    assert lines[at + 3] == "    the interval lies in the region, p < 0.001 after correction over 1 claim: holds"
    at = lines.index(" mig-factor-vae-10-dsprites  undecided  Figure 1 · 0 of 1 strata · 0 runs")
    assert "no runs of factor-vae on dsprites, latents 10, strength 35.0, correlation 0.0;" in lines[at + 2]
    assert (
        "runs in the whole design: hackle study run yang2020 --out DIR --seeds 10 --datasets dsprites" in lines[at + 2]
    )


def test_the_next_runs_are_listed_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(store(tmp_path / "a study", 0.1, 6))
    code(folder, "--paper", "yang2020")
    assert "Nearest" not in capsys.readouterr().out
    code(folder, "--paper", "yang2020", "--next", "3")
    lines = (
        capsys.readouterr()
        .out.partition("\nNearest to a verdict, if effects and spreads are as estimated:\n")[2]
        .splitlines()
    )
    assert len(lines) == 6
    assert lines[0].startswith("  about ")
    assert " more for yang2020." in lines[0]
    assert lines[1].startswith("    hackle study run yang2020 --out DIR --seeds ")
    assert " --steps 300000" in lines[1]


def test_a_paper_without_claims_and_a_folder_without_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(store(tmp_path / "study", 0.1, 2))
    assert code(folder, "--paper", "yang2021") == 1
    assert "did you mean yang2020" in capsys.readouterr().err
    assert code(str(tmp_path / "nothing")) == 1
    assert "holds no results" in capsys.readouterr().err.replace("\n", " ")


def test_a_negative_number_of_next_commands_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["claims", "hackle-2026", "--next", "-3"])
    assert "--next is -3; expected how many commands" in capsys.readouterr().err
