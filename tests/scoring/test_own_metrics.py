"""A metric of one's own: from a file through the command line into tables, studies, claims and curves."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hackle
from hackle.cli.main import main
from hackle.core.notes import note_codes
from hackle.metrics import METRICS, Metric, Row
from hackle.metrics.mig import MIG
from hackle.scoring import quick_scores, score, score_codes
from hackle.scoring.protocol import PROTOCOLS
from hackle.scoring.registry import ScoreError, choose_metrics

SMALL = PROTOCOLS["locatello2019"].smaller(0.02)
SOURCE = """
import numpy as np


def strongest(codes, factors):
    count = codes.shape[1]
    table = np.abs(np.corrcoef(codes, factors, rowvar=False)[:count, count:])
    return float(np.nan_to_num(table).max(axis=0).mean())


def broken(codes, factors):
    return codes.shape[0] / 0


def mig(codes, factors):
    return 0.0


NUMBER = 3
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "metrics_of_ones_own.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(400, 3))
    return factors + 0.1 * rng.normal(size=factors.shape), factors


def scored(arrays: Any, metrics: Any, **options: Any) -> Any:
    return score_codes(arrays[0], arrays[1], metrics, SMALL, **options)


def test_a_file_is_named_and_its_note_says_where_it_comes_from(own: Path, arrays: Any) -> None:
    table = scored(arrays, f"mig,{own}:strongest", bootstrap=3)
    assert list(table["metric"]) == ["mig", "strongest"]
    assert table["score"][1] > 0.99
    assert table["reference"][1] == pytest.approx(1.0)
    assert table["low"][1] <= table["high"][1]
    digest = hashlib.sha256(own.read_bytes()).hexdigest()[:16]
    assert table["note"][1] == f"strongest is a metric of {own}, source {digest} [own]"


def test_an_error_costs_its_own_row_alone(own: Path, arrays: Any) -> None:
    table = scored(arrays, f"mig,{own}:broken,{own}:strongest")
    assert np.isfinite(table["score"]).tolist() == [True, False, True]
    assert note_codes(table["note"][1]) == ("own", "raised")
    line = SOURCE.splitlines().index("    return codes.shape[0] / 0") + 1
    assert (
        f"broken raised ZeroDivisionError: division by zero ({own}, line {line}: `return codes.shape[0] / 0`)"
        in table["note"][1]
    )


def test_what_is_no_number_is_refused_with_the_functions_line(tmp_path: Path, arrays: Any) -> None:
    path = tmp_path / "no_numbers.py"
    path.write_text(
        "def table(codes, factors):\n    return codes.std(axis=0)\n\n\ndef word(codes):\n    return {'is': 'high'}\n"
    )
    found = scored(arrays, f"mig,{path}:table,{path}:word")
    assert np.isfinite(found["score"]).tolist() == [True, False, False]
    expected = "table returned a value of type ndarray of shape (3,); expected a number, or several by name"
    assert f"no score: {expected} ({path}, line 1: `def table(codes, factors):`) [refused]" in found["note"][1]
    assert (
        f"word returned a value of type str; expected a number, or several by name ({path}, line 5" in found["note"][2]
    )


def test_an_error_of_hackles_own_metrics_is_told_and_costs_its_own_row_alone(
    arrays: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Metric("wrong", lambda e: e.codes.shape[0] / 0, (Row("wrong", "wrong", "wrong"),))
    monkeypatch.setitem(METRICS.found, "wrong", METRICS.found["mig"].__class__("wrong", wrong, "hackle"))
    table = scored(arrays, "wrong,mig")
    assert np.isfinite(table["score"]).tolist() == [False, True]
    assert note_codes(table["note"][0]) == ("raised",)
    assert "wrong raised ZeroDivisionError: division by zero (test_own_metrics.py, line " in table["note"][0]


@pytest.mark.parametrize("at", ["score", "reference", "interval"])
def test_what_fails_costs_neither_the_table_nor_the_rest_of_its_row(arrays: Any, at: str) -> None:
    """A score of 200 training rows; one of perfect codes, which have unit variance; one of half of the rows."""

    def fragile(codes: np.ndarray, factors: np.ndarray) -> float:
        perfect = np.allclose(codes.var(axis=0), 1.0, atol=0.1)
        if {"score": not perfect, "reference": perfect, "interval": len(codes) <= 100}[at]:
            raise IndexError("too fragile")
        return 0.5

    table = scored(arrays, ["mig", fragile], bootstrap=3)
    given = table.iloc[1][["score", "reference", "low", "high"]].notna().tolist()
    assert given == [at != "score", at != "reference", *[at == "reference"] * 2]
    assert table.iloc[0][["score", "reference", "low", "high"]].notna().all()
    assert f"no {at}: fragile raised IndexError: too fragile" in table["note"][1]
    assert table["note"][0] == ""


def test_functions_and_records_join_names(arrays: Any) -> None:
    dead = Metric("dead", lambda e: 0.0, (Row("dead", "dead codes", "dead", 0.0, None),), "lower", needs=())
    table = scored(arrays, ["mig", lambda codes, factors: 0.5, dead])
    assert list(table["metric"]) == ["mig", "<lambda>", "dead"]
    assert list(table["better"]) == ["higher", "higher", "lower"]
    named = scored(arrays, {"half": lambda codes, factors: 0.5, "whole": lambda codes, factors: 1.0})
    assert dict(zip(named["metric"], named["score"], strict=True)) == {"half": 0.5, "whole": 1.0}
    assert list(choose_metrics([MIG])) == ["mig"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("{own}:strongets", "has no 'strongets'; did you mean strongest"),
        ("nowhere.py:strongest", "there is no file nowhere.py"),
        ("no_such_module:strongest", "the module no_such_module cannot be imported"),
        ("{own}:mig", "would be called mig, as is a metric of hackle's"),
        ("{own}:NUMBER", "is of type int; expected a metric"),
        ("strongest", "no metric 'strongest'"),
    ],
)
def test_names_that_are_no_metrics(own: Path, arrays: Any, wanted: str, expected: str) -> None:
    with pytest.raises(ScoreError, match=expected):
        scored(arrays, wanted.format(own=own))


