"""Codes from elsewhere get the scores that the metrics' own functions give them; no row is both learnt from and tested on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import hackle
from hackle import metrics
from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorGrid
from hackle.core.notes import note_codes
from hackle.metrics.checks import MetricError
from hackle.metrics.metric import METRICS
from hackle.metrics.mig import binned_information
from hackle.scoring.codes import read_table, score_codes
from hackle.scoring.plan import PlanSizes, split_plan
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import ScoreError

TINY = Protocol("tiny", PlanSizes(400, 200, 200, 100, 16, 200, 100, 16), bins=8, posterior_bins=40)
RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, [3, 4, 2], size=(900, 3))
CODES = FACTORS[:, [1, 0, 2]] * 2.0 - 3 + 0.1 * RNG.normal(size=(900, 3))


def by_name(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    return {(row["metric"], row["representation"]): row["score"] for row in table.to_dict("records")}


def test_scores_are_those_of_the_functions_on_the_rows_of_the_plan() -> None:
    grid = FactorGrid([Factor(name, 900) for name in "abc"], present=np.arange(900)[:, None].repeat(3, 1))
    plan = split_plan(grid, TINY.sizes, 0)
    logvars = np.full_like(CODES, -4.0)
    found = by_name(hackle.score_codes(CODES, FACTORS, "mig,modularity,sap,kl", TINY, logvars=logvars))
    codes, factors = CODES[plan.train].astype(np.float32), FACTORS[plan.train]
    test = CODES[plan.test].astype(np.float32), FACTORS[plan.test]
    assert found["mig", "mean"] == pytest.approx(metrics.mig_score(codes, factors, bins=8))
    assert found["modularity", "mean"] == pytest.approx(metrics.modularity_score(codes, factors, bins=8))
    assert found["sap", "mean"] == pytest.approx(metrics.sap_score(codes, factors, test=test))
    assert found["kl", "posterior"] == pytest.approx(metrics.kl_divergence(codes, logvars[plan.train]).total)
    assert 0.5 < found["mig", "sampled"] < found["mig", "mean"]


def test_sparse_and_mapped_codes_have_the_table_of_dense_ones(tmp_path: Any) -> None:
    codes = np.hstack([CODES * (CODES > 0), np.eye(4)[FACTORS[:, 1]]]).astype(np.float32)
    np.save(tmp_path / "codes.npy", codes)
    mapped = np.load(tmp_path / "codes.npy", mmap_mode="r")
    names = "mig,mig_sup,dcimig,modularity,sap,dci,mcc,irs,factor_vae,beta_vae,gaussian_tc,explicitness"
    expected = score_codes(codes, FACTORS, names, TINY).drop(columns="seconds")
    for given in (sparse.csr_array(codes), sparse.csc_matrix(codes.astype(np.float64)), mapped):
        found = score_codes(given, FACTORS, names, TINY)
        read = "900 rows; 7 codes: code_0, code_1 … code_6; 1 of them never varies; factors: "
        assert found.attrs["read"].startswith(read)
        pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected, rtol=1e-6)


def test_codes_that_never_vary_are_counted(tmp_path: Any) -> None:
    """One is 0, one 2.5; of those that vary one is 0 but for a row, and one 1 but for a row."""
    once = np.eye(900)[:, :1]
    codes = np.hstack([CODES, np.zeros((900, 1)), np.full((900, 1), 2.5), once, 1 - once]).astype(np.float32)
    np.save(tmp_path / "codes.npy", codes)
    stored = sparse.csc_matrix(np.where(codes, codes, 1))
    stored.data[codes.T.reshape(-1) == 0] = 0
    for given in (codes, sparse.csr_array(codes), stored, np.load(tmp_path / "codes.npy", mmap_mode="r")):
        said = read_table(given, FACTORS).said
        assert said.startswith("900 rows; 7 codes: code_0, code_1 … code_6; 2 of them never vary; factors: ")


_OF_CODES = [name for name, metric in METRICS.items() if metric.on != "posterior" and set(metric.needs) <= {"factors"}]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", _OF_CODES)
def test_every_metric_of_codes_takes_few_sparse_ones(name: str) -> None:
    codes, factors = CODES[:90] * (RNG.random((90, 3)) < 0.8), FACTORS[:90]
    dense, found = (
        score_codes(given, factors, [name], TINY, references=False, representations="mean")
        for given in (codes, sparse.csr_array(codes))
    )
    assert not {"raised", "refused"} & {code for note in found["note"] for code in note_codes(note)}
    np.testing.assert_allclose(found["score"], dense["score"], atol=1e-12)


def test_missing_and_infinite_numbers_of_sparse_codes() -> None:
    codes = sparse.csr_array(CODES)
    codes.data[4] = np.nan
    with pytest.raises(ScoreError, match=r"code code_0 has no value in row 1, counted from 0, and in 1 of 900 rows"):
        score_codes(codes, FACTORS, "mig", TINY)
    table = score_codes(codes, FACTORS, "mig", TINY, missing="drop")
    assert "1 of 900 rows lack a value and are dropped" in table.attrs["read"]
    # A code that varies in the dropped row alone.
    wider = sparse.hstack([codes, np.eye(900)[:, 1:2]], format="csr")
    assert "1 of them never varies" in read_table(wider, FACTORS, missing="drop").said
    codes.data[10] = np.inf
    with pytest.raises(ScoreError, match="codes have a number that is not finite, first in row 3"):
        score_codes(codes, FACTORS, "mig", TINY, missing="drop")
    with pytest.raises(ScoreError, match="logvars are given with sparse or memory-mapped codes"):
        score_codes(codes, FACTORS, "mig", TINY, logvars=CODES)


def test_codes_too_many_for_an_array_are_refused_by_the_metrics_that_need_one() -> None:
    rows, columns = np.arange(900).repeat(3), (FACTORS + np.array([0, 100, 200])).ravel()
    codes = sparse.csr_array((np.ones(2700, dtype=np.float32), (rows, columns)), shape=(900, 500_000))
    table = score_codes(codes, FACTORS, "mig,gaussian_tc,irs", TINY, references=False).set_index("metric")
    assert table["score"].notna().to_dict() == {"mig": True, "gaussian_tc": False, "irs": False}
    for note in table["note"].drop("mig"):
        assert note.startswith("no score: this needs all 500,000 codes of 400 rows at once, as a dense array of 1.6 GB")


def test_good_codes_are_near_their_references_and_intervals_hold_the_scores() -> None:
    table = score_codes(CODES, FACTORS, "factor_vae,beta_vae,mig,dci,explicitness", TINY, bootstrap=5)
    for row in table.to_dict("records"):
        assert row["score"] > 0.9 * row["reference"]
        assert row["low"] <= row["high"]


def test_rows_are_not_both_learnt_from_and_tested_on() -> None:
    """Fifty random codes tell every row apart: a forest that had seen the test rows would know their factor."""
    rng = np.random.default_rng(1)
    codes, factors = rng.normal(size=(300, 50)), rng.integers(0, 2, size=(300, 2))
    found = by_name(score_codes(codes, factors, "dci", TINY, references=False))
    assert found["dci_informativeness", "mean"] < 0.65


@pytest.mark.parametrize("size", [10, 31, 900, 5000])
def test_every_part_of_the_plan_keeps_to_its_rows(size: int) -> None:
    rows = np.column_stack([np.arange(size) % 3, np.arange(size)])
    grid = FactorGrid([Factor("a", 3), Factor("instance", size, observed=False)], present=rows)
    plan = split_plan(grid, TINY.sizes, 0)
    assert len(plan.train) == min(400, round(size * 2 / 3))
    assert len(plan.test) == min(200, size - round(size * 2 / 3))
    for learnt, tested in ((plan.groups, plan.test_groups), (plan.pairs, plan.test_pairs)):
        assert learnt is not None
        assert tested is not None
        assert not np.intersect1d(np.append(learnt.index, plan.train), np.append(tested.index, plan.test)).size
        for part in (learnt, tested):
            held = rows[part.index, 0]
            assert (held == held[:, :1]).all()


def test_factors_may_be_frames_mappings_texts_and_real_numbers() -> None:
    angles = FACTORS[:, 1] * 0.5 + np.linspace(0, 0.01, 900)
    plain = by_name(score_codes(CODES, FACTORS[:, [0, 2]], "mig", TINY))
    words = {"shape": np.array(["ball", "box", "cone"])[FACTORS[:, 0]], "left": FACTORS[:, 2] == 1}
    for factors in (words, pd.DataFrame(words)):
        assert by_name(score_codes(CODES, factors, "mig", TINY)) == plain
    # 900 real numbers, four of them apart: bins find these again.
    mixed = by_name(score_codes(CODES, np.column_stack([FACTORS[:, 0], angles]), "mig", TINY))
    whole = by_name(score_codes(CODES, FACTORS[:, :2], "mig", TINY))
    assert mixed == whole


def test_tensors_and_a_single_factor_will_do() -> None:
    codes = torch.from_numpy(CODES).requires_grad_()
    table = score_codes(codes, FACTORS[:, 1], "mig,gaussian_tc", TINY)
    assert by_name(table)["mig", "mean"] > 0.8
    with_one = score_codes(codes[:, :1], {"x": FACTORS[:, 1], "day": np.full(900, "Monday")}, "mig", TINY)
    assert with_one.attrs["read"].startswith("900 rows; 1 code: code_0; factors: x (")
    assert with_one.attrs["read"].endswith(
        "day (categorical, 1 value, guessed); factor day has a single value and is not scored"
    )


@pytest.mark.parametrize(("head", "other"), [("file", "file"), ("file", "picture"), ("id", "id")])
def test_tables_that_name_their_rows_in_another_order_are_refused(head: str, other: str) -> None:
    """Scored by position, each code would be compared with the factors of another row."""
    names = [f"{number:03}.png" if head == "file" else number for number in range(900)]
    codes = pd.DataFrame(CODES, columns=["z0", "z1", "z2"]).assign(**{head: names})
    factors = pd.DataFrame(FACTORS, columns=["x", "y", "size"]).assign(**{other: names})
    assert by_name(score_codes(codes, factors, "mig", TINY)) == by_name(score_codes(CODES, FACTORS, "mig", TINY))
    shuffled = factors.sample(frac=1, random_state=0, ignore_index=True)
    with pytest.raises(
        ScoreError, match=f"'{head}' of the codes and '{other}' of the factors name the same rows in another"
    ):
        score_codes(codes, shuffled, "mig", TINY)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"codes": CODES[None]}, r"codes have shape \(1, 900, 3\); expected a row for each sample"),
        ({"codes": CODES.astype(str)}, r"expected real numbers: convert it, \.astype\(float\)"),
        ({"codes": CODES.T}, r"rows are samples, so turn what has them in columns, codes\.T or factors\.T"),
        ({"factors": FACTORS.T}, r"rows are samples, so turn what has them in columns"),
        ({"factors": "factors.csv"}, "factors are the text 'factors.csv'; .* pandas.read_csv reads a file"),
        ({"codes": [[1, 2], [3]]}, "rows of a table differ in length"),
        ({"codes": CODES[:5], "factors": FACTORS[:5]}, "codes have 5 rows; expected 10 or more"),
        ({"codes": np.where(CODES > 2.9, np.inf, CODES)}, "not finite, first in row"),
        ({"codes": np.where(CODES > 2.9, np.nan, CODES)}, "code code_0 has no value in row"),
        ({"factors": FACTORS[:100]}, r"factor_0 has 100 values; expected one for each of 900"),
        ({"factors": FACTORS[:, :0]}, "expected a row for each sample, a column for each factor"),
        ({"logvars": CODES[:, :2]}, r"logvars have shape \(900, 2\) and codes \(900, 3\)"),
        ({"metrics": "migg"}, "did you mean mig"),
        (
            {"metrics": "mig,rmig"},
            "rmig is a score of the metric interpretability, which gives rmig, posterior_modularity: name",
        ),
        ({"metrics": "dci_completeness"}, "dci_completeness is a score of the metric dci, "),
        ({"metrics": "sepin@3"}, "sepin@3 is a score of the metric separability, "),
        ({"metrics": "reconstruction"}, "reconstruction needs"),
        ({"metrics": "kl"}, "kl needs"),
        ({"factor_bins": 1}, "factor_bins is 1; expected 2 or more"),
        ({"bootstrap": 1}, "bootstrap is 1; expected the number of halves, 2 or more and best 20, or 0 for none"),
        ({"bootstrap": -3}, "bootstrap is -3; expected"),
    ],
)
def test_what_cannot_be_scored_is_refused(changes: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"codes": CODES, "factors": FACTORS, "metrics": "mig", "protocol": TINY, **changes}
    with pytest.raises(ScoreError, match=words):
        score_codes(**given)


def test_the_protocols_there_are_end_their_sentence() -> None:
    with pytest.raises(HackleError, match=r"posteriors\. Ablations of do2020 and kim2018 are variants of these$"):
        score_codes(CODES, FACTORS, "mig", "locatello")


def test_frames_in_another_order_are_refused_and_other_labels_are_not() -> None:
    codes, factors = pd.DataFrame(CODES, columns=list("abc")), pd.DataFrame(FACTORS, columns=list("xyz"))
    plain = by_name(score_codes(CODES, FACTORS, "mig", TINY))
    shuffled = factors.sample(frac=1, random_state=0)
    for score in (lambda one, other: score_codes(one, other, "mig", TINY), metrics.mig_score, metrics.sap_score):
        with pytest.raises(
            (ScoreError, MetricError), match=r"same index in another order, .* factors\.loc\[codes\.index\]"
        ):
            score(codes, shuffled)
    with pytest.raises(ScoreError, match=r"give logvars\.loc\[codes\.index\]"):
        score_codes(codes, factors, "mig", TINY, logvars=codes[::-1])
    assert by_name(score_codes(codes, shuffled.loc[codes.index], "mig", TINY)) == plain
    # A part of a larger table keeps the labels that it had there.
    assert by_name(score_codes(codes, factors.set_index(factors.index + 7), "mig", TINY)) == plain
    assert by_name(score_codes(CODES, sparse.csr_array(FACTORS), "mig", TINY)) == plain


def simulated(rows: int, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Codes that follow two real-valued factors and a shape, and one code of noise."""
    rng = np.random.default_rng(seed)
    factors = {"shape": rng.choice(["ball", "box", "cone"], rows), "x": rng.random(rows), "y": rng.random(rows)}
    told = np.column_stack([factors["x"], factors["y"], factors["shape"] == "box", rng.normal(size=rows)])
    return told + 0.02 * rng.normal(size=told.shape), factors


