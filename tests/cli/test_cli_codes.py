"""`hackle score-codes` reads what other programs write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hackle.cli.main import main
from hackle.scoring.codes import score_codes

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, [3, 4], size=(600, 2))
CODES = FACTORS * 1.0 + 0.1 * RNG.normal(size=(600, 2))
QUICK = ["--metrics", "mig,gaussian_tc", "--protocol", "quick", "--no-references"]


def load_table(path: Path) -> pd.DataFrame:
    return pd.read_json(path, orient="records").drop(columns="seconds")


@pytest.fixture
def expected(tmp_path: Path) -> pd.DataFrame:
    path = tmp_path / "expected.json"
    factors = pd.DataFrame(FACTORS, columns=["shape", "x"])
    score_codes(CODES, factors, "mig,gaussian_tc", "quick", references=False).to_json(path, orient="records")
    return load_table(path)


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
        pd.testing.assert_frame_equal(load_table(out), expected)
    assert "mig" in capsys.readouterr().out


def test_a_sparse_matrix_and_a_large_array_are_scored_like_a_dense_one(
    tmp_path: Path, expected: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd.DataFrame(FACTORS, columns=["shape", "x"]).to_csv(tmp_path / "factors.csv", index=False)
    sparse.save_npz(tmp_path / "csr.npz", sparse.csr_array(CODES))
    sparse.save_npz(tmp_path / "csc.npz", sparse.csc_matrix(CODES), compressed=False)
    np.save(tmp_path / "mapped.npy", CODES)
    monkeypatch.setattr("hackle.cli.score_codes._LARGE", 100)
    for name in ("csr.npz", "csc.npz", "mapped.npy"):
        out = tmp_path / "new" / f"{name}.json"
        words = ["--factors", str(tmp_path / "factors.csv"), "--device", "cpu", "--json", str(out)]
        main(["score-codes", str(tmp_path / name), *words, *QUICK])
        pd.testing.assert_frame_equal(load_table(out), expected)


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
    np.savez(tmp_path / "means.npz", means=CODES, y=CODES)
    (tmp_path / "codes.txt").write_text("1 2")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
    np.save(tmp_path / "deep.npy", CODES[:, :, None])
    pd.DataFrame(CODES, columns=["z1", "z2"]).to_csv(tmp_path / "codes.csv", index=False)
    for words, said in (
        (["codes.npy"], "holds no factors; name a file of them with --factors"),
        (["nothing.npy"], "is no file; expected one that ends in .npz, .npy, .csv or .parquet"),
        (["means.npz"], "holds means, y; known are codes, factors, logvars, factor_names and factor_kinds: rename"),
        (["codes.txt"], "cannot be read as a table"),
        (["broken.npz"], "cannot be read as an .npz file"),
        (["deep.npy"], "holds codes of shape (600, 2, 1); expected a row for each sample"),
        (["codes.csv", "--factors", "shape"], "has no column 'shape'; there are z1, z2"),
    ):
        with pytest.raises(SystemExit):
            main(["score-codes", str(tmp_path / words[0]), *words[1:], *QUICK])
        assert said in " ".join(capsys.readouterr().err.split())


def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: pd.DataFrame, *words: str, index: bool = False
) -> str:
    """What is said first of a CSV of codes and factors."""
    table.to_csv(tmp_path / "table.csv", index=index)
    main(["score-codes", str(tmp_path / "table.csv"), *words, *QUICK])
    return capsys.readouterr().out.splitlines()[0]


def test_it_says_what_it_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape, x = RNG.choice(["box", "ball"], 600), RNG.random(600)
    table = pd.DataFrame(CODES, columns=["z0", "z1"]).assign(shape=shape, **{"x": x, "size:cyclic": FACTORS[:, 1]})
    said = run(tmp_path, capsys, table, "--factors", "shape,x,size:cyclic", index=True)
    assert said == (
        "600 rows; 2 codes: z0, z1; factors: shape (categorical, 2 values, guessed), x (continuous, guessed), size (cyclic, 4 "
        "values); column 'Unnamed: 0' of the codes, which numbers or names the rows, left out"
    )
    said = run(tmp_path, capsys, table, "--factors", "shape,x,size:cyclic", "--kinds", "x=ordinal,size=categorical")
    assert said.endswith("x (ordinal, 600 values), size (categorical, 4 values)")
    with pytest.raises(SystemExit):
        run(tmp_path, capsys, table, "--factors", "shape,x", "--kinds", "continuous")
    assert "--kinds has 'continuous'; expected the name of a factor and its kind" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["index", "id", "row", "Unnamed: 0", "sample"])
@pytest.mark.parametrize("start", [0, 1])
def test_a_column_that_numbers_rows_is_not_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: pd.DataFrame, name: str, start: int
) -> None:
    table = pd.DataFrame({name: np.arange(600) + start, "z0": CODES[:, 0], "z1": CODES[:, 1], "shape": FACTORS[:, 0]})
    table = table.assign(x=FACTORS[:, 1], file=[f"{number}.png" for number in range(600)])
    out = tmp_path / "scores.json"
    said = run(tmp_path, capsys, table, "--factors", "shape,x", "--json", str(out))
    assert f"column {name!r} of the codes, which numbers or names the rows, left out" in said
    assert "column 'file' of the codes" in said
    pd.testing.assert_frame_equal(load_table(out), expected)


def test_factors_that_are_row_numbers_are_left_out_and_others_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A factor may rise by one from row to row; only a name says that it numbers rows."""
    table = pd.DataFrame(CODES, columns=["z0", "z1"]).assign(id=np.arange(600), x=np.arange(600), a=FACTORS[:, 0])
    said = run(tmp_path, capsys, table, "--factors", "id,x,a")
    assert "factors: x (continuous, guessed), a (ordinal, 3 values, guessed); column 'id' of the factors" in said


