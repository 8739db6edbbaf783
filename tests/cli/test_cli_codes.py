"""`hackle score-codes` reads what other programs write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hackle.cli.main import main
from hackle.scoring.codes import score_codes

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, [3, 4], size=(600, 2))
CODES = FACTORS * 1.0 + 0.1 * RNG.normal(size=(600, 2))
QUICK = ["--metrics", "mig,gaussian_tc", "--protocol", "quick", "--no-references"]


def table(path: Path) -> pd.DataFrame:
    return pd.read_json(path, orient="records").drop(columns="seconds")


@pytest.fixture
def expected(tmp_path: Path) -> pd.DataFrame:
    path = tmp_path / "expected.json"
    score_codes(CODES, FACTORS, "mig,gaussian_tc", "quick", references=False).to_json(path, orient="records")
    return table(path)


def test_every_kind_of_file_gives_the_same_table(
    tmp_path: Path, expected: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, factors = pd.DataFrame(CODES, columns=["z1", "z2"]), pd.DataFrame(FACTORS, columns=["shape", "x"])
    np.savez(tmp_path / "all.npz", codes=CODES, factors=FACTORS, factor_names=np.array(["shape", "x"]))
    np.save(tmp_path / "codes.npy", CODES)
    factors.to_csv(tmp_path / "factors.csv", index=False)
    codes.to_parquet(tmp_path / "codes.parquet")
    codes.join(factors).to_csv(tmp_path / "joined.csv", index=False)
    ways = [
        ["all.npz"],
        ["codes.npy", "--factors", str(tmp_path / "factors.csv")],
        ["codes.parquet", "--factors", str(tmp_path / "factors.csv")],
        ["joined.csv", "--factors", "shape,x"],
    ]
    for number, (file, *rest) in enumerate(ways):
        out = tmp_path / "new" / f"{number}.json"
        main(["score-codes", str(tmp_path / file), *rest, *QUICK, "--json", str(out)])
        pd.testing.assert_frame_equal(table(out), expected)
    assert "mig" in capsys.readouterr().out


def test_logvars_bring_the_metrics_of_posteriors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "all.npz", codes=CODES, factors=FACTORS, logvars=np.full_like(CODES, -4.0))
    main(["score-codes", str(tmp_path / "all.npz"), "--metrics", "kl", "--no-references"])
    assert "active_units" in capsys.readouterr().out


def test_a_note_names_the_option_of_this_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """600 posteriors that do not touch: a mixture of the points alone saturates."""
    np.savez(
        tmp_path / "all.npz", codes=100.0 * RNG.normal(size=(600, 2)), factors=FACTORS, logvars=np.full((600, 2), -9.0)
    )
    words = ["score-codes", str(tmp_path / "all.npz"), "--metrics", "separability,monte_carlo_tc", "--no-references"]
    main(words)
    said = " ".join(capsys.readouterr().out.split())
    assert "hackle score-codes … --whole-mixture" in said
    assert "hackle score-codes … --metrics true_tc" in said
    main([*words, "--whole-mixture"])
    assert "total_information" in capsys.readouterr().out


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "codes.npy", CODES)
    np.savez(tmp_path / "means.npz", means=CODES)
    (tmp_path / "codes.txt").write_text("1 2")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
    pd.DataFrame(CODES, columns=["z1", "z2"]).to_csv(tmp_path / "codes.csv", index=False)
    for words, said in (
        (["codes.npy"], "holds no factors; name a file of them with --factors"),
        (["nothing.npy"], "is no file; expected one that ends in .npz, .npy, .csv or .parquet"),
        (["means.npz"], "holds means; known are codes, factors, logvars and factor_names"),
        (["codes.txt"], "cannot be read as a table"),
        (["broken.npz"], "cannot be read as a table"),
        (["codes.csv", "--factors", "shape"], "has no column 'shape'; there are z1, z2"),
    ):
        with pytest.raises(SystemExit):
            main(["score-codes", str(tmp_path / words[0]), *words[1:], *QUICK])
        assert said in " ".join(capsys.readouterr().err.split())
