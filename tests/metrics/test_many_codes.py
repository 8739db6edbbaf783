"""Sparse and memory-mapped codes: the scores of the same codes as a dense array, in blocks, within memory, with progress."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso
from sklearn.svm import LinearSVC

from hackle.core import code_table
from hackle.core.progress import listening
from hackle.information import bin_codes, discrete_mutual_information
from hackle.information.binned import CrowdedBinWarning
from hackle.metrics import (
    MetricError,
    dci,
    dci_importance,
    dcimig_score,
    gaussian_total_correlation,
    infomec_scores,
    irs_score,
    mcc_matrix,
    mcc_score,
    mig_score,
    mig_sup_score,
    modularity_score,
    sap_matrix,
    sap_score,
)
from hackle.metrics.checks import standardise
from hackle.metrics.mig import binned_information
from hackle.metrics.predictors import large_linear
from hackle.metrics.predictors.large_linear import fit_large_machines
from hackle.metrics.predictors.linear import fit_l1_machines
from hackle.metrics.predictors.standardised import StandardisedCodes

RNG = np.random.default_rng(0)
SIZES = (2, 3, 5)


def sparse_codes(rows: int = 400, codes: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Codes of a dictionary: one for each value of each factor, others at random; negative ones, a dense, a constant one."""
    factors = np.stack([RNG.integers(0, size, rows) for size in SIZES], axis=1)
    values = np.zeros((rows, codes))
    own = np.hstack([np.eye(size)[column] for size, column in zip(SIZES, factors.T, strict=True)])
    values[:, : own.shape[1]] = own * RNG.gamma(2.0, size=own.shape)
    rest = values[:, own.shape[1] :]
    rest[:] = RNG.normal(size=rest.shape) * (RNG.random(rest.shape) < 0.05)
    values[:, -1] = factors @ [1.0, 0.5, 0.1] + 3.0
    values[:, -2], values[:, -3] = 2.5, 0.0
    return values, factors