def test_two_of_one_name_are_refused_and_one_twice_is_one(own: Path, tmp_path: Path, arrays: Any) -> None:
    other = tmp_path / "other_metrics.py"
    other.write_text(SOURCE)
    with pytest.raises(ScoreError, match="two metrics are called strongest"):
        scored(arrays, f"{own}:strongest,{other}:strongest")
    assert list(scored(arrays, f"{own}:strongest,{own}:strongest")["metric"]) == ["strongest"]


def test_the_quick_protocol_gives_them_and_ablations_in_studies_do_not(own: Path, squares: Any) -> None:
    def encoder(images: np.ndarray) -> np.ndarray:
        return images.reshape(len(images), -1)[:, ::17].astype(np.float32)

    found = quick_scores(encoder, squares, metrics=f"mig,{own}:strongest")
    assert found.keys() == {"mig", "strongest"}
    bins = PROTOCOLS["do2020-bins-50"]
    assert list(choose_metrics(f"all,{own}:strongest", bins)) == ["interpretability", "jemmig"]
    assert "strongest" in choose_metrics(f"all,{own}:strongest", bins, strictly=True)
    assert score(encoder, squares, {"one": lambda codes: 1.0}, SMALL)["score"].tolist() == [1.0]


@pytest.fixture(scope="module")
def squares_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from engine.small_study import write_squares

    return write_squares(tmp_path_factory.mktemp("data"))


def test_through_the_command_line_into_scores_and_curves(
    own: Path, squares_file: Path, tmp_path: Path, capsys: Any
) -> None:
    run = tmp_path / "run"
    main(f"train vae --dataset {squares_file} --steps 2 --latents 2 --out {run} --device cpu".split())
    main(f"score {run} --metrics mig,{own}:strongest --fraction 0.02 --device cpu".split())
    rows = json.loads((run / "scores.json").read_text())
    assert {(row["metric"], row["representation"]) for row in rows} == {
        (name, kind) for name in ("mig", "strongest") for kind in ("mean", "sampled")
    }
    words = f"train vae --dataset {squares_file} --steps 2 --latents 2 --device cpu --score-every 1 --log-every 1 --out"
    main([*words.split(), str(tmp_path / "curves"), "--score-metrics", f"mig,{own}:strongest"])
    assert "score_strongest" in (tmp_path / "curves" / "curves.csv").read_text().splitlines()[0]
    with pytest.raises(SystemExit):
        main([*words.split(), str(tmp_path / "never"), "--score-metrics", f"{own}:strongets"])
    assert "did you mean strongest" in capsys.readouterr().err
    assert not (tmp_path / "never").exists()


STUDY = """
from hackle.core.types import Run
from hackle.nets import MLP
from hackle.objectives import BetaVAE


def runs(seeds: int = 3):
    return [
        Run(BetaVAE(beta), MLP((8,)), dataset={data!r}, seed=seed, steps=2, batch_size=4, latents=2)
        for beta in (1.0, 4.0)
        for seed in range(seeds)
    ]
"""
CLAIM = """
from hackle.claims import Claim, Region, Stratum
from hackle.claims.measures import value

about_strongest = Claim(
    name="strongest-is-high",
    paper="lab-notes",
    where="Monday",
    statement="The mean correlation coefficient of a β-VAE is above -1.",
    effect="MCC",
    region=Region(low=-1.0),
    measure=value("strongest"),
    strata=(Stratum("squares", ({{"method": "beta-vae", "dataset": {data!r}, "architecture": "mlp", "latents": 2}},)),),
    study={study!r},
)
"""


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("workers", [0, 1])
def test_through_the_command_line_into_a_study_and_its_claims(
    own: Path, squares_file: Path, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    study, out = tmp_path / f"study_of_ones_own_{workers}.py", tmp_path / "out"
    study.write_text(STUDY.format(data=str(squares_file)))
    monkeypatch.chdir(own.parent)
    words = (
        f"study run {study}:runs --out {out} --device cpu --workers {workers} --fraction 0.02 --protocols locatello2019"
    )
    with pytest.raises(SystemExit):
        main([*words.split(), "--metrics", f"mig,{own.name}:strongets"])
    assert "did you mean strongest" in capsys.readouterr().err
    assert not (out / "results.sqlite").exists()
    main([*words.split(), "--metrics", f"mig,{own.name}:strongest,{own.name}:broken"])
    results: Any = hackle.results(out)
    found = results[results["metric"] == "strongest"]
    assert len(found) == 2 * 3 * 2
    assert np.isfinite(found["score"]).all()
    assert results.loc[results["metric"] == "broken", "score"].isna().all()
    capsys.readouterr()
    main([*words.split(), "--metrics", f"mig,{own.name}:strongest,{own.name}:broken"])
    assert "lack" not in capsys.readouterr().out
    if not workers:
        return
    page = tmp_path / "page.html"
    main(["report", str(out), "--out", str(page)])
    assert "strongest" in page.read_text(encoding="utf-8")
    claims = tmp_path / "claims_of_ones_own.py"
    claims.write_text(CLAIM.format(data=str(squares_file), study=f"{study}:runs"))
    main(["claims", str(out), "--claims", str(claims), "--paper", "lab-notes"])
    said = capsys.readouterr().out
    assert "strongest-is-high" in said
    assert "1 holds" in said