def test_continuous_factors_are_regressed_or_cut_and_the_table_says_which() -> None:
    codes, factors = simulated(600)
    logvars = np.full_like(codes, -6.0)
    table = score_codes(codes, factors, protocol=TINY, logvars=logvars)
    notes = {row["metric"]: row["note"] for row in table.to_dict("records")}
    assert np.isfinite(table["score"].to_numpy()).all()
    for metric in ("mig", "modularity", "explicitness", "rmig", "jemmig"):
        assert "continuous factors (x, y) are cut into 20 bins [bins]" in notes[metric]
    for metric in ("factor_vae", "beta_vae"):
        assert "images that share a bin count as sharing a value" in notes[metric]
    for metric in ("dci_disentanglement", "sap", "kl"):
        assert "bins" not in notes[metric]
    found = by_name(table)
    assert found["dci_informativeness", "mean"] > 0.85
    assert found["factor_vae", "mean"] > 0.95
    fine = score_codes(codes, factors, "mig", TINY, factor_bins=5)
    assert "into 5 bins" in fine["note"][0]


def test_posteriors_that_are_all_but_points_cost_the_scores_of_densities_alone() -> None:
    codes, factors = simulated(600)
    logvars = np.full_like(codes, 0.0)
    logvars[:, :2] = -80.0
    table = score_codes(
        codes, factors, "kl,interpretability,jemmig,misjed,posterior_mig,monte_carlo_tc", TINY, logvars=logvars
    )
    rows = table.drop_duplicates("metric").set_index("metric")
    assert rows.loc["kl", "score"] == pytest.approx(0.5 * (160 - 2) + 0.5 * np.square(codes).sum(1).mean(), abs=1.0)
    assert np.isfinite(rows.loc[["active_units", "rmig", "jemmig", "misjed", "posterior_mig"], "score"]).all()
    assert np.isnan(rows.loc["monte_carlo_tc", "score"])
    assert "logvars reach -80, where densities lose their digits" in str(rows.loc["monte_carlo_tc", "note"])