def test_a_table_of_factors_that_pandas_wrote_with_its_index_is_read_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = tmp_path / "factors.csv"
    pd.DataFrame(FACTORS, columns=["a", "b"]).to_csv(factors)
    said = run(tmp_path, capsys, pd.DataFrame(CODES, columns=["z0", "z1"]), "--factors", str(factors))
    assert "column 'Unnamed: 0' of the factors, which numbers or names the rows, left out" in said


@pytest.mark.parametrize("hole", ["", "nan", "None", None, np.nan])
def test_missing_values_are_refused_with_row_and_column_or_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hole: object
) -> None:
    shape = RNG.choice(np.array(["box", "ball"], dtype=object), 600)
    shape[[7, 9]] = hole
    table = pd.DataFrame(CODES, columns=["z0", "z1"]).assign(shape=shape)
    table.loc[11, "z1"] = np.nan
    with pytest.raises(SystemExit):
        run(tmp_path, capsys, table, "--factors", "shape")
    assert "code z1 has no value in row 11, counted from 0, and in 1 of 600 rows" in " ".join(
        capsys.readouterr().err.split()
    )
    with pytest.raises(SystemExit):
        run(tmp_path, capsys, table.drop(11), "--factors", "shape")
    assert "factor shape has no value in row 7, counted from 0, and in 2 of 599 rows" in " ".join(
        capsys.readouterr().err.split()
    )
    said = run(tmp_path, capsys, table, "--factors", "shape", "--drop-missing")
    assert said.startswith("597 rows; 2 codes")
    assert said.endswith("3 of 600 rows lack a value and are dropped")


def test_an_npz_may_tell_the_kinds_of_its_factors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = np.array(["continuous", "categorical"])
    np.savez(tmp_path / "all.npz", codes=CODES, factors=FACTORS, factor_kinds=kinds)
    main(["score-codes", str(tmp_path / "all.npz"), *QUICK])
    assert "factors: factor_0 (continuous), factor_1 (categorical, 4 values)" in capsys.readouterr().out