CODES, FACTORS = sparse_codes()
SCORES = {
    "mig": mig_score,
    "mig_sup": mig_sup_score,
    "dcimig": dcimig_score,
    "modularity": modularity_score,
    "sap": sap_score,
    "mcc": partial(mcc_score, kinds="ordinal"),
    "mcc of ranks": partial(mcc_score, kinds="ordinal", correlation="spearman"),
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of a few columns, so that these small tables have several."""
    monkeypatch.setattr(code_table, "ENTRIES", 3_000)
    monkeypatch.setattr(code_table, "SLAB", 40_000)


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "codes.npy", CODES)
    return np.load(tmp_path / "codes.npy", mmap_mode="r")


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_of_dense_codes(name, mapped):
    expected = SCORES[name](CODES, FACTORS)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        assert SCORES[name](form(CODES), FACTORS) == pytest.approx(expected, abs=1e-12)
    assert SCORES[name](mapped, FACTORS) == pytest.approx(expected, abs=1e-12)
    assert SCORES[name](sparse.csr_array(CODES), FACTORS, device="cpu") == pytest.approx(expected, abs=1e-12)


LINEAR = {
    "dci": partial(dci.dci_scores, kinds="ordinal"),
    "dci by Lasso": partial(dci.dci_scores, kinds="ordinal", predictor="lasso"),
}


@pytest.mark.parametrize("name", [*SCORES, *LINEAR])
def test_every_tensor_is_made_on_the_device_that_was_asked_for(name, monkeypatch):
    """With another default device, a tensor that is made without naming one cannot be mixed with the others."""
    monkeypatch.setattr(dci, "FEW_CODES", 4)
    score, factors = (SCORES | LINEAR)[name], FACTORS[:60, :2]
    for codes in (CODES[:60, :8], sparse.csr_array(CODES[:60, :8])):
        expected = score(codes, factors)
        with torch.device("meta"):
            assert score(codes, factors, device="cpu") == expected


@pytest.mark.gpu
@pytest.mark.parametrize("name", [*SCORES, *LINEAR])
def test_a_gpu_gives_the_scores_of_the_cpu(name):
    score = (SCORES | LINEAR)[name]
    for codes in (CODES, sparse.csr_array(CODES)):
        found = score(codes, FACTORS, device="cuda")
        np.testing.assert_allclose(found, score(codes, FACTORS), atol=1e-6)


def test_information_is_counted_without_listing_zeros():
    expected = discrete_mutual_information(bin_codes(CODES, 20), FACTORS)
    expected[-2] = 0.0
    for codes in (CODES, sparse.csr_array(CODES), sparse.csr_array(CODES * 1e-200), sparse.csr_array(CODES * 1e200)):
        found = binned_information(codes, FACTORS).information
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_entries_stored_twice_or_as_zero_are_what_the_matrix_says():
    given = sparse.coo_array(CODES)
    halves = np.concatenate([given.data / 2, given.data / 2, np.zeros(3)])
    rows = np.concatenate([given.row, given.row, [0, 1, 2]])
    columns = np.concatenate([given.col, given.col, [0, 0, 0]])
    twice = sparse.coo_array((halves, (rows, columns)), shape=given.shape)
    assert mig_score(twice, FACTORS) == pytest.approx(mig_score(CODES, FACTORS), abs=1e-12)


@pytest.mark.parametrize("size", [2, 5, 12])
def test_single_machines_are_scikit_learns(size):
    rng = np.random.default_rng(size)
    classes = rng.integers(0, size, 600)
    codes = np.stack([classes + s * rng.normal(size=600) for s in (0.0, 0.3, 3.0)], axis=1)
    codes = np.column_stack([codes, np.exp(2 * codes[:, 1]), (classes == 1) * rng.random(600), rng.random(600) < 0.02])
    found = sap_matrix(codes[:400], classes[:400], test=(codes[400:], classes[400:]), kinds="categorical")[:, 0]
    scaled = (codes - codes[:400].mean(axis=0)) / codes[:400].std(axis=0)
    for code, accuracy in enumerate(found):
        machine = LinearSVC(C=0.01, class_weight="balanced", max_iter=10_000)
        machine.fit(scaled[:400, [code]], classes[:400])
        assert accuracy == pytest.approx(machine.score(scaled[400:, [code]], classes[400:]), abs=1e-12)


def test_continuous_factors_and_test_rows_of_sparse_codes():
    numbers = np.column_stack([FACTORS, CODES[:, 3] + RNG.normal(size=len(CODES))])
    kinds = ("categorical", "ordinal", "ordinal", "continuous")
    test = CODES[250:], numbers[250:]
    expected = sap_matrix(CODES[:250], numbers[:250], test=test, kinds=kinds)
    kept = sparse.csr_array(CODES)
    found = sap_matrix(kept[:250], numbers[:250], test=(kept[250:], numbers[250:]), kinds=kinds)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_ranks_of_sparse_codes_are_spearmans():
    expected = np.abs(np.asarray(spearmanr(CODES[:, :-3], FACTORS)[0])[:57, 57:])
    found = mcc_matrix(sparse.csr_array(CODES), FACTORS, correlation="spearman", kinds="ordinal")
    np.testing.assert_allclose(found[:57], expected, atol=1e-12)
    np.testing.assert_array_equal(found[[-2, -3]], 0.0)


@pytest.mark.parametrize("predictor", ["l1-svm", "lasso"])
def test_linear_importances_of_many_codes_are_those_of_few(predictor, mapped, monkeypatch):
    numbers = np.column_stack([FACTORS, CODES[:, 4] + RNG.normal(size=len(CODES))])
    shared = {"kinds": ("categorical", "ordinal", "ordinal", "continuous"), "predictor": predictor}
    monkeypatch.setattr(dci, "FEW_CODES", 100)
    expected = dci_importance(CODES[:300], numbers[:300], test=(CODES[300:], numbers[300:]), **shared)
    monkeypatch.setattr(dci, "FEW_CODES", 10)
    for codes in (CODES, sparse.csr_array(CODES), mapped):
        found = dci_importance(codes[:300], numbers[:300], test=(codes[300:], numbers[300:]), **shared)
        # scikit-learn stops its Lasso at a gap of 1e-6.
        np.testing.assert_allclose(found.matrix, expected.matrix, atol=1e-6)
        np.testing.assert_allclose(found.informativeness, expected.informativeness, atol=1e-6)


def test_machines_reach_the_minimum_with_more_codes_than_rows_near_their_margins():
    """Perfectly separable classes: the Hessian over the rows with margins below 1 is singular on the way."""
    rng = np.random.default_rng(3)
    classes = rng.integers(0, 2, 150)
    codes = rng.gamma(2.0, size=(150, 80)) * (rng.random((150, 80)) < 0.2)
    codes[:, 0] += 2.0 * classes
    exact = fit_l1_machines(standardise(codes, codes)[0], classes)
    table = StandardisedCodes(code_table.CodeTable(sparse.csr_array(codes)), np.ones(80, dtype=bool))
    found = fit_large_machines(table, torch.from_numpy(2.0 * classes - 1)[None])[0]
    np.testing.assert_allclose(found.weights, exact.weights[0], atol=1e-6)
    assert float(found.intercept) == pytest.approx(exact.intercepts[0], abs=1e-6)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_slacks_and_weights_are_as_near_to_the_minimum_as_the_gap_says(tolerance):
    """F(w) − F* ≥ C Σ (s − s*)², so slacks are within √gap; weights within that over the smallest singular value."""
    rng = np.random.default_rng(5)
    codes = rng.gamma(2.0, size=(400, 40)) * (rng.random((400, 40)) < 0.2)
    labels = np.where(codes[:, 0] - codes[:, 1] + 0.7 * rng.normal(size=400) > 0, 1.0, -1.0)
    scaled = np.column_stack([standardise(codes, codes)[0], np.ones(400)])
    exact = fit_l1_machines(scaled[:, :-1], labels.astype(np.int64))
    best = np.append(exact.weights[0], exact.intercepts[0])
    table = StandardisedCodes(code_table.CodeTable(sparse.csr_array(codes)), np.ones(40, dtype=bool))
    found = np.append(*fit_large_machines(table, torch.from_numpy(labels)[None], tolerance=tolerance)[0])
    slacks, best_slacks = (np.maximum(1 - labels * (scaled @ w), 0) for w in (found, best))
    values = [np.abs(w).sum() + (s**2).sum() for w, s in ((found, slacks), (best, best_slacks))]
    gap = tolerance * values[0]
    assert -1e-10 < values[0] - values[1] <= gap
    error = np.linalg.norm(slacks - best_slacks)
    assert error <= np.sqrt(gap)
    # Rows with slack at both tell the weights apart.
    system = scaled[(slacks > 0) & (best_slacks > 0)][:, (found != 0) | (best != 0)]
    assert np.linalg.norm(found - best) <= np.sqrt(gap) / np.linalg.svd(system, compute_uv=False)[-1]


def test_a_lasso_of_many_more_rows_than_codes_takes_a_handful_of_steps(monkeypatch):
    steps, step = [], large_linear._newton_step
    monkeypatch.setattr(large_linear, "_newton_step", lambda *given: steps.append(1) or step(*given))
    rng = np.random.default_rng(7)
    codes = rng.gamma(2.0, size=(600, 100)) * (rng.random((600, 100)) < 0.2)
    numbers = codes[:, :40] @ rng.normal(size=40) + rng.normal(size=600)
    numbers = (numbers - numbers.mean()) / numbers.std()
    table = StandardisedCodes(code_table.CodeTable(sparse.csr_array(codes)), np.ones(100, dtype=bool))
    found = large_linear.fit_large_lassos(table, torch.from_numpy(numbers)[None], alpha=0.002)[0]
    exact = Lasso(alpha=0.002, tol=1e-13, max_iter=10_000).fit(standardise(codes, codes)[0], numbers)
    np.testing.assert_allclose(found.weights, exact.coef_, atol=1e-6)
    assert len(steps) < 10


def test_dense_codes_beyond_the_limit_are_read_again_for_every_product(monkeypatch, mapped):
    kept = np.ones(CODES.shape[1], dtype=bool)
    kept[[-2, -3]] = False
    held = StandardisedCodes(code_table.CodeTable(CODES), kept)
    monkeypatch.setattr("hackle.metrics.predictors.standardised.DENSE", 1_000)
    read = StandardisedCodes(code_table.CodeTable(mapped), kept)
    weights = torch.from_numpy(RNG.normal(size=int(kept.sum())))
    np.testing.assert_allclose(read.times(weights), held.times(weights), atol=1e-12)
    rows, numbers = torch.arange(7, 90, 3), torch.from_numpy(RNG.normal(size=28))
    spread = torch.zeros(len(CODES), dtype=torch.float64).index_add_(0, rows, numbers)
    np.testing.assert_allclose(read.transposed_times(spread), held.transposed_times(spread), atol=1e-12)


def test_gaussian_total_correlation_of_fewer_rows_than_codes_is_that_of_the_covariance():
    codes = RNG.normal(size=(30, 50)) @ RNG.normal(size=(50, 50))
    covariance = np.cov(codes, rowvar=False) + 1e-5 * np.eye(50)
    expected = 0.5 * (np.log(np.diag(covariance)).sum() - np.linalg.slogdet(covariance)[1])
    assert gaussian_total_correlation(codes) == pytest.approx(expected, rel=1e-9)
    assert gaussian_total_correlation(sparse.csr_array(codes)) == pytest.approx(expected, rel=1e-9)


def test_a_crowded_bin_is_noticed_among_zeros():
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 4, size=(1_000, 1))
    codes = np.zeros((1_000, 3))
    codes[:, 1] = (factors[:, 0] > 1) * 0.001
    codes[:5] = 10.0
    for form in (codes, sparse.csr_array(codes)):
        with pytest.warns(CrowdedBinWarning, match=r"99.5% of the rows of code 1 share one of its 20 bins.* 0.66 nats"):
            mig_score(form, factors)


def test_other_metrics_get_a_dense_array_while_it_is_small(monkeypatch):
    kept = sparse.csr_array(CODES)
    assert irs_score(kept, FACTORS) == pytest.approx(irs_score(CODES, FACTORS))
    monkeypatch.setattr(code_table, "DENSE", 1_000)
    with pytest.raises(
        MetricError, match=r"all 60 codes of 400 rows at once, as a dense array of 192 kB.*works in blocks: mig"
    ):
        infomec_scores(kept, FACTORS)
    assert mig_score(kept, FACTORS) > 0


def test_what_is_refused():
    kept = sparse.csr_array(CODES)
    with pytest.raises(MetricError, match="real numbers"):
        mig_score(kept.astype(complex), FACTORS)
    with pytest.raises(MetricError, match="one factor row for each"):
        mig_score(kept, FACTORS[:-1])
    spoiled = kept.copy()
    spoiled.data[7] = np.nan
    for score in SCORES.values():
        with pytest.raises(MetricError, match="codes hold NaN"):
            score(spoiled, FACTORS)
    with pytest.raises(MetricError, match="no axis empty"):
        mig_score(kept[:, :0], FACTORS)
    with pytest.raises(MetricError, match="test codes hold NaN"):
        sap_score(kept, FACTORS, test=(spoiled, FACTORS))


@pytest.mark.parametrize(("score", "what"), [(sap_score, "machines"), (dci.dci_scores, "linear machines")])
def test_progress_is_told_from_start_to_end(score, what):
    told: list[tuple[str, float]] = []
    with listening(lambda *of: told.append(of)):
        score(CODES[:200, :40], FACTORS[:200, :2])
    parts = [fraction for name, fraction in told if name == what]
    assert parts[0] == 0.0
    assert parts[-1] == 1.0
    assert len(parts) > 3
    assert parts == sorted(parts)


def test_a_bar_shows_the_time_left(capsys):
    mig_score(sparse.csr_array(CODES), FACTORS, progress=True)
    assert "counting" in (shown := capsys.readouterr().err)
    assert "100%" in shown


def test_what_was_written_to_a_copy_of_mapped_codes_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "codes.npy", np.zeros_like(CODES))
    mapped = np.load(tmp_path / "codes.npy", mmap_mode="c")
    mapped[:] = CODES
    monkeypatch.setattr(code_table, "SLAB", CODES[:, :7].nbytes)
    assert mig_score(mapped, FACTORS) == mig_score(CODES, FACTORS)
    np.testing.assert_array_equal(mapped, CODES)