def test_kinds_are_told_or_guessed() -> None:
    codes, factors = simulated(300)
    whole = {**factors, "x": (factors["x"] * 300).astype(int)}
    for given, kinds, said in (
        (factors, None, "shape (categorical, 3 values, guessed), x (continuous, guessed), y (continuous, guessed)"),
        (factors, {"x": "ordinal"}, "x (ordinal, 300 values), y (continuous, guessed)"),
        (whole, None, "x (continuous, guessed)"),
        (whole, ["categorical", "ordinal", ""], "x (ordinal, "),
    ):
        assert said in score_codes(codes, given, "mig", TINY, kinds=kinds, references=False).attrs["read"]
    with pytest.raises(ScoreError, match="kinds name 'z', which is no factor; there are shape, x, y"):
        score_codes(codes, factors, "mig", TINY, kinds={"z": "continuous"})
    with pytest.raises(ScoreError, match="shape is said to be continuous but holds texts such as"):
        score_codes(codes, factors, "mig", TINY, kinds="continuous")


def test_the_factor_vae_score_of_unit_vectors_is_that_of_the_same_codes_at_any_size() -> None:
    """64 codes of length 1: each has a variance of 1/64, below the 0.05 under which codes of a prior's scale count as dead."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, size=(1200, 3))
    codes = np.hstack([np.repeat((factors - 2.0) / np.sqrt(2), 20, axis=1), np.full((1200, 4), 1e-3)])
    codes += rng.normal(size=codes.shape) * [*[0.3] * 60, *[1e-3] * 4]
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    assert codes.var(axis=0).max() < 0.05
    for size in (1.0, 0.01):
        (row,) = score_codes(size * codes, factors, "factor_vae", TINY, references=False).to_dict("records")
        assert row["score"] > 0.95
        assert row["note"].startswith("4 of 64 codes do not vote: their variance is below ")
        assert "pruned" in note_codes(row["note"])
    posteriors = {"logvars": np.full_like(codes, -9.0), "representations": "mean", "references": False}
    (row,) = score_codes(codes, factors, "factor_vae", TINY, **posteriors).to_dict("records")
    assert row["score"] == 0.0
    assert row["note"].startswith("64 of 64 codes do not vote: their variance is below 0.05 [pruned]")


def test_an_outlier_that_hides_what_codes_say_is_noted() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, size=(900, 2))
    codes = factors + 0.1 * rng.normal(size=factors.shape)
    (clean,), noise = score_codes(codes, factors, "mig", TINY).to_dict("records"), rng.normal(size=(900, 2))
    assert "crowded" not in note_codes(clean["note"])
    codes[np.arange(900) % 450 == 0], noise[np.arange(900) % 450 == 0] = 1e4, 1e4
    table = score_codes(codes, factors, "mig,modularity", replace(TINY, sizes=replace(TINY.sizes, train=2000, test=10)))
    assert table["score"].tolist()[0] < 0.1 < clean["score"]
    for note in table["note"]:
        assert "crowded" in note_codes(note)
        assert "of the rows of code 0 share one of its" in note
    (row,) = score_codes(noise, factors, "mig", TINY).to_dict("records")
    assert "crowded" not in note_codes(row["note"])


def test_metrics_of_factors_say_what_each_factor_has() -> None:
    """The score is the mean of what its table says of each factor; a factor that never varies has no value."""
    rng = np.random.default_rng(3)
    factors = pd.DataFrame({"shape": rng.integers(0, 3, 900), "x": rng.integers(0, 5, 900), "still": 1})
    codes = np.hstack([factors[["shape", "x"]] - 2 + 0.3 * rng.normal(size=(900, 2)), rng.normal(size=(900, 1))])
    logvars = np.full_like(codes, -3.0)
    wanted = "mig,sap,explicitness,dci,interpretability,jemmig,posterior_mig,sampled_jemmig,sampled_interpretability"
    table = score_codes(codes, factors, wanted, TINY, logvars=logvars, references=False, representations="mean")
    known = {name: values for name, values in zip(table["metric"], table["per_factor"], strict=True) if values}
    scores = dict(zip(table["metric"], table["score"], strict=True))
    assert set(known) == {
        *("mig", "sap", "explicitness", "dci_completeness", "dci_informativeness", "rmig", "jemmig", "posterior_mig"),
        *("sampled_jemmig", "sampled_rmig", "sampled_mig"),
    }
    for name, values in known.items():
        assert list(values) == ["shape", "x"], name
        assert np.mean(list(values.values())) == pytest.approx(scores[name], abs=1e-12), name
    alone = metrics.rmig_score(codes, logvars, factors[["shape"]], bins=40)
    assert known["rmig"]["shape"] == pytest.approx(alone, abs=0.05)


def test_scores_of_the_same_bins_count_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(*arguments: Any, bins: int, **options: Any) -> Any:
        calls.append(bins)
        return binned_information(*arguments, bins=bins, **options)

    monkeypatch.setattr("hackle.scoring.evaluation.binned_information", counted)
    rows = np.random.default_rng(0).integers(0, 4, size=(300, 2))
    table = score_codes(rows + 0.0, rows, ["mig", "mig_sup", "dcimig", "modularity"], references=False)
    assert calls == [20]
    assert np.isfinite(table["score"].to_numpy(float)).all()
